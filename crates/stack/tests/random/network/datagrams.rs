//! UDP and echoes between hosts: what arrives was sent, as it is.

use super::{Network, choices::Choices, ends::fill, forge::PORTS, path::addresses};
use recoup_stack::host::{DatagramId, Host, HostError};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Sockets of a host, and how many datagrams left it.
pub struct Datagrams {
    udp: [DatagramId; 2],
    ping: DatagramId,
    number: u32,
    count: u64,
}

impl Datagrams {
    /// Opens the sockets.
    pub fn new(host: &mut Host, number: usize) -> Self {
        let places: [IpAddr; 2] = [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()];
        Self {
            udp: places.map(|ip| host.udp_bind(SocketAddr::new(ip, PORTS[3])).expect("a free port")),
            ping: host.ping_open().expect("a free identifier"),
            number: number as u32,
            count: 0,
        }
    }

    /// A datagram's bytes: its first eight say which these are, and its length.
    fn bytes(&mut self, len: usize) -> Vec<u8> {
        self.count += 1;
        let mut bytes = vec![0; len.max(8)];
        let key = u64::from(self.number) << 56 | (self.count & 0xff_ffff) << 32 | bytes.len() as u64;
        fill(key, 0, &mut bytes);
        bytes
    }
}

/// Whether these are the bytes of a datagram.
fn is_whole(bytes: &[u8]) -> bool {
    let Some(key) = bytes.first_chunk().map(|first| u64::from_le_bytes(*first)) else {
        return false;
    };
    let mut expected = vec![0; bytes.len()];
    fill(key, 0, &mut expected);
    key & 0xffff_ffff == bytes.len() as u64 && expected == bytes
}

impl Network {
    /// A host sends a datagram, or an echo request.
    pub(super) fn send_datagram(&mut self, choices: &mut Choices<'_>) {
        let from = choices.below(self.nodes.len() as u32) as usize;
        let to = choices.below(self.nodes.len() as u32) as usize;
        let version = usize::from(choices.chance(100));
        let ip = addresses(to)[version];
        let len = choices.one(&[10, 1000, 1473, 3000, 10, 100, 20_000, 60_000]);
        let node = &mut self.nodes[from];
        let bytes = node.datagrams.bytes(len);
        let sent = match choices.chance(60) {
            true => node.host.ping_send(node.datagrams.ping, ip, len as u16, &bytes),
            false => {
                let to = SocketAddr::new(ip, PORTS[if choices.chance(30) { 0 } else { 3 }]);
                node.host.udp_send(node.datagrams.udp[version], None, Some(to), &bytes)
            }
        };
        match sent {
            Ok(()) | Err(HostError::Full | HostError::Unreachable(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }

    /// Reads what arrived. Returns whether there was something.
    pub(super) fn read_datagrams(&mut self, number: usize) -> bool {
        let strangers = self.strangers;
        let node = &mut self.nodes[number];
        let mut any = false;
        while let Some(id) = node.host.next_readable_datagram() {
            any = true;
            loop {
                let bytes = match id == node.datagrams.ping {
                    true => node.host.ping_receive(id).map(|reply| reply.map(|reply| reply.data)),
                    false => node.host.udp_receive(id).map(|datagram| datagram.map(|datagram| datagram.bytes)),
                };
                match bytes {
                    Ok(Some(bytes)) => assert!(strangers || is_whole(&bytes), "a datagram that nobody sent"),
                    Ok(None) => break,
                    Err(HostError::Rejected { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        }
        any
    }
}
