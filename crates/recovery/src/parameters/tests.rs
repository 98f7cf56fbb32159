use super::*;
use crate::profile::Profile;
use crate::rtt::RttEstimator;
use recoup_units::Offset;

fn mechanisms(profile: &str, parameters: Parameters) -> Mechanisms {
    let profile: Profile = profile.parse().unwrap();
    let mut mechanisms = *profile.mechanisms();
    parameters.apply(&mut mechanisms);
    mechanisms
}

/// The RTO in ms after samples of one flight, in ms.
fn timeouts(profile: &str, parameters: Parameters, samples: &[u64]) -> Vec<u128> {
    let mut rtt = RttEstimator::new(mechanisms(profile, parameters).rto);
    let after = |&sample: &u64| {
        rtt.on_sample(Duration::from_millis(sample), Offset(1), Offset(9));
        rtt.rto().as_millis()
    };
    samples.iter().map(after).collect()
}

#[test]
fn k_scales_the_deviation_and_m_the_mean() {
    let k = |k| Parameters { rttvar_factor: Some(Factor::whole(k)), ..Parameters::default() };
    // SRTT 400, 450 and RTTVAR 200, 250 ms.
    for (profile, of_k, expected) in [
        ("linux-2.4", 4, [1200, 1450]),
        ("linux-2.4", 2, [800, 950]),
        ("linux-2.4", 6, [1600, 1950]),
        ("solaris-10", 2, [900, 1070]),
        ("freebsd-5", 2, [1200, 1200]),
        ("windows-xp", 8, [2000, 2500]),
    ] {
        let got = timeouts(profile, k(of_k), &[400, 800]);
        assert_eq!(got, expected, "{profile}, k = {of_k}");
    }
    let m = Parameters { srtt_factor: Some(Factor(1_500_000)), ..Parameters::default() };
    assert_eq!(timeouts("linux-2.4", m, &[400]), [1400]);
}

#[test]
fn a_and_b_weight_the_samples() {
    let weights = |a, b| Parameters {
        rttvar_weight: Some(Factor::one_over(a)),
        srtt_weight: Some(Factor::one_over(b)),
        ..Parameters::default()
    };
    // SRTT 400 + 400·b; RTTVAR 200 + a·(400 − 200); on Solaris 1.25·SRTT.
    for (a, b, linux, solaris) in [(4, 8, 1450, 1570), (1, 8, 2050, 2170), (2, 1, 2000, 2200), (16, 2, 1450, 1600)] {
        let at = |profile| timeouts(profile, weights(a, b), &[400, 800])[1];
        assert_eq!((at("linux-2.4"), at("solaris-10")), (linux, solaris), "a = 1/{a}, b = 1/{b}");
    }
    // The usual weights, given by name, are the same as by default.
    let samples = [100, 300, 90, 80, 400, 20];
    for profile in ["linux-6", "solaris-10"] {
        let usual = timeouts(profile, Parameters::default(), &samples);
        assert_eq!(timeouts(profile, weights(4, 8), &samples), usual, "{profile}");
        let other = timeouts(profile, weights(4, 9), &samples);
        assert_ne!(other, usual, "{profile}");
    }
}

#[test]
fn the_weighted_estimator_follows_the_usual_one() {
    // Weights that differ in the last digit take the general way.
    let almost = Parameters { srtt_weight: Some(Factor(125_001)), ..Parameters::default() };
    for profile in ["linux-6", "rfc6675"] {
        let mut usual = RttEstimator::new(mechanisms(profile, Parameters::default()).rto);
        let mut general = RttEstimator::new(mechanisms(profile, almost).rto);
        for i in 0..2000_u64 {
            let rtt = Duration::from_micros(50_000 + (i * 7919) % 90_000);
            for estimator in [&mut usual, &mut general] {
                estimator.on_sample(rtt, Offset(1 + i), Offset(11 + i));
            }
            let differ = usual.rto().abs_diff(general.rto());
            assert!(differ < Duration::from_micros(5), "{profile}, {i}: {differ:?}");
        }
    }
}

#[test]
fn the_minimum_is_of_the_rto_or_on_linux_of_rttvar() {
    let min =
        |ms, minimum_of| Parameters { min_rto: Some(Duration::from_millis(ms)), minimum_of, ..Parameters::default() };
    for (profile, ms, of_rto, of_rttvar) in [
        ("linux-2.4", 100, 100, 120),
        ("linux-2.4", 400, 400, 420),
        // The kernel's own floor in RTTVAR stays.
        ("linux-2.4+minrttvar", 100, 220, 120),
        ("linux-6", 100, 220, 120),
        ("linux-6+minrto", 100, 100, 120),
        ("solaris-10", 100, 100, 100),
        ("freebsd-5", 400, 400, 400),
    ] {
        let of = |minimum_of| timeouts(profile, min(ms, minimum_of), &[20])[0];
        let got = (of(MinimumOf::Rto), of(MinimumOf::Rttvar));
        assert_eq!(got, (of_rto, of_rttvar), "{profile}, {ms} ms");
    }
}

#[test]
fn mechanisms_move_the_minimum_of_linux() {
    let none = Parameters::default();
    // SRTT 20 and 4·RTTVAR 40 ms, and SRTT 400 and 4·RTTVAR 800 ms.
    for (profile, small, large) in [
        ("linux-2.4", 200, 1200),
        ("linux-2.4+minrttvar", 220, 1200),
        ("linux-2.4+minrttvar+minrto", 200, 1200),
        ("linux-6", 220, 1200),
        ("linux-6+minrto", 200, 1200),
        ("linux-6+minrttvar", 220, 1200),
        // The minimum of other estimators stays where it is.
        ("solaris-10+minrttvar", 400, 1300),
        ("rfc6675+minrttvar", 1000, 1200),
    ] {
        let of = |sample| timeouts(profile, none, &[sample])[0];
        assert_eq!((of(20), of(400)), (small, large), "{profile}");
    }
}

#[test]
fn dupthresh_is_the_first_one_and_the_largest_where_it_is_fixed() {
    let five = Parameters { dupthresh: Some(Segments(5)), ..Parameters::default() };
    let fixed = mechanisms("windows-xp", five).detection;
    assert_eq!((fixed.dupthresh, fixed.max_dupthresh), (Segments(5), Segments(5)));
    let adaptive = mechanisms("linux-3.17", five).detection;
    assert_eq!(adaptive.dupthresh, Segments(5));
    assert!(adaptive.max_dupthresh > Segments(5));
}
