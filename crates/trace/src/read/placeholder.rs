//! The shortest frame that is no segment for a given reason. It shows the reason, and nothing else of the frame that it
//! stands for.

use super::{
    Reason,
    link::{Link, ether_type},
    tunnel::MOST_TUNNELS,
};

/// A frame of this link type that is left out for this reason. Empty if the link type is unknown, or if the reason is one of
/// the record rather than of the frame.
pub fn placeholder(link: i32, reason: Reason) -> Vec<u8> {
    Link::of(link).map_or_else(Vec::new, |link| link.placeholder(reason))
}

/// IP protocols and ports.
const ICMP: u8 = 1;
const IPV4: u8 = 4;
const TCP: u8 = 6;
const UDP: u8 = 17;
const GRE: u8 = 47;
const ESP: u8 = 50;
/// For experiments (RFC 3692).
const OTHER: u8 = 253;
const QUIC_PORT: u16 = 443;
const OPEN_VPN_PORT: u16 = 1194;
const VXLAN_PORT: u16 = 4789;
/// An EtherType for local experiments (IEEE 802).
const LOCAL_EXPERIMENT: u16 = 0x88b5;
/// The bits for a later part of a fragmented packet.
const LATER_FRAGMENT: u16 = 1;

impl Link {
    fn placeholder(self, reason: Reason) -> Vec<u8> {
        use Reason::*;
        let ip = match reason {
            Arp => return self.not_ip(ether_type::ARP),
            NotIp => return self.not_ip(LOCAL_EXPERIMENT),
            MacSec => return self.not_ip(ether_type::MACSEC),
            Udp => udp(0, &[]),
            Quic => udp(QUIC_PORT, &[&[0x40][..], &[0; 20]].concat()),
            Dtls => udp(0, &[&[20, 0xfe, 0xfd][..], &[0; 10]].concat()),
            WireGuard => udp(0, &[&[4][..], &[0; 31]].concat()),
            OpenVpn => udp(OPEN_VPN_PORT, &[&[8][..], &[0; 13]].concat()),
            Esp => ip(ESP, 0, &[]),
            Icmp => ip(ICMP, 0, &[]),
            NotTcp => ip(OTHER, 0, &[]),
            // PPP in PPTP, of the kind that is compressed.
            CompressedPpp => ip(GRE, 0, &[0x20, 1, 0x88, 0x0b, 0, 0, 0, 0, 0, 0xfd]),
            UnknownTunnel => ip(GRE, 0, &[0; 4]),
            TunnelFragment => ip(GRE, LATER_FRAGMENT, &[]),
            TooManyTunnels => (0..=MOST_TUNNELS).fold(ip(IPV4, 0, &[]), |inner, _| ip(IPV4, 0, &inner)),
            Fragment => ip(TCP, LATER_FRAGMENT, &[]),
            Cut => vec![0x45],
            // A length shorter than the header.
            IpHeader => ip_of(TCP, 0, 1, &[]),
            TcpHeader => ip(TCP, 0, &[0; 20]),
            NotPacket | NoTime | NoInterface | NoClock | LinkType | Record => return Vec::new(),
        };
        self.around(ip)
    }

    /// A frame with this IPv4 packet.
    fn around(self, ip: Vec<u8>) -> Vec<u8> {
        let header = match self {
            Self::Raw => Vec::new(),
            Self::Loopback => vec![2, 0, 0, 0],
            Self::Ppp => vec![0xff, 3, 0, 0x21],
            Self::Nflog => {
                let [low, high] = ((4 + ip.len()) as u16).to_le_bytes();
                vec![2, 0, 0, 0, low, high, 9, 0]
            }
            _ => self.header(ether_type::IPV4).unwrap_or_default(),
        };
        [header, ip].concat()
    }

    /// A frame without an IP packet, but for the tunnel that its EtherType is in where the link type has none.
    fn not_ip(self, ether_type: u16) -> Vec<u8> {
        self.header(ether_type).unwrap_or_else(|| {
            // With a tag, any EtherType makes a frame in a tunnel.
            let mut frame = [&[8, 0, 0, 0, 0, 0, 0, 0][..], &[0; 12], &[0x81, 0, 0, 0]].concat();
            frame.extend(ether_type.to_be_bytes());
            self.around(udp(VXLAN_PORT, &frame))
        })
    }

    /// The header before what an EtherType names, if the link type has EtherTypes.
    fn header(self, ether_type: u16) -> Option<Vec<u8>> {
        let ether_type = ether_type.to_be_bytes();
        Some(match self {
            Self::Ethernet => [&[0; 12][..], &ether_type].concat(),
            // The packet type 3: sent to another host, by another host.
            Self::Cooked => [&[0, 3, 0, 1][..], &[0; 10], &ether_type].concat(),
            Self::Cooked2 => [&ether_type[..], &[0, 0, 0, 0, 0, 0, 0, 1, 3, 0], &[0; 8]].concat(),
            Self::Hdlc => [&[0x0f, 0][..], &ether_type].concat(),
            Self::Fddi => [&[0x50][..], &[0; 12], &[0xaa, 0xaa, 3, 0, 0, 0], &ether_type].concat(),
            Self::Raw | Self::Loopback | Self::Ppp | Self::Nflog => return None,
        })
    }
}

/// A UDP packet from port 0.
fn udp(to: u16, payload: &[u8]) -> Vec<u8> {
    let words = [0, to, 8 + payload.len() as u16, 0];
    ip(UDP, 0, &[&words.map(u16::to_be_bytes).concat(), payload].concat())
}

/// An IPv4 packet between unspecified addresses.
fn ip(protocol: u8, fragment: u16, payload: &[u8]) -> Vec<u8> {
    ip_of(protocol, fragment, 20 + payload.len() as u16, payload)
}

/// An IPv4 packet that claims this length.
fn ip_of(protocol: u8, fragment: u16, length: u16, payload: &[u8]) -> Vec<u8> {
    let mut header = [0; 20];
    (header[0], header[8], header[9]) = (0x45, 64, protocol);
    header[2..4].copy_from_slice(&length.to_be_bytes());
    header[6..8].copy_from_slice(&fragment.to_be_bytes());
    let checksum = recoup_wire::Sum::default().plus(&header).checksum();
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    [&header, payload].concat()
}

#[cfg(test)]
mod tests {
    use super::{super::FrameReader, *};

    /// One link type of each kind.
    const LINKS: [i32; 9] = [1, 101, 113, 276, 0, 9, 104, 10, 239];

    #[test]
    fn a_placeholder_is_left_out_for_its_reason() {
        for link in LINKS {
            for reason in Reason::ALL {
                let frame = placeholder(link, reason);
                if frame.is_empty() {
                    let of_record = [
                        Reason::NotPacket,
                        Reason::NoTime,
                        Reason::NoInterface,
                        Reason::NoClock,
                        Reason::LinkType,
                        Reason::Record,
                    ];
                    assert!(of_record.contains(&reason), "{reason:?}");
                    continue;
                }
                let read = FrameReader::default().read(link, &frame, frame.len());
                assert_eq!(read, Err(reason), "link type {link}: {frame:02x?}");
            }
        }
        assert!(placeholder(105, Reason::Udp).is_empty());
    }
}
