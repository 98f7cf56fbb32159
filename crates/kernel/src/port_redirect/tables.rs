//! The bytes that bpf/port_redirect.bpf.c reads and writes.

use std::net::{IpAddr, SocketAddr};

/// What is counted, in the order of the program.
#[derive(Clone, Copy)]
#[repr(u32)]
pub enum Count {
    ToStack,
    FromStack,
    WithoutRoute,
    NotTaken,
    Crowded,
}

/// `struct place`.
pub type PlaceKey = [u8; 20];

/// What becomes of a port's packets; `enum port_state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum PortState {
    Open = 1,
    Draining = 2,
}

/// `struct state`, of a connection.
pub type StateValue = [u8; 16];

// linux/socket.h.
const AF_INET: u16 = 2;
const AF_INET6: u16 = 10;

/// The key of a port.
pub fn place_key(at: SocketAddr) -> PlaceKey {
    let mut key = [0; 20];
    let family = match at.ip().to_canonical() {
        IpAddr::V4(v4) => {
            key[..4].copy_from_slice(&v4.octets());
            AF_INET
        }
        IpAddr::V6(v6) => {
            key[..16].copy_from_slice(&v6.octets());
            AF_INET6
        }
    };
    key[16..18].copy_from_slice(&at.port().to_be_bytes());
    key[18..].copy_from_slice(&family.to_ne_bytes());
    key
}

/// When the last packet of a connection arrived, in nanoseconds of CLOCK_MONOTONIC.
pub fn seen(state: &StateValue) -> u64 {
    state.first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_has_the_order_of_the_packet() {
        let key = place_key("[::ffff:192.0.2.1]:80".parse().unwrap());
        assert_eq!((&key[..5], &key[16..18]), (&[192, 0, 2, 1, 0][..], &[0, 80][..]));
        assert_eq!(key, place_key("192.0.2.1:80".parse().unwrap()));
        assert_ne!(key, place_key("[::c000:201]:80".parse().unwrap()));
    }
}
