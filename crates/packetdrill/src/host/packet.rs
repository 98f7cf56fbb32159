//! Outgoing packets.

use recoup_units::Instant;
use recoup_wire::{EncodeError, Endpoints, Payload, Segment, encode};

/// A packet that an endpoint sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// When it was sent.
    pub at: Instant,
    /// Its source and destination.
    pub path: Endpoints,
    pub segment: Segment,
    pub payload: Vec<u8>,
    /// Whether routers may mark it instead of dropping it: ECT(0) (RFC 3168 §5).
    pub ecn_capable: bool,
}

/// ECT(0), and "congestion experienced", in the two bits of the IP header that are ECN's.
const ECT_0: u8 = 0b10;
const CE: u8 = 0b11;

/// The ECN bits of an IP packet: where they are, and how far they are shifted there.
fn ecn_bits(packet: &[u8]) -> Option<(u8, u32)> {
    let shift = match packet.first()? >> 4 {
        4 => 0,
        6 => 4,
        _ => return None,
    };
    Some(((packet.get(1)? >> shift) & 0b11, shift))
}

/// Whether an IP packet was marked "congestion experienced".
pub fn is_marked(packet: &[u8]) -> bool {
    ecn_bits(packet).is_some_and(|(bits, _)| bits == CE)
}

/// Sets ECT(0) in a packet that had no ECN bits set.
fn set_capable(packet: &mut [u8]) {
    let Some((0, shift)) = ecn_bits(packet) else {
        return;
    };
    packet[1] |= ECT_0 << shift;
    if shift == 0 && packet.len() >= 12 {
        // RFC 1624 §3: the header checksum falls by what the word grew.
        let old = u32::from(u16::from_be_bytes([packet[10], packet[11]]));
        let sum = u32::from(!(old as u16)) + u32::from(ECT_0);
        let folded = (sum & 0xffff) + (sum >> 16);
        packet[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
    }
}

impl Packet {
    /// The packet's bytes.
    ///
    /// # Errors
    /// When the packet would be too long.
    pub fn encode(&self, ip_id: u16) -> Result<Vec<u8>, EncodeError> {
        let mut bytes = Vec::new();
        let payload = Payload::Bytes(&self.payload);
        encode(&self.segment, &self.path, ip_id, payload, &mut bytes)?;
        if self.ecn_capable {
            set_capable(&mut bytes);
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recoup_wire::decode;

    #[test]
    fn ecn_bits_are_set_and_the_checksum_stays_right() {
        for (src, dst) in [("192.0.2.1:80", "192.0.2.2:8080"), ("[2001:db8::1]:80", "[2001:db8::2]:8080")] {
            let mut packet = Packet {
                at: Instant::ZERO,
                path: Endpoints { src: src.parse().unwrap(), dst: dst.parse().unwrap() },
                segment: Segment::default(),
                payload: Vec::new(),
                ecn_capable: false,
            };
            let plain = packet.encode(7).unwrap();
            packet.ecn_capable = true;
            let mut capable = packet.encode(7).unwrap();
            assert_eq!(ecn_bits(&plain).unwrap().0, 0);
            assert_eq!(ecn_bits(&capable).unwrap().0, ECT_0);
            assert!(decode(&capable).unwrap().ip_checksum_ok);
            assert!(!is_marked(&capable));
            let shift = ecn_bits(&capable).unwrap().1;
            capable[1] |= CE << shift;
            assert!(is_marked(&capable));
        }
    }
}
