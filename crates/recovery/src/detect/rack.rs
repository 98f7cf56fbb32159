//! RACK: loss detection by time. A segment is lost if a segment sent later has been delivered, and more
//! than a reordering window has passed.
//!
//! ```text
//! on delivery of a segment:  RACK.rtt = now − its send time;
//!     if it was sent later than any delivered before, RACK.segment = it      RFC 8985 §6.2 step 2
//! a segment sent before RACK.segment is lost once
//!     now ≥ its send time + RACK.rtt + reo_wnd                                       §6.2 step 5
//! reo_wnd = 0 until reordering was seen, in Recovery and Loss or once dupthresh segments are SACKed
//!         = min(reo_wnd_mult · min_rtt / 4, SRTT) otherwise                          §6.2 step 4
//! reo_wnd_mult grows by one in each round trip that brings a DSACK, and falls back to one after
//!     16 recoveries without                                                          §6.2 step 4
//! ```
//! With adaptive thresholds, a segment that was judged lost and arrived late widens the window by its delay at
//! once: reo_wnd ≥ delay − min_rtt + min_rtt/16, at most SRTT, for as long as the steps last.
//!
//! A timer re-examines the segments that are not lost yet (§6.3).
//!
//! Deviations: if a retransmission is acknowledged sooner than the minimum RTT, the ACK counts for the
//! original and RACK does not advance (§6.2 step 2 (2)). Of the segments
//! that one ACK delivers, the highest one acknowledged cumulatively counts as the last delivered, or else
//! the highest SACKed one (Linux).
//!
//! In Linux 6, the timer expires 2 ms later, and DSACKs widen the window only after reordering was
//! detected (`tcp_rack_mark_lost`, `tcp_dsack_seen`; `Sender::take_dsack` decides which DSACKs count).

use crate::ack::AckSummary;
use crate::scoreboard::{Scoreboard, Sent};
use core::time::Duration;
use recoup_units::{Instant, Offset, Segments};

/// How many recoveries a widened window lasts (§6.2 step 4).
const PERSIST: u8 = 16;

/// The version of RACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum RackVersion {
    /// RACK of RFC 8985.
    Rfc8985,
    /// RACK of Linux 6.
    Linux6,
}

impl RackVersion {
    /// How long after the instant RACK computes its timer expires.
    pub(crate) fn timer_slack(self) -> Duration {
        match self {
            Self::Rfc8985 => Duration::ZERO,
            Self::Linux6 => Duration::from_millis(2),
        }
    }
}

/// The state of RACK on one path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Rack {
    newest: Option<Sent>,
    /// In ns.
    rtt: u64,
    /// Whether anything was delivered since the last [`take_advanced`](Self::take_advanced).
    advanced: bool,
    /// reo_wnd_mult − 1.
    widened: u8,
    persist: u8,
    /// The least reo_wnd that late segments call for, in µs, rounded up; zero without them.
    learned: u32,
    /// Until this offset is acknowledged, DSACKs belong to a round trip that already widened the window.
    round_end: Offset,
}

/// The inputs that determine the reordering window.
#[derive(Clone, Copy, Debug)]
pub struct RackContext {
    /// Whether the sender is in Recovery or Loss.
    pub recovering: bool,
    /// Whether reordering was detected on this path.
    pub reordering_seen: bool,
    /// The current dupthresh.
    pub dupthresh: Segments,
    /// The minimum RTT.
    pub min_rtt: Duration,
    /// The smoothed RTT.
    pub srtt: Duration,
}

impl Rack {
    /// Processes the segments an ACK delivered.
    pub fn on_ack(&mut self, now: Instant, summary: &AckSummary) {
        let (Some(newest), Some(last)) = (summary.newest_delivered, summary.last_delivered) else {
            return;
        };
        self.advanced = true;
        //= RFC 8985 §6.2 step 2 step: "record the most recent Segment.xmit_ts in RACK.xmit_ts if it is ahead of
        //=   RACK.xmit_ts"
        self.newest = self.newest.max(Some(newest));
        //= RFC 8985 §6.2 step 2 step: "Among all the segments newly ACKed or SACKed by this ACK that pass the checks
        //=   above, update the RACK.rtt to be the RTT sample calculated using this ACK."
        self.rtt = now.nanos_since(last.at);
    }

    /// Whether anything was delivered since the last call.
    pub fn take_advanced(&mut self) -> bool {
        core::mem::take(&mut self.advanced)
    }

    /// Lost marks were undone: the segments must be examined again.
    pub fn look_again(&mut self) {
        self.advanced = true;
    }

    /// A DSACK reported a spurious retransmission: widens the reordering window, which was too small.
    //= RFC 8985 §4 (3) SHOULD: "RACK DSACK-based reordering window adaptation is RECOMMENDED but is not required."
    pub fn on_dsack(&mut self, una: Offset, nxt: Offset) {
        //= RFC 8985 §6.2 step 4 step: "The RACK.reo_wnd increases linearly for every round trip in which the sender
        //=   receives some DSACK option so that after N round trips in which a DSACK is received, the RACK.reo_wnd
        //=   becomes (N+1) * min_RTT / 4, with an upper-bound of SRTT."
        if una >= self.round_end {
            self.round_end = nxt;
            self.widened = self.widened.saturating_add(1);
            self.persist = PERSIST;
        }
    }

    /// A segment judged lost arrived after `delay` ns, where the minimum RTT is `min_rtt` ns.
    pub fn on_late(&mut self, delay: u64, min_rtt: u64) {
        let margin = min_rtt / 16; // timers fire late
        let needed = delay.saturating_sub(min_rtt).saturating_add(margin);
        let micros = u32::try_from(needed.div_ceil(1000)).unwrap_or(u32::MAX);
        self.learned = self.learned.max(micros);
        self.persist = PERSIST;
    }

    /// The receiver reneged: forgets the deliveries.
    pub fn forget_deliveries(&mut self) {
        self.newest = None;
        self.rtt = 0;
    }

    /// A recovery ended without an undo.
    pub fn on_recovered(&mut self) {
        //= RFC 8985 §6.2 step 4 step: "RACK persists using the inflated RACK.reo_wnd for up to 16 loss recoveries,
        //=   after which it resets RACK.reo_wnd to its starting value, min_RTT / 4."
        //= deviation: a recovery that was undone does not count, and one undone by DSACKs adds one, as in Linux
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.widened = 0;
            self.learned = 0;
        }
    }

    /// DSACKs undid a recovery: the window stays wide for one recovery longer.
    pub fn on_undone(&mut self) {
        self.persist = (self.persist + 1).min(PERSIST);
    }

    /// The reordering window: how long a segment may arrive after one sent later.
    pub fn reordering_window(&self, board: &Scoreboard, at: &RackContext) -> Duration {
        //= RFC 8985 §6.2 step 4 step: "If no reordering has been observed based on the previous step, then one way the
        //=   sender can enter fast recovery is when the number of SACKed segments matches or exceeds DupThresh (similar
        //=   to [RFC6675])."
        let evident = at.recovering || board.sacked() >= at.dupthresh;
        //= RFC 8985 §6.2 step 4 step: "when no reordering has been observed, the RACK.reo_wnd is set to 0 both upon
        //=   entering and during fast recovery or RTO recovery"
        if !at.reordering_seen && evident && self.learned == 0 {
            return Duration::ZERO;
        }
        //= RFC 8985 §6.2 step 4 step: "When the reordering window is not set to 0, it starts with a conservative
        //=   RACK.reo_wnd of RACK.min_RTT/4."
        let mut window = at.min_rtt / 4 * (u32::from(self.widened) + 1);
        if self.learned > 0 {
            window = window.max(Duration::from_micros(self.learned.into()));
        }
        window.min(at.srtt)
    }

    /// The latest transmission known to be delivered, and the age at which an earlier one is lost.
    pub fn overdue(&self, board: &Scoreboard, circumstances: &RackContext) -> Option<(Sent, Duration)> {
        let newest = self.newest?;
        let window = self.reordering_window(board, circumstances);
        //= RFC 8985 §6.2 step 5 step: "the sender can declare a segment lost when: now >= Segment.xmit_ts +
        //=   RACK.reo_wnd + RACK.rtt"
        Some((newest, self.rtt() + window))
    }

    /// The RTT of the newest delivered transmission; zero before the first delivery.
    pub fn rtt(&self) -> Duration {
        Duration::from_nanos(self.rtt)
    }
}

#[cfg(test)]
mod tests;
