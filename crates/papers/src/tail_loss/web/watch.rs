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

/// Whose completion times count, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// An object, if one of its last four segments was sent again: a flow of the paper (§3.3) is an object's burst.
    Object,
    /// An object, if one of its last four segments was lost when it was first sent.
    ObjectByLoss,
    /// A connection, if one of the last four segments of one of its objects was sent again. It counts with all its objects.
    Connection,
    /// A connection, if one of these segments was lost when it was first sent.
    ConnectionByLoss,
}

impl Selection {
    /// All selections, the paper's first.
    pub const ALL: [Self; 4] = [Self::Object, Self::ObjectByLoss, Self::Connection, Self::ConnectionByLoss];

    /// Whether a loss selects, and not a retransmission.
    pub const fn is_by_loss(self) -> bool {
        matches!(self, Self::ObjectByLoss | Self::ConnectionByLoss)
    }

    /// Whether a flow is an object's burst, and not a connection.
    pub const fn is_per_object(self) -> bool {
        matches!(self, Self::Object | Self::ObjectByLoss)
    }
}

impl Watch {
    /// Whether one of the last four segments of this object, of `bytes` bytes in segments of `mss`, was sent again, or lost.
    pub fn touches_tail(&self, selection: Selection, fetch: &Fetch, bytes: u64, mss: u64) -> bool {
        let Some(connection) = self.connections.get(fetch.connection as usize) else {
            return false;
        };
        // An object is written when all bytes before it have arrived, so its segments begin with it.
        let before_tail = bytes.div_ceil(mss).saturating_sub(4) * mss;
        let (begin, end) = (fetch.offset + before_tail, fetch.offset + bytes);
        let spans = if selection.is_by_loss() { &connection.lost } else { &connection.again };
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
