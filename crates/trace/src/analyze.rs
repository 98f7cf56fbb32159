//! Captures in, findings out.

use crate::connections::Connections;
use crate::finding::{Connection, Retransmission};
use crate::read::{Counts, Packet, ReadError, Reader};
use recoup_units::Instant;
use std::panic::resume_unwind;
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

/// How a capture is analyzed.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Senders are taken to be of this profile; `None`: the best of those that are known.
    pub profile: Option<recoup_recovery::Profile>,
    /// A connection that is silent for so long is over.
    pub idle: Duration,
    /// Connections open at once; beyond these, the ones silent longest are let go.
    pub most_connections: usize,
    /// Threads beside the one that reads; 0: none.
    pub threads: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            profile: None,
            idle: Duration::from_secs(900),
            most_connections: 2_000_000,
            threads: std::thread::available_parallelism().map_or(1, |n| n.get().saturating_sub(1)),
        }
    }
}

/// Takes in what is found as connections end, in no particular order.
pub trait Findings: Send {
    /// A connection ended, with its retransmissions in the order of their frames.
    fn connection(&mut self, connection: Connection, retransmissions: &[Retransmission]);
}

/// Keeps all: for captures whose findings fit into memory.
#[derive(Debug, Default)]
pub struct Kept {
    /// Connections, in no order.
    pub connections: Vec<Connection>,
    /// Retransmissions, in no order.
    pub retransmissions: Vec<Retransmission>,
}

impl Kept {
    /// Puts both into order: connections by number, retransmissions by frame.
    pub fn sort(&mut self) {
        self.connections.sort_by_key(|c| c.id);
        self.retransmissions.sort_by_key(|r| r.frame);
    }
}

impl Findings for Kept {
    fn connection(&mut self, connection: Connection, retransmissions: &[Retransmission]) {
        self.connections.push(connection);
        self.retransmissions.extend_from_slice(retransmissions);
    }
}

/// Follows the connections of a capture, packet by packet.
#[derive(Debug)]
pub struct Analyzer<F> {
    connections: Connections,
    findings: F,
}

impl<F: Findings> Analyzer<F> {
    /// Nothing seen yet.
    pub fn new(settings: &Settings, findings: F) -> Self {
        Self {
            connections: Connections::new(settings),
            findings,
        }
    }

    /// Takes in the next packet of the capture.
    #[inline]
    pub fn push(&mut self, packet: &Packet) {
        self.connections.on_packet(packet, &mut self.findings);
    }

    /// The capture is over.
    pub fn finish(mut self) -> F {
        self.connections.finish(&mut self.findings);
        self.findings
    }
}

/// Analyzes a whole capture, on a thread beside the reading one where the settings say so. Packets that a
/// capture holds a little out of order are put into the order of their times.
///
/// `watch` is called every few thousand packets: it may show [`Reader::taken`], and by returning `false`
/// ends the reading; what was read till then is analyzed.
///
/// # Errors
/// Those of [`Reader::finish`].
pub fn analyze<F: Findings>(
    mut reader: Reader<'_>,
    settings: &Settings,
    findings: impl Fn() -> F,
    mut watch: impl FnMut(&Reader<'_>) -> bool,
) -> Result<(Counts, Vec<F>), ReadError> {
    let mut analyzer = Analyzer::new(settings, findings());
    let mut batches = Batches::default();
    if settings.threads == 0 {
        let mut batch = Vec::new();
        while watch(&reader) && batches.fill(|| reader.next().copied(), &mut batch) {
            batch.iter().for_each(|packet| analyzer.push(packet));
        }
        return Ok((reader.stop()?, vec![analyzer.finish()]));
    }
    let found = thread::scope(|scope| {
        let (full, to_analyze) = sync_channel::<Vec<Packet>>(AHEAD);
        let (empty, to_fill) = sync_channel::<Vec<Packet>>(AHEAD);
        let analysis = scope.spawn(move || {
            for batch in to_analyze {
                batch.iter().for_each(|packet| analyzer.push(packet));
                // Whoever reads may have come to the end.
                let _ = empty.try_send(batch);
            }
            analyzer.finish()
        });
        loop {
            let mut batch = to_fill.try_recv().unwrap_or_default();
            if !watch(&reader) || !batches.fill(|| reader.next().copied(), &mut batch) {
                break;
            }
            if full.send(batch).is_err() {
                break; // its thread is gone: it panicked
            }
        }
        drop(full);
        analysis.join()
    });
    let found = found.unwrap_or_else(|panic| resume_unwind(panic));
    Ok((reader.stop()?, vec![found]))
}

/// Packets handed over at once.
const BATCH: usize = 2048;

/// Batches read ahead of the analysis.
const AHEAD: usize = 8;

/// Packets held back to be sorted among those that come, once some came out of order.
const HELD: usize = 1024;

/// What lies further back is a clock that was set, not a packet late.
const LATE: Duration = Duration::from_secs(1);

/// Packets in batches, those little out of order sorted by time.
#[derive(Debug, Default)]
struct Batches {
    held: Vec<Packet>,
    latest: Instant,
    disordered: bool,
}

impl Batches {
    /// The next batch from `source` takes the place of what is in `batch`; `false` at the end.
    fn fill(
        &mut self,
        mut source: impl FnMut() -> Option<Packet>,
        batch: &mut Vec<Packet>,
    ) -> bool {
        batch.clear();
        batch.append(&mut self.held);
        while batch.len() < BATCH + HELD {
            let Some(packet) = source() else {
                self.sort(batch);
                return !batch.is_empty();
            };
            if packet.at < self.latest {
                if packet.at + LATE < self.latest {
                    self.sort(batch);
                    self.held.push(packet);
                    self.latest = packet.at;
                    return true;
                }
                self.disordered = true;
            }
            self.latest = self.latest.max(packet.at);
            batch.push(packet);
            if batch.len() == BATCH && !self.disordered {
                return true;
            }
        }
        self.sort(batch);
        self.held.extend(batch.drain(BATCH..));
        true
    }

    fn sort(&self, batch: &mut [Packet]) {
        if self.disordered {
            batch.sort_by_key(|packet| packet.at);
        }
    }
}

#[cfg(test)]
mod tests;
