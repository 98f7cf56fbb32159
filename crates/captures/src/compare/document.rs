//! A comparison as a JSON document.

use super::{CaptureFacts, Change, Check, Comparison, LikeRequests};
use crate::analysis::ms;
use crate::explain::CapturedAt;
use recoup_table::{Layout, Schema};
use serde_json::{Value, json};
use std::io::{self, Write};

/// The document's name and version.
const SCHEMA: Schema = Schema { name: "recoup.compare", version: 1 };

/// Writes a comparison, an element of a list to a line.
///
/// # Errors
/// If writing to `out` fails.
pub fn write_comparison(comparison: &Comparison, out: impl Write) -> io::Result<()> {
    let [before, after] = comparison.captures.each_ref().map(facts);
    let document = json!({
        "before": before,
        "after": after,
        "warnings": comparison.warnings,
        "changes": comparison.changes.iter().map(change).collect::<Vec<_>>(),
        "requests": comparison.requests.iter().map(requests).collect::<Vec<_>>(),
        "prediction": comparison.check.as_ref().map(check),
    });
    SCHEMA.write(&document, Layout::Lines, out)
}

fn facts(facts: &CaptureFacts) -> Value {
    json!({
        "capture": facts.capture,
        "notes": facts.notes,
        "begun": facts.begun.map(|begun| begun.as_nanos() as f64 / 1e9),
        "duration_ms": ms(facts.duration),
        "connection_count": facts.connections,
        "request_count": facts.requests,
        "bytes": facts.bytes,
        "captured_at": facts.captured_at.map(CapturedAt::name),
        "client_groups": facts.client_groups,
    })
}

fn change(change: &Change) -> Value {
    json!({
        "quantity": change.quantity.name(),
        "cause": change.quantity.cause(),
        "title": change.quantity.title(),
        "unit": change.quantity.unit().name(),
        "verdict": change.verdict.name(),
        "before": change.before,
        "after": change.after,
        "change": change.change(),
        "relative_change": change.relative(),
        "change_ci95": change.interval.map(pair),
        "interval_by": change.parts.map(|parts| parts.name()),
        "own_change_before": change.own_changes[0],
        "own_change_after": change.own_changes[1],
    })
}

fn requests(class: &LikeRequests) -> Value {
    json!({
        "port": (class.port > 0).then_some(class.port),
        "request_bytes": pair(class.request_bytes),
        "response_bytes": pair(class.response_bytes),
        "before_count": class.counts[0],
        "after_count": class.counts[1],
        "before_ms": class.mean_ms[0],
        "after_ms": class.mean_ms[1],
        "change_ms": class.mean_ms[1] - class.mean_ms[0],
        "change_ci95_ms": class.interval_ms.map(pair),
    })
}

fn check(check: &Check) -> Value {
    let predicted = &check.predicted;
    json!({
        "mechanism": predicted.mechanism,
        "capture": predicted.capture,
        "connections": predicted.connections,
        "predicted_change_ms": predicted.change_ms,
        "predicted_change_ci95_ms": predicted.another_run_ms.map(pair),
        "predicted_paired_change_ci95_ms": predicted.paired_ms.map(pair),
        "before_connections": check.connections[0],
        "after_connections": check.connections[1],
        "before_ms": check.measured_ms.map(|[before, _]| before),
        "after_ms": check.measured_ms.map(|[_, after]| after),
        "measured_change_ms": check.change_ms(),
        "measured_change_ci95_ms": check.interval_ms.map(pair),
        "outcome": check.outcome.name(),
    })
}

fn pair<T: serde::Serialize>((low, high): (T, T)) -> Value {
    json!([low, high])
}
