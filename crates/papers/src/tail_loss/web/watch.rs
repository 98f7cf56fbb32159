//! Watches the connections of a download: which bytes were lost, and which were sent again.

use crate::prelude::*;
use recoup_path::DropCause;
use recoup_sim::traffic::Mix;
use recoup_sim::traffic::web::{Browser, Fetch};

/// Watches what the servers of a download send.
#[derive(Debug, Default)]
pub struct Watch {
    /// By the number of the connection.
    connections: Vec<Connection>,
    /// Data segments sent by both hosts, retransmissions included.
    pub segments_sent: u64,
    /// Spurious retransmissions of data.
    pub spurious: u64,
    /// Packets that the servers sent.
    pub packets: u64,
    /// Those of them that the channel lost.
    pub lost: u64,
}

/// The bytes that the server of a connection sent. They count from its first one.
#[derive(Debug, Default)]
struct Connection {
    first: Option<SeqNumber>,
    /// The bytes sent again: begin and end of each retransmission.
    again: Vec<(u64, u64)>,
    /// The bytes lost when they were first sent.
    lost: Vec<(u64, u64)>,
}

/// Why a download's connection is selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// One of the last four segments of an object was sent again (§3.3).
    Retransmission,
    /// One of the last four segments of an object was lost when it was first sent.
    Loss,
}

impl Selection {
    /// Both selections, the paper's first.
    pub const ALL: [Self; 2] = [Self::Retransmission, Self::Loss];
}

impl Watch {
    /// Whether a connection is selected because of this object, of `bytes` bytes in segments of `mss`.
    pub fn touches_tail(&self, selection: Selection, fetch: &Fetch, bytes: u64, mss: u64) -> bool {
        let Some(connection) = self.connections.get(fetch.connection as usize) else {
            return false;
        };
        // An object is written when all bytes before it have arrived, so its segments begin with it.
        let before_tail = bytes.div_ceil(mss).saturating_sub(4) * mss;
        let (begin, end) = (fetch.offset + before_tail, fetch.offset + bytes);
        let spans = match selection {
            Selection::Retransmission => &connection.again,
            Selection::Loss => &connection.lost,
        };
        spans.iter().any(|span| span.0 < end && begin < span.1)
    }
}

impl Observer for Watch {
    const WANTS_EVENTS: bool = false;

    fn on_packet(&mut self, _: Instant, point: Point, direction: Direction, packet: &Packet) {
        if direction == Direction::Down {
            self.packets += u64::from(point == Point::Sent);
            self.lost += u64::from(point == Point::Dropped(DropCause::Loss));
        }
        let segment = &packet.segment;
        if direction != Direction::Down || segment.payload_len == 0 || point == Point::Arrived {
            return;
        }
        let (_, number) = Mix::<Browser>::origin(packet.flow);
        let number = number as usize;
        if self.connections.len() <= number {
            self.connections.resize_with(number + 1, Connection::default);
        }
        let on = &mut self.connections[number];
        let first = *on.first.get_or_insert(segment.seq);
        let begin = u64::from(segment.seq.since(first));
        let span = (begin, begin + u64::from(segment.payload_len));
        match point {
            Point::Sent if !packet.is_first => on.again.push(span),
            Point::Dropped(_) if packet.is_first => on.lost.push(span),
            Point::Sent | Point::Dropped(_) | Point::Arrived => {}
        }
    }

    fn on_flow_end(&mut self, _: Instant, _: FlowId, record: &FlowRecord) {
        self.segments_sent += record.segments_sent;
        self.spurious += record.spurious_data;
    }
}
