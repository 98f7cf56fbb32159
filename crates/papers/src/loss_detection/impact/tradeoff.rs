//! The statements of §II and §V-B about accuracy and timeliness: what k, the minimum RTO and D change in both.

use super::claims::{name, saved};
use super::{D, Impact, LINUX, Replaced, SOLARIS, WINDOWS};
use crate::claims::{Claim, claim};
use recoup_captures::parameters::ChangeKind;
use recoup_captures::study::published::System;

const ALL: [usize; 4] = [WINDOWS, LINUX, SOLARIS, 3];

/// Spurious timeouts that a value adds, less those that it avoids.
fn spurious_timeouts(impact: &Impact, system: usize, one: Replaced) -> i64 {
    let of = |kind| impact.events(system, one, &[kind]).cast_signed();
    of(ChangeKind::SpuriousTimeoutMade) - of(ChangeKind::SpuriousTimeoutAvoided)
}

fn spurious_fast(impact: &Impact, system: usize, one: Replaced) -> i64 {
    let of = |kind| impact.events(system, one, &[kind]).cast_signed();
    of(ChangeKind::SpuriousFastMade) - of(ChangeKind::SpuriousFastAvoided)
}

/// Whether the values never rise, and fall in the end.
fn falls(values: &[i64]) -> bool {
    values.windows(2).all(|pair| pair[0] >= pair[1]) && values.first() > values.last()
}

fn shown(lists: &[Vec<i64>]) -> String {
    let each = ALL.iter().zip(lists);
    let each: Vec<String> = each.map(|(system, list)| format!("{} {list:?}", name(*system))).collect();
    each.join(", ")
}

pub(super) fn of(impact: &Impact) -> Vec<Claim> {
    [rto(impact), dupthresh(impact)].concat()
}

/// k and the minimum RTO.
fn rto(impact: &Impact) -> Vec<Claim> {
    let values = [2, 3, 4, 6, 8].map(Replaced::K);
    let minima = [100, 200, 400, 800, 1000].map(Replaced::MinRto);
    let lists = |values: [Replaced; 5], of: &dyn Fn(usize, Replaced) -> i64| -> Vec<Vec<i64>> {
        let each = ALL.iter();
        each.map(|system| values.iter().map(|one| of(*system, *one)).collect()).collect()
    };
    let spurious = |system, one| spurious_timeouts(impact, system, one);
    let sooner = |system, one| impact.saved_ms(system, one, &[ChangeKind::TimeoutMoves]).round() as i64;
    let [by_k, by_min] = [values, minima].map(|values| lists(values, &spurious));
    let [time_k, time_min] = [values, minima].map(|values| lists(values, &sooner));
    let count = |system: usize, one: Replaced, kind: ChangeKind| impact.events(system, one, &[kind]);
    let to_fast = ALL.map(|system| count(system, Replaced::K(8), ChangeKind::TimeoutBecomesFast));
    let to_timeout = ALL.map(|system| count(system, Replaced::K(2), ChangeKind::FastBecomesTimeout));
    let is_linux = |lists: &[Vec<i64>]| falls(&lists[LINUX]) && falls(&lists[WINDOWS]) && falls(&lists[SOLARIS]);
    let params = [
        (Replaced::K(2), "k"),
        (Replaced::M(150), "m"),
        (Replaced::MinRto(1000), "minRTO"),
        (Replaced::A(1), "a"),
        (Replaced::B(1), "b"),
        (Replaced::D(1), "D"),
    ];
    let effects = params.map(|(one, parameter)| (parameter, saved(impact, LINUX, one)));
    vec![
        claim(
            "larger-rto-more-accurate",
            "II, V-B",
            "A larger RTO avoids spurious retransmissions of segments whose ACKs are merely late",
            "spurious timeouts added or avoided by k = 2, 3, 4, 6, 8, and by minima of 100 to 1000 ms: they fall on Windows, Linux and Solaris",
            (format!("k: {}; minRTO: {}", shown(&by_k), shown(&by_min)), is_linux(&by_k) && is_linux(&by_min)),
        ),
        claim(
            "smaller-rto-sooner",
            "II, V-A2a, V-B",
            "A smaller RTO detects losses sooner where timeouts are unavoidable",
            "what needed timeouts save, in ms per sender, by k = 2, 3, 4, 6, 8, and by minima of 100 to 1000 ms: it falls on Windows, Linux and Solaris",
            (format!("k: {}; minRTO: {}", shown(&time_k), shown(&time_min)), is_linux(&time_k) && is_linux(&time_min)),
        ),
        claim(
            "rto-conflict",
            "I, II",
            "Accuracy and timeliness conflict: what makes one better makes the other worse",
            "with k = 2 Windows, Linux and Solaris detect losses sooner and time out spuriously more often; with k = 8 the reverse",
            (
                format!("spurious timeouts by k: {}; ms saved: {}", shown(&by_k), shown(&time_k)),
                [WINDOWS, LINUX, SOLARIS].iter().all(|system| {
                    let (spurious, time) = (&by_k[*system], &time_k[*system]);
                    spurious[0] > 0 && time[0] > 0 && spurious[4] < 0 && time[4] < 0
                }),
            ),
        ),
        claim(
            "larger-rto-more-fast",
            "V-B",
            "With a larger RTO losses are more likely detected by FR/R",
            "k = 8 turns some timeouts into FR/R, and k = 2 some FR/R into timeouts; the systems together",
            (
                format!("k = 8: {to_fast:?} timeouts become FR/R; k = 2: {to_timeout:?} FR/R become timeouts"),
                to_fast.iter().sum::<u64>() > 0 && to_timeout.iter().sum::<u64>() > 0,
            ),
        ),
        claim(
            "six-parameters",
            "II",
            "The cost of loss detection depends on the six parameters D, a, b, m, k and minRTO",
            "another value of each alone changes the mean duration of Linux's connections by 0.01 RTTs or more",
            (
                effects.iter().map(|(of, saved)| format!("{of} {:+.2}", saved.mean)).collect::<Vec<_>>().join(", "),
                effects.iter().all(|(_, saved)| saved.mean.abs() >= 0.01),
            ),
        ),
    ]
}

/// D.
fn dupthresh(impact: &Impact) -> Vec<Claim> {
    let values = D.map(Replaced::D);
    let spurious: Vec<Vec<i64>> =
        ALL.iter().map(|system| values.iter().map(|one| spurious_fast(impact, *system, *one)).collect()).collect();
    let kinds = [ChangeKind::TimeoutBecomesFast];
    let detected: Vec<Vec<i64>> = ALL
        .iter()
        .map(|system| {
            let by_d = values.iter().map(|one| {
                let lost = impact.events(*system, *one, &[ChangeKind::FastBecomesTimeout]);
                impact.events(*system, *one, &kinds).cast_signed() - lost.cast_signed()
            });
            by_d.collect()
        })
        .collect();
    let of_one = |kind| ALL.map(|system| impact.saved_ms(system, Replaced::D(1), &[kind]));
    let instead = of_one(ChangeKind::TimeoutBecomesFast);
    let sooner = of_one(ChangeKind::FastMoves);
    let list = |values: [f64; 4]| {
        let each = ALL.map(|system| format!("{} {:.1}", System::ALL[system].name, values[system]));
        each.join(", ")
    };
    vec![
        claim(
            "larger-d-more-accurate",
            "II",
            "A larger D avoids spurious FR/R when reordering makes duplicate ACKs",
            "spurious FR/R added or avoided by D = 1 to 6: they fall on each system",
            (shown(&spurious), spurious.iter().all(|list| falls(list))),
        ),
        claim(
            "smaller-d-more-fast",
            "II, V-A2a",
            "A smaller D lets FR/R discover more losses that timeouts discover otherwise",
            "timeouts that become FR/R, less FR/R that become timeouts, by D = 1 to 6: they fall on each system",
            (shown(&detected), detected.iter().all(|list| falls(list))),
        ),
        claim(
            "d-mostly-by-fewer-timeouts",
            "II",
            "This saves much more than the slightly sooner FR/R",
            "D = 1: what losses save that FR/R detects in place of a timeout, and what sooner FR/R saves, in ms per sender, on each system",
            (
                format!(
                    "in place of a timeout {}; sooner {} ms",
                    list(instead),
                    list(sooner)
                ),
                ALL.iter().all(|system| {
                    instead[*system] > 2.0 * sooner[*system].max(0.0) && instead[*system] > 0.0
                }),
            ),
        )
        .note("it holds on Windows and FreeBSD. On Linux and Solaris waiting for two further duplicate ACKs costs as much on these slow paths as timeouts do."),
        claim(
            "d-conflict",
            "I, II",
            "Accuracy requires a large D, timeliness a small one",
            "on each system, D = 1 lets FR/R discover more losses, and adds spurious FR/R",
            (
                format!(
                    "discovered {}; spurious {}",
                    shown(&detected),
                    shown(&spurious)
                ),
                ALL.iter()
                    .all(|system| detected[*system][0] > 0 && spurious[*system][0] > 0),
            ),
        ),
    ]
}
