//! The round-trip times of one direction: what its senders' estimators would have made of them, and
//! their distribution.

use crate::finding::RttQuantiles;
use recoup_recovery::rtt::{RtoRules, RttEstimator, Sampling};
use recoup_units::{Instant, Offset};
use std::time::Duration;

/// Samples an estimator is rebuilt from. An older one has lost all weight in SRTT: (7/8)^256 of it is
/// left; what RTTVAR falls by a quarter each round trip is nearer, and under its floor by then.
const REMEMBERED: usize = 256;

/// Samples kept for quantiles: when there are more, every other one is dropped.
const SPREAD: usize = 128;

/// A sample as an estimator wants it.
#[derive(Clone, Copy, Debug)]
struct Sample {
    rtt: Duration,
    una: Offset,
    nxt: Offset,
}

/// Round-trip times between the place of capture and the receiver of the data.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rtts {
    /// The latest, in a ring from the moment it is full.
    samples: Vec<Sample>,
    /// Where the ring begins.
    oldest: usize,
    count: u64,
    sum: Duration,
    min: Option<Duration>,
    max: Duration,
    /// The least time in which anything at all was acknowledged.
    least: Option<Duration>,
    average: Option<Duration>,
    /// Every `stride`-th sample, in µs.
    spread: Vec<u32>,
    stride: u64,
}

impl Rtts {
    /// An ACK of something sent once, `rtt` ago; `newest`: of the latest it acknowledged.
    pub fn on_sample(&mut self, rtt: Duration, newest: Duration, una: Offset, nxt: Offset) {
        let sample = Sample { rtt, una, nxt };
        if self.samples.len() < REMEMBERED {
            self.samples.push(sample);
        } else {
            self.samples[self.oldest] = sample;
            self.oldest = (self.oldest + 1) % REMEMBERED;
        }
        self.sum = self.sum.saturating_add(rtt);
        self.min = Some(self.min.map_or(rtt, |min| min.min(rtt)));
        self.max = self.max.max(rtt);
        self.least = Some(self.least.map_or(newest, |least| least.min(newest)));
        self.average = Some(match self.average {
            None => rtt,
            Some(average) => average.saturating_mul(3).saturating_add(rtt) / 4,
        });
        let stride = self.stride.max(1);
        if self.count.is_multiple_of(stride) {
            if self.spread.len() == SPREAD {
                let mut keep = false;
                self.spread.retain(|_| {
                    keep = !keep;
                    keep
                });
                self.stride = stride * 2;
            }
            if self.count.is_multiple_of(self.stride.max(1)) {
                let micros = u32::try_from(rtt.as_micros()).unwrap_or(u32::MAX);
                self.spread.push(micros);
            }
        }
        self.count += 1;
    }

    /// The least time in which anything was acknowledged.
    pub fn least(&self) -> Option<Duration> {
        self.least
    }

    /// The moving average with weight 1/4 (2007 study, footnote 8).
    pub fn average(&self) -> Option<Duration> {
        self.average
    }

    /// The latest samples, oldest first. `lag`: what a packet takes from the place of capture to the
    /// sender and its answer back.
    pub fn samples(&self, lag: Duration) -> Samples {
        let (newer, older) = self.samples.split_at(self.oldest);
        let both = older.iter().chain(newer).map(|sample| Sample {
            rtt: sample.rtt + lag,
            ..*sample
        });
        Samples(both.collect())
    }

    /// The distribution.
    pub fn quantiles(&self) -> Option<RttQuantiles> {
        let mut spread = self.spread.clone();
        spread.sort_unstable();
        let last = spread.len().checked_sub(1)?;
        let quantile = |percent: usize| {
            let micros = spread[(last * percent).div_ceil(100)];
            // The ends are known exactly.
            Duration::from_micros(micros.into()).clamp(self.min.unwrap_or_default(), self.max)
        };
        Some(RttQuantiles {
            samples: self.count,
            min: self.min?,
            p50: quantile(50),
            p90: quantile(90),
            p99: quantile(99),
            max: self.max,
            mean: self.sum / u32::try_from(self.count).unwrap_or(u32::MAX),
        })
    }
}

/// Round-trip times as a sender measured them.
#[derive(Clone, Debug)]
pub(crate) struct Samples(Vec<Sample>);

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
        for sample in &self.0 {
            if flights && flight_end.is_some_and(|end| sample.una <= end) {
                continue;
            }
            flight_end = Some(sample.nxt);
            estimator.on_sample(sample.rtt, sample.una, sample.nxt);
        }
        estimator
    }
}

/// How long an end takes to answer, as seen from the place of capture.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Answer {
    least: Option<Duration>,
    /// A timestamp that went to it and when it passed, until it is echoed.
    asked: Option<(u32, Instant)>,
    /// The last timestamp that passed: only the first packet of a tick can be told by its echo.
    passed: Option<u32>,
}

impl Answer {
    /// It answered within `time`.
    pub fn note(&mut self, time: Duration) {
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
            self.note(at.since(asked_at));
        }
    }

    /// The least it ever took.
    pub fn least(&self) -> Option<Duration> {
        self.least
    }
}
