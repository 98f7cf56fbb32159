//! A capture of a busy server's traffic, of any length. A few thousand simulated flows are repeated
//! with other addresses and ports; thousands of them are open at once.
//!
//! The capture is a classic one in microseconds, with 128 bytes of each Ethernet frame, as `tcpdump
//! -s 128` writes it on the server.

mod draw;
mod flows;

use draw::{Draws, Purpose};
use flows::Flow;
use pcap_file::{
    DataLink, Endianness, PcapError, TsResolution,
    pcap::{PcapHeader, PcapPacket, PcapWriter},
};
use recoup_units::Direction;
use recoup_wire::{Endpoints, IpVersion, Payload, encode};
use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    io::{self, BufRead, BufReader, Read, Seek, Write},
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    time::Duration,
};

/// Bytes captured per packet.
const SNAPLEN: usize = 128;
/// The bytes before the first record.
const FILE_HEADER: u64 = 24;
/// Flows that are simulated. Others repeat them.
const MOST_FLOWS: u64 = 4000;
/// Connections open at once, on average, if there are enough.
const OPEN: f64 = 12_000.0;
/// When the capture begins: 2026-01-01 00:00:00 UTC.
const BEGINNING: Duration = Duration::from_secs(1_767_225_600);
/// Servers behind the network card.
const SERVERS: u64 = 16;
/// Client addresses: all of 198.18.0.0/15, the network for benchmarks (RFC 2544 appendix C.2.2).
const CLIENTS: u64 = 1 << 17;
/// Client ports: Linux's usual range.
const FIRST_PORT: u64 = 32_768;
const PORTS: u64 = 28_232;

/// The traffic to capture.
#[derive(Debug)]
pub struct Traffic {
    draws: Draws,
    connections: u64,
    flows: Vec<Flow>,
    /// The mean time between the beginnings of two connections.
    gap: Duration,
    mix: Option<Mix>,
}

/// Flows chosen by whether their server retransmits.
#[derive(Debug)]
struct Mix {
    /// The share of connections whose server does.
    share: f64,
    /// The numbers of the flows in which it does not, and of those in which it does.
    flows: [Vec<usize>; 2],
}

/// Content of a capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Content {
    pub connections: u64,
    pub packets: u64,
    /// Segments with payload from the servers.
    pub data: u64,
    /// Retransmissions by the servers, as they count them.
    pub retransmissions: u64,
    /// Connections with retransmissions.
    pub connections_with_retransmissions: u64,
    /// The most connections open at once.
    pub most_open: usize,
    /// From the beginning of the capture to the first packet of the last connection.
    pub begun_within: Duration,
}

impl Traffic {
    /// Traffic of this many connections. All randomness comes from `seed`.
    pub fn new(seed: u64, connections: u64) -> Self {
        let draws = Draws(seed);
        // A flow whose SYNs are all lost leaves nothing to capture.
        let flows: Vec<_> = (0..)
            .map(|n| Flow::run(draws, n))
            .filter(|flow| !flow.packets.is_empty())
            .take(connections.clamp(1, MOST_FLOWS) as usize)
            .collect();
        let lasts: Duration = flows.iter().map(Flow::duration).sum();
        let lasts = lasts / flows.len() as u32;
        let gap = lasts.div_f64(OPEN.min(connections.max(1) as f64));
        Self { draws, connections, flows, gap, mix: None }
    }

    /// The same flows in another mix: the server retransmits in this share of the connections, from 0 to 1.
    pub fn retransmitting(mut self, share: f64) -> Self {
        let numbers = 0..self.flows.len();
        let (with, without): (Vec<_>, _) = numbers.partition(|&flow| self.flows[flow].retransmissions > 0);
        if !with.is_empty() && !without.is_empty() {
            self.mix = Some(Mix { share, flows: [without, with] });
        }
        self
    }

    /// The flow that connection `number` repeats.
    fn flow_of(&self, number: u64) -> usize {
        let bits = self.draws.bits(Purpose::Flow, number);
        if let Some(mix) = &self.mix {
            let retransmits = self.draws.unit(Purpose::Retransmitting, number) < mix.share;
            let flows = &mix.flows[usize::from(retransmits)];
            return flows[(bits % flows.len() as u64) as usize];
        }
        // Each flow is used once before any is repeated.
        match self.flows.len() as u64 {
            all if number < all => number as usize,
            all => (bits % all) as usize,
        }
    }

    /// Writes the whole capture.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn capture(&self, out: impl Write) -> Result<Content, PcapError> {
        let mut file = CaptureFile::begin(out)?;
        let mut content = Content::default();
        let mut open = BinaryHeap::new();
        let mut coming = self.connections().peekable();
        loop {
            while let Some(next) = coming.next_if(|next| {
                let first: Option<&Reverse<Connection>> = open.peek();
                first.is_none_or(|Reverse(first)| next.next_at <= first.next_at)
            }) {
                content.count(&self.flows[next.flow]);
                content.begun_within = next.begins;
                open.push(Reverse(next));
                content.most_open = content.most_open.max(open.len());
            }
            let Some(mut first) = open.peek_mut() else {
                return Ok(content);
            };
            let flow = &self.flows[first.0.flow];
            file.write(flow, &first.0)?;
            // When the guard is dropped, the heap finds the connection's new place.
            if !first.0.advance(flow) {
                std::collections::binary_heap::PeekMut::pop(first);
            }
        }
    }

    /// Connections in the order they begin, with exponential gaps.
    fn connections(&self) -> impl Iterator<Item = Connection> {
        let mut begins = Duration::ZERO;
        (0..self.connections).map(move |number| {
            let draws = self.draws;
            begins += self.gap.mul_f64(-draws.unit(Purpose::Start, number).ln());
            let flow = self.flow_of(number);
            Connection {
                next_at: begins,
                number,
                begins,
                up: endpoints(draws, number, self.flows[flow].version),
                flow,
                next: 0,
                identification: draws.bits(Purpose::Identification, number) as u16,
            }
        })
    }
}

impl Content {
    fn count(&mut self, flow: &Flow) {
        self.connections += 1;
        self.packets += flow.packets.len() as u64;
        self.data += flow.data;
        self.retransmissions += flow.retransmissions;
        self.connections_with_retransmissions += u64::from(flow.retransmissions > 0);
    }
}

/// An open connection. Ordered by the time of the next packet, then by number.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Connection {
    next_at: Duration,
    number: u64,
    begins: Duration,
    /// The endpoints of packets from the client.
    up: Endpoints,
    /// The flow it repeats, and how many of its packets have passed.
    flow: usize,
    next: usize,
    /// The IP identification of the first packet of each direction.
    identification: u16,
}

impl Connection {
    /// Advances to the next packet; `false` if there is none.
    fn advance(&mut self, flow: &Flow) -> bool {
        self.next += 1;
        match flow.packets.get(self.next) {
            Some(packet) => self.next_at = self.begins + packet.at,
            None => return false,
        }
        true
    }
}

/// The endpoints of packets from the client of connection `number`. No two connections share them.
fn endpoints(draws: Draws, number: u64, version: IpVersion) -> Endpoints {
    // An odd factor permutes the clients, so that each gets a port of its own at first.
    let client = number.wrapping_mul(40_503) % CLIENTS;
    let first = draws.bits(Purpose::Port, client) >> 16;
    let port = FIRST_PORT + (first + number / CLIENTS) % PORTS;
    let server = 1 + client % SERVERS;
    let (src, dst): (IpAddr, IpAddr) = match version {
        IpVersion::V4 => {
            (Ipv4Addr::from_bits(0xc612_0000 | client as u32).into(), Ipv4Addr::new(192, 0, 2, server as u8).into())
        }
        IpVersion::V6 => (
            Ipv6Addr::from_bits(0x2001_0db8 << 96 | u128::from(client) << 64 | 0x53).into(),
            Ipv6Addr::from_bits(0x2001_0db8_ffff << 80 | u128::from(server)).into(),
        ),
    };
    Endpoints { src: (src, port as u16).into(), dst: (dst, 443).into() }
}

/// Counts the records of a classic little-endian capture, at most `most`. Returns the count and the
/// bytes of the file up to there.
///
/// # Errors
/// If it cannot be read, or ends within a record's header.
pub fn records<R: Read + Seek>(mut file: BufReader<R>, most: u64) -> io::Result<(u64, u64)> {
    file.seek_relative(FILE_HEADER as i64)?;
    let (mut count, mut bytes) = (0, FILE_HEADER);
    let mut header = [0; 16];
    while count < most && !file.fill_buf()?.is_empty() {
        file.read_exact(&mut header)?;
        let [.., a, b, c, d, _, _, _, _] = header;
        let length = u32::from_le_bytes([a, b, c, d]);
        file.seek_relative(length.into())?;
        count += 1;
        bytes += header.len() as u64 + u64::from(length);
    }
    Ok((count, bytes))
}

/// A capture being written.
struct CaptureFile<W: Write> {
    file: PcapWriter<W>,
    frame: Vec<u8>,
}

impl<W: Write> CaptureFile<W> {
    fn begin(out: W) -> Result<Self, PcapError> {
        let header = PcapHeader {
            snaplen: SNAPLEN as u32,
            datalink: DataLink::ETHERNET,
            ts_resolution: TsResolution::MicroSecond,
            endianness: Endianness::Little,
            ..PcapHeader::default()
        };
        Ok(Self { file: PcapWriter::with_header(out, header)?, frame: Vec::new() })
    }

    /// Writes the connection's next packet.
    fn write(&mut self, flow: &Flow, connection: &Connection) -> Result<(), PcapError> {
        let Some(seen) = flow.packets.get(connection.next) else {
            return Ok(());
        };
        let (endpoints, far) = match seen.direction {
            Direction::Up => (connection.up, [2; 12]),
            Direction::Down => (connection.up.reverse(), [6; 12]),
        };
        let ether_type: [u8; 2] = match flow.version {
            IpVersion::V4 => [0x08, 0x00],
            IpVersion::V6 => [0x86, 0xdd],
        };
        self.frame.clear();
        self.frame.extend_from_slice(&far);
        self.frame.extend_from_slice(&ether_type);
        let id = connection.identification.wrapping_add(seen.ordinal as u16);
        encode(&seen.segment, &endpoints, id, Payload::Fill(0), &mut self.frame).expect("a packet that was sent");
        let kept = &self.frame[..self.frame.len().min(SNAPLEN)];
        let at = BEGINNING + connection.next_at;
        let packet = PcapPacket::new(at, self.frame.len() as u32, kept);
        self.file.write_packet(&packet)?;
        Ok(())
    }
}
