//! No TCP stack: `write` into a TUN device, as fast as the receiver's window permits.
//!
//! This is the ceiling for a sender behind a TUN device. It speaks just enough TCP for the receiving socket to
//! deliver the bytes: it answers the handshake, sends segments in order, and closes. It lacks everything else:
//! retransmissions (after a loss the connection stalls), congestion control, RTT estimation, timers, timestamps, SACK,
//! Nagle's algorithm, TIME-WAIT, and resets of connections it does not know.
//!
//! Every packet is in one buffer, whose payload is written once. For each packet only the headers are written, and the
//! checksum is computed from them and the known sum of the payload. With offloads a packet has the most whole
//! segments that fit into 64 KiB, and the kernel completes the checksum.
//!
//! It makes one system call per packet. The device is in blocking mode. It is read, one packet at a time, only when no
//! connection can send. ACKs serve to learn the window, and whether all is acknowledged.
//!
//! An idle connection holds an entry in a map.

use super::{Failed, Options, PORT, REQUEST, announce, open_device};
use recoup_net::{LONGEST_SUPER_PACKET, TunDevice, VNET_HEADER_LEN, VnetHeader};
use recoup_wire::{
    Endpoints, Flags, Payload, Segment, SeqNumber, TCP_CHECKSUM_OFFSET, decode_unverified, encode, encode_headers,
};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use std::{
    collections::{HashMap, VecDeque},
    hash::{BuildHasher, RandomState},
    net::SocketAddr,
    os::fd::AsFd,
};

/// Packets that a connection sends before others have their turn.
const BURST: u32 = 64;

/// Bytes of an IPv4 header, and with a TCP header without options.
const IP_HEADER: usize = 20;
const HEADERS: usize = 40;

/// The receive window. Only a request arrives.
const WINDOW: u16 = u16::MAX;

pub fn run(options: &Options) -> Result<(), Failed> {
    let (device, address) = open_device(options)?;
    let flags = fcntl_getfl(device.as_fd())?;
    fcntl_setfl(device.as_fd(), flags - OFlags::NONBLOCK)?;
    let mut sender = Sender {
        address: SocketAddr::new(address, PORT),
        out: PacketBuffer::new(device.tun().offloads(), options.mtu.into()),
        device,
        connections: HashMap::new(),
        active: VecDeque::new(),
        secret: RandomState::new(),
    };
    announce(address);
    let mut packet = vec![0; LONGEST_SUPER_PACKET];
    loop {
        while sender.send_bursts()? {}
        if let Some((_, len)) = sender.device.tun().read_frame(&mut packet)? {
            sender.receive(&packet[..len])?;
        }
    }
}

struct Sender {
    address: SocketAddr,
    device: TunDevice,
    out: PacketBuffer,
    /// By the peer's address.
    connections: HashMap<SocketAddr, Connection>,
    /// Connections whose answer is not sent whole.
    active: VecDeque<SocketAddr>,
    secret: RandomState,
}

#[derive(Default)]
struct Connection {
    /// The next sequence number to send, the first one not acknowledged, and the one that the window ends before.
    next: SeqNumber,
    una: SeqNumber,
    window_end: SeqNumber,
    window_scale: u8,
    /// The next sequence number to receive.
    ack: SeqNumber,
    /// Payload bytes of the peer's longest segment.
    segment: usize,
    request: Vec<u8>,
    /// Bytes of the answer to be sent.
    left: u64,
    /// FIN is sent; the peer's has arrived.
    closed: bool,
    peer_closed: bool,
}

impl Sender {
    /// Gives every connection with data a turn; whether any has sent something.
    fn send_bursts(&mut self) -> Result<bool, Failed> {
        let mut any = false;
        for _ in 0..self.active.len() {
            let Some(peer) = self.active.pop_front() else {
                break;
            };
            let Some(connection) = self.connections.get_mut(&peer) else {
                continue;
            };
            let path = Endpoints { src: self.address, dst: peer };
            let mut sent = 0;
            while sent < BURST
                && !connection.closed
                && let Some(segment) = connection.next_segment(&self.out)
            {
                let frame = self.out.frame(&segment, &path, connection.segment)?;
                rustix::io::write(self.device.as_fd(), frame)?;
                sent += 1;
            }
            any |= sent > 0;
            if connection.left > 0 {
                self.active.push_back(peer);
            } else if connection.closed {
                self.connections.remove(&peer);
            }
        }
        Ok(any)
    }

    fn receive(&mut self, packet: &[u8]) -> Result<(), Failed> {
        // The kernel made the packet on this machine. Its checksum may be left to us.
        let Ok(decoded) = decode_unverified(packet) else {
            return Ok(());
        };
        let (path, segment) = (decoded.endpoints.reverse(), decoded.segment);
        if path.src != self.address {
            return Ok(());
        }
        let flags = segment.flags;
        if flags.contains(Flags::RST) {
            self.connections.remove(&path.dst);
        } else if flags.contains(Flags::SYN) {
            let isn = SeqNumber(self.secret.hash_one(path) as u32);
            let connection = Connection::new(isn, &segment, self.out.segment);
            let reply = connection.syn_ack(isn, self.out.segment, &segment);
            self.connections.insert(path.dst, connection);
            self.send(&reply, &path)?;
        } else if let Some(connection) = self.connections.get_mut(&path.dst) {
            let asked = connection.receive(&segment, &packet[decoded.payload]);
            if asked {
                self.active.push_back(path.dst);
            }
            if segment.sequence_len() > 0 && !asked {
                let ack = connection.segment_with(Flags::ACK, 0);
                let over = connection.closed && connection.peer_closed;
                if over {
                    self.connections.remove(&path.dst);
                }
                self.send(&ack, &path)?;
            }
        }
        Ok(())
    }

    /// Sends a segment without payload.
    fn send(&mut self, segment: &Segment, path: &Endpoints) -> Result<(), Failed> {
        let mut packet = Vec::new();
        encode(segment, path, 0, Payload::Bytes(&[]), &mut packet)?;
        Ok(self.device.tun().write(&packet)?)
    }
}

impl Connection {
    fn new(isn: SeqNumber, syn: &Segment, segment: usize) -> Self {
        // RFC 9293 §3.7.1
        let most = syn.options.mss.unwrap_or(536).into();
        Self {
            next: isn + 1,
            una: isn + 1,
            window_end: isn + 1 + u32::from(syn.window),
            window_scale: syn.options.window_scale.unwrap_or(0),
            ack: syn.seq + 1,
            segment: segment.min(most),
            ..Self::default()
        }
    }

    fn syn_ack(&self, isn: SeqNumber, segment: usize, syn: &Segment) -> Segment {
        let mut reply = self.segment_with(Flags::SYN | Flags::ACK, 0);
        reply.seq = isn;
        reply.options.mss = u16::try_from(segment).ok();
        // It turns on the peer's (RFC 7323 §2.2).
        reply.options.window_scale = syn.options.window_scale.map(|_| 0);
        reply
    }

    /// Takes in a segment that arrived; whether there is something to send from now on.
    fn receive(&mut self, segment: &Segment, payload: &[u8]) -> bool {
        if segment.flags.contains(Flags::ACK) {
            if segment.ack.after(self.una) {
                self.una = segment.ack;
            }
            let window_end = segment.ack + (u32::from(segment.window) << self.window_scale);
            if window_end.after(self.window_end) {
                self.window_end = window_end;
            }
        }
        if segment.seq != self.ack || self.peer_closed || segment.sequence_len() == 0 {
            return false;
        }
        self.ack += segment.sequence_len();
        self.peer_closed = segment.flags.contains(Flags::FIN);
        let asked_before = self.request.len() >= REQUEST;
        self.request.extend_from_slice(payload);
        self.request.truncate(REQUEST);
        if asked_before {
            return self.peer_closed;
        }
        if let Ok(request) = self.request.as_slice().try_into() {
            self.left = u64::from_be_bytes(request);
            return true;
        }
        // A peer that wants nothing more gets our FIN. It must come through here once.
        let ends = self.peer_closed;
        if ends {
            self.request.resize(REQUEST, 0);
        }
        ends
    }

    /// The next segment to send, if the window permits it. Packets are sent whole while others are in flight.
    fn next_segment(&mut self, out: &PacketBuffer) -> Option<Segment> {
        if self.left == 0 && !self.peer_closed {
            return None;
        }
        let room = self.window_end.distance_from(self.next).max(0) as u64;
        let wanted = self.left.min(out.longest(self.segment) as u64);
        let len = wanted.min(room);
        if len < wanted && (len == 0 || self.next != self.una) {
            return None;
        }
        self.left -= len;
        self.closed = self.left == 0 && self.peer_closed;
        let flags = if self.closed { Flags::ACK | Flags::PSH | Flags::FIN } else { Flags::ACK };
        let segment = self.segment_with(flags, len as u32);
        self.next += segment.sequence_len();
        Some(segment)
    }

    fn segment_with(&self, flags: Flags, payload_len: u32) -> Segment {
        Segment { seq: self.next, ack: self.ack, payload_len, window: WINDOW, flags, ..Segment::default() }
    }
}

/// The one packet with payload: its header for the device, its IP and TCP headers, and its payload.
struct PacketBuffer {
    offloads: bool,
    /// Payload bytes of a full-sized segment on this path.
    segment: usize,
    bytes: Vec<u8>,
    headers: Vec<u8>,
}

/// Each byte of the payload.
const FILL: u8 = 7;

impl PacketBuffer {
    const PAYLOAD_AT: usize = VNET_HEADER_LEN + HEADERS;

    fn new(offloads: bool, mtu: usize) -> Self {
        Self {
            offloads,
            segment: mtu - HEADERS,
            bytes: vec![FILL; VNET_HEADER_LEN + LONGEST_SUPER_PACKET.max(mtu)],
            headers: Vec::new(),
        }
    }

    /// The most payload bytes of a packet, in whole segments of `segment` bytes.
    fn longest(&self, segment: usize) -> usize {
        if self.offloads { (LONGEST_SUPER_PACKET - HEADERS) / segment * segment } else { segment }
    }

    /// The packet for a segment without options, as the device takes it.
    fn frame(&mut self, segment: &Segment, path: &Endpoints, size: usize) -> Result<&[u8], Failed> {
        self.headers.clear();
        encode_headers(segment, path, 0, &mut self.headers)?;
        let len = segment.payload_len as usize;
        let end = Self::PAYLOAD_AT + len;
        if self.offloads {
            let mut header = VnetHeader {
                flags: VnetHeader::NEEDS_CSUM,
                hdr_len: HEADERS as u16,
                csum_start: IP_HEADER as u16,
                csum_offset: TCP_CHECKSUM_OFFSET,
                ..VnetHeader::default()
            };
            if len > size {
                header.gso_type = VnetHeader::GSO_TCPV4;
                header.gso_size = size as u16;
            }
            self.bytes[..VNET_HEADER_LEN].copy_from_slice(&header.to_bytes());
            self.bytes[VNET_HEADER_LEN..Self::PAYLOAD_AT].copy_from_slice(&self.headers);
            Ok(&self.bytes[..end])
        } else {
            let at = IP_HEADER + usize::from(TCP_CHECKSUM_OFFSET);
            let checksum = checksum(&self.headers[IP_HEADER..], len);
            self.headers[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
            self.bytes[VNET_HEADER_LEN..Self::PAYLOAD_AT].copy_from_slice(&self.headers);
            Ok(&self.bytes[VNET_HEADER_LEN..end])
        }
    }
}

/// The checksum of a TCP header whose checksum field has the pseudo-header's sum, and of `len` bytes of payload
/// (RFC 1071).
fn checksum(header: &[u8], len: usize) -> u16 {
    let words = header.chunks_exact(2);
    let header: u64 = words.map(|word| u64::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    let whole = (len / 2) as u64 * u64::from(u16::from_be_bytes([FILL; 2]));
    let odd = (len % 2) as u64 * u64::from(u16::from_be_bytes([FILL, 0]));
    let mut sum = header + whole + odd;
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use recoup_wire::{Checksum, decode};

    #[test]
    fn packets_have_correct_checksums() {
        let path = Endpoints { src: "192.0.2.1:5001".parse().unwrap(), dst: "192.0.2.2:40000".parse().unwrap() };
        let mut out = PacketBuffer::new(false, 1500);
        for (seq, payload_len) in [(1, 1460), (0xffff_ffff, 1459), (0x1234_5678, 1), (9, 0)] {
            let segment = Segment {
                seq: SeqNumber(seq),
                ack: SeqNumber(77),
                flags: Flags::ACK,
                window: WINDOW,
                payload_len,
                ..Segment::default()
            };
            let packet = out.frame(&segment, &path, 1460).unwrap();
            let decoded = decode(packet).unwrap();
            assert_eq!(decoded.segment, segment);
            assert_eq!(decoded.tcp_checksum, Checksum::Correct, "{segment}");
            assert!(decoded.ip_checksum_ok, "{segment}");
        }
    }
}
