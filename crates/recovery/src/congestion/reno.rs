//! Reno: `ssthresh = max(cwnd/2, 2)`; the window grows by one segment per window acknowledged.
//!
//! Source: RFC 5681 §3.1. The profile decides whether `cwnd` is the congestion window or the flight size.

use super::MIN_SSTHRESH;
use recoup_units::Segments;

/// The slow-start threshold after a loss.
//= RFC 5681 §3.1 step: "ssthresh = max (FlightSize / 2, 2*SMSS)"
pub(super) fn ssthresh(cwnd: Segments) -> Segments {
    Segments(cwnd.0 / 2).max(MIN_SSTHRESH)
}

#[cfg(test)]
mod tests {
    use super::super::{Algorithm, Congestion, CongestionControl, Growth};
    use super::*;
    use core::time::Duration;
    use recoup_units::Instant;

    #[test]
    fn the_window_grows_by_one_segment_per_window() {
        let mut reno = Congestion::new(Algorithm::Reno);
        let mut grow = |acked, cwnd| {
            reno.grow(&Growth {
                now: Instant::ZERO,
                acked: Segments(acked),
                cwnd,
                ssthresh: Segments(2),
                min_rtt: Duration::ZERO,
            })
        };
        let mut cwnd = Segments(10);
        for ack in 1..=10 {
            cwnd = grow(1, cwnd);
            assert_eq!(cwnd, Segments(if ack == 10 { 11 } else { 10 }));
        }
        assert_eq!(grow(22, cwnd), Segments(13));
    }

    //= test: RFC 5681 §3.1
    #[test]
    fn a_loss_halves_the_window_but_not_below_two() {
        for (cwnd, expected) in [(10, 5), (7, 3), (3, 2), (1, 2)] {
            assert_eq!(ssthresh(Segments(cwnd)), Segments(expected));
        }
    }
}
