//! A network namespace of its own.
//!
//! It belongs to a thread, which unshares it (unshare(2) with CLONE_NEWNET moves the calling thread
//! alone): what opens sockets and starts processes in it does so on that thread. No other thread
//! notices, and it has no name: it is gone when the last socket, device and process in it is.

use std::io;
use std::sync::mpsc::{Sender, channel, sync_channel};
use std::thread;

use rustix::thread::{UnshareFlags, unshare_unsafe};

use crate::{NetError, netlink};

/// A network namespace with nothing but a loopback interface, and a thread in it.
#[derive(Debug)]
pub struct Namespace {
    jobs: Sender<Job>,
}

type Job = Box<dyn FnOnce() + Send>;

impl Namespace {
    /// Makes one.
    ///
    /// # Errors
    /// When the caller may not.
    pub fn new() -> Result<Self, NetError> {
        let (jobs, to_do) = channel::<Job>();
        let main = move || {
            while let Ok(job) = to_do.recv() {
                job();
            }
        };
        thread::Builder::new()
            .name("namespace".into())
            .spawn(main)
            .map_err(NetError::system("start a thread"))?;
        let namespace = Self { jobs };
        namespace.run(|| {
            // SAFETY: unshare is unsafe for CLONE_FILES, which takes descriptors from under their
            // owners; CLONE_NEWNET changes where this thread opens sockets, and no more.
            unsafe { unshare_unsafe(UnshareFlags::NEWNET) }
                .map_err(|e| NetError::system("make a network namespace")(e.into()))?;
            netlink::bring_up_loopback()
        })??;
        Ok(namespace)
    }

    /// Does something on the thread in the namespace and waits for it. Threads and processes it
    /// starts are in the namespace, too.
    ///
    /// # Errors
    /// When that thread is gone: something it did before panicked.
    pub fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, NetError> {
        let (answer, answered) = sync_channel(1);
        let job = Box::new(move || {
            // Who asked waits below.
            let _ = answer.send(job());
        });
        let gone = || NetError::system("use the namespace")(io::ErrorKind::BrokenPipe.into());
        self.jobs.send(job).map_err(|_| gone())?;
        answered.recv().map_err(|_| gone())
    }
}
