//! Writes the headers of IP, TCP, UDP and ICMP again: with other addresses, without what is not read, and with checksums
//! that are right or wrong as before.
//!
//! Checksums are those of the packet with zeros for its payload: they tell nothing about it.

use super::AddressMap;
use recoup_wire::{Checksum, Fragment, Sum, copy_known_options, extension_headers, ip_payload, pseudo_header};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;

/// IP protocol numbers.
const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// The fixed part of a TCP header, and the part of it before the length.
const TCP_FIXED: usize = 20;
const TCP_LENGTH_AT: usize = 12;
const TCP_CHECKSUM_AT: usize = 16;
const UDP_HEADER: usize = 8;
const UDP_CHECKSUM_AT: usize = 6;
/// Bytes of an ICMP message before the packet that it quotes.
const ICMP_HEADER: usize = 8;
const ICMP_CHECKSUM_AT: usize = 2;

/// A frame that is written again.
pub(super) struct Headers<'a> {
    /// The original.
    data: &'a [u8],
    /// The new one, as long: zeros, but for what is copied.
    pub out: Vec<u8>,
}

/// What an IP packet carries.
pub(super) struct Carried {
    protocol: u8,
    /// Where it is in the frame, as far as it was captured.
    pub bytes: Range<usize>,
    /// Its length on the wire.
    pub on_wire: usize,
    fragment: Option<Fragment>,
    /// The addresses of the packet: old and new.
    old: [IpAddr; 2],
    new: [IpAddr; 2],
}

impl Carried {
    fn pseudo(&self, [from, to]: [IpAddr; 2], len: usize) -> Sum {
        pseudo_header(from, to, len, self.protocol)
    }
}

impl<'a> Headers<'a> {
    pub fn new(data: &'a [u8]) -> Self {
        Self { data, out: vec![0; data.len()] }
    }

    /// Copies bytes, as far as they were captured.
    pub fn copy(&mut self, bytes: Range<usize>) {
        let bytes = bytes.start..bytes.end.min(self.data.len());
        if let (Some(from), Some(to)) = (self.data.get(bytes.clone()), self.out.get_mut(bytes)) {
            to.copy_from_slice(from);
        }
    }

    /// Maps the hardware address at `at`, if all of it was captured.
    pub fn hardware(&mut self, at: usize, map: &mut AddressMap) {
        let from = self.data.get(at..).and_then(<[u8]>::first_chunk);
        let to = self.out.get_mut(at..).and_then(<[u8]>::first_chunk_mut);
        if let (Some(from), Some(to)) = (from, to) {
            *to = map.hardware(*from);
        }
    }

    /// Writes the header of the IP packet at `at`, with its extension headers. `None` if it has none.
    pub fn ip(&mut self, at: usize, on_wire: usize, map: &mut AddressMap) -> Option<Carried> {
        let ip = self.data.get(at..)?;
        let payload = ip_payload(ip, on_wire).ok()?;
        let extensions = extension_headers(ip).ok()?;
        let (old, new) = match ip.first()? >> 4 {
            4 => {
                let header = 4 * usize::from(ip.first()? & 15);
                self.copy(at..at + 20);
                let ends = self.addresses::<4>(at + 12, |bytes| Ipv4Addr::from(bytes).into(), map)?;
                let state = Checksum::judge(Sum::default(), ip.get(..header)?, word(ip, 10)?);
                self.renew(state, Sum::default(), at..at + header, 10)?;
                ends
            }
            _ => {
                self.copy(at..at + 40);
                self.addresses::<16>(at + 8, |bytes| Ipv6Addr::from(bytes).into(), map)?
            }
        };
        for (header, is_fragment) in extensions {
            // The next header and the length. What follows may be addresses or signatures.
            let end = if is_fragment { header.end } else { header.start + 2 };
            self.copy(at + header.start..at + end);
        }
        Some(Carried {
            protocol: payload.protocol,
            bytes: at + payload.captured.start..at + payload.captured.end,
            on_wire: payload.on_wire,
            fragment: payload.fragment,
            old,
            new,
        })
    }

    /// Maps two addresses, one behind the other.
    fn addresses<const LEN: usize>(
        &mut self,
        at: usize,
        address: fn([u8; LEN]) -> IpAddr,
        map: &mut AddressMap,
    ) -> Option<([IpAddr; 2], [IpAddr; 2])> {
        let read = |at: usize| Some(address(*self.data.get(at..)?.first_chunk()?));
        let old = [read(at)?, read(at + LEN)?];
        let new = old.map(|ip| map.ip(ip));
        for (at, ip) in [(at, new[0]), (at + LEN, new[1])] {
            let to = self.out.get_mut(at..at + LEN)?;
            match ip {
                IpAddr::V4(ip) => to.copy_from_slice(&ip.octets()),
                IpAddr::V6(ip) => to.copy_from_slice(&ip.octets()),
            }
        }
        Some((old, new))
    }

    /// Writes a TCP header, as far as it was captured. Returns where it ends.
    pub fn tcp(&mut self, carried: &Carried) -> Option<usize> {
        let Range { start, end } = carried.bytes;
        let tcp = self.data.get(start..end)?;
        let length = tcp.get(TCP_LENGTH_AT).map_or(TCP_FIXED, |words| 4 * usize::from(words >> 4)).max(TCP_FIXED);
        let header = length.min(tcp.len());
        self.copy(start..start + header.min(TCP_FIXED));
        if let Some(options) = tcp.get(TCP_FIXED..header) {
            copy_known_options(options, header < length, self.out.get_mut(start + TCP_FIXED..start + header)?);
        }
        if let Some(field) = word(tcp, TCP_CHECKSUM_AT) {
            let len = carried.on_wire;
            let state = carried.judge(tcp, len, field);
            self.renew(state, carried.pseudo(carried.new, len), start..start + header, TCP_CHECKSUM_AT)?;
        }
        Some(start + header)
    }

    /// Writes the checksum of UDP around a tunnel, whose headers are written. Other tunnels have none that must be right.
    pub fn around_tunnel(&mut self, carried: &Carried) -> Option<()> {
        let udp = self.data.get(carried.bytes.clone())?;
        let field = word(udp, UDP_CHECKSUM_AT);
        let (UDP, Some(field)) = (carried.protocol, field.filter(|field| *field != 0)) else {
            return Some(());
        };
        // With segmentation offload, the length is that of one segment, or 0.
        let len = usize::from(word(udp, 4)?);
        let len = if len < UDP_HEADER { carried.on_wire } else { len };
        let udp = udp.get(..len).unwrap_or(udp);
        let state = carried.judge(udp, len, field);
        let Range { start, .. } = carried.bytes;
        let at = start + UDP_CHECKSUM_AT;
        self.renew(state, carried.pseudo(carried.new, len), start..start + udp.len(), UDP_CHECKSUM_AT)?;
        // 0 stands for no checksum (RFC 768).
        if word(&self.out, at) == Some(0) {
            self.out.get_mut(at..at + 2)?.fill(0xff);
        }
        Some(())
    }

    /// Writes an ICMP message with the headers of the segment that it quotes. Returns where they end.
    pub fn icmp(&mut self, carried: &Carried, map: &mut AddressMap) -> Option<usize> {
        let Range { start, end } = carried.bytes;
        let message = self.data.get(start..end)?;
        // Type and code; the path MTU, in 16 or 32 bits.
        self.copy(start..start + 2);
        let (mtu, [old, new]) = match carried.protocol {
            ICMP => (6, [Sum::default(); 2]),
            _ => (4, [carried.old, carried.new].map(|ends| carried.pseudo(ends, carried.on_wire))),
        };
        self.copy(start + mtu..start + ICMP_HEADER);
        let quoted = start + ICMP_HEADER;
        let segment = self.ip(quoted, end.checked_sub(quoted)?, map)?;
        let headers_end = match segment.protocol {
            TCP => self.tcp(&segment)?,
            _ => return None,
        };
        let field = word(message, ICMP_CHECKSUM_AT)?;
        let state = match message.len() < carried.on_wire {
            true => Checksum::Unverifiable,
            false => Checksum::judge(old, message, field),
        };
        self.renew(state, new, start..headers_end, ICMP_CHECKSUM_AT)?;
        Some(headers_end)
    }

    /// Writes the checksum at `field` behind the beginning of `bytes`, which it covers.
    fn renew(&mut self, state: Checksum, pseudo: Sum, bytes: Range<usize>, field: usize) -> Option<()> {
        let covered = self.out.get_mut(bytes)?;
        covered.get_mut(field..field + 2)?.fill(0);
        let renewed = state.renewed(pseudo, covered);
        covered.get_mut(field..field + 2)?.copy_from_slice(&renewed.to_be_bytes());
        Some(())
    }
}

impl Carried {
    /// Checks a checksum over the pseudo-header and `bytes`, which had `len` bytes on the wire.
    fn judge(&self, bytes: &[u8], len: usize, field: u16) -> Checksum {
        match bytes.len() < len || self.fragment.is_some() {
            true => Checksum::Unverifiable,
            false => Checksum::judge(self.pseudo(self.old, len), bytes, field),
        }
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|word| u16::from_be_bytes(*word))
}
