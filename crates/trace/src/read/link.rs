//! Finds the IP packet in a frame (link types: <https://www.tcpdump.org/linktypes.html>).

use super::{Reason, marks::Marks};

/// The supported link types, for messages.
pub(super) const KNOWN: &str = "Ethernet (1), raw IP (101, 12, 14, 228, 229), Linux cooked (113, 276), BSD loopback (0, 108), PPP (9, 50, 104), FDDI (10) or NFLOG (239)";

/// A supported link type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    Ethernet,
    /// The frame is the IP packet.
    Raw,
    /// Linux cooked, version 1.
    Cooked,
    /// Linux cooked, version 2.
    Cooked2,
    /// Four bytes with the address family.
    Loopback,
    /// PPP, with or without HDLC framing.
    Ppp,
    /// Cisco HDLC.
    Hdlc,
    Fddi,
    /// Linux netfilter's log.
    Nflog,
}

/// Where the IP packet is in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IpStart {
    /// The offset of the IP packet.
    pub start: usize,
    /// Whether the capturing host sent it, if known.
    pub outgoing: Option<bool>,
}

/// EtherTypes (IEEE 802.1Q for the tags, IEEE 802.1AE for MACsec, RFC 2516 for PPPoE, RFC 5332 for MPLS).
pub(super) mod ether_type {
    pub const IPV4: u16 = 0x0800;
    pub const ARP: u16 = 0x0806;
    /// Transparent Ethernet bridging: a whole Ethernet frame.
    pub const BRIDGED: u16 = 0x6558;
    pub const TAG: u16 = 0x8100;
    pub const IPV6: u16 = 0x86dd;
    pub const MPLS: [u16; 2] = [0x8847, 0x8848];
    pub const PPPOE: u16 = 0x8864;
    pub const SERVICE_TAG: u16 = 0x88a8;
    pub const MACSEC: u16 = 0x88e5;
    /// In use for outer tags before the standard.
    pub const OLD_TAGS: [u16; 2] = [0x9100, 0x9200];
    /// Up to this value it is a length, and LLC follows (IEEE 802.3).
    pub const LARGEST_LENGTH: u16 = 1500;
}

/// PPP protocol numbers (RFC 1332, RFC 5072, RFC 2118), without their first byte. Microsoft's encryption also
/// uses the number of compressed data (RFC 3078 §2).
const PPP_IPV4: u8 = 0x21;
const PPP_IPV6: u8 = 0x57;
const PPP_COMPRESSED: u8 = 0xfd;

impl Link {
    /// The link type with this number, if it is supported.
    pub fn of(number: i32) -> Option<Self> {
        Some(match number {
            1 => Self::Ethernet,
            12 | 14 | 101 | 228 | 229 => Self::Raw,
            113 => Self::Cooked,
            276 => Self::Cooked2,
            0 | 108 => Self::Loopback,
            9 | 50 => Self::Ppp,
            104 => Self::Hdlc,
            10 => Self::Fddi,
            239 => Self::Nflog,
            _ => return None,
        })
    }

    /// Finds the IP packet in `frame`.
    #[inline(always)]
    pub fn ip_packet(self, frame: &[u8], marks: &mut impl Marks) -> Result<IpStart, Reason> {
        if self == Self::Ethernet
            && let Some([.., a, b]) = frame.first_chunk::<14>()
            && let ether_type::IPV4 | ether_type::IPV6 = u16::from_be_bytes([*a, *b])
        {
            mark_addresses(0, marks);
            marks.keep(12..14);
            return Ok(at(14));
        }
        self.find_ip_packet(frame, marks)
    }

    /// Finds the IP packet of any frame.
    #[inline(never)]
    fn find_ip_packet(self, frame: &[u8], marks: &mut impl Marks) -> Result<IpStart, Reason> {
        match self {
            Self::Raw => Ok(at(0)),
            Self::Ethernet => in_ethernet(frame, 0, marks).map(at),
            Self::Cooked => cooked(frame, marks),
            Self::Cooked2 => cooked2(frame, marks),
            Self::Loopback => loopback(frame, marks).map(at),
            Self::Ppp => ppp(frame, marks).map(at),
            // Address, control, and a protocol number like an EtherType (RFC 1547 §4.3.1).
            Self::Hdlc => {
                marks.keep(0..2);
                after_ether_type(frame, 2, marks).map(at)
            }
            // Frame control and two addresses; LLC follows, as after a length in Ethernet (RFC 1390).
            Self::Fddi => {
                marks.keep(0..1);
                mark_addresses(1, marks);
                behind(0, frame, 13, marks).map(at)
            }
            Self::Nflog => nflog(frame, marks).map(at),
        }
    }
}

/// Hashes the two Ethernet addresses of frames. Most captures hold one or two links, so it remembers two.
#[derive(Debug, Default)]
pub(super) struct LinkHash {
    recent: [KnownLink; 2],
    /// The one that is forgotten next.
    older: bool,
}

/// Two addresses, each in the last six bytes, and their hash.
#[derive(Clone, Copy, Debug, Default)]
struct KnownLink {
    ends: [u64; 2],
    hash: u32,
}

impl LinkHash {
    /// The hash for `frame`, the same in both directions; 0 for link types other than Ethernet.
    #[inline(always)]
    pub fn of(&mut self, link: Link, frame: &[u8]) -> u32 {
        let (Link::Ethernet, Some(header)) = (link, frame.first_chunk::<12>()) else {
            return 0;
        };
        let bytes = |at: usize| header[at..].first_chunk().map_or(0, |b| u64::from_le_bytes(*b));
        let [to, from] = [bytes(0) << 16, bytes(4) >> 16 << 16];
        for known in &self.recent {
            if known.ends == [to, from] || known.ends == [from, to] {
                return known.hash;
            }
        }
        self.add([to, from])
    }

    #[inline(never)]
    fn add(&mut self, ends: [u64; 2]) -> u32 {
        let [to, from] = ends.map(hash_address);
        let hash = to.wrapping_add(from);
        self.recent[usize::from(self.older)] = KnownLink { ends, hash };
        self.older = !self.older;
        hash
    }
}

/// Addresses often differ in single bits, so the hash must not be linear: the finalizer of splitmix64.
fn hash_address(address: u64) -> u32 {
    let x = address.swap_bytes();
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb) >> 32) as u32
}

#[inline]
fn at(start: usize) -> IpStart {
    IpStart { start, outgoing: None }
}

#[inline]
pub(super) fn word(bytes: &[u8], at: usize) -> Result<u16, Reason> {
    match bytes.get(at..) {
        Some(&[a, b, ..]) => Ok(u16::from_be_bytes([a, b])),
        _ => Err(Reason::Cut),
    }
}

/// Marks the two addresses of the Ethernet frame at `at`.
#[inline(always)]
pub(super) fn mark_addresses(at: usize, marks: &mut impl Marks) {
    marks.hardware(at);
    marks.hardware(at + 6);
}

/// The offset of the IP packet in the Ethernet frame at `at`.
pub(super) fn in_ethernet(frame: &[u8], at: usize, marks: &mut impl Marks) -> Result<usize, Reason> {
    mark_addresses(at, marks);
    after_ether_type(frame, at + 12, marks)
}

/// The offset of the IP packet after the EtherType at `at`, and after tags and other headers.
fn after_ether_type(frame: &[u8], at: usize, marks: &mut impl Marks) -> Result<usize, Reason> {
    marks.keep(at..at + 2);
    behind(word(frame, at)?, frame, at + 2, marks)
}

/// The offset of the IP packet in what this EtherType names, which begins at `at`.
pub(super) fn behind(
    mut ether_type: u16,
    frame: &[u8],
    mut at: usize,
    marks: &mut impl Marks,
) -> Result<usize, Reason> {
    use ether_type::*;
    loop {
        // Where the next EtherType is.
        let next = match ether_type {
            IPV4 | IPV6 => return Ok(at),
            TAG | SERVICE_TAG => at + 2,
            tag if OLD_TAGS.contains(&tag) => at + 2,
            BRIDGED => {
                mark_addresses(at, marks);
                at += 12;
                at
            }
            labels if MPLS.contains(&labels) => match after_labels(frame, at, marks)? {
                Labelled::Ip(start) => return Ok(start),
                Labelled::EtherType(next) => {
                    at = next;
                    next
                }
            },
            // Version, code, session and length, then PPP.
            PPPOE => {
                marks.keep(at..at + 6);
                return after_ppp_protocol(frame, at + 6, marks);
            }
            length if length <= LARGEST_LENGTH => {
                // LLC and SNAP without an organisation: an EtherType follows (RFC 1042).
                match frame.get(at..at + 6) {
                    Some([0xaa, 0xaa, 3, 0, 0, 0]) => at + 6,
                    Some(_) => return Err(Reason::NotIp),
                    None => return Err(Reason::Cut),
                }
            }
            ARP => return Err(Reason::Arp),
            MACSEC => return Err(Reason::MacSec),
            _ => return Err(Reason::NotIp),
        };
        marks.keep(at..next + 2);
        ether_type = word(frame, next)?;
        at = next + 2;
    }
}

/// What follows a stack of MPLS labels.
#[derive(Debug, PartialEq)]
pub(super) enum Labelled {
    /// An IP packet at this offset.
    Ip(usize),
    /// An Ethernet frame (RFC 4448), whose EtherType is at this offset.
    EtherType(usize),
}

/// What follows the stack of MPLS labels at `at` (RFC 3032 §2.1). Labels do not say what follows: the first four
/// bits do (RFC 4385 §3).
pub(super) fn after_labels(frame: &[u8], mut at: usize, marks: &mut impl Marks) -> Result<Labelled, Reason> {
    loop {
        marks.keep(at..at + 4);
        let last = *frame.get(at + 2).ok_or(Reason::Cut)? & 1 == 1;
        at += 4;
        if last {
            break;
        }
    }
    // Without a control word, the first address usually begins with none of these four bits.
    let (frame_at, unknown) = match *frame.get(at).ok_or(Reason::Cut)? >> 4 {
        4 | 6 => return Ok(Labelled::Ip(at)),
        0 => (at + 4, Reason::Cut),
        _ => (at, Reason::NotIp),
    };
    let next = frame_at + 12;
    match word(frame, next) {
        Ok(ether_type) if is_known(ether_type) => {
            marks.keep(at..frame_at);
            mark_addresses(frame_at, marks);
            Ok(Labelled::EtherType(next))
        }
        Ok(_) => Err(Reason::NotIp),
        Err(_) => Err(unknown),
    }
}

/// Whether this is the EtherType of IP, of a header that IP may follow, or of ARP: few bytes that are no Ethernet
/// frame have one there.
pub(super) fn is_known(ether_type: u16) -> bool {
    use ether_type::*;
    matches!(ether_type, IPV4 | IPV6 | ARP | TAG | SERVICE_TAG | PPPOE)
        || OLD_TAGS.contains(&ether_type)
        || MPLS.contains(&ether_type)
}

/// Checks the version of the IP packet at `at`.
fn is_ip(frame: &[u8], at: usize) -> Result<usize, Reason> {
    match frame.get(at) {
        Some(first) if matches!(first >> 4, 4 | 6) => Ok(at),
        Some(_) => Err(Reason::NotIp),
        None => Err(Reason::Cut),
    }
}

/// The address family differs in number and byte order by system, so the IP version decides.
fn loopback(frame: &[u8], marks: &mut impl Marks) -> Result<usize, Reason> {
    marks.keep(0..4);
    is_ip(frame, 4)
}

/// With address and control fields, or without (RFC 1661 §6.6, RFC 1662 §3.1).
pub(super) fn ppp(frame: &[u8], marks: &mut impl Marks) -> Result<usize, Reason> {
    match frame {
        [0xff, 3, ..] => {
            marks.keep(0..2);
            after_ppp_protocol(frame, 2, marks)
        }
        [0xff] => Err(Reason::Cut),
        _ => after_ppp_protocol(frame, 0, marks),
    }
}

/// The offset after PPP's protocol number, whose first byte may be compressed away (RFC 1661 §6.5).
fn after_ppp_protocol(frame: &[u8], at: usize, marks: &mut impl Marks) -> Result<usize, Reason> {
    let start = match frame.get(at..).unwrap_or_default() {
        [0, PPP_IPV4 | PPP_IPV6, ..] => at + 2,
        [PPP_IPV4 | PPP_IPV6, ..] => at + 1,
        [] | [0] => return Err(Reason::Cut),
        [0, PPP_COMPRESSED, ..] | [PPP_COMPRESSED, ..] => return Err(Reason::CompressedPpp),
        _ => return Err(Reason::NotIp),
    };
    marks.keep(at..start);
    Ok(start)
}

/// The offset of the packet in a netfilter log: a header of four bytes, and attributes whose lengths and types are in the
/// byte order of the host, each padded to four bytes (<https://www.tcpdump.org/linktypes/LINKTYPE_NFLOG.html>). The other
/// attributes may name interfaces, users and the prefix of a firewall's rule.
fn nflog(frame: &[u8], marks: &mut impl Marks) -> Result<usize, Reason> {
    const PAYLOAD: u16 = 9;
    let attribute = |at: usize, number: fn([u8; 2]) -> u16| {
        let [a, b, c, d] = *frame.get(at..)?.first_chunk()?;
        Some((usize::from(number([a, b])).max(4).next_multiple_of(4), number([c, d])))
    };
    let is_found = |number: &fn([u8; 2]) -> u16| {
        let mut at = 4;
        loop {
            match attribute(at, *number) {
                None => return false,
                Some((_, PAYLOAD)) => return true,
                Some((len, _)) => at += len,
            }
        }
    };
    let number = [u16::from_le_bytes, u16::from_be_bytes].into_iter().find(is_found).ok_or(Reason::Cut)?;
    marks.keep(0..2);
    let mut at = 4;
    loop {
        marks.keep(at..at + 4);
        match attribute(at, number).ok_or(Reason::Cut)? {
            (_, PAYLOAD) => return is_ip(frame, at + 4),
            (len, _) => at += len,
        }
    }
}

/// Linux cooked, version 1. The packet type is 4 if this host sent it, and 0 if it was sent to this
/// host. The kind of hardware, the length of its address and the address follow.
fn cooked(frame: &[u8], marks: &mut impl Marks) -> Result<IpStart, Reason> {
    marks.keep(0..6);
    if word(frame, 4) == Ok(6) {
        marks.hardware(6);
    }
    let outgoing = match word(frame, 0)? {
        4 => Some(true),
        0 => Some(false),
        _ => None,
    };
    let start = after_ether_type(frame, 14, marks)?;
    Ok(IpStart { start, outgoing })
}

/// Linux cooked, version 2: the protocol comes first, then the number of the interface. The packet type is one byte.
fn cooked2(frame: &[u8], marks: &mut impl Marks) -> Result<IpStart, Reason> {
    const HEADER: usize = 20;
    marks.keep(0..12);
    if frame.get(11) == Some(&6) {
        marks.hardware(12);
    }
    let outgoing = match frame.get(10) {
        Some(4) => Some(true),
        Some(0) => Some(false),
        Some(_) => None,
        None => return Err(Reason::Cut),
    };
    let start = behind(word(frame, 0)?, frame, HEADER, marks)?;
    Ok(IpStart { start, outgoing })
}

#[cfg(test)]
mod tests;
