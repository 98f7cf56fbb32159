//! Decodes only the headers of captured packets, without checksums.
//!
//! Captures hold millions of packets. Nearly all are IPv4 (RFC 791 §3.1) or IPv6 (RFC 8200 §3) packets
//! with TCP right behind a plain IP header, and the fast path here reads them. Packets with other headers
//! before TCP, and malformed packets, take the slow path of [`decode`](crate::decode), which uses
//! etherparse. Both paths agree on every packet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use etherparse::{IpNumber, LaxIpSlice};

use crate::checksum::TCP;
use crate::decode::{Extent, TcpHeader};
use crate::options::OptionsRead;
use crate::{DecodeError, Ecn, Endpoints, Flags, IpVersion, Options, Segment, SeqNumber, Timestamps};

const ICMP: u8 = 1;
const UDP: u8 = 17;
const ICMP_V6: u8 = 58;

/// The headers of a packet, in 40 bytes. What few packets have is in [`RareHeaders`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Headers {
    /// The IPv4 addresses of sender and receiver; 0 over IPv6.
    pub addresses: [u32; 2],
    /// The ports of sender and receiver.
    pub ports: [u16; 2],
    /// Sequence number, as in [`Segment::seq`].
    pub seq: SeqNumber,
    /// Acknowledgement number, as in [`Segment::ack`].
    pub ack: SeqNumber,
    /// Payload bytes on the wire.
    pub payload_len: u32,
    timestamps: Timestamps,
    /// The receive window, not scaled.
    pub window: u16,
    ip_id: u16,
    /// Control bits.
    pub flags: Flags,
    /// The time to live, or IPv6's hop limit. Each router on the way lowers it.
    pub hop_limit: u8,
    facts: u16,
}

const _: () = assert!(size_of::<Headers>() == 40);

/// The headers that few packets have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RareHeaders {
    /// The IPv6 addresses of sender and receiver; meaningful over IPv6.
    pub addresses: [Ipv6Addr; 2],
    /// All options; meaningful if there are others than timestamps.
    pub options: Options,
}

impl RareHeaders {
    /// For a packet that has none.
    pub const NONE: Self = Self { addresses: [Ipv6Addr::UNSPECIFIED; 2], options: Options::NONE };
}

impl Default for RareHeaders {
    fn default() -> Self {
        Self::NONE
    }
}

/// The bits of [`Headers::facts`].
mod fact {
    pub(super) const IPV6: u16 = 1;
    pub(super) const IP_ID: u16 = 1 << 1;
    pub(super) const TIMESTAMPS: u16 = 1 << 2;
    pub(super) const OTHER_OPTIONS: u16 = 1 << 3;
    pub(super) const OPTIONS_INCOMPLETE: u16 = 1 << 4;
    pub(super) const OVERLONG: u16 = 1 << 5;
    /// The bits of [`Ecn`](crate::Ecn) begin here.
    pub(super) const ECN_SHIFT: u32 = 6;
    pub(super) const ECN: u16 = (crate::Ecn::BITS as u16) << ECN_SHIFT;
}

impl Headers {
    /// The headers of a packet with these endpoints and this segment. Flow labels and scopes are lost,
    /// and so is an IP version that is not that of the other end.
    pub fn new(endpoints: &Endpoints, segment: &Segment) -> (Self, RareHeaders) {
        let Endpoints { src, dst } = endpoints;
        let mut headers = Self {
            ports: [src.port(), dst.port()],
            seq: segment.seq,
            ack: segment.ack,
            payload_len: segment.payload_len,
            window: segment.window,
            flags: segment.flags,
            ..Self::default()
        };
        let mut rare = RareHeaders::default();
        match (src.ip(), dst.ip()) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                headers.addresses = [src.to_bits(), dst.to_bits()];
            }
            ends => {
                headers.facts |= fact::IPV6;
                rare.addresses = <[IpAddr; 2]>::from(ends).map(|ip| match ip {
                    IpAddr::V4(ip) => ip.to_ipv6_mapped(),
                    IpAddr::V6(ip) => ip,
                });
            }
        }
        headers.set_options(&segment.options, &mut rare);
        (headers, rare)
    }

    fn set_options(&mut self, options: &Options, rare: &mut RareHeaders) {
        if let Some(timestamps) = options.timestamps {
            self.set_timestamps(timestamps);
        }
        if options.has_others_than_timestamps() {
            self.facts |= fact::OTHER_OPTIONS;
            rare.options = *options;
        }
    }

    #[inline]
    fn set_timestamps(&mut self, timestamps: Timestamps) {
        self.timestamps = timestamps;
        self.facts |= fact::TIMESTAMPS;
    }

    #[inline]
    const fn has(&self, fact: u16) -> bool {
        self.facts & fact != 0
    }

    /// Whether it is [overlong](Self::overlong), or not all options were read.
    #[inline]
    pub const fn is_odd(&self) -> bool {
        self.has(fact::OVERLONG | fact::OPTIONS_INCOMPLETE)
    }

    /// Whether it shows nothing of ECN in its IP header, is not [odd](Self::is_odd), and has no options but timestamps.
    #[inline]
    pub const fn is_plain(&self) -> bool {
        !self.has(fact::OVERLONG | fact::OPTIONS_INCOMPLETE | fact::OTHER_OPTIONS | fact::ECN)
    }

    /// Whether the addresses are those in [`RareHeaders`], and nothing else is there.
    #[inline]
    pub const fn has_rare_addresses_only(&self) -> bool {
        self.facts & (fact::IPV6 | fact::OTHER_OPTIONS) == fact::IPV6
    }

    /// The timestamps, if it has any. Other options may be in [`RareHeaders`].
    #[inline]
    pub fn timestamps(&self) -> Option<Timestamps> {
        self.has(fact::TIMESTAMPS).then_some(self.timestamps)
    }

    /// Whether some headers are in [`RareHeaders`].
    #[inline]
    pub const fn has_rare(&self) -> bool {
        self.has(fact::IPV6 | fact::OTHER_OPTIONS)
    }

    /// The version of the Internet Protocol.
    #[inline]
    pub const fn ip_version(&self) -> IpVersion {
        match self.has(fact::IPV6) {
            true => IpVersion::V6,
            false => IpVersion::V4,
        }
    }

    /// The IPv4 identification, which distinguishes a retransmission from a duplicate made by the network.
    #[inline]
    pub fn ip_id(&self) -> Option<u16> {
        self.has(fact::IP_ID).then_some(self.ip_id)
    }

    /// Sets the IPv4 identification.
    #[inline]
    pub fn set_ip_id(&mut self, id: Option<u16>) {
        self.ip_id = id.unwrap_or_default();
        self.set(fact::IP_ID, id.is_some());
    }

    /// Explicit congestion notification.
    #[inline]
    pub const fn ecn(&self) -> Ecn {
        Ecn::from_bits((self.facts >> fact::ECN_SHIFT) as u8)
    }

    /// Sets [`ecn`](Self::ecn).
    #[inline]
    pub fn set_ecn(&mut self, ecn: Ecn) {
        self.facts = self.facts & !fact::ECN | u16::from(ecn.bits()) << fact::ECN_SHIFT;
    }

    /// Whether all options were read, as in [`Decoded`](crate::Decoded::options_complete).
    #[inline]
    pub const fn options_complete(&self) -> bool {
        !self.has(fact::OPTIONS_INCOMPLETE)
    }

    /// Sets [`options_complete`](Self::options_complete).
    #[inline]
    pub fn set_options_complete(&mut self, complete: bool) {
        self.set(fact::OPTIONS_INCOMPLETE, !complete);
    }

    /// Whether the IP header's length exceeds the packet's length on the wire. Either the header is
    /// wrong, or the capture lost the packet's length when it cut the packet.
    #[inline]
    pub const fn overlong(&self) -> bool {
        self.has(fact::OVERLONG)
    }

    /// Sets [`overlong`](Self::overlong).
    #[inline]
    pub fn set_overlong(&mut self, overlong: bool) {
        self.set(fact::OVERLONG, overlong);
    }

    #[inline]
    fn set(&mut self, fact: u16, holds: bool) {
        self.facts = self.facts & !fact | if holds { fact } else { 0 };
    }

    /// The addresses and ports; `rare` belongs to the same packet.
    #[inline]
    pub fn endpoints(&self, rare: &RareHeaders) -> Endpoints {
        let [src, dst] = match self.ip_version() {
            IpVersion::V4 => self.addresses.map(|bits| Ipv4Addr::from_bits(bits).into()),
            IpVersion::V6 => rare.addresses.map(IpAddr::V6),
        };
        Endpoints { src: SocketAddr::new(src, self.ports[0]), dst: SocketAddr::new(dst, self.ports[1]) }
    }

    /// The segment; `rare` belongs to the same packet.
    #[inline]
    pub fn segment(&self, rare: &RareHeaders) -> Segment {
        let mut segment = Segment::default();
        self.write_usual_segment(&mut segment);
        if self.has(fact::OTHER_OPTIONS) {
            segment.options = rare.options;
        }
        segment
    }

    /// Writes the endpoints in place, which saves copies. If the packet has [rare headers](Self::has_rare),
    /// [`write_rare`](Self::write_rare) must follow.
    #[inline]
    pub fn write_usual_endpoints(&self, endpoints: &mut Endpoints) {
        let [src, dst] = self.addresses.map(Ipv4Addr::from_bits);
        endpoints.src = SocketAddr::V4(SocketAddrV4::new(src, self.ports[0]));
        endpoints.dst = SocketAddr::V4(SocketAddrV4::new(dst, self.ports[1]));
    }

    /// Writes what [`write_usual_endpoints`](Self::write_usual_endpoints) and
    /// [`write_usual_segment`](Self::write_usual_segment) do not know of a packet with [rare headers](Self::has_rare).
    #[inline]
    pub fn write_rare(&self, rare: &RareHeaders, endpoints: &mut Endpoints, segment: &mut Segment) {
        if self.has(fact::IPV6) {
            let [src, dst] = rare.addresses;
            endpoints.src = SocketAddr::V6(SocketAddrV6::new(src, self.ports[0], 0, 0));
            endpoints.dst = SocketAddr::V6(SocketAddrV6::new(dst, self.ports[1], 0, 0));
        }
        if self.has(fact::OTHER_OPTIONS) {
            segment.options = rare.options;
        }
    }

    /// Writes the segment in place. If the packet has [rare headers](Self::has_rare), [`write_rare`](Self::write_rare) must
    /// follow.
    #[inline]
    pub fn write_usual_segment(&self, segment: &mut Segment) {
        segment.seq = self.seq;
        segment.ack = self.ack;
        segment.payload_len = self.payload_len;
        segment.window = self.window;
        segment.flags = self.flags;
        let options = &mut segment.options;
        options.timestamps = self.timestamps();
        options.sack.clear();
        options.mss = None;
        options.window_scale = None;
        options.sack_permitted = false;
    }
}

/// Decodes the headers of an IP packet of `on_wire` bytes that carries TCP; `packet` is its captured
/// part.
///
/// Headers are written in place, which saves copies. They are unchanged on an error. Rare headers that
/// [`Headers`] does not refer to mean nothing. `payload_len` is the payload's length on the wire.
///
/// The result is that of [`decode_unverified`](crate::decode_unverified) with two differences. A length
/// field of 0, from segmentation offload or a packet beyond 64 KiB, means `on_wire`. A length field
/// shorter than its own header is an error.
///
/// # Errors
/// When there is no TCP header to read.
#[inline(always)]
pub fn decode_headers(
    packet: &[u8],
    on_wire: usize,
    headers: &mut Headers,
    rare: &mut RareHeaders,
) -> Result<(), DecodeError> {
    let on_wire = on_wire.max(packet.len());
    let mut into = Destination { headers, rare };
    let is_usual = match packet.first() {
        Some(0x45) => v4(packet, on_wire, &mut into),
        Some(0x60..=0x6f) => v6(packet, on_wire, &mut into),
        _ => None,
    };
    match is_usual {
        Some(()) => Ok(()),
        None => unusual(packet, on_wire, into),
    }
}

/// The values to fill.
struct Destination<'a> {
    headers: &'a mut Headers,
    rare: &'a mut RareHeaders,
}

/// The fields of an IP header.
struct IpFacts {
    /// The IPv4 addresses of sender and receiver; 0 over IPv6.
    addresses: [u32; 2],
    ip_id: u16,
    hop_limit: u8,
    ecn: Ecn,
    facts: u16,
}

/// Decodes an IPv4 packet whose header has no options; `None`, and nothing is written, unless TCP follows
/// and all is well.
#[inline(always)]
fn v4(packet: &[u8], on_wire: usize, into: &mut Destination<'_>) -> Option<()> {
    const LEN: usize = IpVersion::V4.header_len() as usize;
    let header = packet.first_chunk::<LEN>()?;
    // The "more fragments" bit and the fragment offset.
    let fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff;
    if header[9] != TCP || fragment != 0 {
        return None;
    }
    let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
    let end = end_on_wire(total, LEN, on_wire).ok()?;
    let address = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let ip = IpFacts {
        addresses: [address(12), address(16)],
        ip_id: u16::from_be_bytes([header[4], header[5]]),
        hop_limit: header[8],
        ecn: Ecn::from_ip(header[1]),
        facts: fact::IP_ID,
    };
    let tcp = packet.get(LEN..end.min(packet.len()))?;
    let tcp = TcpHeader::read(tcp, end - LEN).ok()?;
    into.write(ip, &tcp, end > on_wire);
    Some(())
}

/// Decodes an IPv6 packet; `None`, and nothing is written, unless TCP follows and all is well.
#[inline(always)]
fn v6(packet: &[u8], on_wire: usize, into: &mut Destination<'_>) -> Option<()> {
    const LEN: usize = IpVersion::V6.header_len() as usize;
    let header = packet.first_chunk::<LEN>()?;
    if header[6] != TCP {
        return None;
    }
    let end = match u16::from_be_bytes([header[4], header[5]]) {
        0 => on_wire,
        counted => LEN + usize::from(counted),
    };
    let address = |at: usize| {
        let mut octets = [0; 16];
        octets.copy_from_slice(&header[at..at + 16]);
        Ipv6Addr::from(octets)
    };
    // The traffic class stands across the first two bytes (RFC 8200 §3).
    let ecn = Ecn::from_ip(header[1] >> 4);
    let ip = IpFacts { addresses: [0; 2], ip_id: 0, hop_limit: header[7], ecn, facts: fact::IPV6 };
    let tcp = packet.get(LEN..end.min(packet.len()))?;
    let tcp = TcpHeader::read(tcp, end - LEN).ok()?;
    into.rare.addresses = [address(8), address(24)];
    into.write(ip, &tcp, end > on_wire);
    Some(())
}

/// Decodes all other packets. Nearly all of them carry something else than TCP, and need no more than a
/// look.
#[cold]
#[inline(never)]
fn unusual(packet: &[u8], on_wire: usize, into: Destination<'_>) -> Result<(), DecodeError> {
    let protocol = match packet {
        [0x45, ..] => packet.get(9).filter(|_| packet.len() >= 20),
        [0x60..=0x6f, ..] => packet.get(6).filter(|_| packet.len() >= 40),
        _ => None,
    };
    match protocol {
        Some(&other @ (UDP | ICMP | ICMP_V6)) => Err(DecodeError::NotTcp(other)),
        _ => by_etherparse(packet, on_wire, into),
    }
}

/// The end on the wire of an IPv4 packet whose length field is `total`.
#[inline]
fn end_on_wire(total: usize, header: usize, on_wire: usize) -> Result<usize, DecodeError> {
    match total {
        0 => Ok(on_wire),
        _ if total < header => Err(DecodeError::TotalLength { says: total as u16, header: header as u8 }),
        _ => Ok(total),
    }
}

/// Decodes packets with extension headers, and packets without TCP.
#[cold]
#[inline(never)]
fn by_etherparse(packet: &[u8], on_wire: usize, mut into: Destination<'_>) -> Result<(), DecodeError> {
    let (ip, _) = LaxIpSlice::from_slice(packet).map_err(DecodeError::Ip)?;
    if ip.payload_ip_number() != IpNumber::TCP {
        return Err(DecodeError::NotTcp(ip.payload_ip_number().0));
    }
    if ip.is_fragmenting_payload() {
        return Err(DecodeError::Fragment);
    }
    if let LaxIpSlice::Ipv4(v4) = &ip {
        let header = v4.header();
        end_on_wire(usize::from(header.total_len()), header.slice().len(), on_wire)?;
    }
    let extent = Extent::of(packet, on_wire, &ip);
    let end = extent.on_wire + extent.captured.start;
    let tcp = packet.get(extent.captured).unwrap_or_default();
    let tcp = TcpHeader::read(tcp, extent.on_wire)?;
    let ip = match &ip {
        LaxIpSlice::Ipv4(v4) => IpFacts {
            addresses: [v4.header().source(), v4.header().destination()].map(u32::from_be_bytes),
            ip_id: v4.header().identification(),
            hop_limit: v4.header().ttl(),
            ecn: Ecn::from_ip(v4.header().ecn().value()),
            facts: fact::IP_ID,
        },
        LaxIpSlice::Ipv6(v6) => {
            let header = v6.header();
            into.rare.addresses = [header.source_addr(), header.destination_addr()];
            let ecn = Ecn::from_ip(header.traffic_class());
            IpFacts { addresses: [0; 2], ip_id: 0, hop_limit: header.hop_limit(), ecn, facts: fact::IPV6 }
        }
    };
    into.write(ip, &tcp, end > on_wire);
    Ok(())
}

impl Destination<'_> {
    /// Writes the headers of a packet with these IP and TCP headers.
    #[inline(always)]
    fn write(&mut self, ip: IpFacts, tcp: &TcpHeader<'_>, overlong: bool) {
        let headers = &mut *self.headers;
        headers.addresses = ip.addresses;
        headers.ports = [tcp.src_port, tcp.dst_port];
        headers.seq = tcp.seq;
        headers.ack = tcp.ack;
        headers.payload_len = tcp.payload_len;
        headers.window = tcp.window;
        headers.ip_id = ip.ip_id;
        headers.flags = tcp.flags;
        headers.hop_limit = ip.hop_limit;
        headers.facts = ip.facts
            | (fact::OVERLONG * u16::from(overlong))
            | (fact::OPTIONS_INCOMPLETE * u16::from(tcp.options_cut))
            | (u16::from(ip.ecn.with_tcp(tcp.reserved).bits()) << fact::ECN_SHIFT);
        match Options::leading_timestamps(tcp.options) {
            Some((timestamps, [])) => headers.set_timestamps(timestamps),
            _ => {
                headers.timestamps = Timestamps::default();
                if !tcp.options.is_empty() {
                    headers.read_options(tcp, self.rare);
                }
            }
        }
    }
}

impl Headers {
    /// Reads options in any layout.
    #[inline(never)]
    fn read_options(&mut self, tcp: &TcpHeader<'_>, rare: &mut RareHeaders) {
        let OptionsRead { sound, accurate_ecn } = rare.options.read_all(tcp.options, tcp.options_cut);
        let options = &rare.options;
        if let Some(timestamps) = options.timestamps {
            self.set_timestamps(timestamps);
        }
        if options.has_others_than_timestamps() {
            self.facts |= fact::OTHER_OPTIONS;
        }
        if !sound {
            self.facts |= fact::OPTIONS_INCOMPLETE;
        }
        if accurate_ecn {
            self.set_ecn(self.ecn().with_accurate_option());
        }
    }
}

#[cfg(test)]
mod tests;
