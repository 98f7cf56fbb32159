//! Connection vectors of Tmix from a capture: what the applications wrote, when, and over which networks.

mod connection;
mod sent_bytes;

use crate::capture::{Capture, Progress};
use connection::Connection;
pub(crate) use connection::QUIET;
use recoup_sim::traffic::cvec::ConnectionVector;
use recoup_tcp::flow::Host;
use recoup_trace::analyze::ConnectionFilter;
use recoup_trace::read::{CapturedPacket, PacketSource, ReadError};
use recoup_units::Instant;
use recoup_wire::{Endpoints, Flags};
pub(crate) use sent_bytes::{Data, SentBytes};
use std::collections::{HashMap, HashSet, VecDeque};
use std::net::SocketAddr;
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

/// The most connections that are kept before their handshake is whole. A flood of SYNs displaces the oldest.
const MOST_HALF_OPEN: usize = 1 << 16;

/// The most ends that [`Headless`] keeps in each of its two sets.
const MOST_HEADLESS: usize = 1 << 16;

/// Makes vectors of the packets of a capture, in memory for its vectors and a limited number of other connections.
#[derive(Debug, Default)]
pub struct Extractor {
    /// By the ends, with the client as the source.
    open: HashMap<Endpoints, Connection>,
    /// The latest connections to begin, in that order: all of those whose handshake is not whole are among them.
    beginning: VecDeque<(Endpoints, Instant)>,
    headless: Headless,
    finished: Vec<Finished>,
    without_handshake: u64,
    /// Whether connections were left out because too many were half open.
    is_flooded: bool,
    packets: u64,
}

/// Connections of which only later packets are in the capture.
#[derive(Debug, Default)]
struct Headless {
    /// The ends that were seen of late, and before. When the first set is full, the second is forgotten.
    latest: HashSet<Endpoints>,
    before: HashSet<Endpoints>,
}

impl Headless {
    /// Whether a packet is the first of its connection.
    fn is_new(&mut self, ends: Endpoints) -> bool {
        let known = |set: &HashSet<Endpoints>| set.contains(&ends) || set.contains(&ends.reverse());
        if known(&self.latest) {
            return false;
        }
        let is_new = !known(&self.before);
        if self.latest.len() >= MOST_HEADLESS {
            self.before = std::mem::take(&mut self.latest);
        }
        self.latest.insert(ends);
        is_new
    }

    fn forget(&mut self, ends: Endpoints) {
        for set in [&mut self.latest, &mut self.before] {
            set.remove(&ends);
            set.remove(&ends.reverse());
        }
    }
}

/// A connection that is over, and its vector, whose start counts from [`Instant::ZERO`].
#[derive(Debug)]
struct Finished {
    began: Instant,
    ends: (SocketAddr, SocketAddr),
    is_closed: bool,
    vector: ConnectionVector,
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
        if begins && self.open.get(&ends).is_none_or(|known| known.is_other(packet)) {
            self.begin(packet);
        } else if let Some(connection) = self.open.get_mut(&ends) {
            connection.packet(Host::Client, packet);
        } else if let Some(connection) = self.open.get_mut(&other_way) {
            connection.packet(Host::Server, packet);
        } else {
            self.without_handshake += u64::from(self.headless.is_new(ends));
        }
    }

    fn begin(&mut self, syn: &CapturedPacket) {
        let ends = syn.endpoints;
        self.headless.forget(ends);
        let before = [self.open.remove(&ends.reverse()), self.open.insert(ends, Connection::new(syn))];
        before.into_iter().flatten().for_each(|connection| self.end(&connection));
        self.beginning.push_back((ends, syn.at));
        if self.beginning.len() <= MOST_HALF_OPEN {
            return;
        }
        let Some((oldest, began)) = self.beginning.pop_front() else {
            return;
        };
        let is_half_open = |connection: &Connection| connection.began() == began && !connection.is_established();
        if self.open.get(&oldest).is_some_and(is_half_open) {
            self.open.remove(&oldest);
            self.without_handshake += 1;
            self.is_flooded = true;
        }
    }

    fn end(&mut self, connection: &Connection) {
        match connection.vector() {
            Some(vector) => self.finished.push(Finished {
                began: connection.began(),
                ends: connection.ends_key(),
                is_closed: connection.is_closed(),
                vector,
            }),
            None => self.without_handshake += 1,
        }
    }

    fn end_idle(&mut self, now: Instant) {
        let over = self.open.extract_if(|_, connection| now.since(connection.last_at) > IDLE);
        let over: Vec<_> = over.map(|(_, connection)| connection).collect();
        over.iter().for_each(|connection| self.end(connection));
    }

    /// The vectors of all packets.
    pub fn finish(mut self) -> Extraction {
        let open = std::mem::take(&mut self.open);
        open.values().for_each(|connection| self.end(connection));
        // Connections that begin at the same time are in the order of their ports, whatever order a map has.
        self.finished.sort_by_key(|one| (one.began, one.ends));
        let zero = self.finished.first().map_or(Duration::ZERO, |first| first.vector.start);
        let open_at_end = self.finished.iter().filter(|one| !one.is_closed).count() as u64;
        let numbered = self.finished.into_iter().zip(1..);
        let vectors = numbered.map(|(one, id)| ConnectionVector { id, start: one.vector.start - zero, ..one.vector });
        let flood =
            format!("more than {MOST_HALF_OPEN} connections were half open at a time: the oldest of them are left out");
        Extraction {
            vectors: vectors.collect(),
            without_handshake: self.without_handshake,
            open_at_end,
            notes: self.is_flooded.then_some(flood).into_iter().collect(),
        }
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
    let mut extraction = extractor.finish();
    extraction.notes.extend(source.stop()?.notes());
    Ok(extraction)
}

#[cfg(test)]
mod tests;
