//! Sockets over devices in memory.

mod blocking;
mod datagrams;
mod devices;
mod fairness;
mod faults;
mod groups;
mod hostile;
mod listeners;
mod many;
mod streams;

use recoup_stack::{
    Config, Stack,
    device::{Properties, pair},
};
use std::net::SocketAddr;

const CLIENT: &str = "192.0.2.1";
const SERVER: &str = "192.0.2.2";

const ETHERNET: Properties = Properties { mtu: 1500, offloads: false };
const OFFLOADING: Properties = Properties { mtu: 1500, offloads: true };

fn config(address: &str) -> Config {
    Config::new([address.parse().unwrap()])
}

fn at(port: u16) -> SocketAddr {
    SocketAddr::new(SERVER.parse().unwrap(), port)
}

/// A client's stack and a server's, joined in memory.
fn stacks(properties: Properties) -> (Stack, Stack) {
    let (first, second) = pair(properties, 256);
    (Stack::new(first, config(CLIENT)).unwrap(), Stack::new(second, config(SERVER)).unwrap())
}

/// Bytes without a short period.
fn bytes(len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| (i * i / 7 % 253) as u8).collect()
}
