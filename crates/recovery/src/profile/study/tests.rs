use super::*;
use crate::profile::Profile;
use crate::rtt::RttEstimator;
use recoup_units::Offset;

fn rules(profile: &str) -> RtoRules {
    profile.parse::<Profile>().unwrap().mechanisms().rto
}

/// The RTO in ms after each of the samples, in ms, which are of one flight.
fn timeouts(profile: &str, samples: &[u64]) -> Vec<u128> {
    let mut rtt = RttEstimator::new(rules(profile));
    let after = |&sample: &u64| {
        rtt.on_sample(Duration::from_millis(sample), Offset(1), Offset(9));
        rtt.rto().as_millis()
    };
    samples.iter().map(after).collect()
}

#[test]
fn before_any_sample_it_is_the_tables_initial_rto() {
    let cases = [("linux-2.4", 3000), ("windows-xp", 3000), ("solaris-10", 3375), ("freebsd-5", 3000)];
    for (profile, initial) in cases {
        let rto = RttEstimator::new(rules(profile)).rto();
        assert_eq!(rto, Duration::from_millis(initial), "{profile}");
    }
}

#[test]
fn the_first_sample_r_gives_m_r_and_2_r() {
    // (R, Linux, Windows, Solaris, FreeBSD), in ms: least RTO, ticks and m in turn
    let cases = [
        (20, 200, 200, 400, 1200),
        (80, 240, 300, 400, 1200),
        (123, 370, 400, 400, 1200), // 369 ms; on Solaris 399.75
        (200, 600, 600, 650, 1200),
        (323, 970, 1000, 1050, 1200), // 969 ms; on Solaris 1049.75
        (403, 1210, 1300, 1310, 1210),
    ];
    for (sample, linux, windows, solaris, freebsd) in cases {
        for (profile, rto) in
            [("linux-2.4", linux), ("windows-xp", windows), ("solaris-10", solaris), ("freebsd-5", freebsd)]
        {
            assert_eq!(timeouts(profile, &[sample]), [rto], "{profile}, {sample}");
        }
    }
}

#[test]
fn later_samples_weigh_an_eighth_and_a_quarter() {
    // SRTT 400, 400, 450, 450 and 4·RTTVAR 800, 600, 850, 637.5 ms; Linux's does not fall within
    // a flight.
    let samples = [400, 400, 800, 450];
    let cases = [
        ("linux-2.4", [1200, 1200, 1300, 1300]),
        ("windows-xp", [1200, 1000, 1300, 1100]),
        ("solaris-10", [1300, 1100, 1420, 1200]),
        ("freebsd-5", [1200, 1200, 1300, 1200]),
    ];
    for (profile, expected) in cases {
        assert_eq!(timeouts(profile, &samples), expected, "{profile}");
    }
}

#[test]
fn a_steady_round_trip_wears_the_deviation_away() {
    let steady = [450; 60];
    // SRTT stays, on Solaris m times: 562.5 ms.
    for (profile, rto) in [("windows-xp", 500), ("solaris-10", 570)] {
        assert_eq!(timeouts(profile, &steady).last(), Some(&rto), "{profile}");
    }
    let steady = [1445; 60];
    assert_eq!(timeouts("freebsd-5", &steady).last(), Some(&1450));
}

/// §II in ms: RTO = m·srtt + k·rttvar, at least minRTO. `srtt` and `rttvar` follow a sample.
fn of_the_study(sample: f64, before: Option<(f64, f64)>) -> (f64, f64) {
    before.map_or((sample, sample / 2.0), |(srtt, rttvar)| {
        let deviation = (srtt - sample).abs();
        (srtt - srtt / 8.0 + sample / 8.0, rttvar - rttvar / 4.0 + deviation / 4.0)
    })
}

#[test]
fn every_rto_is_the_formula_of_the_study_in_whole_ticks() {
    // Jitter, steady round trips, and a rise; in ms.
    let samples = (0..900_u64).map(|i| match i % 300 {
        0..100 => 20 + i * 7919 % 400,
        100..200 => 90 + i / 300 * 700,
        _ => 90 + i % 100 * 11,
    });
    let samples: Vec<u64> = samples.collect();
    for (profile, m, min, tick) in
        [("windows-xp", 1.0, 200.0, 100), ("solaris-10", 1.25, 400.0, 10), ("freebsd-5", 1.0, 1200.0, 10)]
    {
        let mut state = None;
        for (i, (rto, &sample)) in timeouts(profile, &samples).iter().zip(&samples).enumerate() {
            let (srtt, rttvar) = *state.insert(of_the_study(sample as f64, state));
            let exact = (m * srtt + 4.0 * rttvar).max(min);
            let ticks = *rto as f64 - exact;
            let is_next_tick = rto % tick == 0 && (-1e-3..tick as f64).contains(&ticks);
            assert!(is_next_tick, "{profile}, sample {i}: {rto} for {exact}");
        }
    }
    // varRTT is Linux's own, and its minimum is one of the sum.
    let mut linux = RttEstimator::new(rules("linux-2.4"));
    for (i, &sample) in (1..).zip(&samples) {
        let flight = Offset(10 * i);
        linux.on_sample(Duration::from_millis(sample), flight, flight + 10);
        let sum = linux.srtt().unwrap() + 4 * linux.rttvar();
        let least = sum.max(Duration::from_millis(200));
        let (rto, nanosecond) = (linux.rto(), Duration::from_nanos(4));
        assert!(rto + nanosecond >= least && rto < least + TICK, "{i}: {rto:?}, {sum:?}");
    }
}
