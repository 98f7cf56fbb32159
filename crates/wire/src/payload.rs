//! Finds what an IP packet carries, whatever protocol it is.

use std::ops::Range;

use etherparse::{Ipv6ExtensionSlice, LaxIpSlice};

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

/// Where the extension headers of an IP packet are, as far as they were captured; `true` with a fragment header (RFC
/// 8200 §4.5).
///
/// # Errors
/// If there is no IPv4 or IPv6 header.
pub fn extension_headers(packet: &[u8]) -> Result<Vec<(Range<usize>, bool)>, DecodeError> {
    let (ip, _) = LaxIpSlice::from_slice(packet).map_err(DecodeError::Ip)?;
    let mut found = Vec::new();
    match &ip {
        LaxIpSlice::Ipv4(v4) => {
            let start = v4.header().slice().len();
            found.extend(v4.extensions().auth.map(|auth| (start..start + auth.slice().len(), false)));
        }
        LaxIpSlice::Ipv6(v6) => {
            let mut at = v6.header().slice().len();
            let end = at + v6.extensions().slice().len();
            let mut extensions = v6.extensions().clone().into_iter();
            // The iterator relies on headers having been checked, and goes on to one that was found to be damaged. Those that
            // were checked end here.
            while at < end
                && let Some(extension) = extensions.next()
            {
                use Ipv6ExtensionSlice::*;
                let (len, is_fragment) = match extension {
                    HopByHop(header) | Routing(header) | DestinationOptions(header) => (header.slice().len(), false),
                    Fragment(header) => (header.slice().len(), true),
                    Authentication(header) => (header.slice().len(), false),
                };
                found.push((at..at + len, is_fragment));
                at += len;
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extension_headers_are_found_one_by_one() {
        // Hop-by-hop options of 16 bytes, and a fragment header before TCP.
        let mut v6 = vec![0x60, 0, 0, 0, 0, 24, 0, 64];
        v6.extend([1; 32]);
        v6.extend([&[44, 1][..], &[0; 14], &[6, 0, 0, 1, 0, 0, 0, 7]].concat());
        assert_eq!(extension_headers(&v6).unwrap(), [(40..56, false), (56..64, true)]);
        // An authentication header of 12 bytes over IPv4.
        let mut v4 = vec![0x45, 0, 0, 32, 0, 0, 0, 0, 64, 51, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        v4.extend([6, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2]);
        assert_eq!(extension_headers(&v4).unwrap(), [(20..32, false)]);
        for end in 20..v4.len() {
            assert_eq!(extension_headers(&v4[..end]).unwrap(), []);
        }
    }

    #[test]
    fn a_damaged_extension_header_ends_the_search() {
        let header = |next: u8| {
            let mut v6 = vec![0x60, 0, 0, 0, 0, 0, next, 64];
            v6.extend([1; 32]);
            v6
        };
        // Hop-by-hop options behind others, and headers that end before their length: the last is not found.
        for (next, behind, found) in [
            (60, &[0, 0, 0, 0, 0, 0, 0, 0][..], 1),
            (60, &[0, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0], 1),
            (0, &[43, 0, 0, 0, 0, 0, 0, 0, 6, 9, 0, 0, 0, 0, 0, 0], 1),
            (0, &[51, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0], 1),
            (44, &[44, 0, 0], 0),
            (43, &[], 0),
        ] {
            let mut v6 = [header(next), behind.to_vec()].concat();
            v6[5] = behind.len() as u8;
            let headers = extension_headers(&v6).unwrap();
            assert_eq!(headers.len(), found, "{next}: {headers:?}");
            for end in 0..v6.len() {
                let headers = extension_headers(&v6[..end]).unwrap_or_default();
                assert!(headers.iter().all(|(place, _)| place.end <= end));
            }
        }
    }

    #[test]
    fn the_payload_is_found_behind_options_and_extension_headers() {
        let mut v4 = vec![0x46, 0, 0, 30, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 1, 1, 1, 1];
        v4.extend([7; 6]);
        let found = ip_payload(&v4, 30).unwrap();
        assert_eq!(found, IpPayload { protocol: 17, captured: 24..30, on_wire: 6, fragment: None });
        // Padding behind the packet does not count, and what was not captured does.
        v4.extend([0; 4]);
        assert_eq!(ip_payload(&v4, 34).unwrap(), found);
        assert_eq!(ip_payload(&v4[..26], 30).unwrap(), IpPayload { captured: 24..26, ..found });

        // Hop-by-hop options of 8 bytes.
        let mut v6 = vec![0x60, 0, 0, 0, 0, 12, 0, 64];
        v6.extend([1; 32]);
        v6.extend([47, 0, 1, 4, 0, 0, 0, 0, 9, 9, 9, 9]);
        let found = ip_payload(&v6, 52).unwrap();
        assert_eq!(found, IpPayload { protocol: 47, captured: 48..52, on_wire: 4, fragment: None });
        for end in 0..v6.len() {
            let _ = ip_payload(&v6[..end], 52);
        }
    }

    #[test]
    fn the_first_fragment_differs_from_later_ones() {
        let v4 = |high: u8, low: u8| [0x45, 0, 0, 20, 0, 0, high, low, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        for (high, low, expected) in [
            (0x40, 0, None),
            (0x20, 0, Some(Fragment::First)),
            (0x20, 9, Some(Fragment::Later)),
            (0, 9, Some(Fragment::Later)),
        ] {
            assert_eq!(ip_payload(&v4(high, low), 20).unwrap().fragment, expected);
        }
        for (offset, expected) in [(1, Fragment::First), (9, Fragment::Later)] {
            let mut v6 = vec![0x60, 0, 0, 0, 0, 8, 44, 64];
            v6.extend([1; 32]);
            v6.extend([17, 0, 0, offset, 0, 0, 0, 1]);
            let found = ip_payload(&v6, 48).unwrap();
            assert_eq!((found.protocol, found.fragment), (17, Some(expected)));
        }
        assert!(ip_payload(&[], 0).is_err() && ip_payload(&[0x75; 60], 60).is_err());
    }
}
