//! What is said while the guard runs: sentences, and the log.

use crate::copies::decision::{Act, Decision, Outcome};
use crate::copies::event::{Event, Named};
use crate::copies::guard::Guard;
use crate::copies::metrics;
use crate::copies::summary::Summary;
use recoup::Failure;
use recoup_captures::guard_log::{Decided, Entry, LoggedCopy, SCHEMA, Settled};
use recoup_kernel::DuplicateReportCounts;
use recoup_table::utc;
use serde_json::json;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes events.
pub struct Report {
    log: Option<(BufWriter<File>, PathBuf)>,
    summary: Summary,
    /// If somebody may ask for them.
    metrics: Option<metrics::Shared>,
}

impl Report {
    /// # Errors
    /// When the log cannot be written.
    pub fn open(log: Option<&Path>) -> Result<Self, Failure> {
        let log = match log {
            None => None,
            Some(path) => {
                let failed = |why| Failure::Wrong(format!("--guard-log {}: {why}", path.display()));
                let mut file = BufWriter::new(File::create(path).map_err(failed)?);
                let head = json!({ "schema": SCHEMA.name, "version": SCHEMA.version });
                writeln!(file, "{head}").map_err(failed)?;
                file.flush().map_err(failed)?;
                Some((file, path.to_owned()))
            }
        };
        Ok(Self { log, summary: Summary::default(), metrics: None })
    }

    /// Also counts for the server of metrics.
    #[must_use]
    pub fn with_metrics(self, metrics: Option<metrics::Shared>) -> Self {
        Self { metrics, ..self }
    }

    /// Counts what the guard itself has counted.
    pub fn look(&self, guard: &Guard, hidden: DuplicateReportCounts) {
        if let Some(metrics) = &self.metrics {
            metrics.totals().look(guard.counts(), guard.open(), hidden.hidden);
        }
    }

    /// Says what happened.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn hear(&mut self, events: Vec<Event>) -> Result<(), Failure> {
        if events.is_empty() {
            return Ok(());
        }
        if let Some(metrics) = &self.metrics {
            let mut totals = metrics.totals();
            events.iter().for_each(|event| totals.hear(event));
        }
        let mut lines = io::stdout().lock();
        for event in &events {
            self.summary.hear(event);
            if let Some(line) = sentence(event) {
                // Whoever reads the sentences may have gone; the guard goes on.
                _ = writeln!(lines, "{line}");
            }
            if let Some((file, path)) = &mut self.log
                && let Some(entry) = entry(event)
            {
                let failed = |why| Failure::Wrong(format!("--guard-log {}: {why}", path.display()));
                let line = serde_json::to_string(&entry).map_err(|why| failed(why.into()))?;
                writeln!(file, "{line}").map_err(failed)?;
            }
        }
        _ = lines.flush();
        if let Some((file, path)) = &mut self.log {
            // A log that is read while the guard runs ends with a whole line.
            file.flush().map_err(|why| Failure::Wrong(format!("--guard-log {}: {why}", path.display())))?;
        }
        Ok(())
    }

    /// What was done in all.
    pub fn finish(self, guard: &Guard, key: u64, hidden: DuplicateReportCounts) -> Summary {
        self.summary.with_counts(guard.counts().clone(), key, hidden)
    }
}

fn sentence(event: &Event) -> Option<String> {
    match event {
        Event::Decided { what, decision, .. } => {
            let did = match decision.act {
                Act::Sent => "sent",
                Act::Dry => "would send",
                Act::Control => "left alone (control)",
            };
            Some(format!(
                "{} {}: {did} a {}, {}",
                utc(decision.at),
                what.connection,
                decision.kind.title(),
                segment(what)
            ))
        }
        Event::Settled { what, decision, outcome, saved, .. } => Some(format!(
            "{} {}: the {} of {} {}",
            utc(decision.delivered.or(decision.kernel_again).unwrap_or(decision.at)),
            what.connection,
            decision.kind.title(),
            segment(what),
            fate(decision, *outcome, saved.as_secs_f64() * 1e3)
        )),
        Event::Exchanged { .. } => None,
    }
}

fn segment(what: &Named) -> String {
    format!("seq {}:{}", what.seq, what.seq + what.len)
}

fn fate(decision: &Decision, outcome: Outcome, saved: f64) -> String {
    match (outcome, decision.act) {
        (Outcome::Repaired, Act::Sent) => format!("repaired its loss, {saved:.0} ms before the kernel would have"),
        (Outcome::Repaired, _) => format!("would have repaired its loss {saved:.0} ms before the kernel did"),
        (Outcome::Needless, Act::Sent) => "was not needed".into(),
        (Outcome::Needless, _) => "would not have been needed".into(),
        (Outcome::Failed, _) => "did not help: the kernel retransmitted it".into(),
        (Outcome::Unknown, _) => "is undecided: the connection ended".into(),
    }
}

/// A line of the log.
fn entry(event: &Event) -> Option<Entry> {
    let copy = |what: &Named, decision: &Decision| LoggedCopy {
        at: decision.at.as_nanos(),
        kind: decision.kind,
        act: decision.act,
        src: what.connection.src,
        dst: what.connection.dst,
        seq: what.seq.0,
        len: what.len,
    };
    match event {
        Event::Decided { what, decision, bytes } => {
            Some(Entry::Decided(Decided { copy: copy(what, decision), bytes: *bytes as u64 }))
        }
        Event::Settled { what, decision, outcome, saved, .. } => Some(Entry::Settled(Settled {
            copy: copy(what, decision),
            outcome: *outcome,
            saved_ns: u64::try_from(saved.as_nanos()).unwrap_or(u64::MAX),
        })),
        Event::Exchanged { .. } => None,
    }
}
