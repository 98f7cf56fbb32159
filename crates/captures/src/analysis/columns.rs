//! The columns of retransmissions and of connections.

use super::given_out::{Record, Row};
use crate::study::Sender;
use recoup_recovery::Trigger;
use recoup_table::Columns;
use recoup_trace::finding::{Cause, Connection, Direction, Retransmission, RttQuantiles, SenderState, Tally, Verdict};
use recoup_trace::read::JoinedFiles;
use recoup_wire::Endpoints;
use std::sync::Arc;
use std::time::Duration;

/// The columns of a retransmission, in the order that Wireshark's users expect.
pub fn retransmissions() -> Columns<Retransmission> {
    Columns::<Retransmission>::new()
        .column("frame", "", "number of the frame in the capture, from 1, as Wireshark counts", |r| r.frame)
        .column("time", "s", "when it was captured: seconds since 1970", |r| r.at)
        .column("src", "", "address and port of the sender", |r| r.endpoints.src.to_string())
        .column("dst", "", "address and port of the receiver", |r| r.endpoints.dst.to_string())
        .column("seq", "", "sequence number in its header", |r| r.seq.0)
        .column("len", "bytes", "payload", |r| r.len)
        .column(
            "trigger",
            "",
            "why it was sent: fast, early, rto, slow_start, tlp, pmtu, mtu_probe, syn, syn_ack or unknown",
            |r| r.triggers.to_string(),
        )
        .column("verdict", "", "whether it was needed: needed, spurious or unknowable", |r| r.verdict.name())
        .column("evidence", "", "the evidence for the verdict", |r| r.evidence.name())
        .column("copy", "", "1 for the first retransmission of its first byte, 2 for the second", |r| r.copy)
        .column("detection_ms", "ms", "from the first transmission of its first byte to this retransmission", |r| {
            r.detection.map(ms)
        })
        .heading("detection")
        .column("recovery_ms", "ms", "from this retransmission to the ACK of the highest byte sent before it", |r| {
            r.recovery.map(ms)
        })
        .column("detection_rtts", "RTTs", "detection_ms over the moving average of the RTT", |r| {
            r.detection_rtts().map(rounded)
        })
        .column("recovery_rtts", "RTTs", "recovery_ms over the moving average of the RTT", |r| {
            r.recovery_rtts().map(rounded)
        })
        .column("vantage", "", "where its direction was captured: sender, between, receiver or unknown", |r| {
            r.vantage.name()
        })
        .column("connection", "", "number of the connection, from 0, in the order of first packets", |r| r.connection)
        .column("syn", "", "it carries a SYN", |r| r.syn)
        .column("fin", "", "it carries a FIN", |r| r.fin)
        .column("flight", "segments", "segments outstanding when it was sent", |r| r.flight)
        .column("capture_point", "", "capture point of its connection, from 0; a merged file has several", |r| {
            r.capture_point
        })
        .all_of(ends(), |r| Some(&r.endpoints))
}

/// The columns of a retransmission in a capture that consists of these files: if there are any, they
/// include the file and the frame in it.
pub fn retransmissions_in(files: &JoinedFiles) -> Columns<Retransmission> {
    with_files(retransmissions(), files, |r| r.frame)
}

/// The columns of retransmissions that changed since they were last given out, with file and frame.
pub fn changed_retransmissions_in(files: &JoinedFiles) -> Columns<Record<Retransmission>> {
    with_files(Retransmission::record_columns(), files, |record| record.key.0)
}

/// Adds the file of a row's frame, and the frame in that file, if the capture consists of several files.
fn with_files<R: 'static>(columns: Columns<R>, files: &JoinedFiles, frame: fn(&R) -> u64) -> Columns<R> {
    if files.is_empty() {
        return columns;
    }
    let files = Arc::new(files.clone());
    let same_files = Arc::clone(&files);
    let places = Columns::new()
        .column("file", "", "the file that holds the frame", move |row| {
            let (file, _) = files.locate(frame(row))?;
            Some(file.name.clone())
        })
        .column("file_frame", "", "number of the frame in its file, from 1", move |row| {
            Some(same_files.locate(frame(row))?.1)
        });
    columns.behind("frame", places)
}

/// The columns of a connection. There is one row per connection, as in tcptrace and Tstat, so that rows
/// can be counted and joined by `connection`. The columns of each sender begin with `src_` or `dst_`.
pub fn connections() -> Columns<Connection> {
    let both = Columns::<Connection>::new()
        .column("connection", "", "number of the connection, from 0, in the order of first packets", |c| c.id)
        .column("src", "", "address and port of the end that opened the connection or sent its first captured packet", |c| c.endpoints.src.to_string())
        .column("dst", "", "address and port of the other end", |c| c.endpoints.dst.to_string())
        .column("tunnel", "", "the tunnel that tells it from connections between the same ends in other tunnels; empty if there are none", |c| c.tunnel().map(|tunnel| tunnel.to_string()))
        .column("opening", "", "handshake or mid_connection", |c| c.opening.name())
        .column("closing", "", "closed, reset, idle, replaced, evicted or capture_end", |c| c.closing.name())
        .column("begun", "s", "when its first packet was captured: seconds since 1970", |c| c.begun)
        .column("ended", "s", "when its last packet was captured: seconds since 1970", |c| c.ended)
        .column("duration_ms", "ms", "from its first packet to its last", |c| ms(c.duration()))
        .column("packets", "packets", "packets captured in both directions", |c| c.packets)
        .column("handshake_rtt_ms", "ms", "from the SYN to the ACK that completes the handshake; empty if the SYN was retransmitted", |c| c.handshake_rtt.map(ms))
        .column("ecn", "", "explicit congestion notification that both ends agreed on: classic or accurate; empty if none, or if the capture does not hold the handshake", |c| c.ecn.map(|mode| mode.name()))
        .column("capture_point", "", "where it was captured: 0 is nearest to src; the other end's point comes last", |c| c.capture_point.number)
        .column("capture_points", "", "capture points of packets between these ends; 1 unless the file is merged", |c| c.capture_point.count)
        .column("capture_points_apart_ms", "ms", "delay of the path from the first capture point to the last; empty if there is one, or if the file does not show it", |c| c.capture_point.apart.map(ms))
        .column("lost_ms", "ms", "time that both ends lost", |c| ms(c.directions.iter().map(|d| d.lost.total()).sum()))
        .all_of(ends(), |c| Some(&c.endpoints));
    both.prefixed("src", direction(), |c| Some(&c.directions[0]))
        .prefixed("dst", direction(), |c| Some(&c.directions[1]))
}

/// The columns of one sender.
fn direction() -> Columns<Direction> {
    let sent = Columns::<Direction>::new()
        .column("vantage", "", "where it was captured: sender, between, receiver or unknown", |d| d.vantage.name())
        .column("segments", "segments", "segments with payload, SYN or FIN, retransmissions included", |d| d.segments)
        .column("bytes", "bytes", "payload, retransmissions included", |d| d.bytes)
        .column("doubled", "packets", "packets that the network duplicated", |d| d.duplicates)
        .column("probes", "packets", "keep-alive and window probes", |d| d.probes)
        .column("missing_bytes", "bytes", "payload sent but not captured", |d| d.missing)
        .column("to_sender_ms", "ms", "shortest round-trip time between the capture point and the sender", |d| {
            d.to_sender.map(ms)
        })
        .column("ecn_capable", "packets", "packets that routers may mark instead of dropping them", |d| d.ecn.capable)
        .column("ecn_marked", "packets", "packets that carry a mark (CE)", |d| d.ecn.marked)
        .column("ecn_reported", "", "marks that the receiver reported; with classic ECN how often it began to", |d| {
            d.ecn.reported
        })
        .column(
            "ecn_reductions",
            "",
            "how often the sender confirmed that it reduced its window for a mark; 0 with accurate ECN",
            |d| d.ecn.reductions,
        )
        .column("rtt_samples", "", "round-trip time samples", |d| d.rtt.map_or(0, |rtt| rtt.samples));
    let sent = quantiles(sent)
        .column(
            "identification",
            "",
            "profile, several (they explain equally many), none (no profile explains half) or nothing (no evidence)",
            |d| Sender::from(&d.profile).identification(),
        )
        .column("profile", "", "the profile, or several joined by |, the best first", |d| {
            Sender::from(&d.profile).into_profile()
        })
        .column("explained", "segments", "retransmissions that the best profile explains", |d| {
            Some(d.profile.best()?.explained)
        })
        .column("put_to_profile", "segments", "retransmissions that could be replayed under the best profile", |d| {
            Some(d.profile.best()?.of)
        })
        .column(
            "least_rto_ms",
            "ms",
            "the least RTO, besides SRTT, that its host's timeouts show to be set in place of Linux's 200 ms",
            |d| d.least_rto.map(ms),
        )
        .column("episodes", "", "episodes of recovery", |d| d.episodes)
        .column(
            "detecting_and_recovering_ms",
            "ms",
            "detecting and recovering, as the 2007 study counts: from the first transmission of what was lost, really or not, to the end of the recovery",
            |d| ms(d.detecting_and_recovering),
        );
    lost(times(sent)).all_of(tally(), |d| Some(&d.retransmissions))
}

/// The columns of lost time: all, and by cause. They add up.
fn lost(columns: Columns<Direction>) -> Columns<Direction> {
    let mut columns = columns.column("lost_ms", "ms", "time that it lost", |d| ms(d.lost.total()));
    for cause in Cause::ALL {
        let name = cause.name();
        let about = format!("time that it lost to the cause {name} (docs/explain.md)");
        columns = columns.column(format!("lost_{name}_ms"), "ms", about, move |d| ms(d.lost.of(cause)));
    }
    columns
}

/// The addresses and ports of a row whose columns `src` and `dst` have both in one text.
pub(crate) fn ends() -> Columns<Endpoints> {
    Columns::<Endpoints>::new()
        .column("src_host", "", "address of src", |ends| ends.src.ip().to_string())
        .column("src_port", "", "port of src", |ends| ends.src.port())
        .column("dst_host", "", "address of dst", |ends| ends.dst.ip().to_string())
        .column("dst_port", "", "port of dst", |ends| ends.dst.port())
}

/// The columns of the time in each state. They add up to the duration of the connection.
fn times(mut columns: Columns<Direction>) -> Columns<Direction> {
    for state in SenderState::ALL {
        let about = match state {
            SenderState::Connecting => "time until the handshake was complete",
            SenderState::Recovering => {
                "time recovering from losses, real or not: from when the ACK of the first lost byte was due"
            }
            SenderState::ZeroWindow => "time in which data waited and the receiver's window was 0",
            SenderState::ReceiverWindow => "time in which the receiver's window had no room for the next segment",
            SenderState::SenderBuffer => "time in which the send buffer was full of data in flight",
            SenderState::Network => "time in which data was in flight, limited by the congestion window or the path",
            SenderState::Application => "time in which the application had nothing to send",
            SenderState::Closing => "time after its FIN, once all its data was acknowledged",
            SenderState::Unknown => "time in which the capture does not show the sender's state",
        };
        columns = columns.column(format!("{}_ms", state.name()), "ms", about, move |d| ms(d.time.of(state)));
    }
    columns
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
        let about = format!("round-trip times between the capture and the receiver: {name}");
        columns = columns.column(format!("rtt_{name}_ms"), "ms", about, move |d| d.rtt.as_ref().map(part).map(ms));
    }
    columns
}

/// The columns of retransmission counts: all, by verdict, by trigger, and by both.
pub(super) fn tally() -> Columns<Tally> {
    let mut columns = Columns::<Tally>::new().column("retransmissions", "segments", "retransmissions", |t| t.total());
    for verdict in Verdict::ALL {
        let name = verdict.name();
        let about = format!("retransmissions with the verdict {name}");
        columns = columns.column(name, "segments", about, move |t| t.of_verdict(verdict));
    }
    for trigger in triggers() {
        let name = trigger_name(trigger);
        let about = format!("retransmissions with the trigger {name}");
        columns = columns.column(name, "segments", about.clone(), move |t| t.of_trigger(trigger));
        for verdict in Verdict::ALL {
            let found = verdict.name();
            let about = format!("{about} and the verdict {found}");
            columns = columns.column(format!("{name}_{found}"), "segments", about, move |t| t.count(trigger, verdict));
        }
    }
    columns
}

/// Every trigger, and `None` for unknown triggers.
pub(super) fn triggers() -> impl Iterator<Item = Option<Trigger>> {
    Trigger::ALL.into_iter().map(Some).chain([None])
}

/// The index of a trigger's counts.
pub(super) fn trigger_row(trigger: Option<Trigger>) -> usize {
    trigger.map_or(Trigger::ALL.len(), |trigger| trigger as usize)
}

/// A trigger's name in reports.
pub(super) fn trigger_name(trigger: Option<Trigger>) -> &'static str {
    trigger.map_or("unknown", Trigger::name)
}

/// In milliseconds.
pub(crate) fn ms(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}

/// To six decimals.
pub(super) fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}
