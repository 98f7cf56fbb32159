//! What a row holds: a retransmission, or a connection with both of its directions.

use super::columns::Columns;
use recoup_recovery::Trigger;
use recoup_trace::finding::{Connection, Direction, Retransmission, RttQuantiles, Tally, Verdict};
use recoup_trace::study::Sender;
use std::time::Duration;

/// The columns of a retransmission. The first eight are as Wireshark's users look for them.
pub fn retransmissions() -> Columns<Retransmission> {
    Columns::<Retransmission>::new()
        .integer("frame", |r| Some(r.frame))
        .time("time", |r| Some(r.at))
        .text("src", |r| Some(r.endpoints.src.to_string().into()))
        .text("dst", |r| Some(r.endpoints.dst.to_string().into()))
        .integer("seq", |r| Some(r.seq.0.into()))
        .integer("len", |r| Some(r.len.into()))
        .text("trigger", |r| Some(r.triggers.to_string().into()))
        .text("verdict", |r| Some(r.verdict.name().into()))
        .text("evidence", |r| Some(r.evidence.name().into()))
        .integer("copy", |r| Some(r.copy.into()))
        .real("detection_ms", |r| r.detection.map(ms))
        .real("recovery_ms", |r| r.recovery.map(ms))
        .real("detection_rtts", |r| r.detection_rtts().map(rounded))
        .real("recovery_rtts", |r| r.recovery_rtts().map(rounded))
        .text("vantage", |r| Some(r.vantage.name().into()))
        .integer("connection", |r| Some(r.connection))
        .flag("syn", |r| r.syn)
        .flag("fin", |r| r.fin)
        .integer("flight", |r| Some(r.flight.into()))
}

/// The columns of a connection: a row a connection, as tcptrace and Tstat have it, so that rows are
/// counted and joined by `connection` as they are. What each end sent stands under `src_` and `dst_`.
pub fn connections() -> Columns<Connection> {
    let both = Columns::<Connection>::new()
        .integer("connection", |c| Some(c.id))
        .text("src", |c| Some(c.endpoints.src.to_string().into()))
        .text("dst", |c| Some(c.endpoints.dst.to_string().into()))
        .text("opening", |c| Some(c.opening.name().into()))
        .text("closing", |c| Some(c.closing.name().into()))
        .time("begun", |c| Some(c.begun))
        .time("ended", |c| Some(c.ended))
        .real("duration_ms", |c| Some(ms(c.duration())))
        .integer("packets", |c| Some(c.packets))
        .real("handshake_rtt_ms", |c| c.handshake_rtt.map(ms));
    both.part("src", direction(), |c| &c.directions[0])
        .part("dst", direction(), |c| &c.directions[1])
}

/// The columns of what an end sent.
fn direction() -> Columns<Direction> {
    let sent = Columns::<Direction>::new()
        .text("vantage", |d| Some(d.vantage.name().into()))
        .integer("segments", |d| Some(d.segments))
        .integer("bytes", |d| Some(d.bytes))
        .integer("doubled", |d| Some(d.duplicates))
        .integer("probes", |d| Some(d.probes))
        .integer("missing_bytes", |d| Some(d.missing))
        .integer("rtt_samples", |d| Some(d.rtt.map_or(0, |rtt| rtt.samples)));
    let sent = quantiles(sent)
        .text("identification", |d| {
            Some(Sender::from(&d.profile).identification().into())
        })
        .text("profile", |d| {
            Some(Sender::from(&d.profile).into_profile()?.into())
        })
        .integer("explained", |d| Some(d.profile.best()?.explained))
        .integer("put_to_profile", |d| Some(d.profile.best()?.of))
        .integer("episodes", |d| Some(d.episodes.into()))
        .real("recovering_ms", |d| Some(ms(d.recovering)));
    sent.all_of(tally(), |d| &d.retransmissions)
}

/// A part of a distribution and its name.
pub(super) type Part<Of, Value> = (&'static str, fn(&Of) -> Value);

/// The columns of its round-trip times.
fn quantiles(mut columns: Columns<Direction>) -> Columns<Direction> {
    const PARTS: [Part<RttQuantiles, Duration>; 6] = [
        ("min", |rtt| rtt.min),
        ("p50", |rtt| rtt.p50),
        ("p90", |rtt| rtt.p90),
        ("p99", |rtt| rtt.p99),
        ("max", |rtt| rtt.max),
        ("mean", |rtt| rtt.mean),
    ];
    for (name, part) in PARTS {
        let name = format!("rtt_{name}_ms");
        columns = columns.real(name, move |d| d.rtt.as_ref().map(part).map(ms));
    }
    columns
}

/// The columns of retransmissions counted: all, by verdict, by trigger, and by both.
pub(super) fn tally() -> Columns<Tally> {
    let mut columns = Columns::<Tally>::new().integer("retransmissions", |t| Some(t.total()));
    for verdict in Verdict::ALL {
        columns = columns.integer(verdict.name(), move |t| Some(t.of_verdict(verdict)));
    }
    for trigger in triggers() {
        let name = trigger_name(trigger);
        columns = columns.integer(name, move |t| Some(t.of_trigger(trigger)));
        for verdict in Verdict::ALL {
            let name = format!("{name}_{}", verdict.name());
            columns = columns.integer(name, move |t| Some(t.count(trigger, verdict)));
        }
    }
    columns
}

/// Every trigger, and last the unknown.
pub(super) fn triggers() -> impl Iterator<Item = Option<Trigger>> {
    Trigger::ALL.into_iter().map(Some).chain([None])
}

/// Where its counts stand in an array.
pub(super) fn trigger_row(trigger: Option<Trigger>) -> usize {
    trigger.map_or(Trigger::ALL.len(), |trigger| trigger as usize)
}

/// The name in reports.
pub(super) fn trigger_name(trigger: Option<Trigger>) -> &'static str {
    trigger.map_or("unknown", Trigger::name)
}

/// In milliseconds.
pub(super) fn ms(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}

/// To six decimals.
pub(super) fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}
