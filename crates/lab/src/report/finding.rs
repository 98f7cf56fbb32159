//! The result of a run in one sentence: the losses, and each profile's flow completion time.

use super::Entry;
use crate::scenario::Scenario;
use recoup_path::{LossKind, LossSpec};
use recoup_support::rounded::significant;
use recoup_tcp::flow::Host;
use recoup_units::Direction;

/// The sentence; `None` if no flow of some profile completed, or if there are several stages.
///
/// A single flow is the same in each run, so its times stand alone: "The last of 10 segments was lost once: linux-3.17
/// takes 783 ms, linux-6 402, linux-6+tlpr 322." Several flows are a sample. Their statistic is the mean, as in
/// `fct_normalised` and in a sweep, and each profile has the verdict on its mean beside its time: "Without losses:
/// linux-3.17 takes 402 ms, linux-6 402 (equal): mean FCT of 50 flows, compared with linux-3.17."
pub fn finding(scenario: &Scenario, entries: &[Entry]) -> Option<String> {
    let first = entries.first()?;
    if entries.iter().any(|e| e.stage() != first.stage()) {
        return None;
    }
    let flows = entries.iter().map(|entry| entry.result.cost.flows).max()?;
    let times = entries.iter().enumerate().map(|(i, entry)| {
        let profile = &entry.result.profile;
        let ms = whole_or_tenths(entry.fct?.mean);
        Some(match i {
            0 => format!("{profile} takes {ms} ms"),
            _ if flows == 1 => format!("{profile} {ms}"),
            _ => format!("{profile} {ms} ({})", entry.mean_verdict().unwrap_or(TOO_FEW)),
        })
    });
    let times: Option<Vec<String>> = times.collect();
    let times = times?.join(", ");
    let incomplete = |entry: &Entry| entry.result.cost.completed < entry.result.cost.flows;
    let of = match flows {
        1 => String::new(),
        n if entries.iter().any(incomplete) => format!(": mean FCT of those of {n} flows that completed"),
        n => format!(": mean FCT of {n} flows"),
    };
    let compared = match entries.len() > 1 && flows > 1 {
        true => format!(", compared with {}", first.result.profile),
        false => String::new(),
    };
    Some(format!("{}: {times}{of}{compared}.", lost(scenario)))
}

/// Stands in place of a verdict if there are too few flows for an interval.
const TOO_FEW: &str = "too few flows to compare";

/// Milliseconds without decimals; below 10 ms with one.
fn whole_or_tenths(ms: f64) -> String {
    match ms < 10.0 {
        true => format!("{ms:.1}"),
        false => format!("{ms:.0}"),
    }
}

/// The losses of the path, as a clause.
fn lost(scenario: &Scenario) -> String {
    let segments = scenario.settings.data_segments(Host::Server);
    let rules = &scenario.settings.drop.0;
    let clause = match rules.as_slice() {
        [] => Some("Without losses".to_owned()),
        [(_, LossSpec { kind: LossKind::None, .. })] => Some("Without losses".to_owned()),
        [(Direction::Down, rule)] => one_rule(*rule, segments),
        _ => None,
    };
    let recorded = &scenario.settings.recorded_losses;
    let clause = clause.filter(|_| recorded.up.is_none() && recorded.down.is_none());
    clause.unwrap_or_else(|| format!("With drop={}", scenario.settings.get("drop").unwrap_or_default()))
}

/// The clause for a rule about the server's packets.
fn one_rule(rule: LossSpec, segments: Option<u64>) -> Option<String> {
    let of = segments.map_or(String::new(), |n| format!(" of {n} segments"));
    match (rule.kind, rule.transmission) {
        (LossKind::Tail(1), None | Some(1)) if segments == Some(1) => Some("The only segment was lost once".into()),
        (LossKind::Tail(1), None | Some(1)) => Some(format!("The last{of} was lost once")),
        (LossKind::Tail(n), None | Some(1)) => Some(format!("The last {n}{of} were lost once")),
        (LossKind::Data { first, last }, None | Some(1)) if first == last => {
            Some(format!("Segment {first}{of} was lost once"))
        }
        (LossKind::Data { first, last }, None | Some(1)) => {
            Some(format!("Segments {first} to {last}{of} were lost once"))
        }
        (LossKind::Bernoulli(p), None) => {
            Some(format!("With {} % of the server's packets lost at random", significant(100.0 * p.get(), 3)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
