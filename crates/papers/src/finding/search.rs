//! The greedy search over the knobs, on the networks of the search.
//!
//! It begins with `linux-6`. Each round tries every value of every knob that is not set, beside what is set, and keeps the one
//! with the largest gain within the bounds of harm. It ends when the best adds less than 2 % of the excess of `linux-6`, or
//! not beyond its interval. The finding is the shortest beginning of the list with two thirds of the gain of the whole.

use super::networks::Family;
use super::sender::{KNOBS, Sender, Value};
use super::trial::{Bed, Comparison, Outcome, saved, share_of_excess};
use super::{NAME, judge, trial};
use crate::prelude::*;

/// The name on the command line.
pub const ID: &str = "search";

/// The seed of the flows, and flows of a family, by effort.
const SEED: u64 = 1;
const FLOWS: [u64; 2] = [4000, 300];

/// The least gain that a round must add.
const LEAST_GAIN: f64 = 0.02;

/// The share of the whole gain that the finding must have.
const ENOUGH: f64 = 2.0 / 3.0;

/// The share of the excess that is worth a change.
const ENOUGH_TO_MATTER: f64 = 0.1;

/// A value that a round tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    pub round: usize,
    pub value: &'static str,
    /// With all values kept before it.
    pub comparison: Comparison,
    /// The gain that it adds to that of the round before.
    pub added: Estimate,
    pub kept: bool,
}

/// Runs the search.
///
/// # Errors
/// Settings that do not fit together.
pub fn sheet(setup: &Setup) -> Result<Sheet> {
    let [full, quick] = FLOWS;
    let flows = setup.effort.of(full, quick);
    let beds = Family::SEARCH.map(|family| Bed::new(setup, family, flows, SEED));
    let beds = beds.into_iter().collect::<Result<Vec<_>>>()?;
    let run = |sender: &Sender| -> Result<Vec<Outcome>> {
        Ok(beds.iter().map(|bed| bed.run(setup, sender)).collect::<Result<Vec<_>>>()?.concat())
    };
    let linux = run(&Sender::changed(&[]))?;
    let (mut kept, mut before, mut tried): (Vec<Value>, _, Vec<Tried>) = (vec![], linux.clone(), vec![]);
    let excess = Comparison::of(&linux, &linux).excess.mean;
    for round in 1.. {
        let is_open = |knob: &&&[Value]| !knob.iter().any(|value| kept.contains(value));
        let mut best: Option<(usize, Vec<Outcome>, Value)> = None;
        for value in KNOBS.iter().filter(is_open).flat_map(|knob| knob.iter()) {
            let outcomes = run(&Sender::changed(&[&kept[..], &[*value]].concat()))?;
            let comparison = Comparison::of(&linux, &outcomes);
            let added = share_of_excess(saved(&before, &outcomes), excess);
            let is_better = best.as_ref().is_none_or(|(place, ..)| {
                let best: &Tried = &tried[*place];
                comparison.gain.mean > best.comparison.gain.mean
            });
            if is_better && comparison.harm().is_none() && added.mean >= LEAST_GAIN && added.mean > added.half {
                best = Some((tried.len(), outcomes, *value));
            }
            tried.push(Tried { round, value: value.name, comparison, added, kept: false });
        }
        let Some((place, outcomes, value)) = best else { break };
        tried[place].kept = true;
        before = outcomes;
        kept.push(value);
    }
    let claims = claims(&tried);
    let title = format!(
        "Greedy search for what `linux-6` leaves on the table: {} flows of each of {}, seed {SEED}, excess of linux-6 {excess:.3}",
        flows,
        Family::SEARCH.map(Family::name).joined(", "),
    );
    Ok(Figure::new(NAME, ID, title, claims, chart(&tried), tried).sheet(text, &columns()))
}

/// The values kept, in order, each with the gain of all up to it.
fn kept(tried: &[Tried]) -> Vec<&Tried> {
    tried.iter().filter(|one| one.kept).collect()
}

/// The names of the finding's values.
fn finding(tried: &[Tried]) -> Vec<&'static str> {
    let kept = kept(tried);
    let whole = kept.last().map_or(0.0, |last| last.comparison.gain.mean);
    let enough = kept.iter().position(|one| one.comparison.gain.mean >= ENOUGH * whole).map_or(0, |place| place + 1);
    kept[..enough].iter().map(|one| one.value).collect()
}

fn claims(tried: &[Tried]) -> Vec<Claim> {
    let kept = kept(tried);
    let list = |names: &[&str]| if names.is_empty() { "nothing".into() } else { names.join(", ") };
    let all: Vec<&str> = kept.iter().map(|one| one.value).collect();
    let gain = kept.last().map_or(Estimate { mean: 0.0, half: 0.0 }, |last| last.comparison.gain);
    let harmless = || tried.iter().filter(|one| one.comparison.harm().is_none());
    // Few flows, of which hardly one loses what costs most, tell neither.
    let helps = match gain.above(ENOUGH_TO_MATTER) {
        ClaimVerdict::Fails
            if harmless().any(|one| one.comparison.gain.below(ENOUGH_TO_MATTER) != ClaimVerdict::Holds) =>
        {
            ClaimVerdict::Undecided
        }
        verdict => verdict,
    };
    let found = finding(tried);
    let committed = judge::FINDING.map(|value| value.name);
    // The committed one might be better than what was found, as far as the intervals tell.
    let first_of = |name: &&str| harmless().find(|one| one.round == 1 && one.value == *name);
    let open = match (found.first().and_then(first_of), committed.first().and_then(first_of)) {
        (Some(found), Some(committed)) => {
            found.comparison.gain.exceeds(committed.comparison.gain) == ClaimVerdict::Undecided
        }
        _ => true,
    };
    let is_found = match found == committed {
        false if open => ClaimVerdict::Undecided,
        is_found => is_found.into(),
    };
    vec![
        claim!("a-change-helps", "{}: {:.1} ± {:.1} % of the excess", list(&all), 100.0 * gain.mean, 100.0 * gain.half)
            .needs(helps),
        claim!("the-finding", "{}", list(&found)).needs(is_found),
    ]
}

fn chart(tried: &[Tried]) -> BarChart {
    let chart = BarChart::new(
        "Gain beside linux-6 of each value, by round of the search",
        "value",
        "share of the excess (%)",
        ["gain within the bounds of harm", "gain beyond them"],
    );
    let rounds = tried.last().map_or(0, |last| last.round);
    (1..=rounds).fold(chart, |chart, round| {
        let bars = tried.iter().filter(|one| one.round == round).map(|one| {
            let gain = Some(100.0 * one.comparison.gain.mean).filter(|gain| *gain >= 0.0);
            let (within, beyond) = if one.comparison.harm().is_none() { (gain, None) } else { (None, gain) };
            (one.value.to_owned(), [within, beyond])
        });
        let before = tried.iter().filter(|one| one.kept && one.round < round).map(|one| one.value).joined(", ");
        let after = if before.is_empty() { String::new() } else { format!(", after {before}") };
        chart.panel(format!("Round {round}{after}"), bars)
    })
}

fn columns() -> Columns<Tried> {
    let own = columns!(columns_of_figure::<Tried>(ID), r;
        round, "", "the round of the search";
        value, "", "knob and value, beside what the rounds before kept";
        kept, "", "whether the round kept it";
        added_percent, "%", "gain more than that of the round before" => 100.0 * r.added.mean;
        added_half_percent, "%", "half the width of its 95 % confidence interval" => 100.0 * r.added.half;
    );
    trial::columns(own, |row| &row.comparison)
}

fn text(tried: &[Tried]) -> String {
    let table = columns!(Columns::<Tried>::new(), r;
        "round" => r.round;
        "value" => r.value;
        "gain (%)" => format!("{:.1} ± {:.1}", 100.0 * r.comparison.gain.mean, 100.0 * r.comparison.gain.half);
        "added (%)" => format!("{:.1} ± {:.1}", 100.0 * r.added.mean, 100.0 * r.added.half);
        "needless (points)" => format!("{:+.2}", r.comparison.needless);
        "bytes (%)" => format!("{:+.2}", r.comparison.bytes);
        "incomplete" => format!("{:+}", r.comparison.incomplete);
        "p99" => format!("{:.1}", r.comparison.p99);
        "" => if r.kept { "kept" } else { r.comparison.harm().unwrap_or("") };
    )
    .to_table(tried);
    format!(
        "Gain: the share of the excess of linux-6 that the value takes away, with all that were kept before.\n\n{table}"
    )
}
