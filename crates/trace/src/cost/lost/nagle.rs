//! Small segments that waited for a delayed ACK.
//!
//! By Nagle's rule (RFC 896; RFC 9293 §3.7.4), a sender holds data back that does not fill a segment while anything is
//! unacknowledged. A receiver delays the ACK of less than two full segments (RFC 9293 §3.8.6.3). Together they cost the
//! delay each time an application writes twice before it reads.
//!
//! An application does not see ACKs. So data that leaves with the arrival of a bare ACK waited for it, if that happens
//! more often than by chance:
//!
//! ```text
//! delayed    a bare ACK of everything in flight, less than a full segment; it came later than the shortest RTT by 30 ms,
//!            by more than the usual variation of the RTT, and by a fifth of the shortest RTT: paths vary by as much
//! released   new data, less than a full segment, follows a delayed ACK at once
//!
//! lost = ACK - sent, if three or more were released and half of all delayed ones
//! ```
//!
//! The whole wait counts, not only the receiver's delay: without Nagle's rule the data leaves with what was sent before.

use super::delays::DELAYED_ACK;
use crate::finding::{Cause, LostTime};
use recoup_units::Instant;
use serde::{Deserialize, Serialize};
use std::{mem::replace, time::Duration};

/// How much later than the shortest RTT a delayed ACK comes, in ns: the shortest delay in use is 40 ms (Linux).
const LEAST_DELAY: u64 = 30_000_000;

/// Round trips may vary by this fraction (1/n) of the shortest one.
const JITTER: u64 = 5;

/// Whether an ACK that came `delay` ns later than the shortest RTT was delayed by the receiver. `variation`: the usual one.
pub(crate) fn is_delayed(delay: u64, shortest: u64, variation: u64) -> bool {
    let least = LEAST_DELAY.max(shortest / JITTER);
    delay >= least && delay > variation && delay <= DELAYED_ACK.as_nanos() as u64
}

/// So many are no coincidence.
const ENOUGH: u32 = 3;

/// Delayed ACKs of a direction, and the data that waited for them.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Nagle {
    delayed: u32,
    released: u32,
    /// What the released data waited, in ns.
    waited: u64,
    /// When the last delayed ACK passed, and how long after its segment in ns; 0 once data followed.
    last: (Instant, u64),
}

impl Nagle {
    /// A delayed ACK of everything in flight passed, `took` ns after the segment.
    #[cold]
    pub fn on_delayed(&mut self, at: Instant, took: u64) {
        self.delayed = self.delayed.saturating_add(1);
        self.last = (at, took);
    }

    /// Whether a delayed ACK passed, and no new data since.
    #[inline]
    pub fn may_release(&self) -> bool {
        self.last.1 > 0
    }

    /// New data passed that an ACK released if it came at most `within` ns before. `small`: less than a full segment.
    #[cold]
    pub fn on_new(&mut self, at: Instant, within: u64, small: bool) {
        let (ack_at, took) = replace(&mut self.last, (at, 0));
        if took == 0 {
            return;
        }
        if small && at.nanos_since(ack_at) <= within {
            self.released = self.released.saturating_add(1);
            self.waited = self.waited.saturating_add(took);
        }
    }

    /// Adds the time lost.
    pub fn add_to(&self, lost: &mut LostTime) {
        if self.released >= ENOUGH && self.released.saturating_mul(2) >= self.delayed {
            lost.add_several(Cause::NagleDelayedAck, self.released, Duration::from_nanos(self.waited));
        }
    }
}

#[cfg(test)]
mod tests;
