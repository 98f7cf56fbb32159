//! Connections of a capture with the findings of their analysis.
//!
//! Exactly the retransmissions that the analysis found are drawn as retransmissions, with trigger and
//! verdict. Window probes and packets that the network duplicated are not. In a capture taken at the
//! receiver, data seen for the first time may be a retransmission.

use super::super::source::{Directions, Source};
use super::connection::{CaptureConnection, Ends, RetransmissionsByFrame};
use crate::analysis::ConnectionRow;
use crate::reread::{Also, Sought, TakesPackets, read_both};
use recoup_draw::sequence::{Panel, SequenceScale};
use recoup_trace::finding::{self, Identification, Tally, Verdict};
use recoup_trace::read::{CapturedPacket, PacketSource};
use recoup_units::Direction;

/// Reads the packets of connections from their capture, and draws each connection with its findings.
///
/// `most_packets` of each connection are drawn. `go_on` is called every few thousand packets; reading
/// stops when it returns `false`.
///
/// ```no_run
/// use recoup_captures::diagram::draw_connections;
/// use recoup_captures::diagram::source::Directions;
/// use recoup_trace::analyze::{Kept, Settings, analyze};
/// use recoup_trace::read::Reader;
///
/// let path = "server.pcap".as_ref();
/// let analysis = analyze(Reader::open(path)?, &Settings::default(), Kept::default, |_| true)?;
/// let found = analysis.findings;
/// let all = || found.iter().flat_map(|kept| &kept.retransmissions);
/// let connections = found.iter().flat_map(|kept| &kept.connections);
/// let with_rows = connections.map(|connection| {
///     let own = all().filter(|r| r.connection == connection.id).copied();
///     (connection.clone(), own.collect())
/// });
/// let rows: Vec<_> = with_rows.collect();
/// let reader = Reader::open(path)?;
/// for source in draw_connections(reader, &rows, Directions::All, usize::MAX, |_| true) {
///     println!("{}", source.into_diagram().to_svg());
/// }
/// # Ok::<(), recoup_trace::read::ReadError>(())
/// ```
pub fn draw_connections<S: PacketSource>(
    source: S,
    rows: &[ConnectionRow],
    directions: Directions,
    most_packets: usize,
    go_on: impl FnMut(&S) -> bool,
) -> Vec<Source> {
    draw_and(source, rows, directions, most_packets, None, go_on)
}

/// Draws connections as [`draw_connections`] does, and reads those of `also` along with them.
pub(super) fn draw_and<S: PacketSource>(
    source: S,
    rows: &[ConnectionRow],
    directions: Directions,
    most_packets: usize,
    also: Option<Also<'_>>,
    go_on: impl FnMut(&S) -> bool,
) -> Vec<Source> {
    let sought: Vec<Sought> = rows.iter().map(|(connection, _)| Sought::of(connection)).collect();
    let mut drawings = Drawings::new(rows, most_packets);
    read_both(source, sought.iter().collect(), &mut drawings, also, go_on);
    let drawings = drawings.kept.into_iter().zip(rows);
    drawings.map(|(drawing, row)| drawing.finish(row, directions)).collect()
}

/// The connections whose packets are kept.
struct Drawings {
    kept: Vec<KeptConnection>,
    most_packets: usize,
}

/// The packets kept of a connection.
struct KeptConnection {
    packets: CaptureConnection,
    left_out: u64,
}

impl Drawings {
    fn new(rows: &[ConnectionRow], most_packets: usize) -> Self {
        let kept = rows.iter().map(|(connection, _)| KeptConnection {
            packets: CaptureConnection::between(Ends {
                client: connection.endpoints.src,
                server: connection.endpoints.dst,
            }),
            left_out: 0,
        });
        Self { kept: kept.collect(), most_packets }
    }
}

impl TakesPackets for Drawings {
    fn packet(&mut self, connection: usize, _: Direction, packet: &CapturedPacket) {
        let kept = &mut self.kept[connection];
        match kept.packets.len() < self.most_packets {
            true => kept.packets.take(packet),
            false => kept.left_out += 1,
        }
    }
}

impl KeptConnection {
    fn finish(mut self, row: &ConnectionRow, directions: Directions) -> Source {
        self.packets.sort();
        let mut source = drawing(&self.packets, row, directions);
        if self.left_out > 0 {
            source.notes.push(format!(
                "only the first {} packets of connection {} are drawn: {} more are left out",
                self.packets.len(),
                row.0.id,
                self.left_out
            ));
        }
        source
    }
}

fn drawing(
    packets: &CaptureConnection,
    (connection, retransmissions): &ConnectionRow,
    directions: Directions,
) -> Source {
    let by_frame: RetransmissionsByFrame<'_> = retransmissions.iter().map(|r| (r.frame, r)).collect();
    let findings = connection.directions.each_ref();
    let again = findings.map(|direction| direction.retransmissions.total());
    let bytes = findings.map(|direction| direction.bytes);
    let main = direction_with_more(again).or(direction_with_more(bytes)).unwrap_or(Direction::Down);
    let panel = |direction: Direction| Panel {
        title: panel_title(&connection.directions[direction as usize]),
        ..packets.panel(direction, &by_frame)
    };
    let other = main.reverse();
    let is_drawn = again[other as usize] > 0 || bytes[other as usize] > 0;
    let drawn: Vec<Direction> = match directions {
        Directions::Only(direction) => vec![direction],
        Directions::All if is_drawn => vec![main, other],
        Directions::All | Directions::Main => vec![main],
        Directions::Both => vec![main, other],
    };
    let mut panels: Vec<Panel> = drawn.iter().map(|direction| panel(*direction)).collect();
    let mut notes: Vec<String> = packets.note(drawn[0]).into_iter().collect();
    let what = match drawn.as_slice() {
        [one] => packets.title(*one),
        _ => packets.title_of_both(),
    };
    if let [one] = drawn.as_slice() {
        // Who chooses a direction knows that there is another.
        let is_chosen = matches!(directions, Directions::Only(_));
        let note = left_out(packets, one.reverse(), again);
        notes.extend(note.filter(|_| !is_chosen));
    } else {
        for (panel, direction) in panels.iter_mut().zip(&drawn) {
            panel.title = format!("{}: {}", packets.title(*direction), panel.title);
        }
    }
    Source {
        title: format!("Connection {}: {what}", connection.id),
        panels,
        senders: drawn.iter().map(|direction| packets.sender(*direction)).collect(),
        scale: SequenceScale::OnePerPanel,
        notes,
    }
}

/// A note on a direction that is not drawn, if it has retransmissions.
fn left_out(packets: &CaptureConnection, direction: Direction, again: [u64; 2]) -> Option<String> {
    let count = again[direction as usize];
    (count > 0).then(|| {
        format!(
            "the other direction, {}, is not drawn; it has {count} retransmission{}",
            packets.title(direction),
            if count == 1 { "" } else { "s" }
        )
    })
}
/// The direction with the greater count; `None` when both are 0.
fn direction_with_more([up, down]: [u64; 2]) -> Option<Direction> {
    (up > 0 || down > 0).then_some(if up > down { Direction::Up } else { Direction::Down })
}

/// One line about the retransmissions, the sender and the capture point.
fn panel_title(direction: &finding::Direction) -> String {
    let sender = match &direction.profile {
        Identification::Nothing => "not identified".into(),
        Identification::Profile(one) => one.profile.clone(),
        Identification::Several(several) => {
            let names: Vec<&str> = several.iter().map(|one| one.profile.as_str()).collect();
            match names.as_slice() {
                [first, second, _, ..] => {
                    format!("{first}, {second} or {} more", names.len() - 2)
                }
                _ => names.join(" or "),
            }
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
    let some: Vec<String> = Verdict::ALL
        .into_iter()
        .filter(|verdict| count(verdict) > 0)
        .map(|verdict| format!("{} {}", count(&verdict), verdict.name()))
        .collect();
    match some.is_empty() {
        true => "none".into(),
        false => some.join(", "),
    }
}

#[cfg(test)]
mod tests;
