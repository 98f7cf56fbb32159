//! What the guard counted, as metrics for Prometheus. docs/guard.md lists them. All label values are there
//! from the start, so that the first increase of each is seen.

use crate::copies::decision::{Act, Kind, Outcome, Veto};
use crate::copies::event::{Counts, Event};
use crate::copies::packet::Odd;
use recoup_exposition::{Format, Histogram, Kind as Type, Metric, Page};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const INFO: Metric = Metric {
    name: "recoup_guard_info",
    kind: Type::Info,
    help: "The version of Recoup, what it guards, and whether it sends (act) or not (dry_run).",
};
const COPIES: Metric =
    Metric::counter("recoup_guard_copies_total", "Copies sent. Each counts when its outcome is known.");
const COPY_BYTES: Metric = Metric::counter("recoup_guard_copy_bytes_total", "Bytes of the copies sent, as frames.");
const SAVED: Metric = Metric::counter(
    "recoup_guard_saved_seconds_total",
    "Time from copies that repaired a loss until the kernel would have retransmitted.",
);
const UNSENT: Metric = Metric::counter(
    "recoup_guard_unsent_copies_total",
    "Copies that were not sent in a dry run or a control connection, by what they would have done.",
);
const UNSENT_SAVED: Metric = Metric::counter(
    "recoup_guard_unsent_copies_saved_seconds_total",
    "Time that the copies which were not sent would have saved.",
);
const HELD_BACK: Metric =
    Metric::counter("recoup_guard_held_back_total", "Copies that the engine wanted and the guard did not send.");
const LEFT_ALONE: Metric =
    Metric::counter("recoup_guard_left_alone_total", "Connections that are left alone for a reason of their own.");
const CONNECTIONS: Metric =
    Metric::counter("recoup_guard_connections_total", "Connections that the guard may help, and those of the control.");
const OPEN: Metric = Metric::gauge("recoup_guard_open_connections", "Connections that are followed now.");
const REPORTS_HIDDEN: Metric = Metric::counter(
    "recoup_guard_reports_hidden_total",
    "Reports of duplicates that were kept from the kernel, because the duplicates were copies.",
);
const TRANSFERS: Metric = Metric {
    name: "recoup_guard_transfer_seconds",
    kind: Type::Histogram,
    help: "Time from a transfer's first byte until all of it was acknowledged.",
};

/// Names of the groups: connections that may be helped, and those that are left alone to compare with.
const GROUPS: [&str; 2] = ["helped", "control"];

/// What was counted so far.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    settled: BTreeMap<(Kind, Act, Outcome), u64>,
    saved: BTreeMap<(Kind, Act), Duration>,
    /// By [`GROUPS`].
    transfers: [Histogram; 2],
    counts: Counts,
    open: usize,
    reports_hidden: u64,
}

/// What the guard shares with the server of its metrics.
#[derive(Clone, Debug, Default)]
pub struct Shared(Arc<Mutex<Totals>>);

impl Shared {
    /// What was counted so far.
    pub fn totals(&self) -> MutexGuard<'_, Totals> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Totals {
    /// Counts what the guard says.
    pub fn hear(&mut self, event: &Event) {
        match event {
            Event::Settled { decision, outcome, saved, .. } => {
                *self.settled.entry((decision.kind, decision.act, *outcome)).or_default() += 1;
                *self.saved.entry((decision.kind, decision.act)).or_default() += *saved;
            }
            Event::Exchanged { exchange, is_control } => {
                if let Some(done) = exchange.done {
                    self.transfers[usize::from(*is_control)].add(done.since(exchange.begun));
                }
            }
            Event::Decided { .. } => {}
        }
    }

    /// What the guard itself has counted by now.
    pub fn look(&mut self, counts: &Counts, open: usize, reports_hidden: u64) {
        self.counts.clone_from(counts);
        (self.open, self.reports_hidden) = (open, reports_hidden);
    }

    fn settled(&self, kind: Kind, act: Act, outcome: Outcome) -> u64 {
        self.settled.get(&(kind, act, outcome)).copied().unwrap_or(0)
    }

    fn saved(&self, kind: Kind, act: Act) -> f64 {
        self.saved.get(&(kind, act)).map_or(0.0, Duration::as_secs_f64)
    }

    /// All metrics. `source`: the interfaces. `acts`: it sends.
    pub fn page(&self, source: &str, acts: bool, format: Format) -> String {
        let mut page = Page::new(format);
        page.describe(&INFO);
        let mode = if acts { "act" } else { "dry_run" };
        page.sample(&INFO, &[("source", source), ("mode", mode), ("version", env!("CARGO_PKG_VERSION"))], 1);
        self.copies(&mut page);
        self.unsent(&mut page);
        self.connections(&mut page);
        page.finish()
    }

    fn copies(&self, page: &mut Page) {
        page.describe(&COPIES);
        for kind in Kind::ALL {
            for outcome in Outcome::ALL {
                let labels = [("kind", kind.name()), ("outcome", outcome.name())];
                page.sample(&COPIES, &labels, self.settled(kind, Act::Sent, outcome));
            }
        }
        page.describe(&COPY_BYTES);
        page.sample(&COPY_BYTES, &[], self.counts.sent_bytes);
        page.describe(&SAVED);
        for kind in Kind::ALL {
            page.sample(&SAVED, &[("kind", kind.name())], self.saved(kind, Act::Sent));
        }
        page.describe(&REPORTS_HIDDEN);
        page.sample(&REPORTS_HIDDEN, &[], self.reports_hidden);
    }

    fn unsent(&self, page: &mut Page) {
        let acts = || Act::ALL.into_iter().filter(|act| *act != Act::Sent);
        page.describe(&UNSENT);
        for kind in Kind::ALL {
            for act in acts() {
                for outcome in Outcome::ALL {
                    let labels = [("kind", kind.name()), ("act", act.name()), ("outcome", outcome.name())];
                    page.sample(&UNSENT, &labels, self.settled(kind, act, outcome));
                }
            }
        }
        page.describe(&UNSENT_SAVED);
        for kind in Kind::ALL {
            for act in acts() {
                page.sample(&UNSENT_SAVED, &[("kind", kind.name()), ("act", act.name())], self.saved(kind, act));
            }
        }
        page.describe(&HELD_BACK);
        for kind in Kind::ALL {
            for veto in Veto::ALL {
                let count = self.counts.vetoes.get(&(kind, veto)).copied().unwrap_or(0);
                page.sample(&HELD_BACK, &[("kind", kind.name()), ("why", veto.name())], count);
            }
        }
    }

    fn connections(&self, page: &mut Page) {
        page.describe(&CONNECTIONS);
        let control = self.counts.control;
        for (group, count) in GROUPS.into_iter().zip([self.counts.connections - control, control]) {
            page.sample(&CONNECTIONS, &[("group", group)], count);
        }
        page.describe(&LEFT_ALONE);
        for odd in Odd::ALL {
            let count = self.counts.left_alone.get(&odd).copied().unwrap_or(0);
            page.sample(&LEFT_ALONE, &[("why", odd.name())], count);
        }
        page.describe(&OPEN);
        page.sample(&OPEN, &[], self.open);
        page.describe(&TRANSFERS);
        for (group, times) in GROUPS.into_iter().zip(&self.transfers) {
            page.histogram(&TRANSFERS, &[("group", group)], times);
        }
    }
}

#[cfg(test)]
mod tests;
