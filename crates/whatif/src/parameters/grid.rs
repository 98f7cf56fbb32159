//! The values tried of each parameter, and their combinations.

use recoup_recovery::{
    parameters::{MinimumOf, Parameters},
    rtt::Factor,
};
use recoup_units::Segments;
use std::time::Duration;

/// The values tried of each parameter. An empty list leaves the parameter as each sender has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grid {
    /// k, the factor of RTTVAR in the RTO.
    pub rttvar_factors: Vec<Factor>,
    /// The minimum RTO.
    pub min_rtos: Vec<Duration>,
    /// a, the weight of a sample in RTTVAR.
    pub rttvar_weights: Vec<Factor>,
    /// b, the weight of a sample in SRTT.
    pub srtt_weights: Vec<Factor>,
    /// m, the factor of SRTT in the RTO.
    pub srtt_factors: Vec<Factor>,
    /// D, the duplicate ACKs that mean a loss.
    pub dupthreshs: Vec<Segments>,
    /// Quantity that the minimum RTO bounds.
    pub minimum_of: MinimumOf,
    /// Each value is tried by itself alone, and in no combination.
    pub alone: bool,
}

recoup_units::named! {
    /// A parameter of loss detection.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Parameter {
        /// k.
        RttvarFactor = "k",
        /// The minimum RTO.
        MinRto = "minRTO",
        /// a.
        RttvarWeight = "a",
        /// b.
        SrttWeight = "b",
        /// m.
        SrttFactor = "m",
        /// D.
        Dupthresh = "D",
    }
}

impl Parameter {
    /// Whether these parameters replace it.
    pub const fn is_in(self, parameters: &Parameters) -> bool {
        match self {
            Self::RttvarFactor => parameters.rttvar_factor.is_some(),
            Self::MinRto => parameters.min_rto.is_some(),
            Self::RttvarWeight => parameters.rttvar_weight.is_some(),
            Self::SrttWeight => parameters.srtt_weight.is_some(),
            Self::SrttFactor => parameters.srtt_factor.is_some(),
            Self::Dupthresh => parameters.dupthresh.is_some(),
        }
    }
}

/// The instances of a sender that are tried: each with other parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instances {
    all: Vec<Parameters>,
    singles: usize,
    /// The parameters that an estimator's state depends on, once each.
    estimators: Vec<Parameters>,
    /// The place of each instance's estimator among these.
    estimator_of: Vec<usize>,
}

impl Grid {
    /// The study's grid (§V-B): 720 combinations of k, minRTO, a and b. m and D stay as they are.
    pub fn study() -> Self {
        let powers = || (0..=5).map(|n| Factor::one_over(1 << n)).collect();
        Self {
            rttvar_factors: [2, 4, 6, 8].map(Factor::whole).into(),
            min_rtos: [100, 200, 400, 800, 1000].map(Duration::from_millis).into(),
            rttvar_weights: powers(),
            srtt_weights: powers(),
            ..Self::default()
        }
    }

    /// How many combinations it has: the values of its only list, or those of all lists; none if they are tried
    /// alone.
    pub fn combinations(&self) -> usize {
        if self.alone {
            return 0;
        }
        let lens = [
            self.rttvar_factors.len(),
            self.min_rtos.len(),
            self.rttvar_weights.len(),
            self.srtt_weights.len(),
            self.srtt_factors.len(),
            self.dupthreshs.len(),
        ];
        let lens = lens.into_iter().map(|len| len.max(1));
        lens.fold(1, usize::saturating_mul)
    }

    /// Each value by itself, with the sender's other parameters, and then all combinations. If there is only
    /// one list, its values are the combinations.
    pub fn instances(&self) -> Instances {
        let lists: Vec<Vec<Parameters>> = Parameter::ALL.map(|one| self.values_of(one)).into();
        let lists: Vec<_> = lists.into_iter().filter(|list| !list.is_empty()).collect();
        let mut all: Vec<Parameters> = lists.concat();
        let singles = all.len();
        if lists.len() > 1 && !self.alone {
            let mut combined = vec![self.none()];
            for list in &lists {
                let with = |so_far: &Parameters| {
                    let so_far = *so_far;
                    list.iter().map(move |one| joined(so_far, *one))
                };
                combined = combined.iter().flat_map(with).collect();
            }
            all.extend(combined);
        }
        Instances::new(all, singles)
    }

    fn none(&self) -> Parameters {
        Parameters { minimum_of: self.minimum_of, ..Parameters::default() }
    }

    fn values_of(&self, parameter: Parameter) -> Vec<Parameters> {
        fn each<T: Copy>(values: &[T], with: impl Fn(Option<T>) -> Parameters) -> Vec<Parameters> {
            values.iter().map(|value| with(Some(*value))).collect()
        }
        let none = self.none();
        match parameter {
            Parameter::RttvarFactor => each(&self.rttvar_factors, |rttvar_factor| Parameters { rttvar_factor, ..none }),
            Parameter::MinRto => each(&self.min_rtos, |min_rto| Parameters { min_rto, ..none }),
            Parameter::RttvarWeight => each(&self.rttvar_weights, |rttvar_weight| Parameters { rttvar_weight, ..none }),
            Parameter::SrttWeight => each(&self.srtt_weights, |srtt_weight| Parameters { srtt_weight, ..none }),
            Parameter::SrttFactor => each(&self.srtt_factors, |srtt_factor| Parameters { srtt_factor, ..none }),
            Parameter::Dupthresh => each(&self.dupthreshs, |dupthresh| Parameters { dupthresh, ..none }),
        }
    }
}

/// The parameters of both; where both have one, the second one's.
fn joined(first: Parameters, second: Parameters) -> Parameters {
    Parameters {
        rttvar_factor: second.rttvar_factor.or(first.rttvar_factor),
        rttvar_weight: second.rttvar_weight.or(first.rttvar_weight),
        srtt_weight: second.srtt_weight.or(first.srtt_weight),
        srtt_factor: second.srtt_factor.or(first.srtt_factor),
        min_rto: second.min_rto.or(first.min_rto),
        minimum_of: second.minimum_of,
        dupthresh: second.dupthresh.or(first.dupthresh),
        // Of the probe, which the study does not vary.
        ..first
    }
}

impl Instances {
    fn new(all: Vec<Parameters>, singles: usize) -> Self {
        let mut estimators: Vec<Parameters> = Vec::new();
        let mut place_of = |instance: &Parameters| {
            let state = state_of(instance);
            let known = estimators.iter().position(|known| *known == state);
            known.unwrap_or_else(|| {
                estimators.push(state);
                estimators.len() - 1
            })
        };
        let estimator_of = all.iter().map(&mut place_of).collect();
        Self { all, singles, estimators, estimator_of }
    }

    pub(super) fn estimators(&self) -> &[Parameters] {
        &self.estimators
    }

    pub(super) fn estimator_of(&self, instance: usize) -> usize {
        self.estimator_of[instance]
    }

    /// All instances: first the [`singles`](Self::singles), then the combinations.
    pub fn all(&self) -> &[Parameters] {
        &self.all
    }

    /// Those that replace one parameter.
    pub fn singles(&self) -> &[Parameters] {
        &self.all[..self.singles]
    }
}

/// Parameters that the state of an estimator depends on. m, k and a minimum of the RTO matter only where the RTO is
/// read.
fn state_of(instance: &Parameters) -> Parameters {
    let in_state = instance.minimum_of == MinimumOf::Rttvar;
    Parameters {
        rttvar_weight: instance.rttvar_weight,
        srtt_weight: instance.srtt_weight,
        min_rto: instance.min_rto.filter(|_| in_state),
        minimum_of: instance.minimum_of,
        ..Parameters::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_study_has_720_combinations_of_21_values() {
        let grid = Grid::study();
        let instances = grid.instances();
        assert_eq!(grid.combinations(), 720);
        assert_eq!(instances.singles().len(), 4 + 5 + 6 + 6);
        assert_eq!(instances.all().len(), 21 + 720);
        // a and b as they are, one of them replaced, or both.
        assert_eq!(instances.estimators().len(), 1 + 6 + 6 + 36);
        let mut distinct = instances.all().to_vec();
        distinct.sort_by_key(|one| format!("{one:?}"));
        distinct.dedup();
        assert_eq!(distinct.len(), 741);
        for one in instances.singles() {
            assert_eq!(Parameter::ALL.iter().filter(|p| p.is_in(one)).count(), 1);
        }
        for one in &instances.all()[21..] {
            assert_eq!(Parameter::ALL.iter().filter(|p| p.is_in(one)).count(), 4);
        }
    }

    #[test]
    fn values_of_one_parameter_are_tried_once() {
        let grid = Grid { dupthreshs: (1..=6).map(Segments).collect(), ..Grid::default() };
        assert_eq!(grid.combinations(), 6);
        assert_eq!(grid.instances().all().len(), 6);
        assert!(Grid::default().instances().all().is_empty());
        let alone = Grid { alone: true, ..Grid::study() };
        assert_eq!(alone.instances().all(), alone.instances().singles());
        assert_eq!(alone.instances().all().len(), 21);
    }
}
