//! The columns of a summary: a row a capture.

use super::findings::Analyzed;
use super::rows::{Part, ms, rounded, tally, trigger_name, trigger_row, triggers};
use super::summary::{Summary, Waits};
use crate::stats::{self, Durations};
use recoup_table::Columns;
use recoup_trace::finding::{Closing, Evidence, Opening, Vantage};
use recoup_trace::read::{Counts, Reason};

/// The columns of a summary. Of several captures the name of each is the last column.
pub fn summaries() -> Columns<Analyzed<Summary>> {
    Columns::<Analyzed<Summary>>::new()
        .all_of(counts(), |a| &a.counts)
        .flag("interrupted", |a| a.interrupted)
        .all_of(summary(), |a| &a.found)
}

fn counts() -> Columns<Counts> {
    Columns::<Counts>::new()
        .integer("frames", |c| Some(c.frames))
        .integer("packets", |c| Some(c.packets))
        .integer("other_traffic", |c| Some(other_traffic(c)))
        .integer("left_out", |c| Some(left_out(c)))
        .integer("dropped", |c| c.dropped)
}

/// Frames that are no TCP.
pub(super) fn other_traffic(counts: &Counts) -> u64 {
    skipped(counts, |reason| !reason.matters())
}

/// Frames that may hold TCP and could not be read.
pub(super) fn left_out(counts: &Counts) -> u64 {
    skipped(counts, Reason::matters)
}

fn skipped(counts: &Counts, of: impl Fn(Reason) -> bool) -> u64 {
    let reasons = Reason::ALL.into_iter().filter(|reason| of(*reason));
    reasons.map(|reason| counts.skipped(reason).count).sum()
}

fn summary() -> Columns<Summary> {
    let columns = Columns::<Summary>::new().integer("connections", |s| Some(s.connections));
    let columns = retransmissions(waits(sent(ends(columns))));
    let columns = quantiles(columns, "handshake_rtt", |s| &s.handshake_rtt);
    quantiles(columns, "rtt", |s| &s.rtt)
        .real("connections_ms", |s| Some(ms(s.duration)))
        .real("recovering_ms", |s| Some(ms(s.recovering)))
        .integer("recovering_connections", |s| Some(s.recovering_connections))
}

/// How connections begin and end, and when.
fn ends(mut columns: Columns<Summary>) -> Columns<Summary> {
    for (i, opening) in [Opening::Handshake, Opening::MidConnection]
        .into_iter()
        .enumerate()
    {
        let name = format!("opening_{}", opening.name());
        columns = columns.integer(name, move |s| Some(s.openings[i]));
    }
    for closing in Closing::ALL {
        let name = format!("closing_{}", closing.name());
        columns = columns.integer(name, move |s| Some(s.closings[closing as usize]));
    }
    columns
        .time("begun", |s| s.span.map(|(begun, _)| begun))
        .time("ended", |s| s.span.map(|(_, ended)| ended))
        .real("duration_ms", |s| {
            s.span.map(|(begun, ended)| ms(ended.since(begun)))
        })
}

/// What was sent, and where it was captured.
fn sent(columns: Columns<Summary>) -> Columns<Summary> {
    let mut columns = columns
        .integer("segments", |s| Some(s.segments))
        .integer("bytes", |s| Some(s.bytes))
        .integer("doubled", |s| Some(s.doubled))
        .integer("probes", |s| Some(s.probes))
        .integer("missing_bytes", |s| Some(s.missing));
    for vantage in Vantage::ALL {
        let name = vantage.name();
        columns = columns
            .integer(format!("vantage_{name}"), move |s| {
                Some(s.vantages.directions[vantage as usize])
            })
            .integer(format!("vantage_{name}_bytes"), move |s| {
                Some(s.vantages.bytes[vantage as usize])
            });
    }
    columns
}

fn retransmissions(columns: Columns<Summary>) -> Columns<Summary> {
    let mut columns = columns
        .part("data", tally(), |s| &s.data)
        .part("syn", tally(), |s| &s.syn)
        .part("fin", tally(), |s| &s.fin);
    for evidence in Evidence::ALL {
        columns = columns.integer(format!("evidence_{}", evidence.name()), move |s| {
            Some(s.evidence[evidence as usize].iter().sum())
        });
    }
    columns
}

/// How long losses took.
fn waits(mut columns: Columns<Summary>) -> Columns<Summary> {
    type Time = (&'static str, fn(&Waits) -> &Durations);
    const TIMES: [Time; 2] = [
        ("detection", |w| &w.detection),
        ("recovery", |w| &w.recovery),
    ];
    for trigger in triggers() {
        for (time, of) in TIMES {
            let name = format!("{}_{time}", trigger_name(trigger));
            let row = trigger_row(trigger);
            columns = quantiles(columns, &name, move |s| of(&s.waits[row]));
        }
    }
    columns
}

fn quantiles(
    mut columns: Columns<Summary>,
    name: &str,
    of: impl Fn(&Summary) -> &Durations + Clone + Send + Sync + 'static,
) -> Columns<Summary> {
    const PARTS: [Part<stats::Summary, f64>; 4] = [
        ("p50", |s| s.p50),
        ("p90", |s| s.p90),
        ("p99", |s| s.p99),
        ("mean", |s| s.mean),
    ];
    for (part, value) in PARTS {
        let of = of.clone();
        columns = columns.real(format!("{name}_{part}_ms"), move |s| {
            of(s).summary().as_ref().map(value).map(rounded)
        });
    }
    columns
}
