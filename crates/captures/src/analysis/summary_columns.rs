//! The columns of a summary: one row per capture.

use super::columns::{Part, ms, rounded, tally, trigger_name, trigger_row, triggers};
use super::findings::Analyzed;
use super::summary::{LossTimes, Summary};
use recoup_support::stats::{self, Durations};
use recoup_table::Columns;
use recoup_trace::finding::{Closing, Evidence, Opening, Vantage};
use recoup_trace::read::{CapturedCopies, Counts, Reason};

/// The columns of a summary. With several captures, the last column is the capture's name.
pub fn summaries() -> Columns<Analyzed<Summary>> {
    Columns::<Analyzed<Summary>>::new()
        .all_of(counts(), |a| Some(&a.counts))
        .column("interrupted", "", "reading was interrupted", |a| a.interrupted)
        .all_of(summary(), |a| Some(&a.findings))
}

fn counts() -> Columns<Counts> {
    Columns::<Counts>::new()
        .column("frames", "frames", "frames in the capture", |c| c.frames)
        .column("packets", "packets", "TCP segments in the capture", |c| c.packets)
        .column("other_traffic", "frames", "frames without TCP", other_traffic)
        .column("left_out", "frames", "frames that may hold TCP but could not be read", left_out)
        .column("dropped", "packets", "packets that the capturing program reports as dropped", |c| c.dropped)
        .column("guard_copies", "packets", "copies that recoup guard sent; missing without --guard-log", |c| {
            c.copies.as_ref().map(|copies| copies.captured)
        })
        .column("guard_copies_not_captured", "packets", "copies in its log that the capture does not hold", |c| {
            c.copies.as_ref().map(CapturedCopies::not_captured)
        })
}

/// Frames without TCP.
pub(super) fn other_traffic(counts: &Counts) -> u64 {
    skipped(counts, |reason| !reason.matters())
}

/// Frames that may hold TCP but could not be read.
pub(super) fn left_out(counts: &Counts) -> u64 {
    skipped(counts, Reason::matters)
}

fn skipped(counts: &Counts, of: impl Fn(Reason) -> bool) -> u64 {
    let reasons = Reason::ALL.into_iter().filter(|reason| of(*reason));
    reasons.map(|reason| counts.skipped(reason).count).sum()
}

fn summary() -> Columns<Summary> {
    let columns = Columns::<Summary>::new().column("connections", "", "connections", |s| s.connections);
    let columns = retransmissions(loss_times(sent(ends(columns))));
    let columns = quantiles(columns, "handshake_rtt", |s| &s.handshake_rtt);
    quantiles(columns, "rtt", |s| &s.rtt)
        .column("connections_ms", "ms", "sum of the durations of all connections", |s| ms(s.duration))
        .column("lost_ms", "ms", "the part of connections_ms that losses and delays cost (time lost)", |s| ms(s.lost))
        .column("connections_that_lost_time", "", "connections with time lost", |s| s.connections_that_lost_time)
}

/// How and when connections begin and end.
fn ends(mut columns: Columns<Summary>) -> Columns<Summary> {
    for (i, opening) in [Opening::Handshake, Opening::MidConnection].into_iter().enumerate() {
        let name = opening.name();
        let about = format!("connections that begin with {name}");
        columns = columns.column(format!("opening_{name}"), "", about, move |s| s.openings[i]);
    }
    for closing in Closing::ALL {
        let name = closing.name();
        let about = format!("connections that end by {name}");
        columns = columns.column(format!("closing_{name}"), "", about, move |s| s.closings[closing as usize]);
    }
    columns
        .column("begun", "s", "when the first packet was captured: seconds since 1970", |s| {
            s.span.map(|(begun, _)| begun)
        })
        .column("ended", "s", "when the last packet was captured: seconds since 1970", |s| {
            s.span.map(|(_, ended)| ended)
        })
        .column("duration_ms", "ms", "from the first packet to the last", |s| {
            s.span.map(|(begun, ended)| ms(ended.since(begun)))
        })
}

/// Segments, bytes and capture points.
fn sent(columns: Columns<Summary>) -> Columns<Summary> {
    let mut columns = columns
        .column("segments", "segments", "segments with payload, SYN or FIN, retransmissions included", |s| s.segments)
        .column("bytes", "bytes", "payload, retransmissions included", |s| s.bytes)
        .column("doubled", "packets", "packets that the network duplicated", |s| s.duplicates)
        .column("probes", "packets", "keep-alive and window probes", |s| s.probes)
        .column("missing_bytes", "bytes", "payload sent but not captured", |s| s.missing);
    columns = columns
        .column(
            "capture_points",
            "",
            "capture points of a connection, at most; more than 1 if the file is merged",
            |s| s.vantages.capture_points,
        )
        .column(
            "merged_connections",
            "",
            "connections captured at several points; the totals count what each end sent at the point nearest to it",
            |s| s.vantages.merged,
        );
    for vantage in Vantage::ALL {
        let name = vantage.name();
        let about = format!("directions with data whose capture point is {name}, and their payload");
        columns = columns
            .column(format!("vantage_{name}"), "", about.clone(), move |s| s.vantages.directions[vantage as usize])
            .column(format!("vantage_{name}_bytes"), "bytes", about, move |s| s.vantages.bytes[vantage as usize]);
    }
    columns
}

fn retransmissions(columns: Columns<Summary>) -> Columns<Summary> {
    let mut columns = columns
        .prefixed("data", tally(), |s| Some(&s.data))
        .prefixed("syn", tally(), |s| Some(&s.syn))
        .prefixed("fin", tally(), |s| Some(&s.fin));
    for evidence in Evidence::ALL {
        let name = evidence.name();
        let about = format!("verdicts based on {name}");
        columns = columns.column(format!("evidence_{name}"), "segments", about, move |s| {
            s.evidence[evidence as usize].iter().sum::<u64>()
        });
    }
    columns
}

/// Quantiles of detection and recovery times by trigger.
fn loss_times(mut columns: Columns<Summary>) -> Columns<Summary> {
    type Time = (&'static str, fn(&LossTimes) -> &Durations);
    const TIMES: [Time; 2] = [("detection", |w| &w.detection), ("recovery", |w| &w.recovery)];
    for trigger in triggers() {
        for (time, of) in TIMES {
            let name = format!("{}_{time}", trigger_name(trigger));
            let row = trigger_row(trigger);
            columns = quantiles(columns, &name, move |s| of(&s.loss_times[row]));
        }
    }
    columns
}

fn quantiles(
    mut columns: Columns<Summary>,
    name: &str,
    of: impl Fn(&Summary) -> &Durations + Clone + Send + Sync + 'static,
) -> Columns<Summary> {
    const PARTS: [Part<stats::Summary, f64>; 4] =
        [("p50", |s| s.p50), ("p90", |s| s.p90), ("p99", |s| s.p99), ("mean", |s| s.mean)];
    for (part, value) in PARTS {
        let of = of.clone();
        let about = format!("{name}: {part}");
        columns = columns.column(format!("{name}_{part}_ms"), "ms", about, move |s| {
            of(s).summary().as_ref().map(value).map(rounded)
        });
    }
    columns
}
