//! Malformed packets: random bytes, truncated packets, and headers with wrong lengths, offsets and
//! options, with correct and wrong checksums, over IPv4 and IPv6.

use recoup_units::SplitMix;
use recoup_wire::{Checksum, Endpoints, Flags, Payload, Segment, SeqNumber, decode, encode};
use std::{
    net::{IpAddr, SocketAddr},
    ops::Range,
};

/// The longest packet made.
const LONGEST: u64 = 1500;

/// Generates malformed packets.
pub struct Crafter {
    draws: SplitMix,
    /// The host they are for, and where someone listens whom nobody genuine asks for.
    host: Vec<IpAddr>,
    listener: u16,
    /// The latest packet on its way to the host that is as it should be, if there is a connection that
    /// it belongs to.
    genuine: Vec<u8>,
}

impl Crafter {
    pub fn new(seed: u64, host: &[IpAddr], listener: u16) -> Self {
        Self { draws: SplitMix(seed), host: host.to_vec(), listener, genuine: Vec::new() }
    }

    /// Records a genuine packet.
    pub fn see(&mut self, packet: &[u8]) {
        let flags = decode(packet).map_or(Flags::NONE, |decoded| decoded.segment.flags);
        // Behind a FIN, what looks like the connection's could soon be a new connection's.
        let begins = flags.contains(Flags::SYN);
        let ends = flags.intersects(Flags::FIN | Flags::RST);
        if ends {
            self.genuine.clear();
        } else if begins || !self.genuine.is_empty() {
            self.genuine = packet.to_vec();
        }
    }

    /// A packet that does not belong to a genuine connection.
    pub fn packet(&mut self) -> Vec<u8> {
        loop {
            let packet = match self.draws.below(9) {
                0 => self.bytes(0..LONGEST),
                1 => {
                    let version = [0x45, 0x60][self.draws.below(2) as usize];
                    [vec![version], self.bytes(0..LONGEST)].concat()
                }
                2 => {
                    let mut packet = self.some();
                    packet.truncate(self.draws.below(packet.len() as u64) as usize);
                    packet
                }
                3 => self.overwritten(),
                4 => self.lying(0..ip_header_len(&[0x45]) + 20),
                5 => self.lying(20..80),
                6 => self.at_the_connection(),
                7 => self.icmp(),
                _ => self.stray(),
            };
            if !self.could_be_genuine(&packet) {
                return packet;
            }
        }
    }

    /// Whether the packet happens to be valid on the genuine connection.
    fn could_be_genuine(&self, packet: &[u8]) -> bool {
        let (Ok(packet), Ok(genuine)) = (decode(packet), decode(&self.genuine)) else {
            return false;
        };
        let distance = packet.segment.seq.distance_from(genuine.segment.seq);
        packet.tcp_checksum == Checksum::Correct
            && packet.endpoints == genuine.endpoints
            && distance.unsigned_abs() < 1 << 28
    }

    fn bytes(&mut self, len: Range<u64>) -> Vec<u8> {
        let len = len.start + self.draws.below(len.end - len.start);
        (0..len).map(|_| self.draws.bits() as u8).collect()
    }

    /// A packet with correct headers.
    fn some(&mut self) -> Vec<u8> {
        match self.draws.below(2) {
            0 if !self.genuine.is_empty() => self.genuine.clone(),
            _ => self.stray(),
        }
    }

    /// A genuine packet with changed bytes and the old checksums.
    fn overwritten(&mut self) -> Vec<u8> {
        let mut packet = self.some();
        for _ in 0..=self.draws.below(4) {
            let at = self.draws.below(packet.len().min(100) as u64) as usize;
            packet[at] = self.draws.bits() as u8;
        }
        packet
    }

    /// A packet from an unknown sender with overwritten header bytes and, mostly, correct checksums.
    fn lying(&mut self, about: Range<usize>) -> Vec<u8> {
        let mut packet = self.stray();
        let about = about.start..about.end.min(packet.len());
        for _ in 0..=self.draws.below(3) {
            let at = about.start + self.draws.below(about.len() as u64) as usize;
            packet[at] = match self.draws.below(3) {
                0 => 0,
                1 => 0xff,
                _ => self.draws.bits() as u8,
            };
        }
        if self.draws.below(4) > 0 {
            mend(&mut packet);
        }
        packet
    }

    /// A packet from an unknown sender to an open or a closed port.
    fn stray(&mut self) -> Vec<u8> {
        let dst = self.host[self.draws.below(self.host.len() as u64) as usize];
        let noise = self.draws.bits();
        let src: IpAddr = match dst {
            IpAddr::V4(_) => (0x0a00_0000_u32 | noise as u32 >> 8).to_be_bytes().into(),
            IpAddr::V6(_) => (0xfd11_u128 << 112 | u128::from(noise)).to_be_bytes().into(),
        };
        let port = match self.draws.below(2) {
            0 => self.listener,
            _ => 1000 + self.draws.below(1000) as u16,
        };
        let endpoints =
            Endpoints { src: SocketAddr::new(src, self.draws.bits() as u16), dst: SocketAddr::new(dst, port) };
        let flags = match self.draws.below(3) {
            0 => Flags::SYN,
            _ => Flags::from_bits(self.draws.bits() as u8),
        };
        let seq = self.draws.bits() as u32;
        self.segment(&endpoints, seq, flags)
    }

    /// A packet between the genuine endpoints, but far outside their windows.
    fn at_the_connection(&mut self) -> Vec<u8> {
        let Ok(genuine) = decode(&self.genuine) else {
            return self.stray();
        };
        let far = (1 << 29) + self.draws.below(1 << 30) as u32;
        let seq = genuine.segment.seq.0.wrapping_add(far);
        let flags = Flags::from_bits(self.draws.bits() as u8);
        self.segment(&genuine.endpoints, seq, flags)
    }

    fn segment(&mut self, endpoints: &Endpoints, seq: u32, flags: Flags) -> Vec<u8> {
        let segment = Segment {
            seq: SeqNumber(seq),
            ack: SeqNumber(self.draws.bits() as u32),
            flags,
            window: self.draws.bits() as u16,
            payload_len: [0, 0, self.draws.below(1400) as u32][self.draws.below(3) as usize],
            ..Segment::default()
        };
        let mut packet = Vec::new();
        encode(&segment, endpoints, 1, Payload::Fill(0x55), &mut packet).unwrap();
        packet
    }

    /// "Too big", quoting what may be the host's, and echo requests of any length.
    fn icmp(&mut self) -> Vec<u8> {
        let mut packet = self.some();
        let header = ip_header_len(&packet);
        let [ours, theirs] = if header == 20 { [16..20, 12..16] } else { [24..40, 8..24] };
        let mut quoted = packet.clone();
        let (to, from) = (packet[ours.clone()].to_vec(), packet[theirs.clone()].to_vec());
        quoted[ours].copy_from_slice(&from);
        quoted[theirs].copy_from_slice(&to);
        if quoted.len() >= header + 4 {
            let ports: [u8; 4] = quoted[header..header + 4].try_into().unwrap();
            quoted[header..header + 4].copy_from_slice(&[ports[2], ports[3], ports[0], ports[1]]);
        }
        quoted.truncate(header + self.draws.below(60) as usize);
        packet.truncate(header);
        let (protocol_at, protocol, too_big, echo) = match header {
            20 => (9, 1, [3, 4], [8, 0]),
            _ => (6, 58, [2, 0], [128, 0]),
        };
        packet[protocol_at] = protocol;
        let (kind, body) = match self.draws.below(2) {
            0 => (too_big, quoted),
            _ => (echo, self.bytes(0..1400)),
        };
        packet.extend(kind);
        packet.extend([0, 0, 0, 0]);
        packet.extend((self.draws.bits() as u16 >> self.draws.below(16)).to_be_bytes());
        packet.extend(body);
        set_length(&mut packet);
        mend(&mut packet);
        packet
    }
}

fn ip_header_len(packet: &[u8]) -> usize {
    match packet.first().map(|first| first >> 4) {
        Some(6) => 40,
        _ => 20,
    }
}

fn set_length(packet: &mut [u8]) {
    let len = packet.len() as u16;
    match ip_header_len(packet) {
        20 => packet[2..4].copy_from_slice(&len.to_be_bytes()),
        _ => packet[4..6].copy_from_slice(&(len - 40).to_be_bytes()),
    }
}

/// Corrects the checksums for the packet's real length and protocol.
fn mend(packet: &mut [u8]) {
    let header = ip_header_len(packet);
    if packet.len() < header + 20 {
        return;
    }
    if header == 20 {
        packet[10..12].fill(0);
        let sum = !fold(sum(&packet[..20]));
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
    }
    let (addresses, protocol) = match header {
        20 => (12..20, packet[9]),
        _ => (8..40, packet[6]),
    };
    // RFC 792's checksum has no pseudo-header.
    let pseudo = match protocol {
        1 => 0,
        _ => sum(&packet[addresses]) + u64::from(protocol) + (packet.len() - header) as u64,
    };
    let field = header + if matches!(protocol, 1 | 58) { 2 } else { 16 };
    packet[field..field + 2].fill(0);
    let sum = !fold(pseudo + sum(&packet[header..]));
    packet[field..field + 2].copy_from_slice(&sum.to_be_bytes());
}

/// RFC 1071.
fn sum(bytes: &[u8]) -> u64 {
    let word = |pair: &[u8]| u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0));
    bytes.chunks(2).map(word).sum()
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[test]
fn corrected_checksums_are_correct() {
    let hosts: [IpAddr; 2] = ["10.1.2.3".parse().unwrap(), "fd00::7".parse().unwrap()];
    let mut crafter = Crafter::new(1, &hosts, 81);
    for _ in 0..100 {
        let intact = crafter.stray();
        let mut packet = intact.clone();
        mend(&mut packet);
        assert_eq!(packet, intact);
    }
}
