//! The profile to try as text.

use super::{ProfileToTry, ServerToTry};
use crate::whatif::answer::Answer;
use crate::whatif::text::{benefit, losers};
use crate::wording::{count, grouped, millis};
use recoup_support::rounded::decimals;
use recoup_table::table_of_texts;

/// The last line of an answer.
pub(in super::super) fn line(answer: &Answer) -> Option<String> {
    let found = answer.profile_to_try()?;
    Some(match &found.named {
        Some((name, changes)) => format!(
            "Profile to try before the servers: {name}. It changes the sender alone: {}{}. {}{}",
            benefit(changes),
            losers(changes),
            counted(&found),
            at_receiver(&found),
        ),
        None => format!("Profile to try before the servers: none. {}{}", why_none(answer, &found), at_receiver(&found)),
    })
}

/// Why no profile is named.
pub fn why_none(answer: &Answer, found: &ProfileToTry) -> String {
    if answer.rerun == 0 {
        return "No connection could be run again.".into();
    }
    if found.connections == 0 {
        return "In each connection that was run again, the end that opened it sent more data than the end that accepted it.".into();
    }
    if found.tried.is_empty() {
        return "No sender retransmitted or lost time.".into();
    }
    match found.tried.len() {
        1 => format!(
            "{} would not have made connections end sooner on average, beyond chance. {}",
            found.tried[0],
            counted(found)
        ),
        n => format!(
            "None of the {n} profiles tried would have made connections end sooner on average, beyond chance (5 % for all {n} together). {}",
            counted(found)
        ),
    }
}

/// Which connections count.
fn counted(found: &ProfileToTry) -> String {
    let left_out = match found.sent_by_clients {
        0 => String::new(),
        n => format!(" ({} in which the client did are left out)", grouped(n)),
    };
    let connections = count(found.connections, "connection");
    let verb = if found.connections == 1 { "Counted is" } else { "Counted are" };
    format!("{verb} {connections} in which the accepting end sent more data{left_out}.")
}

/// What gains more, but is not the sender's.
fn at_receiver(found: &ProfileToTry) -> String {
    found.at_receiver.as_ref().map_or_else(String::new, |(name, changes)| {
        let gain = millis(-changes.mean_change_ms.unwrap_or_default());
        format!(" {name} would have gained more ({gain} on average), but the receivers would have to set it.")
    })
}

/// Servers, a line each.
pub fn server_table(servers: &[ServerToTry]) -> String {
    let header = [
        "server",
        "connections",
        "a second",
        "run again",
        "mean completion time (ms)",
        "profile",
        "mean change (ms)",
        "95 % interval (ms)",
        "sum (s)",
    ];
    let rows = servers.iter().map(|server| {
        let named = server.profile.named.as_ref();
        let changes = named.map(|(_, changes)| changes);
        let interval = changes.and_then(|changes| changes.paired_interval_ms);
        vec![
            server.address.to_string(),
            grouped(server.connections),
            server.per_second.map_or("-".into(), |rate| decimals(rate, 2)),
            grouped(server.profile.connections),
            match server.profile.connections {
                0 => "-".into(),
                _ => decimals(server.mean_fct_ms, 1),
            },
            named.map_or("none", |(name, _)| name).into(),
            changes.and_then(|changes| changes.mean_change_ms).map_or("-".into(), |mean| decimals(mean, 1)),
            interval.map_or("-".into(), |(low, high)| format!("{} to {}", decimals(low, 1), decimals(high, 1))),
            changes.map_or("-".into(), |changes| decimals(changes.sum_change_ms / 1e3, 2)),
        ]
    });
    table_of_texts(&header, 1, rows)
}
