//! Segments that were judged lost and may have been only late.
//!
//! ```text
//! a segment judged lost was late, not lost, if it is delivered and
//!     it was not retransmitted, or less than the minimum RTT before                 RFC 8985 §6.2 step 2
//!  or the ACK that acknowledges it echoes a timestamp from before its retransmission    RFC 3522 §3.2
//!  or a DSACK reports it afterwards: both transmissions arrived                         RFC 3708 §2
//! its delay = time of the first ACK that covers it − time of its first transmission
//! ```
//! What is late teaches the detector how long to wait ([`PacketTime`](super::PacketTime),
//! [`Rack`](super::Rack)). A transport that gives each transmission a number of its own needs none of this: the
//! ACK of a packet judged lost is the proof.
//!
//! Deviations:
//!
//! - The delay is exact only if the first ACK was drawn by the original. If both transmissions arrive and the
//!   retransmission is first, the delay is a lower bound.
//! - At most 64 segments are remembered, for three probe timeouts after their transmission.

use crate::scoreboard::{Scoreboard, SentSegment};
use alloc::boxed::Box;
use alloc::vec::Vec;
use recoup_units::{Instant, Offset, Span};

/// The most segments remembered.
const MOST: usize = 64;

/// A segment that was judged lost after its first transmission.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Suspect {
    end: Offset,
    sent: Instant,
    number: u32,
    /// The round trip in ns to compare its delay with.
    rtt: u64,
    resent: Option<Instant>,
    delivered: Option<Late>,
    /// It is known to have been late.
    proven: bool,
}

/// How late a segment was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Late {
    /// From its transmission to its ACK, in ns.
    pub delay: u64,
    /// The round trip in ns to compare the delay with.
    pub rtt: u64,
    /// How many transmissions later the newest one was that had been delivered before.
    pub overtaken: u32,
}

/// What an ACK says about suspects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence {
    pub now: Instant,
    /// The number of the newest transmission delivered before this ACK.
    pub newest_before: u32,
    /// The minimum RTT in ns.
    pub min_rtt: u64,
    /// The segment whose timestamp the ACK echoes was sent before this.
    pub echo_sent_before: Option<Instant>,
    pub dsack: Option<Span>,
    /// How long suspects are remembered, in ns.
    pub keep: u64,
}

/// The segments that were judged lost lately.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Suspects(
    /// `None` before the first.
    #[expect(clippy::box_collection, reason = "most senders have none")]
    Option<Box<Vec<Suspect>>>,
);

impl Suspects {
    pub fn is_empty(&self) -> bool {
        self.all().is_empty()
    }

    fn all(&self) -> &[Suspect] {
        self.0.as_deref().map_or(&[], Vec::as_slice)
    }

    /// The memory that they take on the heap, in bytes.
    pub fn memory(&self) -> usize {
        let suspects = self.0.as_deref();
        suspects.map_or(0, |suspects| {
            size_of_val(suspects) + suspects.capacity() * size_of::<Suspect>()
        })
    }

    /// `segment` is judged lost, when the round trip took `rtt` ns. Only the first transmission of a segment
    /// counts.
    pub fn add(&mut self, segment: &SentSegment, rtt: u64) {
        let end = segment.span.end;
        if !segment.is_original() || self.all().iter().any(|suspect| suspect.end == end) {
            return;
        }
        let suspects = self.0.get_or_insert_default();
        if suspects.len() == MOST {
            suspects.remove(0);
        }
        suspects.push(Suspect {
            end,
            sent: segment.sent_at,
            number: segment.number,
            rtt,
            resent: None,
            delivered: None,
            proven: false,
        });
    }

    /// `span` was retransmitted.
    pub fn on_resent(&mut self, now: Instant, span: Span) {
        for suspect in self.0.iter_mut().flat_map(|all| all.iter_mut()) {
            if span.start < suspect.end && suspect.end <= span.end {
                suspect.resent.get_or_insert(now);
            }
        }
    }

    /// An undo has withdrawn the verdicts: segments not retransmitted are suspects no more.
    pub fn forget_waiting(&mut self) {
        if let Some(suspects) = &mut self.0 {
            suspects.retain(|suspect| suspect.resent.is_some());
        }
    }

    /// Applies what an ACK, which `board` already reflects, says. Calls `each` with every segment newly known
    /// to have been late.
    pub fn on_ack(&mut self, board: &Scoreboard, by: &Evidence, mut each: impl FnMut(Late)) {
        let Some(suspects) = &mut self.0 else {
            return;
        };
        suspects.retain(|suspect| by.now.nanos_since(suspect.sent) <= by.keep);
        for suspect in suspects.iter_mut() {
            if suspect.proven {
                continue;
            }
            let proof = match suspect.delivered {
                Some(late) => Some(late).filter(|_| by.dsack.is_some_and(|d| suspect.is_in(d))),
                None => suspect.on_ack(board, by),
            };
            if let Some(late) = proof {
                suspect.proven = true;
                each(late);
            }
        }
    }
}

impl Suspect {
    fn is_in(&self, span: Span) -> bool {
        span.start < self.end && self.end <= span.end
    }

    /// If the ACK delivers the segment: how late it was, if it was.
    fn on_ack(&mut self, board: &Scoreboard, by: &Evidence) -> Option<Late> {
        let acked = self.end <= board.una();
        let last = Offset(self.end.0.saturating_sub(1));
        if !acked && !board.segment_at(last).is_some_and(|segment| segment.sacked) {
            return None;
        }
        let late = Late {
            delay: by.now.nanos_since(self.sent),
            rtt: self.rtt,
            overtaken: by.newest_before.wrapping_sub(self.number),
        };
        self.delivered = Some(late);
        let Some(resent) = self.resent else {
            return Some(late);
        };
        let too_soon = by.now.nanos_since(resent) < by.min_rtt;
        let echoed = acked && by.echo_sent_before.is_some_and(|echo| echo <= resent);
        let reported = by.dsack.is_some_and(|d| self.is_in(d));
        (too_soon || echoed || reported).then_some(late)
    }
}
