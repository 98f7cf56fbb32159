//! A thread that waits for a device.

use super::{Batch, Device, Frame, Properties};
use crate::VnetHeader;
use std::{
    io,
    ops::{Deref, DerefMut},
    sync::{Arc, Condvar, Mutex, PoisonError},
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

/// A device for which a thread can wait.
pub trait Wait: Device {
    /// Waits until there may be packets to receive, until somebody wakes the [`waker`](Self::waker), or for `timeout`;
    /// `None` is without end. It may return early.
    ///
    /// # Errors
    /// When the thread cannot wait.
    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()>;

    /// Ends a wait from another thread: the one going on, or else the next one.
    fn waker(&self) -> Waker;
}

impl<D: Wait + ?Sized> Wait for Box<D> {
    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        (**self).wait(timeout)
    }

    fn waker(&self) -> Waker {
        (**self).waker()
    }
}

impl<D: Wait + ?Sized> Wait for &mut D {
    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        (**self).wait(timeout)
    }

    fn waker(&self) -> Waker {
        (**self).waker()
    }
}

/// Whether a thread is to wake.
#[derive(Debug, Default)]
struct Signal {
    woken: Mutex<bool>,
    changed: Condvar,
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        *self.woken.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_one();
    }
}

impl Signal {
    /// Waits for a wake-up, and takes it.
    fn wait(&self, timeout: Option<Duration>) {
        let woken = self.woken.lock().unwrap_or_else(PoisonError::into_inner);
        let asleep = |woken: &mut bool| !*woken;
        let mut woken = match timeout {
            None => self.changed.wait_while(woken, asleep).unwrap_or_else(PoisonError::into_inner),
            Some(timeout) => {
                let waited = self.changed.wait_timeout_while(woken, timeout, asleep);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        *woken = false;
    }
}

/// A device that wakes tasks, for a thread that waits.
#[derive(Debug)]
pub struct Parking<D> {
    device: D,
    signal: Arc<Signal>,
}

impl<D: Device> Parking<D> {
    /// Makes threads wait for `device`.
    pub fn new(device: D) -> Self {
        Self { device, signal: Arc::default() }
    }
}

impl<D> Deref for Parking<D> {
    type Target = D;

    fn deref(&self) -> &D {
        &self.device
    }
}

impl<D> DerefMut for Parking<D> {
    fn deref_mut(&mut self) -> &mut D {
        &mut self.device
    }
}

impl<D: Device> Device for Parking<D> {
    fn properties(&mut self) -> Properties {
        self.device.properties()
    }

    fn receive(&mut self, batch: &mut Batch) -> io::Result<()> {
        self.device.receive(batch)
    }

    fn send(&mut self, header: &VnetHeader, packet: [&[u8]; 3]) -> u64 {
        self.device.send(header, packet)
    }

    fn send_all(&mut self, frames: &[Frame<'_>]) -> u64 {
        self.device.send_all(frames)
    }

    fn flush(&mut self) -> u64 {
        self.device.flush()
    }

    fn room(&self) -> usize {
        self.device.room()
    }

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.device.poll_ready(context)
    }
}

impl<D: Device> Wait for Parking<D> {
    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        let waker = self.waker();
        if self.device.poll_ready(&mut Context::from_waker(&waker)).is_pending() {
            self.signal.wait(timeout);
        }
        Ok(())
    }

    fn waker(&self) -> Waker {
        Waker::from(Arc::clone(&self.signal))
    }
}
