//! The header in front of each packet on a device with offloads: `struct virtio_net_hdr`.
//!
//! Source: VIRTIO 1.3 §5.1.6 and linux/virtio_net.h. The kernel reads and writes it in the machine's own
//! byte order (TUNSETVNETLE and TUNSETVNETBE ask for others), ten bytes long (unless TUNSETVNETHDRSZ asks
//! for more).
//!
//! With it, the side that hands over a packet may leave two things to the other: to complete the
//! checksum, whose field then has the pseudo-header's part only, and to cut a super-packet into segments.
//! A header read from a device is untrusted: its fields need not agree with the packet.

use recoup_wire::complete_checksum;

/// The header's length in bytes.
pub const VNET_HEADER_LEN: usize = 10;

/// The longest packet on a device with offloads, in bytes: the largest value of IPv4's length field. The
/// kernel's `GSO_LEGACY_MAX_SIZE` is one more.
pub const LONGEST_SUPER_PACKET: usize = 65_535;

/// A packet's header on a device with offloads. The default one leaves no work to the other side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct VnetHeader {
    /// [`NEEDS_CSUM`](Self::NEEDS_CSUM), [`DATA_VALID`](Self::DATA_VALID).
    pub flags: u8,
    /// How the packet is to be cut: [`GSO_NONE`](Self::GSO_NONE), [`GSO_TCPV4`](Self::GSO_TCPV4) or
    /// [`GSO_TCPV6`](Self::GSO_TCPV6), with or without [`GSO_ECN`](Self::GSO_ECN).
    pub gso_type: u8,
    /// Bytes of all headers in front of the payload. The kernel takes it as a hint.
    pub hdr_len: u16,
    /// Payload bytes of each segment except the last.
    pub gso_size: u16,
    /// The offset where the checksum begins: that of the TCP header.
    pub csum_start: u16,
    /// The offset of the checksum field, counted from `csum_start`.
    pub csum_offset: u16,
}

impl VnetHeader {
    /// The checksum is to be completed from `csum_start` on.
    pub const NEEDS_CSUM: u8 = 1;
    /// The checksum has been verified.
    pub const DATA_VALID: u8 = 2;
    /// The packet is one segment.
    pub const GSO_NONE: u8 = 0;
    /// Segments of TCP over IPv4.
    pub const GSO_TCPV4: u8 = 1;
    /// Segments of TCP over IPv6.
    pub const GSO_TCPV6: u8 = 4;
    /// The first segment carries CWR, the others do not (RFC 3168 §6.1.2).
    pub const GSO_ECN: u8 = 0x80;

    /// The header's bytes.
    pub const fn to_bytes(self) -> [u8; VNET_HEADER_LEN] {
        let [a, b] = self.hdr_len.to_ne_bytes();
        let [c, d] = self.gso_size.to_ne_bytes();
        let [e, f] = self.csum_start.to_ne_bytes();
        let [g, h] = self.csum_offset.to_ne_bytes();
        [self.flags, self.gso_type, a, b, c, d, e, f, g, h]
    }

    /// The header of these bytes. Every value is valid.
    pub const fn from_bytes(bytes: [u8; VNET_HEADER_LEN]) -> Self {
        let [flags, gso_type, a, b, c, d, e, f, g, h] = bytes;
        Self {
            flags,
            gso_type,
            hdr_len: u16::from_ne_bytes([a, b]),
            gso_size: u16::from_ne_bytes([c, d]),
            csum_start: u16::from_ne_bytes([e, f]),
            csum_offset: u16::from_ne_bytes([g, h]),
        }
    }

    /// Whether the receiver may skip the packet's checksum: this machine has yet to complete it, or has
    /// verified it.
    pub const fn vouches_for_checksum(&self) -> bool {
        self.flags & (Self::NEEDS_CSUM | Self::DATA_VALID) != 0
    }

    /// Completes the packet's checksum if the header says so. A checksum field beyond the packet's end
    /// is ignored.
    pub fn complete(&self, packet: &mut [u8]) {
        if self.flags & Self::NEEDS_CSUM != 0 {
            complete_checksum(packet, self.csum_start.into(), self.csum_offset.into());
        }
    }

    /// Whether the packet stands for several segments.
    pub const fn is_super_packet(&self) -> bool {
        self.gso_type & !Self::GSO_ECN != Self::GSO_NONE && self.gso_size > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_where_the_kernel_has_them() {
        let header = VnetHeader {
            flags: VnetHeader::NEEDS_CSUM,
            gso_type: VnetHeader::GSO_TCPV6 | VnetHeader::GSO_ECN,
            hdr_len: 0x0102,
            gso_size: 0x0304,
            csum_start: 0x0506,
            csum_offset: 0x0708,
        };
        let bytes = header.to_bytes();
        assert_eq!(bytes[..2], [1, 0x84]);
        let fields = [0x0102_u16, 0x0304, 0x0506, 0x0708];
        assert_eq!(bytes[2..], fields.map(u16::to_ne_bytes).concat());
        assert_eq!(VnetHeader::from_bytes(bytes), header);
        assert_eq!(VnetHeader::default().to_bytes(), [0; VNET_HEADER_LEN]);
    }

    #[test]
    fn what_headers_say() {
        let header = |flags, gso_type, gso_size| VnetHeader { flags, gso_type, gso_size, ..VnetHeader::default() };
        for (header, vouches, is_super) in [
            (header(0, 0, 0), false, false),
            (header(1, 1, 1448), true, true),
            (header(2, 4, 1), true, true),
            (header(4, 0x80, 1448), false, false),
            (header(3, 1, 0), true, false),
            (header(0, 0, 1448), false, false),
        ] {
            assert_eq!(header.vouches_for_checksum(), vouches, "{header:?}");
            assert_eq!(header.is_super_packet(), is_super, "{header:?}");
        }
    }
}
