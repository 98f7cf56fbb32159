//! What a capture's analysis gives to a comparison, in memory that does not grow with the capture.

use super::alike::Population;
use super::cells::{Cells, Place};
use super::sums::Sums;
use crate::analysis::{Collector, Vantages, nearest_to_senders, view};
use crate::explain::main_direction;
use crate::merge_fields;
use crate::reread::Sought;
use crate::study::Merge;
use crate::whatif::{MOST, mixed, suits};
use recoup_trace::analyze::Findings;
use recoup_trace::finding::{Connection, HeldConnections, Retransmission, Revision};
use recoup_units::Instant;
use std::mem::take;

/// A connection whose requests are read.
#[derive(Debug)]
pub(super) struct Read {
    pub sought: Sought,
    /// Whether `whatif` could run it again.
    pub suits: bool,
}

/// Sums over a capture's connections.
#[derive(Debug, Default)]
pub(super) struct Collected {
    pub cells: Cells,
    pub population: Population,
    pub connections: u64,
    /// The times of the first and the last packet.
    pub span: Option<(Instant, Instant)>,
    /// Connections whose requests are read: of many, a random sample, the same in each run.
    pub read: Vec<Read>,
    /// Notes for the user, besides those on the capture.
    pub notes: Vec<String>,
    vantages: Vantages,
    held: HeldConnections,
}

impl Collected {
    /// Adds a connection whose verdicts are final.
    fn add(&mut self, connection: Connection, rows: &[Retransmission]) {
        self.span.merge(&Some((connection.begun, connection.ended)));
        let main = main_direction(&connection);
        if connection.capture_point.is_nearest_to_sender(main) {
            self.population.add(&connection);
            let suits = suits(&connection, &connection.directions[main]).is_ok();
            self.read.push(Read { sought: Sought::of(&connection), suits });
            // Sorting once per doubling costs little per connection.
            if self.read.len() >= 2 * MOST {
                self.keep_sample();
            }
        }
        let (connection, _) = nearest_to_senders(connection, rows);
        let sums = Sums::of(&connection);
        self.connections += sums.connections;
        self.cells.add(Place::of(&connection), &sums);
    }

    /// Keeps those of the smallest hashes, so that neither the order nor the number of threads matters.
    fn keep_sample(&mut self) {
        let key = |read: &Read| (read.sought.id, read.sought.point.number);
        if self.read.len() > MOST {
            self.read.sort_unstable_by_key(|read| (mixed(read.sought.id), read.sought.point.number));
            self.read.truncate(MOST);
        }
        self.read.sort_unstable_by_key(key);
    }
}

impl Findings for Collected {
    fn connection(&mut self, connection: Connection, rows: &[Retransmission]) {
        self.vantages.add(&connection);
        let mut held = take(&mut self.held);
        held.add(connection, rows, |connection, rows| self.add(connection, rows));
        self.held = held;
    }

    fn revision(&mut self, revision: &Revision) {
        self.vantages.revised += u64::from(self.held.revise(revision));
    }
}

view!(Collected: connections, vantages);

impl Collector for Collected {
    fn merge(&mut self, other: Self) {
        merge_fields!(self, other: cells, population, connections, span, vantages);
        self.read.extend(other.read);
        self.held.merge(other.held);
        self.keep_sample();
    }

    fn order(&mut self) {
        let held = take(&mut self.held);
        held.release_all(|connection, rows| self.add(connection, rows));
        self.keep_sample();
    }
}
