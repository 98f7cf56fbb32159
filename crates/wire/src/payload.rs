//! Finds what an IP packet carries, whatever protocol it is.

use std::ops::Range;

use etherparse::LaxIpSlice;

use crate::DecodeError;
use crate::decode::Extent;

/// What an IP packet carries behind its header and its extension headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IpPayload {
    /// The number of its protocol. If an extension header is cut, that header's number.
    pub protocol: u8,
    /// Where it is in the packet, as far as it was captured.
    pub captured: Range<usize>,
    /// Its length on the wire by the IP header, in bytes.
    pub on_wire: usize,
    /// Which part of a packet this is, if it was fragmented.
    pub fragment: Option<Fragment>,
}

/// A part of a fragmented packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fragment {
    /// The first part, which begins with the header of the protocol.
    First,
    /// A later part.
    Later,
}

/// Finds the payload of an IP packet of `on_wire` bytes; `packet` is its captured part.
///
/// # Errors
/// If there is no IPv4 or IPv6 header.
pub fn ip_payload(packet: &[u8], on_wire: usize) -> Result<IpPayload, DecodeError> {
    let (ip, _) = LaxIpSlice::from_slice(packet).map_err(DecodeError::Ip)?;
    let Extent { captured, on_wire } = Extent::of(packet, on_wire.max(packet.len()), &ip);
    let starts = match &ip {
        LaxIpSlice::Ipv4(v4) => v4.header().fragments_offset().value() == 0,
        // Extension headers before the fragment header may hide the offset.
        LaxIpSlice::Ipv6(v6) => match packet.get(40..44) {
            Some([_, _, offset @ ..]) => {
                v6.header().next_header().0 == 44 && u16::from_be_bytes([offset[0], offset[1]]) < 8
            }
            _ => false,
        },
    };
    let fragment = ip.is_fragmenting_payload().then_some(if starts { Fragment::First } else { Fragment::Later });
    Ok(IpPayload { protocol: ip.payload_ip_number().0, captured, on_wire, fragment })
}
