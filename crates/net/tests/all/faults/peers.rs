//! Peers that vanish, and peers that reset.

use crate::faults::{
    bytes, config,
    conversation::{Conversation, until},
    side::{Kind, Side, on_both_sides},
    wire::Lossy,
};
use recoup_net::TunDevice;
use recoup_stack::{Config, host::HostError};
use recoup_tcp::Closed;
use std::{
    io::{ErrorKind, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::mpsc::{Receiver, Sender, channel},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

const USER_TIMEOUT: Duration = Duration::from_secs(2);

on_both_sides!(
    with_device: a_connection_to_a_vanished_peer_times_out_and_frees_its_memory,
    a_dropped_connection_to_a_vanished_peer_ends_by_itself,
    data_before_a_reset_is_read_before_the_error,
    an_abort_resets_the_peer,
);

/// Settings with the user timeout [`USER_TIMEOUT`].
fn impatient(device: &TunDevice) -> Config {
    let mut config = config(device);
    config.tcp.endpoint.mechanisms.user_timeout = USER_TIMEOUT;
    config
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

fn a_connection_to_a_vanished_peer_times_out_and_frees_its_memory<K: Kind>(device: &mut TunDevice) {
    // The peer reads all the time, or has stopped and closed its window.
    for most in [100_000, 1] {
        let (remote, finish, server) = kernel_reads(device, most, drop);
        let mut side = K::Side::open(impatient(device), Lossy::not(device));
        let id = side.connect(remote);
        let mut ours = Conversation::new(id, &bytes(1, 50_000_000));
        // The buffers of both ends are full.
        ours.until(&mut side, "data underway", |ours, _| ours.sent > 140_000);
        assert!(!side.is_quiet(id));

        side.device().cut();
        let gone = Instant::now();
        ours.until(&mut side, "an end", |ours, _| ours.closed.is_some());
        let took = gone.elapsed();
        assert_eq!(ours.closed, Some(Closed::ByTimeout));
        // A window probe may have been answered just before, and the back-off continues.
        assert!((USER_TIMEOUT / 2..USER_TIMEOUT * 4).contains(&took), "{took:?}");
        let error = ours.failed.unwrap();
        assert_eq!(error, HostError::Ended(Closed::ByTimeout));
        assert_eq!(error.to_string(), "the connection is over: the peer does not answer");
        side.release(id);
        until(&mut side, "no connection", |side| side.connections() == 0);
        assert!(side.sleeps());
        drop(finish);
        server.join().unwrap();
    }
}

fn a_dropped_connection_to_a_vanished_peer_ends_by_itself<K: Kind>(device: &mut TunDevice) {
    let (remote, finish, server) = kernel_reads(device, 100_000, drop);
    let mut side = K::Side::open(impatient(device), Lossy::not(device));
    let id = side.connect(remote);
    let mut ours = Conversation::new(id, &bytes(1, 50_000_000));
    ours.until(&mut side, "data underway", |ours, _| ours.sent > 140_000);
    side.device().cut();
    side.release(id);
    assert_eq!(side.connections(), 1);
    until(&mut side, "no connection", |side| side.connections() == 0);

    // And a connection that was never established.
    let id = side.connect(remote);
    let mut ours = Conversation::new(id, b"");
    ours.until(&mut side, "an end", |ours, _| ours.closed.is_some());
    assert_eq!(ours.closed, Some(Closed::ByTimeout));
    drop(finish);
    server.join().unwrap();
}

fn data_before_a_reset_is_read_before_the_error<K: Kind>(device: &mut TunDevice) {
    let answer = bytes(3, 50_000);
    let sent = answer.clone();
    // The kernel resets a socket that is closed with unread data (RFC 2525 §2.17).
    let (remote, finish, server) = kernel_reads(device, 100_000, move |mut stream| {
        stream.write_all(&sent).unwrap();
        thread::sleep(Duration::from_millis(300));
    });
    let mut side = K::Side::open(config(device), Lossy::not(device));
    let id = side.connect(remote);
    let mut ours = Conversation::new(id, &bytes(1, 50_000_000));
    ours.reads = false;
    ours.until(&mut side, "data underway", |ours, _| ours.sent > 140_000);
    finish.send(()).unwrap();
    ours.until(&mut side, "a reset", |ours, _| ours.closed.is_some());
    assert_eq!(ours.closed, Some(Closed::ByReset));
    server.join().unwrap();

    ours.failed = None;
    ours.reads = true;
    ours.read(&mut side);
    assert!(ours.received == answer, "{} bytes", ours.received.len());
    assert_eq!(ours.failed, Some(HostError::Ended(Closed::ByReset)));
    side.release(id);
    until(&mut side, "no connection", |side| side.connections() == 0);
}

fn an_abort_resets_the_peer<K: Kind>(device: &mut TunDevice) {
    // Nothing is read before the reset, because reading would consume the error.
    let (remote, finish, server) = kernel_reads(device, 0, |mut stream| {
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).map_err(|e| e.kind())
    });
    let mut side = K::Side::open(config(device), Lossy::not(device));
    let id = side.connect(remote);
    let mut ours = Conversation::new(id, &bytes(1, 50_000_000));
    ours.until(&mut side, "data underway", |ours, _| ours.sent > 140_000);
    side.abort(id);
    until(&mut side, "no connection", |side| side.connections() == 0);
    finish.send(()).unwrap();
    let result = server.join().unwrap();
    assert_eq!(result, Err(ErrorKind::ConnectionReset));
}
