//! Packets of any kind as bytes: read, changed, made.

use super::choices::Choices;
use recoup_wire::{
    Ecn, Endpoints, Flags, IcmpMessage, IpFields, Options, Payload, Segment, SeqNumber, Sum, Timestamps,
    cut_into_fragments, encode, encode_icmp, encode_udp, pseudo_header,
};
use std::net::{IpAddr, SocketAddr};

const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMP: u8 = 1;
const ICMP_V6: u8 = 58;

fn is_v4(packet: &[u8]) -> bool {
    packet.first().is_some_and(|first| first >> 4 == 4)
}

/// The ECN field of a packet.
pub fn ecn(packet: &[u8]) -> Ecn {
    let byte = packet.get(1).copied().unwrap_or_default();
    Ecn::from_ip(if is_v4(packet) { byte } else { byte >> 4 })
}

/// Changes the ECN field of a packet.
pub fn set_ecn(packet: &mut [u8], ecn: Ecn) {
    let shift = if is_v4(packet) { 0 } else { 4 };
    packet[1] = packet[1] & !(3 << shift) | ecn.ip_bits() << shift;
    seal_ip(packet);
}

/// Whether a router may cut this packet: IPv4, whole, and not forbidden.
pub fn may_be_cut(packet: &[u8]) -> bool {
    is_v4(packet) && packet.get(6..8).is_some_and(|field| field == [0, 0])
}

/// Corrects the checksum of an IPv4 header.
fn seal_ip(packet: &mut [u8]) {
    let header = 4 * usize::from(packet[0] & 15);
    if is_v4(packet) && (20..=packet.len()).contains(&header) {
        packet[10..12].fill(0);
        let sum = Sum::default().plus(&packet[..header]).checksum();
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
    }
}

/// Corrects all checksums of a packet without IPv6 extension headers.
pub fn seal(packet: &mut [u8]) {
    let (at, protocol, src, dst): (usize, u8, IpAddr, IpAddr) = match packet.first().map(|first| first >> 4) {
        Some(4) if packet.len() >= 20 => {
            let octets = |at: usize| <[u8; 4]>::try_from(&packet[at..at + 4]).unwrap_or_default();
            (4 * usize::from(packet[0] & 15), packet[9], octets(12).into(), octets(16).into())
        }
        Some(6) if packet.len() >= 40 => {
            let octets = |at: usize| <[u8; 16]>::try_from(&packet[at..at + 16]).unwrap_or_default();
            (40, packet[6], octets(8).into(), octets(24).into())
        }
        _ => return,
    };
    seal_ip(packet);
    let Some(carried) = packet.get_mut(at..) else {
        return;
    };
    let (field, pseudo) = match protocol {
        TCP => (16, pseudo_header(src, dst, carried.len(), TCP)),
        UDP => (6, pseudo_header(src, dst, carried.len(), UDP)),
        ICMP => (2, Sum::default()),
        ICMP_V6 => (2, pseudo_header(src, dst, carried.len(), ICMP_V6)),
        _ => return,
    };
    if carried.len() >= field + 2 {
        carried[field..field + 2].fill(0);
        let sum = pseudo.plus(carried).checksum();
        carried[field..field + 2].copy_from_slice(&sum.to_be_bytes());
    }
}

/// Changes some bytes of a packet; with correct checksums or not.
pub fn mutate(choices: &mut Choices<'_>, packet: &mut Vec<u8>) {
    for _ in 0..=choices.below(4) {
        let place = choices.below(packet.len().min(80) as u32) as usize;
        match choices.below(4) {
            0 if !packet.is_empty() => packet[place] = choices.byte(),
            1 if !packet.is_empty() => packet[place] ^= 1 << choices.below(8),
            2 => packet.truncate(choices.below(packet.len() as u32 + 1) as usize),
            _ => packet.extend(choices.bytes(40)),
        }
    }
    if !choices.chance(64) {
        seal(packet);
    }
}

/// Where strangers' packets go, and where they seem to come from.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a> {
    /// Addresses of the host, one per IP version.
    pub host: [IpAddr; 2],
    /// Addresses that packets come from.
    pub others: &'a [IpAddr],
    /// Ports that have a meaning on either side.
    pub ports: &'a [u16],
    /// Sequence numbers that have a meaning.
    pub numbers: &'a [u32],
}

impl Places<'_> {
    fn port(&self, choices: &mut Choices<'_>) -> u16 {
        match choices.chance(40) {
            true => choices.number() as u16,
            false => choices.one(self.ports),
        }
    }

    fn ends(&self, choices: &mut Choices<'_>) -> Endpoints {
        let src = choices.one(self.others);
        let dst = self.host[usize::from(src.is_ipv6())];
        Endpoints { src: SocketAddr::new(src, self.port(choices)), dst: SocketAddr::new(dst, self.port(choices)) }
    }

    /// A number near one that has a meaning, or any.
    fn number(&self, choices: &mut Choices<'_>) -> SeqNumber {
        let any = choices.chance(60) || self.numbers.is_empty();
        let base = if any { choices.number() } else { choices.one(self.numbers) };
        SeqNumber(base) + u32::from(choices.byte()).wrapping_sub(2)
    }

    fn segment(&self, choices: &mut Choices<'_>) -> Segment {
        let usual = [Flags::SYN, Flags::ACK, Flags::ACK | Flags::PSH, Flags::ACK | Flags::FIN, Flags::RST, Flags::NONE];
        let flags = match choices.chance(80) {
            true => Flags::from_bits(choices.byte()),
            false => choices.one(&usual),
        };
        let mut options = Options::NONE;
        if choices.chance(128) {
            options.mss = choices.chance(128).then(|| choices.one(&[0, 1, 48, 536, 1460, 65_535]));
            options.window_scale = choices.chance(128).then(|| choices.byte() % 16);
            options.sack_permitted = choices.chance(128);
            options.timestamps =
                choices.chance(128).then(|| Timestamps { value: choices.number(), echo: choices.number() });
            for _ in 0..choices.below(5) {
                let left = self.number(choices);
                options.sack.push([left, left + choices.number() % 5000]);
            }
        }
        Segment {
            seq: self.number(choices),
            ack: self.number(choices),
            flags,
            window: choices.number() as u16,
            payload_len: choices.one(&[0, 0, 1, 7, 500, 1400]),
            options,
        }
    }

    /// A message of ICMP, which may quote a packet that the host may have sent.
    fn icmp(&self, choices: &mut Choices<'_>, src: IpAddr, dst: IpAddr) -> Vec<u8> {
        let (identifier, sequence) = (choices.number() as u16, choices.number() as u16);
        let message = match choices.below(6) {
            0 => IcmpMessage::EchoRequest { identifier, sequence },
            1 => IcmpMessage::EchoReply { identifier, sequence },
            2 => IcmpMessage::Unreachable { code: choices.byte() % 16 },
            3 => IcmpMessage::TooBig { mtu: choices.number() % 70_000 },
            4 => IcmpMessage::TimeExceeded { code: choices.byte() % 3 },
            _ => IcmpMessage::Other { kind: choices.byte(), code: choices.byte(), rest: [choices.byte(); 4] },
        };
        let mut data = choices.bytes(60);
        if choices.chance(160) {
            let mut ends = self.ends(choices).reverse();
            ends.src.set_ip(dst);
            let segment = Segment { payload_len: 0, ..self.segment(choices) };
            data.clear();
            match choices.chance(128) {
                true => drop(encode(&segment, &ends, 1, Payload::Fill(0), &mut data)),
                false => drop(encode_udp(&ends, IpFields::from(1), &[1, 2, 3], &mut data)),
            }
            data.truncate(choices.one(&[1000, 28, 48, 20]));
        }
        let mut packet = Vec::new();
        // Ends of two IP versions make no packet.
        let _ = encode_icmp(src, dst, IpFields::from(2).fragmentable(), message, &data, &mut packet);
        packet
    }

    /// The packets of a stranger: one, or some fragments.
    pub fn strange(&self, choices: &mut Choices<'_>) -> Vec<Vec<u8>> {
        let ends = self.ends(choices);
        let mut packet = Vec::new();
        match choices.below(6) {
            0 | 1 => {
                let segment = self.segment(choices);
                // What no packet can carry is an empty one.
                let _ = encode(&segment, &ends, 3, Payload::Fill(choices.byte()), &mut packet);
            }
            2 => {
                let bytes = vec![7; choices.below(3000) as usize];
                let _ = encode_udp(&ends, IpFields::from(4).fragmentable(), &bytes, &mut packet);
            }
            3 => packet = self.icmp(choices, ends.src.ip(), ends.dst.ip()),
            4 => {
                packet = self.icmp(choices, ends.src.ip(), ends.dst.ip());
                let protocol = if is_v4(&packet) { 9 } else { 6 };
                if let Some(field) = packet.get_mut(protocol) {
                    *field = choices.byte();
                }
                seal(&mut packet);
            }
            _ => return vec![choices.bytes(120)],
        }
        if choices.chance(60) && !packet.is_empty() {
            mutate(choices, &mut packet);
        }
        if choices.chance(40) {
            add_header(choices, &mut packet);
        }
        let mut all = match choices.chance(50) {
            true => fragments(choices, &packet),
            false => vec![packet],
        };
        if choices.chance(10)
            && let Some(one) = all.first_mut()
        {
            mutate(choices, one);
        }
        all
    }
}

/// Adds IP options, or an extension header, to a packet.
fn add_header(choices: &mut Choices<'_>, packet: &mut Vec<u8>) {
    let fits = packet.len() < 60_000;
    if fits && is_v4(packet) && packet.len() >= 20 && packet[0] == 0x45 {
        let words = 1 + choices.below(10) as usize;
        let options: Vec<u8> = (0..4 * words).map(|_| choices.byte()).collect();
        packet.splice(20..20, options);
        packet[0] = 0x45 + words as u8;
        let len = packet.len() as u16;
        packet[2..4].copy_from_slice(&len.to_be_bytes());
        seal_ip(packet);
    } else if fits && packet.len() >= 40 && packet[0] >> 4 == 6 {
        let next = std::mem::replace(&mut packet[6], choices.one(&[0, 60, 43, 44, 51]));
        let mut header = vec![next, 0];
        header.extend((0..6).map(|_| choices.byte() & 1));
        packet.splice(40..40, header);
        let len = (packet.len() - 40) as u16;
        packet[4..6].copy_from_slice(&len.to_be_bytes());
    }
}

/// A packet in fragments, some of which may be missing, come twice, or in another order.
fn fragments(choices: &mut Choices<'_>, packet: &[u8]) -> Vec<Vec<u8>> {
    let mtu = 40 + packet.len() / choices.one(&[2, 3, 5, 20]);
    let (mut all, id) = (Vec::new(), choices.byte().into());
    // What cannot be cut goes whole.
    if cut_into_fragments(packet, mtu, id, &mut Vec::new(), &mut |piece| all.push(piece.to_vec())).is_err() {
        all = vec![packet.to_vec()];
    }
    match choices.below(5) {
        0 => all.reverse(),
        1 => drop(all.pop()),
        2 => all.push(all[0].clone()),
        3 => {
            // A piece where another one is.
            let mut copy = all[all.len() / 2].clone();
            if is_v4(&copy) && copy.len() > 24 {
                copy[7] = copy[7].wrapping_sub(1);
                seal_ip(&mut copy);
            }
            all.push(copy);
        }
        _ => {}
    }
    all
}
