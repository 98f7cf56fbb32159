//! Collects each connection of the analysis, to be followed in the second reading.

use crate::analysis::{Collector, Vantages, view};
use crate::reread::Sought;
use crate::study::slp::Known;
use recoup_trace::analyze::Findings;
use recoup_trace::finding::{Closing, Connection, Opening, Retransmission, Revision};

/// A connection that is read again.
#[derive(Debug)]
pub struct FoundConnection {
    pub known: Known,
    pub(crate) sought: Sought,
    /// The connection ends before the capture does.
    pub is_over: bool,
    /// Something was sent twice: it is followed packet by packet.
    pub has_repeats: bool,
}

/// Collects all connections.
#[derive(Debug, Default)]
pub struct Found {
    /// Ordered by number and capture point.
    pub rows: Vec<FoundConnection>,
    /// Connections, each counted once.
    pub connections: u64,
    /// Those with one direction in the capture.
    pub one_way: u64,
    /// Those whose SYN was captured.
    pub flows: u64,
    pub vantages: Vantages,
}

impl Findings for Found {
    fn connection(&mut self, connection: Connection, retransmissions: &[Retransmission]) {
        self.vantages.add(&connection);
        let absent = connection.directions.each_ref().map(|way| way.absent);
        let is_one_way = absent.contains(&true);
        // A merged file has the connection once for each capture point.
        if connection.capture_point.number == 0 {
            self.connections += 1;
            self.one_way += u64::from(is_one_way);
            let has_syn = connection.opening == Opening::Handshake && !absent[0];
            self.flows += u64::from(has_syn);
        }
        let duplicates: u64 = connection.directions.iter().map(|way| way.duplicates).sum();
        let sought = Sought::of(&connection);
        self.rows.push(FoundConnection {
            known: Known {
                connection: connection.id,
                is_one_way,
                counted: [0, 1].map(|direction| sought.point.is_nearest_to_sender(direction)),
                triggers: retransmissions.iter().map(|row| (row.frame, row.triggers.first())).collect(),
            },
            is_over: !matches!(connection.closing, Closing::CaptureEnd | Closing::Evicted),
            has_repeats: !retransmissions.is_empty() || duplicates > 0,
            sought,
        });
    }

    fn revision(&mut self, _: &Revision) {
        self.vantages.revised += 1;
    }
}

view!(Found: connections, vantages);

impl Collector for Found {
    fn merge(&mut self, other: Self) {
        self.rows.extend(other.rows);
        merge_fields!(self, other: connections, one_way, flows, vantages);
    }

    fn order(&mut self) {
        self.rows.sort_unstable_by_key(|row| (row.known.connection, row.sought.point.number));
    }
}
