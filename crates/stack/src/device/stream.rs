//! A device over a stream and a sink of packets.

use super::{Batch, Device, Properties};
use crate::VnetHeader;
use futures_core::Stream;
use futures_sink::Sink;
use std::{
    collections::VecDeque,
    fmt, io,
    pin::Pin,
    task::{Context, Poll, Waker},
};

/// Packets at most that wait for room in the sink.
const WAITING: usize = 64;

/// A device whose packets come from a `Stream` and go to a `Sink`: a framed TUN device, a tunnel, a channel. `P` is what the
/// sink takes. The device is gone when the stream ends. An error of either is one of the device.
pub struct StreamDevice<S: Stream, P = Vec<u8>> {
    packets: S,
    mtu: u16,
    /// What the stream gave when it was asked whether it has something.
    received: Option<S::Item>,
    waiting: VecDeque<P>,
    /// Packets that the sink did not take, and that were not reported yet.
    lost: u64,
    /// An error of the sink.
    error: Option<io::Error>,
    over: bool,
}

impl<S, P, T> StreamDevice<S, P>
where
    S: Stream<Item = io::Result<T>> + Sink<P, Error = io::Error> + Unpin,
{
    /// A device for packets of up to `mtu` bytes.
    pub const fn new(packets: S, mtu: u16) -> Self {
        Self { packets, mtu, received: None, waiting: VecDeque::new(), lost: 0, error: None, over: false }
    }

    /// Asks the stream for a packet, if it was not asked before.
    fn look(&mut self, context: &mut Context<'_>) {
        if self.received.is_none() && !self.over {
            match Pin::new(&mut self.packets).poll_next(context) {
                Poll::Ready(Some(packet)) => self.received = Some(packet),
                Poll::Ready(None) => self.over = true,
                Poll::Pending => {}
            }
        }
    }

    /// Gives the sink what waits, as far as it has room.
    fn push(&mut self, context: &mut Context<'_>) {
        if let Err(error) = self.try_push(context) {
            self.lost += self.waiting.len() as u64;
            self.waiting.clear();
            self.error = Some(error);
        }
    }

    fn try_push(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        while !self.waiting.is_empty() {
            let Poll::Ready(ready) = Pin::new(&mut self.packets).poll_ready(context) else {
                break;
            };
            ready?;
            if let Some(packet) = self.waiting.pop_front() {
                // If it fails, this packet is not counted with those that wait.
                Pin::new(&mut self.packets).start_send(packet).inspect_err(|_| self.lost += 1)?;
            }
        }
        match Pin::new(&mut self.packets).poll_flush(context) {
            Poll::Ready(flushed) => flushed,
            Poll::Pending => Ok(()),
        }
    }
}

impl<S: Stream, P> fmt::Debug for StreamDevice<S, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamDevice").field("mtu", &self.mtu).field("over", &self.over).finish_non_exhaustive()
    }
}

impl<S, P, T> Device for StreamDevice<S, P>
where
    S: Stream<Item = io::Result<T>> + Sink<P, Error = io::Error> + Unpin,
    P: From<Vec<u8>>,
    T: AsRef<[u8]>,
{
    fn properties(&mut self) -> Properties {
        Properties { mtu: self.mtu, offloads: false }
    }

    fn receive(&mut self, batch: &mut Batch) -> io::Result<()> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        while !batch.is_full() {
            // This look wakes nobody; `poll_ready` leaves the task's waker.
            self.look(&mut Context::from_waker(Waker::noop()));
            match self.received.take() {
                Some(packet) => batch.push(VnetHeader::default(), packet?.as_ref()),
                None if self.over && batch.is_empty() => return Err(io::ErrorKind::BrokenPipe.into()),
                None => break,
            }
        }
        Ok(())
    }

    fn send(&mut self, _: &VnetHeader, packet: [&[u8]; 3]) -> u64 {
        if self.waiting.len() >= WAITING {
            return 1;
        }
        self.waiting.push_back(packet.concat().into());
        0
    }

    fn flush(&mut self) -> u64 {
        self.push(&mut Context::from_waker(Waker::noop()));
        std::mem::take(&mut self.lost)
    }

    fn room(&self) -> usize {
        WAITING - self.waiting.len()
    }

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let was_full = self.room() == 0;
        self.push(context);
        self.look(context);
        let has_room = was_full && self.room() > 0;
        match self.received.is_some() || self.over || self.error.is_some() || has_room {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}
