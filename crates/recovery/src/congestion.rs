//! Congestion control: the growth of the congestion window, and the slow-start threshold after a loss.
//! [`detect`](crate::detect) decides what is lost, [`rate`](crate::rate) what may be sent in recovery.

mod bbr;
mod cubic;
mod hystart;
mod path;
mod reno;

pub use crate::delivery::RateSample;
use bbr::Bbr;
use cubic::Cubic;
use hystart::HyStart;
pub use hystart::Round;
pub use path::{PathSample, PathTotals, PathVerdict, Start};

use alloc::boxed::Box;
use core::fmt;
use core::time::Duration;
use recoup_units::{BitRate, Instant, Segments};

/// The smallest slow-start threshold (RFC 5681 §3.1 equation 4).
pub const MIN_SSTHRESH: Segments = Segments(2);

/// A congestion control algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Algorithm {
    /// RFC 5681.
    Reno,
    /// RFC 9438 with Linux's constants.
    Cubic,
    /// BBR, version 1, as in Linux.
    Bbr1,
}

impl Algorithm {
    /// Every algorithm.
    pub const ALL: [Self; 3] = [Self::Cubic, Self::Reno, Self::Bbr1];

    /// The name used in profiles and settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reno => "reno",
            Self::Cubic => "cubic",
            Self::Bbr1 => "bbr1",
        }
    }

    /// The name of Linux's module (`net.ipv4.tcp_congestion_control`).
    pub const fn linux_name(self) -> &'static str {
        match self {
            Self::Bbr1 => "bbr",
            _ => self.name(),
        }
    }

    /// The algorithm with this name, or with that of Linux's module.
    pub fn named(name: &str) -> Option<Self> {
        let is_it = |a: &Self| a.name() == name || a.linux_name() == name;
        Self::ALL.into_iter().find(is_it)
    }
}

/// A congestion control. It decides how the congestion window grows and how far it falls.
/// [`Rules`](crate::detect::Rules) decide when it falls, and [`RateControl`](crate::rate::RateControl) how it gets there
/// during recovery.
///
/// ```
/// use recoup_recovery::congestion::{CongestionControl, Growth};
/// use recoup_recovery::{Instant, Mechanisms, Segments, Sender, Trigger};
///
/// /// One segment more per ACK, and seven tenths after a loss.
/// #[derive(Clone, Debug)]
/// struct Additive;
///
/// impl CongestionControl for Additive {
///     fn ssthresh_after_loss(&mut self, cwnd: Segments) -> Segments {
///         Segments(cwnd.0 * 7 / 10)
///     }
///
///     fn grow(&mut self, growth: &Growth) -> Segments {
///         growth.cwnd + Segments::ONE
///     }
/// }
///
/// let mechanisms = Mechanisms::RFC_9002;
/// let mut sender = Sender::with_control(Additive, &mechanisms, 1200, Trigger::Syn, false);
/// sender.number_packets(Instant::ZERO);
/// ```
pub trait CongestionControl: Clone + fmt::Debug {
    /// Records a loss, and returns the slow-start threshold after it. `cwnd`: the window at the loss. The sender uses
    /// at least [`MIN_SSTHRESH`].
    fn ssthresh_after_loss(&mut self, cwnd: Segments) -> Segments;

    /// Returns the window after an ACK. The sender calls this outside recovery, if the window limited sending. It
    /// uses at least one segment.
    fn grow(&mut self, growth: &Growth) -> Segments;

    /// Returns the smallest window that rate halving reaches. `ssthresh`: the slow-start threshold, which Linux uses
    /// for an algorithm without a min_cwnd of its own.
    fn halving_floor(&self, ssthresh: Segments) -> Segments {
        ssthresh
    }

    /// A retransmission timeout occurred.
    fn on_timeout(&mut self) {}

    /// The sender sends again after it was idle for `idle`.
    fn on_idle(&mut self, _idle: Duration) {}

    /// Processes an RTT sample in slow start. Returns whether slow start should end.
    fn on_rtt(&mut self, _round: &Round) -> bool {
        false
    }

    /// Whether the algorithm models the path. Its [`on_path_sample`](Self::on_path_sample) then sets the window after
    /// each ACK, in recovery as well, in place of growth and rate control; no idle time shrinks the window; and the
    /// sender paces at [`pacing_rate`](Self::pacing_rate). The answer never changes.
    fn models_path(&self) -> bool {
        false
    }

    /// Takes an ACK into the model.
    fn on_path_sample(&mut self, sample: &PathSample) -> PathVerdict {
        PathVerdict::unchanged(sample.cwnd)
    }

    /// The connection is established, and its model begins. `min_rtt`: the minimum RTT, if it is known.
    fn on_established(&mut self, _start: &Start, _min_rtt: Option<Duration>) {}

    /// Nothing is in flight, and the sender sends again after the application limited it. Returns the window. Only for an
    /// algorithm that models the path.
    fn on_restart(&mut self, start: &Start) -> Segments {
        start.cwnd
    }

    /// The sender enters the Loss state. `mss`: the payload of a full segment, in bytes.
    fn on_loss_state(&mut self, _totals: &PathTotals, _mss: u32) {}

    /// A reduction was undone.
    fn on_undone(&mut self, _totals: &PathTotals) {}

    /// The pacing rate; `None`: the sender derives it from window and SRTT.
    fn pacing_rate(&self) -> Option<BitRate> {
        None
    }

    /// Seeds what the algorithm draws at random.
    fn set_random_seed(&mut self, _seed: u64) {}

    /// The bytes that the algorithm takes on the heap.
    fn memory(&self) -> usize {
        0
    }
}

/// An ACK that may make the window grow.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Growth {
    /// When the ACK arrived.
    pub now: Instant,
    /// The segments that count for growth: those acknowledged or, since Linux 4.13, those delivered.
    pub acked: Segments,
    /// The congestion window.
    pub cwnd: Segments,
    /// The slow-start threshold; [`Segments::MAX`] before the first reduction.
    pub ssthresh: Segments,
    /// The minimum RTT so far; zero before the first sample.
    pub min_rtt: Duration,
}

/// The state of one of Recoup's own congestion controls.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Congestion {
    control: Control,
}

#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum Control {
    Reno {
        /// Segments acknowledged since the window last grew.
        acked: u32,
    },
    Cubic(Cubic),
    Bbr(Box<Bbr>),
}

impl Congestion {
    /// The state of a new connection.
    pub fn new(algorithm: Algorithm) -> Self {
        let control = match algorithm {
            Algorithm::Reno => Control::Reno { acked: 0 },
            Algorithm::Cubic => Control::Cubic(Cubic::default()),
            Algorithm::Bbr1 => Control::Bbr(Box::default()),
        };
        Self { control }
    }

    fn bbr(&mut self) -> Option<&mut Bbr> {
        match &mut self.control {
            Control::Bbr(bbr) => Some(bbr),
            Control::Reno { .. } | Control::Cubic(_) => None,
        }
    }
}

/// Congestion avoidance: the window grows by one segment per `count` acknowledged, of which `so_far` were before
/// (Linux `tcp_cong_avoid_ai`). Credit from a larger count is worth one segment.
//= RFC 5681 §3.1 SHOULD: "The RECOMMENDED way to increase cwnd during congestion avoidance is to count the number of
//=   bytes that have been acknowledged by ACKs for new data."
//= RFC 5681 §3.1 MUST NOT: "Note that during congestion avoidance, cwnd MUST NOT be increased by more than SMSS bytes
//=   per RTT."
//= RFC 9002 §7.3.3 MUST: "A sender in congestion avoidance uses an Additive Increase Multiplicative Decrease (AIMD)
//=   approach that MUST limit the increase to the congestion window to at most one maximum datagram size for each
//=   congestion window that is acknowledged."
fn avoid(so_far: &mut u32, acked: Segments, cwnd: Segments, count: Segments) -> Segments {
    let count = count.0.max(1);
    let mut grown = 0;
    if *so_far >= count {
        *so_far = 0;
        grown = 1;
    }
    *so_far = so_far.saturating_add(acked.0);
    // The division would change nothing below, and costs more than the rest.
    if *so_far >= count {
        grown += *so_far / count;
        *so_far %= count;
    }
    cwnd + Segments(grown)
}

impl CongestionControl for Congestion {
    fn ssthresh_after_loss(&mut self, cwnd: Segments) -> Segments {
        match &mut self.control {
            Control::Reno { acked } => {
                *acked = 0;
                reno::ssthresh(cwnd)
            }
            Control::Cubic(cubic) => {
                cubic.acked = 0;
                cubic.ssthresh(cwnd)
            }
            Control::Bbr(bbr) => bbr.ssthresh_after_loss(cwnd),
        }
    }

    /// Slow start below `ssthresh`, then the algorithm's own growth.
    //= RFC 5681 §3.1 MUST: "The slow start and congestion avoidance algorithms MUST be used by a TCP sender to control
    //=   the amount of outstanding data being injected into the network."
    fn grow(&mut self, growth: &Growth) -> Segments {
        let (cwnd, left) = slow_start(growth.acked, growth.cwnd, growth.ssthresh);
        if left == Segments::ZERO {
            return cwnd;
        }
        match &mut self.control {
            Control::Reno { acked } => avoid(acked, left, cwnd, cwnd),
            Control::Cubic(cubic) => {
                let count = cubic.count(growth.now, left, cwnd, growth.min_rtt);
                avoid(&mut cubic.acked, left, cwnd, count)
            }
            Control::Bbr(_) => growth.cwnd,
        }
    }

    /// Half of ssthresh for Reno.
    fn halving_floor(&self, ssthresh: Segments) -> Segments {
        match self.control {
            Control::Reno { .. } => Segments(ssthresh.0 / 2),
            Control::Cubic(_) | Control::Bbr(_) => ssthresh,
        }
    }

    /// Restarts the growth curve.
    fn on_timeout(&mut self) {
        match &mut self.control {
            Control::Reno { acked } => *acked = 0,
            Control::Cubic(cubic) => cubic.on_timeout(),
            Control::Bbr(_) => {}
        }
    }

    fn on_idle(&mut self, idle: Duration) {
        if let Control::Cubic(cubic) = &mut self.control {
            cubic.on_idle(idle);
        }
    }

    #[inline]
    fn on_rtt(&mut self, round: &Round) -> bool {
        match &mut self.control {
            Control::Cubic(cubic) => cubic.on_rtt(round),
            Control::Reno { .. } | Control::Bbr(_) => false,
        }
    }

    #[inline]
    fn models_path(&self) -> bool {
        matches!(self.control, Control::Bbr(_))
    }

    fn on_path_sample(&mut self, sample: &PathSample) -> PathVerdict {
        match &mut self.control {
            Control::Bbr(bbr) => bbr.on_ack(sample),
            Control::Reno { .. } | Control::Cubic(_) => PathVerdict::unchanged(sample.cwnd),
        }
    }

    fn on_established(&mut self, start: &Start, min_rtt: Option<Duration>) {
        if let Some(bbr) = self.bbr() {
            bbr.on_established(start, min_rtt);
        }
    }

    fn on_restart(&mut self, start: &Start) -> Segments {
        self.bbr().map_or(start.cwnd, |bbr| bbr.on_restart(start))
    }

    fn on_loss_state(&mut self, totals: &PathTotals, mss: u32) {
        if let Some(bbr) = self.bbr() {
            bbr.on_loss_state(totals, mss);
        }
    }

    fn on_undone(&mut self, totals: &PathTotals) {
        if let Some(bbr) = self.bbr() {
            bbr.on_undone(totals);
        }
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        match &self.control {
            Control::Bbr(bbr) => bbr.pacing_rate(),
            Control::Reno { .. } | Control::Cubic(_) => None,
        }
    }

    fn set_random_seed(&mut self, seed: u64) {
        if let Some(bbr) = self.bbr() {
            bbr.set_random_seed(seed);
        }
    }

    fn memory(&self) -> usize {
        match &self.control {
            Control::Bbr(bbr) => size_of_val(bbr.as_ref()),
            Control::Reno { .. } | Control::Cubic(_) => 0,
        }
    }
}

/// Slow start (RFC 5681 §3.1 with RFC 3465's L unlimited): the window grows by one segment per segment
/// acknowledged, up to `ssthresh`. Returns the window, and the acknowledged segments that are left for congestion
/// avoidance. (Linux 3.17 grows to ssthresh + 1 and drops the remainder.)
fn slow_start(acked: Segments, cwnd: Segments, ssthresh: Segments) -> (Segments, Segments) {
    //= RFC 5681 §3.1 step: "The slow start algorithm is used when cwnd < ssthresh, while the congestion avoidance
    //=   algorithm is used when cwnd > ssthresh."
    //= RFC 9438 §4.10 MUST: "When _cwnd_ is no more than _ssthresh_, CUBIC MUST employ a slow start algorithm."
    //= deviation: with cwnd equal to ssthresh, the window grows by the curve, which RFC 5681 §3.1 permits
    if cwnd >= ssthresh {
        return (cwnd, acked);
    }
    //= RFC 5681 §3.1 step: "Slow start ends when cwnd exceeds ssthresh (or, optionally, when it reaches it, as noted
    //=   above) or when congestion is observed."
    //= RFC 9002 §7.3.1 step: "While a sender is in slow start, the congestion window increases by the number of bytes
    //=   acknowledged when each acknowledgment is processed."
    let grown = (cwnd + acked).min(ssthresh);
    (grown, acked - (grown - cwnd))
}

/// The restart window after `idle` without a transmission (RFC 5681 §4.1, softened as in Linux: halved for
/// each RTO passed, but not below the initial window).
pub(crate) fn after_idle(cwnd: Segments, initial: Segments, idle: Duration, rto: Duration) -> Segments {
    //= RFC 5681 §4.1 step: "For the purposes of this standard, we define RW = min(IW,cwnd)."
    let floor = initial.min(cwnd);
    if idle <= rto || rto.is_zero() {
        return cwnd;
    }
    //= RFC 5681 §4.1 SHOULD: "a TCP SHOULD set cwnd to no more than RW before beginning transmission if the TCP has not
    //=   sent data in an interval exceeding the retransmission timeout"
    //= deviation: the window halves once for each RTO that has passed (RFC 2861, Linux)
    let halvings = (idle.as_nanos() / rto.as_nanos()).min(31) as u32;
    Segments(cwnd.0 >> halvings).max(floor)
}

#[cfg(test)]
mod tests {
    use super::*;

    //= test: RFC 5681 §3.1
    #[test]
    fn slow_start_stops_at_the_threshold() {
        // (acked, cwnd, ssthresh, window, left over)
        let cases = [(1, 10, u32::MAX, 11, 0), (2, 1, 7, 3, 0), (4, 5, 7, 7, 2), (3, 7, 7, 7, 3)];
        for (acked, cwnd, ssthresh, window, left) in cases {
            let got = slow_start(Segments(acked), Segments(cwnd), Segments(ssthresh));
            assert_eq!(got, (Segments(window), Segments(left)));
        }
    }

    #[test]
    fn idle_time_halves_the_window_per_rto() {
        let rto = Duration::from_millis(200);
        for (idle_ms, window) in [(0, 80), (200, 80), (300, 40), (450, 20), (10_000, 10)] {
            let idle = Duration::from_millis(idle_ms);
            assert_eq!(after_idle(Segments(80), Segments(10), idle, rto), Segments(window));
        }
        let short = after_idle(Segments(4), Segments(10), rto * 9, rto);
        assert_eq!(short, Segments(4));
    }
}
