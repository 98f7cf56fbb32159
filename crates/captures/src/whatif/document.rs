//! Answers as a JSON document.

use super::answer::{Answer, CauseChange, MechanismResult};
use super::columns::{predictions, results};
use super::reasons::Reasons;
use crate::analysis::Analyzed;
use recoup_table::{Layout, Schema};
use serde_json::{Map, Value, json};
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
        "refused": reasons(&answer.refused),
        "bases": bases.collect::<Vec<_>>(),
        "model_error_ms": answer.model_error_ms,
        "draws": answer.draws,
        "seed": answer.seed,
        "best": answer.best().map(|best| &best.mechanism),
        "results": results?,
    });
    if let (true, Value::Object(object)) = (with_connections, &mut object) {
        let rows = serde_json::to_value(predictions().to_json(&answer.predictions()))?;
        object.insert("connections".into(), rows);
    }
    Ok(object)
}

fn reasons(reasons: &Reasons) -> Vec<Value> {
    let counts = reasons.by_count();
    let counts = counts.iter().map(|reason| {
        json!({
            "reason": reason.name,
            "text": reason.about,
            "connections": reason.count,
        })
    });
    counts.collect()
}

/// A result with its intervals as pairs.
fn result(result: &MechanismResult) -> io::Result<Value> {
    let columns = serde_json::to_value(results().row_to_json(result))?;
    let Value::Object(columns) = columns else {
        return Ok(columns);
    };
    let mut object = Map::new();
    for (name, value) in columns {
        if let Some(interval) = name.strip_suffix("_ci95_low_ms") {
            object.insert(format!("{interval}_ci95_ms"), json!([value]));
        } else if let Some(interval) = name.strip_suffix("_ci95_high_ms") {
            let low = object.get_mut(&format!("{interval}_ci95_ms"));
            if let Some(Value::Array(low)) = low {
                low.push(value);
            }
        } else {
            object.insert(name, value);
        }
    }
    let intervals = object.values_mut().filter(|value| value.is_array());
    for interval in intervals {
        if interval[0].is_null() {
            *interval = Value::Null;
        }
    }
    object.insert("causes".into(), result.causes.iter().map(cause).collect());
    object.insert("gain_most".into(), named(&result.gain_most));
    object.insert("lose_most".into(), named(&result.lose_most));
    Ok(Value::Object(object))
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
