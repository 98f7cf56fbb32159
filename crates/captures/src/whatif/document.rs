//! Answers as a JSON document.

use super::answer::{Answer, CauseChange, MechanismResult};
use super::bases::SenderFact;
use super::columns::{predictions, results};
use super::profile_to_try::document::field;
use super::reasons::Reasons;
use crate::analysis::Analyzed;
use recoup_table::{Layout, Schema};
use serde_json::{Value, json};
use std::io::{self, Write};

/// The document's name and version.
const SCHEMA: Schema = Schema { name: "recoup.whatif", version: 1 };

/// Writes the answers of captures, an element of a list to a line. `with_connections`: with the
/// prediction of every connection.
///
/// # Errors
/// If writing to `out` fails.
pub fn write_answers(captures: &[Analyzed<Answer>], with_connections: bool, out: impl Write) -> io::Result<()> {
    let captures: io::Result<Vec<Value>> =
        captures.iter().map(|analyzed| capture(analyzed, with_connections)).collect();
    SCHEMA.write(&json!({ "captures": captures? }), Layout::Lines, out)
}

fn capture(analyzed: &Analyzed<Answer>, with_connections: bool) -> io::Result<Value> {
    let answer = &analyzed.findings;
    let mut notes = analyzed.notes();
    notes.extend(answer.notes.iter().cloned());
    let results: io::Result<Vec<Value>> = answer.results.iter().map(result).collect();
    let bases = answer.bases.iter().map(|(profile, count)| json!({ "profile": profile, "connections": count }));
    let mut object = json!({
        "capture": analyzed.capture,
        "notes": notes,
        "connection_count": answer.connections,
        "rerun": answer.rerun,
        "lossy": answer.lossy,
        "paced_as_captured": answer.paced_as_captured,
        "left_out": answer.left_out,
        "interrupted": answer.interrupted,
        "apart": reasons(&answer.apart),
        "apart_share_of_time": answer.apart_share_of_time,
        "refused": reasons(&answer.refused),
        "bases": bases.collect::<Vec<_>>(),
        "senders": answer.senders.iter().map(sender).collect::<Vec<_>>(),
        "model_error_ms": answer.model_error_ms,
        "draws": answer.draws,
        "seed": answer.seed,
        "best": answer.best().map(|best| &best.mechanism),
        "profile_to_try": field(answer.profile_to_try().as_ref()),
        "results": results?,
        "without_effect": without_effect(answer),
    });
    if with_connections {
        object["connections"] = serde_json::to_value(predictions().to_json(&answer.predictions()))?;
    }
    Ok(object)
}

/// The levers that cannot matter, with the reason.
fn without_effect(answer: &Answer) -> Vec<Value> {
    let by_need = answer.without_effect.iter();
    let all =
        by_need.flat_map(|(need, names)| names.iter().map(|name| json!({ "lever": name, "reason": need.why_not() })));
    all.collect()
}

fn sender(fact: &SenderFact) -> Value {
    let profiles = fact.profiles.iter().map(|(profile, votes)| json!({ "profile": profile, "votes": votes }));
    json!({
        "address": fact.address.to_string(),
        "port": fact.port,
        "profiles": profiles.collect::<Vec<_>>(),
        "voters": fact.voters,
    })
}

fn reasons(reasons: &Reasons) -> Vec<Value> {
    let counts = reasons.by_count().into_iter().map(|reason| {
        json!({
            "reason": reason.name,
            "text": reason.about,
            "connections": reason.count,
        })
    });
    counts.collect()
}

/// A row of columns, with the causes and the connections that change most.
fn result(result: &MechanismResult) -> io::Result<Value> {
    let mut row = serde_json::to_value(results().row_to_json(result))?;
    row["causes"] = result.causes.iter().map(cause).collect();
    row["gain_most"] = named(&result.gain_most);
    row["lose_most"] = named(&result.lose_most);
    Ok(row)
}

fn cause(cause: &CauseChange) -> Value {
    json!({
        "cause": cause.cause.name(),
        "connections": cause.connections,
        "mean_change_ms": cause.mean_change_ms,
        "sum_change_ms": cause.sum_change_ms,
    })
}

fn named(connections: &[(u64, f64)]) -> Value {
    let connections = connections.iter().map(|(number, change)| json!({ "connection": number, "change_ms": change }));
    connections.collect()
}
