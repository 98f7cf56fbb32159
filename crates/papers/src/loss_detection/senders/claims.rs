//! Claims of Table I, §II and §V-A2a about the senders.

use super::{Senders, Values};
use crate::claims::{Claim, claim};
use recoup_captures::study::published::System;

const WINDOWS: usize = 0;
const LINUX: usize = 1;
const SOLARIS: usize = 2;
const FREEBSD: usize = 3;

/// Table I, in the order of [`System::ALL`].
pub const TICK_MS: Values = [100.0, 10.0, 10.0, 10.0];
pub const INITIAL_MS: Values = [3000.0, 3000.0, 3375.0, 3000.0];
pub const MIN_MS: Values = [200.0, 200.0, 400.0, 1200.0];
pub const M: Values = [1.0, 1.0, 1.25, 1.0];
pub const D: Values = [2.0, 3.0, 3.0, 3.0];

fn shown(values: &Values, unit: &str) -> String {
    let each = System::ALL.iter().zip(values);
    let each: Vec<String> =
        each.map(|(system, v)| format!("{} {}{unit}", system.name, (v * 1e3).round() / 1e3)).collect();
    each.join(", ")
}

/// Whether each value is the table's, as far as ticks show.
fn near(values: &Values, table: &Values, tolerance: f64) -> bool {
    values.iter().zip(table).all(|(value, table)| (value - table).abs() <= tolerance)
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
    let row = |id, statement, check, values: &Values, table: &Values, tolerance, unit: &str| {
        claim(id, "II, table I", statement, check, (shown(values, unit), near(values, table, tolerance)))
            .paper(shown(table, unit))
    };
    vec![
        row(
            "granularity",
            "The timers tick every 10 ms, on Windows every 100 ms",
            "the largest power of ten ms that divides 300 RTOs",
            &senders.tick_ms,
            &TICK_MS,
            0.0,
            " ms",
        ),
        row(
            "initial-rto",
            "The initial RTO is 3 s, on Solaris 3.375 s",
            "the SYN-ACK is lost: the time to its retransmission",
            &senders.initial_ms,
            &INITIAL_MS,
            1e-3,
            " ms",
        ),
        row(
            "min-rto",
            "The minimum RTO is 200 ms on Linux and Windows, 400 ms on Solaris, 1200 ms on FreeBSD",
            "the last segment is lost at an RTT of 10 ms: from the last ACK to the retransmission",
            &senders.min_ms,
            &MIN_MS,
            1e-3,
            " ms",
        ),
        row(
            "a",
            "The weight of a sample in RTTVAR is 1/4 in all systems",
            "from the RTO after a sample twice the RTT of 2 s; 0.03 for the ticks",
            &senders.a,
            &[0.25; 4],
            0.03,
            "",
        ),
        row(
            "b",
            "The weight of a sample in SRTT is 1/8 in all systems",
            "from the SRTT after a sample twice the RTT",
            &senders.b,
            &[0.125; 4],
            1e-3,
            "",
        ),
        row(
            "m",
            "The factor of SRTT is 1, on Solaris 1.25",
            "the RTO after 300 equal samples of 2 s, in RTTs; 0.05 for the ticks",
            &senders.m,
            &M,
            0.0501,
            "",
        ),
        row(
            "k",
            "The factor of RTTVAR is 4 in all systems",
            "from the RTO after the first sample; 0.1 for the ticks",
            &senders.k,
            &[4.0; 4],
            0.1001,
            "",
        ),
        row(
            "dupthresh",
            "Windows retransmits on the second duplicate ACK, the others on the third",
            "duplicate ACKs that have arrived at the fast retransmit, 1 ms apart",
            &senders.dupthresh,
            &D,
            0.0,
            "",
        ),
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
        claim(
            "formula",
            "II",
            "RTO = m·srtt + k·rttvar, at least minRTO, with moving averages of weights b and a",
            "all 300 RTOs of Windows, Solaris and FreeBSD are the formula's in whole ticks, over RTTs of 300 to 600 ms",
            (
                shown(of_formula, " %"),
                standard.iter().all(|system| of_formula[*system] >= 100.0),
            ),
        ),
        claim(
            "linux-differs",
            "V-A1",
            "The RTO estimator of Linux differs most from the others",
            "its largest distance to the formula of §II is the only one above 5 %",
            (
                shown(off, " %"),
                off[LINUX] > 5.0 && standard.iter().all(|system| off[*system] <= 5.0),
            ),
        ),
        claim(
            "sampling",
            "V-A2a",
            "Linux updates its estimates once per segment, Windows once per flight",
            "RTT samples per flight of ten segments: Linux 10, Windows 1",
            (
                shown(samples, ""),
                (samples[LINUX] - 10.0).abs() < 0.5 && (samples[WINDOWS] - 1.0).abs() < 0.1,
            ),
        ),
        claim(
            "linux-converges",
            "V-A2a",
            "Linux's RTO converges faster than Windows's",
            "after a first sample of 1 s, RTTs of 100 ms until the RTO is at most 1.5 times its final value",
            (shown(converges, " RTTs"), converges[LINUX] < converges[WINDOWS]),
        )
        .note(
            "flights of ten segments, and no minimum RTO. RTTVAR of Linux falls once per round trip at most, by a quarter of \
             its distance to the largest deviation of that round trip, and the deviations are weighed by 1/32 after the RTT has fallen.",
        ),
        claim(
            "linux-converges-fastest",
            "I",
            "The Linux estimator converges fast",
            "it takes fewer RTTs than each of the others",
            (
                shown(converges, " RTTs"),
                standard.iter().all(|system| converges[LINUX] < converges[*system]),
            ),
        )
        .note("as linux-converges: by segment, Solaris's usual estimator forgets a large sample within a flight or two"),
        claim(
            "small-steady-rtt",
            "V-A2a",
            "At small and stable RTTs the RTOs of Solaris and FreeBSD are higher than those of Windows and Linux",
            "a steady RTT of 50 ms: the lower one of the first two is above the higher one of the others",
            (
                shown(steady, " RTTs"),
                steady[SOLARIS].min(steady[FREEBSD]) > steady[WINDOWS].max(steady[LINUX]),
            ),
        ),
        claim(
            "linux-adapts-dupthresh",
            "footnote 4",
            "Linux adjusts D after spurious fast retransmits",
            "a segment is overtaken by many, twice: Linux retransmits the first time alone, the others both times",
            (
                shown(twice, ""),
                (twice[LINUX] - 1.0).abs() < 0.5
                    && standard.iter().all(|system| (twice[*system] - 2.0).abs() < 0.5),
            ),
        ),
        claim(
            "values-differ",
            "I",
            "The systems differ in the values of the parameters, sometimes significantly",
            "granularity, minimum RTO, m and D, measured: none is equal in all systems; the largest minimum is at least twice the smallest",
            (
                format!("minimum RTO {}", shown(&senders.min_ms, " ms")),
                [&senders.tick_ms, &senders.min_ms, &senders.m, &senders.dupthresh]
                    .iter()
                    .all(|values| values.iter().any(|value| (value - values[0]).abs() > 0.1))
                    && senders.min_ms.iter().fold(0.0, |most: f64, one| most.max(*one))
                        >= 2.0 * senders.min_ms.iter().fold(f64::MAX, |least: f64, one| least.min(*one)),
            ),
        ),
    ]
}

/// What the parameters do.
fn parameters(senders: &Senders) -> Vec<Claim> {
    let [m1k2, m1k4, m125k4, m1k8] = senders.by_factors;
    let [steady, variable] = senders.by_variability;
    let exact = senders.after_rto_ms;
    vec![
        claim(
            "timer",
            "II",
            "A segment that is not acknowledged within an RTO counts as lost",
            "the last segment is lost: its retransmission comes one RTO after the timer was set, exactly",
            (
                shown(&exact, " ms later"),
                exact.iter().all(|late| late.abs() < 1e-3),
            ),
        ),
        claim(
            "rto-grows-with-m-k",
            "II",
            "The RTO grows with m and with k",
            "mean RTO over RTTs of 2 to 2.3 s, beyond all minima: k = 2 < 4 < 8, and m = 1 < 1.25, on each system",
            (
                format!(
                    "k = 2: {}; k = 8: {}",
                    shown(&m1k2, " ms"),
                    shown(&m1k8, " ms")
                ),
                ascend(&[m1k2, m1k4, m1k8]) && ascend(&[m1k4, m125k4]),
            ),
        ),
        claim(
            "weights",
            "II",
            "a and b set the weight of history when the RTT varies",
            "after one sample of 5 s instead of 2 s: the larger a, the larger the RTO; the larger b, the larger the SRTT",
            (
                format!(
                    "a = 1/32: RTO {}; a = 1: {}",
                    shown(&senders.by_a[0], " ms"),
                    shown(&senders.by_a[2], " ms")
                ),
                ascend(&senders.by_a) && ascend(&senders.by_b),
            ),
        ),
        claim(
            "rto-exceeds-rtt",
            "II",
            "The RTO is meant to exceed the current RTT",
            "RTTs of 300 to 600 ms: at least 99 % of the samples are below the RTO before them",
            (
                shown(&senders.covered, " %"),
                senders.covered.iter().all(|share| *share >= 99.0),
            ),
        ),
        claim(
            "variability-raises-rto",
            "II",
            "As the RTT varies much, the RTO is high, above all with the recommended parameters",
            "mean RTO in mean RTTs: larger over 300 to 900 ms than at a steady 300 ms, and the rise is larger with k = 4 than with k = 2",
            (
                format!(
                    "k = 4, steady: {}; variable: {}",
                    shown(&steady[1], ""),
                    shown(&variable[1], "")
                ),
                [WINDOWS, LINUX, SOLARIS].iter().all(|system| {
                    let rise = |k: usize| variable[k][*system] - steady[k][*system];
                    rise(1) > 0.0 && rise(1) > rise(0)
                }),
            ),
        )
        .note("without FreeBSD, whose minimum of 1200 ms hides it"),
    ]
}
