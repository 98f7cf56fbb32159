//! Properties of every estimator, whatever its rules and its samples.

use super::*;
use proptest::prelude::*;

/// A weight: above 0, at most 1. The usual ones often.
fn weight(usual: Factor) -> impl Strategy<Value = Factor> {
    prop_oneof![Just(usual), Just(Factor::ONE), (1..=MILLION).prop_map(Factor)]
}

/// A factor: from 0 to the largest. The usual one often.
fn factor(usual: Factor) -> impl Strategy<Value = Factor> {
    prop_oneof![Just(usual), (0..=10 * MILLION).prop_map(Factor), (0..=Factor::MAX.0).prop_map(Factor),]
}

/// A time in ns, up to 2^`bits`: small ones as often as large ones.
fn time(bits: u32) -> impl Strategy<Value = u64> {
    (0..=bits).prop_flat_map(|bits| 0..=1_u64 << bits)
}

prop_compose! {
    fn rules()(
        smoothing in prop_oneof![Just(Smoothing::Linux), Just(Smoothing::Standard)],
        srtt_factor in factor(RtoRules::SRTT_FACTOR),
        rttvar_factor in factor(RtoRules::RTTVAR_FACTOR),
        srtt_weight in weight(RtoRules::SRTT_WEIGHT),
        rttvar_weight in weight(RtoRules::RTTVAR_WEIGHT),
        granularity in prop_oneof![Just(0), time(30)],
        min_variance in time(34),
        min in time(36),
        above_min in time(40),
    ) -> RtoRules {
        RtoRules {
            smoothing,
            sampling: Sampling::Segment,
            srtt_factor,
            rttvar_factor,
            srtt_weight,
            rttvar_weight,
            granularity: Duration::from_nanos(granularity),
            initial: Duration::from_secs(1),
            min_variance: Duration::from_nanos(min_variance),
            min: Duration::from_nanos(min),
            max: Duration::from_nanos(min.max(LEAST_RTO) + above_min),
        }
    }
}

/// Samples in ns, each with the segments acknowledged since the sample before.
fn samples() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let any_size = prop::collection::vec((time(60), 1..40_u64), 1..60);
    let alike = time(36).prop_flat_map(|rtt| prop::collection::vec((rtt..=rtt + rtt / 8, 1..40_u64), 1..60));
    prop_oneof![any_size, alike]
}

/// Gives the samples to an estimator, in windows of 20 segments, and checks it after each.
fn after_each(
    rules: RtoRules,
    samples: &[(u64, u64)],
    mut check: impl FnMut(&RttEstimator) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    let mut estimator = RttEstimator::new(rules);
    let mut una = Offset::DATA;
    for &(rtt, acknowledged) in samples {
        una = una + acknowledged;
        estimator.on_sample_nanos(rtt, una, una + 20);
        check(&estimator)?;
    }
    Ok(())
}

proptest! {
    #[test]
    fn the_rto_lies_within_its_bounds(rules in rules(), samples in samples()) {
        after_each(rules, &samples, |estimator| {
            let rto = estimator.rto();
            prop_assert!(rules.min <= rto && rto <= rules.max, "{rto:?}");
            prop_assert!(rto >= Duration::from_nanos(LEAST_RTO), "{rto:?}");
            Ok(())
        })?;
    }

    #[test]
    fn srtt_lies_among_the_samples(rules in rules(), samples in samples()) {
        // Samples of 0 count as 1 ns, and those above 2^50 ns as that.
        let bounded = samples.iter().map(|(rtt, _)| (*rtt).clamp(1, 1 << 50));
        let (mut least, mut most, mut bounded) = (u64::MAX, 0, bounded);
        after_each(rules, &samples, |estimator| {
            let sample = bounded.next().expect("a sample");
            (least, most) = (least.min(sample), most.max(sample));
            let srtt = estimator.srtt_nanos().expect("there is a sample");
            prop_assert!((least..=most).contains(&srtt), "{srtt} in {least} to {most}");
            Ok(())
        })?;
    }

    #[test]
    fn the_rto_with_its_own_parameters_is_the_rto(rules in rules(), samples in samples()) {
        let (m, k, min) = (rules.srtt_factor, rules.rttvar_factor, nanos(rules.min));
        prop_assert_eq!(RttEstimator::new(rules).rto_nanos_with(m, k, min), nanos(rules.initial.min(rules.max)));
        after_each(rules, &samples, |estimator| {
            prop_assert_eq!(estimator.rto_nanos_with(m, k, min), estimator.rto_nanos());
            Ok(())
        })?;
    }

    #[test]
    fn the_rto_grows_with_k_and_m_and_the_minimum(
        rules in rules(),
        samples in samples(),
        k in [factor(RtoRules::RTTVAR_FACTOR), factor(RtoRules::RTTVAR_FACTOR)],
        m in [factor(RtoRules::SRTT_FACTOR), factor(RtoRules::SRTT_FACTOR)],
        min in [time(36), time(36)],
    ) {
        let (own_m, own_k, own_min) = (rules.srtt_factor, rules.rttvar_factor, nanos(rules.min));
        after_each(rules, &samples, |estimator| {
            let with = |m, k, min| estimator.rto_nanos_with(m, k, min);
            let by_k = k.map(|k| (u64::from(k.0), with(own_m, k, own_min)));
            let by_m = m.map(|m| (u64::from(m.0), with(m, own_k, own_min)));
            let by_min = min.map(|min| (min, with(own_m, own_k, min)));
            for [first, second] in [by_k, by_m, by_min] {
                let (low, high) = (first.min(second), first.max(second));
                prop_assert!(low.1 <= high.1, "{low:?} {high:?}");
            }
            Ok(())
        })?;
    }
}
