//! What the path does to packets: loss, reordering, duplicates and damage.

use super::value::{BOTH, EachWay, optional, put};
use super::{Reordering, Setting};
use recoup_path::{DropRules, DropRulesError, Probability, ProbabilityError};
use recoup_support::quantity::{format_duration, parse_duration};
use recoup_support::suggest::did_you_mean;

pub(super) const SETTINGS: &[Setting] = &[
    Setting {
        key: "drop",
        help: "packets that are lost: none, or [up:|down:]KIND[@T],… as described below: tail:1",
        set: |s, text, _| put(&mut s.drop, parse_drop(text)),
        get: |s| match s.drop.0.is_empty() {
            true => "none".into(),
            false => s.drop.to_string(),
        },
    },
    Setting {
        key: "reorder",
        help: "probability that a packet is held back, and for how long: none, P:EXTRA as in 1%:20ms; or up:…,down:…",
        set: |s, text, _| put(&mut s.reorder, parse_reorderings(text)),
        get: |s| s.reorder.format(|r| format_reordering(r.as_ref())),
    },
    Setting {
        key: "duplicate",
        help: "probability that the path duplicates a packet: 0, 0.01 or 1%; or up:…,down:…",
        set: |s, text, _| put(&mut s.duplicate, parse_probabilities(text)),
        get: |s| s.duplicate.format(Probability::to_string),
    },
    Setting {
        key: "corrupt",
        help: "probability that the path damages a packet: 0, 0.01 or 1%; or up:…,down:…",
        set: |s, text, _| put(&mut s.corrupt, parse_probabilities(text)),
        get: |s| s.corrupt.format(Probability::to_string),
    },
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
