//! Fragments of IP packets: how they are read, made, and put together again.
//!
//! IPv4: RFC 791 §3.2. IPv6: RFC 8200 §4.5; a packet in one fragment ("atomic", RFC 6946) is whole, and no fragment
//! here. What belongs together is decided elsewhere.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;

use thiserror::Error;

use crate::{Ecn, IpVersion, checksum};

const V4_HEADER: usize = IpVersion::V4.header_len() as usize;
const V6_HEADER: usize = IpVersion::V6.header_len() as usize;
/// The length of an IPv6 fragment header (RFC 8200 §4.5).
const FRAGMENT_HEADER: usize = 8;
/// Offsets count units of as many bytes.
const UNIT: usize = 8;
const V4_LEN_FIELD: Range<usize> = 2..4;
const V4_FRAGMENT_FIELD: Range<usize> = 6..8;
const V4_CHECKSUM_FIELD: Range<usize> = 10..12;
const V6_LEN_FIELD: Range<usize> = 4..6;
const V6_NEXT_FIELD: usize = 6;
const MORE_V4: u16 = 0x2000;
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const DESTINATION_OPTIONS: u8 = 60;

/// What a fragment says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IpFragment {
    /// The sender.
    pub src: IpAddr,
    /// The receiver.
    pub dst: IpAddr,
    /// Fragments of one packet have the same.
    pub id: u32,
    /// The protocol number. In IPv6 only the first fragment's counts.
    pub protocol: u8,
    /// Where its bytes stand in the packet's payload.
    pub offset: u32,
    /// Others follow.
    pub more: bool,
    /// The position of its bytes in it.
    pub payload: Range<usize>,
    /// The ECN field of the IP header.
    pub ecn: Ecn,
    /// The position of the byte that names what follows the headers in front of the fragment header (IPv6).
    next_field: usize,
}

/// Why a packet is not cut into fragments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FragmentError {
    /// There is no whole IP packet, or it has options or extension headers, which this does not cut.
    #[error("packet: whole, without IP options and extension headers expected")]
    Packet,
    /// Not even eight bytes fit in a fragment.
    #[error("MTU of {0} bytes: headers and 8 bytes expected to fit")]
    Mtu(usize),
}

impl IpFragment {
    /// Reads the header of a fragment. `None` for a whole packet, one whose IPv4 header's checksum is wrong, and one
    /// that is cut.
    pub fn read(packet: &[u8]) -> Option<Self> {
        match packet.first()? >> 4 {
            4 => Self::read_v4(packet),
            6 => Self::read_v6(packet),
            _ => None,
        }
    }

    fn read_v4(packet: &[u8]) -> Option<Self> {
        let fixed: &[u8; V4_HEADER] = packet.first_chunk()?;
        let field = u16::from_be_bytes([fixed[6], fixed[7]]);
        let (offset, more) = (u32::from(field & 0x1fff) * UNIT as u32, field & MORE_V4 != 0);
        let header = 4 * usize::from(fixed[0] & 15);
        let total = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
        let is_fragment = offset > 0 || more;
        if !is_fragment || header < V4_HEADER || total < header || total > packet.len() {
            return None;
        }
        (checksum::of_ipv4_header(packet.get(..header)?) == 0).then(|| Self {
            src: Ipv4Addr::new(fixed[12], fixed[13], fixed[14], fixed[15]).into(),
            dst: Ipv4Addr::new(fixed[16], fixed[17], fixed[18], fixed[19]).into(),
            id: u16::from_be_bytes([fixed[4], fixed[5]]).into(),
            protocol: fixed[9],
            offset,
            more,
            payload: header..total,
            ecn: Ecn::from_ip(fixed[1]),
            next_field: 0,
        })
    }

    fn read_v6(packet: &[u8]) -> Option<Self> {
        let fixed: &[u8; V6_HEADER] = packet.first_chunk()?;
        let end = V6_HEADER + usize::from(u16::from_be_bytes([fixed[4], fixed[5]]));
        let packet = packet.get(..end)?;
        let (mut next, mut next_field, mut at) = (fixed[V6_NEXT_FIELD], V6_NEXT_FIELD, V6_HEADER);
        // Each step is at least 8 bytes long.
        while matches!(next, HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS) {
            let &[following, units] = packet.get(at..)?.first_chunk()?;
            (next, next_field) = (following, at);
            at += UNIT * (usize::from(units) + 1);
        }
        if next != FRAGMENT {
            return None;
        }
        let &[protocol, _, a, b, c, d, e, f] = packet.get(at..)?.first_chunk()?;
        let field = u16::from_be_bytes([a, b]);
        let (offset, more) = (u32::from(field & !7), field & 1 != 0);
        let address = |at: usize| -> Option<IpAddr> {
            let octets: [u8; 16] = *fixed.get(at..)?.first_chunk()?;
            Some(Ipv6Addr::from(octets).into())
        };
        (offset > 0 || more).then_some(Self {
            src: address(8)?,
            dst: address(24)?,
            id: u32::from_be_bytes([c, d, e, f]),
            protocol,
            offset,
            more,
            payload: at + FRAGMENT_HEADER..end,
            ecn: Ecn::from_ip(fixed[1] >> 4),
            next_field,
        })
    }

    /// Appends the headers of the whole packet, whose payload has `len` bytes, to `out`. `packet` is this fragment,
    /// which must be the first one: its headers are the packet's (RFC 791 §3.2, RFC 8200 §4.5). Returns whether the
    /// length fits the header's field; otherwise `out` is unchanged.
    pub fn whole_headers(&self, packet: &[u8], len: usize, ecn: Ecn, out: &mut Vec<u8>) -> bool {
        let v4 = self.src.is_ipv4();
        let headers = if v4 { self.payload.start } else { self.payload.start.saturating_sub(FRAGMENT_HEADER) };
        let counted = if v4 { headers + len } else { headers + len - V6_HEADER.min(headers) };
        let (Some(headers), Ok(counted)) = (packet.get(..headers), u16::try_from(counted)) else {
            return false;
        };
        let at = out.len();
        out.extend_from_slice(headers);
        let header = &mut out[at..];
        // The ranges are there: the packet was read as long.
        if v4 {
            header[1] = header[1] & !3 | ecn.ip_bits();
            header[V4_LEN_FIELD].copy_from_slice(&counted.to_be_bytes());
            header[V4_FRAGMENT_FIELD].fill(0);
            seal_v4(header);
        } else {
            header[1] = header[1] & !0x30 | ecn.ip_bits() << 4;
            header[V6_LEN_FIELD].copy_from_slice(&counted.to_be_bytes());
            header[self.next_field] = self.protocol;
        }
        true
    }
}

/// Sets the checksum of an IPv4 header.
fn seal_v4(header: &mut [u8]) {
    header[V4_CHECKSUM_FIELD].fill(0);
    let sum = checksum::of_ipv4_header(header);
    header[V4_CHECKSUM_FIELD].copy_from_slice(&sum.to_be_bytes());
}

/// Cuts an IP packet into fragments of at most `mtu` bytes, and gives each to `send`; a packet that fits is given as
/// it is. Says how many there were.
///
/// Fragments of an IPv4 packet have its identification; those of IPv6 get `id`. "Don't fragment" is for the caller to
/// heed. `room` is overwritten.
///
/// # Errors
/// When the packet cannot be cut. Nothing was given then.
pub fn cut_into_fragments(
    packet: &[u8],
    mtu: usize,
    id: u32,
    room: &mut Vec<u8>,
    send: &mut dyn FnMut(&[u8]),
) -> Result<u64, FragmentError> {
    if packet.len() <= mtu {
        send(packet);
        return Ok(1);
    }
    let first = packet.first().ok_or(FragmentError::Packet)?;
    let (v4, header) = match first {
        0x45 => (true, V4_HEADER),
        _ if first >> 4 == 6 => (false, V6_HEADER),
        _ => return Err(FragmentError::Packet),
    };
    let (header, payload) = packet.split_at_checked(header).ok_or(FragmentError::Packet)?;
    let counted = match v4 {
        true => u16::from_be_bytes([header[2], header[3]]).into(),
        false => V6_HEADER + usize::from(u16::from_be_bytes([header[4], header[5]])),
    };
    let next = header[V6_NEXT_FIELD];
    let extended = !v4 && matches!(next, HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS | FRAGMENT);
    if extended || counted != packet.len() {
        return Err(FragmentError::Packet);
    }
    let overhead = if v4 { V4_HEADER } else { V6_HEADER + FRAGMENT_HEADER };
    let size = mtu.saturating_sub(overhead) / UNIT * UNIT;
    if size == 0 {
        return Err(FragmentError::Mtu(mtu));
    }
    let mut count = 0;
    for (piece, offset) in payload.chunks(size).zip((0..).step_by(size)) {
        let more = offset + piece.len() < payload.len();
        room.clear();
        room.extend_from_slice(header);
        // The lengths are less than the whole packet's, which fit.
        if v4 {
            let len = (V4_HEADER + piece.len()) as u16;
            let field = (offset / UNIT) as u16 | if more { MORE_V4 } else { 0 };
            room[V4_LEN_FIELD].copy_from_slice(&len.to_be_bytes());
            room[V4_FRAGMENT_FIELD].copy_from_slice(&field.to_be_bytes());
            seal_v4(room);
        } else {
            let len = (FRAGMENT_HEADER + piece.len()) as u16;
            room[V6_LEN_FIELD].copy_from_slice(&len.to_be_bytes());
            room[V6_NEXT_FIELD] = FRAGMENT;
            let field = offset as u16 | u16::from(more);
            room.extend([next, 0]);
            room.extend(field.to_be_bytes());
            room.extend(id.to_be_bytes());
        }
        room.extend_from_slice(piece);
        send(room);
        count += 1;
    }
    Ok(count)
}

#[cfg(test)]
mod tests;
