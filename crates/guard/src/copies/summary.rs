//! What was sent, repaired and saved, and the difference to the connections that were left alone.

use crate::compare::Times;
use crate::copies::decision::{Act, Kind, Outcome};
use crate::copies::event::{Counts, Event};
use recoup::Failure;
use recoup_kernel::DuplicateReportCounts;
use recoup_support::output_file::OutputFile;
use recoup_support::stats::Statistic;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// Counts and times.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    decided: BTreeMap<(Kind, Act), u64>,
    settled: BTreeMap<(Kind, Act, Outcome), u64>,
    saved: BTreeMap<(Kind, Act), Duration>,
    /// From the decision until the segment was acknowledged.
    waits: BTreeMap<Kind, Times>,
    /// From the first byte of a transfer until all of it was acknowledged.
    transfers: Times,
    counts: Counts,
    hidden: DuplicateReportCounts,
    key: u64,
}

impl Summary {
    pub fn hear(&mut self, event: &Event) {
        match event {
            Event::Decided { decision, .. } => {
                *self.decided.entry((decision.kind, decision.act)).or_default() += 1;
            }
            Event::Settled { decision, outcome, saved, is_control, .. } => {
                *self.settled.entry((decision.kind, decision.act, *outcome)).or_default() += 1;
                *self.saved.entry((decision.kind, decision.act)).or_default() += *saved;
                if let Some(delivered) = decision.delivered {
                    self.waits.entry(decision.kind).or_default().add(delivered.since(decision.at), *is_control);
                }
            }
            Event::Exchanged { exchange, is_control } => {
                if let Some(done) = exchange.done {
                    self.transfers.add(done.since(exchange.begun), *is_control);
                }
            }
        }
    }

    pub fn with_counts(self, counts: Counts, key: u64, hidden: DuplicateReportCounts) -> Self {
        Self { counts, key, hidden, ..self }
    }

    /// For people.
    pub fn lines(&self) -> Vec<String> {
        let counts = &self.counts;
        let alone: u64 = counts.left_alone.values().sum();
        let mut lines = vec![format!(
            "{} connections, {} of them control; {} copies sent, {} bytes",
            counts.connections, counts.control, counts.sent, counts.sent_bytes
        )];
        let hidden = &self.hidden;
        if hidden.hidden > 0 {
            lines.push(format!(
                "{} reports of copies kept from the kernel, {} of them whole segments",
                hidden.hidden, hidden.dropped
            ));
        }
        if alone > 0 {
            let why: Vec<String> =
                counts.left_alone.iter().map(|(why, count)| format!("{} {count}", why.name())).collect();
            lines.push(format!("{alone} left alone: {}", why.join(", ")));
        }
        for ((kind, act), decided) in &self.decided {
            let of = |outcome| self.settled.get(&(*kind, *act, outcome)).copied().unwrap_or(0);
            let saved = self.saved.get(&(*kind, *act)).copied().unwrap_or_default();
            let [repaired, needless, failed] = [Outcome::Repaired, Outcome::Needless, Outcome::Failed].map(of);
            lines.push(match act {
                Act::Sent => format!(
                    "{}: {decided} sent, {repaired} repaired a loss ({:.0} ms before the kernel, in all), {needless} not needed, {failed} did not help",
                    kind.title(),
                    saved.as_secs_f64() * 1e3
                ),
                Act::Dry | Act::Control => format!(
                    "{}, {}: {decided} times, {repaired} would have repaired a loss ({:.0} ms before the kernel, in all), {needless} not needed",
                    kind.title(),
                    if *act == Act::Dry { "not sent (dry run)" } else { "not sent (control)" },
                    saved.as_secs_f64() * 1e3
                ),
            });
        }
        for ((kind, veto), count) in &counts.vetoes {
            lines.push(format!("{}: {count} times held back: {}", kind.title(), veto.title()));
        }
        let mut compare = |name: &str, times: &Times| {
            let differences = times.differences(self.key);
            for one in differences.iter().filter(|one| matches!(one.statistic, Statistic::Mean | Statistic::P95)) {
                let interval = one.interval.map_or("too few for an interval".into(), |interval| {
                    format!("95 %: {:+.1} to {:+.1}", interval.low, interval.high)
                });
                lines.push(format!(
                    "{name}, {}: {:.1} ms helped, {:.1} ms control, difference {:+.1} ms ({interval}; {} and {} times)",
                    one.statistic.name(),
                    one.helped,
                    one.control,
                    one.helped - one.control,
                    times.helped.len(),
                    times.control.len()
                ));
            }
        };
        for (kind, times) in &self.waits {
            compare(&format!("from the {} until the acknowledgment", kind.title()), times);
        }
        compare("transfers", &self.transfers);
        lines
    }

    /// Writes it as JSON.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Failure> {
        let mut file = OutputFile::create(path)?;
        writeln!(file, "{:#}", self.document())?;
        Ok(file.publish()?)
    }

    /// As a document.
    pub fn document(&self) -> Value {
        let counts = &self.counts;
        let decisions: Vec<Value> = self
            .decided
            .iter()
            .map(|((kind, act), decided)| {
                let of = |outcome| self.settled.get(&(*kind, *act, outcome)).copied().unwrap_or(0);
                let saved = self.saved.get(&(*kind, *act)).copied().unwrap_or_default();
                let mut row = json!({
                    "kind": kind.name(), "act": act.name(), "decided": decided, "saved_ms": saved.as_secs_f64() * 1e3,
                });
                Outcome::ALL.into_iter().for_each(|outcome| row[outcome.name()] = of(outcome).into());
                row
            })
            .collect();
        let compared = |times: &Times| -> Value {
            let rows = times.differences(self.key).into_iter().map(|one| {
                json!({
                    "statistic": one.statistic.name(), "helped_ms": one.helped, "control_ms": one.control,
                    "difference_ms": one.helped - one.control,
                    "low_ms": one.interval.map(|interval| interval.low),
                    "high_ms": one.interval.map(|interval| interval.high),
                })
            });
            json!({ "helped": times.helped.len(), "control": times.control.len(), "differences": rows.collect::<Vec<_>>() })
        };
        let of_kind = |(kind, times): (&Kind, &Times)| {
            let mut waits = compared(times);
            waits["kind"] = kind.name().into();
            waits
        };
        let waits: Vec<Value> = self.waits.iter().map(of_kind).collect();
        json!({
            "schema": "recoup.guard.summary", "version": 1, "key": self.key,
            "connections": counts.connections, "control": counts.control, "beyond": counts.beyond,
            "sent": counts.sent, "sent_bytes": counts.sent_bytes,
            "reports_hidden": self.hidden.hidden, "segments_dropped": self.hidden.dropped,
            "reports_not_understood": self.hidden.not_understood,
            "left_alone": counts.left_alone.iter().map(|(why, count)| {
                json!({ "why": why.name(), "count": count })
            }).collect::<Vec<_>>(),
            "held_back": counts.vetoes.iter().map(|((kind, veto), count)| {
                json!({ "kind": kind.name(), "why": veto.name(), "count": count })
            }).collect::<Vec<_>>(),
            "decisions": decisions, "waits": waits, "transfers": compared(&self.transfers),
        })
    }
}
