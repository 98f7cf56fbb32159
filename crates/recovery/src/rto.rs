//! The retransmission timer, and RTO restart.
//!
//! ```text
//! restart on an ACK of new data:  deadline = now + RTO                        RFC 6298 §5.3
//! RTO restart, while few segments are left:
//!                                 deadline = now + RTO − T_earliest, if that is later than now,
//!                                            else now + RTO                  RFC 7765 §4 (2), (3)
//!     few:                        outstanding < 4                            tail-loss paper §2.1
//!     or                          outstanding + unsent < 4                   RFC 7765 §4 (1), §5.3
//! on expiry:                      RTO doubles, up to the maximum             RFC 6298 §5.5
//! ```
//! `T_earliest` is the time since the latest transmission of the earliest outstanding segment
//! (tail-loss paper §2.1). The paper does not say what happens when nothing of the RTO is left. Both forms
//! follow the RFC there.
//!
//! Linux shares one timer between RTO, probe, reordering and early retransmit. After one of the others was
//! pending, it counts the RTO from the last transmission of the earliest outstanding segment
//! (`tcp_rearm_rto`). Here the timers are separate. For Linux 6,
//! [`start_from_head`](RetransmissionTimer::start_from_head) has the same effect.
//!
//! Deviation: for Linux 3.17, only an ACK of new data moves the RTO (RFC 6298 §5.3).

use crate::rtt::RttEstimator;
use core::time::Duration;
use recoup_units::{Instant, Segments};

/// RTO restart is active below this many segments (tail-loss paper §2.1; RFC 7765 §4, rrthresh).
pub const RESTART_THRESHOLD: Segments = Segments(4);

/// The segments that RTO restart counts. It is active with fewer than four.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum RtoRestart {
    /// Outstanding segments (tail-loss paper §2.1).
    Outstanding,
    /// Outstanding and unsent segments (RFC 7765 §4). Unsent data may lead to a fast retransmit.
    OutstandingAndUnsent,
}

/// The retransmission timer of one sender.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RetransmissionTimer {
    deadline: Option<Instant>,
    backoff: u32,
}

impl RetransmissionTimer {
    /// When the timer expires, if it runs.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// How often back-off has doubled the current RTO.
    pub fn backoff(&self) -> u32 {
        self.backoff
    }

    /// The current RTO, back-off included.
    pub fn rto(&self, rtt: &RttEstimator) -> Duration {
        Duration::from_nanos(self.rto_nanos(rtt))
    }

    /// The current RTO in nanoseconds, back-off included.
    pub fn rto_nanos(&self, rtt: &RttEstimator) -> u64 {
        match self.backoff {
            0 => rtt.rto_nanos(),
            n => rtt.backed_off_nanos(n),
        }
    }

    /// Starts the timer for a full RTO from now.
    //= RFC 6298 §5 MUST: "An implementation MUST manage the retransmission timer(s) in such a way that a segment is
    //=   never retransmitted too early, i.e., less than one RTO after the previous transmission of that segment."
    pub fn start(&mut self, now: Instant, rtt: &RttEstimator) {
        self.deadline = Some(now.plus_nanos(self.rto_nanos(rtt)));
    }

    /// Starts the timer for `delay`, or for the RTO if that is shorter.
    pub fn start_early(&mut self, now: Instant, delay: Duration) {
        let at = now + delay;
        self.deadline = Some(self.deadline.map_or(at, |rto| rto.min(at)));
    }

    /// Restarts with RTO − T_earliest, where `earliest` is when the earliest outstanding segment was
    /// last sent.
    pub fn start_from_earliest(&mut self, now: Instant, earliest: Instant, rtt: &RttEstimator) {
        let deadline = earliest.plus_nanos(self.rto_nanos(rtt));
        if deadline > now {
            self.deadline = Some(deadline);
        } else {
            self.start(now, rtt);
        }
    }

    /// Starts the timer for a full RTO from `head_sent_at`, when the earliest outstanding segment was last
    /// sent, or for now if that has passed (Linux 6 `tcp_rto_delta_us`).
    pub fn start_from_head(&mut self, now: Instant, head_sent_at: Instant, rtt: &RttEstimator) {
        self.deadline = Some(head_sent_at.plus_nanos(self.rto_nanos(rtt)).max(now));
    }

    /// Stops the timer, since everything is acknowledged (RFC 6298 §5.2).
    pub fn stop(&mut self) {
        self.deadline = None;
    }

    /// The timer expired: doubles the RTO and restarts.
    pub fn on_expiry(&mut self, now: Instant, rtt: &RttEstimator) {
        //= RFC 6298 §5.5 MUST: "The host MUST set RTO <- RTO * 2 ("back off the timer")."
        self.backoff = self.backoff.saturating_add(1);
        //= RFC 6298 §5.6 step: "Start the retransmission timer, such that it expires after RTO seconds (for the value
        //=   of RTO after the doubling operation outlined in 5.5)."
        self.start(now, rtt);
    }

    /// Takes back one doubling of the RTO (RFC 6069 §4).
    pub fn undo_expiry(&mut self) {
        self.backoff = self.backoff.saturating_sub(1);
    }

    /// An RTT was measured: ends the back-off (RFC 6298 §5.7 and Linux).
    pub fn reset_backoff(&mut self) {
        self.backoff = 0;
    }
}

#[cfg(test)]
mod tests;
