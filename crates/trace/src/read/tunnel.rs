//! Enters tunnels: finds the IP packet that another IP packet carries.
//!
//! | outer packet | tunnel | source |
//! | --- | --- | --- |
//! | UDP to port 4789 or 8472 | VXLAN, with or without a group policy | RFC 7348, draft-smith-vxlan-group-policy |
//! | UDP to port 6081 | GENEVE, with options | RFC 8926 |
//! | UDP to or from port 2152 | GTP-U: user data, with extension headers | 3GPP TS 29.281 |
//! | UDP to port 6635 | MPLS | RFC 7510 |
//! | IP protocol 47, UDP to port 4754 | GRE, with IP, Ethernet, MPLS, WCCP or ERSPAN I to III | RFC 2784, RFC 2890, RFC 8086, draft-foschiano-erspan |
//! | IP protocol 47 | GRE version 1, with PPP: PPTP | RFC 2637 |
//! | IP protocol 4 or 41 | IPv4 or IPv6 | RFC 2003, RFC 2473, RFC 4213 |
//!
//! Ethernet frames in tunnels may have VLAN tags, MPLS labels and PPPoE, as those of the capture.
//!
//! **A port number does not make a tunnel.** All fields that have one possible value must have it, and an IP header
//! that fits must follow, or else the packet stays what it is: UDP. A mirror may cut the packets that it sends. Then
//! the inner header claims more bytes than there are; such a header must have a valid checksum (IPv4).
//!
//! Fragments of outer packets are not reassembled. The first one has the inner headers, and is entered. Later ones
//! are counted: those of UDP as UDP, because nothing shows that they belong to a tunnel.
//!
//! # What tells tunnels apart
//!
//! A [`Tunnel`] names the innermost tunnel of a packet: its kind and its identifier, and a digest of the tunnels
//! around it. Tunnels without an identifier have a digest of the outer addresses instead.
//! [`follow::table`](crate::follow::table) says when two tunnels make two connections.

use super::{
    Reason,
    link::{self, Labelled, after_labels, ether_type, is_known, word},
    marks::Marks,
};
use recoup_wire::{Fragment, IpPayload, ip_payload};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The most tunnels in each other that are entered.
pub(super) const MOST_TUNNELS: usize = 8;

recoup_units::named! {
    /// The kind of a tunnel.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum TunnelKind {
        /// Ethernet over UDP, with a network identifier of 24 bits.
        Vxlan = "VXLAN",
        /// The same, with options.
        Geneve = "GENEVE",
        /// Generic encapsulation, with a key.
        GreKey = "GRE key",
        /// The same, without a key.
        Gre = "GRE",
        /// A switch's mirror, with a session.
        Erspan = "ERSPAN session",
        /// The same, without one (type I).
        ErspanOne = "ERSPAN",
        /// A mobile network's user data, with an endpoint identifier per direction.
        GtpU = "GTP-U TEID",
        /// PPP over GRE, with a call identifier per direction.
        Pptp = "PPTP call",
        /// MPLS over UDP or GRE. The identifier is the last label.
        Mpls = "MPLS label",
        /// IPv4 or IPv6 in IPv4 or IPv6.
        IpInIp = "IP in IP",
    }
}

impl TunnelKind {
    /// Whether the identifier names a network with addresses of its own, and is the same all the way and all the
    /// time. So two identifiers in one direction belong to two networks.
    const fn names_network(self) -> bool {
        matches!(self, Self::Vxlan | Self::Geneve | Self::GreKey | Self::Erspan)
    }

    /// The name without that of its identifier.
    pub const fn title(self) -> &'static str {
        match self {
            Self::GreKey => "GRE",
            Self::Erspan => "ERSPAN",
            Self::GtpU => "GTP-U",
            Self::Pptp => "PPTP",
            Self::Mpls => "MPLS",
            other => other.name(),
        }
    }

    /// Whether the identifier is a digest of the outer addresses.
    const fn is_digest(self) -> bool {
        matches!(self, Self::Gre | Self::ErspanOne | Self::IpInIp)
    }
}

/// The innermost tunnel that a packet was captured in, or none.
///
/// In 64 bits: a digest of the tunnels around it (24 bits; 0: none), its kind plus 1 (8), its identifier (32).
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Tunnel(u64);

impl Tunnel {
    /// The packet was captured outside of tunnels.
    pub const NONE: Self = Self(0);

    /// A tunnel within `around`, which may be [`NONE`](Self::NONE).
    pub const fn new(kind: TunnelKind, id: u32, around: Self) -> Self {
        let digest = match around.0 {
            0 => 0,
            // 0 stands for none.
            bits => mixed(bits) >> 40 | 1,
        };
        Self(digest << 40 | (kind as u64 + 1) << 32 | id as u64)
    }

    /// Whether the packet was captured outside of tunnels.
    #[inline]
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Its kind; `None` outside of tunnels.
    pub fn kind(self) -> Option<TunnelKind> {
        let place = usize::from((self.0 >> 32) as u8);
        TunnelKind::ALL.get(place.checked_sub(1)?).copied()
    }

    /// Its identifier. For a kind without identifiers, a digest of the outer addresses.
    pub const fn id(self) -> u32 {
        self.0 as u32
    }

    /// As a number: 0 outside of tunnels.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The tunnel with these [`bits`](Self::bits).
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Whether its identifier names a network.
    pub(crate) fn names_network(self) -> bool {
        self.kind().is_some_and(TunnelKind::names_network)
    }

    /// Whether packets of one direction in this tunnel and in `other` belong to two networks.
    pub(crate) fn excludes(self, other: Self) -> bool {
        let differ_in_id = (self.0 ^ other.0) >> 32 == 0 && self != other;
        differ_in_id && self.names_network()
    }

    /// A digest of 32 bits; 0 outside of tunnels.
    pub(crate) const fn digest(self) -> u32 {
        match self.0 {
            0 => 0,
            bits => (mixed(bits) >> 32) as u32,
        }
    }
}

impl fmt::Display for Tunnel {
    /// For example `VXLAN 42`, `GTP-U TEID 0x1f2e` or `IP in IP, path 3fa2b1c0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(kind) = self.kind() else {
            return f.write_str("no tunnel");
        };
        match kind {
            _ if kind.is_digest() => write!(f, "{}, path {:08x}", kind.name(), self.id())?,
            TunnelKind::GtpU => write!(f, "{} {:#x}", kind.name(), self.id())?,
            _ => write!(f, "{} {}", kind.name(), self.id())?,
        }
        match self.0 >> 40 {
            0 => Ok(()),
            around => write!(f, " in tunnel {around:06x}"),
        }
    }
}

impl fmt::Debug for Tunnel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The finalizer of splitmix64.
const fn mixed(bits: u64) -> u64 {
    let x = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb)
}

/// Some captured bytes, and how many there were on the wire.
#[derive(Clone, Copy, Debug)]
struct Bytes<'a> {
    captured: &'a [u8],
    on_wire: usize,
    /// Where they begin in the outer packet.
    at: usize,
}

/// The IP packet in a tunnel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inner<'a> {
    /// Its captured bytes: at least one.
    pub packet: &'a [u8],
    /// Its length on the wire.
    pub on_wire: usize,
    /// Where it begins in the outer packet.
    pub at: usize,
    pub tunnel: Tunnel,
}

/// Why there is no IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    /// It is not such a tunnel.
    NoTunnel,
    /// It is such a tunnel, as far as captured, but not with an IP packet that can be read.
    Unread(Reason),
}

impl From<Reason> for Refusal {
    fn from(reason: Reason) -> Self {
        Self::Unread(reason)
    }
}

use Refusal::NoTunnel;

type Entered<'a> = Result<Inner<'a>, Refusal>;

/// IP protocols (IANA).
mod protocol {
    pub const ICMP: u8 = 1;
    pub const IPV4: u8 = 4;
    pub const UDP: u8 = 17;
    pub const IPV6: u8 = 41;
    pub const GRE: u8 = 47;
    pub const ESP: u8 = 50;
    pub const ICMP_V6: u8 = 58;
}

/// Ports that tunnels are sent to.
mod port {
    pub const QUIC: u16 = 443;
    pub const OPEN_VPN: u16 = 1194;
    pub const GTP_U: u16 = 2152;
    pub const ESP: u16 = 4500;
    pub const GRE: u16 = 4754;
    /// That of RFC 7348, and the one Linux used before.
    pub const VXLAN: [u16; 2] = [4789, 8472];
    pub const GENEVE: u16 = 6081;
    pub const MPLS: u16 = 6635;
}

/// Finds the IP packet within `packet`, an IP packet of `on_wire` bytes without TCP, which was captured within
/// `around`.
///
/// # Errors
/// What the packet is, if it is no tunnel or cannot be entered.
#[cold]
#[inline(never)]
pub(super) fn enter<'a>(
    packet: &'a [u8],
    on_wire: usize,
    around: Tunnel,
    marks: &mut impl Marks,
) -> Result<Inner<'a>, Reason> {
    let IpPayload { protocol, captured, on_wire, fragment } =
        ip_payload(packet, on_wire).map_err(|_| Reason::IpHeader)?;
    let at = captured.start;
    let payload = Bytes { captured: packet.get(captured).unwrap_or_default(), on_wire, at };
    let mut outer = Outer { packet, around, is_fragment: fragment.is_some(), marks };
    let is_headless = fragment == Some(Fragment::Later);
    let (entered, otherwise) = match protocol {
        protocol::UDP => match payload.split::<8>() {
            Ok((header, rest)) if !is_headless => {
                // The checksum, which the payload changes, is no part of it.
                outer.marks.keep(at..at + 6);
                outer.udp(header, rest)
            }
            _ => return Err(Reason::Udp),
        },
        protocol::GRE | protocol::IPV4 | protocol::IPV6 if is_headless => return Err(Reason::TunnelFragment),
        protocol::GRE => (outer.gre(payload), Reason::UnknownTunnel),
        protocol::IPV4 | protocol::IPV6 => (outer.ip(payload, TunnelKind::IpInIp, outer.path()), Reason::UnknownTunnel),
        protocol::ESP => return Err(Reason::Esp),
        protocol::ICMP | protocol::ICMP_V6 => return Err(Reason::Icmp),
        _ => return Err(Reason::NotTcp),
    };
    entered.map_err(|refusal| match refusal {
        NoTunnel => otherwise,
        Refusal::Unread(reason) => reason,
    })
}

impl<'a> Bytes<'a> {
    /// The first bytes and the rest.
    fn split<const COUNT: usize>(self) -> Result<(&'a [u8; COUNT], Self), Refusal> {
        if self.on_wire < COUNT {
            return Err(NoTunnel);
        }
        let (first, captured) = self.captured.split_first_chunk().ok_or(Reason::Cut)?;
        Ok((first, Self { captured, on_wire: self.on_wire - COUNT, at: self.at + COUNT }))
    }

    /// Whether the first byte is as it must be, or was not captured.
    fn may_begin_with(self, is_right: impl Fn(u8) -> bool) -> bool {
        self.captured.first().is_none_or(|first| is_right(*first))
    }

    /// Without the first bytes.
    fn skip(self, count: usize) -> Result<Self, Refusal> {
        let on_wire = self.on_wire.checked_sub(count).ok_or(NoTunnel)?;
        let captured = self.captured.get(count..).ok_or(Reason::Cut)?;
        Ok(Self { captured, on_wire, at: self.at + count })
    }

    /// The first `count` bytes at most.
    fn up_to(self, count: usize) -> Self {
        let captured = self.captured.get(..count).unwrap_or(self.captured);
        Self { captured, on_wire: self.on_wire.min(count), ..self }
    }

    /// Marks the first `count` bytes as needed.
    fn keep(self, count: usize, marks: &mut impl Marks) {
        marks.keep(self.at..self.at + count);
    }
}

fn is(holds: bool) -> Result<(), Refusal> {
    if holds { Ok(()) } else { Err(NoTunnel) }
}

/// A number of three bytes, the highest first.
fn three(bytes: [u8; 3]) -> u32 {
    let [a, b, c] = bytes;
    u32::from_be_bytes([0, a, b, c])
}

/// The IP packet around a tunnel.
#[derive(Debug)]
struct Outer<'a, 'm, M> {
    packet: &'a [u8],
    around: Tunnel,
    /// It is the first fragment: lengths within it are those of the whole packet.
    is_fragment: bool,
    marks: &'m mut M,
}

impl<'a, M: Marks> Outer<'a, '_, M> {
    /// A digest of its addresses, the same in both directions.
    fn path(&self) -> u32 {
        let (addresses, length) = match self.packet.first() {
            Some(first) if first >> 4 == 4 => (12..20, 4),
            _ => (8..40, 16),
        };
        let ends = self.packet.get(addresses).unwrap_or_default().chunks(length).map(|address| {
            let parts =
                address.chunks(8).map(|part| part.iter().fold(0, |bits: u64, &byte| bits << 8 | u64::from(byte)));
            parts.fold(1, |digest, part| mixed(digest ^ part))
        });
        (ends.fold(0, u64::wrapping_add) >> 32) as u32
    }

    /// What is in a UDP packet; if it is no tunnel, also what it is.
    fn udp(&mut self, header: &[u8; 8], payload: Bytes<'a>) -> (Entered<'a>, Reason) {
        let [from, to, length] = [0, 2, 4].map(|at| u16::from_be_bytes([header[at], header[at + 1]]));
        // With segmentation offload, the length is that of one segment, or 0.
        let payload = match usize::from(length).checked_sub(8) {
            Some(own) if self.is_fragment => Bytes { on_wire: own.max(payload.on_wire), ..payload },
            Some(own) if own < payload.on_wire && own > 0 => payload.up_to(own),
            _ => payload,
        };
        let entered = match to {
            to if port::VXLAN.contains(&to) => self.vxlan(payload),
            port::GENEVE => self.geneve(payload),
            port::GTP_U => self.gtp_u(payload),
            port::GRE => self.gre(payload),
            port::MPLS => self.labels(payload),
            // Some gateways answer from this port to another one.
            _ if from == port::GTP_U => self.gtp_u(payload),
            _ => Err(NoTunnel),
        };
        (entered, udp_content([from, to], payload))
    }

    /// RFC 7348 §5. With a group policy, one more flag and 16 bits that are otherwise reserved.
    fn vxlan(&mut self, payload: Bytes<'a>) -> Entered<'a> {
        is(payload.may_begin_with(|flags| matches!(flags, 0x08 | 0x88)))?;
        payload.keep(8, self.marks);
        let (&[flags, more, policy @ .., a, b, c, reserved], frame) = payload.split::<8>()?;
        let is_plain = flags == 0x08 && more == 0 && policy == [0; 2];
        let has_policy = flags == 0x88 && more & !0x48 == 0;
        is((is_plain || has_policy) && reserved == 0)?;
        self.ethernet(frame, TunnelKind::Vxlan, three([a, b, c]))
    }

    /// RFC 8926 §3.4.
    fn geneve(&mut self, payload: Bytes<'a>) -> Entered<'a> {
        is(payload.may_begin_with(|first| first >> 6 == 0))?;
        payload.keep(8, self.marks);
        let (&[first, flags, high, low, a, b, c, reserved], rest) = payload.split::<8>()?;
        is(flags & 0x3f == 0 && reserved == 0)?;
        let inner = rest.skip(4 * usize::from(first & 0x3f))?;
        self.behind(u16::from_be_bytes([high, low]), inner, TunnelKind::Geneve, three([a, b, c]))
    }

    /// 3GPP TS 29.281 §5.1 and §5.2: version 1, no other protocol than GTP, user data.
    fn gtp_u(&mut self, payload: Bytes<'a>) -> Entered<'a> {
        const USER_DATA: u8 = 0xff;
        payload.keep(8, self.marks);
        is(payload.may_begin_with(|flags| flags & 0xf8 == 0x30))?;
        let (&[flags, kind, high, low, a, b, c, d], rest) = payload.split::<8>()?;
        let length = usize::from(u16::from_be_bytes([high, low]));
        is(kind == USER_DATA && length <= rest.on_wire)?;
        let mut rest = rest.up_to(length);
        if flags & 7 != 0 {
            rest.keep(4, self.marks);
            let (&[.., first], behind) = rest.split::<4>()?;
            rest = behind;
            let mut next = first * (flags >> 2 & 1);
            while next != 0 {
                let (&[words], _) = rest.split::<1>()?;
                is(words != 0)?;
                let header = 4 * usize::from(words);
                let behind = rest.skip(header)?;
                // Its length, and the kind of the next one.
                rest.keep(1, self.marks);
                self.marks.keep(behind.at - 1..behind.at);
                next = *rest.captured.get(header - 1).ok_or(Reason::Cut)?;
                rest = behind;
            }
        }
        self.ip(rest, TunnelKind::GtpU, u32::from_be_bytes([a, b, c, d]))
    }

    /// A stack of MPLS labels, and what follows.
    fn labels(&mut self, payload: Bytes<'a>) -> Entered<'a> {
        let bytes = payload.captured;
        let mut marks = self.marks.behind(payload.at);
        let start = match after_labels(bytes, 0, &mut marks)? {
            Labelled::Ip(start) => start,
            Labelled::EtherType(at) => {
                marks.keep(at..at + 2);
                link::behind(word(bytes, at)?, bytes, at + 2, &mut marks)?
            }
        };
        let mut labels = payload.captured.chunks_exact(4);
        let last = labels.find(|label| label[2] & 1 == 1).map_or(0, |label| three([label[0], label[1], label[2]]) >> 4);
        self.ip(payload.skip(start)?, TunnelKind::Mpls, last)
    }

    /// RFC 2784 §2, RFC 2890 §2, and version 1: RFC 2637 §4.1.
    fn gre(&mut self, payload: Bytes<'a>) -> Entered<'a> {
        const ERSPAN: u16 = 0x88be;
        const ERSPAN_THREE: u16 = 0x22eb;
        const PPP: u16 = 0x880b;
        const WCCP: u16 = 0x883e;
        payload.keep(4, self.marks);
        let (&[flags, version, high, low], rest) = payload.split::<4>()?;
        let has = |flag: u8| flags & flag != 0;
        let (checksum, routing, has_key, sequence) = (has(0x80), has(0x40), has(0x20), has(0x10));
        let ether_type = u16::from_be_bytes([high, low]);
        is(!routing && flags & 0x0f == 0)?;
        if version & 7 == 1 {
            let acknowledges = version & 0x80 != 0;
            is(!checksum && has_key && version & 0x78 == 0 && ether_type == PPP)?;
            let numbers = 4 * (usize::from(sequence) + usize::from(acknowledges));
            rest.keep(4 + numbers, self.marks);
            let (&[.., a, b], rest) = rest.split::<4>()?;
            let rest = rest.skip(numbers)?;
            let start = link::ppp(rest.captured, &mut self.marks.behind(rest.at))?;
            return self.ip(rest.skip(start)?, TunnelKind::Pptp, u16::from_be_bytes([a, b]).into());
        }
        is(version == 0)?;
        let rest = rest.skip(4 * usize::from(checksum))?;
        let (kind, id, rest) = if has_key {
            rest.keep(4, self.marks);
            let (key, rest) = rest.split::<4>()?;
            (TunnelKind::GreKey, u32::from_be_bytes(*key), rest)
        } else {
            (TunnelKind::Gre, self.path(), rest)
        };
        let numbers = 4 * usize::from(sequence);
        rest.keep(numbers, self.marks);
        let rest = rest.skip(numbers)?;
        match ether_type {
            // Only type II counts its packets (draft-foschiano-erspan §4).
            ERSPAN if !sequence => self.ethernet(rest, TunnelKind::ErspanOne, self.path()),
            ERSPAN => self.erspan_two(rest),
            ERSPAN_THREE => self.erspan_three(rest),
            labels if ether_type::MPLS.contains(&labels) => self.labels(rest),
            // Version 2 has four bytes before the packet (draft-param-wccp-v2rev1 §4.12.2).
            WCCP => self.ip(rest, kind, id).or_else(|_| self.ip(rest.skip(4)?, kind, id)),
            other => self.behind(other, rest, kind, id),
        }
    }

    /// draft-foschiano-erspan §4.2: version, session, index.
    fn erspan_two(&mut self, bytes: Bytes<'a>) -> Entered<'a> {
        bytes.keep(8, self.marks);
        let (&[version, _, high, low, ..], frame) = bytes.split::<8>()?;
        is(version >> 4 == 1)?;
        self.ethernet(frame, TunnelKind::Erspan, session(high, low))
    }

    /// draft-foschiano-erspan §4.3: version, session, time, frame type, and perhaps a platform's header.
    fn erspan_three(&mut self, bytes: Bytes<'a>) -> Entered<'a> {
        const IP: u8 = 2;
        bytes.keep(12, self.marks);
        let (&[version, _, high, low, .., kind, last], rest) = bytes.split::<12>()?;
        is(version >> 4 == 2)?;
        let inner = rest.skip(8 * usize::from(last & 1))?;
        match kind >> 2 & 0x1f {
            IP => self.ip(inner, TunnelKind::Erspan, session(high, low)),
            _ => self.ethernet(inner, TunnelKind::Erspan, session(high, low)),
        }
    }

    /// An Ethernet frame.
    fn ethernet(&mut self, frame: Bytes<'a>, kind: TunnelKind, id: u32) -> Entered<'a> {
        is(frame.on_wire >= 14)?;
        is(is_known(word(frame.captured, 12)?))?;
        let start = link::in_ethernet(frame.captured, 0, &mut self.marks.behind(frame.at))?;
        self.ip(frame.skip(start)?, kind, id)
    }

    /// What an EtherType names.
    fn behind(&mut self, ether_type: u16, bytes: Bytes<'a>, kind: TunnelKind, id: u32) -> Entered<'a> {
        match ether_type {
            ether_type::BRIDGED => self.ethernet(bytes, kind, id),
            other if is_known(other) => {
                let start = link::behind(other, bytes.captured, 0, &mut self.marks.behind(bytes.at))?;
                self.ip(bytes.skip(start)?, kind, id)
            }
            _ => Err(NoTunnel),
        }
    }

    /// An IP packet, if its header fits.
    fn ip(&self, bytes: Bytes<'a>, kind: TunnelKind, id: u32) -> Entered<'a> {
        let (&[first, _, high, low], _) = bytes.split::<4>()?;
        let (header, length) = match first >> 4 {
            4 => (4 * usize::from(first & 15), usize::from(u16::from_be_bytes([high, low]))),
            6 => {
                let (&[.., high, low], _) = bytes.split::<6>()?;
                let length = usize::from(u16::from_be_bytes([high, low]));
                (40, if length == 0 { 0 } else { 40 + length })
            }
            _ => return Err(NoTunnel),
        };
        let is_plausible = header >= 20 && bytes.on_wire >= header && (length == 0 || length >= header);
        is(is_plausible)?;
        // A mirror cut the packet.
        if length > bytes.on_wire {
            is(first >> 4 == 6 || is_valid(bytes.captured.get(..header).ok_or(Reason::Cut)?))?;
        }
        let tunnel = Tunnel::new(kind, id, self.around);
        Ok(Inner { packet: bytes.captured, on_wire: bytes.on_wire.max(length), at: bytes.at, tunnel })
    }
}

/// The session of an ERSPAN header: 10 bits.
fn session(high: u8, low: u8) -> u32 {
    u32::from(u16::from_be_bytes([high, low]) & 0x3ff)
}

/// Whether the checksum of an IPv4 header is right (RFC 791 §3.1).
fn is_valid(header: &[u8]) -> bool {
    let words = header.chunks_exact(2).map(|word| u64::from(u16::from_be_bytes([word[0], word[1]])));
    let sum: u64 = words.sum();
    sum > 0 && sum.is_multiple_of(0xffff)
}

/// What UDP carries, as far as its first bytes show for certain.
fn udp_content(ports: [u16; 2], payload: Bytes<'_>) -> Reason {
    let Bytes { captured, on_wire, .. } = payload;
    let uses = |port: u16| ports.contains(&port);
    match captured {
        // The four messages of WireGuard (its white paper, §5.4). The data has the length of its padding, and a
        // counter that does not reach its last two bytes.
        [1, 0, 0, 0, ..] if on_wire == 148 => Reason::WireGuard,
        [2, 0, 0, 0, ..] if on_wire == 92 => Reason::WireGuard,
        [3, 0, 0, 0, ..] if on_wire == 64 => Reason::WireGuard,
        [4, 0, 0, 0, _, _, _, _, _, _, _, _, _, _, 0, 0, ..] if on_wire >= 32 && on_wire.is_multiple_of(16) => {
            Reason::WireGuard
        }
        // ESP in UDP (RFC 3948 §2): a keepalive, or anything but the marker of IKE.
        [0xff] if uses(port::ESP) => Reason::Esp,
        [a, b, c, d, ..] if uses(port::ESP) && [*a, *b, *c, *d] != [0; 4] && on_wire >= 16 => Reason::Esp,
        // A record of DTLS 1.0 or 1.2 (RFC 6347 §4.1), also the handshake of 1.3.
        [20..=26, 0xfe, 0xfd | 0xff, _, _, _, _, _, _, _, _, high, low, ..]
            if 13 + usize::from(u16::from_be_bytes([*high, *low])) <= on_wire =>
        {
            Reason::Dtls
        }
        // A long header (RFC 9000 §17.2) of version 1, version 2 (RFC 9369) or a draft.
        [0xc0..=0xff, 0, 0, 0, 1, 0..=20, ..]
        | [0xc0..=0xff, 0x6b, 0x33, 0x43, 0xcf, 0..=20, ..]
        | [0xc0..=0xff, 0xff, 0, 0, 1..=34, 0..=20, ..] => Reason::Quic,
        // A short header, or the choice of a version. DTLS and STUN differ in the first byte (RFC 9443 §3).
        [0x40..=0x7f, ..] | [0x80..=0xff, 0, 0, 0, 0, ..] if uses(port::QUIC) && on_wire >= 21 => Reason::Quic,
        // The first byte has the kind of the packet, 1 to 11, in five bits.
        [first, ..] if uses(port::OPEN_VPN) && matches!(first >> 3, 1..=11) && on_wire >= 14 => Reason::OpenVpn,
        _ => Reason::Udp,
    }
}

#[cfg(test)]
pub(super) mod tests;
