//! The columns of retransmissions and of connections.

use super::given_out::{Record, Row};
use crate::study::Sender;
use recoup_recovery::Trigger;
use recoup_table::Columns;
use recoup_trace::finding::{Connection, Direction, Retransmission, RttQuantiles, SenderState, Tally, Verdict};
use recoup_trace::read::JoinedFiles;
use std::sync::Arc;
use std::time::Duration;

/// The columns of a retransmission, in the order that Wireshark's users expect.
pub fn retransmissions() -> Columns<Retransmission> {
    Columns::<Retransmission>::new()
        .integer(("frame", "", "number of the frame in the capture, from 1, as Wireshark counts"), |r| Some(r.frame))
        .time(("time", "s", "when it was captured: seconds since 1970"), |r| Some(r.at))
        .text(("src", "", "address and port of the sender"), |r| Some(r.endpoints.src.to_string().into()))
        .text(("dst", "", "address and port of the receiver"), |r| Some(r.endpoints.dst.to_string().into()))
        .integer(("seq", "", "sequence number in its header"), |r| Some(r.seq.0.into()))
        .integer(("len", "bytes", "payload"), |r| Some(r.len.into()))
        .text(
            (
                "trigger",
                "",
                "why it was sent: fast, early, rto, slow_start, tlp, pmtu, mtu_probe, syn, syn_ack or unknown",
            ),
            |r| Some(r.triggers.to_string().into()),
        )
        .text(("verdict", "", "whether it was needed: needed, spurious or unknowable"), |r| {
            Some(r.verdict.name().into())
        })
        .text(("evidence", "", "the evidence for the verdict"), |r| Some(r.evidence.name().into()))
        .integer(("copy", "", "1 for the first retransmission of its first byte, 2 for the second"), |r| {
            Some(r.copy.into())
        })
        .real(("detection_ms", "ms", "from the first transmission of its first byte to this retransmission"), |r| {
            r.detection.map(ms)
        })
        .real(("recovery_ms", "ms", "from this retransmission to the ACK of the highest byte sent before it"), |r| {
            r.recovery.map(ms)
        })
        .real(("detection_rtts", "RTTs", "detection_ms over the moving average of the RTT"), |r| {
            r.detection_rtts().map(rounded)
        })
        .real(("recovery_rtts", "RTTs", "recovery_ms over the moving average of the RTT"), |r| {
            r.recovery_rtts().map(rounded)
        })
        .text(("vantage", "", "where its direction was captured: sender, between, receiver or unknown"), |r| {
            Some(r.vantage.name().into())
        })
        .integer(("connection", "", "number of the connection, from 0, in the order of first packets"), |r| {
            Some(r.connection)
        })
        .flag(("syn", "", "it carries a SYN"), |r| r.syn)
        .flag(("fin", "", "it carries a FIN"), |r| r.fin)
        .integer(("flight", "segments", "segments outstanding when it was sent"), |r| Some(r.flight.into()))
        .integer(("capture_point", "", "capture point of its connection, from 0; a merged file has several"), |r| {
            Some(r.capture_point.into())
        })
}

/// The columns of a retransmission in a capture that consists of these files: if there are any, they
/// include the file and the frame in it.
pub fn retransmissions_in(files: &JoinedFiles) -> Columns<Retransmission> {
    with_files(retransmissions(), files, |r| r.frame)
}

/// The same for retransmissions that changed since they were last given out.
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
        .text(("file", "", "the file that holds the frame"), move |row| {
            let (file, _) = files.locate(frame(row))?;
            Some(file.name.clone().into())
        })
        .integer(("file_frame", "", "number of the frame in its file, from 1"), move |row| {
            Some(same_files.locate(frame(row))?.1)
        });
    columns.behind("frame", places)
}

/// The columns of a connection. There is one row per connection, as in tcptrace and Tstat, so that rows
/// can be counted and joined by `connection`. The columns of each sender begin with `src_` or `dst_`.
pub fn connections() -> Columns<Connection> {
    let both = Columns::<Connection>::new()
        .integer(("connection", "", "number of the connection, from 0, in the order of first packets"), |c| Some(c.id))
        .text(("src", "", "address and port of the end that opened the connection or sent its first captured packet"), |c| Some(c.endpoints.src.to_string().into()))
        .text(("dst", "", "address and port of the other end"), |c| Some(c.endpoints.dst.to_string().into()))
        .text(("opening", "", "handshake or mid_connection"), |c| Some(c.opening.name().into()))
        .text(("closing", "", "closed, reset, idle, replaced, evicted or capture_end"), |c| Some(c.closing.name().into()))
        .time(("begun", "s", "when its first packet was captured: seconds since 1970"), |c| Some(c.begun))
        .time(("ended", "s", "when its last packet was captured: seconds since 1970"), |c| Some(c.ended))
        .real(("duration_ms", "ms", "from its first packet to its last"), |c| Some(ms(c.duration())))
        .integer(("packets", "packets", "packets captured in both directions"), |c| Some(c.packets))
        .real(("handshake_rtt_ms", "ms", "from the SYN to the ACK that completes the handshake; empty if the SYN was retransmitted"), |c| c.handshake_rtt.map(ms))
        .integer(("capture_point", "", "where it was captured: 0 is nearest to src; the other end's point comes last"), |c| Some(c.capture_point.number.into()))
        .integer(("capture_points", "", "capture points of packets between these ends; 1 unless the file is merged"), |c| Some(c.capture_point.count.into()))
        .real(("capture_points_apart_ms", "ms", "delay of the path from the first capture point to the last; empty if there is one, or if the file does not show it"), |c| c.capture_point.apart.map(ms));
    both.prefixed("src", direction(), |c| Some(&c.directions[0]))
        .prefixed("dst", direction(), |c| Some(&c.directions[1]))
}

/// The columns of one sender.
fn direction() -> Columns<Direction> {
    let sent = Columns::<Direction>::new()
        .text(("vantage", "", "where it was captured: sender, between, receiver or unknown"), |d| {
            Some(d.vantage.name().into())
        })
        .integer(("segments", "segments", "segments with payload, SYN or FIN, retransmissions included"), |d| {
            Some(d.segments)
        })
        .integer(("bytes", "bytes", "payload, retransmissions included"), |d| Some(d.bytes))
        .integer(("doubled", "packets", "packets that the network duplicated"), |d| Some(d.duplicates))
        .integer(("probes", "packets", "keep-alive and window probes"), |d| Some(d.probes))
        .integer(("missing_bytes", "bytes", "payload sent but not captured"), |d| Some(d.missing))
        .real(("to_sender_ms", "ms", "shortest round-trip time between the capture point and the sender"), |d| {
            d.to_sender.map(ms)
        })
        .integer(("rtt_samples", "", "round-trip time samples"), |d| Some(d.rtt.map_or(0, |rtt| rtt.samples)));
    let sent = quantiles(sent)
        .text(
            (
                "identification",
                "",
                "profile, several (they explain equally many), none (no profile explains half) or nothing (no evidence)",
            ),
            |d| Some(Sender::from(&d.profile).identification().into()),
        )
        .text(
            (
                "profile",
                "",
                "the profile, or several joined by |, the best first",
            ),
            |d| Some(Sender::from(&d.profile).into_profile()?.into()),
        )
        .integer(
            (
                "explained",
                "segments",
                "retransmissions that the best profile explains",
            ),
            |d| Some(d.profile.best()?.explained),
        )
        .integer(
            (
                "put_to_profile",
                "segments",
                "retransmissions that could be replayed under the best profile",
            ),
            |d| Some(d.profile.best()?.of),
        )
        .integer(("episodes", "", "episodes of recovery"), |d| {
            Some(d.episodes.into())
        })
        .real(
            (
                "detecting_and_recovering_ms",
                "ms",
                "from the first transmission of what was lost, really or not, to the end of the recovery",
            ),
            |d| Some(ms(d.recovering)),
        );
    times(sent).all_of(tally(), |d| Some(&d.retransmissions))
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
        let header = (format!("{}_ms", state.name()), "ms", about);
        columns = columns.real(header, move |d| Some(ms(d.time.of(state))));
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
        let header =
            (format!("rtt_{name}_ms"), "ms", format!("round-trip times between the capture and the receiver: {name}"));
        columns = columns.real(header, move |d| d.rtt.as_ref().map(part).map(ms));
    }
    columns
}

/// The columns of retransmission counts: all, by verdict, by trigger, and by both.
pub(super) fn tally() -> Columns<Tally> {
    let mut columns =
        Columns::<Tally>::new().integer(("retransmissions", "segments", "retransmissions"), |t| Some(t.total()));
    for verdict in Verdict::ALL {
        let name = verdict.name();
        let header = (name, "segments", format!("retransmissions with the verdict {name}"));
        columns = columns.integer(header, move |t| Some(t.of_verdict(verdict)));
    }
    for trigger in triggers() {
        let name = trigger_name(trigger);
        let about = format!("retransmissions with the trigger {name}");
        columns = columns.integer((name, "segments", about.clone()), move |t| Some(t.of_trigger(trigger)));
        for verdict in Verdict::ALL {
            let found = verdict.name();
            let about = format!("{about} and the verdict {found}");
            columns = columns
                .integer((format!("{name}_{found}"), "segments", about), move |t| Some(t.count(trigger, verdict)));
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
