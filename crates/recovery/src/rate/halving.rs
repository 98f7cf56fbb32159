//! Linux's rate halving.
//!
//! ```text
//! on every second ACK:  cwnd −= 1, not below the congestion control's floor
//! on each ACK:          cwnd = min(cwnd, pipe + 1)
//! at the end:           cwnd = min(cwnd, ssthresh)
//! ```
//! Sources: Mathis, Semke and Mahdavi, "The rate-halving algorithm for TCP congestion control"
//! (1999); Linux 2.6 to 3.1 (`tcp_cwnd_down`, `tcp_complete_cwr`); the 2011 paper §3.2.

use super::AckProgress;
use recoup_units::Segments;

/// The state of one reduction.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Halving {
    /// Whether an odd number of ACKs has arrived.
    odd: bool,
}

impl Halving {
    /// The congestion window after an ACK.
    pub fn on_ack(&mut self, progress: &AckProgress) -> Segments {
        if !progress.clocks {
            return progress.cwnd;
        }
        self.odd = !self.odd;
        let falls = !self.odd && progress.cwnd > progress.floor;
        let cwnd = progress.cwnd - Segments(u32::from(falls));
        cwnd.min(progress.pipe + Segments::ONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(cwnd: u32, pipe: u32, clocks: bool) -> AckProgress {
        AckProgress {
            delivered: Segments::ONE,
            pipe: Segments(pipe),
            ssthresh: Segments(10),
            cwnd: Segments(cwnd),
            floor: Segments(5),
            clocks,
            safe: false,
            entering: false,
            partial: false,
        }
    }

    #[test]
    fn every_second_ack_shrinks_the_window_by_a_segment() {
        let mut halving = Halving::default();
        let mut cwnd = Segments(20);
        let windows: Vec<u32> = (0..6)
            .map(|_| {
                cwnd = halving.on_ack(&ack(cwnd.0, 20, true));
                cwnd.0
            })
            .collect();
        assert_eq!(windows, [20, 19, 19, 18, 18, 17]);
    }

    #[test]
    fn the_window_follows_the_pipe_down_to_the_floor() {
        let mut halving = Halving::default();
        assert_eq!(halving.on_ack(&ack(20, 3, true)), Segments(4));
        assert_eq!(halving.on_ack(&ack(5, 9, true)), Segments(5));
        assert_eq!(halving.on_ack(&ack(6, 2, false)), Segments(6));
    }
}
