//! `recoup proxy --suggest`: which profile to try before which server, and for how long, from captures.

use recoup::Failure;
use recoup::commands::captures::{CaptureBar, end, report, until_interrupted};
use recoup::output::print;
use recoup_captures::analysis::Analyzed;
use recoup_captures::capture::Input;
use recoup_captures::whatif::{AbTrial, Answer, Request, ServerToTry, server_table, what_if, why_none};
use recoup_captures::wording::{capture_name, count, duration, grouped, list, millis, percent};
use recoup_support::rounded::decimals;
use recoup_trace::analyze::Settings;
use std::path::PathBuf;
use std::time::Duration;

/// Where the user wants the proxy: as after `--listen` and `--upstream`. By default it has the server's own address and port.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place<'a> {
    /// Where clients come to.
    pub listen: Option<&'a str>,
    /// The server.
    pub upstream: Option<&'a str>,
}

/// Servers that the table has.
const MOST_LISTED: usize = 5;

/// Runs of each connection and profile where fates are drawn, and their seed: as `recoup whatif` has them.
const DRAWS: u32 = 10;
const SEED: u64 = 1;

/// Prints what these captures, read as one, suggest.
///
/// # Errors
/// Captures of which none can be read, and an interrupt.
pub fn run(captures: &[PathBuf], place: Place<'_>) -> Result<(), Failure> {
    recoup::interrupt::watch();
    let input = Input::new(captures, true)?;
    let (request, bar, settings) = (request(), CaptureBar::new(false), Settings::default());
    let (all, interrupted) =
        until_interrupted(|| input.each(&bar, |capture| what_if(capture, &request, &settings, &bar)));
    report(&all, captures, |answer| &answer.notes);
    for analyzed in &all.analyzed {
        print(&text(analyzed, place))?;
    }
    end(interrupted, !all.failures.is_empty())
}

fn request() -> Request {
    Request { alternatives: Vec::new(), draws: DRAWS, seed: SEED, names_profile: true }
}

/// The suggestion of a capture.
fn text(analyzed: &Analyzed<Answer>, place: Place<'_>) -> String {
    let answer = &analyzed.findings;
    let servers = answer.servers_to_try();
    let head = format!(
        "{}: {}, {} run again, of {}.",
        capture_name(&analyzed.capture),
        count(answer.connections, "connection"),
        grouped(answer.rerun),
        count(servers.len() as u64, "server")
    );
    let mut parts = vec![head];
    if !servers.is_empty() {
        parts.push(server_table(&servers[..servers.len().min(MOST_LISTED)]));
    }
    let best = servers.first().and_then(|server| Some((server, server.trial.as_ref()?)));
    match best {
        Some((server, trial)) => {
            parts.push(command(server, trial, place));
            parts.push(format!("{} {}", why(server, &servers), how_long(server, trial)));
        }
        None => parts.push(format!("No proxy is suggested. {}", nothing(answer))),
    }
    parts.join("\n\n") + "\n"
}

/// The command to run: one half of the connections with each profile.
fn command(server: &ServerToTry, trial: &AbTrial, place: Place<'_>) -> String {
    let own = server.address.to_string();
    let (listen, upstream) = (place.listen.unwrap_or(&own), place.upstream.unwrap_or(&own));
    let named = server.profile.named.as_ref().map_or("", |(name, _)| name);
    format!(
        "recoup proxy --listen {listen} --upstream {upstream} --profile {} --profile {named} --summary",
        trial.control
    )
}

/// Why this server and this profile.
fn why(server: &ServerToTry, servers: &[ServerToTry]) -> String {
    let Some((name, changes)) = &server.profile.named else {
        return String::new();
    };
    let mean = -changes.mean_change_ms.unwrap_or_default();
    let interval = changes
        .paired_interval_ms
        .map_or_else(String::new, |(low, high)| format!(" (95 % interval: {} to {})", millis(-high), millis(-low)));
    let all: f64 = servers.iter().map(ServerToTry::gain_ms).sum();
    let share = match servers.len() {
        1 => String::new(),
        _ => format!("; that is {} of what could be won at all servers of the capture", percent(server.gain_ms(), all)),
    };
    format!(
        "With {name}, the connections of {} would have ended {} sooner on average{interval}, {} in all{share}.",
        server.address,
        millis(mean),
        millis(server.gain_ms()),
    )
}

/// How long the trial has to last.
fn how_long(server: &ServerToTry, trial: &AbTrial) -> String {
    let beside = match trial.is_todays {
        true => format!("{}, which the server's own sender behaves like,", trial.control),
        false => trial.control.clone(),
    };
    let (effect, [control, arm]) = (millis(-trial.effect_ms), trial.arms);
    let Some(connections) = trial.connections().filter(|_| trial.effect_ms < 0.0) else {
        return format!("Beside {beside} the capture shows no gain, so no trial would show one.");
    };
    let vary = format!(
        "completion times vary by {} and {} (standard deviations)",
        millis(control.variance.sqrt()),
        millis(arm.variance.sqrt())
    );
    let mut sentences = vec![format!(
        "Beside {beside} the gain is {effect}, and {vary}: a trial shows it after about {} (95 % level, 80 % power).",
        lasting(server, connections)
    )];
    sentences.push(match trial.most_connections() {
        Some(most) => {
            format!("If the gain is as small as its interval permits, it takes {}.", lasting(server, most))
        }
        None => "The gain may be none, as far as its interval says: then no trial shows it.".into(),
    });
    sentences.join(" ")
}

/// `1,200 connections, or 20.0 min at 1.00 connections a second`.
fn lasting(server: &ServerToTry, connections: f64) -> String {
    let number = count(connections as u64, "connection");
    match server.per_second {
        Some(rate) if rate > 0.0 => {
            let time = Duration::try_from_secs_f64(connections / rate).unwrap_or(Duration::MAX);
            format!("{number}, or {} at {} connections a second", duration(time), decimals(rate, 2))
        }
        _ => number,
    }
}

/// Why nothing is suggested.
fn nothing(answer: &Answer) -> String {
    let why = answer.profile_to_try().map_or_else(String::new, |found| match &found.named {
        Some((name, _)) => format!("{name} helps all servers together beyond chance, but none of them by itself."),
        None => why_none(answer, &found),
    });
    let left_out: Vec<String> = [(&answer.refused, "could not be run again"), (&answer.apart, "are reported apart")]
        .into_iter()
        .filter(|(reasons, _)| reasons.total() > 0)
        .map(|(reasons, what)| format!("{} {what}: {}", count(reasons.total(), "connection"), reasons.in_words()))
        .collect();
    match left_out.is_empty() {
        true => why,
        false => format!("{why} {}.", list(&left_out)),
    }
}

#[cfg(test)]
mod tests;
