//! A device with a stream and a sink of packets at its other end.

use super::{
    Batch, Device, PairDevice, Properties,
    queue::{Giver, Taker, queue},
};
use crate::VnetHeader;
use futures_core::Stream;
use futures_sink::Sink;
use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

/// A device whose packets a program takes and gives.
#[derive(Debug)]
pub struct ChannelDevice(PairDevice);

/// The other end of a [`ChannelDevice`]: a `Stream` of the packets that the stack sends, and a `Sink` of those that it
/// is to receive. When it is dropped, the device is gone.
#[derive(Debug)]
pub struct Packets {
    receiver: PacketReceiver,
    sender: PacketSender,
}

/// The packets that a stack sends.
#[derive(Debug)]
pub struct PacketReceiver(Taker);

/// Hands packets to a stack.
#[derive(Debug)]
pub struct PacketSender(Giver);

/// A device for packets of up to `mtu` bytes, and its other end. At most `capacity` packets wait in each direction.
pub fn channel(mtu: u16, capacity: usize) -> (ChannelDevice, Packets) {
    let ((giver, receiver), (sender, taker)) = (queue(capacity), queue(capacity));
    let device = PairDevice::new(Properties { mtu, offloads: false }, giver, taker);
    (ChannelDevice(device), Packets { receiver: PacketReceiver(receiver), sender: PacketSender(sender) })
}

impl Packets {
    /// Both directions, each for itself.
    pub fn split(self) -> (PacketSender, PacketReceiver) {
        (self.sender, self.receiver)
    }

    /// As [`PacketSender::try_send`].
    ///
    /// # Errors
    /// As there.
    pub fn try_send(&self, packet: Vec<u8>) -> Result<(), Vec<u8>> {
        self.sender.try_send(packet)
    }

    /// As [`PacketReceiver::try_receive`].
    pub fn try_receive(&self) -> Option<Vec<u8>> {
        self.receiver.try_receive()
    }
}

impl PacketReceiver {
    /// Takes out a packet, if there is one.
    pub fn try_receive(&self) -> Option<Vec<u8>> {
        self.0.take().map(|(_, packet)| packet)
    }

    /// The next packet; `None` once the stack is gone.
    pub async fn receive(&mut self) -> Option<Vec<u8>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }
}

impl PacketSender {
    /// Hands a packet to the stack.
    ///
    /// # Errors
    /// The packet, if there is no room for it or the stack is gone.
    pub fn try_send(&self, packet: Vec<u8>) -> Result<(), Vec<u8>> {
        self.0.give((VnetHeader::default(), packet)).map_err(|(_, packet)| packet)
    }

    /// Hands a packet to the stack, and waits for room.
    ///
    /// # Errors
    /// When the stack is gone.
    pub async fn send(&mut self, packet: Vec<u8>) -> io::Result<()> {
        std::future::poll_fn(|context| self.0.poll_room(context)).await;
        self.try_send(packet).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl Stream for PacketReceiver {
    type Item = Vec<u8>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        // A packet that comes after the first look wakes the task.
        if let Some(packet) = self.try_receive() {
            return Poll::Ready(Some(packet));
        }
        self.0.poll_frame(context).map(|()| self.try_receive())
    }
}

impl Sink<Vec<u8>> for PacketSender {
    type Error = io::Error;

    fn poll_ready(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.poll_room(context).map(|()| match self.0.is_closed() {
            true => Err(io::ErrorKind::BrokenPipe.into()),
            false => Ok(()),
        })
    }

    fn start_send(self: Pin<&mut Self>, packet: Vec<u8>) -> io::Result<()> {
        self.try_send(packet).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl Stream for Packets {
    type Item = Vec<u8>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        Pin::new(&mut self.receiver).poll_next(context)
    }
}

impl Sink<Vec<u8>> for Packets {
    type Error = io::Error;

    fn poll_ready(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.sender).poll_ready(context)
    }

    fn start_send(mut self: Pin<&mut Self>, packet: Vec<u8>) -> io::Result<()> {
        Pin::new(&mut self.sender).start_send(packet)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.sender).poll_flush(context)
    }

    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.sender).poll_close(context)
    }
}

impl Device for ChannelDevice {
    fn properties(&mut self) -> Properties {
        self.0.properties()
    }

    fn receive(&mut self, batch: &mut Batch) -> io::Result<()> {
        self.0.receive(batch)
    }

    fn send(&mut self, header: &VnetHeader, packet: [&[u8]; 3]) -> u64 {
        self.0.send(header, packet)
    }

    fn room(&self) -> usize {
        self.0.room()
    }

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.0.poll_ready(context)
    }
}
