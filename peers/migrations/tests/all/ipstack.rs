//! The relay on `ipstack`, and on `recoup-stack`.

use super::*;
use ::tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use futures::{SinkExt, StreamExt};
use recoup_stack::device::{Packets, Properties, channel, pair};
use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

#[allow(dead_code)]
#[path = "../../programs/ipstack/after.rs"]
mod after;
#[allow(dead_code)]
#[path = "../../programs/ipstack/before.rs"]
mod before;

/// Packets to read, one each time, and to write.
struct PacketIo(Packets);

impl AsyncRead for PacketIo {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match ready!(self.0.poll_next_unpin(context)) {
            Some(packet) => into.put_slice(&packet),
            // A TUN device has no end, and ipstack would read it again and again.
            None => return Poll::Pending,
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for PacketIo {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, packet: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.0.poll_ready_unpin(context))?;
        self.0.start_send_unpin(packet.to_vec())?;
        Poll::Ready(Ok(packet.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

// Dropping a stream of ipstack blocks its thread, which tokio permits in a runtime of several.
#[::tokio::test(flavor = "multi_thread")]
async fn before_it_relays() {
    serve();
    let (device, packets) = channel(MTU, 256);
    ::tokio::spawn(before::relay(PacketIo(packets), MTU, route));
    relays(device).await;
}

#[::tokio::test]
async fn after_it_relays_and_refuses_what_is_refused() {
    serve();
    let relay = || {
        let (device, other) = pair(Properties { mtu: MTU, offloads: false }, 256);
        ::tokio::spawn(after::relay(other, route));
        device
    };
    relays(relay()).await;
    refuses(relay()).await;
}
