//! Thinning ACKs: makes those of a receiver that acknowledges every segment look like those of one
//! that delays them (RFC 5681 §4.2).
//!
//! Pure ACKs that acknowledge more data in order are counted. Every second one passes at once. An odd
//! one is held, and dropped when a later ACK that acknowledges at least as much passes meanwhile. All
//! other packets pass at once. The first in-order ACK after one of them, or after a hold that ran out,
//! is an odd one again. The others are:
//!
//! - a packet with payload, SYN, FIN or RST;
//! - an ACK that acknowledges no more data (a dupACK, a window update), or carries SACK blocks;
//! - the ACK that follows one with SACK blocks: it acknowledges the segment that filled the gap;
//! - the first ACK of a flow, mostly the handshake's: counting starts from its number.
//!
//! Deviations from a receiver that delays its ACKs itself:
//!
//! - ACKs are counted, not full-size segments: an ACK of two segments, or of a small one, counts once;
//! - the ACK of a FIN is held like one of data;
//! - the ACK that follows a DSACK (RFC 2883) passes at once, although there was no gap.

use std::time::Duration;

use recoup_units::Instant;

use crate::TcpFacts;
use crate::hop::{HopVerdict, hold};
use crate::hop_queue::{HopQueue, Ticket};

/// The state of a thinning hop for one flow.
#[derive(Debug)]
pub(crate) struct Thinning {
    hold: Duration,
    /// By flow slot.
    flows: Vec<Acks>,
}

/// The ACKs of one flow.
#[derive(Clone, Copy, Debug, Default)]
struct Acks {
    /// The highest acknowledgment number seen.
    highest: Option<u32>,
    /// The newest odd ACK. While it is held, its acknowledgment number is `highest`.
    odd: Option<Ticket>,
    /// The newest ACK carried SACK blocks.
    gap: bool,
}

impl Thinning {
    pub const fn new(hold: Duration) -> Self {
        Self { hold, flows: Vec::new() }
    }

    pub fn reset(&mut self) {
        self.flows.clear();
    }

    /// Decides what happens to a packet of the flow in `slot` that arrives at `at`.
    pub fn decide(&mut self, at: Instant, slot: usize, tcp: Option<TcpFacts>, store: &mut HopQueue) -> HopVerdict {
        let Some((tcp, ack)) = tcp.and_then(|tcp| Some((tcp, tcp.ack?))) else {
            return HopVerdict::Pass;
        };
        if slot >= self.flows.len() {
            self.flows.resize_with(slot + 1, Acks::default);
        }
        let flow = &mut self.flows[slot];
        // Sequence numbers are compared modulo 2^32 (RFC 9293 §3.4).
        let ahead = flow.highest.map(|h| ack.wrapping_sub(h).cast_signed());
        if ahead.is_some_and(|ahead| ahead < 0) {
            return HopVerdict::Pass;
        }
        flow.highest = Some(ack);
        let fills_gap = std::mem::replace(&mut flow.gap, tcp.sack);
        if let Some(needless) = flow.odd.take().and_then(|odd| store.cancel(odd)) {
            return HopVerdict::Replace(needless);
        }
        let advances = ahead.is_some_and(|ahead| ahead > 0);
        if !tcp.is_pure_ack() || tcp.sack || fills_gap || !advances {
            return HopVerdict::Pass;
        }
        flow.odd = Some(store.next_ticket());
        hold(at, at + self.hold)
    }
}
