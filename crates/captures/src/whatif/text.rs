//! An answer as text for a terminal.

use super::answer::{Answer, MechanismResult};
use super::changes::Changes;
use crate::analysis::Analyzed;
use crate::explain::cause_title;
use crate::wording::{capture_name, count, grouped, list, millis, percent, unreached};
use recoup_table::table_of_texts;
use recoup_trace::finding::Cause;

/// Mechanisms whose changes a sentence names beside the best one.
const MOST_OTHERS: usize = 3;

/// An answer: the finding in a sentence, a table of mechanisms, and what the answer rests on.
pub fn answer_text(analyzed: &Analyzed<Answer>) -> String {
    let answer = &analyzed.findings;
    let capture = capture_name(&analyzed.capture);
    let mut parts = vec![format!("{capture}: {}", scope(answer)), finding(answer)];
    if answer.rerun > 0 && !answer.results.is_empty() {
        parts.push(change_table(answer));
        parts.push(cost_table(answer));
        parts.extend(cause_table(answer));
        parts.extend(most_changed(answer));
        parts.push(rests_on(answer));
    }
    parts.extend(not_rerun(answer));
    parts.join("\n\n") + "\n"
}

/// Connections that were rerun, and their profiles.
fn scope(answer: &Answer) -> String {
    let mut text = format!("{}, {} run again", count(answer.connections, "connection"), grouped(answer.rerun));
    if answer.lossy > 0 {
        text += &format!(", {} of them with a loss", grouped(answer.lossy));
    }
    let bases: Vec<String> = answer
        .bases
        .iter()
        .map(|(name, connections)| {
            let connections = grouped(*connections);
            format!("{name} ({connections})")
        })
        .collect();
    if !bases.is_empty() {
        text += &format!("; their senders run {}", list(&bases));
    }
    text
}

/// The finding in one sentence or two.
pub(crate) fn finding(answer: &Answer) -> String {
    if answer.rerun == 0 {
        return "No connection could be run again.".into();
    }
    let others = |best: &str| {
        let others = answer.results.iter().filter(|r| r.mechanism != best).filter(|result| result.all.helps());
        let mut others: Vec<_> = others.collect();
        others.sort_by(|a, b| a.all.sum_change_ms.total_cmp(&b.all.sum_change_ms));
        let others = others.into_iter().take(MOST_OTHERS);
        let named = others.map(|r| format!("{} {}", r.mechanism, sooner(&r.all)));
        named.collect::<Vec<_>>()
    };
    match answer.best() {
        Some(best) => {
            let mut text = format!("{} helps most: {}.", best.mechanism, benefit(&best.all));
            let others = others(&best.mechanism);
            if !others.is_empty() {
                text += &format!(" Also faster: {}.", list(&others));
            }
            text
        }
        None if answer.results.is_empty() => "No mechanism was tried.".into(),
        None => {
            let named: Vec<String> = answer
                .results
                .iter()
                .filter_map(|result| {
                    let mean = signed(result.all.mean_change_ms?);
                    let interval = result.all.interval_ms.map_or(String::new(), |(low, high)| {
                        format!(" (95 % interval: {} to {})", signed(low), signed(high))
                    });
                    Some(format!("{} {mean}{interval}", result.mechanism))
                })
                .collect();
            format!("No mechanism tried certainly makes connections end sooner on average: {}.", list(&named))
        }
    }
}

/// How much sooner connections would have ended, with the interval and the share.
pub(crate) fn benefit(changes: &Changes) -> String {
    let (Some(mean), Some(fct)) = (changes.mean_change_ms, changes.mean_fct_ms) else {
        return "no connection completes under it".into();
    };
    let interval = changes
        .interval_ms
        .map_or(String::new(), |(low, high)| format!(" (95 % interval: {} to {})", gain(high), gain(low)));
    format!(
        "connections would have ended {} sooner on average{interval}, which is {} of {}",
        millis(-mean),
        percent(-mean, fct),
        millis(fct)
    )
}

/// A change as a gain.
fn gain(change_ms: f64) -> String {
    match change_ms <= 0.0 {
        true => millis(-change_ms),
        false => format!("−{}", millis(change_ms)),
    }
}

fn sooner(changes: &Changes) -> String {
    format!("by {}", gain(changes.mean_change_ms.unwrap_or_default()))
}

/// A change with its sign.
pub(crate) fn signed(change_ms: f64) -> String {
    match change_ms {
        0.0 => "±0 ms".into(),
        faster if faster < 0.0 => format!("−{}", millis(-faster)),
        slower => format!("+{}", millis(slower)),
    }
}

fn ms(value: Option<f64>) -> String {
    value.map_or("-".into(), |value| format!("{value:.1}"))
}

fn interval(changes: &Changes) -> String {
    changes.interval_ms.map_or("-".into(), |(low, high)| format!("{low:.1} to {high:.1}"))
}

fn change_table(answer: &Answer) -> String {
    let header = [
        "change of the completion time",
        "mean (ms)",
        "95 % interval (ms)",
        "with a loss: mean (ms)",
        "95 % interval (ms)",
        "sum (s)",
        "5 % to 95 % (ms)",
        "sooner (%)",
        "later (%)",
    ];
    let share = |changes: &Changes, count| {
        let percent = changes.percent(count);
        percent.map_or("-".into(), |percent| format!("{percent:.0}"))
    };
    let rows = answer.results.iter().map(|result| {
        let all = &result.all;
        let quantiles = all.quantiles_ms;
        vec![
            result.mechanism.clone(),
            ms(all.mean_change_ms),
            interval(all),
            ms(result.lossy.mean_change_ms),
            interval(&result.lossy),
            format!("{:.1}", all.sum_change_ms / 1e3),
            quantiles.map_or("-".into(), |q| format!("{:.0} to {:.0}", q[0], q[4])),
            share(all, all.better),
            share(all, all.worse),
        ]
    });
    table_of_texts(&header, 1, rows)
}

fn cost_table(answer: &Answer) -> String {
    let header =
        ["cost", "extra bytes (%)", "retransmissions", "spurious retransmissions", "change that rests on draws (%)"];
    let rows = answer.results.iter().map(|result| {
        let all = &result.all;
        let percent = all.extra_bytes_percent();
        vec![
            result.mechanism.clone(),
            percent.map_or("-".into(), |percent| format!("{percent:+.2}")),
            format!("{} {:+.1}", all.retransmissions, all.extra_retransmissions),
            format!("{} {:+.1}", all.spurious, all.extra_spurious),
            format!("{:.0}", 100.0 * all.share_drawn),
        ]
    });
    table_of_texts(&header, 1, rows)
}

/// The mean change by cause: a line for each cause, a column for each mechanism.
fn cause_table(answer: &Answer) -> Option<String> {
    let of = |result: &MechanismResult, cause: Cause| result.causes.iter().find(|c| c.cause == cause).copied();
    let causes = Cause::ALL.into_iter().filter_map(|cause| {
        let found = answer.results.iter().filter_map(|r| of(r, cause));
        let most = found.map(|c| c.connections).max()?;
        Some((cause, most))
    });
    let rows: Vec<Vec<String>> = causes
        .map(|(cause, connections)| {
            let name = format!("{} ({connections})", cause_title(cause));
            let changes = answer.results.iter().map(|r| ms(of(r, cause).map(|c| c.mean_change_ms)));
            std::iter::once(name).chain(changes).collect()
        })
        .collect();
    let names = answer.results.iter().map(|r| &*r.mechanism);
    let header: Vec<&str> = std::iter::once("mean change (ms) by cause (connections)").chain(names).collect();
    (!rows.is_empty()).then(|| table_of_texts(&header, 1, rows))
}

/// The connections that gain and lose most under the best mechanism, or else under the first.
fn most_changed(answer: &Answer) -> Option<String> {
    let result = answer.best().or(answer.results.first())?;
    let named = |connections: &[(u64, f64)]| {
        let named = connections.iter().map(|(number, change)| format!("connection {number} ({})", signed(*change)));
        list(&named.collect::<Vec<_>>())
    };
    let mut parts = Vec::new();
    if !result.gain_most.is_empty() {
        parts.push(format!("gain most: {}", named(&result.gain_most)));
    }
    if !result.lose_most.is_empty() {
        parts.push(format!("lose most: {}", named(&result.lose_most)));
    }
    (!parts.is_empty()).then(|| format!("Under {}, {}.", result.mechanism, parts.join("; ")))
}

/// The error of the base runs, and the draws.
fn rests_on(answer: &Answer) -> String {
    let error = millis(answer.model_error_ms);
    let mut text = format!("The base runs end within {error} of the capture (root mean square).");
    if answer.paced_as_captured > 0 {
        text += &format!(
            " New data of {} keeps the sender's own timing: its congestion control is not the profile's.",
            count(answer.paced_as_captured, "connection")
        );
    }
    let drawn = answer.results.iter().map(|r| r.all.drawn_connections).max();
    if drawn.is_some_and(|drawn| drawn > 0) {
        text += &format!(
            " Where a mechanism sends packets that the capture does not hold, their fates were drawn: {} with seed {}.",
            count(answer.draws.into(), "run"),
            answer.seed
        );
    }
    let unfinished = answer.results.iter().filter(|r| r.unfinished > 0);
    for result in unfinished {
        text += &format!(
            " Under {}, {} not complete.",
            result.mechanism,
            match result.unfinished {
                1 => "1 connection does".into(),
                n => format!("{} connections do", grouped(n)),
            }
        );
    }
    text
}

/// The connections that the answer leaves out, by reason.
fn not_rerun(answer: &Answer) -> Vec<String> {
    let mut parts = Vec::new();
    for (reasons, what) in [
        (&answer.apart, "reported apart, because their own rerun differs from the capture"),
        (&answer.refused, "not run again"),
    ] {
        if reasons.total() > 0 {
            let connections = count(reasons.total(), "connection");
            parts.push(format!("{connections} {what}: {}.", reasons.in_words()));
        }
    }
    parts.extend(unreached(answer.interrupted, answer.left_out, "connection"));
    parts
}
