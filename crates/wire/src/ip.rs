//! IP headers of the packets that are made here, and what all readers need of those that arrive.
//!
//! IPv4 (RFC 791) without options, IPv6 (RFC 8200) without extension headers and with flow label 0. Both with TTL or
//! hop limit 64 and without a DSCP.

use std::net::IpAddr;
use std::ops::Range;

use etherparse::{IpNumber, Ipv4Header, Ipv6Header, LaxIpSlice};

use crate::decode::Extent;
use crate::{Ecn, IpVersion, PacketError, checksum};

/// The TTL or hop limit of encoded packets.
const HOP_LIMIT: u8 = 64;

/// What an IP header says that does not follow from its packet.
///
/// A number is an identification, with "don't fragment" set and without ECN: Linux sends TCP in this way.
///
/// ```
/// use recoup_wire::{Ecn, IpFields};
/// assert_eq!(IpFields::from(7), IpFields { id: 7, dont_fragment: true, ecn: Ecn::NONE });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpFields {
    /// The IPv4 identification. IPv6 has none.
    pub id: u16,
    /// Routers must not fragment it (RFC 791 §2.3). IPv6 routers never do.
    pub dont_fragment: bool,
    /// The ECN field (RFC 3168 §5). Of what [`Ecn`] says, the IP header has only this.
    pub ecn: Ecn,
}

impl From<u16> for IpFields {
    fn from(id: u16) -> Self {
        Self { id, dont_fragment: true, ecn: Ecn::NONE }
    }
}

impl IpFields {
    /// With this ECN field.
    #[must_use]
    pub const fn with_ecn(self, ecn: Ecn) -> Self {
        Self { ecn, ..self }
    }

    /// Of a packet that may be fragmented.
    #[must_use]
    pub const fn fragmentable(self) -> Self {
        Self { dont_fragment: false, ..self }
    }
}

/// The reason why there is no header for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeaderError {
    /// The ends' IP versions differ.
    MixedVersions,
    /// The length field of this version has no room.
    TooLong(IpVersion),
}

/// Appends the header of a packet with `len` bytes behind it, or nothing on an error.
pub(crate) fn encode_ip(
    (src, dst): (IpAddr, IpAddr),
    protocol: IpNumber,
    len: usize,
    fields: IpFields,
    out: &mut Vec<u8>,
) -> Result<(), HeaderError> {
    match (src, dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            let total = len.checked_add(IpVersion::V4.header_len() as usize);
            let total_len = total.and_then(|total| u16::try_from(total).ok());
            let mut header = Ipv4Header {
                total_len: total_len.ok_or(HeaderError::TooLong(IpVersion::V4))?,
                identification: fields.id,
                dont_fragment: fields.dont_fragment,
                time_to_live: HOP_LIMIT,
                protocol,
                source: src.octets(),
                destination: dst.octets(),
                // Two bits always fit.
                ecn: fields.ecn.ip_bits().try_into().unwrap_or_default(),
                ..Ipv4Header::default()
            };
            header.header_checksum = header.calc_header_checksum();
            out.extend_from_slice(&header.to_bytes());
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            let header = Ipv6Header {
                traffic_class: fields.ecn.ip_bits(),
                payload_length: u16::try_from(len).map_err(|_| HeaderError::TooLong(IpVersion::V6))?,
                next_header: protocol,
                hop_limit: HOP_LIMIT,
                source: src.octets(),
                destination: dst.octets(),
                ..Ipv6Header::default()
            };
            out.extend_from_slice(&header.to_bytes());
        }
        _ => return Err(HeaderError::MixedVersions),
    }
    Ok(())
}

/// What the IP header of a packet says.
pub(crate) struct IpHeader {
    pub(crate) src: IpAddr,
    pub(crate) dst: IpAddr,
    pub(crate) ecn: Ecn,
    /// The IPv4 header's checksum is correct. IPv6 has none.
    pub(crate) checksum_ok: bool,
    /// Where the payload is, as far as it is there.
    pub(crate) payload: Range<usize>,
    /// The payload's length by the header.
    pub(crate) on_wire: usize,
}

impl IpHeader {
    /// Reads the header of a packet that should carry this protocol and be no fragment.
    pub(crate) fn read(packet: &[u8], protocol: IpNumber) -> Result<Self, PacketError> {
        let (ip, _) = LaxIpSlice::from_slice(packet).map_err(PacketError::Ip)?;
        if ip.payload_ip_number() != protocol {
            return Err(PacketError::Protocol { found: ip.payload_ip_number().0, expected: protocol.0 });
        }
        if ip.is_fragmenting_payload() {
            return Err(PacketError::Fragment);
        }
        let Extent { captured, on_wire } = Extent::of(packet, packet.len(), &ip);
        Ok(Self {
            src: ip.source_addr(),
            dst: ip.destination_addr(),
            ecn: ecn_of(&ip),
            checksum_ok: match &ip {
                LaxIpSlice::Ipv4(v4) => checksum::of_ipv4_header(v4.header().slice()) == 0,
                LaxIpSlice::Ipv6(_) => true,
            },
            payload: captured,
            on_wire,
        })
    }
}

/// The ECN field of an IP header (RFC 3168 §5).
pub(crate) fn ecn_of(ip: &LaxIpSlice<'_>) -> Ecn {
    match ip {
        LaxIpSlice::Ipv4(v4) => Ecn::from_ip(v4.header().ecn().value()),
        LaxIpSlice::Ipv6(v6) => Ecn::from_ip(v6.header().traffic_class()),
    }
}

/// Sender and receiver of an IP packet, if all of it is there and the checksum of its IPv4 header is correct.
pub fn ip_ends(packet: &[u8]) -> Option<(IpAddr, IpAddr)> {
    let (ip, _) = LaxIpSlice::from_slice(packet).ok()?;
    let Extent { captured, on_wire } = Extent::of(packet, packet.len(), &ip);
    let sound = match &ip {
        LaxIpSlice::Ipv4(v4) => checksum::of_ipv4_header(v4.header().slice()) == 0,
        LaxIpSlice::Ipv6(_) => true,
    };
    (sound && captured.len() == on_wire).then(|| (ip.source_addr(), ip.destination_addr()))
}
