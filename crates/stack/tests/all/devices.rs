//! Devices over a stream and a sink.

use super::*;
use futures_util::{SinkExt, StreamExt};
use recoup_stack::{
    TcpListener, TcpStream,
    device::{ChannelDevice, StreamDevice, channel},
};
use std::{io, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::timeout,
};

/// A packet of another type than the stream's.
struct Sent(Vec<u8>);

impl From<Vec<u8>> for Sent {
    fn from(packet: Vec<u8>) -> Self {
        Self(packet)
    }
}

/// Two stacks, one of which has the stream and the sink of the other's device, with room for a few packets.
fn joined(capacity: usize) -> (Stack, Stack) {
    let (first, packets): (ChannelDevice, _) = channel(1500, capacity);
    let packets = packets.with(|Sent(packet)| std::future::ready(Ok::<_, io::Error>(packet)));
    let second = StreamDevice::<_, Sent>::new(packets.map(Ok::<_, io::Error>), 1500);
    (Stack::new(first, config(CLIENT)).unwrap(), Stack::new(second, config(SERVER)).unwrap())
}

#[tokio::test]
async fn streams_go_both_ways_however_little_room_there_is() {
    for capacity in [1, 3, 256] {
        let (client, server) = joined(capacity);
        let listener = TcpListener::bind(&server, at(80)).unwrap();
        let (ours, theirs) = tokio::join!(TcpStream::connect(&client, at(80)), listener.accept());
        let (mut ours, (mut theirs, _)) = (ours.unwrap(), theirs.unwrap());
        let sent = bytes(400_000);
        let copy = sent.clone();
        let far = tokio::spawn(async move {
            let (mut reader, mut writer) = theirs.split();
            let mut received = vec![0; copy.len()];
            let (read, written) = tokio::join!(reader.read_exact(&mut received), writer.write_all(&copy));
            written.and(read).unwrap();
            (theirs, received)
        });
        let (mut reader, mut writer) = ours.split();
        let mut received = vec![0; sent.len()];
        let both = async { tokio::join!(reader.read_exact(&mut received), writer.write_all(&sent)) };
        let (read, written) = timeout(Duration::from_secs(20), both).await.unwrap();
        written.and(read).unwrap();
        assert!(received == sent);
        let (_theirs, received) = timeout(Duration::from_secs(20), far).await.unwrap().unwrap();
        assert!(received == sent);
    }
}

#[tokio::test]
async fn the_end_of_the_stream_is_the_end_of_the_device() {
    let (client, server) = joined(16);
    let listener = TcpListener::bind(&server, at(80)).unwrap();
    drop(client);
    let gone = timeout(Duration::from_secs(5), listener.accept()).await.unwrap().unwrap_err();
    assert_eq!(gone.kind(), io::ErrorKind::BrokenPipe);
}

#[tokio::test]
async fn an_error_is_one_of_the_device() {
    let (other, packets) = channel(1500, 16);
    let mut errors = vec![io::Error::other("a cable is missing")];
    let packets = packets.map(move |packet| errors.pop().map_or(Ok(packet), Err));
    let (told, notices) = std::sync::mpsc::channel();
    let stack = Stack::new(StreamDevice::<_, Vec<u8>>::new(packets, 1500), config(SERVER)).unwrap();
    stack.on_notice(move |notice| drop(told.send(notice.to_string())));
    let client = Stack::new(other, config(CLIENT)).unwrap();
    let _listener = TcpListener::bind(&stack, at(80)).unwrap();
    // The SYN is what the error took the place of. Its retransmission arrives.
    timeout(Duration::from_secs(10), TcpStream::connect(&client, at(80))).await.unwrap().unwrap();
    let notices: Vec<_> = notices.try_iter().collect();
    assert!(notices[0].contains("a cable is missing"), "{notices:?}");
    assert!(notices[1].contains("works again"), "{notices:?}");
}
