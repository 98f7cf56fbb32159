//! A connection of a capture with the findings of its analysis.
//!
//! Exactly the retransmissions that the analysis found are drawn as retransmissions, with trigger and
//! verdict. Window probes and packets that the network duplicated are not. In a capture taken at the
//! receiver, data seen for the first time may be a retransmission.

use super::super::source::Source;
use super::connections::{CaptureConnection, Ends, RetransmissionsByFrame};
use recoup_trace::finding::{self, Identification, Retransmission, Tally, Verdict};
use recoup_trace::read::{PacketSource, ReadError};
use recoup_units::Direction;

/// The number of packets between two calls of `watch`.
const WATCH_INTERVAL: u64 = 4096;

/// Reads the packets of `connection` from its capture, and marks its `retransmissions`.
///
/// The direction with more retransmissions is drawn, or without any the direction with more data.
/// `watch` is called every few thousand packets; reading stops when it returns `false`.
///
/// ```no_run
/// use recoup_draw::sequence::Diagram;
/// use recoup_lab::diagram::explain;
/// use recoup_trace::analyze::{Kept, Settings, analyze};
/// use recoup_trace::read::Reader;
///
/// let path = "server.pcap".as_ref();
/// let analysis = analyze(Reader::open(path)?, &Settings::default(), Kept::default, |_| true)?;
/// let found = analysis.findings;
/// let all = || found.iter().flat_map(|kept| &kept.retransmissions);
/// for connection in found.iter().flat_map(|kept| &kept.connections) {
///     let own: Vec<_> = all().filter(|r| r.connection == connection.id).copied().collect();
///     let source = explain(Reader::open(path)?, connection, &own, |_| true)?;
///     let diagram = Diagram {
///         title: source.title,
///         panels: source.panels,
///         ..Diagram::default()
///     };
///     println!("{}", diagram.to_svg());
/// }
/// # Ok::<(), recoup_trace::read::ReadError>(())
/// ```
///
/// # Errors
/// Those of [`PacketSource::stop`].
pub fn explain<S: PacketSource>(
    mut source: S,
    connection: &finding::Connection,
    retransmissions: &[Retransmission],
    mut watch: impl FnMut(&S) -> bool,
) -> Result<Source, ReadError> {
    let ends = Ends {
        client: connection.endpoints.src,
        server: connection.endpoints.dst,
    };
    let mut packets = CaptureConnection::between(ends);
    let mut count = 0_u64;
    loop {
        let due = count.is_multiple_of(WATCH_INTERVAL);
        count += 1;
        if due && !watch(&source) {
            break;
        }
        let Some(packet) = source.next_segment() else {
            break;
        };
        let either = [packet.endpoints, packet.endpoints.reverse()];
        let Some(direction) = either.iter().position(|ends| *ends == connection.endpoints) else {
            continue;
        };
        if connection.frames.contains(&packet.frame)
            && connection.capture_point.holds(direction, &packet)
        {
            packets.take(&packet, true);
        }
    }
    packets.sort();
    let notes = source.stop()?.notes();
    Ok(diagram(&packets, connection, retransmissions, notes))
}

fn diagram(
    packets: &CaptureConnection,
    connection: &finding::Connection,
    retransmissions: &[Retransmission],
    mut notes: Vec<String>,
) -> Source {
    let totals = connection.directions.each_ref();
    let totals = totals.map(|direction| direction.retransmissions.total());
    let direction = direction_with_more(totals).or(direction_with_more(packets.bytes));
    let direction = direction.unwrap_or(Direction::Down);
    let by_frame: RetransmissionsByFrame<'_> =
        retransmissions.iter().map(|r| (r.frame, r)).collect();
    let mut panel = packets.panel(direction, Some(&by_frame));
    panel.title = panel_title(&connection.directions[direction as usize]);
    notes.extend(packets.note(direction));
    let others = totals[direction.reverse() as usize];
    if others > 0 {
        notes.push(format!(
            "the other direction, {}, is not drawn; it has {others} retransmission{}",
            packets.title(direction.reverse()),
            if others == 1 { "" } else { "s" }
        ));
    }
    Source {
        title: format!("Connection {}: {}", connection.id, packets.title(direction)),
        panels: vec![panel],
        notes,
    }
}

/// The direction with the greater count; `None` when both are 0.
fn direction_with_more([up, down]: [u64; 2]) -> Option<Direction> {
    (up > 0 || down > 0).then_some(if up > down {
        Direction::Up
    } else {
        Direction::Down
    })
}

/// One line about the retransmissions, the sender and the capture point.
fn panel_title(direction: &finding::Direction) -> String {
    let sender = match &direction.profile {
        Identification::Nothing => "not identified".into(),
        Identification::Profile(one) => one.profile.clone(),
        Identification::Several(several) => {
            let names: Vec<&str> = several.iter().map(|one| one.profile.as_str()).collect();
            names.join(" or ")
        }
        Identification::None(_) => "no known profile".into(),
    };
    format!(
        "retransmissions: {}; sender: {sender}; captured at: {}",
        counts(&direction.retransmissions),
        direction.vantage.name()
    )
}

fn counts(tally: &Tally) -> String {
    let count = |verdict: &Verdict| tally.of_verdict(*verdict);
    let some = Verdict::ALL
        .into_iter()
        .filter(|verdict| count(verdict) > 0);
    let some: Vec<String> = some
        .map(|verdict| format!("{} {}", count(&verdict), verdict.name()))
        .collect();
    match some.is_empty() {
        true => "none".into(),
        false => some.join(", "),
    }
}

#[cfg(test)]
mod tests;
