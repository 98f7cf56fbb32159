//! Recoup's endpoints against the kernel's TCP, over a TUN device in a namespace. If the system does not
//! permit it, the tests print that and pass. If RECOUP_REQUIRE_TOOLS is set, they fail instead.
mod datagrams;
mod ecn;
pub mod faulty;
pub mod interface;
mod offload;
pub mod peers;
mod queues;
#[cfg(feature = "tokio")]
mod tasks;

use faulty::{Faults, Faulty};
use peers::{bytes, host, kernel_pulls, kernel_pushes, trade, with_device};
use recoup_net::TunDevice;
use recoup_stack::Driver;
use std::{
    net::{IpAddr, SocketAddr, TcpListener, TcpStream},
    thread,
    time::Duration,
};

/// Indexes of a device's addresses; IPv4 is first.
const VERSIONS: [usize; 2] = [0, 1];

/// The device's addresses of one IP version: the host's and the kernel's.
fn ends(device: &TunDevice, version: usize) -> Option<(IpAddr, IpAddr)> {
    let host = device.host_addresses().get(version)?;
    Some((*host, *device.kernel_addresses().get(version)?))
}

#[test]
fn a_kernel_client_fetches_from_a_recoup_server() {
    with_device(|device| {
        for version in VERSIONS {
            let Some((ours, _)) = ends(device, version) else {
                return eprintln!("skipped: no IPv6 here");
            };
            let mut driver = Driver::new(host(device), Faulty::new(&mut *device, Faults::NONE));
            driver.host.listen(SocketAddr::new(ours, 80)).unwrap();
            let client = thread::spawn(move || kernel_pulls(SocketAddr::new(ours, 80)));
            let sent = bytes(1, 3_000_000);
            let received = trade(&mut driver, None, &sent);
            assert_eq!(received, b"GET /");
            assert_eq!(client.join().unwrap(), sent, "IP version {version}");
        }
    });
}

#[test]
fn a_recoup_client_sends_to_a_kernel_server() {
    with_device(|device| {
        for version in VERSIONS {
            let Some((_, theirs)) = ends(device, version) else {
                return eprintln!("skipped: no IPv6 here");
            };
            let listener = TcpListener::bind(SocketAddr::new(theirs, 0)).unwrap();
            let remote = listener.local_addr().unwrap();
            let answer = bytes(2, 500_000);
            let server = {
                let answer = answer.clone();
                thread::spawn(move || kernel_pushes(&listener, &answer))
            };
            let mut driver = Driver::new(host(device), Faulty::new(&mut *device, Faults::NONE));
            let sent = bytes(3, 2_000_000);
            let received = trade(&mut driver, Some(remote), &sent);
            assert!(received == answer, "IP version {version}");
            assert!(server.join().unwrap() == sent, "IP version {version}");
        }
    });
}

#[test]
fn streams_survive_loss_reordering_and_duplication() {
    with_device(|device| {
        let (ours, _) = ends(device, 0).unwrap();
        for seed in 1..=4 {
            let faults = Faults { seed, lost: 20, doubled: 20, late: 20, corrupted: 0 };
            let mut driver = Driver::new(host(device), Faulty::new(&mut *device, faults));
            let port = 80 + seed as u16;
            driver.host.listen(SocketAddr::new(ours, port)).unwrap();
            let (up, down) = (bytes(seed, 600_000), bytes(seed + 9, 600_000));
            let client = {
                let up = up.clone();
                thread::spawn(move || {
                    let stream = TcpStream::connect(SocketAddr::new(ours, port)).unwrap();
                    peers::kernel_trades(stream, &up)
                })
            };
            let received = trade(&mut driver, None, &down);
            assert!(received == up, "seed {seed}: {} bytes", received.len());
            assert!(client.join().unwrap() == down, "seed {seed}");
        }
    });
}

#[test]
fn many_connections_at_once() {
    const CLIENTS: u64 = 40;
    with_device(|device| {
        let (ours, _) = ends(device, 0).unwrap();
        let server = SocketAddr::new(ours, 80);
        let mut driver = Driver::new(host(device), Faulty::new(&mut *device, Faults::NONE));
        driver.host.listen(server).unwrap();
        let client = |n| {
            thread::spawn(move || {
                let stream = TcpStream::connect(server).unwrap();
                peers::kernel_trades(stream, &bytes(n, 50_000 + n as usize))
            })
        };
        let clients: Vec<_> = (0..CLIENTS).map(client).collect();
        peers::echo(&mut driver, CLIENTS as usize);
        for (n, client) in clients.into_iter().enumerate() {
            assert!(client.join().unwrap() == bytes(n as u64, 50_000 + n), "{n}");
        }
    });
}

#[test]
fn a_closed_port_refuses_at_once() {
    with_device(|device| {
        let (ours, theirs) = ends(device, 0).unwrap();
        let mut driver = Driver::new(host(device), Faulty::new(&mut *device, Faults::NONE));
        let client =
            thread::spawn(move || TcpStream::connect_timeout(&SocketAddr::new(ours, 9), Duration::from_secs(5)));
        while !client.is_finished() {
            driver.turn(Duration::from_millis(5)).unwrap();
        }
        let error = client.join().unwrap().unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
        assert_eq!(driver.host.stats().refused, 1);

        // The kernel refuses a connection to its closed port 9.
        let now = driver.now();
        let remote = SocketAddr::new(theirs, 9);
        let connection = driver.host.connect(now, remote).unwrap();
        driver.turn(Duration::from_secs(5)).unwrap();
        let event = driver.host.next_event().unwrap();
        assert_eq!(event.connection, connection);
        assert_eq!(event.closed, Some(recoup_tcp::Closed::ByReset));
    });
}
