//! A thread that waits for a descriptor, or for another thread to wake it.

use crate::clock::timespec;
use rustix::{
    event::{EventfdFlags, PollFd, PollFlags, eventfd, poll},
    io::Errno,
};
use std::{
    io,
    os::fd::{AsFd, OwnedFd},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Wake, Waker},
    time::Duration,
};

/// What wakes a thread that polls: its descriptor is readable once somebody has (eventfd(2)).
#[derive(Debug)]
struct Event {
    fd: OwnedFd,
    /// Whether it is readable, or about to be. A thread that does not wait is woken by one system call at most.
    set: AtomicBool,
}

impl Wake for Event {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.set.swap(true, Ordering::AcqRel) {
            // It fails only if the counter is full, and then it is readable.
            let _ = rustix::io::write(&self.fd, &1_u64.to_ne_bytes());
        }
    }
}

/// Waits for a descriptor or a wake-up.
#[derive(Debug)]
pub(crate) struct Waiting(Arc<Event>);

impl Waiting {
    pub fn new() -> io::Result<Self> {
        let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self(Arc::new(Event { fd, set: AtomicBool::new(false) })))
    }

    /// Ends a wait: the one going on, or else the next one.
    pub fn waker(&self) -> Waker {
        Waker::from(Arc::clone(&self.0))
    }

    /// Waits until `fd` is ready for `what` or failed, until it is woken, or for `timeout`. It may return early.
    pub fn wait(&self, fd: impl AsFd, what: PollFlags, timeout: Option<Duration>) -> io::Result<()> {
        let mut watched = [PollFd::new(&fd, what), PollFd::new(&self.0.fd, PollFlags::IN)];
        match poll(&mut watched, timeout.map(timespec).as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(()),
            Err(e) => return Err(e.into()),
        }
        if !watched[1].revents().is_empty() {
            // First the descriptor: a wake-up from here on either is seen by the caller, or makes it readable again.
            let _ = rustix::io::read(&self.0.fd, &mut [0; 8]);
            self.0.set.swap(false, Ordering::AcqRel);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
