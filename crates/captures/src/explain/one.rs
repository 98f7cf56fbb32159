//! One connection explained: where each sender's time went, and each episode that lost time.

use super::facts::lost_by;
use super::quic::Protocol;
use super::report::{episode, state_share};
use super::text::{Block, TextShape, fit, not_known, wrap};
use crate::analysis::{Analyzed, OneConnection};
use crate::wording::{bytes, count, duration, list, longest_first, percent_of};
use recoup_trace::finding::{
    Cause, Closing, Connection, Direction, Opening, Retransmission, SenderState, Vantage, Verdict,
};
use std::cmp::Reverse;
use std::fmt::Display;

/// Episodes that are listed: those that lost most.
const LISTED: usize = 20;

/// An explanation of one connection. `None` if the capture does not have it.
pub fn connection_text(analyzed: &Analyzed<OneConnection>, shape: &TextShape) -> Option<String> {
    let (connection, rows) = analyzed.findings.row()?;
    let lost = lost_by(connection).total();
    let mut lines = vec![heading(connection), String::new()];
    lines.push(match lost.is_zero() {
        true => "It lost no time.".into(),
        false => format!(
            "Losses and delays cost {} of {} ({}).",
            duration(lost),
            duration(connection.duration()),
            percent_of(lost, connection.duration())
        ),
    });
    let protocol = Protocol::of(connection);
    for side in [0, 1] {
        lines.extend(wrap(&sender_text(connection.end_name(side), &connection.directions[side], protocol), 2));
    }
    let listed = if shape.lines.is_some() { LISTED } else { usize::MAX };
    let blocks = vec![
        Block::whole(lines),
        Block { lines: episodes(connection, rows, listed, shape.all), least: 2 },
        Block { lines: late_acks(connection, listed), least: 2 },
        Block::whole(repeated_waits(connection)),
        Block::whole(not_known(&analyzed.notes())),
    ];
    Some(fit(blocks, &[1, 2], shape))
}

fn heading(connection: &Connection) -> String {
    let protocol = Protocol::of(connection);
    let begins = match connection.opening {
        Opening::Handshake => "",
        Opening::MidConnection => protocol.choose(", begun before the capture", ", begun before the trace"),
    };
    let closes = match connection.closing {
        Closing::Closed => "closed",
        Closing::Reset => "reset",
        Closing::Idle => "silent at the end",
        Closing::Replaced => "replaced by another connection",
        Closing::Evicted => "closed early to limit memory",
        Closing::CaptureEnd => protocol.choose("open at the capture's end", "open at the trace's end"),
    };
    format!(
        "Connection {}, {}: {}, {}{begins}, {closes}, {} {} to {}",
        connection.id,
        connection.name(),
        duration(connection.duration()),
        count(connection.packets, "packet"),
        protocol.choose("frames", "events"),
        connection.frames.start(),
        connection.frames.end()
    )
}

/// The data that one end sent, and where its time went.
pub fn sender_text(sender: impl Display, side: &Direction, protocol: Protocol) -> String {
    if side.absent {
        return format!("{sender}: not captured.");
    }
    let all = side.time.total();
    let states = longest_first(SenderState::ALL, |state| side.time.of(state)).into_iter();
    let shares: Vec<String> = states.map(|(state, time)| state_share(state, time, all)).collect();
    let captured = match side.vantage {
        Vantage::Sender => protocol.choose("captured at the sender", "traced at the sender"),
        Vantage::Between => "captured on the path",
        Vantage::Receiver => protocol.choose("captured at the receiver", "traced at the receiver"),
        Vantage::Unknown => "capture point unknown",
    };
    let finding = protocol.choose("retransmission", "loss finding");
    let again = side.retransmissions.total();
    let spurious = side.retransmissions.of_verdict(Verdict::Spurious);
    let retransmissions = match (again, spurious) {
        (0, _) => format!("no {finding}"),
        (n, 0) => count(n, finding),
        (n, spurious) => format!("{} ({spurious} spurious)", count(n, finding)),
    };
    let rtt = side.rtt.filter(|_| side.vantage != Vantage::Receiver);
    let rtt = rtt.map_or(String::new(), |rtt| format!(", round-trip time {} (median)", duration(rtt.p50)));
    let time = if shares.is_empty() { String::new() } else { format!(" Its time: {}.", list(&shares)) };
    format!("{sender} sent {} with {retransmissions}{rtt}, {captured}.{time}", bytes(side.bytes))
}

/// The late ACKs without a retransmission that lost most, in the order of time.
fn late_acks(connection: &Connection, listed: usize) -> Vec<String> {
    let ends = [connection.endpoints.src, connection.endpoints.dst];
    let of = |(side, direction): (usize, &Direction)| -> Vec<_> {
        direction.late_acks.iter().map(|late| (*late, ends[1 - side])).collect()
    };
    let mut late: Vec<_> = connection.directions.iter().enumerate().flat_map(of).collect();
    late.sort_by_key(|(late, _)| (Reverse(late.lost), late.frame));
    late.truncate(listed);
    late.sort_by_key(|(late, _)| late.frame);
    let mut lines = Vec::new();
    if !late.is_empty() {
        lines.push("Late ACKs (time since the first packet, frame of the ACK, lost time, what happened):".into());
    }
    for (late, sender) in late {
        let since = late.at.since(connection.begun);
        let why = match late.cause {
            Cause::LostAcks => "ACKs before it were lost",
            _ => "it came later than the usual round-trip time",
        };
        let line = format!(
            "  {:>10}  frame {:<8} {:>8}  {sender} sent the ACK: {why}",
            format!("{:.3} s", since.as_secs_f64()),
            late.frame,
            duration(late.lost)
        );
        lines.extend(wrap(&line, 35));
    }
    lines
}

/// The episodes that lost most, in the order of time. `all_by` says what shows the others.
fn episodes(connection: &Connection, rows: &[Retransmission], listed: usize, all_by: &str) -> Vec<String> {
    let costly = rows.iter().filter_map(|row| Some((row, row.cost?)));
    let mut costly: Vec<_> = costly.collect();
    let all = costly.len();
    costly.sort_by_key(|(row, cost)| (Reverse(cost.lost), row.frame));
    costly.truncate(listed);
    costly.sort_by_key(|(row, _)| row.frame);
    let protocol = Protocol::of(connection);
    let (frame, did) = (protocol.choose("frame", "event"), protocol.choose("sent", "found"));
    let mut lines = Vec::new();
    if !costly.is_empty() {
        lines.push(match all - costly.len() {
            0 => format!("Episodes (time since the first packet, {frame}, lost time, what happened):"),
            more => format!(
                "The {listed} most expensive of {} episodes ({all_by}; time since the first packet, {frame}, lost time, what happened):",
                more + listed
            ),
        });
    }
    for (row, cost) in costly {
        let since = row.at.since(connection.begun);
        let line = format!(
            "  {:>10}  {frame} {:<8} {:>8}  {} {did}: {}",
            format!("{:.3} s", since.as_secs_f64()),
            row.frame,
            duration(cost.lost),
            connection.end_name(connection.sender_of(row)),
            episode(row, cost.cause)
        );
        lines.extend(wrap(&line, 35));
    }
    lines
}

/// The waits of which only the sum is known.
fn repeated_waits(connection: &Connection) -> Vec<String> {
    let mut lines = Vec::new();
    for direction in &connection.directions {
        for cause in [Cause::ZeroWindow, Cause::NagleDelayedAck] {
            let times = direction.lost.times(cause);
            if times > 0 {
                let occurrences = super::report::occurrences(cause, times.into(), Protocol::of(connection));
                lines.push(format!("{occurrences} cost {}.", duration(direction.lost.of(cause))));
            }
        }
    }
    lines
}
