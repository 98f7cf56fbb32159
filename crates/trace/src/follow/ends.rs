//! The two ends of a connection as integers, which are quick to compare and to hash.

use foldhash::fast::RandomState;
use recoup_wire::Endpoints;
use std::{
    hash::BuildHasher,
    net::{IpAddr, Ipv6Addr},
};

/// The ends of a connection, the lower one first: the same for both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionEnds {
    /// Addresses and ports.
    V4([u64; 2]),
    V6([(u128, u16); 2]),
}

impl ConnectionEnds {
    /// The ends of a packet, and whether the upper one sent it.
    pub fn of(ends: &Endpoints) -> (Self, bool) {
        let ports = [ends.src.port(), ends.dst.port()];
        match (ends.src.ip(), ends.dst.ip()) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => Self::of_v4([src, dst].map(|ip| ip.to_bits()), ports),
            (src, dst) => {
                let addresses = [src, dst].map(|ip| match ip {
                    IpAddr::V4(ip) => ip.to_ipv6_mapped(),
                    IpAddr::V6(ip) => ip,
                });
                Self::of_v6(addresses, ports)
            }
        }
    }

    /// The ends of an IPv4 packet, from addresses and ports of sender and receiver.
    #[inline]
    pub fn of_v4([src, dst]: [u32; 2], ports: [u16; 2]) -> (Self, bool) {
        let src = u64::from(src) << 16 | u64::from(ports[0]);
        let dst = u64::from(dst) << 16 | u64::from(ports[1]);
        (Self::V4([src.min(dst), src.max(dst)]), src > dst)
    }

    /// The ends of an IPv6 packet.
    #[inline]
    pub fn of_v6([src, dst]: [Ipv6Addr; 2], ports: [u16; 2]) -> (Self, bool) {
        let (src, dst) = ((src.to_bits(), ports[0]), (dst.to_bits(), ports[1]));
        (Self::V6([src.min(dst), src.max(dst)]), src > dst)
    }
    #[inline]
    pub fn hash(&self, hasher: &RandomState) -> u64 {
        match self {
            Self::V4([lower, upper]) => hasher.hash_one((lower, upper)),
            Self::V6([lower, upper]) => hasher.hash_one((lower, upper)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_have_the_same_ends() {
        let hasher = RandomState::default();
        let all = [
            ["192.0.2.1:40000", "198.51.100.2:80"],
            ["192.0.2.1:80", "192.0.2.1:443"],
            ["[2001:db8::1]:40000", "[2001:db8::2]:80"],
        ];
        for [src, dst] in all {
            let packet = Endpoints { src: src.parse().unwrap(), dst: dst.parse().unwrap() };
            let (ends, from_upper) = ConnectionEnds::of(&packet);
            assert!(!from_upper, "{packet}");
            assert_eq!(ConnectionEnds::of(&packet.reverse()), (ends, true));
            for [other, _] in all.into_iter().filter(|[other, _]| *other != src) {
                let other = Endpoints { src: other.parse().unwrap(), ..packet };
                let (other, _) = ConnectionEnds::of(&other);
                assert_ne!(other, ends);
                assert_ne!(other.hash(&hasher), ends.hash(&hasher));
            }
        }
    }

    #[test]
    fn a_packet_from_an_end_to_itself_has_ends() {
        let end = "127.0.0.1:80".parse().unwrap();
        let packet = Endpoints { src: end, dst: end };
        assert!(!ConnectionEnds::of(&packet).1);
    }
}
