//! A connection of a capture together with what an analysis found in it.
//!
//! Every retransmission that the analysis tells is marked with its trigger and its verdict, and nothing
//! else as one: neither probes, nor what the network doubled. At a receiver something may be marked
//! that is seen for the first time.

use super::super::source::Source;
use super::connections::{Connection, Ends, Explained};
use recoup_trace::finding::{self, Identification, Retransmission, Tally, Verdict};
use recoup_trace::read::{ReadError, Reader};
use recoup_units::Direction;

/// So many packets are read before `watch` is asked.
const WATCHED: u64 = 4096;

/// Reads the packets of `connection` from the capture it was found in, and marks its
/// `retransmissions`. The direction drawn is that with more of them, or else with more data. `watch` is
/// called every few thousand packets; by returning `false` it ends the reading.
///
/// ```no_run
/// use recoup_draw::sequence::Diagram;
/// use recoup_lab::diagram::explain;
/// use recoup_trace::analyze::{Kept, Settings, analyze};
/// use recoup_trace::read::Reader;
///
/// let path = "server.pcap".as_ref();
/// let (_, found) = analyze(Reader::open(path)?, &Settings::default(), Kept::default, |_| true)?;
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
/// Those of [`Reader::stop`].
pub fn explain(
    mut reader: Reader<'_>,
    connection: &finding::Connection,
    retransmissions: &[Retransmission],
    mut watch: impl FnMut(&Reader<'_>) -> bool,
) -> Result<Source, ReadError> {
    let ends = Ends {
        client: connection.endpoints.src,
        server: connection.endpoints.dst,
    };
    let mut packets = Connection::between(ends);
    let mut count = 0_u64;
    loop {
        let asked = count.is_multiple_of(WATCHED);
        count += 1;
        if asked && !watch(&reader) {
            break;
        }
        let Some(packet) = reader.next() else {
            break;
        };
        let either = [packet.endpoints, packet.endpoints.reverse()];
        if either.contains(&connection.endpoints) && connection.frames.contains(&packet.frame) {
            packets.take(packet, true);
        }
    }
    packets.sort();
    let notes = reader.stop()?.notes();
    Ok(diagram(&packets, connection, retransmissions, notes))
}

fn diagram(
    packets: &Connection,
    connection: &finding::Connection,
    retransmissions: &[Retransmission],
    mut notes: Vec<String>,
) -> Source {
    let again = connection.directions.each_ref();
    let again = again.map(|direction| direction.retransmissions.total());
    let direction = busier(again).or(busier(packets.bytes));
    let direction = direction.unwrap_or(Direction::Down);
    let told: Explained<'_> = retransmissions.iter().map(|r| (r.frame, r)).collect();
    let mut panel = packets.panel(direction, Some(&told));
    panel.title = about(&connection.directions[direction as usize]);
    notes.extend(packets.note(direction));
    let others = again[direction.reverse() as usize];
    if others > 0 {
        notes.push(format!(
            "the other direction, {}, with retransmissions of its own ({others}), is not drawn",
            packets.title(direction.reverse())
        ));
    }
    Source {
        title: format!("Connection {}: {}", connection.id, packets.title(direction)),
        panels: vec![panel],
        notes,
    }
}

/// The direction with more, of up and down; `None` where neither has any.
fn busier([up, down]: [u64; 2]) -> Option<Direction> {
    (up > 0 || down > 0).then_some(if up > down {
        Direction::Up
    } else {
        Direction::Down
    })
}

/// What was sent again and by whom, in a line.
fn about(direction: &finding::Direction) -> String {
    let sender = match &direction.profile {
        Identification::Nothing => "not identified".into(),
        Identification::Profile(one) => one.profile.clone(),
        Identification::Ambiguous(several) => {
            let names: Vec<&str> = several.iter().map(|one| one.profile.as_str()).collect();
            names.join(" or ")
        }
        Identification::None(_) => "no known profile".into(),
    };
    format!(
        "sent again: {}; sender: {sender}; captured at: {}",
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
        true => "nothing".into(),
        false => some.join(", "),
    }
}

#[cfg(test)]
mod tests;
