//! The statements of §II and §V-B about accuracy and timeliness: what k, the minimum RTO and D change in both.

use super::claims::{name, saved};
use super::{D, Impact, LINUX, Replaced, SOLARIS, WINDOWS};
use crate::prelude::*;
use Replaced::{A, B, K, M, MinRto};
use recoup_captures::parameters::ChangeKind;

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
    let each: Vec<String> = ALL.iter().zip(lists).map(|(system, list)| format!("{} {list:?}", name(*system))).collect();
    each.join(", ")
}

pub fn of(impact: &Impact) -> Vec<Claim> {
    [rto(impact), dupthresh(impact)].concat()
}

/// k and the minimum RTO.
fn rto(impact: &Impact) -> Vec<Claim> {
    let values = [2, 3, 4, 6, 8].map(K);
    let minima = [100, 200, 400, 800, 1000].map(MinRto);
    let lists = |values: [Replaced; 5], of: &dyn Fn(usize, Replaced) -> i64| -> Vec<Vec<i64>> {
        ALL.iter().map(|system| values.iter().map(|one| of(*system, *one)).collect()).collect()
    };
    let spurious = |system, one| spurious_timeouts(impact, system, one);
    let sooner = |system, one| impact.saved_ms(system, one, &[ChangeKind::TimeoutMoves]).round() as i64;
    let [by_k, by_min] = [values, minima].map(|values| lists(values, &spurious));
    let [time_k, time_min] = [values, minima].map(|values| lists(values, &sooner));
    let count = |system: usize, one: Replaced, kind: ChangeKind| impact.events(system, one, &[kind]);
    let to_fast = ALL.map(|system| count(system, K(8), ChangeKind::TimeoutBecomesFast));
    let to_timeout = ALL.map(|system| count(system, K(2), ChangeKind::FastBecomesTimeout));
    let is_linux = |lists: &[Vec<i64>]| falls(&lists[LINUX]) && falls(&lists[WINDOWS]) && falls(&lists[SOLARIS]);
    let params =
        [(K(2), "k"), (M(150), "m"), (MinRto(1000), "minRTO"), (A(1), "a"), (B(1), "b"), (Replaced::D(1), "D")];
    let effects = params.map(|(one, parameter)| (parameter, saved(impact, LINUX, one)));
    vec![
        claim!("larger-rto-more-accurate", "k: {}; minRTO: {}", shown(&by_k), shown(&by_min))
            .holds(is_linux(&by_k) && is_linux(&by_min)),
        claim!("smaller-rto-sooner", "k: {}; minRTO: {}", shown(&time_k), shown(&time_min))
            .holds(is_linux(&time_k) && is_linux(&time_min)),
        claim!("rto-conflict", "spurious timeouts by k: {}; ms saved: {}", shown(&by_k), shown(&time_k)).holds(
            [WINDOWS, LINUX, SOLARIS].iter().all(|system| {
                let (spurious, time) = (&by_k[*system], &time_k[*system]);
                spurious[0] > 0 && time[0] > 0 && spurious[4] < 0 && time[4] < 0
            }),
        ),
        claim!(
            "larger-rto-more-fast",
            "k = 8: {to_fast:?} timeouts become FR/R; k = 2: {to_timeout:?} FR/R become timeouts"
        )
        .holds(to_fast.iter().sum::<u64>() > 0 && to_timeout.iter().sum::<u64>() > 0),
        claim("six-parameters")
            .shows(effects.iter().map(|(of, saved)| format!("{of} {:+.2}", saved.mean)).joined(", "))
            .holds(effects.iter().all(|(_, saved)| saved.mean.abs() >= 0.01)),
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
            values
                .iter()
                .map(|one| {
                    let lost = impact.events(*system, *one, &[ChangeKind::FastBecomesTimeout]);
                    impact.events(*system, *one, &kinds).cast_signed() - lost.cast_signed()
                })
                .collect()
        })
        .collect();
    let of_one = |kind| ALL.map(|system| impact.saved_ms(system, Replaced::D(1), &[kind]));
    let instead = of_one(ChangeKind::TimeoutBecomesFast);
    let sooner = of_one(ChangeKind::FastMoves);
    let list =
        |values: [f64; 4]| ALL.map(|system| format!("{} {:.1}", System::ALL[system].name, values[system])).join(", ");
    vec![
        claim("larger-d-more-accurate").shows(shown(&spurious)).holds(spurious.iter().all(|list| falls(list))),
        claim("smaller-d-more-fast").shows(shown(&detected)).holds(detected.iter().all(|list| falls(list))),
        claim!("d-mostly-by-fewer-timeouts", "in place of a timeout {}; sooner {} ms", list(instead), list(sooner))
            .holds(
                ALL.iter().all(|system| instead[*system] > 2.0 * sooner[*system].max(0.0) && instead[*system] > 0.0),
            ),
        claim!("d-conflict", "discovered {}; spurious {}", shown(&detected), shown(&spurious))
            .holds(ALL.iter().all(|system| detected[*system][0] > 0 && spurious[*system][0] > 0)),
    ]
}
