//! Studies as a JSON document.

use super::bins::FEW;
use super::columns::{changes, results};
use super::read::ParameterStudy;
use super::rows::{ALL, ChangeRow};
use super::totals::Totals;
use crate::analysis::Analyzed;
use recoup_table::{Layout, Schema};
use serde_json::{Value, json};
use std::io::{self, Write};

/// The document's name and version.
const SCHEMA: Schema = Schema { name: "recoup.parameters", version: 1 };

/// The schema of a file of changed detections.
pub const EVENTS: Schema = Schema { name: "recoup.parameters.events", version: 1 };

/// The schema of a file with a row for each sender and instance.
pub const CHANGES: Schema = Schema { name: "recoup.parameters.connections", version: 1 };

/// Writes the studies of captures, an element of a list to a line. `rows`: the rows of senders and instances of
/// each capture, if they are asked for.
///
/// # Errors
/// If writing to `out` fails.
pub fn write_studies(
    captures: &[Analyzed<ParameterStudy>],
    rows: Option<&[Vec<ChangeRow>]>,
    out: impl Write,
) -> io::Result<()> {
    let captures: io::Result<Vec<Value>> = captures
        .iter()
        .enumerate()
        .map(|(number, analyzed)| {
            let mut object = capture(analyzed)?;
            if let Some(rows) = rows {
                let rows = rows.get(number).map_or(&[][..], Vec::as_slice);
                object["connections"] = serde_json::to_value(changes().to_json(rows))?;
            }
            Ok(object)
        })
        .collect();
    SCHEMA.write(&json!({ "captures": captures? }), Layout::Lines, out)
}

fn capture(analyzed: &Analyzed<ParameterStudy>) -> io::Result<Value> {
    let study = &analyzed.findings;
    let mut notes = analyzed.notes();
    notes.extend(study.notes.iter().cloned());
    let refused = study.refused.by_count().into_iter().map(|reason| {
        json!({
            "reason": reason.name,
            "text": reason.about,
            "senders": reason.count,
        })
    });
    let all = [(ALL, &study.all)].into_iter();
    let groups: io::Result<Vec<Value>> = all
        .chain(study.profiles.iter().map(|one| (&*one.profile, &one.totals)))
        .map(|(name, sums)| group(study, name, sums))
        .collect();
    Ok(json!({
        "capture": analyzed.capture,
        "notes": notes,
        "connection_count": study.connections,
        "sender_count": study.senders,
        "studied": study.all.senders,
        "left_out": study.left_out,
        "interrupted": study.interrupted,
        "refused": refused.collect::<Vec<_>>(),
        "model": study.model.name(),
        "min_rto_of": study.grid.minimum_of.name(),
        "groups": groups?,
    }))
}

/// The senders of a profile, or all.
fn group(study: &ParameterStudy, name: &str, totals: &Totals) -> io::Result<Value> {
    let rows = study.results_of(name, totals);
    let rows = serde_json::to_value(results().to_json(&rows))?;
    let bins = totals.bins.iter().enumerate();
    let bins = bins.flat_map(|(instance, bins)| {
        bins.all().map(move |bin| {
            json!({
                "instance": instance,
                "from_rtts": bin.from,
                "to_rtts": bin.to,
                "senders": bin.senders,
                "few": bin.senders < FEW,
                "mean_best_case_rtts": bin.mean_best_case,
                "mean_saved_rtts": bin.mean,
                "p95_saved_rtts": bin.p95,
            })
        })
    });
    Ok(json!({
        "profile": name,
        "senders": totals.senders,
        "without_rtt": totals.without_rtt,
        "timeouts": totals.timeouts,
        "fast_retransmits": totals.fast_retransmits,
        "unmeasured": totals.unmeasured,
        "mean_duration_ms": totals.mean_duration_ms(),
        "mean_best_case_ms": totals.mean_best_case_ms(),
        "mean_best_case_rtts": totals.mean_rtts(totals.best_case_rtts),
        "best_value": study.best_value(totals),
        "best_combination": study.best_combination(totals),
        "outside_bins": totals.bins.first().map(|bins| bins.outside()),
        "results": rows,
        "bins": bins.collect::<Vec<_>>(),
    }))
}
