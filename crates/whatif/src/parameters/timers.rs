//! The retransmission timers of all instances, which take the RTT samples of one sender.
//!
//! Instances whose estimators have the same state share one: m, k and the minimum RTO matter only where the
//! RTO is read.

use super::follower::Sample;
use super::grid::Instances;
use recoup_recovery::Mechanisms;
use recoup_recovery::rtt::{Factor, RtoRules, RttEstimator};
use recoup_units::{Instant, Segments};
use std::time::Duration;

/// The timers of all instances.
pub(super) struct Timers {
    estimators: Vec<RttEstimator>,
    /// The estimators when the timer was last set, if they took samples since then.
    when_set: Option<Vec<RttEstimator>>,
    instances: Vec<InstanceTimer>,
    /// The instance with the shortest RTO of each estimator.
    shortest: Vec<InstanceTimer>,
    /// No RTO is shorter.
    least: u64,
    /// No RTO is longer, back-off included.
    most: u64,
}

/// How an instance reads its RTO.
#[derive(Clone, Copy)]
struct InstanceTimer {
    estimator: usize,
    srtt_factor: Factor,
    rttvar_factor: Factor,
    /// In ns.
    min: u64,
    dupthresh: Option<Segments>,
}

/// The time for which the timer runs, from when it was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimerRun {
    /// From when the RTO counts.
    pub from: Instant,
    /// When it expires.
    pub deadline: Instant,
    /// How often the RTO has doubled.
    pub backoff: u32,
}

impl InstanceTimer {
    fn rto(&self, estimators: &[RttEstimator]) -> u64 {
        let estimator = &estimators[self.estimator];
        estimator.rto_nanos_with(self.srtt_factor, self.rttvar_factor, self.min)
    }
}

impl Timers {
    pub fn new(instances: &Instances, own: &Mechanisms) -> Self {
        let mut kinds: Vec<RtoRules> = Vec::new();
        let mut all = Vec::with_capacity(instances.all().len());
        for parameters in instances.all() {
            let mut mechanisms = *own;
            parameters.apply(&mut mechanisms);
            let rules = mechanisms.rto;
            // What is read with the RTO is no state of the estimator.
            let kind = RtoRules {
                srtt_factor: RtoRules::SRTT_FACTOR,
                rttvar_factor: RtoRules::RTTVAR_FACTOR,
                min: Duration::ZERO,
                ..rules
            };
            let known = kinds.iter().position(|known| *known == kind);
            let estimator = known.unwrap_or_else(|| {
                kinds.push(kind);
                kinds.len() - 1
            });
            all.push(InstanceTimer {
                estimator,
                srtt_factor: rules.srtt_factor,
                rttvar_factor: rules.rttvar_factor,
                min: nanos(rules.min),
                dupthresh: parameters.dupthresh,
            });
        }
        let shortest = (0..kinds.len()).map(|estimator| {
            let own = || all.iter().filter(move |one| one.estimator == estimator);
            InstanceTimer {
                estimator,
                srtt_factor: own()
                    .map(|one| one.srtt_factor)
                    .min()
                    .unwrap_or(Factor::ONE),
                rttvar_factor: own()
                    .map(|one| one.rttvar_factor)
                    .min()
                    .unwrap_or(Factor::ONE),
                min: own().map(|one| one.min).min().unwrap_or(0),
                dupthresh: None,
            }
        });
        Self {
            estimators: kinds
                .iter()
                .map(|rules| RttEstimator::new(*rules))
                .collect(),
            when_set: None,
            shortest: shortest.collect(),
            least: all.iter().map(|one| one.min).min().unwrap_or(0),
            most: nanos(own.rto.max),
            instances: all,
        }
    }

    pub fn len(&self) -> usize {
        self.instances.len()
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
        self.estimators
            .iter_mut()
            .for_each(RttEstimator::distrust_initial);
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
        self.expiry(&self.instances[instance], run)
    }

    fn expiry(&self, timer: &InstanceTimer, run: &TimerRun) -> Instant {
        let rto = timer.rto(self.of_run());
        let backed_off = rto.saturating_mul(1 << run.backoff.min(20));
        run.from.plus_nanos(backed_off.min(self.most))
    }

    /// Whether the timer of some instance may expire before `at`.
    pub fn some_expire_before(&self, at: Instant, run: &TimerRun) -> bool {
        let elapsed = at.nanos_since(run.from);
        elapsed > self.least
            && self
                .shortest
                .iter()
                .any(|timer| self.expiry(timer, run) < at)
    }

    /// D of an instance, if it replaces the sender's.
    pub fn dupthresh(&self, instance: usize) -> Option<Segments> {
        self.instances[instance].dupthresh
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
