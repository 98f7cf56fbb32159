//! Recoup's host, and sockets over it, over a TUN device, with the kernel's TCP as the peer, under faults: peers that vanish
//! or reset, a link that goes down, and malformed packets.
//!
//! Each test has its own network namespace. If the system does not permit it, the tests print that and
//! pass. If RECOUP_REQUIRE_TOOLS is set, they fail instead. RECOUP_NOISE_SECONDS sets the duration of the
//! malformed packets.

mod conversation;
mod craft;
mod link;
mod noise;
mod peers;
mod side;
mod wire;

use crate::{alone, beside_others};
use recoup_net::{Namespace, TunDevice, TunOptions};
use recoup_stack::Config;
use recoup_testing::skip;
use std::time::Duration;

/// The MTU of the tests' devices.
const MTU: u16 = 1500;

/// The time limit of each transfer.
const PATIENCE: Duration = Duration::from_secs(120);

/// Runs a test in a namespace with a TUN device, if the system permits it.
fn with_device(test: impl FnOnce(&mut TunDevice) + Send + 'static) {
    let _beside = beside_others();
    in_namespace(test);
}

/// Runs the test with a device while no other test of the process runs.
fn with_device_alone(test: impl FnOnce(&mut TunDevice) + Send + 'static) {
    let _alone = alone();
    in_namespace(test);
}

fn in_namespace(test: impl FnOnce(&mut TunDevice) + Send + 'static) {
    let namespace = match Namespace::new() {
        Ok(namespace) => namespace,
        Err(e) => return skip(e),
    };
    // Packets are lost, made and looked at one by one.
    let options = TunOptions { mtu: MTU, offloads: false, ..TunOptions::default() };
    let ran = namespace.run(move || TunDevice::open_with(&options).map(|mut device| test(&mut device)));
    match ran.expect("the test in the namespace failed") {
        Ok(()) => {}
        Err(e) => skip(e),
    }
}

/// Settings with the device's addresses.
fn config(device: &TunDevice) -> Config {
    Config::new(device.host_addresses().iter().copied())
}

/// `count` bytes in which every shift or swap shows.
fn bytes(seed: u64, count: usize) -> Vec<u8> {
    let byte = |i: u64| {
        let z = (i ^ seed << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (z ^ z >> 48) as u8
    };
    (0..count as u64).map(byte).collect()
}
