//! Peers that vanish, and peers that reset.

use crate::faults::conversation::{Conversation, until};
use crate::faults::wire::Lossy;
use crate::faults::{bytes, host, host_with, with_device};
use recoup_net::host::{Driver, Host, HostError, TunDevice};
use recoup_tcp::Closed;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const USER_TIMEOUT: Duration = Duration::from_secs(2);

/// A host that gives peers up after [`USER_TIMEOUT`].
fn impatient(device: &TunDevice) -> Host {
    host_with(device, |settings| {
        settings.endpoint.mechanisms.user_timeout = USER_TIMEOUT;
    })
}

/// A server of the kernel's that reads until `most` bytes are there, does the rest with the stream when
/// it is told to, and ends.
fn kernel_reads<T: Send + 'static>(
    device: &TunDevice,
    most: usize,
    then: impl FnOnce(TcpStream) -> T + Send + 'static,
) -> (SocketAddr, Sender<()>, JoinHandle<T>) {
    let listener = TcpListener::bind((device.kernel_addresses()[0], 0)).unwrap();
    let remote = listener.local_addr().unwrap();
    let (tell, told): (Sender<()>, Receiver<()>) = channel();
    let serve = move || {
        let mut stream = listener.accept().unwrap().0;
        let mut buffer = vec![0; most];
        // Where the wire is cut meanwhile, not all of it comes.
        let patience = Some(Duration::from_secs(5));
        stream.set_read_timeout(patience).unwrap();
        let _ = stream.read_exact(&mut buffer);
        stream.set_read_timeout(None).unwrap();
        // Told by a word, or by the test's end.
        let _ = told.recv();
        then(stream)
    };
    (remote, tell, thread::spawn(serve))
}

#[test]
fn a_peer_that_vanishes_is_given_up_and_its_memory_freed() {
    with_device(|device| {
        // It reads all the time, or it has long stopped and closed its window.
        for most in [100_000, 1] {
            let (remote, tell, server) = kernel_reads(device, most, drop);
            let mut driver = Driver::new(impatient(device), Lossy::not(device));
            let id = driver.host.connect(driver.now(), remote).unwrap();
            let mut ours = Conversation::new(id, &bytes(1, 50_000_000));
            // Buffers at both ends are full.
            ours.until(&mut driver, "data underway", |ours, _| ours.sent > 140_000);
            assert!(driver.host.unacknowledged(id).unwrap() > 0);

            driver.device().cut();
            let gone = Instant::now();
            ours.until(&mut driver, "an end", |ours, _| ours.closed.is_some());
            let took = gone.elapsed();
            assert_eq!(ours.closed, Some(Closed::ByTimeout));
            // A window probe may have been answered just before, and back-off is not cut short.
            assert!(
                (USER_TIMEOUT / 2..USER_TIMEOUT * 4).contains(&took),
                "{took:?}"
            );
            let told = ours.failed.unwrap();
            assert_eq!(told, HostError::Ended(Closed::ByTimeout));
            assert_eq!(
                told.to_string(),
                "the connection is over: the peer does not answer"
            );
            driver.host.release(driver.now(), id).unwrap();
            until(&mut driver, "no connection", |d| d.host.connections() == 0);
            assert_eq!(driver.host.state(id), None);
            assert_eq!(driver.host.next_deadline(), None);
            drop(tell);
            server.join().unwrap();
        }
    });
}

#[test]
fn nobody_s_connection_to_a_vanished_peer_ends_by_itself() {
    with_device(|device| {
        let (remote, tell, server) = kernel_reads(device, 100_000, drop);
        let mut driver = Driver::new(impatient(device), Lossy::not(device));
        let id = driver.host.connect(driver.now(), remote).unwrap();
        let mut ours = Conversation::new(id, &bytes(1, 50_000_000));
        ours.until(&mut driver, "data underway", |ours, _| ours.sent > 140_000);
        driver.device().cut();
        driver.host.release(driver.now(), id).unwrap();
        assert_eq!(driver.host.connections(), 1);
        until(&mut driver, "no connection", |d| d.host.connections() == 0);

        // And one that never began.
        let id = driver.host.connect(driver.now(), remote).unwrap();
        let mut ours = Conversation::new(id, b"");
        ours.until(&mut driver, "an end", |ours, _| ours.closed.is_some());
        assert_eq!(ours.closed, Some(Closed::ByTimeout));
        drop(tell);
        server.join().unwrap();
    });
}

#[test]
fn what_came_before_a_reset_is_read_before_it_is_told() {
    with_device(|device| {
        let answer = bytes(3, 50_000);
        let sent = answer.clone();
        // Closed with data unread, a socket of the kernel's is reset (RFC 2525 §2.17).
        let (remote, tell, server) = kernel_reads(device, 100_000, move |mut stream| {
            stream.write_all(&sent).unwrap();
            thread::sleep(Duration::from_millis(300));
        });
        let mut driver = Driver::new(host(device), Lossy::not(device));
        let id = driver.host.connect(driver.now(), remote).unwrap();
        let mut ours = Conversation::new(id, &bytes(1, 50_000_000));
        ours.reads = false;
        ours.until(&mut driver, "data underway", |ours, _| ours.sent > 140_000);
        tell.send(()).unwrap();
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
fn a_reset_of_ours_reaches_the_peer() {
    with_device(|device| {
        // Nothing is read before the reset: a read that meets it takes the error with it.
        let (remote, tell, server) = kernel_reads(device, 0, |mut stream| {
            let mut rest = Vec::new();
            stream.read_to_end(&mut rest).map_err(|e| e.kind())
        });
        let mut driver = Driver::new(host(device), Lossy::not(device));
        let id = driver.host.connect(driver.now(), remote).unwrap();
        let mut ours = Conversation::new(id, &bytes(1, 50_000_000));
        ours.until(&mut driver, "data underway", |ours, _| ours.sent > 140_000);
        driver.host.abort(id).unwrap();
        until(&mut driver, "no connection", |d| d.host.connections() == 0);
        tell.send(()).unwrap();
        let told = server.join().unwrap();
        assert_eq!(told, Err(ErrorKind::ConnectionReset));
    });
}
