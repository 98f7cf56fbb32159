//! Sockets that wait, without a runtime.

use super::*;
use recoup_stack::{
    blocking::{Stack, TcpListener, TcpStream},
    device::Parking,
};
use std::{
    io::{ErrorKind, Read, Write},
    thread,
    time::Duration,
};

fn stacks() -> (Stack, Stack) {
    let (first, second) = pair(ETHERNET, 256);
    let stack = |device, address| Stack::new(Parking::new(device), config(address)).unwrap();
    (stack(first, CLIENT), stack(second, SERVER))
}

#[test]
fn threads_exchange_bytes() {
    let (client, server) = stacks();
    let listener = TcpListener::bind(&server, at(80)).unwrap();
    let sent = bytes(2_000_000);
    let far = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut received = Vec::new();
        stream.read_to_end(&mut received).unwrap();
        stream.write_all(b"thanks").unwrap();
        received
    });
    let mut stream = TcpStream::connect_timeout(&client, at(80), Duration::from_secs(5)).unwrap();
    stream.write_all(&sent).unwrap();
    stream.close().unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "thanks");
    assert!(far.join().unwrap() == sent);
    drop(stream);
    assert!(client.finish(Duration::from_secs(5)));
}

#[test]
fn waiting_ends_when_it_should() {
    let (client, server) = stacks();
    let listener = TcpListener::bind(&server, at(80)).unwrap();
    let none = listener.accept_timeout(Duration::from_millis(20)).unwrap_err();
    assert_eq!(none.kind(), ErrorKind::TimedOut);
    let mut stream = TcpStream::connect(&client, at(80)).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(20)));
    assert_eq!(stream.read(&mut [0; 5]).unwrap_err().kind(), ErrorKind::TimedOut);
    // The device's other end goes: nothing works any more.
    drop((listener, server));
    stream.set_read_timeout(None);
    let over = stream.read(&mut [0; 5]).unwrap_err();
    assert!(matches!(over.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset), "{over}");
}

#[test]
fn the_longest_timeout_is_none() {
    let (client, server) = stacks();
    let listener = TcpListener::bind(&server, at(80)).unwrap();
    let mut stream = TcpStream::connect_timeout(&client, at(80), Duration::MAX).unwrap();
    let (mut other, _) = listener.accept_timeout(Duration::MAX).unwrap();
    other.write_all(b"x").unwrap();
    stream.set_read_timeout(Some(Duration::MAX));
    stream.read_exact(&mut [0; 1]).unwrap();
}
