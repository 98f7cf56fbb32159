//! The round-trip times of one direction: what its senders' estimators would have made of them, and
//! their distribution.

use crate::finding::RttQuantiles;
use recoup_recovery::rtt::{RtoRules, RttEstimator, Sampling};
use recoup_units::{Instant, Offset};
use std::mem::take;
use std::time::Duration;

/// Samples an estimator is rebuilt from. An older one has lost all weight in SRTT: (7/8)^256 of it is
/// left; what RTTVAR falls by a quarter each round trip is nearer, and under its floor by then.
const REMEMBERED: usize = 256;

/// Samples kept for quantiles: when there are more, every other one is dropped.
const SPREAD: usize = 128;

/// Samples for which there is room where memory is used again.
const USUAL: usize = 32;

/// A sample as an estimator wants it, in little room: there are hundreds in each direction.
#[derive(Clone, Copy, Debug)]
struct Sample {
    /// In µs, the clock of most senders.
    rtt: u32,
    /// The lower half of `snd_una`: samples of one direction are near each other.
    una: u32,
    /// From there to `snd_nxt`.
    outstanding: u32,
}

/// Round-trip times between the place of capture and the receiver of the data, in ns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rtts {
    count: u64,
    sum: u64,
    min: u64,
    max: u64,
    /// The least time in which anything at all was acknowledged.
    least: u64,
    average: u64,
    /// The latest, in a ring from the moment it is full.
    samples: Vec<Sample>,
    /// Where the ring begins.
    oldest: u32,
    /// Of every how many samples one is in `spread`.
    stride: u32,
    /// The distribution, in µs, once not all samples are remembered.
    spread: Vec<u32>,
    /// `snd_una` at the last sample.
    una: Offset,
}

impl Rtts {
    /// Begins again with none, keeping memory.
    pub fn clear(&mut self) {
        let (mut samples, mut spread) = (take(&mut self.samples), take(&mut self.spread));
        samples.clear();
        samples.shrink_to(USUAL);
        spread.clear();
        spread.shrink_to(0);
        *self = Self {
            samples,
            spread,
            ..Self::default()
        };
    }

    /// Looks at what a sample changes. The value means nothing.
    #[inline]
    pub fn warm(&self) -> u64 {
        let sample = self.samples.last().map_or(0, |sample| sample.una);
        self.count ^ self.una.0 ^ u64::from(sample)
    }

    /// Little is to come.
    pub fn shrink(&mut self) {
        self.samples.shrink_to_fit();
    }

    /// An ACK of something sent once, `rtt` ns ago; `newest`: of the latest it acknowledged.
    #[inline]
    pub fn on_sample(&mut self, rtt: u64, newest: u64, una: Offset, nxt: Offset) {
        let micros = u32::try_from(rtt / 1000).unwrap_or(u32::MAX);
        self.una = una;
        let sample = Sample {
            rtt: micros,
            una: una.0 as u32,
            outstanding: u32::try_from(nxt.since(una)).unwrap_or(u32::MAX),
        };
        if self.samples.len() < REMEMBERED {
            if self.samples.capacity() == 0 {
                self.samples.reserve(USUAL / 2);
            }
            self.samples.push(sample);
        } else {
            self.spread_out(micros);
            self.samples[self.oldest as usize] = sample;
            self.oldest = (self.oldest + 1) % REMEMBERED as u32;
        }
        if self.count == 0 {
            (self.min, self.least, self.average) = (rtt, newest, rtt);
        } else {
            self.min = self.min.min(rtt);
            self.least = self.least.min(newest);
            self.average = self.average.saturating_mul(3).saturating_add(rtt) / 4;
        }
        self.max = self.max.max(rtt);
        self.sum = self.sum.saturating_add(rtt);
        self.count += 1;
    }

    /// Takes a sample into the distribution, now that not all are remembered, if it is its turn.
    #[cold]
    fn spread_out(&mut self, micros: u32) {
        if self.spread.is_empty() {
            let all = self.samples.iter().map(|sample| sample.rtt);
            self.spread.extend(all.step_by(REMEMBERED / SPREAD));
            self.stride = (REMEMBERED / SPREAD) as u32;
        }
        if !self.count.is_multiple_of(self.stride.into()) {
            return;
        }
        if self.spread.len() == SPREAD {
            let mut keep = false;
            self.spread.retain(|_| {
                keep = !keep;
                keep
            });
            self.stride = self.stride.saturating_mul(2);
        }
        if self.count.is_multiple_of(self.stride.into()) {
            self.spread.push(micros);
        }
    }

    /// The least time in which anything was acknowledged.
    pub fn least(&self) -> Option<Duration> {
        (self.count > 0).then(|| Duration::from_nanos(self.least))
    }

    /// The same in ns; 0 without a sample.
    #[inline]
    pub fn least_nanos(&self) -> u64 {
        self.least
    }

    /// The moving average with weight 1/4 (2007 study, footnote 8).
    pub fn average(&self) -> Option<Duration> {
        (self.count > 0).then(|| Duration::from_nanos(self.average))
    }

    /// The latest samples go into `samples`, oldest first. `lag`: what a packet takes from the place of
    /// capture to the sender and its answer back.
    pub fn copy_into(&self, samples: &mut Samples, lag: Duration) {
        let (newer, older) = self.samples.split_at(self.oldest as usize);
        samples.latest.clear();
        samples.latest.extend_from_slice(older);
        samples.latest.extend_from_slice(newer);
        samples.lag = lag;
        samples.una = self.una;
    }

    /// The distribution.
    pub fn quantiles(&self) -> Option<RttQuantiles> {
        let mut spread = match self.spread.as_slice() {
            [] => self.samples.iter().map(|sample| sample.rtt).collect(),
            spread => spread.to_vec(),
        };
        spread.sort_unstable();
        let last = spread.len().checked_sub(1)?;
        let quantile = |percent: usize| {
            let micros = spread[(last * percent).div_ceil(100)];
            // The ends are known exactly.
            Duration::from_nanos((u64::from(micros) * 1000).clamp(self.min, self.max))
        };
        Some(RttQuantiles {
            samples: self.count,
            min: Duration::from_nanos(self.min),
            p50: quantile(50),
            p90: quantile(90),
            p99: quantile(99),
            max: Duration::from_nanos(self.max),
            mean: Duration::from_nanos(self.sum / self.count.max(1)),
        })
    }
}

/// Round-trip times as a sender measured them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    latest: Vec<Sample>,
    lag: Duration,
    /// `snd_una` at the last one.
    una: Offset,
}

impl Samples {
    /// What an estimator of these rules comes to. Where it times one segment a flight, a sample counts
    /// once all that was outstanding at the last one is acknowledged.
    pub fn estimator(&self, rules: RtoRules, timestamps: bool) -> RttEstimator {
        let mut estimator = RttEstimator::new(rules);
        let flights = match rules.sampling {
            Sampling::Segment => false,
            Sampling::Flight => true,
            Sampling::FlightOrTimestamps => !timestamps,
        };
        let mut flight_end = None;
        for sample in &self.latest {
            let behind = (self.una.0 as u32).wrapping_sub(sample.una);
            let una = Offset(self.una.0.saturating_sub(behind.into()));
            if flights && flight_end.is_some_and(|end| una <= end) {
                continue;
            }
            let nxt = una + u64::from(sample.outstanding);
            flight_end = Some(nxt);
            let rtt = Duration::from_micros(sample.rtt.into()) + self.lag;
            estimator.on_sample(rtt, una, nxt);
        }
        estimator
    }
}

/// How long an end takes to answer, as seen from the place of capture.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Answer {
    /// In ns.
    least: Option<u64>,
    /// A timestamp that went to it and when it passed, until it is echoed.
    asked: Option<(u32, Instant)>,
    /// The last timestamp that passed: only the first packet of a tick can be told by its echo.
    passed: Option<u32>,
}

impl Answer {
    /// It answered within `time`, in ns.
    #[inline]
    pub fn note(&mut self, time: u64) {
        self.least = Some(self.least.map_or(time, |least| least.min(time)));
    }

    /// A timestamp passed on its way to it.
    #[inline]
    pub fn ask(&mut self, at: Instant, value: u32) {
        if self.passed != Some(value) && self.asked.is_none() {
            self.asked = Some((value, at));
        }
        self.passed = Some(value);
    }

    /// It echoed a timestamp.
    #[inline]
    pub fn echoed(&mut self, at: Instant, echo: u32) {
        if let Some((value, asked_at)) = self.asked
            && echo.wrapping_sub(value).cast_signed() >= 0
        {
            self.asked = None;
            self.note(at.nanos_since(asked_at));
        }
    }

    /// The least it ever took, in ns; 0 if it never did.
    #[inline]
    pub fn nanos(&self) -> u64 {
        self.least.unwrap_or_default()
    }

    /// The least it ever took.
    pub fn least(&self) -> Option<Duration> {
        self.least.map(Duration::from_nanos)
    }
}
