//! Peers that vanish, and peers that reset.

use crate::faults::{
    bytes,
    conversation::{Conversation, until},
    host, host_with,
    wire::Lossy,
    with_device,
};
use recoup_net::TunDevice;
use recoup_stack::{
    Driver,
    host::{Host, HostError},
};
use recoup_tcp::Closed;
use std::{
    io::{ErrorKind, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::mpsc::{Receiver, Sender, channel},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

const USER_TIMEOUT: Duration = Duration::from_secs(2);

/// A host with the user timeout [`USER_TIMEOUT`].
fn impatient(device: &TunDevice) -> Host {
    host_with(device, |config| {
        config.tcp.endpoint.mechanisms.user_timeout = USER_TIMEOUT;
    })
}

/// A server of the kernel that reads until it has `most` bytes. On a message it does the rest with the
/// stream, and ends.
fn kernel_reads<T: Send + 'static>(
    device: &TunDevice,
    most: usize,
    then: impl FnOnce(TcpStream) -> T + Send + 'static,
) -> (SocketAddr, Sender<()>, JoinHandle<T>) {
    let listener = TcpListener::bind((device.kernel_addresses()[0], 0)).unwrap();
    let remote = listener.local_addr().unwrap();
    let (finish, finish_requested): (Sender<()>, Receiver<()>) = channel();
    let serve = move || {
        let mut stream = listener.accept().unwrap().0;
        let mut buffer = vec![0; most];
        // If the link is cut, not everything arrives.
        let patience = Some(Duration::from_secs(5));
        stream.set_read_timeout(patience).unwrap();
        let _ = stream.read_exact(&mut buffer);
        stream.set_read_timeout(None).unwrap();
        // Ends with a message, or with the test.
        let _ = finish_requested.recv();
        then(stream)
    };
    (remote, finish, thread::spawn(serve))
}

#[test]
fn a_connection_to_a_vanished_peer_times_out_and_frees_its_memory() {
    with_device(|device| {
        // The peer reads all the time, or has stopped and closed its window.
        for most in [100_000, 1] {
            let (remote, finish, server) = kernel_reads(device, most, drop);
            let mut driver = Driver::new(impatient(device), Lossy::not(device));
            let id = driver.host.connect(driver.now(), remote).unwrap();
            let mut ours = Conversation::new(id, &bytes(1, 50_000_000));
            // The buffers of both ends are full.
            ours.until(&mut driver, "data underway", |ours, _| ours.sent > 140_000);
            assert!(driver.host.unacknowledged(id).unwrap() > 0);

            driver.device().cut();
            let gone = Instant::now();
            ours.until(&mut driver, "an end", |ours, _| ours.closed.is_some());
            let took = gone.elapsed();
            assert_eq!(ours.closed, Some(Closed::ByTimeout));
            // A window probe may have been answered just before, and the back-off continues.
            assert!((USER_TIMEOUT / 2..USER_TIMEOUT * 4).contains(&took), "{took:?}");
            let error = ours.failed.unwrap();
            assert_eq!(error, HostError::Ended(Closed::ByTimeout));
            assert_eq!(error.to_string(), "the connection is over: the peer does not answer");
            driver.host.release(driver.now(), id).unwrap();
            until(&mut driver, "no connection", |d| d.host.connections() == 0);
            assert_eq!(driver.host.state(id), None);
            assert_eq!(driver.host.next_timer(), None);
            drop(finish);
            server.join().unwrap();
        }
    });
}

#[test]
fn a_dropped_connection_to_a_vanished_peer_ends_by_itself() {
    with_device(|device| {
        let (remote, finish, server) = kernel_reads(device, 100_000, drop);
        let mut driver = Driver::new(impatient(device), Lossy::not(device));
        let id = driver.host.connect(driver.now(), remote).unwrap();
        let mut ours = Conversation::new(id, &bytes(1, 50_000_000));
        ours.until(&mut driver, "data underway", |ours, _| ours.sent > 140_000);
        driver.device().cut();
        driver.host.release(driver.now(), id).unwrap();
        assert_eq!(driver.host.connections(), 1);
        until(&mut driver, "no connection", |d| d.host.connections() == 0);

        // And a connection that was never established.
        let id = driver.host.connect(driver.now(), remote).unwrap();
        let mut ours = Conversation::new(id, b"");
        ours.until(&mut driver, "an end", |ours, _| ours.closed.is_some());
        assert_eq!(ours.closed, Some(Closed::ByTimeout));
        drop(finish);
        server.join().unwrap();
    });
}

#[test]
fn data_before_a_reset_is_read_before_the_error() {
    with_device(|device| {
        let answer = bytes(3, 50_000);
        let sent = answer.clone();
        // The kernel resets a socket that is closed with unread data (RFC 2525 §2.17).
        let (remote, finish, server) = kernel_reads(device, 100_000, move |mut stream| {
            stream.write_all(&sent).unwrap();
            thread::sleep(Duration::from_millis(300));
        });
        let mut driver = Driver::new(host(device), Lossy::not(device));
        let id = driver.host.connect(driver.now(), remote).unwrap();
        let mut ours = Conversation::new(id, &bytes(1, 50_000_000));
        ours.reads = false;
        ours.until(&mut driver, "data underway", |ours, _| ours.sent > 140_000);
        finish.send(()).unwrap();
        ours.until(&mut driver, "a reset", |ours, _| ours.closed.is_some());
        assert_eq!(ours.closed, Some(Closed::ByReset));
        server.join().unwrap();

        ours.failed = None;
        ours.reads = true;
        ours.read(&mut driver);
        assert!(ours.received == answer, "{} bytes", ours.received.len());
        assert_eq!(ours.failed, Some(HostError::Ended(Closed::ByReset)));
        driver.host.release(driver.now(), id).unwrap();
        until(&mut driver, "no connection", |d| d.host.connections() == 0);
    });
}

#[test]
fn an_abort_resets_the_peer() {
    with_device(|device| {
        // Nothing is read before the reset, because reading would consume the error.
        let (remote, finish, server) = kernel_reads(device, 0, |mut stream| {
            let mut rest = Vec::new();
            stream.read_to_end(&mut rest).map_err(|e| e.kind())
        });
        let mut driver = Driver::new(host(device), Lossy::not(device));
        let id = driver.host.connect(driver.now(), remote).unwrap();
        let mut ours = Conversation::new(id, &bytes(1, 50_000_000));
        ours.until(&mut driver, "data underway", |ours, _| ours.sent > 140_000);
        driver.host.abort(id).unwrap();
        until(&mut driver, "no connection", |d| d.host.connections() == 0);
        finish.send(()).unwrap();
        let result = server.join().unwrap();
        assert_eq!(result, Err(ErrorKind::ConnectionReset));
    });
}
