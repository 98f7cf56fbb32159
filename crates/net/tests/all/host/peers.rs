//! The applications of both sides: the kernel's use the standard library, Recoup's are small loops.

use crate::beside_others;
use recoup_net::{Namespace, TunDevice, TunOptions};
use recoup_stack::{
    Config, Driver,
    device::Wait,
    host::{ConnectionId, Event, Host, Read, Secret},
};
use recoup_tcp::State;
use recoup_testing::skip;
use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// The time limit of each transfer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a test in a namespace with a TUN device, or prints why it cannot.
pub fn with_device(test: impl FnOnce(&mut TunDevice) + Send + 'static) {
    with_device_like(false, MTU, test);
}

/// The MTU of the tests' devices.
pub const MTU: u16 = 1500;

/// Runs `test` with a device, with or without offloads.
pub fn with_device_like(offloads: bool, mtu: u16, test: impl FnOnce(&mut TunDevice) + Send + 'static) {
    with_own_device(offloads, mtu, |mut device| test(&mut device));
}

/// As [`with_device_like`]; the device is the test's.
pub fn with_own_device(offloads: bool, mtu: u16, test: impl FnOnce(TunDevice) + Send + 'static) {
    let _beside = beside_others();
    let options = TunOptions { mtu, address: None, offloads };
    let namespace = match Namespace::new() {
        Ok(namespace) => namespace,
        Err(e) => return skip(e),
    };
    let ran = namespace.run(move || match TunDevice::open_with(&options) {
        Ok(device) => test(device),
        Err(e) => skip(e),
    });
    assert!(ran.is_ok(), "the test in the namespace failed");
}

/// A host with the device's addresses.
pub fn host(device: &TunDevice) -> Host {
    host_of(device, MTU)
}

/// A host for a link with this MTU in bytes.
pub fn host_of(device: &TunDevice, mtu: u16) -> Host {
    let config = Config::new(device.host_addresses().iter().copied());
    Host::new(config, mtu, Secret::from_key([1; 16]))
}

/// `count` bytes in which every shift or swap shows.
pub fn bytes(seed: u64, count: usize) -> Vec<u8> {
    let byte = |i: u64| {
        let z = (i ^ seed << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (z ^ z >> 48) as u8
    };
    (0..count as u64).map(byte).collect()
}

/// Sends a request and reads until the server closes.
pub fn kernel_pulls(server: SocketAddr) -> Vec<u8> {
    let stream = TcpStream::connect(server).unwrap();
    kernel_trades(stream, b"GET /")
}

/// Accepts one connection, answers and reads.
pub fn kernel_pushes(listener: &TcpListener, answer: &[u8]) -> Vec<u8> {
    kernel_trades(listener.accept().unwrap().0, answer)
}

/// Writes and reads everything at the same time.
pub fn kernel_trades(mut stream: TcpStream, send: &[u8]) -> Vec<u8> {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    let mut reader = stream.try_clone().unwrap();
    let reads = thread::spawn(move || {
        let mut received = Vec::new();
        reader.read_to_end(&mut received).unwrap();
        received
    });
    stream.write_all(send).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    reads.join().unwrap()
}

/// Connects to `remote`, or accepts one connection. Sends all of `send`, closes, and returns the received
/// data once both sides are done.
pub fn trade<D: Wait>(driver: &mut Driver<D>, remote: Option<SocketAddr>, send: &[u8]) -> Vec<u8> {
    let start = Instant::now();
    let mut connection = remote.map(|to| driver.host.connect(driver.now(), to).unwrap());
    let (mut sent, mut received, mut end) = (0, Vec::new(), false);
    let mut chunk = vec![0; 70_000];
    loop {
        assert!(
            start.elapsed() < PATIENCE,
            "{sent} of {} sent, {} received, {:?}",
            send.len(),
            received.len(),
            connection.map(|c| driver.host.state(c))
        );
        driver.turn(Duration::from_millis(10)).unwrap();
        while let Some(event) = driver.host.next_event() {
            accept(driver, &event);
            connection.get_or_insert(event.connection);
        }
        let Some(id) = connection else { continue };
        let now = driver.now();
        let host = &mut driver.host;
        while !end {
            match host.read(now, id, &mut chunk).unwrap() {
                Read::Bytes(count) => received.extend_from_slice(&chunk[..count]),
                Read::Nothing => break,
                Read::End => end = true,
            }
        }
        if sent < send.len() {
            sent += host.write(now, id, &send[sent..]).unwrap();
            if sent == send.len() {
                host.close(now, id).unwrap();
            }
        }
        let over = matches!(host.state(id), Some(State::TimeWait | State::Closed(_)));
        if end && over {
            // Late segments may still need an answer.
            host.release(now, id).unwrap();
            linger(driver);
            return received;
        }
    }
}

/// Accepts a connection when its listener has announced it.
fn accept<D: Wait>(driver: &mut Driver<D>, event: &Event) {
    if let Some(listener) = driver.host.listener(event.connection).filter(|_| event.opened) {
        assert!(driver.host.accept(listener).is_some());
    }
}

/// Echoes the data of this many connections.
pub fn echo<D: Wait>(driver: &mut Driver<D>, connections: usize) {
    let start = Instant::now();
    let (mut over, mut pending) = (0, HashMap::<ConnectionId, (Vec<u8>, bool)>::new());
    let mut chunk = vec![0; 10_000];
    while over < connections {
        assert!(start.elapsed() < PATIENCE, "{over} over");
        driver.turn(Duration::from_millis(10)).unwrap();
        let now = driver.now();
        while let Some(event) = driver.host.next_event() {
            accept(driver, &event);
            let id = event.connection;
            let (waiting, end) = pending.entry(id).or_default();
            if event.closed.is_some() {
                assert_eq!(event.closed, Some(recoup_tcp::Closed::Gracefully));
                driver.host.release(now, id).unwrap();
                over += 1;
                continue;
            }
            loop {
                match driver.host.read(now, id, &mut chunk).unwrap() {
                    Read::Bytes(count) => waiting.extend_from_slice(&chunk[..count]),
                    Read::Nothing => break,
                    Read::End => {
                        *end = true;
                        break;
                    }
                }
            }
            if !waiting.is_empty() {
                let taken = driver.host.write(now, id, waiting).unwrap();
                waiting.drain(..taken);
            }
            if *end && waiting.is_empty() {
                driver.host.close(now, id).unwrap();
            }
        }
    }
    driver.turn(Duration::ZERO).unwrap();
    assert_eq!(driver.host.connections(), 0);
}

fn linger<D: Wait>(driver: &mut Driver<D>) {
    for _ in 0..10 {
        driver.turn(Duration::from_millis(20)).unwrap();
    }
}
