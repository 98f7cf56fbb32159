//! A connection as programs in the kernel name it: their `struct connection`.

use recoup_wire::Endpoints;
use std::net::{IpAddr, SocketAddr};

pub type ConnectionKey = [u8; 40];

// linux/socket.h.
const AF_INET: u32 = 2;
const AF_INET6: u32 = 10;

/// The key of a connection, whose first end is this host's. The other end comes first in the key, as in arriving
/// packets. `None` if the IP versions differ.
pub fn connection_key(ends: &Endpoints) -> Option<ConnectionKey> {
    let [local, remote] = [ends.src, ends.dst].map(|end| SocketAddr::new(end.ip().to_canonical(), end.port()));
    let family = match (local.ip(), remote.ip()) {
        (IpAddr::V4(_), IpAddr::V4(_)) => AF_INET,
        (IpAddr::V6(_), IpAddr::V6(_)) => AF_INET6,
        _ => return None,
    };
    let mut key = [0; 40];
    for (place, end) in key.chunks_mut(16).zip([remote, local]) {
        match end.ip() {
            IpAddr::V4(v4) => place[..4].copy_from_slice(&v4.octets()),
            IpAddr::V6(v6) => place.copy_from_slice(&v6.octets()),
        }
    }
    key[32..34].copy_from_slice(&remote.port().to_be_bytes());
    key[34..36].copy_from_slice(&local.port().to_be_bytes());
    key[36..].copy_from_slice(&family.to_ne_bytes());
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_has_the_places_of_the_arriving_packet() {
        let ends =
            Endpoints { src: "192.0.2.1:80".parse().unwrap(), dst: "[::ffff:198.51.100.2]:4000".parse().unwrap() };
        let key = connection_key(&ends).unwrap();
        assert_eq!((&key[..4], &key[16..20]), (&[198, 51, 100, 2][..], &[192, 0, 2, 1][..]));
        assert_eq!(&key[32..36], &[0x0f, 0xa0, 0, 80]);
        let mixed = Endpoints { dst: "[2001:db8::1]:4000".parse().unwrap(), ..ends };
        assert_eq!(connection_key(&mixed), None);
    }
}
