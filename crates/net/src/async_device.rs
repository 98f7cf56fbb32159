//! A device with a descriptor, for tasks of tokio.

use recoup_stack::{
    VnetHeader,
    device::{Batch, Device, Frame, Properties},
};
use std::{
    io,
    os::fd::{AsFd, OwnedFd},
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};
use tokio::io::{Interest, unix::AsyncFd};

/// How long a descriptor is taken at its word that it has nothing. That a device is gone need not make it readable.
const PERIOD: Duration = Duration::from_secs(1);

/// A device that wakes tasks of tokio: a [`TunDevice`](crate::TunDevice), a [`PacketDevice`](crate::PacketDevice), or
/// another whose descriptor is readable when there are packets, and writable when there is room again. Its runtime needs
/// I/O enabled.
#[derive(Debug)]
pub struct AsyncDevice<D> {
    device: D,
    /// A duplicate of its descriptor.
    readiness: AsyncFd<OwnedFd>,
    /// When the device was last asked for packets.
    asked_at: Instant,
    /// The last `receive` got packets, so that there may be more.
    more: bool,
    /// The last look at the device failed.
    failed: bool,
    /// Lost packets that were not reported yet.
    lost: u64,
}

impl<D: Device + AsFd> AsyncDevice<D> {
    /// Registers a device at the runtime of the calling task.
    ///
    /// # Errors
    /// When the system refuses.
    ///
    /// # Panics
    /// Outside a runtime of tokio with I/O enabled.
    pub fn new(device: D) -> io::Result<Self> {
        let descriptor = device.as_fd().try_clone_to_owned()?;
        // SAFETY: the descriptor is owned, so that it stays the same and open until it is dropped.
        let readiness =
            unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE | Interest::WRITABLE) }?;
        Ok(Self { device, readiness, asked_at: Instant::now(), more: false, failed: false, lost: 0 })
    }

    /// The device.
    pub const fn get_ref(&self) -> &D {
        &self.device
    }

    /// The device.
    pub const fn get_mut(&mut self) -> &mut D {
        &mut self.device
    }
}

impl<D: Device + AsFd> Device for AsyncDevice<D> {
    fn properties(&mut self) -> Properties {
        self.device.properties()
    }

    fn receive(&mut self, batch: &mut Batch) -> io::Result<()> {
        let (before, now) = (batch.len(), Instant::now());
        self.more = false;
        // This look wakes nobody; `poll_ready` leaves the task's waker. An error says that the runtime ends.
        let ready = self.readiness.poll_read_ready(&mut Context::from_waker(Waker::noop()));
        let mut guard = match ready {
            Poll::Ready(guard) => Some(guard?),
            Poll::Pending if self.failed || now.duration_since(self.asked_at) >= PERIOD => None,
            Poll::Pending => return Ok(()),
        };
        self.asked_at = now;
        let received = self.device.receive(batch);
        self.more = batch.len() > before;
        self.failed = received.is_err();
        if let Some(guard) = &mut guard
            && !self.more
        {
            guard.clear_ready();
        }
        received
    }

    fn send(&mut self, header: &VnetHeader, packet: [&[u8]; 3]) -> u64 {
        self.device.send(header, packet)
    }

    fn send_all(&mut self, frames: &[Frame<'_>]) -> u64 {
        self.device.send_all(frames)
    }

    fn flush(&mut self) -> u64 {
        std::mem::take(&mut self.lost) + self.device.flush()
    }

    fn room(&self) -> usize {
        self.device.room()
    }

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.more {
            return Poll::Ready(());
        }
        while self.device.room() == 0 {
            match self.readiness.poll_write_ready(context) {
                Poll::Ready(Ok(mut guard)) => {
                    self.lost += self.device.flush();
                    if self.device.room() > 0 {
                        return Poll::Ready(());
                    }
                    guard.clear_ready();
                }
                Poll::Ready(Err(_)) => return Poll::Ready(()),
                Poll::Pending => break,
            }
        }
        // An error says that the runtime ends; `receive` returns it.
        self.readiness.poll_read_ready(context).map(drop)
    }
}

#[cfg(test)]
mod tests;
