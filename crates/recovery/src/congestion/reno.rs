//! Reno: `ssthresh = max(cwnd/2, 2)`; one more segment for every window acknowledged.
//!
//! Source: RFC 5681 §3.1. Deviation: ssthresh is taken from the window, not the flight size, as in
//! Linux; the two differ only for a sender its application limits.

use super::MIN_SSTHRESH;
use recoup_units::Segments;

/// Reno's state: what was acknowledged towards the next segment of window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reno {
    acked: u32,
}

impl Reno {
    /// The slow-start threshold after a loss.
    pub fn ssthresh(cwnd: Segments) -> Segments {
        Segments(cwnd.0 / 2).max(MIN_SSTHRESH)
    }

    /// Congestion avoidance.
    pub fn grow(&mut self, acked: Segments, cwnd: Segments) -> Segments {
        let window = cwnd.0.max(1);
        let total = u64::from(self.acked) + u64::from(acked.0);
        self.acked = (total % u64::from(window)) as u32;
        cwnd + Segments((total / u64::from(window)) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_segment_a_window() {
        let mut reno = Reno::default();
        let mut cwnd = Segments(10);
        for ack in 1..=10 {
            cwnd = reno.grow(Segments(1), cwnd);
            assert_eq!(cwnd, Segments(if ack == 10 { 11 } else { 10 }));
        }
        assert_eq!(reno.grow(Segments(22), cwnd), Segments(13));
    }

    #[test]
    fn halves_but_not_below_two() {
        for (cwnd, ssthresh) in [(10, 5), (7, 3), (3, 2), (1, 2)] {
            assert_eq!(Reno::ssthresh(Segments(cwnd)), Segments(ssthresh));
        }
    }
}
