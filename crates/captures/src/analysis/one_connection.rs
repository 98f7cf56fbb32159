//! One connection of a capture, for a drawing of it.

use super::findings::Collector;
use super::summary::Vantages;
use crate::merge_fields;
use recoup_trace::analyze::Findings;
use recoup_trace::finding::{Connection, Retransmission, Revision};
use recoup_trace::read::{Counts, LeftOut, Tunnel};
use recoup_wire::Endpoints;
use std::cmp::Reverse;

/// The number of connections listed to choose from: about a screenful.
const LISTED: usize = 20;

/// A connection and its retransmissions, ordered by frame.
pub type ConnectionRow = (Connection, Vec<Retransmission>);

/// Collects one connection of a capture: that of a number, or the only one with data.
#[derive(Debug, Default)]
pub struct OneConnection {
    number: Option<u64>,
    /// The connection of the number, or else the first with data.
    chosen: Option<ConnectionRow>,
    /// The first connection without data, if no number was given.
    dataless: Option<ConnectionRow>,
    /// How many numbers connections have.
    numbers: u64,
    /// How many of them have data.
    with_data: u64,
    /// The connections with the most data, and one more.
    largest: Vec<ListedConnection>,
    connections: u64,
    vantages: Vantages,
}

/// A connection in the list that users choose from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedConnection {
    /// Its number.
    pub id: u64,
    /// Client and server.
    pub endpoints: Endpoints,
    /// The tunnel that tells it from connections between the same ends.
    pub tunnel: Option<Tunnel>,
    /// Segments with data, SYN or FIN that the client sent, and those that the server sent.
    pub segments: [u64; 2],
    /// Payload bytes, retransmissions included.
    pub bytes: [u64; 2],
    /// Retransmitted segments.
    pub retransmissions: [u64; 2],
}

impl ListedConnection {
    fn of(connection: &Connection) -> Self {
        let directions = connection.directions.each_ref();
        Self {
            id: connection.id,
            endpoints: connection.endpoints,
            tunnel: connection.tunnel(),
            segments: directions.map(|direction| direction.segments),
            bytes: directions.map(|direction| direction.bytes),
            retransmissions: directions.map(|direction| direction.retransmissions.total()),
        }
    }

    /// Payload bytes of both directions.
    pub fn data(&self) -> u64 {
        self.bytes.iter().sum()
    }
}

impl OneConnection {
    /// Collects the connection with this number, from 0; `None`: the only connection with data, or else
    /// the only connection.
    pub fn of(number: Option<u64>) -> Self {
        let usual = Self::default();
        Self { number, ..usual }
    }

    /// The connection; `None` if the capture has no connection with the number, or several to choose
    /// from.
    pub fn row(&self) -> Option<&ConnectionRow> {
        match (self.number, self.with_data) {
            (Some(_), _) | (None, 1) => self.chosen.as_ref(),
            (None, 0) if self.numbers == 1 => self.dataless.as_ref(),
            _ => None,
        }
    }

    /// How many connections the capture has. A connection seen at several capture points counts once.
    pub fn numbers(&self) -> u64 {
        self.numbers
    }

    /// Says which connections there are. `counts` are those of the analysis.
    pub fn existing(&self, counts: &Counts) -> String {
        match self.numbers {
            _ if counts.left_out != LeftOut::default() => {
                "not in the part that the filter and the time window choose".into()
            }
            0 => "there is none".into(),
            1 => "there is one, number 0".into(),
            n => format!("there are {n}, from 0 to {}", n - 1),
        }
    }

    /// The connections with the most data, those with most first, and the data of the largest of the
    /// others, if there are more.
    pub fn largest(&self) -> (&[ListedConnection], Option<u64>) {
        let (listed, left_out) = self.largest.split_at(self.largest.len().min(LISTED));
        (listed, left_out.first().map(ListedConnection::data))
    }

    fn list(&mut self, one: ListedConnection) {
        let key = |one: &ListedConnection| (Reverse(one.data()), one.id);
        let place = self.largest.partition_point(|other| key(other) < key(&one));
        if place <= LISTED {
            self.largest.insert(place, one);
            self.largest.truncate(LISTED + 1);
        }
    }
}

/// Takes `new` if nothing was chosen yet. Of the capture points of one connection, takes the nearest to
/// the sender of most data.
fn choose(chosen: &mut Option<ConnectionRow>, new: &Connection, rows: &[Retransmission]) {
    let nearest = |connection: &Connection| {
        let [up, down] = connection.directions.each_ref().map(|way| way.bytes);
        let point = &connection.capture_point;
        point.is_nearest_to_sender(usize::from(down >= up))
    };
    let better = match &chosen {
        None => true,
        Some((old, _)) => old.id == new.id && nearest(new) && !nearest(old),
    };
    if better {
        *chosen = Some((new.clone(), rows.to_vec()));
    }
}

impl Findings for OneConnection {
    fn connection(&mut self, connection: Connection, retransmissions: &[Retransmission]) {
        self.connections += 1;
        self.vantages.add(&connection);
        let listed = ListedConnection::of(&connection);
        let has_data = listed.data() > 0;
        if connection.capture_point.number == 0 {
            self.numbers += 1;
            self.with_data += u64::from(has_data);
            self.list(listed);
        }
        match self.number {
            Some(number) if number != connection.id => {}
            None if !has_data => choose(&mut self.dataless, &connection, retransmissions),
            _ => choose(&mut self.chosen, &connection, retransmissions),
        }
    }

    fn revision(&mut self, revision: &Revision) {
        self.vantages.revised += 1;
        for (connection, rows) in [&mut self.chosen, &mut self.dataless].into_iter().flatten() {
            if revision.retransmission.connection_key() == connection.key() && revision.apply(rows) {
                revision.recount(connection);
            }
        }
    }
}

view!(OneConnection: connections, vantages);

impl Collector for OneConnection {
    const READS_QLOG: bool = true;

    fn merge(&mut self, other: Self) {
        merge_fields!(self, other: connections, numbers, with_data, vantages);
        other.largest.into_iter().for_each(|one| self.list(one));
        if let Some((connection, rows)) = &other.chosen {
            choose(&mut self.chosen, connection, rows);
        }
        if let Some((connection, rows)) = &other.dataless {
            choose(&mut self.dataless, connection, rows);
        }
    }
}
