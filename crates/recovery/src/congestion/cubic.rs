//! CUBIC.
//!
//! ```text
//! W(t) = C·(t − K)³ + W_max       K = ∛((W_max − cwnd_epoch)/C)          RFC 9438 §4.2
//! after a loss: ssthresh = max(β·cwnd, 2);
//!               W_max = cwnd, or cwnd·(1+β)/2 if cwnd is below the last W_max  (§4.7)
//! one segment of growth for cnt acknowledged:  cnt = cwnd/(W(t + RTT_min) − cwnd), at least 2;
//!               100·cwnd on the plateau                                  (§4.4, §4.5)
//! at least as fast as a Reno of the same average window                  (§4.3)
//! ```
//! C = 41/1024 per 100 ms (0.4 segments/s³); β = 717/1024 (§4.6: 0.7). Slow start ends early by
//! HyStart, see [`HyStart`].
//!
//! The arithmetic is Linux's integer arithmetic (`bictcp_update` of 6.12), with time in 1/1024 s. The curve
//! is evaluated once per millisecond; while the window is unchanged, once per 1/32 s, even if a loss came in
//! between. Before the first loss, cnt is at most 20.
//!
//! Deviations:
//!
//! - RTT_min is the connection's. Linux's CUBIC forgets its own after a timeout.
//! - K is rounded from the exact cube root, which Linux approximates to 0.2 %.
//! - ACKs are counted in segments, as in Linux since 4.x. Linux 3.17 divides by its estimate of delayed
//!   ACKs instead.
//! - HyStart uses 6.12's constants for all profiles.

use super::{HyStart, MIN_SSTHRESH};
use core::time::Duration;
use recoup_units::{Instant, Segments};

/// β in 1/1024.
//= RFC 9438 §4.6 SHOULD: "The parameter β__cubic_ SHOULD be set to 0.7"
const BETA: u64 = 717;
/// C·SRTT, with SRTT = 100 ms, in 2⁻⁴⁰ segments per (1/1024 s)³.
const SCALE: u64 = 410;
/// 8/3 · (1+β)/(1−β): the segments acknowledged per segment of Reno's growth, in eighths of the window
/// (§4.3).
//= RFC 9438 §4.3 SHOULD: "the sender SHOULD set α__cubic_ to 1 to ensure that it can achieve the same congestion window
//=   increment rate as Reno, which uses AIMD(1, 0.5)"
//= deviation: α stays what it is (Linux)
const FRIENDLY: u64 = 8 * (1024 + BETA) / 3 / (1024 - BETA);
/// How often the curve is evaluated while the window is unchanged.
const LOOK: Duration = Duration::from_nanos(1_000_000_000 / 32);

/// CUBIC's state. Windows and counts of segments have 32 bits, as in Linux.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Cubic {
    /// The window before the last reduction (Linux's last_max_cwnd); 0 before the first.
    w_max: u32,
    /// Segments acknowledged per segment of growth.
    count: u32,
    /// Segments acknowledged since the window last grew.
    pub(super) acked: u32,
    epoch: Option<Epoch>,
    /// When the curve was last evaluated, and the window then.
    looked_at: Option<Instant>,
    looked_window: u32,
    hystart: HyStart,
}

/// One growth curve, from a reduction to the next.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Epoch {
    start: Instant,
    /// When the curve reaches `origin`, in 1/1024 s after `start`.
    k: u32,
    origin: u32,
    /// The window that a Reno sender would have now.
    reno: u32,
    /// Segments acknowledged since `reno` last grew.
    acked: u32,
}

impl Cubic {
    /// The slow-start threshold after a loss. Remembers the window at the loss.
    pub fn ssthresh(&mut self, cwnd: Segments) -> Segments {
        self.epoch = None;
        let w = u64::from(cwnd.0);
        //= RFC 9438 §4.7 SHOULD: "To speed up this bandwidth release by existing flows, the following fast convergence
        //=   mechanism SHOULD be implemented."
        self.w_max = if cwnd.0 < self.w_max { (w * (1024 + BETA) / 2048) as u32 } else { cwnd.0 };
        Segments((w * BETA / 1024) as u32).max(MIN_SSTHRESH)
    }

    /// A timeout: forgets the curve.
    pub fn on_timeout(&mut self) {
        *self = Self::default();
    }

    /// The sender was idle for `idle`: shifts the curve by the idle time (RFC 9438 §4.2).
    //= RFC 9438 §4.2 MUST NOT: "The elapsed time _t_ in Figure 1 MUST NOT include periods during which _cwnd_ has not
    //=   been updated due to application-limited behavior"
    //= deviation: only the time without outstanding data is left out, as in Linux
    pub fn on_idle(&mut self, idle: Duration) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start += idle;
        }
    }

    /// Processes an RTT sample of slow start. Returns whether slow start should end (see [`HyStart`]).
    pub fn on_rtt(&mut self, round: &super::Round) -> bool {
        let young = self.epoch.is_some_and(|epoch| round.now < epoch.start + Duration::from_secs(1));
        !young && self.hystart.on_rtt(round)
    }

    /// Segments to acknowledge per segment of growth in congestion avoidance.
    pub fn count(&mut self, now: Instant, acked: Segments, cwnd: Segments, min_rtt: Duration) -> Segments {
        self.look(now, acked.0, cwnd.0, min_rtt);
        Segments(self.count)
    }

    fn look(&mut self, now: Instant, acked: u32, w: u32, min_rtt: Duration) {
        if let Some(epoch) = &mut self.epoch {
            epoch.acked = epoch.acked.saturating_add(acked);
        }
        if let Some(at) = self.looked_at {
            // Also after a loss: a loss that left the window at its minimum keeps the growth rate.
            if self.looked_window == w && now <= at + LOOK {
                return;
            }
            if self.epoch.is_some() && now.as_nanos() / 1_000_000 == at.as_nanos() / 1_000_000 {
                self.stay_friendly(w);
                return;
            }
        }
        (self.looked_at, self.looked_window) = (Some(now), w);
        let epoch = *self.epoch.get_or_insert_with(|| Epoch::begin(now, acked, w, self.w_max));
        let target = epoch.target(now, min_rtt);
        let w64 = u64::from(w);
        self.count = match target > w64 {
            //= RFC 9438 §4.4 MUST: "When receiving a new ACK in congestion avoidance, if CUBIC is not in the
            //=   Reno-friendly region and _cwnd_ is less than _W_max_, then CUBIC is in the concave region. In this
            //=   region, _cwnd_ MUST be incremented by"
            //= deviation: the curve is evaluated once per millisecond, and once per 1/32 s while the window is
            //=   unchanged (Linux)
            //= RFC 9438 §4.5 MUST: "In this region, _cwnd_ MUST be incremented by"
            //= deviation: the curve is evaluated once per millisecond, and once per 1/32 s while the window is
            //=   unchanged (Linux)
            true => w / u32::try_from(target - w64).unwrap_or(u32::MAX),
            false => w.saturating_mul(100),
        };
        if self.w_max == 0 {
            self.count = self.count.min(20);
        }
        self.stay_friendly(w);
    }

    /// Bounds the growth: at least as fast as Reno (§4.3), at most half a segment per segment acknowledged
    /// (§4.4).
    fn stay_friendly(&mut self, w: u32) {
        if let Some(epoch) = &mut self.epoch {
            let needed = ((u64::from(w) * FRIENDLY) >> 3).max(1);
            let needed = u32::try_from(needed).unwrap_or(u32::MAX);
            // Leaves the remainder that Linux's loop leaves: at least one, at most `needed`.
            //= RFC 9438 §4.3 step: "After that, on every new ACK, _W_est_ is updated using Figure 4."
            let grown = epoch.acked.saturating_sub(1) / needed;
            epoch.acked -= grown * needed;
            epoch.reno = epoch.reno.saturating_add(grown);
            //= RFC 9438 §4.2 step: "CUBIC computes both W_cubic(_t_) and _W_est_ (see Section 4.3) on receiving a new
            //=   ACK in congestion avoidance and chooses the larger of the two values"
            //= RFC 9438 §4.3 SHOULD: "CUBIC is in the Reno-friendly region and _cwnd_ SHOULD be set to _W_est_ at each
            //=   reception of a new ACK"
            //= deviation: the window approaches W_est, by at most half a segment for each one acknowledged (Linux)
            if epoch.reno > w {
                self.count = self.count.min(w / (epoch.reno - w));
            }
        }
        //= RFC 9438 §4.2 step: "The lower and upper bounds below ensure that CUBIC's congestion window increase rate is
        //=   non-decreasing and is less than the increase rate of slow start"
        self.count = self.count.max(2);
    }
}

impl Epoch {
    fn begin(start: Instant, acked: u32, cwnd: u32, w_max: u32) -> Self {
        let (k, origin) = if cwnd < w_max {
            //= RFC 9438 §4.2 step: "_K_ is calculated using the following equation:"
            let cube = (1u64 << 40) / SCALE * u64::from(w_max - cwnd);
            (cube_root(cube) as u32, w_max)
        } else {
            //= RFC 9438 §4.8 step: "During the first congestion avoidance stage after a timeout, CUBIC increases its
            //=   congestion window size using Figure 1, where _t_ is the elapsed time since the beginning of the
            //=   current congestion avoidance stage, _K_ is set to 0, and _W_max_ is set to the congestion window size
            //=   at the beginning of the current congestion avoidance stage."
            (0, cwnd)
        };
        //= RFC 9438 §4.3 step: "_W_est_ is set equal to _cwnd_epoch_ at the start of the congestion avoidance stage."
        //= RFC 9438 §4.8 SHOULD: "In addition, for the Reno-friendly region, _W_est_ SHOULD be set to the congestion
        //=   window size at the beginning of the current congestion avoidance stage."
        Self { start, k, origin, reno: cwnd, acked }
    }

    /// W(t + RTT_min).
    //= RFC 9438 §4.2 step: "Upon receiving a new ACK during congestion avoidance, CUBIC computes the _target_
    //=   congestion window size after the next _RTT_ using Figure 1 as follows, where _RTT_ is the smoothed round-trip
    //=   time."
    //= deviation: the minimum RTT takes the place of SRTT (Linux)
    fn target(&self, now: Instant, min_rtt: Duration) -> u64 {
        let t = (now.since(self.start) + min_rtt).as_nanos() * 1024 / 1_000_000_000;
        let off = t.abs_diff(u128::from(self.k)).min(1 << 25);
        //= RFC 9438 §4.2 step: "CUBIC uses the following window increase function:"
        let delta = ((off * off * off * u128::from(SCALE)) >> 40) as u64;
        let origin = u64::from(self.origin);
        match t < u128::from(self.k) {
            true => origin.saturating_sub(delta),
            false => origin.saturating_add(delta),
        }
    }
}

/// ∛n, rounded down: one bit of the root at a time (Warren, "Hacker's Delight", §11-2).
fn cube_root(n: u64) -> u64 {
    let (mut rest, mut root) = (n, 0u64);
    for shift in (0..=63).rev().step_by(3) {
        root *= 2;
        // (root + 1)³ − root³
        let step = 3 * root * (root + 1) + 1;
        if rest >> shift >= step {
            rest -= step << shift;
            root += 1;
        }
    }
    root
}

#[cfg(test)]
mod tests;
