//! The retransmission timers of all instances, which take the RTT samples of one sender.
//!
//! Instances whose estimators have the same state share one.

use super::{follower::Sample, grid::Instances};
use recoup_recovery::{
    Mechanisms,
    parameters::Parameters,
    rtt::{Factor, RtoRules, RttEstimator},
};
use recoup_units::{Instant, Segments};
use std::time::Duration;

/// The timers of all instances.
pub(super) struct Timers<'a> {
    instances: &'a Instances,
    own: RtoRules,
    estimators: Vec<RttEstimator>,
    /// The place of each of [`Instances::estimators`] in this list.
    places: Vec<usize>,
    /// The estimators when the timer was last set, if they took samples since then.
    when_set: Option<Vec<RttEstimator>>,
    /// The smallest m, k and minimum RTO of all instances.
    smallest: Reading,
    /// No RTO is longer, back-off included.
    most: u64,
}

/// How an RTO is read from an estimator.
#[derive(Clone, Copy)]
struct Reading {
    srtt_factor: Factor,
    rttvar_factor: Factor,
    /// In ns.
    min: u64,
}
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimerRun {
    /// From when the RTO counts.
    pub from: Instant,
    /// When it expires.
    pub deadline: Instant,
    /// How often the RTO has doubled.
    pub backoff: u32,
}

impl Reading {
    fn new(own: &RtoRules, parameters: &Parameters) -> Self {
        let mut rules = *own;
        parameters.apply_to_rto(&mut rules);
        Self { srtt_factor: rules.srtt_factor, rttvar_factor: rules.rttvar_factor, min: nanos(rules.min) }
    }

    fn expiry(&self, estimator: &RttEstimator, run: &TimerRun, most: u64) -> Instant {
        let rto = estimator.rto_nanos_with(self.srtt_factor, self.rttvar_factor, self.min);
        let backed_off = rto.saturating_mul(1 << run.backoff.min(20));
        run.from.plus_nanos(backed_off.min(most))
    }

    fn smallest(self, other: Self) -> Self {
        Self {
            srtt_factor: self.srtt_factor.min(other.srtt_factor),
            rttvar_factor: self.rttvar_factor.min(other.rttvar_factor),
            min: self.min.min(other.min),
        }
    }
}

impl<'a> Timers<'a> {
    pub fn new(instances: &'a Instances, own: &Mechanisms) -> Self {
        let own = own.rto;
        // Instances with equal rules share an estimator.
        let mut kinds: Vec<RtoRules> = Vec::new();
        let place_of = |parameters: &Parameters| {
            let mut rules = own;
            parameters.apply_to_rto(&mut rules);
            let known = kinds.iter().position(|known| *known == rules);
            known.unwrap_or_else(|| {
                kinds.push(rules);
                kinds.len() - 1
            })
        };
        let places = instances.estimators().iter().map(place_of).collect();
        let readings = instances.all().iter().map(|one| Reading::new(&own, one));
        let unchanged = Reading::new(&own, &Parameters::default());
        Self {
            instances,
            own,
            estimators: kinds.into_iter().map(RttEstimator::new).collect(),
            places,
            when_set: None,
            smallest: readings.reduce(Reading::smallest).unwrap_or(unchanged),
            most: nanos(own.max),
        }
    }

    pub fn len(&self) -> usize {
        self.instances.all().len()
    }

    /// A sample arrived. `sets`: the ACK that gave it set the timer.
    pub fn on_sample(&mut self, sample: Sample, sets: bool) {
        if !sets && self.when_set.is_none() {
            self.when_set = Some(self.estimators.clone());
        }
        for estimator in &mut self.estimators {
            estimator.on_sample(sample.rtt, sample.una, sample.nxt);
        }
    }

    /// The SYN was retransmitted and gave no sample.
    pub fn distrust_initial(&mut self) {
        self.estimators.iter_mut().for_each(RttEstimator::distrust_initial);
    }

    /// The timer was set: from now on, the RTOs are those of the present estimators.
    pub fn on_set(&mut self) {
        self.when_set = None;
    }

    fn of_run(&self) -> &[RttEstimator] {
        self.when_set.as_deref().unwrap_or(&self.estimators)
    }

    /// When the timer of an instance expires that was set as this one was.
    pub fn deadline(&self, instance: usize, run: &TimerRun) -> Instant {
        let reading = Reading::new(&self.own, &self.instances.all()[instance]);
        let place = self.places[self.instances.estimator_of(instance)];
        reading.expiry(&self.of_run()[place], run, self.most)
    }

    /// Whether the timer of some instance may expire before `at`.
    pub fn some_may_expire_before(&self, at: Instant, run: &TimerRun) -> bool {
        let may = |one: &RttEstimator| self.smallest.expiry(one, run, self.most) < at;
        at.nanos_since(run.from) > self.smallest.min && self.of_run().iter().any(may)
    }

    /// D of an instance, if it replaces the sender's.
    pub fn dupthresh(&self, instance: usize) -> Option<Segments> {
        self.instances.all()[instance].dupthresh
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
