//! Transfers with offloads: super-packets and incomplete checksums in both directions.

use crate::host::{
    VERSIONS, ends,
    faulty::{Faults, Faulty},
    peers::{bytes, host_of, kernel_trades, trade, with_device_like},
};
use recoup_net::TunDevice;
use recoup_stack::Driver;
use std::{
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
};

/// Packet lengths that the device saw; see [`Faulty`].
struct Seen {
    longest_in: usize,
    longest_out: usize,
    cut_to: u16,
}

/// A kernel client and a Recoup server send each other streams at the same time.
fn trade_both_ways(device: &mut TunDevice, version: usize, mtu: u16, faults: Faults) -> Option<Seen> {
    let (ours, _) = ends(device, version)?;
    let server = SocketAddr::new(ours, 80);
    let mut driver = Driver::new(host_of(device, mtu), Faulty::new(&mut *device, faults));
    driver.host.listen(server).unwrap();
    let (up, down) = (bytes(1, 3_000_000), bytes(2, 3_000_000));
    let client = {
        let up = up.clone();
        thread::spawn(move || kernel_trades(TcpStream::connect(server).unwrap(), &up))
    };
    let received = trade(&mut driver, None, &down);
    assert!(received == up, "{} bytes came", received.len());
    assert!(client.join().unwrap() == down);
    assert_eq!((driver.lost(), driver.host.stats().ignored), (0, 0));
    let device = driver.device();
    Some(Seen { longest_in: device.longest, longest_out: device.longest_out, cut_to: device.cut_to })
}

#[test]
fn super_packets_carry_streams_in_both_directions() {
    with_device_like(true, 1500, |device| {
        for (version, mss) in VERSIONS.into_iter().zip([1448, 1428]) {
            let Some(seen) = trade_both_ways(device, version, 1500, Faults::NONE) else {
                return eprintln!("skipped: no IPv6 here");
            };
            assert!(seen.longest_in > 20_000, "{} bytes in", seen.longest_in);
            assert!(seen.longest_out > 20_000, "{} bytes out", seen.longest_out);
            assert_eq!(seen.cut_to, mss);
        }
    });
}

#[test]
fn without_offloads_there_are_no_super_packets() {
    with_device_like(false, 1500, |device| {
        let seen = trade_both_ways(device, 0, 1500, Faults::NONE).unwrap();
        assert!(seen.longest_in <= 1500 && seen.longest_out <= 1500);
    });
}

#[test]
fn streams_survive_lost_duplicated_and_late_super_packets() {
    with_device_like(true, 1500, |device| {
        for (seed, version) in [(1, 0), (2, 1), (3, 0)] {
            let faults = Faults { seed, lost: 20, doubled: 20, late: 20, corrupted: 0 };
            if trade_both_ways(device, version, 1500, faults).is_none() {
                eprintln!("skipped: no IPv6 here");
            }
        }
    });
}

/// The segments of a super-packet respect a peer's MSS below the link's MTU.
#[test]
fn super_packets_are_split_by_the_peers_mss() {
    with_device_like(true, 1500, |device| {
        let (_, theirs) = ends(device, 0).unwrap();
        let listener = TcpListener::bind(SocketAddr::new(theirs, 0)).unwrap();
        let remote = listener.local_addr().unwrap();
        let server = thread::spawn(move || kernel_trades(listener.accept().unwrap().0, b"bye"));
        // The host's MTU is smaller than the kernel's.
        let mut driver = Driver::new(host_of(device, 1280), Faulty::new(&mut *device, Faults::NONE));
        let sent = bytes(3, 2_000_000);
        assert_eq!(trade(&mut driver, Some(remote), &sent), b"bye");
        assert!(server.join().unwrap() == sent);
        assert_eq!(driver.device().cut_to, 1280 - 40 - 12);
    });
}
