//! Congestion control: the growth of the congestion window, and the slow-start threshold after a loss.
//! [`detect`](crate::detect) decides what is lost, [`rate`](crate::rate) what may be sent in recovery.

mod cubic;
mod hystart;
mod reno;

use cubic::Cubic;
use hystart::HyStart;
pub use hystart::Round;

use core::fmt;
use core::time::Duration;
use recoup_units::{Instant, Segments};

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
}

impl Algorithm {
    /// Every algorithm.
    pub const ALL: [Self; 2] = [Self::Cubic, Self::Reno];

    /// The name used in profiles and settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reno => "reno",
            Self::Cubic => "cubic",
        }
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
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Congestion {
    control: Control,
}

#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum Control {
    Reno {
        /// Segments acknowledged since the window last grew.
        acked: u32,
    },
    Cubic(Cubic),
}

impl Congestion {
    /// The state of a new connection.
    pub fn new(algorithm: Algorithm) -> Self {
        let control = match algorithm {
            Algorithm::Reno => Control::Reno { acked: 0 },
            Algorithm::Cubic => Control::Cubic(Cubic::default()),
        };
        Self { control }
    }

    /// Segments acknowledged since the window last grew.
    fn acked(&mut self) -> &mut u32 {
        match &mut self.control {
            Control::Reno { acked } => acked,
            Control::Cubic(cubic) => &mut cubic.acked,
        }
    }

    /// Congestion avoidance: the window grows by one segment per `count` acknowledged (Linux
    /// `tcp_cong_avoid_ai`). Credit from a larger count is worth one segment.
    fn avoid(&mut self, acked: Segments, cwnd: Segments, count: Segments) -> Segments {
        let so_far = self.acked();
        let mut grown = 0;
        if *so_far >= count.0 {
            *so_far = 0;
            grown = 1;
        }
        *so_far = so_far.saturating_add(acked.0);
        grown += *so_far / count.0;
        *so_far %= count.0;
        cwnd + Segments(grown)
    }
}

impl CongestionControl for Congestion {
    fn ssthresh_after_loss(&mut self, cwnd: Segments) -> Segments {
        *self.acked() = 0;
        match &mut self.control {
            Control::Reno { .. } => reno::ssthresh(cwnd),
            Control::Cubic(cubic) => cubic.ssthresh(cwnd),
        }
    }

    /// Slow start below `ssthresh`, then the algorithm's own growth.
    fn grow(&mut self, growth: &Growth) -> Segments {
        let (cwnd, left) = slow_start(growth.acked, growth.cwnd, growth.ssthresh);
        if left == Segments::ZERO {
            return cwnd;
        }
        let count = match &mut self.control {
            Control::Reno { .. } => cwnd,
            Control::Cubic(cubic) => cubic.count(growth.now, left, cwnd, growth.min_rtt),
        };
        self.avoid(left, cwnd, count.max(Segments::ONE))
    }

    /// Half of ssthresh for Reno.
    fn halving_floor(&self, ssthresh: Segments) -> Segments {
        match self.control {
            Control::Reno { .. } => Segments(ssthresh.0 / 2),
            Control::Cubic(_) => ssthresh,
        }
    }

    /// Restarts the growth curve.
    fn on_timeout(&mut self) {
        *self.acked() = 0;
        if let Control::Cubic(cubic) = &mut self.control {
            cubic.on_timeout();
        }
    }

    fn on_idle(&mut self, idle: Duration) {
        if let Control::Cubic(cubic) = &mut self.control {
            cubic.on_idle(idle);
        }
    }

    fn on_rtt(&mut self, round: &Round) -> bool {
        match &mut self.control {
            Control::Reno { .. } => false,
            Control::Cubic(cubic) => cubic.on_rtt(round),
        }
    }
}

/// Slow start (RFC 5681 §3.1 with RFC 3465's L unlimited): the window grows by one segment per segment
/// acknowledged, up to `ssthresh`. Returns the window, and the acknowledged segments that are left for congestion
/// avoidance. (Linux 3.17 grows to ssthresh + 1 and drops the remainder.)
fn slow_start(acked: Segments, cwnd: Segments, ssthresh: Segments) -> (Segments, Segments) {
    if cwnd >= ssthresh {
        return (cwnd, acked);
    }
    let grown = (cwnd + acked).min(ssthresh);
    (grown, acked - (grown - cwnd))
}

/// The restart window after `idle` without a transmission (RFC 5681 §4.1, softened as in Linux: halved for
/// each RTO passed, but not below the initial window).
pub(crate) fn after_idle(
    cwnd: Segments,
    initial: Segments,
    idle: Duration,
    rto: Duration,
) -> Segments {
    let floor = initial.min(cwnd);
    if idle <= rto || rto.is_zero() {
        return cwnd;
    }
    let halvings = (idle.as_nanos() / rto.as_nanos()).min(31) as u32;
    Segments(cwnd.0 >> halvings).max(floor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_start_stops_at_the_threshold() {
        // (acked, cwnd, ssthresh, window, left over)
        let cases = [
            (1, 10, u32::MAX, 11, 0),
            (2, 1, 7, 3, 0),
            (4, 5, 7, 7, 2),
            (3, 7, 7, 7, 3),
        ];
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
            assert_eq!(
                after_idle(Segments(80), Segments(10), idle, rto),
                Segments(window)
            );
        }
        let short = after_idle(Segments(4), Segments(10), rto * 9, rto);
        assert_eq!(short, Segments(4));
    }
}
