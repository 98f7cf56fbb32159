//! Streams under tokio.

use super::*;
use recoup_stack::{TcpListener, TcpOptions, TcpStream};
use std::{
    io::{ErrorKind, IoSlice},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    time::timeout,
};

/// An open stream from both its ends.
async fn open(client: &Stack, server: &Stack, port: u16) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind(server, at(port)).unwrap();
    let (ours, theirs) = tokio::join!(TcpStream::connect(client, at(port)), listener.accept());
    (ours.unwrap(), theirs.unwrap().0)
}

#[tokio::test]
async fn bytes_go_both_ways_and_both_ends_close() {
    for properties in [ETHERNET, OFFLOADING] {
        let (client, server) = stacks(properties);
        let (mut ours, mut theirs) = open(&client, &server, 80).await;
        assert_eq!((ours.peer_addr().unwrap(), theirs.local_addr().unwrap()), (at(80), at(80)));
        assert_eq!(ours.local_addr().unwrap(), theirs.peer_addr().unwrap());
        let (up, down) = (bytes(3_000_000), bytes(2_000_000));
        let (up_copy, down_copy) = (up.clone(), down.clone());
        let far = tokio::spawn(async move {
            let (mut reader, mut writer) = theirs.split();
            let mut received = Vec::new();
            let write = async {
                writer.write_all(&down_copy).await.unwrap();
                writer.shutdown().await.unwrap();
            };
            let (read, ()) = tokio::join!(reader.read_to_end(&mut received), write);
            read.unwrap();
            received
        });
        let (mut reader, mut writer) = ours.split();
        let mut received = Vec::new();
        let write = async {
            writer.write_all(&up_copy).await.unwrap();
            writer.shutdown().await.unwrap();
        };
        let (read, ()) = tokio::join!(reader.read_to_end(&mut received), write);
        read.unwrap();
        assert!(received == down);
        assert!(far.await.unwrap() == up);
        drop(ours);
        timeout(Duration::from_secs(5), server.finished()).await.unwrap();
    }
}

#[tokio::test]
async fn a_reader_that_never_reads_holds_the_writer_up() {
    let (client, server) = stacks(ETHERNET);
    let (mut ours, mut theirs) = open(&client, &server, 80).await;
    let sent = bytes(20_000_000);
    let written = timeout(Duration::from_millis(500), ours.write_all(&sent)).await;
    assert!(written.is_err(), "20 MB fit into buffers");
    assert_eq!(ours.try_write(b"more").unwrap_err().kind(), ErrorKind::WouldBlock);
    let mut some = vec![0; 1000];
    theirs.read_exact(&mut some).await.unwrap();
    assert_eq!(some, sent[..1000]);
    // Reading on makes room.
    let reads = tokio::spawn(async move {
        let mut rest = vec![0; 50_000];
        theirs.read_exact(&mut rest).await.unwrap();
        (theirs, rest)
    });
    timeout(Duration::from_secs(5), ours.writable()).await.unwrap().unwrap();
    let (_theirs, rest) = reads.await.unwrap();
    assert!(rest == sent[1000..51_000]);
}

#[tokio::test]
async fn a_cancelled_read_takes_nothing() {
    let (client, server) = stacks(ETHERNET);
    let (mut ours, mut theirs) = open(&client, &server, 80).await;
    for round in 0..50_u8 {
        let mut into = [0; 10];
        let read = timeout(Duration::from_micros(50), theirs.read(&mut into)).await;
        assert!(read.is_err(), "{read:?}");
        ours.write_all(&[round; 10]).await.unwrap();
        theirs.read_exact(&mut into).await.unwrap();
        assert_eq!(into, [round; 10]);
    }
}

#[tokio::test]
async fn a_dropped_connect_ends_the_attempt() {
    // Nobody is at the other end of this device.
    let (device, _packets) = recoup_stack::device::channel(1500, 16);
    let stack = Stack::new(device, config(CLIENT)).unwrap();
    let attempt = timeout(Duration::from_millis(20), TcpStream::connect(&stack, at(80))).await;
    assert!(attempt.is_err());
    timeout(Duration::from_secs(1), stack.finished()).await.unwrap();
    assert_eq!(stack.connections(), 0);
}

#[tokio::test]
async fn errors_say_what_happened() {
    let (client, server) = stacks(ETHERNET);
    let refused = TcpStream::connect(&client, at(9)).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    assert_eq!(refused.to_string(), "no connection to 192.0.2.2:9: the peer reset or refused it");
    let unreachable = TcpStream::connect(&client, "[2001:db8::1]:80".parse().unwrap()).await.unwrap_err();
    assert_eq!(unreachable.kind(), ErrorKind::NetworkUnreachable);
    let _first = TcpListener::bind(&server, at(80)).unwrap();
    assert_eq!(TcpListener::bind(&server, at(80)).unwrap_err().kind(), ErrorKind::AddrInUse);
    let foreign = TcpListener::bind(&server, "192.0.2.77:80".parse().unwrap()).unwrap_err();
    assert_eq!(foreign.kind(), ErrorKind::AddrNotAvailable);
    assert_eq!(foreign.to_string(), "address 192.0.2.77: expected one of this host's own");

    let (ours, mut theirs) = open(&client, &server, 81).await;
    ours.abort();
    let reset = theirs.read(&mut [0; 10]).await.unwrap_err();
    assert_eq!(reset.kind(), ErrorKind::ConnectionReset);

    let (ours, _theirs) = open(&client, &server, 82).await;
    ours.close().unwrap();
    assert_eq!(ours.try_write(b"late").unwrap_err().kind(), ErrorKind::BrokenPipe);
}

#[tokio::test]
async fn unread_data_at_a_drop_resets_the_peer() {
    let (client, server) = stacks(ETHERNET);
    let (mut ours, theirs) = open(&client, &server, 80).await;
    ours.write_all(b"never read").await.unwrap();
    theirs.readable().await.unwrap();
    drop(theirs);
    assert_eq!(ours.read(&mut [0; 10]).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn what_was_written_before_a_drop_arrives() {
    let (client, server) = stacks(ETHERNET);
    let (mut ours, mut theirs) = open(&client, &server, 80).await;
    let sent = bytes(1_000_000);
    let copy = sent.clone();
    tokio::spawn(async move {
        ours.write_all(&copy).await.unwrap();
        drop(ours);
        drop(client);
    });
    let mut received = Vec::new();
    theirs.read_to_end(&mut received).await.unwrap();
    assert!(received == sent);
}

#[tokio::test]
async fn vectored_writes_and_peeks() {
    let (client, server) = stacks(ETHERNET);
    let (ours, theirs) = open(&client, &server, 80).await;
    let slices = [IoSlice::new(b"one "), IoSlice::new(b""), IoSlice::new(b"two")];
    assert_eq!(ours.try_write_vectored(&slices).unwrap(), 7);
    let mut into = [0; 20];
    let peeked = std::future::poll_fn(|context| theirs.poll_peek(context, &mut into)).await.unwrap();
    assert_eq!(&into[..peeked], b"one two");
    assert_eq!(theirs.try_read(&mut into).unwrap(), 7);
    assert_eq!(theirs.try_read(&mut into).unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[tokio::test]
async fn owned_halves_close_and_join_again() {
    let (client, server) = stacks(ETHERNET);
    let (ours, mut theirs) = open(&client, &server, 80).await;
    let (reader, mut writer) = ours.into_split();
    writer.write_all(b"hello").await.unwrap();
    let whole = reader.reunite(writer).unwrap();
    let (mut reader, writer) = whole.into_split();
    drop(writer);
    let mut received = Vec::new();
    theirs.read_to_end(&mut received).await.unwrap();
    assert_eq!(received, b"hello");
    theirs.write_all(b"back").await.unwrap();
    drop(theirs);
    received.clear();
    reader.read_to_end(&mut received).await.unwrap();
    assert_eq!(received, b"back");
}

#[tokio::test]
async fn each_stream_has_its_profile() {
    let (client, server) = stacks(ETHERNET);
    let options = TcpOptions::of_profile("linux-6+bbr1+tlpr").unwrap();
    let listener = TcpListener::bind_with(&server, at(80), &options).unwrap();
    let from = SocketAddr::new(CLIENT.parse().unwrap(), 0);
    let reno = TcpOptions::of_profile("reno").unwrap();
    let (ours, theirs) = tokio::join!(TcpStream::connect_with(&client, from, at(80), &reno), listener.accept());
    let (mut ours, mut theirs) = (ours.unwrap(), theirs.unwrap().0);
    let sent = bytes(500_000);
    let copy = sent.clone();
    tokio::spawn(async move {
        theirs.write_all(&copy).await.unwrap();
    });
    let mut received = vec![0; sent.len()];
    ours.read_exact(&mut received).await.unwrap();
    assert!(received == sent);
    assert!(TcpOptions::of_profile("linux-6+nonsense").unwrap_err().to_string().contains("nonsense"));
}

#[tokio::test]
async fn a_proxy_between_two_stacks_copies_both_ways() {
    let (client, middle) = stacks(ETHERNET);
    let (first, second) = pair(ETHERNET, 256);
    let upstream = Stack::new(first, config("198.51.100.1")).unwrap();
    let target = Stack::new(second, config("198.51.100.2")).unwrap();
    let there: SocketAddr = "198.51.100.2:7".parse().unwrap();
    let echo = TcpListener::bind(&target, there).unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = echo.accept().await.unwrap();
        let (mut reader, mut writer) = stream.split();
        tokio::io::copy(&mut reader, &mut writer).await.unwrap();
        writer.shutdown().await.unwrap();
    });
    let listener = TcpListener::bind(&middle, at(80)).unwrap();
    tokio::spawn(async move {
        let (mut near, _) = listener.accept().await.unwrap();
        let mut far = TcpStream::connect(&upstream, there).await.unwrap();
        copy_bidirectional(&mut near, &mut far).await.unwrap();
    });
    let mut ours = TcpStream::connect(&client, at(80)).await.unwrap();
    let sent = bytes(700_000);
    let (mut reader, mut writer) = ours.split();
    let write = async {
        writer.write_all(&sent).await.unwrap();
        writer.shutdown().await.unwrap();
    };
    let mut received = Vec::new();
    let (read, ()) = tokio::join!(reader.read_to_end(&mut received), write);
    read.unwrap();
    assert!(received == sent);
}

#[tokio::test]
async fn a_peek_says_that_the_peer_has_reset() {
    let (client, server) = stacks(ETHERNET);
    let listener = TcpListener::bind(&server, at(80)).unwrap();
    let (ours, theirs) = tokio::join!(TcpStream::connect(&client, at(80)), listener.accept());
    let ours = ours.unwrap();
    theirs.unwrap().0.abort();
    let over = std::future::poll_fn(|context| ours.poll_peek(context, &mut [0; 1])).await.unwrap_err();
    assert_eq!(over.kind(), std::io::ErrorKind::ConnectionReset);
}
