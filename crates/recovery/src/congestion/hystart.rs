//! HyStart: slow start ends before it overruns the path.
//!
//! ```text
//! in slow start, from a window of 16 on, once a round trip:
//!   ACK train:  ACKs at most 2 ms apart, since the round began, for longer than half the least RTT
//!   delay:      the least of eight samples of the round above the least RTT by an eighth of it, 4 to
//!               16 ms
//! either:       ssthresh = cwnd
//! ```
//! Sources: Ha and Rhee, "Taming the elephants: new TCP slow start" (2011); Linux 6.12
//! `hystart_update`.
//!
//! Deviation: the train may be longer by half a millisecond, Linux's allowance for the bursts of
//! segmentation offload at its usual rates.

use recoup_units::{Instant, Offset, Segments};
use std::time::Duration;

/// It does not act below this window.
const LOW_WINDOW: Segments = Segments(16);
/// ACKs farther apart do not belong to one train.
const SPACING: Duration = Duration::from_millis(2);
/// Samples of a round that are waited for.
const SAMPLES: u8 = 8;
/// Linux's allowance for offload.
const OFFLOAD: Duration = Duration::from_millis(1);

/// An ACK as it bears on round-trip times.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// When it came.
    pub now: Instant,
    /// The round-trip time of the last segment it delivered.
    pub rtt: Duration,
    /// The congestion window before it.
    pub cwnd: Segments,
    /// The least round-trip time of the connection, this one included.
    pub min_rtt: Duration,
    /// `snd_una` after it.
    pub una: Offset,
    /// `snd_nxt`.
    pub nxt: Offset,
}

/// What a slow start has seen of its round.
#[derive(Clone, Copy, Debug, Default)]
pub struct HyStart {
    found: bool,
    began: Instant,
    last_ack: Instant,
    /// The round ends when this is passed.
    end: Option<Offset>,
    least: Option<Duration>,
    samples: u8,
}

impl HyStart {
    /// Takes a sample; `true` when slow start should end.
    pub fn on_rtt(&mut self, round: &Round) -> bool {
        if self.found {
            return false;
        }
        if self.end.is_none_or(|end| round.una > end) {
            *self = Self {
                found: false,
                began: round.now,
                last_ack: round.now,
                end: Some(round.nxt),
                least: None,
                samples: 0,
            };
        }
        if round.cwnd < LOW_WINDOW {
            return false;
        }
        self.found = self.train(round) | self.delay(round);
        self.found
    }

    fn train(&mut self, round: &Round) -> bool {
        if round.now > self.last_ack + SPACING {
            return false;
        }
        self.last_ack = round.now;
        round.now > self.began + (round.min_rtt + OFFLOAD) / 2
    }

    fn delay(&mut self, round: &Round) -> bool {
        let least = self.least.map_or(round.rtt, |least| least.min(round.rtt));
        self.least = Some(least);
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        let more = (round.min_rtt / 8).clamp(Duration::from_millis(4), Duration::from_millis(16));
        least > round.min_rtt + more
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ACK of `una` at `ms` on a path of `min_rtt` ms at least.
    fn round(ms: u64, rtt: u64, min_rtt: u64, cwnd: u32, una: u64, nxt: u64) -> Round {
        Round {
            now: Instant::from_millis(ms),
            rtt: Duration::from_millis(rtt),
            min_rtt: Duration::from_millis(min_rtt),
            cwnd: Segments(cwnd),
            una: Offset(una),
            nxt: Offset(nxt),
        }
    }

    #[test]
    fn a_train_longer_than_half_the_least_rtt_ends_it() {
        let mut h = HyStart::default();
        let ends = (0..60u64).find(|i| h.on_rtt(&round(100 + i, 40, 40, 20, i + 1, 100)));
        assert_eq!(ends, Some(21), "20.5 ms after the round began");
        // A pause breaks the train.
        let mut h = HyStart::default();
        let gaps = (0..60u64).any(|i| h.on_rtt(&round(100 + 3 * i, 40, 40, 20, i + 1, 100)));
        assert!(!gaps);
    }

    #[test]
    fn eight_samples_above_the_least_rtt_end_it() {
        let mut h = HyStart::default();
        // 200 + 16 ms is the bound: an eighth of 200 is 25.
        let mut ends = |rtt, from| {
            (0..12u64)
                .position(|i| h.on_rtt(&round(from + 10 * i, rtt, 200, 20, from + i, from + 500)))
        };
        assert_eq!(ends(216, 1000), None);
        assert_eq!(ends(217, 2000), Some(8), "the ninth sample");
    }

    #[test]
    fn small_windows_are_left_alone() {
        let mut h = HyStart::default();
        let ends = (0..60u64).any(|i| h.on_rtt(&round(100 + i, 400, 40, 15, i + 1, 100)));
        assert!(!ends);
    }
}
