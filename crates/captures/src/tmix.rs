//! Connection vectors of Tmix from a capture: what the applications wrote, when, and over which networks.

mod connection;

use crate::capture::{Capture, Progress};
use connection::Connection;
use recoup_sim::traffic::cvec::ConnectionVector;
use recoup_tcp::flow::Host;
use recoup_trace::analyze::ConnectionFilter;
use recoup_trace::read::{CapturedPacket, PacketSource, ReadError};
use recoup_units::Instant;
use recoup_wire::{Endpoints, Flags};
use std::collections::HashMap;
use std::time::Duration;

/// Connections without a packet for so long are over.
const IDLE: Duration = Duration::from_secs(15 * 60);

/// Segments between two looks for connections that are over.
const SWEEP: u64 = 1 << 16;

/// The vectors of a capture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extraction {
    /// In the order of their start, which counts from the first SYN of all.
    pub vectors: Vec<ConnectionVector>,
    /// Connections without their whole handshake in the capture, which are left out.
    pub without_handshake: u64,
    /// Connections among the vectors that were neither closed nor reset.
    pub open_at_end: u64,
    /// Notes on frames that were not read, a line each.
    pub notes: Vec<String>,
}

/// Makes vectors of the packets of a capture.
#[derive(Debug, Default)]
pub struct Extractor {
    /// By the ends, with the client as the source.
    open: HashMap<Endpoints, Connection>,
    /// Connections of which only later packets are in the capture, with the time of the last.
    headless: HashMap<Endpoints, Instant>,
    finished: Vec<Connection>,
    without_handshake: u64,
    packets: u64,
}

impl Extractor {
    /// Takes the next packet of the capture.
    pub fn packet(&mut self, packet: &CapturedPacket) {
        self.packets += 1;
        if self.packets.is_multiple_of(SWEEP) {
            self.end_idle(packet.at);
        }
        let flags = packet.segment.flags;
        let begins = flags.contains(Flags::SYN) && !flags.contains(Flags::ACK);
        let (ends, other_way) = (packet.endpoints, packet.endpoints.reverse());
        if begins {
            let is_other = self.open.get(&ends).is_none_or(|known| known.is_other(packet));
            if is_other {
                self.headless.remove(&ends);
                self.headless.remove(&other_way);
                self.finished.extend(self.open.remove(&other_way));
                let before = self.open.insert(ends, Connection::new(packet));
                self.finished.extend(before);
                return;
            }
        }
        if let Some(connection) = self.open.get_mut(&ends) {
            connection.packet(Host::Client, packet);
        } else if let Some(connection) = self.open.get_mut(&other_way) {
            connection.packet(Host::Server, packet);
        } else {
            self.headless(ends, packet.at);
        }
    }

    /// Counts a connection once of which only later packets are in the capture.
    fn headless(&mut self, ends: Endpoints, at: Instant) {
        let known = match self.headless.contains_key(&ends) {
            true => ends,
            false => ends.reverse(),
        };
        if self.headless.insert(known, at).is_none() {
            self.without_handshake += 1;
        }
    }

    fn end_idle(&mut self, now: Instant) {
        let is_idle = |last: Instant| now.since(last) > IDLE;
        let over = self.open.extract_if(|_, connection| is_idle(connection.last_at));
        self.finished.extend(over.map(|(_, connection)| connection));
        self.headless.retain(|_, last| !is_idle(*last));
    }

    /// The vectors of all packets.
    pub fn finish(mut self) -> Extraction {
        let open = self.open.drain().map(|(_, connection)| connection);
        self.finished.extend(open);
        let complete = self.finished.iter().filter(|one| one.is_established());
        let zero = complete.map(Connection::began).min().unwrap_or_default();
        let mut extraction = Extraction { without_handshake: self.without_handshake, ..Extraction::default() };
        // Connections that begin at the same time are in the order of their ports, whatever order a map has.
        self.finished.sort_by_key(|one| (one.began(), one.ends_key()));
        for (connection, id) in self.finished.iter().zip(1..) {
            match connection.vector(id, zero) {
                Some(vector) => {
                    extraction.open_at_end += u64::from(!connection.is_closed());
                    extraction.vectors.push(vector);
                }
                None => extraction.without_handshake += 1,
            }
        }
        extraction
    }
}

/// The vectors of the connections of a capture that the filter selects. When `progress` is stopped, they are those of the
/// packets read by then.
///
/// # Errors
/// When the capture has no frame of a known link type.
pub fn extract(
    capture: Capture<'_>,
    filter: Option<&dyn ConnectionFilter>,
    progress: &dyn Progress,
) -> Result<Extraction, ReadError> {
    /// The number of packets between two looks at the progress.
    const WATCH_INTERVAL: u64 = 4096;
    let mut source = capture.into_packets();
    let mut extractor = Extractor::default();
    let mut read = 0_u64;
    while let Some(packet) = source.next_segment() {
        if filter.is_none_or(|filter| filter.selects(&packet.endpoints)) {
            extractor.packet(&packet);
        }
        read += 1;
        if read.is_multiple_of(WATCH_INTERVAL) && !progress.reads(source.taken()) {
            break;
        }
    }
    Ok(Extraction { notes: source.stop()?.notes(), ..extractor.finish() })
}

#[cfg(test)]
mod tests;
