//! The profile to try as a field of the document.

use super::ProfileToTry;
use crate::whatif::changes::Changes;
use serde_json::{Value, json};

/// The field, which is null where no profile was asked for.
pub(in super::super) fn field(found: Option<&ProfileToTry>) -> Value {
    let Some(found) = found else {
        return Value::Null;
    };
    let named = found.named.as_ref();
    let changes = named.map(|(_, changes)| changes);
    json!({
        "profile": named.map(|(name, _)| name),
        "tried": found.tried,
        "connections": found.connections,
        "sent_by_clients": found.sent_by_clients,
        "mean_fct_ms": changes.and_then(|changes| changes.mean_fct_ms),
        "mean_change_ms": changes.and_then(|changes| changes.mean_change_ms),
        "mean_change_ci95_ms": interval(changes.and_then(|changes| changes.interval_ms)),
        "mean_paired_change_ci95_ms": interval(changes.and_then(|changes| changes.paired_interval_ms)),
        "sum_change_ms": changes.map(|changes| changes.sum_change_ms),
        "better": changes.map(|changes| changes.better),
        "worse": changes.map(|changes| changes.worse),
        "at_receiver": found.at_receiver.as_ref().map(|(name, changes)| at_receiver(name, changes)),
    })
}

fn interval(interval: Option<(f64, f64)>) -> Value {
    interval.map_or(Value::Null, |(low, high)| json!([low, high]))
}

fn at_receiver(name: &str, changes: &Changes) -> Value {
    json!({ "lever": name, "mean_change_ms": changes.mean_change_ms })
}
