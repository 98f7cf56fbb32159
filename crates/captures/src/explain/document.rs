//! Explanations as a JSON document.

use super::facts::{CapturedAt, Facts, lost_by};
use super::groups::group_columns;
use super::order::Ranked;
use super::quic::connection_json;
use super::report::Report;
use super::total::Total;
use crate::analysis::{Analyzed, OneConnection, copies_json, ms};
use recoup_recovery::Trigger;
use recoup_table::{Layout, Schema};
use recoup_trace::finding::{
    Cause, Connection, Direction, EpisodeCost, LateAckFound, LostTime, Retransmission, SenderState, TimeByState,
    Verdict, WhyUnknown,
};
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// The document's name and version.
const SCHEMA: Schema = Schema { name: "recoup.explain", version: 1 };

/// The name and version of the document of one connection.
const ONE: Schema = Schema { name: "recoup.connection", version: 1 };

/// Writes the explanations of captures, an element of a list to a line. Several get an explanation of all together.
///
/// # Errors
/// If writing to `out` fails.
pub fn write_explanations(captures: &[Analyzed<Facts>], total: Option<&Total>, out: impl Write) -> io::Result<()> {
    let each: Vec<Value> = captures.iter().map(capture).collect();
    let mut document = json!({ "captures": each });
    if let Some(total) = total {
        document["total"] = self::total(total);
    }
    SCHEMA.write(&document, Layout::Lines, out)
}

/// Writes the explanation of one connection, with all of its episodes. Nothing if the capture does not have it.
///
/// # Errors
/// If writing to `out` fails.
pub fn write_connection(analyzed: &Analyzed<OneConnection>, out: impl Write) -> io::Result<()> {
    let Some((connection, rows)) = analyzed.findings.row() else {
        return Ok(());
    };
    let mut value = self::connection(&Ranked::whole(connection.clone(), rows.to_vec()));
    value["capture"] = json!(analyzed.capture);
    value["notes"] = json!(analyzed.notes());
    ONE.write(&value, Layout::Indented, out)
}

/// Captures together.
fn total(total: &Total) -> Value {
    let mut value = explained(&total.facts, &Report::of_all(total));
    value["captures"] = json!(total.captures);
    value["duration_ms"] = json!(ms(total.length));
    value
}

fn capture(analyzed: &Analyzed<Facts>) -> Value {
    let mut value = explained(&analyzed.findings, &Report::new(analyzed));
    value["capture"] = json!(analyzed.capture);
    value["notes"] = json!(analyzed.notes());
    value["frames"] = json!(analyzed.counts.frames);
    value["packets"] = json!(analyzed.counts.packets);
    value["guard_copies"] = copies_json(analyzed.counts.copies.as_ref());
    value
}

fn explained(facts: &Facts, report: &Report) -> Value {
    let at = CapturedAt::ALL.map(|at| (at.name(), json!(facts.captured_at[at as usize])));
    let causes = Cause::ALL.into_iter().filter(|cause| facts.lost.times(*cause) > 0);
    let ranked = report.causes.iter().map(|line| {
        json!({
            "name": line.name,
            "causes": line.causes.iter().map(|cause| cause.name()).collect::<Vec<_>>(),
            "lost_ms": ms(line.lost),
            "text": line.text,
        })
    });
    json!({
        "heading": report.heading,
        "finding": report.finding,
        "no_trouble": report.no_trouble,
        "ranked": ranked.collect::<Vec<_>>(),
        "advice": report.advice,
        "time": report.time,
        "not_known": report.not_known,
        "begun": facts.span.map(|(begun, _)| begun.as_nanos() as f64 / 1e9),
        "duration_ms": ms(facts.duration()),
        "connection_count": facts.connections,
        "bytes": facts.bytes,
        "segments": facts.segments,
        "captured_at": object(at),
        "losses_by_side": { "client": facts.losses_by_side[0], "server": facts.losses_by_side[1] },
        "losses_by_queue": facts.queues.to_json(),
        "policed": {
            "senders": facts.policed.senders,
            "bits_per_second": facts.policed.rates,
            "burst_bytes": facts.policed.bursts,
        },
        "quic": facts.quic.to_json(),
        "ecn": {
            "connections": facts.marks.connections,
            "marked": facts.marks.counts.marked,
            "reported": facts.marks.counts.reported,
            "reductions": facts.marks.counts.reductions,
        },
        "connection_time_ms": ms(facts.connection_time),
        "time_ms": time(&facts.time),
        "unknown_ms": object(WhyUnknown::ALL.map(|why| (why.name(), json!(ms(facts.time.unknown(why)))))),
        "lost_ms": ms(facts.lost.total()),
        "connections_that_lost_time": facts.losers,
        "causes": causes.map(|cause| self::cause(facts, cause)).collect::<Vec<_>>(),
        "recovering": recovering(facts),
        "compared": report.compared,
        "differences": report.differences,
        "groups": group_columns().to_json(&report.groups),
        "connections": facts.worst.connections().iter().map(connection).collect::<Vec<_>>(),
        "connections_left_out": facts.worst.left_out(),
    })
}

fn cause(facts: &Facts, cause: Cause) -> Value {
    let of = &facts.causes[cause as usize];
    json!({
        "cause": cause.name(),
        "times": facts.lost.times(cause),
        "connections": of.connections,
        "lost_ms": ms(facts.lost.of(cause)),
        "each_ms": of.each.summary(),
        "detection_ms": of.detection.summary(),
        "rtt_ms": of.rtt.summary(),
        "retransmissions": of.segments,
    })
}

/// Time in recovery by the trigger and the verdict of the first retransmission.
fn recovering(facts: &Facts) -> Vec<Value> {
    let triggers = Trigger::ALL.iter().map(|trigger| trigger.name()).chain(["unknown"]);
    let cells = triggers.zip(&facts.recovering).flat_map(|(trigger, row)| {
        let verdicts = Verdict::ALL.iter().map(|verdict| verdict.name());
        verdicts.zip(row).map(move |(verdict, cell)| (trigger, verdict, cell))
    });
    let filled = cells.filter(|(.., cell)| cell.episodes > 0).map(|(trigger, verdict, cell)| {
        json!({ "trigger": trigger, "verdict": verdict, "episodes": cell.episodes, "time_ms": ms(cell.time) })
    });
    filled.collect()
}

fn connection(ranked: &Ranked) -> Value {
    let connection = &ranked.connection;
    let ends = &connection.endpoints;
    let sides = [0, 1].map(|side| self::side(&connection.end_name(side), &connection.directions[side]));
    let has_addresses = connection.quic.as_ref().is_none_or(|quic| quic.has_addresses);
    let ends = has_addresses.then_some(ends);
    json!({
        "connection": connection.id,
        "capture": ranked.capture,
        "capture_point": connection.capture_point.number,
        "src": ends.map(|ends| ends.src),
        "dst": ends.map(|ends| ends.dst),
        "tunnel": connection.tunnel().map(|tunnel| tunnel.to_string()),
        "opening": connection.opening.name(),
        "closing": connection.closing.name(),
        "begun": connection.begun.as_nanos() as f64 / 1e9,
        "duration_ms": ms(connection.duration()),
        "frames": [connection.frames.start(), connection.frames.end()],
        "packets": connection.packets,
        "handshake_rtt_ms": connection.handshake_rtt.map(ms),
        "lost_ms": ms(lost_by(connection).total()),
        "sides": sides,
        "quic": connection_json(connection),
        "episodes": ranked.episodes().map(|(row, cost)| episode(connection, row, cost)).collect::<Vec<_>>(),
    })
}

fn side(sender: &str, side: &Direction) -> Value {
    let again = &side.retransmissions;
    json!({
        "sender": sender,
        "bytes": side.bytes,
        "segments": side.segments,
        "vantage": side.vantage.name(),
        "retransmissions": again.total(),
        "spurious": again.of_verdict(Verdict::Spurious),
        "rtt_p50_ms": side.rtt.map(|rtt| ms(rtt.p50)),
        "time_ms": time(&side.time),
        "lost_ms": ms(side.lost.total()),
        "lost": lost(&side.lost),
        "late_acks": side.late_acks.iter().map(late_ack).collect::<Vec<_>>(),
    })
}

fn episode(connection: &Connection, row: &Retransmission, cost: EpisodeCost) -> Value {
    json!({
        "frame": row.frame,
        "time": row.at.as_nanos() as f64 / 1e9,
        "sender": connection.end_name(connection.sender_of(row)),
        "trigger": row.triggers.to_string(),
        "verdict": row.verdict.name(),
        "cause": cost.cause.name(),
        "retransmissions": cost.segments,
        "recovering_ms": ms(cost.recovering),
        "lost_ms": ms(cost.lost),
    })
}

/// An ACK that came late without a retransmission.
fn late_ack(late: &LateAckFound) -> Value {
    json!({
        "frame": late.frame,
        "time": late.at.as_nanos() as f64 / 1e9,
        "cause": late.cause.name(),
        "lost_ms": ms(late.lost),
    })
}

fn time(time: &TimeByState) -> Value {
    object(SenderState::ALL.map(|state| (state.name(), json!(ms(time.of(state))))))
}

/// The causes that occurred.
fn lost(lost: &LostTime) -> Vec<Value> {
    let causes = Cause::ALL.into_iter().filter(|cause| lost.times(*cause) > 0);
    let entry = |cause: Cause| {
        json!({
            "cause": cause.name(),
            "times": lost.times(cause),
            "lost_ms": ms(lost.of(cause)),
        })
    };
    causes.map(entry).collect()
}

fn object(entries: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let entries = entries.into_iter().map(|(name, value)| (name.to_owned(), value));
    Value::Object(entries.collect::<Map<String, Value>>())
}
