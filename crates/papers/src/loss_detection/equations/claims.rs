//! Claims of §IV-D: how long flights take to recover, and what that costs.

use super::{HALVES, Kind, Outcome};
use crate::prelude::*;
use recoup_captures::study::Model;

fn of_kind(outcomes: &[Outcome], kind: Kind) -> Vec<Outcome> {
    outcomes.iter().filter(|one| one.kind == kind).copied().collect()
}

fn half(one: &Outcome) -> f64 {
    f64::from(one.flight) / 2.0
}

fn shown(of: &[Outcome], value: impl Fn(&Outcome) -> f64, study: impl Fn(&Outcome) -> f64) -> String {
    let each = of.iter().map(|one| format!("x = {}: {:.2} (study {:.2})", half(one), value(one), study(one)));
    each.joined(", ")
}

/// Whether there is an outcome for each x, and all fulfil a condition.
fn all(of: &[Outcome], holds: impl Fn(&Outcome) -> bool) -> bool {
    of.len() == HALVES.len() && of.iter().all(holds)
}

/// The flight recovers in the RTTs of the study, to one RTT.
fn recovers(id: &'static str, kind: Kind, outcomes: &[Outcome]) -> Claim {
    let of = of_kind(outcomes, kind);
    let study = |one: &Outcome| one.kind.recovers(half(one));
    claim(id)
        .shows(shown(&of, |one| one.recovered, study))
        .holds(all(&of, |one| (one.recovered - study(one)).abs() <= 0.5))
}

/// The equation is what the event costs, to a fifth or half an RTT.
fn costs(id: &'static str, kind: Kind, outcomes: &[Outcome]) -> Claim {
    let of = of_kind(outcomes, kind);
    let study = |one: &Outcome| kind.form(Model::Forms, one.flight);
    let is_near = |one: &Outcome| {
        let error = (one.cost - study(one)).abs();
        error <= 0.5 || error <= 0.2 * one.cost.abs()
    };
    claim(id).shows(shown(&of, |one| one.cost, study)).holds(all(&of, is_near))
}

pub fn of(outcomes: &[Outcome]) -> Vec<Claim> {
    let goodput = outcomes.iter().filter(|one| one.kind != Kind::Instead);
    let least = goodput.map(|one| one.sent / f64::from(one.flight)).fold(f64::INFINITY, f64::min);
    let instead = of_kind(outcomes, Kind::Instead);
    vec![
        recovers("fast-recovers", Kind::Fast, outcomes),
        recovers("timeout-recovers", Kind::Timeout, outcomes),
        recovers("late-timeout-recovers", Kind::LateTimeout, outcomes),
        recovers("timeout-to-half", Kind::Instead, outcomes),
        costs("f", Kind::Fast, outcomes),
        costs("r", Kind::Timeout, outcomes),
        costs("r-late", Kind::LateTimeout, outcomes),
        costs("rf", Kind::Instead, outcomes),
        claim!("goodput", "at least {least:.2} flights").holds(least >= 1.0),
        claim("dth-duplicate")
            .shows(shown(&instead, |one| one.detected, |_| 1.0))
            .holds(all(&instead, |one| (0.9..1.5).contains(&one.detected))),
    ]
}
