//! HyStart: ends slow start before the window overruns the path.
//!
//! ```text
//! in slow start, from a window of 16 on, once per round trip:
//!   ACK train:  ACKs at most 2 ms apart, since the round began, for longer than half the least RTT
//!   delay:      the least of eight samples of the round above the least RTT by an eighth of it, 4 to
//!               16 ms
//! either:       ssthresh = cwnd
//! ```
//! Sources: Ha and Rhee, "Taming the elephants: new TCP slow start" (2011); Linux 6.12
//! `hystart_update`.
//!
//! Deviation: the train may be half a millisecond longer, Linux's allowance for bursts from segmentation
//! offload at the usual rates.

use crate::rtt::nanos;
use core::time::Duration;
use recoup_units::{Instant, Offset, Segments};

/// HyStart does not act below this window.
const LOW_WINDOW: Segments = Segments(16);
/// The largest distance between two ACKs of one train.
const SPACING: Duration = Duration::from_millis(2);
/// RTT samples per round before the delay test applies.
const SAMPLES: u8 = 8;
/// Linux's allowance for segmentation offload.
const OFFLOAD: Duration = Duration::from_millis(1);

/// An RTT sample and the connection state at its ACK.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Round {
    /// When the ACK arrived.
    pub now: Instant,
    /// The round-trip time of the last segment it delivered.
    pub rtt: Duration,
    /// The congestion window before the ACK.
    pub cwnd: Segments,
    /// The minimum RTT of the connection, this sample included.
    pub min_rtt: Duration,
    /// `snd_una` after the ACK.
    pub una: Offset,
    /// `snd_nxt`.
    pub nxt: Offset,
}

/// The state of HyStart in the current round.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct HyStart {
    /// When the round began; `None` before the first one.
    began: Option<Instant>,
    last_ack: Instant,
    /// The round ends when `snd_una` passes this offset.
    end: Offset,
    /// The smallest sample of the round in ns; [`u64::MAX`] until the first one.
    least: u64,
    samples: u8,
    found: bool,
}

impl HyStart {
    /// Processes a sample. Returns whether slow start should end.
    //= RFC 9438 §4.10 SHOULD: "In general, CUBIC SHOULD use the HyStart++ slow start algorithm [RFC9406] or MAY use the
    //=   Reno TCP slow start algorithm [RFC5681] in the rare cases when HyStart++ is not suitable."
    //= deviation: HyStart, the predecessor of HyStart++ (Linux)
    pub fn on_rtt(&mut self, round: &Round) -> bool {
        if self.found {
            return false;
        }
        if self.began.is_none() || round.una > self.end {
            *self = Self {
                began: Some(round.now),
                last_ack: round.now,
                end: round.nxt,
                least: u64::MAX,
                samples: 0,
                found: false,
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
        let half = (round.min_rtt + OFFLOAD) / 2;
        self.began.is_some_and(|began| round.now > began + half)
    }

    fn delay(&mut self, round: &Round) -> bool {
        self.least = self.least.min(nanos(round.rtt));
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        let more = (round.min_rtt / 8).clamp(Duration::from_millis(4), Duration::from_millis(16));
        self.least > nanos(round.min_rtt + more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ACK of `una` at `ms` on a path with a minimum RTT of `min_rtt` ms.
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
    fn a_train_longer_than_half_the_minimum_rtt_ends_slow_start() {
        let mut h = HyStart::default();
        let ends = (0..60u64).find(|i| h.on_rtt(&round(100 + i, 40, 40, 20, i + 1, 100)));
        assert_eq!(ends, Some(21), "20.5 ms after the round began");
        // A pause breaks the train.
        let mut h = HyStart::default();
        let gaps = (0..60u64).any(|i| h.on_rtt(&round(100 + 3 * i, 40, 40, 20, i + 1, 100)));
        assert!(!gaps);
    }

    #[test]
    fn eight_samples_above_the_minimum_rtt_end_slow_start() {
        let mut h = HyStart::default();
        // 200 + 16 ms is the bound: an eighth of 200 is 25.
        let mut ends =
            |rtt, from| (0..12u64).position(|i| h.on_rtt(&round(from + 10 * i, rtt, 200, 20, from + i, from + 500)));
        assert_eq!(ends(216, 1000), None);
        assert_eq!(ends(217, 2000), Some(8), "the ninth sample");
    }

    #[test]
    fn hystart_ignores_small_windows() {
        let mut h = HyStart::default();
        let ends = (0..60u64).any(|i| h.on_rtt(&round(100 + i, 400, 40, 15, i + 1, 100)));
        assert!(!ends);
    }
}
