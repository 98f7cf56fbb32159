//! Gathers the packets of each connection, and passes batches of whole connections on.
//!
//! Memory is bounded: a batch is passed on once it holds [`BATCH`] packets, and where more than
//! [`MOST_OPEN`] packets of open connections are held, the connection with most of them is given up.

use super::candidates::Candidate;
use crate::reread::{Sought, TakesPackets};
use recoup_trace::read::CapturedPacket;
use recoup_units::Direction;
use recoup_whatif::ConnectionPackets;
use std::collections::HashMap;
use std::mem::take;

/// Packets of a batch. Read and rerun, a packet takes up to 300 bytes.
const BATCH: usize = 1 << 18;

/// Packets of connections that are still open, about 100 bytes each.
const MOST_OPEN: usize = 1 << 21;

/// A connection whose packets were read.
pub(crate) struct Task {
    /// Its place among the candidates.
    pub candidate: usize,
    pub packets: ConnectionPackets,
}

/// A connection that is given up to bound memory: the reason's name and its words.
pub(crate) const TOO_LARGE: (&str, &str) =
    ("too_large", "its packets, and those of other open connections, take up too much memory");

/// Gathers packets, and has `take_batch` take each batch.
pub(crate) struct Gathering<F> {
    open: HashMap<usize, ConnectionPackets>,
    /// Packets of open connections.
    held: usize,
    batch: Vec<Task>,
    /// Packets of the batch.
    batched: usize,
    /// Connections given up, to bound memory.
    given_up: Vec<usize>,
    most_open: usize,
    take_batch: F,
}

/// The connections to read again, in the order of the candidates.
pub(super) fn sought(candidates: &[Candidate]) -> Vec<&Sought> {
    candidates.iter().map(|candidate| &candidate.sought).collect()
}

impl<F: FnMut(Vec<Task>)> Gathering<F> {
    /// Gathers the packets of connections.
    pub fn new(take_batch: F) -> Self {
        Self {
            open: HashMap::new(),
            held: 0,
            batch: Vec::new(),
            batched: 0,
            given_up: Vec::new(),
            most_open: MOST_OPEN,
            take_batch,
        }
    }

    /// Passes on the last batch. Returns how many connections were given up, to bound memory, and how
    /// many were not read to their end.
    pub fn finish(mut self) -> (u64, u64) {
        self.pass_on();
        (self.given_up.len() as u64, self.open.len() as u64)
    }

    fn pass_on(&mut self) {
        self.batched = 0;
        let batch = take(&mut self.batch);
        if !batch.is_empty() {
            (self.take_batch)(batch);
        }
    }

    /// Gives up the connection with most packets.
    #[cold]
    fn give_up_largest(&mut self) {
        let largest = self.open.iter().max_by_key(|(connection, packets)| (packets.len(), **connection));
        let Some(connection) = largest.map(|(connection, _)| *connection) else {
            return;
        };
        if let Some(packets) = self.open.remove(&connection) {
            self.held -= packets.len();
        }
        let place = self.given_up.partition_point(|other| *other < connection);
        self.given_up.insert(place, connection);
    }
}

impl<F: FnMut(Vec<Task>)> TakesPackets for Gathering<F> {
    fn packet(&mut self, connection: usize, direction: Direction, packet: &CapturedPacket) {
        if self.given_up.binary_search(&connection).is_ok() {
            return;
        }
        let packets = self.open.entry(connection).or_default();
        let before = packets.len();
        packets.push(packet, direction);
        self.held += packets.len() - before;
        if self.held > self.most_open {
            self.give_up_largest();
        }
    }

    fn last(&mut self, connection: usize) {
        let Some(packets) = self.open.remove(&connection) else {
            return;
        };
        self.held -= packets.len();
        self.batched += packets.len();
        self.batch.push(Task { candidate: connection, packets });
        if self.batched >= BATCH {
            self.pass_on();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recoup_trace::read::Packet;

    #[test]
    fn whole_connections_are_passed_on_and_memory_is_bounded() {
        let packet = CapturedPacket::from(&Packet::default());
        let mut passed = Vec::new();
        let mut gathering = Gathering::new(|batch: Vec<Task>| {
            let tasks = batch.iter().map(|task| (task.candidate, task.packets.len()));
            passed.extend(tasks);
        });
        gathering.most_open = 10;
        for i in 0..18 {
            // The first connection has half of the packets, the others a quarter each.
            gathering.packet([0, 1, 0, 2][i % 4], Direction::Up, &packet);
        }
        gathering.last(0);
        gathering.last(1);
        assert_eq!(gathering.held, 4);
        assert_eq!(gathering.finish(), (1, 1));
        assert_eq!(passed, [(1, 5)]);
    }
}
