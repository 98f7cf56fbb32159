//! The round-trip times of one direction: their distribution, and the samples that an RTT estimator
//! can be rebuilt from. Also how fast each end responds.

use crate::{
    attribute::rtt_samples::{RttSample, RttSamples},
    finding::RttQuantiles,
    memory::{HeapSize, room_for_more},
};
use recoup_units::{Instant, Offset};
use serde::{Deserialize, Serialize};
use std::{
    mem::{replace, take},
    time::Duration,
};

/// Samples kept to rebuild an estimator. SRTT holds (7/8)^256 of an older sample, which is nothing.
/// RTTVAR, which loses a quarter each round trip, is at its floor by then.
const MOST_SAMPLES: usize = 256;

/// Samples kept for quantiles. Beyond, every other one is dropped.
const MOST_QUANTILE_SAMPLES: usize = 128;

/// Samples kept of a direction that ended a while ago.
const LAST_SAMPLES: usize = 8;

/// The quantiles that are reported, in percent.
const QUANTILES: [usize; 3] = [50, 90, 99];

/// Samples that show what is usual.
const ENOUGH_SAMPLES: u32 = 4;

/// Samples for which a reused direction keeps memory.
const USUAL_SAMPLES: usize = 32;

/// Round-trip times between the capture point and the receiver of the data, in ns. What each sample changes
/// fills one cache line.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[repr(C)]
pub(crate) struct Rtts {
    /// The latest samples; a ring once it is full.
    samples: Vec<RttSample>,
    min: u64,
    /// The shortest time in which anything was acknowledged.
    least: u64,
    average: u64,
    sum: u64,
    count: u32,
    /// `max` in whole µs.
    max_micros: u32,

    max: u64,
    /// The moving average of the distance to the average (RTTVAR, RFC 6298 §2.3).
    variation: u64,
    /// Where the ring begins.
    oldest: u32,
    /// One of every `stride` samples is in `quantile_samples`.
    stride: u32,
    /// Samples for quantiles, in µs; empty while `samples` holds all.
    quantile_samples: Vec<u32>,
    /// The quantiles in µs, once most samples are [forgotten](Self::forget_most).
    quantiles: Option<Box<[u32; QUANTILES.len()]>>,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(std::mem::offset_of!(Rtts, max) == 64);

impl Rtts {
    /// Whether the samples are as many as are kept, and the oldest is among them.
    pub fn is_consistent(&self) -> bool {
        self.samples.len() <= MOST_SAMPLES
            && (self.oldest as usize) <= self.samples.len().saturating_sub(1)
            && self.quantile_samples.len() <= MOST_QUANTILE_SAMPLES
    }

    /// Removes all samples, keeping memory.
    pub fn clear(&mut self) {
        let (mut samples, mut quantile_samples) = (take(&mut self.samples), take(&mut self.quantile_samples));
        samples.clear();
        samples.shrink_to(USUAL_SAMPLES);
        quantile_samples.clear();
        quantile_samples.shrink_to(0);
        *self = Self { samples, quantile_samples, ..Self::default() };
    }

    /// Reads what a sample will change, to have it in the cache by then. The value has no meaning.
    #[inline]
    pub fn prefetch(&self) -> u64 {
        let sample = self.samples.last().map_or(0, |sample| sample.una);
        self.sum ^ u64::from(sample)
    }

    /// Its memory on the heap, in bytes.
    #[inline]
    pub fn memory(&self) -> usize {
        self.samples.heap_size() + self.quantile_samples.heap_size()
    }

    /// Frees spare memory of a connection that has ended.
    pub fn shrink(&mut self) {
        self.samples.shrink_to_fit();
    }

    /// Keeps the quantiles and the last samples: the direction has ended, and few packets come after that.
    pub fn forget_most(&mut self) {
        if self.samples.len() > LAST_SAMPLES {
            self.quantiles = self.quantile_micros().map(Box::new);
            self.quantile_samples = Vec::new();
            let oldest = replace(&mut self.oldest, 0) as usize;
            self.samples.rotate_left(oldest);
            self.samples.drain(..self.samples.len() - LAST_SAMPLES);
        }
        self.samples.shrink_to_fit();
    }

    /// An ACK covered data sent once, `rtt` ns ago, after it was held up for `held_up` ns before the
    /// capture point. `newest` is the time since the newest of that data was sent, in ns.
    #[inline]
    pub fn on_sample(&mut self, rtt: u64, held_up: u64, newest: u64, una: Offset, nxt: Offset) {
        let micros = u32::try_from(rtt / 1000).unwrap_or(u32::MAX);
        let sample = RttSample {
            rtt: micros,
            held_up: match held_up {
                0 => 0,
                _ => u32::try_from(held_up / 1000).unwrap_or(u32::MAX),
            },
            una: una.0 as u32,
            outstanding: u32::try_from(nxt.since(una)).unwrap_or(u32::MAX),
        };
        if self.samples.len() < MOST_SAMPLES {
            if self.samples.len() == self.samples.capacity() {
                self.samples.reserve_exact(room_for_more(self.samples.len(), USUAL_SAMPLES / 2));
            }
            self.samples.push(sample);
        } else {
            self.add_quantile_sample(micros);
            self.samples[self.oldest as usize] = sample;
            self.oldest = (self.oldest + 1) % MOST_SAMPLES as u32;
        }
        if self.count == 0 {
            (self.min, self.least, self.average) = (rtt, newest, rtt);
            self.variation = rtt / 2;
        } else {
            self.min = self.min.min(rtt);
            self.least = self.least.min(newest);
            let distance = rtt.abs_diff(self.average);
            self.variation = self.variation.saturating_mul(3).saturating_add(distance) / 4;
            self.average = self.average.saturating_mul(3).saturating_add(rtt) / 4;
        }
        if micros >= self.max_micros {
            self.max_micros = micros;
            self.max = self.max.max(rtt);
        }
        self.sum = self.sum.saturating_add(rtt);
        self.count = self.count.saturating_add(1);
    }

    /// Keeps one of every `stride` samples for quantiles.
    #[cold]
    fn add_quantile_sample(&mut self, micros: u32) {
        if self.quantile_samples.is_empty() {
            let all = self.samples.iter().map(|sample| sample.rtt);
            self.quantile_samples.extend(all.step_by(MOST_SAMPLES / MOST_QUANTILE_SAMPLES));
            self.stride = (MOST_SAMPLES / MOST_QUANTILE_SAMPLES) as u32;
        }
        if !self.count.is_multiple_of(self.stride) {
            return;
        }
        if self.quantile_samples.len() == MOST_QUANTILE_SAMPLES {
            let mut keep = false;
            self.quantile_samples.retain(|_| {
                keep = !keep;
                keep
            });
            self.stride = self.stride.saturating_mul(2);
        }
        if self.count.is_multiple_of(self.stride) {
            self.quantile_samples.push(micros);
        }
    }

    /// The shortest time in which anything was acknowledged.
    pub fn least(&self) -> Option<Duration> {
        (self.count > 0).then(|| Duration::from_nanos(self.least))
    }

    /// The least round-trip time in ns; 0 without a sample.
    #[inline]
    pub fn least_nanos(&self) -> u64 {
        self.least
    }

    /// The moving average with weight 1/4 (2007 study, footnote 8).
    pub fn average(&self) -> Option<Duration> {
        (self.count > 0).then(|| Duration::from_nanos(self.average))
    }

    /// The latest sample.
    pub fn latest(&self) -> Option<&RttSample> {
        match self.oldest {
            0 => self.samples.last(),
            oldest => self.samples.get(oldest as usize - 1),
        }
    }

    /// The average and the variation in ns, once enough samples show what is usual.
    #[inline]
    pub fn usual(&self) -> Option<(u64, u64)> {
        (self.count >= ENOUGH_SAMPLES).then_some((self.average, self.variation))
    }

    /// Copies the latest samples into `samples`, oldest first. `lag` is the round-trip time between
    /// the capture point and the sender, `una` the direction's.
    pub fn copy_into(&self, samples: &mut RttSamples, lag: Duration, una: Offset) {
        let (newer, older) = self.samples.split_at(self.oldest as usize);
        samples.latest.clear();
        samples.latest.extend_from_slice(older);
        samples.latest.extend_from_slice(newer);
        samples.lag = lag;
        // The samples hold the lower half of `snd_una`.
        let latest = samples.latest.last().map_or(una.0 as u32, |sample| sample.una);
        let behind = (una.0 as u32).wrapping_sub(latest);
        samples.una = Offset(una.0.saturating_sub(behind.into()));
    }

    /// The quantiles of all samples, in µs.
    fn quantile_micros(&self) -> Option<[u32; QUANTILES.len()]> {
        if let Some(quantiles) = &self.quantiles {
            return Some(**quantiles);
        }
        let mut quantile_samples = match self.quantile_samples.as_slice() {
            [] => self.samples.iter().map(|sample| sample.rtt).collect(),
            quantile_samples => quantile_samples.to_vec(),
        };
        let last = quantile_samples.len().checked_sub(1)?;
        let mut from = 0;
        // Each quantile stands above those before it.
        Some(QUANTILES.map(|percent| {
            let index = (last * percent).div_ceil(100);
            let (_, quantile, _) = quantile_samples[from..].select_nth_unstable(index - from);
            from = index;
            *quantile
        }))
    }

    /// Quantiles of all samples.
    pub fn quantiles(&self) -> Option<RttQuantiles> {
        // Minimum and maximum are exact.
        let exact = |micros| Duration::from_nanos((u64::from(micros) * 1000).clamp(self.min, self.max));
        let [p50, p90, p99] = self.quantile_micros()?.map(exact);
        Some(RttQuantiles {
            samples: self.count.into(),
            min: Duration::from_nanos(self.min),
            p50,
            p90,
            p99,
            max: Duration::from_nanos(self.max),
            mean: Duration::from_nanos(self.sum / u64::from(self.count.max(1))),
        })
    }
}

/// How fast an end responds, as seen from the capture point.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct ResponseTime {
    /// In ns; `u64::MAX` without one.
    least: u64,
    /// When the pending timestamp passed.
    pending_at: Instant,
    /// A timestamp sent to this end, until it is echoed.
    pending: u32,
    /// The last timestamp sent to this end. An echo can only be matched to the first packet with
    /// it.
    last_value: u32,
    is_pending: bool,
    has_last: bool,
}

impl Default for ResponseTime {
    fn default() -> Self {
        Self {
            least: u64::MAX,
            pending_at: Instant::ZERO,
            pending: 0,
            last_value: 0,
            is_pending: false,
            has_last: false,
        }
    }
}

impl ResponseTime {
    /// The end responded within `time` ns. Returns whether that is the shortest time so far.
    #[inline]
    pub fn on_response(&mut self, time: u64) -> bool {
        let is_least = time < self.least;
        if is_least {
            self.least = time;
        }
        is_least
    }

    /// A timestamp was sent to this end.
    #[inline]
    pub fn on_timestamp(&mut self, at: Instant, value: u32) {
        let is_new = !self.has_last || self.last_value != value;
        if is_new && !self.is_pending {
            (self.pending, self.pending_at) = (value, at);
            self.is_pending = true;
        }
        self.last_value = value;
        self.has_last = true;
    }

    /// The end echoed a timestamp. Returns how long that took, in ns, if it is the first echo of the pending
    /// timestamp.
    #[inline]
    pub fn on_echo(&mut self, at: Instant, echo: u32) -> Option<u64> {
        let is_response = self.is_pending && echo.wrapping_sub(self.pending).cast_signed() >= 0;
        if !is_response {
            return None;
        }
        self.is_pending = false;
        Some(at.nanos_since(self.pending_at))
    }

    /// The shortest response time, in ns; 0 without one.
    #[inline]
    pub fn nanos(&self) -> u64 {
        self.least_nanos().unwrap_or_default()
    }

    /// The least response time in ns; `None` without a response.
    #[inline]
    pub fn least_nanos(&self) -> Option<u64> {
        (self.least != u64::MAX).then_some(self.least)
    }

    /// The shortest response time.
    pub fn least(&self) -> Option<Duration> {
        self.least_nanos().map(Duration::from_nanos)
    }
}
