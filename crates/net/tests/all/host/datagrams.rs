//! Datagrams between Recoup's host and the kernel: UDP in fragments, refusals, echoes.

use super::{
    VERSIONS, bytes, ends,
    faulty::{Faults, Faulty},
    host,
    peers::{MTU, with_device_like},
};
use recoup_net::TunDevice;
use recoup_stack::{
    Driver,
    host::{DatagramId, Host, HostError, Unreachable},
};
use std::{
    io::ErrorKind,
    net::{SocketAddr, UdpSocket},
    thread,
    time::{Duration, Instant},
};

/// The time limit of each exchange.
const PATIENCE: Duration = Duration::from_secs(30);

/// The time after which a datagram is sent again, since datagrams may be lost.
const AGAIN: Duration = Duration::from_millis(300);

/// Sends, again and again, and lets the host work until a socket has something new.
fn exchange(driver: &mut Driver<Faulty<&mut TunDevice>>, id: DatagramId, send: impl Fn(&mut Host)) {
    let end = Instant::now() + PATIENCE;
    loop {
        send(&mut driver.host);
        let again = Instant::now() + AGAIN;
        while Instant::now() < again {
            driver.turn(Duration::from_millis(20)).unwrap();
            if driver.host.next_readable_datagram() == Some(id) {
                return;
            }
        }
        assert!(Instant::now() < end, "nothing came: {:?}", driver.host.stats());
    }
}

/// Runs `test` on devices with and without offloads, once for each IP version.
fn with_hosts(test: fn(&mut Driver<Faulty<&mut TunDevice>>, SocketAddr, SocketAddr)) {
    for offloads in [false, true] {
        with_device_like(offloads, MTU, move |device| {
            for version in VERSIONS {
                let Some((ours, theirs)) = ends(device, version) else {
                    return eprintln!("skipped: no IPv6 here");
                };
                let mut driver = Driver::new(host(device), Faulty::new(&mut *device, Faults::NONE));
                test(&mut driver, SocketAddr::new(ours, 53), SocketAddr::new(theirs, 0));
            }
        });
    }
}

#[test]
fn the_kernels_datagrams_come_back_however_long() {
    with_hosts(|driver, ours, theirs| {
        let id = driver.host.udp_bind(ours).unwrap();
        let client = thread::spawn(move || {
            let socket = UdpSocket::bind(theirs).unwrap();
            socket.set_read_timeout(Some(AGAIN)).unwrap();
            socket.connect(ours).unwrap();
            let mut received = vec![0; 70_000];
            for (seed, len) in (0..).zip([0, 1, 1000, 1452, 1472, 1473, 5000, 65_507]) {
                let sent = bytes(seed, len);
                let end = Instant::now() + PATIENCE;
                let mut came_back = false;
                while !came_back {
                    assert!(Instant::now() < end, "{len} bytes did not come back");
                    socket.send(&sent).unwrap();
                    while let Ok(count) = socket.recv(&mut received)
                        && !came_back
                    {
                        // What was sent twice may come twice.
                        came_back = received[..count] == sent;
                    }
                }
            }
        });
        while !client.is_finished() {
            driver.turn(Duration::from_millis(20)).unwrap();
            while driver.host.next_readable_datagram().is_some() {}
            while let Some(datagram) = driver.host.udp_receive(id).unwrap() {
                driver.host.udp_send(id, None, Some(datagram.source), &datagram.bytes).unwrap();
            }
        }
        client.join().unwrap();
        driver.host.udp_close(id).unwrap();
    });
}

#[test]
fn each_side_learns_that_nobody_has_a_port_of_the_other() {
    with_hosts(|driver, ours, theirs| {
        let client = thread::spawn(move || {
            let socket = UdpSocket::bind(theirs).unwrap();
            socket.set_read_timeout(Some(AGAIN)).unwrap();
            socket.connect(ours).unwrap();
            let end = Instant::now() + PATIENCE;
            loop {
                assert!(Instant::now() < end, "no refusal");
                // The refusal of an earlier datagram may come back here.
                let sent = socket.send(b"anybody?");
                let error = sent.and_then(|_| socket.recv(&mut [0; 10])).unwrap_err().kind();
                if !matches!(error, ErrorKind::WouldBlock | ErrorKind::TimedOut) {
                    return error;
                }
            }
        });
        while !client.is_finished() {
            driver.turn(Duration::from_millis(10)).unwrap();
        }
        assert_eq!(client.join().unwrap(), ErrorKind::ConnectionRefused);
        let id = driver.host.udp_bind(ours).unwrap();
        let closed = SocketAddr::new(theirs.ip(), 9);
        driver.host.udp_connect(id, closed).unwrap();
        // An error says what this waits for.
        exchange(driver, id, |host| {
            let _ = host.udp_send(id, None, None, b"anybody?");
        });
        let error = HostError::Rejected { peer: closed, why: Unreachable::Port };
        assert_eq!(driver.host.udp_receive(id), Err(error));
        driver.host.udp_close(id).unwrap();
    });
}

#[test]
fn the_kernel_answers_echo_requests_however_long() {
    with_hosts(|driver, _, theirs| {
        let id = driver.host.ping_open().unwrap();
        let mut answered = 0;
        for (sequence, len) in [(1, 0), (2, 56), (3, 20_000), (4, 60_000)] {
            let sent = bytes(sequence.into(), len);
            exchange(driver, id, |host| host.ping_send(id, theirs.ip(), sequence, &sent).unwrap());
            while let Some(reply) = driver.host.ping_receive(id).unwrap() {
                // A late reply to an earlier request may come, too.
                if reply.sequence == sequence {
                    assert_eq!(reply.source, theirs.ip());
                    assert!(reply.data == sent, "{len} bytes");
                    answered += 1;
                }
            }
        }
        assert!(answered >= 3, "{answered}");
        driver.host.ping_close(id).unwrap();
    });
}
