//! The facts in sentences, each with its numbers.

mod causes;
mod compared;
mod states;

use super::advice::Advice;
use super::facts::{CapturedAt, Facts, lost_by};
use super::groups::{GroupRow, differences, group_rows};
use super::order::Ranked;
use super::quic::Protocol;
use super::total::Total;
use crate::analysis::Analyzed;
use crate::wording::{bytes, capitalized, capture_name, count, duration, grouped, list, percent_of};
pub use causes::CauseLine;
pub(crate) use causes::GROUPS;
pub(super) use causes::title;
pub use causes::{cause_title, episode};
pub(super) use causes::{costly, most_costly, occurrences};
pub use compared::Comparison;
pub(super) use states::state_share;
pub use states::state_title;
use std::sync::Arc;
use std::time::Duration;

/// A capture, or several together, explained in sentences.
#[derive(Clone, Debug)]
pub struct Report {
    /// The capture's duration, connections, bytes and capture point.
    pub heading: String,
    /// How much time was lost, in one sentence.
    pub finding: String,
    /// Whether no time was lost, and nothing but the network and the applications set the pace.
    pub no_trouble: bool,
    /// The causes of lost time, the most expensive first.
    pub causes: Vec<CauseLine>,
    /// The advice, if connections were run again.
    pub advice: Option<Advice>,
    /// How the time of the connections was spent.
    pub time: Vec<String>,
    /// The groups that stand out from the others of their kind.
    pub differences: Vec<String>,
    /// The groups that the user asked for.
    pub groups: Vec<GroupRow>,
    /// Measured values beside usual ones.
    pub compared: Vec<Comparison>,
    /// The connections that lost time and come first, of those that were kept.
    pub connections: Vec<ConnectionLine>,
    /// How many connections lost time.
    pub losers: u64,
    /// Limits of the capture, and why.
    pub not_known: Vec<String>,
}

/// A connection in one line.
#[derive(Clone, Debug, PartialEq)]
pub struct ConnectionLine {
    /// Its number.
    pub number: u64,
    /// Its capture, if several are explained together.
    pub capture: Option<Arc<str>>,
    /// The ends, and what it lost: `198.51.100.1:32781 > 192.0.2.1:80: 1.20 s of 1.32 s (a lost SYN-ACK)`.
    pub text: String,
}

impl Report {
    /// Explains a capture.
    pub fn new(analyzed: &Analyzed<Facts>) -> Self {
        let facts = &analyzed.findings;
        let name = capture_name(&analyzed.capture);
        let length = duration(facts.duration());
        let heading = heading(name, &length, facts);
        let mut finding = match &analyzed.counts.qlog {
            Some(_) if facts.connections == 0 => "There is no connection of QUIC.".into(),
            _ => finding(facts, || analyzed.counts.instead_of_tcp()),
        };
        finding.extend(copies(analyzed.counts.copies.as_ref().map(|copies| [copies.captured, copies.not_captured()])));
        Self::of(facts, heading, finding, analyzed.notes())
    }

    /// Explains several captures together.
    pub fn of_all(total: &Total) -> Self {
        let facts = &total.facts;
        let length = format!("{} in all", duration(total.length));
        let heading = heading(&count(total.captures, "capture"), &length, facts);
        let mut finding = finding(facts, || None);
        finding.extend(copies(total.copies));
        Self::of(facts, heading, finding, total.notes())
    }

    fn of(facts: &Facts, heading: String, finding: String, mut not_known: Vec<String>) -> Self {
        let causes = causes::ranked(facts);
        let (mut time, held_up) = states::sentences(facts);
        time.extend(facts.quic.sentences());
        not_known.extend(states::unknown(facts));
        not_known.extend(super::queues::unknown(facts));
        not_known.extend(facts.quic.not_known());
        let no_trouble = causes.is_empty() && !held_up;
        not_known.extend(states::invisible_syns(facts).filter(|_| !no_trouble));
        let ranked = facts.worst.connections().iter();
        let listed = ranked.filter(|ranked| !lost_by(&ranked.connection).total().is_zero());
        Self {
            heading,
            finding,
            no_trouble,
            causes,
            advice: facts.advice.clone(),
            time,
            differences: differences(&facts.groups),
            groups: group_rows(facts),
            compared: compared::comparisons(facts),
            connections: listed.map(connection_line).collect(),
            losers: facts.losers,
            not_known,
        }
    }
}

/// What is explained, with its duration, connections, bytes and capture point.
fn heading(name: &str, length: &str, facts: &Facts) -> String {
    let connection = facts.protocol().choose("connection", "QUIC connection");
    let mut parts = vec![length.to_owned(), count(facts.connections, connection), bytes(facts.bytes)];
    parts.extend(captured_at(facts));
    format!("{name}: {}", parts.join(", "))
}

/// Where most connections were captured.
fn captured_at(facts: &Facts) -> Option<String> {
    let of = |at: CapturedAt| facts.captured_at[at as usize];
    let most = CapturedAt::ALL.into_iter().max_by_key(|at| of(*at))?;
    let captured = facts.protocol().choose("captured", "traced");
    let place = match most {
        CapturedAt::Server => format!("{captured} at the server"),
        CapturedAt::Client => format!("{captured} at the client"),
        CapturedAt::Between => format!("captured between client and server{}", distances(facts)),
        CapturedAt::Unknown => "capture point unknown".to_owned(),
    };
    match (of(most), facts.connections) {
        (0, _) => None,
        (n, all) if n == all => Some(place),
        (n, all) => Some(format!("{place} ({n} of {all})")),
    }
}

/// The usual distances of the capture point from both ends, where they are known.
fn distances(facts: &Facts) -> String {
    match facts.distances.each_ref().map(|of| of.summary()) {
        [Some(client), Some(server)] => {
            let [client, server] = [client.p50, server.p50].map(|ms| duration(Duration::from_secs_f64(ms / 1e3)));
            format!(" (round trips: {client} to the client, {server} to the server)")
        }
        _ => String::new(),
    }
}

/// How much time was lost, in one sentence.
fn finding(facts: &Facts, instead_of_tcp: impl Fn() -> Option<String>) -> String {
    let (lost, all) = (facts.lost.total(), facts.connection_time);
    match facts.connections {
        0 => {
            let instead = instead_of_tcp().map(|instead| format!(": the capture has {instead}"));
            return format!("There is no TCP connection{}.", instead.unwrap_or_default());
        }
        _ if lost.is_zero() => return "No connection lost time.".into(),
        _ => {}
    }
    let connections = match (facts.losers, facts.connections) {
        (_, 1) => String::new(),
        (n, all) if n == all => format!(", in all {}", count(all, "connection")),
        (n, all) => format!(", in {} of {}", grouped(n), count(all, "connection")),
    };
    let (lost, all, share) = (duration(lost), duration(all), percent_of(lost, all));
    format!("Losses and delays cost {lost} of {all} of connection time ({share}){connections}.")
}

/// A sentence about the copies that a guard sent: those captured, and others in its log. `None`: its log is not known.
fn copies(counts: Option<[u64; 2]>) -> Option<String> {
    let [captured, others] = counts?;
    let others = match others {
        0 => String::new(),
        others => format!(" ({} more in its log are not in the capture)", grouped(others)),
    };
    let captured = if captured == 1 { "1 copy".into() } else { format!("{} copies", grouped(captured)) };
    Some(format!(" `recoup guard` also sent {captured} of segments, which count as no retransmissions{others}."))
}

/// A connection in one line, with what it lost most to.
fn connection_line(ranked: &Ranked) -> ConnectionLine {
    let connection = &ranked.connection;
    let lost = lost_by(connection);
    let causes = causes::costly(&lost);
    let protocol = Protocol::of(connection);
    let named = causes.iter().take(3).map(|cause| causes::occurrences(*cause, lost.times(*cause).into(), protocol));
    let mut named: Vec<String> = named.collect();
    if causes.len() > 3 {
        named.push("others".into());
    }
    ConnectionLine {
        number: connection.id,
        capture: ranked.capture.clone(),
        text: format!(
            "{}: {} of {} ({})",
            connection.name(),
            duration(lost.total()),
            duration(connection.duration()),
            list(&named)
        ),
    }
}

/// A clause as a sentence.
pub(super) fn as_sentence(clause: &str) -> String {
    format!("{}.", capitalized(clause))
}

/// A sentence from its clauses.
fn sentence(clauses: &[String], between: &str) -> String {
    match clauses.is_empty() {
        true => String::new(),
        false => format!("{}.", capitalized(&clauses.join(between))),
    }
}
