//! UDP datagrams of stacks that leave IP to the system, in IP packets.

use recoup_guest::{Failed, Setup};
use recoup_wire::{Ecn, Endpoints, IpFields, decode_udp, encode_udp};
use std::net::SocketAddr;

/// Bytes of the UDP header.
const HEADER: u16 = 8;

/// A UDP socket.
#[derive(Debug)]
pub struct Socket {
    local: SocketAddr,
    /// The IPv4 identification of the next packet.
    id: u16,
}

impl Socket {
    /// At this address and port.
    pub const fn new(local: SocketAddr) -> Self {
        Self { local, id: 0 }
    }

    /// The packet with this datagram. Routers must not fragment it.
    pub fn packet(&mut self, destination: SocketAddr, ecn: Ecn, payload: &[u8]) -> Result<Vec<u8>, Failed> {
        let mut packet = Vec::new();
        let endpoints = Endpoints { src: self.local, dst: destination };
        encode_udp(&endpoints, IpFields::from(self.id).with_ecn(ecn), payload, &mut packet).map_err(Failed::new)?;
        self.id = self.id.wrapping_add(1);
        Ok(packet)
    }

    /// The datagram in a packet, unless the packet is damaged or for another socket.
    pub fn datagram<'a>(&self, packet: &'a [u8]) -> Option<Datagram<'a>> {
        let udp = decode_udp(packet).ok().filter(|udp| udp.is_sound() && udp.endpoints.dst == self.local)?;
        Some(Datagram { source: udp.endpoints.src, ecn: udp.ecn, payload: packet.get(udp.payload)? })
    }
}

/// A datagram that arrived.
#[derive(Debug)]
pub struct Datagram<'a> {
    pub source: SocketAddr,
    pub ecn: Ecn,
    pub payload: &'a [u8],
}

/// The longest payload of a datagram that is sent, in bytes.
pub const fn longest_payload(setup: &Setup) -> u16 {
    let ip = if setup.local.is_ipv4() { 20 } else { 40 };
    setup.mtu.saturating_sub(ip + HEADER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagram_comes_out_of_its_packet_unless_a_bit_is_wrong_or_it_is_for_another() {
        let (a, b): (SocketAddr, SocketAddr) = ("10.0.0.1:7".parse().unwrap(), "10.0.0.2:9".parse().unwrap());
        let packet = Socket::new(a).packet(b, Ecn::ECT0, b"payload").unwrap();
        let there = Socket::new(b);
        let datagram = there.datagram(&packet).unwrap();
        assert_eq!((datagram.source, datagram.ecn, datagram.payload), (a, Ecn::ECT0, b"payload".as_slice()));
        assert!(Socket::new(a).datagram(&packet).is_none(), "another socket's");
        for bit in 0..packet.len() * 8 {
            let mut damaged = packet.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(there.datagram(&damaged).is_none(), "bit {bit}");
        }
        assert!(there.datagram(&packet[..30]).is_none(), "a part of it");
    }
}
