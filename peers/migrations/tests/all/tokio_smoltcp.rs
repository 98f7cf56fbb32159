//! The node on `tokio-smoltcp`, and on `recoup-stack`.

use super::*;
use ::tokio_smoltcp::{
    device::{AsyncDevice, DeviceCapabilities, Packet},
    smoltcp::phy::Medium,
};
use futures::{Sink, SinkExt, Stream, StreamExt};
use recoup_stack::{
    TcpListener,
    device::{Packets, Properties, channel, pair},
};
use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

#[allow(dead_code)]
#[path = "../../programs/tokio-smoltcp/after.rs"]
mod after;
#[allow(dead_code)]
#[path = "../../programs/tokio-smoltcp/before.rs"]
mod before;

/// The node's address, and the other stack's.
const NODE: [u8; 4] = [192, 0, 2, 2];
const OTHER: [u8; 4] = [192, 0, 2, 1];

/// Packets as the node's stack wants them.
struct PacketDevice(Packets, DeviceCapabilities);

impl Stream for PacketDevice {
    type Item = io::Result<Packet>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(context).map(|packet| packet.map(Ok))
    }
}

impl Sink<Packet> for PacketDevice {
    type Error = io::Error;

    fn poll_ready(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.poll_ready_unpin(context)
    }

    fn start_send(mut self: Pin<&mut Self>, packet: Packet) -> io::Result<()> {
        self.0.start_send_unpin(packet)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.poll_flush_unpin(context)
    }

    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.poll_close_unpin(context)
    }
}

impl AsyncDevice for PacketDevice {
    fn capabilities(&self) -> &DeviceCapabilities {
        &self.1
    }
}

/// A server on the other stack that answers a stream and a datagram by `what` they ask.
fn answer(stack: &Stack) -> SocketAddr {
    let here = SocketAddr::from((OTHER, 53));
    let (listener, socket) = (TcpListener::bind(stack, here).unwrap(), UdpSocket::bind(stack, here).unwrap());
    ::tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut question = Vec::new();
        stream.read_to_end(&mut question).await.unwrap();
        question.reverse();
        stream.write_all(&question).await.unwrap();
        stream.shutdown().await.unwrap();
    });
    ::tokio::spawn(async move {
        let mut buffer = [0; 2000];
        let (count, peer) = socket.recv_from(&mut buffer).await.unwrap();
        buffer[..count].reverse();
        socket.send_to(&buffer[..count], peer).await.unwrap();
    });
    here
}

/// The node answers the other stack, and the other stack the node.
macro_rules! converse {
    ($program:ident, $node:expr, $device:expr) => {{
        let stack = client($device);
        let node = $node;
        let there = SocketAddr::from((NODE, 7));
        echoes_a_stream(&stack, there).await;
        echoes_datagrams(&stack, there).await;
        let server = answer(&stack);
        let (asked, mut answered) = (bytes(100_000), bytes(100_000));
        answered.reverse();
        let answer = timeout(PATIENCE, $program::ask(&node, server, &asked)).await.unwrap().unwrap();
        assert!(answer == answered);
        let answer = timeout(PATIENCE, $program::ask_shortly(&node, server, b"abc")).await.unwrap().unwrap();
        assert_eq!(answer, b"cba");
    }};
}

#[::tokio::test]
async fn before_it_answers_and_asks() {
    let (device, packets) = channel(MTU, 256);
    let mut capabilities = DeviceCapabilities::default();
    (capabilities.medium, capabilities.max_transmission_unit) = (Medium::Ip, MTU.into());
    converse!(before, before::start(PacketDevice(packets, capabilities), NODE, OTHER).await.unwrap(), device);
}

#[::tokio::test]
async fn after_it_answers_and_asks() {
    let (device, other) = pair(Properties { mtu: MTU, offloads: false }, 256);
    converse!(after, after::start(other, NODE).await.unwrap(), device);
}
