//! Claims of Table I, §II and §V-A2a about the senders.

use super::{Senders, Values};
use crate::loss_detection::claims::by_system;
use crate::loss_detection::claims::{FREEBSD, LINUX, SOLARIS, WINDOWS};
use crate::prelude::*;

/// Table I, in the order of [`System::ALL`].
pub const TICK_MS: Values = [100.0, 10.0, 10.0, 10.0];
pub const INITIAL_MS: Values = [3000.0, 3000.0, 3375.0, 3000.0];
pub const MIN_MS: Values = [200.0, 200.0, 400.0, 1200.0];
pub const M: Values = [1.0, 1.0, 1.25, 1.0];
pub const D: Values = [2.0, 3.0, 3.0, 3.0];

fn shown(values: &Values, unit: &str) -> String {
    by_system(values, |v| format!("{}{unit}", (v * 1e3).round() / 1e3))
}

/// Whether each value is the table's, as far as ticks show.
fn near(values: &Values, table: &Values, tolerances: &Values) -> bool {
    values.iter().zip(table).zip(tolerances).all(|((value, table), tolerance)| (value - table).abs() <= *tolerance)
}

/// RTTs of the measurements of m and k, in ms.
const SAMPLE_MS: f64 = 2000.0;

/// What rounding an RTO up to whole ticks adds to a factor of this time at most. Beyond that, the last digit.
fn by_tick(factor_of_ms: f64) -> Values {
    TICK_MS.map(|tick| tick / factor_of_ms + 1e-4)
}

/// Whether the values ascend for every system.
fn ascend<const N: usize>(by: &[Values; N]) -> bool {
    (0..4).all(|system| by.windows(2).all(|pair| pair[0][system] < pair[1][system]))
}

pub fn of(senders: &Senders) -> Vec<Claim> {
    [table(senders), estimators(senders), parameters(senders)].concat()
}

/// Table I.
fn table(senders: &Senders) -> Vec<Claim> {
    let row = |id, values: &Values, table: &Values, tolerances: Values, unit: &str| {
        claim(id).shows(shown(values, unit)).holds(near(values, table, &tolerances))
    };
    vec![
        row("granularity", &senders.tick_ms, &TICK_MS, [0.0; 4], " ms"),
        row("initial-rto", &senders.initial_ms, &INITIAL_MS, [1e-3; 4], " ms"),
        row("min-rto", &senders.min_ms, &MIN_MS, [1e-3; 4], " ms"),
        row("a", &senders.a, &[0.25; 4], [0.03; 4], ""),
        row("b", &senders.b, &[0.125; 4], [1e-3; 4], ""),
        row("m", &senders.m, &M, by_tick(SAMPLE_MS), ""),
        row("k", &senders.k, &[4.0; 4], by_tick(SAMPLE_MS / 2.0), ""),
        row("dupthresh", &senders.dupthresh, &D, [0.0; 4], ""),
    ]
}

/// The estimators.
fn estimators(senders: &Senders) -> Vec<Claim> {
    let standard = [WINDOWS, SOLARIS, FREEBSD];
    let of_formula = &senders.by_formula;
    let off = &senders.off_formula;
    let twice = &senders.fast_when_overtaken_twice;
    let samples = &senders.samples_per_flight;
    let converges = &senders.converges_rtts;
    let steady = &senders.steady_rtts;
    vec![
        claim("formula")
            .shows(shown(of_formula, " %"))
            .holds(standard.iter().all(|system| of_formula[*system] >= 100.0)),
        claim("linux-differs")
            .shows(shown(off, " %"))
            .holds(off[LINUX] > 5.0 && standard.iter().all(|system| off[*system] <= 5.0)),
        claim("sampling")
            .shows(shown(samples, ""))
            .holds((samples[LINUX] - 10.0).abs() < 0.5 && (samples[WINDOWS] - 1.0).abs() < 0.1),
        claim("linux-converges").shows(shown(converges, " RTTs")).holds(converges[LINUX] < converges[WINDOWS]),
        claim("linux-converges-fastest")
            .shows(shown(converges, " RTTs"))
            .holds(standard.iter().all(|system| converges[LINUX] < converges[*system])),
        claim("small-steady-rtt")
            .shows(shown(steady, " RTTs"))
            .holds(steady[SOLARIS].min(steady[FREEBSD]) > steady[WINDOWS].max(steady[LINUX])),
        claim("linux-adapts-dupthresh").shows(shown(twice, "")).holds(
            (twice[LINUX] - 1.0).abs() < 0.5 && standard.iter().all(|system| (twice[*system] - 2.0).abs() < 0.5),
        ),
        claim!("values-differ", "minimum RTO {}", shown(&senders.min_ms, " ms")).holds(
            [&senders.tick_ms, &senders.min_ms, &senders.m, &senders.dupthresh]
                .iter()
                .all(|values| values.iter().any(|value| (value - values[0]).abs() > 0.1))
                && senders.min_ms.iter().fold(0.0, |most: f64, one| most.max(*one))
                    >= 2.0 * senders.min_ms.iter().fold(f64::MAX, |least: f64, one| least.min(*one)),
        ),
    ]
}

/// The effects of the parameters.
fn parameters(senders: &Senders) -> Vec<Claim> {
    let [m1k2, m1k4, m125k4, m1k8] = senders.by_factors;
    let [steady, variable] = senders.by_variability;
    let exact = senders.after_rto_ms;
    vec![
        claim("timer").shows(shown(&exact, " ms later")).holds(exact.iter().all(|late| late.abs() < 1e-3)),
        claim!("rto-grows-with-m-k", "k = 2: {}; k = 8: {}", shown(&m1k2, " ms"), shown(&m1k8, " ms"))
            .holds(ascend(&[m1k2, m1k4, m1k8]) && ascend(&[m1k4, m125k4])),
        claim!(
            "weights",
            "a = 1/32: RTO {}; a = 1: {}",
            shown(&senders.by_a[0], " ms"),
            shown(&senders.by_a[2], " ms")
        )
        .holds(ascend(&senders.by_a) && ascend(&senders.by_b)),
        claim("rto-exceeds-rtt")
            .shows(shown(&senders.covered, " %"))
            .holds(senders.covered.iter().all(|share| *share >= 99.0)),
        claim!(
            "variability-raises-rto",
            "k = 4, steady: {}; variable: {}",
            shown(&steady[1], ""),
            shown(&variable[1], "")
        )
        .holds([WINDOWS, LINUX, SOLARIS].iter().all(|system| {
            let rise = |k: usize| variable[k][*system] - steady[k][*system];
            rise(1) > 0.0 && rise(1) > rise(0)
        })),
    ]
}
