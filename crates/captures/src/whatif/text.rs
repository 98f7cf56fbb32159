//! An answer as text for a terminal.

use super::answer::{Answer, MechanismResult};
use super::bases::SenderFact;
use super::changes::Changes;
use crate::analysis::Analyzed;
use crate::explain::cause_title;
use crate::wording::{capture_name, count, grouped, list, millis, percent, percent_of, unreached};
use recoup_support::rounded::{change, decimals};
use recoup_table::table_of_texts;
use recoup_trace::finding::{Cause, SenderState};
use std::net::SocketAddr;

/// If more of the time is that of connections reported apart, the first paragraph says so.
const MOST_APART: f64 = 0.2;

/// Levers, and mechanisms of other stacks, whose changes a sentence names beside the best one.
const MOST_OTHERS: usize = 3;

/// An answer: the finding in a sentence, a table of what was tried, and what the answer rests on.
pub fn answer_text(analyzed: &Analyzed<Answer>) -> String {
    let answer = &analyzed.findings;
    let capture = capture_name(&analyzed.capture);
    let mut parts = vec![format!("{capture}: {}", scope(answer)), finding(answer)];
    let changing: Vec<&MechanismResult> = answer.results.iter().filter(|result| !result.is_without_effect).collect();
    if answer.rerun > 0 && !changing.is_empty() {
        parts.push(change_table(&changing));
        parts.push(cost_table(&changing));
        parts.extend(cause_table(&changing));
        parts.extend(most_changed(answer));
    }
    parts.extend(without_effect(answer));
    if answer.rerun > 0 {
        parts.push(rests_on(answer));
    }
    parts.extend(not_rerun(answer));
    parts.extend(super::profile_to_try::text::line(answer));
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
        text += &format!("; reproduced as {}", list(&bases));
    }
    let voted: Vec<String> = answer.senders.iter().take(MOST_SENDERS).map(sender).collect();
    if !voted.is_empty() {
        text += &format!(". Their connections vote: {}", list(&voted));
        if answer.senders.len() > MOST_SENDERS {
            text += &format!(" and {} more", count((answer.senders.len() - MOST_SENDERS) as u64, "sender"));
        }
    }
    text + "."
}

/// Senders that the text names.
const MOST_SENDERS: usize = 3;

/// A listener's profiles with their votes: `192.0.2.1:80 for linux-6 (12 of 12)`.
fn sender(fact: &SenderFact) -> String {
    let name = match fact.port {
        Some(port) => SocketAddr::new(fact.address, port).to_string(),
        None => fact.address.to_string(),
    };
    let profiles = fact.profiles.iter().map(|(profile, votes)| format!("{profile} ({votes} of {})", fact.voters));
    format!("those of {name} for {}", list(&profiles.collect::<Vec<_>>()))
}

/// The finding in a sentence or a few.
pub(crate) fn finding(answer: &Answer) -> String {
    if answer.rerun == 0 {
        return "No connection could be run again.".into();
    }
    if answer.results.iter().all(|result| result.is_without_effect) {
        return match answer.shows_losses {
            true => "Nothing that was tried changes a connection.".into(),
            false => {
                "No connection retransmitted or lost time, and nothing that was tried changes a completion time.".into()
            }
        };
    }
    let helping = answer.helping();
    let (levers, stacks): (Vec<&MechanismResult>, Vec<&MechanismResult>) =
        helping.into_iter().partition(|result| result.lever.is_some());
    let tried_levers = answer.results.iter().any(|result| result.lever.is_some());
    let mut sentences = Vec::new();
    let first = if levers.is_empty() { &stacks } else { &levers };
    if levers.is_empty() && tried_levers && !stacks.is_empty() {
        sentences.push("No setting that was tried makes connections end sooner on average, beyond chance.".into());
    }
    match first.split_first() {
        Some((best, others)) => {
            let command = best.lever.as_ref().map(|lever| format!(". {}: {}", lever.place(), lever.command()));
            let (benefit, losers) = (benefit(&best.all), losers(&best.all));
            let of = if best.lever.is_some() && !stacks.is_empty() { "Of the settings, " } else { "" };
            sentences.push(format!(
                "{of}{} helps most: {benefit}{losers}{}.",
                best.mechanism,
                command.unwrap_or_default()
            ));
            if !others.is_empty() {
                sentences.push(format!("Also sooner: {}.", gains(others)));
            }
        }
        None => {
            sentences.push("Nothing that was tried makes connections end sooner on average, beyond chance.".into());
        }
    }
    if !levers.is_empty() && !stacks.is_empty() {
        sentences.push(format!("What only another TCP has: {}.", gains(&stacks)));
    }
    sentences.extend(later(answer));
    if answer.apart_share_of_time > MOST_APART {
        let share = percent(answer.apart_share_of_time, 1.0);
        sentences.push(format!("This leaves out the connections reported apart, which took {share} of the time."));
    }
    sentences.join(" ")
}

/// What would have made connections end later, beyond chance.
fn later(answer: &Answer) -> Option<String> {
    let harming = answer.results.iter().filter(|result| result.all.harms());
    let named: Vec<String> = harming
        .map(|result| {
            let later = millis(result.all.mean_change_ms.unwrap_or_default());
            format!("{} by {later}{}", result.mechanism, losers(&result.all))
        })
        .collect();
    (!named.is_empty()).then(|| format!("Later on average: {}.", list(&named)))
}

/// The gains of some results, and who loses.
fn gains(results: &[&MechanismResult]) -> String {
    let named =
        results.iter().take(MOST_OTHERS).map(|r| format!("{} {}{}", r.mechanism, sooner(&r.all), losers(&r.all)));
    list(&named.collect::<Vec<_>>())
}

/// Who ends later, if some do.
pub(super) fn losers(changes: &Changes) -> String {
    match changes.worse {
        0 => String::new(),
        worse => format!(", while {} end later", percent(worse as f64, changes.connections as f64)),
    }
}

/// Levers that change nothing here, with the reason.
fn without_effect(answer: &Answer) -> Option<String> {
    if answer.rerun == 0 {
        return None;
    }
    let mut parts: Vec<String> = Vec::new();
    for (need, names) in &answer.without_effect {
        parts.push(format!("{} ({})", names.join(", "), need.why_not()));
    }
    let tried = answer.results.iter().filter(|result| result.is_without_effect);
    let tried: Vec<&str> = tried.map(|result| &*result.mechanism).collect();
    if !tried.is_empty() {
        parts.push(format!("{} (their reruns are the same)", tried.join(", ")));
    }
    (!parts.is_empty()).then(|| format!("No effect on what this capture shows: {}.", parts.join("; ")))
}

/// How much sooner connections would have ended, with the interval and the share.
pub(crate) fn benefit(changes: &Changes) -> String {
    let (Some(mean), Some(fct)) = (changes.mean_change_ms, changes.mean_fct_ms) else {
        return "no connection completes under it".into();
    };
    let range = |(low, high): (f64, f64)| format!("{} to {}", gain(high), gain(low));
    let interval = match (changes.paired_interval_ms, changes.interval_ms.filter(|_| !changes.are_chosen)) {
        (Some(paired), Some(another)) => {
            format!(" (95 % interval: {}; another run may show {})", range(paired), range(another))
        }
        (Some(paired), None) => format!(" (95 % interval: {})", range(paired)),
        (None, _) => String::new(),
    };
    format!(
        "connections would have ended {} sooner on average{interval}, which is {} of {}",
        millis(-mean),
        percent(-mean, fct),
        millis(fct)
    )
}

/// A change as a gain.
fn gain(change_ms: f64) -> String {
    millis(-change_ms)
}

fn sooner(changes: &Changes) -> String {
    format!("by {}", gain(changes.mean_change_ms.unwrap_or_default()))
}

/// A change with its sign.
pub(crate) fn signed(change_ms: f64) -> String {
    match millis(change_ms) {
        none if none == "0 ms" => "±0 ms".into(),
        slower if change_ms > 0.0 => format!("+{slower}"),
        faster => faster,
    }
}

fn ms(value: Option<f64>) -> String {
    value.map_or("-".into(), |value| decimals(value, 1))
}

fn interval(interval_ms: Option<(f64, f64)>) -> String {
    interval_ms.map_or("-".into(), |(low, high)| format!("{} to {}", decimals(low, 1), decimals(high, 1)))
}

fn change_table(results: &[&MechanismResult]) -> String {
    let header = [
        "change of the completion time",
        "mean (ms)",
        "95 % interval (ms)",
        "another run (ms)",
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
    let rows = results.iter().map(|result| {
        let all = &result.all;
        let quantiles = all.quantiles_ms;
        vec![
            result.mechanism.clone(),
            ms(all.mean_change_ms),
            interval(all.paired_interval_ms),
            interval(all.interval_ms),
            ms(result.lossy.mean_change_ms),
            interval(result.lossy.paired_interval_ms),
            decimals(all.sum_change_ms / 1e3, 1),
            quantiles.map_or("-".into(), |q| format!("{} to {}", decimals(q[0], 0), decimals(q[4], 0))),
            share(all, all.better),
            share(all, all.worse),
        ]
    });
    table_of_texts(&header, 1, rows)
}

fn cost_table(results: &[&MechanismResult]) -> String {
    let header =
        ["cost", "extra bytes (%)", "retransmissions", "spurious retransmissions", "change that rests on draws (%)"];
    let rows = results.iter().map(|result| {
        let all = &result.all;
        let percent = all.extra_bytes_percent();
        vec![
            result.mechanism.clone(),
            percent.map_or("-".into(), |percent| change(percent, 2)),
            format!("{} {}", all.retransmissions, change(all.extra_retransmissions, 1)),
            format!("{} {}", all.spurious, change(all.extra_spurious, 1)),
            format!("{:.0}", 100.0 * all.share_drawn),
        ]
    });
    table_of_texts(&header, 1, rows)
}

/// The mean change by cause: a line for each cause, a column for each mechanism.
fn cause_table(results: &[&MechanismResult]) -> Option<String> {
    let of = |result: &MechanismResult, cause: Cause| result.causes.iter().find(|c| c.cause == cause).copied();
    let causes = Cause::ALL.into_iter().filter_map(|cause| {
        let found = results.iter().filter_map(|r| of(r, cause));
        let most = found.map(|c| c.connections).max()?;
        Some((cause, most))
    });
    let rows: Vec<Vec<String>> = causes
        .map(|(cause, connections)| {
            let name = format!("{} ({connections})", cause_title(cause));
            let changes = results.iter().map(|r| ms(of(r, cause).map(|c| c.mean_change_ms)));
            std::iter::once(name).chain(changes).collect()
        })
        .collect();
    let names = results.iter().map(|r| &*r.mechanism);
    let header: Vec<&str> = std::iter::once("mean change (ms) by cause (connections)").chain(names).collect();
    (!rows.is_empty()).then(|| table_of_texts(&header, 1, rows))
}

/// The connections that gain and lose most under the best mechanism, or else under the first.
fn most_changed(answer: &Answer) -> Option<String> {
    let result = answer.helping().first().copied().or(answer.results.first())?;
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
    if answer.senders_accept {
        text += " Completion times count from the first SYN that the capture holds: SYNs that were lost before the server are in no capture of it.";
    }
    let idle = answer.time.of(SenderState::Application);
    if idle * 2 > answer.time.total() {
        text += &format!(
            " {} of the time, the applications had nothing to send: no setting of TCP changes that.",
            percent_of(idle, answer.time.total())
        );
    }
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
            let time = match std::ptr::eq(reasons, &answer.apart) {
                true => format!(" ({} of the time)", percent(answer.apart_share_of_time, 1.0)),
                false => String::new(),
            };
            parts.push(format!("{connections}{time} {what}: {}.", reasons.in_words()));
        }
    }
    parts.extend(unreached(answer.interrupted, answer.left_out, "connection"));
    parts
}
