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
mod tests;
