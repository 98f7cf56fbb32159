//! Writes packet captures of simulated flows, taken at both ends.
//!
//! The server's capture has the packets the server sent, when they left, and the packets it received,
//! when they arrived. The client's capture is alike, so a packet that the path dropped is in the
//! sender's file only. The files are classic pcap with nanosecond timestamps. They hold raw IPv4
//! packets with payload and correct checksums.
//!
//! | what            | in the capture                                                           |
//! |-----------------|--------------------------------------------------------------------------|
//! | server          | 192.0.2.1, port 80 (RFC 5737)                                            |
//! | client          | 198.51.100.1 with another port for each flow, 60,000 flows per address; addresses repeat after 254 (15,240,000 flows) |
//! | time            | instant 0 of the first flow is 2000-01-01 00:00:00 UTC; each later flow starts at the full second after the last packet of the flow before it, so time never runs backwards. Flows that run together begin when they do |
//! | payload         | lines of 16 bytes, each with its own offset in the stream in hexadecimal, so a retransmission carries the same bytes |
//! | identification  | counts up per sender; a duplicate made by the network keeps its original's |
//! | damaged packet  | arrives with one bit flipped, so its checksum is wrong. The bit is chosen uniformly from the TCP segment without its ports, data offset and flags, so the packet's flow can still be recognized |

mod file;

use file::CaptureFile;
use recoup_recovery::Event;
use recoup_sim::{Observer, Packet, Point};
use recoup_support::output_file::OutputError;
use recoup_tcp::flow::Host;
use recoup_units::{Direction, FlowId, Instant};
use recoup_wire::{EncodeError, Endpoints, Flags, Payload, SeqNumber, encode};
use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;

const SERVER: (Ipv4Addr, u16) = (Ipv4Addr::new(192, 0, 2, 1), 80);
/// The network of the clients' addresses, and the number of addresses used.
const CLIENTS: ([u8; 3], u64) = ([198, 51, 100], 254);
const FLOWS_PER_CLIENT: u64 = 60_000;
const LOWEST_PORT: u64 = 1024;
/// The first flow's port, from Linux's ephemeral range, so tools do not guess a protocol from it.
const FIRST_PORT: u64 = 32_768;

/// 2000-01-01 00:00:00 UTC, because some tools treat times near 1970 as missing.
const EPOCH: Duration = Duration::from_secs(946_684_800);

const IPV4_HEADER_LEN: usize = 20;

/// Why a capture could not be written.
#[derive(Debug, Error)]
pub enum CaptureError {
    /// A directory or file could not be created, written or renamed.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// No IPv4 packet can carry a segment.
    #[error("cannot write `{}`: flow {}: {source}", .path.display(), .flow.0)]
    Packet {
        /// The file's final name.
        path: PathBuf,
        /// The segment's flow.
        flow: FlowId,
        /// The reason.
        source: EncodeError,
    },
}

/// The names of the two captures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturePaths {
    /// The capture taken at the server.
    pub server: PathBuf,
    /// The capture taken at the client.
    pub client: PathBuf,
}

impl CapturePaths {
    /// `dir/name-sender.pcap` for the server, which sends most of the data, and
    /// `dir/name-receiver.pcap` for the client. Characters of `name` that some systems do not allow in
    /// file names become `_`.
    pub fn new(dir: &Path, name: &str) -> Self {
        let plain = |c: char| match c {
            '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|' => '_',
            c if c.is_control() => '_',
            c => c,
        };
        let name: String = name.chars().map(plain).collect();
        Self { server: dir.join(format!("{name}-sender.pcap")), client: dir.join(format!("{name}-receiver.pcap")) }
    }
}

/// Writes the packets of the flows it observes to two capture files.
///
/// The files appear under their names when [`finish`](Self::finish) has completed them. Until then, or
/// if anything fails, existing files are left alone.
#[derive(Debug)]
pub struct Capture {
    server: CaptureFile,
    client: CaptureFile,
    order: Order,
    flows: HashMap<FlowId, CapturedFlow>,
    /// Flows begun so far.
    begun: u64,
    /// The earliest start of the next flow in the files, counted from the epoch.
    next_start: Duration,
    /// The numbers of identifications that earlier flows used, of the client and the server.
    ids: [u64; 2],
    payload: Vec<u8>,
    packet: Vec<u8>,
    error: Option<CaptureError>,
}

/// The order of the flows that an observer sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// One begins when the one before it has ended; each begins at instant 0.
    OneByOne,
    /// Several run at a time, by one clock.
    Together,
}

/// A flow being captured.
#[derive(Clone, Copy, Debug)]
struct CapturedFlow {
    /// Decides its client's address and port.
    number: u64,
    /// Its instant 0 in the files, counted from the epoch.
    start: Duration,
    /// The time of its last packet.
    now: Instant,
    /// The initial sequence numbers of the client and the server.
    isns: [SeqNumber; 2],
    /// The numbers of packets sent by the client and the server.
    sent: [u64; 2],
}

impl Capture {
    /// Starts two captures. Missing directories are created.
    ///
    /// # Errors
    /// When a directory or a file cannot be created.
    pub fn create(paths: &CapturePaths) -> Result<Self, CaptureError> {
        Ok(Self {
            server: CaptureFile::create(&paths.server, EPOCH)?,
            client: CaptureFile::create(&paths.client, EPOCH)?,
            order: Order::OneByOne,
            flows: HashMap::new(),
            begun: 0,
            next_start: Duration::ZERO,
            ids: [0; 2],
            payload: Vec::new(),
            packet: Vec::new(),
            error: None,
        })
    }

    /// The flows follow one another in this order, and not one by one.
    #[must_use]
    pub fn ordered(self, order: Order) -> Self {
        Self { order, ..self }
    }

    /// Completes both files.
    ///
    /// # Errors
    /// The first error since the start. Then neither file exists, unless it was the renaming of the
    /// second that failed.
    pub fn finish(self) -> Result<(), CaptureError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let (server, client) = (self.server.complete()?, self.client.complete()?);
        server.publish()?;
        Ok(client.publish()?)
    }

    fn end_flow(&mut self) {
        let Some((_, flow)) = self.flows.drain().next() else {
            return;
        };
        let end = flow.start + flow.now.since(Instant::ZERO);
        self.next_start = Duration::from_secs(end.as_secs() + 1);
        for (id, sent) in self.ids.iter_mut().zip(flow.sent) {
            *id += sent;
        }
    }

    /// The flow of `packet`, which `host` sent or received.
    fn flow(&mut self, now: Instant, host: Host, direction: Direction, packet: &Packet) -> CapturedFlow {
        // A client's first packet opens a flow.
        let opens = (host, direction, packet.ordinal) == (Host::Client, Direction::Up, 0);
        let number = match self.order {
            Order::OneByOne => packet.flow.0,
            Order::Together => self.begun,
        };
        if opens {
            self.begun += 1;
            if self.order == Order::OneByOne {
                self.end_flow();
            }
        }
        let start = self.next_start;
        let flow = self.flows.entry(packet.flow).or_insert(CapturedFlow {
            number,
            start,
            now,
            isns: [SeqNumber(0); 2],
            sent: [0; 2],
        });
        let sender = direction as usize;
        flow.now = now;
        flow.sent[sender] = flow.sent[sender].max(packet.ordinal + 1);
        if packet.segment.flags.contains(Flags::SYN) {
            flow.isns[sender] = packet.segment.seq;
        }
        *flow
    }

    /// Writes `packet` as seen by `host`.
    fn write(&mut self, now: Instant, host: Host, direction: Direction, packet: &Packet) -> Result<(), CaptureError> {
        let flow = self.flow(now, host, direction, packet);
        let (sender, segment) = (direction as usize, &packet.segment);
        // Data begins after the SYN. The offset, and with it the pattern, is modulo 2^32 like the
        // sequence number.
        let syn = u32::from(segment.flags.contains(Flags::SYN));
        let offset = (segment.seq + syn).since(flow.isns[sender] + 1);
        fill(offset, segment.payload_len, &mut self.payload);
        self.packet.clear();
        let file = match host {
            Host::Client => &mut self.client,
            Host::Server => &mut self.server,
        };
        encode(
            segment,
            &endpoints(flow.number, direction),
            // Truncation is intended: identifications repeat after 2^16 packets (RFC 6864 §4.1).
            (self.ids[sender] + packet.ordinal) as u16,
            Payload::Bytes(&self.payload),
            &mut self.packet,
        )
        .map_err(|source| CaptureError::Packet {
            path: file.path().to_path_buf(),
            flow: packet.flow,
            source,
        })?;
        if let Some(draw) = packet.damage {
            damage(&mut self.packet[IPV4_HEADER_LEN..], draw);
        }
        file.write(now + flow.start, &self.packet)
    }
}

impl Observer for Capture {
    const WANTS_EVENTS: bool = false;

    fn on_packet(&mut self, now: Instant, point: Point, direction: Direction, packet: &Packet) {
        let host = match (point, direction) {
            (Point::Sent, Direction::Up) | (Point::Arrived, Direction::Down) => Host::Client,
            (Point::Sent, Direction::Down) | (Point::Arrived, Direction::Up) => Host::Server,
            (Point::Dropped(_), _) => return,
        };
        if self.error.is_none() {
            self.error = self.write(now, host, direction, packet).err();
        }
    }

    fn on_event(&mut self, _: Instant, _: FlowId, _: Host, _: &Event) {}
}

/// The addresses and ports of the packets of flow number `flow` in `direction`.
fn endpoints(flow: u64, direction: Direction) -> Endpoints {
    let ([a, b, c], addresses) = CLIENTS;
    // Each remainder fits its type.
    let host = 1 + (flow / FLOWS_PER_CLIENT % addresses) as u8;
    let port = LOWEST_PORT + (FIRST_PORT - LOWEST_PORT + flow) % FLOWS_PER_CLIENT;
    let up =
        Endpoints { src: SocketAddr::from((Ipv4Addr::new(a, b, c, host), port as u16)), dst: SocketAddr::from(SERVER) };
    match direction {
        Direction::Up => up,
        Direction::Down => up.reverse(),
    }
}

/// Makes `payload` the `len` bytes of the stream from `offset` on. The stream consists of lines of 15
/// hexadecimal digits: the offset of the line's first byte.
fn fill(offset: u32, len: u32, payload: &mut Vec<u8>) {
    const LINE: usize = 16;
    // No packet carries more.
    let len = len.min(u32::from(u16::MAX)) as usize;
    let within = offset as usize % LINE;
    let mut line = offset - within as u32;
    payload.clear();
    while payload.len() < within + len {
        let mut text = *b"000000000000000\n";
        let (mut rest, mut place) = (line, LINE - 1);
        while rest > 0 {
            place -= 1;
            text[place] = b"0123456789abcdef"[(rest & 0xf) as usize];
            rest >>= 4;
        }
        payload.extend_from_slice(&text);
        line = line.wrapping_add(LINE as u32);
    }
    payload.drain(..within);
    payload.truncate(len);
}

/// Flips the bit of a TCP segment that `draw` selects.
///
/// The checksum always detects one flipped bit. The bit changes the sum of 16-bit words by a power of
/// two, which is never a multiple of 2^16 − 1.
fn damage(segment: &mut [u8], draw: u64) {
    // Ports (bytes 0 to 3), data offset and flags (bytes 12 and 13) stay as they are.
    const SPARED: usize = 6;
    let bits = 8 * segment.len().saturating_sub(SPARED);
    let bit = ((u128::from(draw) * bits as u128) >> 64) as usize;
    let byte = match bit / 8 {
        byte @ 0..8 => byte + 4,
        byte => byte + SPARED,
    };
    if let Some(byte) = segment.get_mut(byte) {
        *byte ^= 1 << (bit % 8);
    }
}

#[cfg(test)]
mod tests;
