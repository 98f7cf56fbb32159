//! The tables of bpf/timers.bpf.c, as bytes: its structures `network`, `timers` and `settings`.

use super::SocketTimers;
use super::retries::{connect_time, duration, syn_retries, ticks};
use crate::Network;
use std::net::IpAddr;
use std::time::Duration;

/// The order of the program's `enum count`.
#[derive(Clone, Copy)]
pub enum Count {
    Active,
    Passive,
    Listeners,
    Syn,
    SynAck,
    Refused,
}

/// Numbers of retransmissions, by the usual number.
const RETRIES: usize = 128;

pub const KEY: usize = 20;
pub type NetworkKey = [u8; KEY];
pub type NetworkTimers = [u8; 16 + RETRIES];
pub type Settings = [u8; 8 + RETRIES];

/// The kernel's own first timeout (include/net/tcp.h: `TCP_TIMEOUT_INIT`; RFC 6298 §2.1).
const USUAL_TIMEOUT: Duration = Duration::from_secs(1);

// linux/socket.h.
const AF_INET: u32 = 2;
const AF_INET6: u32 = 10;

/// The kernel's settings that say when it gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelRetries {
    /// `net.ipv4.tcp_syn_retries`.
    pub syn: u8,
    /// `net.ipv4.tcp_syn_linear_timeouts`; 0 before Linux 6.5.
    pub syn_linear: u8,
    /// `net.ipv4.tcp_synack_retries`.
    pub syn_ack: u8,
}

/// The number of leading bits of the table's key, and the key: the family, then the address.
pub fn key(network: &Network) -> (u32, NetworkKey) {
    let mut key = [0; KEY];
    let (family, address) = key.split_at_mut(4);
    match network.address() {
        IpAddr::V4(v4) => {
            family.copy_from_slice(&AF_INET.to_ne_bytes());
            address[..4].copy_from_slice(&v4.octets());
        }
        IpAddr::V6(v6) => {
            family.copy_from_slice(&AF_INET6.to_ne_bytes());
            address.copy_from_slice(&v6.octets());
        }
    }
    (32 + u32::from(network.bits()), key)
}

pub fn timers(timers: &SocketTimers, kernel: KernelRetries) -> NetworkTimers {
    let [syn, syn_ack] = [timers.syn, timers.syn_ack].map(|time| time.map_or(0, ticks));
    let [least_rto, most_ack_delay] = [timers.least_rto, timers.most_ack_delay].map(|time| time.map_or(0, micros));
    let mut bytes = [0; 16 + RETRIES];
    let (fields, retries) = bytes.split_at_mut(16);
    let numbers = [syn, syn_ack, least_rto, most_ack_delay].map(u32::to_ne_bytes);
    fields.copy_from_slice(numbers.as_flattened());
    if syn > 0 {
        fill(retries, |usual| {
            syn_retries(duration(syn), kernel.syn_linear, connect_time(USUAL_TIMEOUT, kernel.syn_linear, usual))
        });
    }
    bytes
}

/// `syn_ack`: the shortest SYN-ACK timer of all networks.
pub fn settings(syn_ack: Option<Duration>, kernel: KernelRetries) -> Settings {
    let syn_ack = syn_ack.map_or(0, ticks);
    let mut bytes = [0; 8 + RETRIES];
    let (fields, retries) = bytes.split_at_mut(8);
    fields.copy_from_slice([u32::from(kernel.syn), syn_ack].map(u32::to_ne_bytes).as_flattened());
    if syn_ack > 0 {
        fill(retries, |own| {
            // A listener whose program has set nothing reads tcp_syn_retries, and uses tcp_synack_retries.
            let usual = if own == kernel.syn { kernel.syn_ack } else { own };
            // SYN-ACKs have no linear timeouts.
            syn_retries(duration(syn_ack), 0, connect_time(USUAL_TIMEOUT, 0, usual))
        });
    }
    bytes
}

fn fill(retries: &mut [u8], number: impl Fn(u8) -> u8) {
    for (usual, place) in (0..).zip(retries) {
        *place = number(usual);
    }
}

fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_nanos().div_ceil(1000)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: KernelRetries = KernelRetries { syn: 6, syn_linear: 4, syn_ack: 5 };

    #[test]
    fn the_family_is_the_first_part_of_the_key() {
        let (bits, v4) = key(&"192.0.2.0/24".parse().unwrap());
        assert_eq!((bits, &v4[..4], &v4[4..9]), (56, &AF_INET.to_ne_bytes()[..], &[192, 0, 2, 0, 0][..]));
        let (bits, v6) = key(&"::/0".parse().unwrap());
        assert_eq!((bits, &v6[..4]), (32, &AF_INET6.to_ne_bytes()[..]));
    }

    #[test]
    fn a_listener_without_a_number_of_its_own_keeps_the_time_of_tcp_synack_retries() {
        let bytes = settings(Some(Duration::from_millis(500)), KERNEL);
        let retries = &bytes[8..];
        // 63 s of 0.5, 1, 2, … s: 0.5 · (2^7 − 1) = 63.5 s.
        assert_eq!(retries[6], 6);
        assert_eq!(retries[5], 6);
        assert_eq!(retries[7], 8);
    }

    #[test]
    fn no_timer_is_zero() {
        assert_eq!(timers(&SocketTimers::default(), KERNEL), [0; 144]);
        let delay = SocketTimers { most_ack_delay: Some(Duration::from_millis(20)), ..SocketTimers::default() };
        assert_eq!(timers(&delay, KERNEL)[12..16], 20_000_u32.to_ne_bytes());
    }
}
