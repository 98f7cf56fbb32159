//! Claims of §IV-D: how long flights take to recover, and what that costs.

use super::{HALVES, Kind, Outcome};
use crate::claims::{Claim, claim};
use recoup_captures::study::Model;

fn of_kind(outcomes: &[Outcome], kind: Kind) -> Vec<Outcome> {
    let of = outcomes.iter().filter(|one| one.kind == kind);
    of.copied().collect()
}

fn half(one: &Outcome) -> f64 {
    f64::from(one.flight) / 2.0
}

fn shown(of: &[Outcome], value: impl Fn(&Outcome) -> f64, study: impl Fn(&Outcome) -> f64) -> String {
    let each = of.iter().map(|one| format!("x = {}: {:.2} (study {:.2})", half(one), value(one), study(one)));
    each.collect::<Vec<_>>().join(", ")
}

/// Whether there is an outcome for each x, and all fulfil a condition.
fn all(of: &[Outcome], holds: impl Fn(&Outcome) -> bool) -> bool {
    of.len() == HALVES.len() && of.iter().all(holds)
}

/// The flight recovers in the RTTs of the study, to one RTT.
fn recovers(id: &'static str, kind: Kind, statement: &'static str, outcomes: &[Outcome]) -> Claim {
    let of = of_kind(outcomes, kind);
    let study = |one: &Outcome| one.kind.recovers(half(one));
    claim(
        id,
        "IV-D",
        statement,
        "RTTs from the retransmission until the window is that large again, for flights of 8 to 64: within half an RTT",
        (shown(&of, |one| one.recovered, study), all(&of, |one| (one.recovered - study(one)).abs() <= 0.5)),
    )
}

/// The equation is what the event costs, to a fifth or half an RTT.
fn costs(id: &'static str, kind: Kind, statement: &'static str, outcomes: &[Outcome]) -> Claim {
    let of = of_kind(outcomes, kind);
    let study = |one: &Outcome| kind.form(Model::Forms, one.flight);
    let is_near = |one: &Outcome| {
        let error = (one.cost - study(one)).abs();
        error <= 0.5 || error <= 0.2 * one.cost.abs()
    };
    claim(
        id,
        "IV-D",
        statement,
        "RTTs that the event adds to a transfer that ends when the flight has recovered: within a fifth, or half an RTT",
        (shown(&of, |one| one.cost, study), all(&of, is_near)),
    )
}

pub fn of(outcomes: &[Outcome]) -> Vec<Claim> {
    let goodput = outcomes.iter().filter(|one| one.kind != Kind::Instead);
    let least = goodput.map(|one| one.sent / f64::from(one.flight));
    let least = least.fold(f64::INFINITY, f64::min);
    let instead = of_kind(outcomes, Kind::Instead);
    vec![
        recovers(
            "fast-recovers",
            Kind::Fast,
            "A flight of 2x takes x + 1 RTTs to recover after a fast retransmit",
            outcomes,
        )
        .note(
            "it takes x RTTs and as long as the overtaken segment is late, a quarter of an RTT here: recovery ends when it arrives. \
             The study counts a whole RTT for the recovery, as after a loss.",
        ),
        recovers(
            "timeout-recovers",
            Kind::Timeout,
            "A flight of 2x takes log x + x − 1 RTTs to recover after a timeout",
            outcomes,
        )
        .note("it takes exactly one RTT more: the study does not count the RTT of the timeout's own retransmission, after which the flight is 2."),
        recovers(
            "late-timeout-recovers",
            Kind::LateTimeout,
            "The same if the ACKs are not lost but late, so that the timer was premature",
            outcomes,
        )
        .note(
            "the ACKs of the whole flight arrive together. Each opens the window, so that slow start is over at once, and only the \
             growth from x to 2x is left.",
        ),
        recovers(
            "timeout-to-half",
            Kind::Instead,
            "After a timeout the flight takes log x − 1 RTTs to reach x, which a fast retransmit leaves",
            outcomes,
        )
        .note("it takes exactly one RTT more: that of the timeout's own retransmission (as timeout-recovers)"),
        costs(
            "f",
            Kind::Fast,
            "F(x), equation (1), estimates what an avoided spurious fast retransmit saves",
            outcomes,
        )
        .note(
            "F is a sixth to a third too large. The recovery is shorter (fast-recovers), and F takes the mean flight of the undisturbed \
             sender over more RTTs than it needs.",
        ),
        costs(
            "r",
            Kind::Timeout,
            "R(x), equation (2), estimates what an avoided spurious timeout saves",
            outcomes,
        ),
        costs(
            "r-late",
            Kind::LateTimeout,
            "The same if the ACKs are late",
            outcomes,
        )
        .note("R is about twice the cost, because slow start is over at once (late-timeout-recovers)"),
        costs(
            "rf",
            Kind::Instead,
            "RF(x), equation (3), estimates what FR/R in place of a timeout saves after the recovery",
            outcomes,
        )
        .note("RF is about one RTT too small: it leaves out the RTT of the timeout's own retransmission (as timeout-to-half)"),
        claim(
            "goodput",
            "IV-D",
            "The sender achieves goodput while its flight recovers",
            "segments acknowledged until a flight of 2x has recovered, after spurious detections: at least the flight",
            (format!("at least {least:.2} flights"), least >= 1.0),
        ),
        claim(
            "dth-duplicate",
            "IV-D",
            "The D-th duplicate ACK arrives around one RTT after the segment was sent",
            "0.9 to 1.5 RTTs, for flights of 8 to 64",
            (
                shown(&instead, |one| one.detected, |_| 1.0),
                all(&instead, |one| (0.9..1.5).contains(&one.detected)),
            ),
        ),
    ]
}
