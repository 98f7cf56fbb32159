//! The result of a run in one sentence: the losses, and each profile's flow completion time.

use super::Entry;
use crate::scenario::Scenario;
use recoup_path::{LossKind, LossSpec};
use recoup_support::stats::Summary;
use recoup_tcp::flow::Host;
use recoup_units::Direction;

/// The sentence; `None` if no flow of some profile completed, or if there are several stages.
///
/// "The last of 10 segments was lost once: linux-3.17 takes 783 ms, linux-6 402, linux-6+tlpr 322."
pub fn finding(scenario: &Scenario, entries: &[Entry]) -> Option<String> {
    let first = entries.first()?;
    if entries.iter().any(|e| e.stage() != first.stage()) {
        return None;
    }
    let fcts: Option<Vec<Summary>> = entries.iter().map(|entry| entry.fct).collect();
    let fcts = fcts?;
    // Where few flows lose anything, only the mean tells profiles apart.
    let same_median = fcts.windows(2).all(|two| two[0].p50 == two[1].p50);
    let flows = first.result.cost.flows;
    let (statistic, times): (&str, Vec<f64>) = match same_median && flows > 1 {
        true => ("mean", fcts.iter().map(|fct| fct.mean).collect()),
        false => ("median", fcts.iter().map(|fct| fct.p50).collect()),
    };
    let times = entries.iter().zip(times).enumerate().map(|(i, (entry, ms))| {
        let (verb, unit) = if i == 0 { ("takes ", " ms") } else { ("", "") };
        let (profile, ms) = (&entry.result.profile, whole_or_tenths(ms));
        format!("{profile} {verb}{ms}{unit}")
    });
    let times: Vec<String> = times.collect();
    let incomplete = |entry: &Entry| entry.result.cost.completed < flows;
    let of = match flows {
        1 => String::new(),
        n if entries.iter().any(incomplete) => {
            format!(" ({statistic} flow completion times of those of {n} flows that completed)")
        }
        n => format!(" ({statistic} flow completion times of {n} flows)"),
    };
    Some(format!("{}: {}{of}.", lost(scenario), times.join(", ")))
}

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
    clause.unwrap_or_else(|| format!("With drop={}", scenario.settings.drop))
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
            Some(format!("With {} % of the server's packets lost at random", 100.0 * p.get()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
