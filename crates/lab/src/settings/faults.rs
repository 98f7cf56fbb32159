//! Faults of the path: loss, reordering, duplicates and damage.

use super::Reordering;
use super::descriptor::{Setting, setting};
use super::value::{BOTH, EachWay, optional};
use recoup_path::{DropRules, DropRulesError, Probability, ProbabilityError};
use recoup_support::quantity::{format_duration, parse_duration};
use recoup_support::suggest::did_you_mean;

pub(super) const SETTINGS: &[Setting] = &[
    setting!(
        "drop",
        "packets that are lost: none, or [up:|down:]KIND[@T],… as described below, at most 1000 of them: tail:1",
        drop,
        parse_drop,
        |drop| match drop.0.is_empty() {
            true => "none".into(),
            false => drop.to_string(),
        }
    ),
    setting!(
        "reorder",
        "probability that a packet is held back, and for how long: none, P:EXTRA as in 1%:20ms; or up:…,down:…",
        reorder,
        parse_reorderings,
        |reorder| reorder.format(|r| format_reordering(r.as_ref()))
    ),
    setting!(
        "duplicate",
        "probability that the path duplicates a packet: 0, 0.01 or 1%; or up:…,down:…",
        duplicate,
        parse_probabilities,
        |duplicate| duplicate.format(Probability::to_string)
    ),
    setting!(
        "corrupt",
        "probability that the path damages a packet: 0, 0.01 or 1%; or up:…,down:…",
        corrupt,
        parse_probabilities,
        |corrupt| corrupt.format(Probability::to_string)
    ),
];

fn parse_drop(text: &str) -> Result<DropRules, String> {
    text.parse().map_err(|e: DropRulesError| {
        let near = e.unknown().map(|(word, known)| did_you_mean(word, known.iter().copied()));
        format!("{e}{}", near.unwrap_or_default())
    })
}

fn parse_probability(text: &str) -> Result<Probability, String> {
    text.parse().map_err(|e: ProbabilityError| e.to_string())
}

fn parse_probabilities(text: &str) -> Result<EachWay<Probability>, String> {
    EachWay::parse(text, Probability::ZERO, &BOTH, parse_probability)
}

fn parse_reorderings(text: &str) -> Result<EachWay<Option<Reordering>>, String> {
    EachWay::parse(text, None, &BOTH, optional(parse_reordering))
}

fn parse_reordering(text: &str) -> Result<Reordering, String> {
    let (probability, extra) = text
        .split_once(':')
        .ok_or_else(|| format!("`{text}`: expected none or PROBABILITY:EXTRA, such as 0.01:20ms or 1%:20ms"))?;
    Ok(Reordering { probability: parse_probability(probability)?, extra: parse_duration(extra)? })
}

fn format_reordering(reordering: Option<&Reordering>) -> String {
    match reordering {
        None => "none".into(),
        Some(r) => format!("{}:{}", r.probability, format_duration(r.extra)),
    }
}
