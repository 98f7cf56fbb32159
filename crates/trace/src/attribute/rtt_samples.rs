//! The round-trip times that a replay's RTT estimator starts from.

use recoup_recovery::rtt::{RtoRules, RttEstimator, Sampling};
use recoup_units::Offset;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// One RTT sample. Directions keep hundreds of them, so it is small.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct RttSample {
    /// In µs, the clock of most senders.
    pub rtt: u32,
    /// How long the data was held up before the capture point, in µs.
    pub held_up: u32,
    /// The lower half of `snd_una`: the samples of one direction are close together.
    pub una: u32,
    /// From `snd_una` to `snd_nxt`, in bytes.
    pub outstanding: u32,
}

/// RTT samples as the sender measured them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct RttSamples {
    pub latest: Vec<RttSample>,
    pub lag: Duration,
    /// `snd_una` at the latest sample.
    pub una: Offset,
}

impl RttSamples {
    /// The state of an RTT estimator with these rules after all samples. An estimator that times
    /// one segment per flight uses a sample only when all data outstanding at the previous one is
    /// acknowledged.
    fn estimator(&self, rules: RtoRules, timestamps: bool) -> RttEstimator {
        let mut estimator = RttEstimator::new(rules);
        let once_per_flight = match rules.sampling {
            Sampling::Flight => true,
            Sampling::FlightOrTimestamps => !timestamps,
            _ => false,
        };
        let mut flight_end = None;
        for sample in &self.latest {
            let behind = (self.una.0 as u32).wrapping_sub(sample.una);
            let una = Offset(self.una.0.saturating_sub(behind.into()));
            if once_per_flight && flight_end.is_some_and(|end| una <= end) {
                continue;
            }
            let nxt = una + u64::from(sample.outstanding);
            flight_end = Some(nxt);
            let micros = u64::from(sample.rtt) + u64::from(sample.held_up);
            let rtt = Duration::from_micros(micros) + self.lag;
            estimator.on_sample(rtt, una, nxt);
        }
        estimator
    }
}

/// The estimators that the replays of one tape start from. Profiles with the same rules share one.
pub(crate) struct Estimators<'a> {
    samples: &'a RttSamples,
    timestamps: bool,
    known: Vec<RttEstimator>,
}

impl<'a> Estimators<'a> {
    pub fn new(samples: &'a RttSamples, timestamps: bool) -> Self {
        Self { samples, timestamps, known: Vec::new() }
    }

    /// The state of the estimator with these rules after all samples.
    pub fn with(&mut self, rules: RtoRules) -> RttEstimator {
        let mut known = self.known.iter();
        if let Some(known) = known.find(|known| known.rules() == rules) {
            return *known;
        }
        let new = self.samples.estimator(rules, self.timestamps);
        self.known.push(new);
        new
    }
}
