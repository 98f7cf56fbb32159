//! Late ACKs that no episode claims.
//!
//! An ACK of data sent once is late if it takes longer than a sender has reason to expect:
//!
//! ```text
//! RTT > max(SRTT + 4·RTTVAR, 2·SRTT)     RFC 6298 §2.3: the RTO without its minimum; RFC 8985 §7.2: the probe
//!                                        timeout
//! RTT > SRTT + 10 ms                     hosts and their timers are no more exact
//! RTT > 2·SRTT + 200 ms                  until it covers two full segments: the receiver may delay the ACK of less
//!                                        (RFC 9293 §3.8.6.3; 200 ms: RFC 8985 §7.2)
//!
//! lost = RTT - SRTT                      less what a late ACK or an episode before has claimed
//! ```
//!
//! With two full segments, the RTT counts from the one that completes them.
//!
//! ACKs that the capture lacks, by a filter or because it could not keep up, are not late. They are absent if a sender
//! that has nothing else to do waits for one longer than any retransmission timeout, or if the receiver sends no bare
//! ACK at all: then it would have sent one after 200 ms at most.
//!
//! SRTT and RTTVAR are moving averages over all ACKs, so a queue that grows raises them, and is no spike. They
//! start from the fourth sample.
//!
//! If packets of the receiver are missing before the ACK, the ACKs before it were lost, and the cause is
//! [`Cause::LostAcks`]; otherwise it is [`Cause::DelaySpike`].
//!
//! Limits:
//!
//! - The RTT is that between the capture point and the receiver. Delays between the sender and the capture point
//!   are not seen.
//! - While an episode lasts, all time is the episode's.

use super::nagle::Nagle;
use crate::{
    finding::{Cause, LateAckFound, LostTime, Renumbering},
    memory::{HeapSize, allocated},
};
use recoup_units::Instant;
use serde::{Deserialize, Serialize};
use std::{cmp::Reverse, collections::VecDeque, time::Duration};

/// How much later than usual an ACK may come without being late.
pub(crate) const LEAST_DELAY: Duration = Duration::from_millis(10);

/// Segments sent within this time in ns of each other arrive together.
pub(crate) const TOGETHER: u64 = 10_000_000;

/// How long a receiver may delay the ACK of less than two full segments.
pub(crate) const DELAYED_ACK: Duration = Duration::from_millis(200);

/// No sender waits longer for an ACK in ns without sending again: a retransmission timeout is at most a few seconds
/// until one has gone off. If it seems to, the ACK is absent from the capture.
pub(crate) const LONGEST_WAIT: u64 = 3_000_000_000;

/// The late ACKs of one direction. Few directions have any.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct LateAcks {
    /// The time up to here is claimed.
    claimed_until: Instant,
    /// By [`Cause::DelaySpike`] and by [`Cause::LostAcks`]: how often, and ns.
    late: (u32, u64),
    after_lost: (u32, u64),
    /// The time lost: the latest [`MOST_SPANS`].
    spans: VecDeque<LateSpan>,
    /// Small segments that waited for a delayed ACK.
    pub nagle: Nagle,
}

/// Late ACKs of which a direction remembers when they lost time.
const MOST_SPANS: usize = 1024;

/// Late ACKs that are reported for each direction.
const MOST_FOUND: usize = 20;

/// Time that a late ACK lost.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct LateSpan {
    pub from: Instant,
    pub until: Instant,
    /// The frame of the ACK.
    frame: u64,
    after_lost: bool,
}

impl LateSpan {
    pub fn cause(&self) -> Cause {
        if self.after_lost { Cause::LostAcks } else { Cause::DelaySpike }
    }
}

/// An ACK that came late.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LateAck {
    pub at: Instant,
    pub frame: u64,
    /// When it was due.
    pub due: Instant,
    /// Since when no episode lasts.
    pub idle_since: Instant,
    /// Packets of the receiver are missing before it.
    pub after_lost: bool,
}

/// Whether an ACK that took `rtt` ns is late. `usual`: the average and the variation before it, in ns.
#[inline]
pub(crate) fn is_late(rtt: u64, usual: (u64, u64)) -> bool {
    let (srtt, rttvar) = usual;
    let beyond = srtt.max(rttvar.saturating_mul(4)).max(LEAST_DELAY.as_nanos() as u64);
    rtt > srtt.saturating_add(beyond)
}

/// Whether an ACK that the receiver may have delayed is late.
pub(crate) fn is_late_if_delayed(rtt: u64, usual: (u64, u64)) -> bool {
    let (srtt, _) = usual;
    is_late(rtt, usual) && rtt > srtt.saturating_mul(2).saturating_add(DELAYED_ACK.as_nanos() as u64)
}

impl LateAcks {
    /// Counts a late ACK. One that was due before the last one came is late for the same reason.
    pub fn add(&mut self, ack: LateAck) {
        let goes_on = ack.due < self.claimed_until;
        let from = ack.due.max(self.claimed_until).max(ack.idle_since);
        self.claimed_until = self.claimed_until.max(ack.at);
        let (times, nanos) = if ack.after_lost { &mut self.after_lost } else { &mut self.late };
        let lost = ack.at.nanos_since(from.min(ack.at));
        if lost > 0 {
            *times = times.saturating_add(u32::from(!goes_on));
            *nanos = nanos.saturating_add(lost);
            if self.spans.len() >= MOST_SPANS {
                self.spans.pop_front();
            }
            self.spans.push_back(LateSpan {
                from: ack.at.minus_nanos(lost),
                until: ack.at,
                frame: ack.frame,
                after_lost: ack.after_lost,
            });
        }
    }

    /// Gives the frames other numbers.
    pub fn renumber(&mut self, by: Renumbering) {
        for span in &mut self.spans {
            span.frame = span.frame.saturating_add(by.frames);
        }
    }

    /// When the latest late ACKs lost time.
    pub fn spans(&self) -> impl Iterator<Item = LateSpan> {
        self.spans.iter().copied()
    }

    /// Those of the latest that lost most time, in order. `captured`: a time by the capture's clock.
    pub fn longest(&self, captured: impl Fn(Instant) -> Instant) -> Vec<LateAckFound> {
        let mut spans: Vec<LateSpan> = self.spans().collect();
        spans.sort_by_key(|span| (Reverse(span.until.since(span.from)), span.frame));
        spans.truncate(MOST_FOUND);
        spans.sort_by_key(|span| span.frame);
        let found = |span: &LateSpan| LateAckFound {
            frame: span.frame,
            at: captured(span.until),
            lost: span.until.since(span.from),
            cause: span.cause(),
        };
        spans.iter().map(found).collect()
    }

    /// The time up to here is claimed.
    pub fn claimed_until(&self) -> Instant {
        self.claimed_until
    }

    /// Adds the time lost.
    pub fn add_to(&self, lost: &mut LostTime) {
        for (cause, (times, nanos)) in [(Cause::DelaySpike, self.late), (Cause::LostAcks, self.after_lost)] {
            lost.add_several(cause, times, Duration::from_nanos(nanos));
        }
        self.nagle.add_to(lost);
    }

    /// Its memory, in bytes.
    pub fn memory(&self) -> usize {
        allocated(size_of::<Self>()) + self.spans.heap_size()
    }
}

#[cfg(test)]
mod tests;
