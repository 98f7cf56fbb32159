//! Reno: `ssthresh = max(cwnd/2, 2)`; one more segment for every window acknowledged.
//!
//! Source: RFC 5681 §3.1. What `cwnd` is here, the window or the flight size, the profile says.

use super::MIN_SSTHRESH;
use recoup_units::Segments;

/// The slow-start threshold after a loss.
pub(super) fn ssthresh(cwnd: Segments) -> Segments {
    Segments(cwnd.0 / 2).max(MIN_SSTHRESH)
}

#[cfg(test)]
mod tests {
    use super::super::{Algorithm, Congestion};
    use super::*;
    use recoup_units::Instant;
    use std::time::Duration;

    #[test]
    fn one_segment_a_window() {
        let mut reno = Congestion::new(Algorithm::Reno);
        let mut grow = |acked, cwnd| {
            reno.grow(
                Instant::ZERO,
                Segments(acked),
                cwnd,
                Segments(2),
                Duration::ZERO,
            )
        };
        let mut cwnd = Segments(10);
        for ack in 1..=10 {
            cwnd = grow(1, cwnd);
            assert_eq!(cwnd, Segments(if ack == 10 { 11 } else { 10 }));
        }
        assert_eq!(grow(22, cwnd), Segments(13));
    }

    #[test]
    fn halves_but_not_below_two() {
        for (cwnd, expected) in [(10, 5), (7, 3), (3, 2), (1, 2)] {
            assert_eq!(ssthresh(Segments(cwnd)), Segments(expected));
        }
    }
}
