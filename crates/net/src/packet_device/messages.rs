//! Messages that find out the link address of a neighbour: ARP (RFC 826) and neighbour discovery (RFC 4861).

use recoup_wire::{Sum, pseudo_header};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An Ethernet address.
pub type Mac = [u8; 6];

pub const BROADCAST: Mac = [0xff; 6];

/// EtherTypes (linux/if_ether.h).
pub const IPV4: u16 = 0x0800;
pub const ARP: u16 = 0x0806;
pub const IPV6: u16 = 0x86dd;

/// Bytes of an Ethernet header.
pub const ETHERNET: usize = 14;

const ICMP: u8 = 1;
pub const ICMPV6: u8 = 58;
pub const SOLICITATION: u8 = 135;
pub const ADVERTISEMENT: u8 = 136;

/// Bytes of an IPv6 header, and of a solicitation or an advertisement without options (RFC 4861 §4.3, §4.4).
const IPV6_HEADER: usize = 40;
const MESSAGE: usize = 24;

/// Options with a link address (RFC 4861 §4.6.1).
const SOURCE_LINK: u8 = 1;
const TARGET_LINK: u8 = 2;

/// Flags of an advertisement (RFC 4861 §4.4).
const SOLICITED: u8 = 0x40;
const OVERRIDE: u8 = 0x20;

/// Whether a link address stands for several hosts.
pub const fn is_group(mac: Mac) -> bool {
    mac[0] & 1 != 0
}

/// The link address of a multicast group (RFC 1112 §6.4, RFC 2464 §7).
pub const fn group(address: IpAddr) -> Mac {
    match address {
        IpAddr::V4(ip) => {
            let [_, a, b, c] = ip.octets();
            [0x01, 0x00, 0x5e, a & 0x7f, b, c]
        }
        IpAddr::V6(ip) => {
            let [.., a, b, c, d] = ip.octets();
            [0x33, 0x33, a, b, c, d]
        }
    }
}

/// The group at which a host with this address is asked for (RFC 4291 §2.7.1).
pub const fn solicited_node(address: Ipv6Addr) -> Ipv6Addr {
    let [.., high, low] = address.segments();
    Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00 | high & 0xff, low)
}

/// All hosts on the link (RFC 4291 §2.7.1).
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);

/// An Ethernet header.
pub fn ethernet(to: Mac, from: Mac, ether_type: u16) -> [u8; ETHERNET] {
    let mut header = [0; ETHERNET];
    header[..6].copy_from_slice(&to);
    header[6..12].copy_from_slice(&from);
    header[12..].copy_from_slice(&ether_type.to_be_bytes());
    header
}

/// An ARP message over Ethernet about IPv4 addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arp {
    pub is_request: bool,
    pub sender_mac: Mac,
    pub sender: Ipv4Addr,
    pub target_mac: Mac,
    pub target: Ipv4Addr,
}

impl Arp {
    /// The message at the start of `bytes`; `None` if it is another one.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; 28] = bytes.first_chunk()?;
        // Ethernet, IPv4, and the lengths of their addresses (RFC 826, "Packet format").
        if bytes[..6] != [0, 1, 8, 0, 6, 4] {
            return None;
        }
        let is_request = match bytes[6..8] {
            [0, 1] => true,
            [0, 2] => false,
            _ => return None,
        };
        let mac = |at: usize| bytes[at..].first_chunk().copied();
        let ip = |at: usize| bytes[at..].first_chunk::<4>().map(|ip| Ipv4Addr::from(*ip));
        let arp = Self { is_request, sender_mac: mac(8)?, sender: ip(14)?, target_mac: mac(18)?, target: ip(24)? };
        (!is_group(arp.sender_mac)).then_some(arp)
    }

    /// The message as a frame to `to`.
    pub fn frame(&self, to: Mac) -> Vec<u8> {
        let mut frame = ethernet(to, self.sender_mac, ARP).to_vec();
        frame.extend([0, 1, 8, 0, 6, 4, 0, if self.is_request { 1 } else { 2 }]);
        frame.extend(self.sender_mac);
        frame.extend(self.sender.octets());
        frame.extend(self.target_mac);
        frame.extend(self.target.octets());
        frame
    }
}

/// A message of neighbour discovery about one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discovery {
    /// Who has `target`?
    Solicitation {
        source: Ipv6Addr,
        target: Ipv6Addr,
        /// The sender's link address, if it says.
        mac: Option<Mac>,
    },
    /// `target` is at a link address.
    Advertisement {
        target: Ipv6Addr,
        mac: Option<Mac>,
        /// It answers a solicitation.
        solicited: bool,
        /// It replaces what is known.
        overrides: bool,
    },
}

/// Whether a packet is one of neighbour discovery, sound or not. Such packets are not for the stack.
pub fn is_discovery(packet: &[u8]) -> bool {
    packet.first().is_some_and(|first| first >> 4 == 6)
        && packet.get(6) == Some(&ICMPV6)
        && matches!(packet.get(IPV6_HEADER), Some(&(SOLICITATION | ADVERTISEMENT)))
}

impl Discovery {
    /// The message in an IPv6 packet; `None` if it is none, or not valid (RFC 4861 §7.1). `is_verified` says that the
    /// checksum needs no check.
    pub fn parse(packet: &[u8], is_verified: bool) -> Option<Self> {
        let (header, rest) = packet.split_first_chunk::<IPV6_HEADER>()?;
        let len = usize::from(u16::from_be_bytes([header[4], header[5]]));
        let body = rest.get(..len)?;
        let (message, options) = body.split_first_chunk::<MESSAGE>()?;
        let address = |at: usize| header[at..].first_chunk::<16>().map(|ip| Ipv6Addr::from(*ip));
        let (source, destination) = (address(8)?, address(24)?);
        let target = Ipv6Addr::from(*message.last_chunk::<16>()?);
        let [kind, code, ..] = *message;
        // A hop limit of 255 says that no router forwarded it.
        if header[0] >> 4 != 6 || header[6] != ICMPV6 || header[7] != 255 || code != 0 || target.is_multicast() {
            return None;
        }
        let pseudo = pseudo_header(source.into(), destination.into(), body.len(), ICMPV6);
        if !is_verified && pseudo.plus(body).checksum() != 0 {
            return None;
        }
        let mac = |kind| link_option(options, kind);
        match kind {
            SOLICITATION => {
                let mac = mac(SOURCE_LINK)?;
                let is_probe = source.is_unspecified();
                if is_probe && (mac.is_some() || destination != solicited_node(target)) {
                    return None;
                }
                Some(Self::Solicitation { source, target, mac })
            }
            ADVERTISEMENT => {
                let (solicited, overrides) = (message[4] & SOLICITED != 0, message[4] & OVERRIDE != 0);
                if destination.is_multicast() && solicited {
                    return None;
                }
                Some(Self::Advertisement { target, mac: mac(TARGET_LINK)?, solicited, overrides })
            }
            _ => None,
        }
    }
}

/// The link address of an option of this kind, if there is one; `None` if the options are damaged.
fn link_option(mut options: &[u8], wanted: u8) -> Option<Option<Mac>> {
    let mut found = None;
    while let [kind, units, rest @ ..] = options {
        // In units of 8 bytes; 0 is an error (RFC 4861 §4.6).
        let len = usize::from(*units) * 8;
        options = options.get(len.max(8)..).filter(|_| len > 0)?;
        if *kind == wanted {
            found = rest.first_chunk().copied().filter(|mac| !is_group(*mac));
        }
    }
    options.is_empty().then_some(found)
}

/// A solicitation of `target` from `source`, as a frame: to the group of the target, or to where it was known to be.
pub fn solicitation(from: Mac, source: Ipv6Addr, target: Ipv6Addr, known: Option<Mac>) -> Vec<u8> {
    let (to, destination) = match known {
        Some(mac) => (mac, target),
        None => (group(solicited_node(target).into()), solicited_node(target)),
    };
    discovery(to, from, SOLICITATION, 0, (source, destination), target, SOURCE_LINK)
}

/// The answer to a solicitation of `target`, as an IPv6 packet: to its sender, or to all if it has no address yet (RFC
/// 4861 §7.2.4).
pub fn advertisement(from: Mac, target: Ipv6Addr, asker: Ipv6Addr) -> Vec<u8> {
    let (destination, flags) =
        if asker.is_unspecified() { (ALL_NODES, OVERRIDE) } else { (asker, SOLICITED | OVERRIDE) };
    // The caller knows the way there.
    discovery([0; 6], from, ADVERTISEMENT, flags, (target, destination), target, TARGET_LINK).split_off(ETHERNET)
}

/// The most bytes of an ICMP error (RFC 1812 §4.3.2.3; RFC 4443 §2.4 (c) permits more).
const LONGEST_ERROR: usize = 576;

/// Why a packet cannot be delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreachable {
    /// "Net unreachable" (RFC 792), "no route to destination" (RFC 4443 §3.1).
    NoRoute,
    /// "Host unreachable", "address unreachable".
    NoAnswer,
}

/// The error that a packet cannot be delivered to its next hop, as a packet to its sender. It comes from the
/// packet's destination, because a stack takes nothing from its own address. `None` if there must be none, because the packet is such an error itself (RFC
/// 1122 §3.2.2), or is no packet.
pub fn unreachable(packet: &[u8], why: Unreachable) -> Option<Vec<u8>> {
    match packet.first()? >> 4 {
        4 => {
            let header: &[u8; 20] = packet.first_chunk()?;
            let at = 4 * usize::from(header[0] & 15);
            let is_error = header[9] == ICMP && !matches!(packet.get(at)?, 0 | 8);
            let (own, other) = (&header[12..16], &header[16..20]);
            let quoted = packet.get(..LONGEST_ERROR - 28).unwrap_or(packet);
            let mut error = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, ICMP, 0, 0];
            error[2..4].copy_from_slice(&(28 + quoted.len() as u16).to_be_bytes());
            error.extend([other, own].concat());
            let sum = Sum::default().plus(&error).checksum();
            error[10..12].copy_from_slice(&sum.to_be_bytes());
            let code = if why == Unreachable::NoRoute { 0 } else { 1 };
            error.extend([3, code, 0, 0, 0, 0, 0, 0]);
            error.extend(quoted);
            let sum = Sum::default().plus(&error[20..]).checksum();
            error[22..24].copy_from_slice(&sum.to_be_bytes());
            (!is_error).then_some(error)
        }
        6 => {
            let header: &[u8; IPV6_HEADER] = packet.first_chunk()?;
            let is_error = header[6] == ICMPV6 && *packet.get(IPV6_HEADER)? < 128;
            let own = Ipv6Addr::from(*header[8..].first_chunk::<16>()?);
            let other = Ipv6Addr::from(*header.last_chunk::<16>()?);
            let code = if why == Unreachable::NoRoute { 0 } else { 3 };
            let mut body = vec![1, code, 0, 0, 0, 0, 0, 0];
            body.extend(packet.get(..LONGEST_ERROR - IPV6_HEADER - 8).unwrap_or(packet));
            let error = icmpv6(other, own, body);
            (!is_error).then_some(error)
        }
        _ => None,
    }
}

/// An IPv6 packet with an ICMPv6 message, whose checksum is written.
fn icmpv6(source: Ipv6Addr, destination: Ipv6Addr, mut message: Vec<u8>) -> Vec<u8> {
    let sum = pseudo_header(source.into(), destination.into(), message.len(), ICMPV6).plus(&message).checksum();
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let [high, low] = (message.len() as u16).to_be_bytes();
    let mut packet = vec![0x60, 0, 0, 0, high, low, ICMPV6, 255];
    packet.extend(source.octets());
    packet.extend(destination.octets());
    packet.extend(message);
    packet
}

fn discovery(
    to: Mac,
    from: Mac,
    kind: u8,
    flags: u8,
    (source, destination): (Ipv6Addr, Ipv6Addr),
    target: Ipv6Addr,
    option: u8,
) -> Vec<u8> {
    let mut body = vec![kind, 0, 0, 0, flags, 0, 0, 0];
    body.extend(target.octets());
    body.extend([option, 1]);
    body.extend(from);
    let mut frame = ethernet(to, from, IPV6).to_vec();
    frame.extend(icmpv6(source, destination, body));
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: Mac = [2, 0, 0, 0, 0, 7];
    const OTHER: Mac = [2, 0, 0, 0, 0, 9];

    fn ip(text: &str) -> Ipv6Addr {
        text.parse().unwrap()
    }

    /// RFC 826, "An Example": a request and its answer.
    #[test]
    fn arp_messages_have_their_format() {
        let request = Arp {
            is_request: true,
            sender_mac: MAC,
            sender: Ipv4Addr::new(192, 0, 2, 1),
            target_mac: [0; 6],
            target: Ipv4Addr::new(192, 0, 2, 2),
        };
        let frame = request.frame(BROADCAST);
        let expected =
            "ffffffffffff 020000000007 0806 0001 0800 06 04 0001 020000000007 c0000201 000000000000 c0000202";
        assert_eq!(hex(&frame), expected.replace(' ', ""));
        assert_eq!(Arp::parse(&frame[ETHERNET..]), Some(request));
        let reply = Arp { is_request: false, sender_mac: OTHER, target_mac: MAC, ..request };
        assert_eq!(Arp::parse(&reply.frame(MAC)[ETHERNET..]), Some(reply));
        for (at, value) in [(1, 2), (2, 9), (4, 8), (5, 16), (7, 3), (8, 3)] {
            let mut other = frame[ETHERNET..].to_vec();
            other[at] = value;
            assert_eq!(Arp::parse(&other), None, "byte {at}");
        }
        assert_eq!(Arp::parse(&frame[ETHERNET..][..27]), None);
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn discovery_is_valid_or_nothing() {
        let (source, target) = (ip("fe80::1"), ip("2001:db8::12:3456"));
        let frame = solicitation(MAC, source, target, None);
        assert_eq!(hex(&frame[..ETHERNET]), "3333ff123456".to_owned() + "02000000000786dd");
        let packet = &frame[ETHERNET..];
        assert!(is_discovery(packet));
        let parsed = Discovery::Solicitation { source, target, mac: Some(MAC) };
        assert_eq!(Discovery::parse(packet, false), Some(parsed));
        assert_eq!(frame[ETHERNET..][24..40], solicited_node(target).octets());

        let answer = advertisement(OTHER, target, source);
        let parsed = Discovery::Advertisement { target, mac: Some(OTHER), solicited: true, overrides: true };
        assert_eq!(Discovery::parse(&answer, false), Some(parsed));
        let to_all = advertisement(OTHER, target, Ipv6Addr::UNSPECIFIED);
        assert_eq!(to_all[24..40], ALL_NODES.octets());
        let parsed = Discovery::Advertisement { target, mac: Some(OTHER), solicited: false, overrides: true };
        assert_eq!(Discovery::parse(&to_all, false), Some(parsed));

        // Each byte matters, but for the reserved ones and the traffic class and flow label.
        for at in 0..packet.len() {
            let mut damaged = packet.to_vec();
            damaged[at] ^= 0x10;
            let parsed = Discovery::parse(&damaged, false);
            assert_eq!(parsed.is_some(), (1..4).contains(&at), "byte {at}");
        }
        // RFC 4861 §7.1: hop limit, code, target, and an option without a length.
        for (at, value) in [(7, 254), (41, 1), (48, 0xff), (65, 0)] {
            let mut damaged = packet.to_vec();
            damaged[at] = value;
            assert_eq!(Discovery::parse(&damaged, true), None, "byte {at}");
        }
        for len in 0..packet.len() {
            assert_eq!(Discovery::parse(&packet[..len], true), None);
        }
        // Who has no address yet gives no link address.
        let probe = solicitation(MAC, Ipv6Addr::UNSPECIFIED, target, None);
        assert_eq!(Discovery::parse(&probe[ETHERNET..], true), None);
        let mut probe = probe[ETHERNET..][..IPV6_HEADER + MESSAGE].to_vec();
        probe[5] = MESSAGE as u8;
        let parsed = Discovery::Solicitation { source: Ipv6Addr::UNSPECIFIED, target, mac: None };
        assert_eq!(Discovery::parse(&probe, true), Some(parsed));
    }

    #[test]
    fn errors_quote_what_cannot_be_delivered() {
        let mut v4 = vec![0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 192, 0, 2, 7, 192, 0, 2, 9];
        v4.extend([9; 20]);
        let error = unreachable(&v4, Unreachable::NoAnswer).unwrap();
        assert_eq!(hex(&error[..20]), "4500004400000000400176b3c0000209c0000207".replace("76b3", &hex(&error[10..12])));
        assert_eq!(Sum::default().plus(&error[..20]).checksum(), 0);
        assert_eq!(Sum::default().plus(&error[20..]).checksum(), 0);
        assert_eq!((&error[20..22], &error[28..]), (&[3, 1][..], &v4[..]));
        let mut v6 = vec![0x60, 0, 0, 0, 5, 220, 6, 64];
        v6.extend([[1; 16], [2; 16]].as_flattened());
        v6.extend([9; 1500]);
        let error = unreachable(&v6, Unreachable::NoAnswer).unwrap();
        assert_eq!((error.len(), &error[8..40]), (LONGEST_ERROR, [[2; 16], [1; 16]].as_flattened()));
        assert_eq!((&error[40..42], &error[48..]), (&[1, 3][..], &v6[..LONGEST_ERROR - 48]));
        let [own, other] = [1, 2].map(|byte| IpAddr::from([byte; 16]));
        let sum = pseudo_header(other, own, error.len() - 40, ICMPV6).plus(&error[40..]);
        assert_eq!(sum.checksum(), 0);
        // No errors about errors, but about an echo request.
        for (packet, at, protocol) in [(&mut v4, 9, ICMP), (&mut v6, 6, ICMPV6)] {
            packet[at] = protocol;
            let message = if protocol == ICMP { 20 } else { IPV6_HEADER };
            packet[message] = 3;
            assert_eq!(unreachable(packet, Unreachable::NoRoute), None);
            packet[message] = if protocol == ICMP { 8 } else { 128 };
            let error = unreachable(packet, Unreachable::NoRoute).unwrap();
            assert_eq!(error[message + 1], 0);
        }
        for packet in [&[][..], &[0x45; 19], &[0x60; 39], &[0x75; 60]] {
            assert_eq!(unreachable(packet, Unreachable::NoRoute), None);
        }
    }

    #[test]
    fn groups_have_link_addresses() {
        assert_eq!(group(IpAddr::from([224, 129, 2, 3])), [1, 0, 0x5e, 1, 2, 3]);
        assert_eq!(group(ip("ff02::1:ff28:9c5a").into()), [0x33, 0x33, 0xff, 0x28, 0x9c, 0x5a]);
        // RFC 4291 §2.7.1
        assert_eq!(solicited_node(ip("4037::01:800:200E:8C6C")), ip("FF02::1:FF0E:8C6C"));
    }
}
