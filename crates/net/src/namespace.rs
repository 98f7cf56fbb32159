//! A network namespace without a name.
//!
//! It belongs to one thread: unshare(2) with CLONE_NEWNET moves the calling thread alone. Sockets and
//! processes inside are opened and started on that thread. The kernel removes the namespace with the
//! last socket, device and process in it.

use std::{
    io,
    sync::mpsc::{Sender, channel, sync_channel},
    thread,
};

use rustix::thread::{UnshareFlags, unshare_unsafe};

use crate::{NetError, netlink};

/// A network namespace with a thread in it. At first it has a loopback interface only.
#[derive(Debug)]
pub struct Namespace {
    jobs: Sender<Job>,
}

type Job = Box<dyn FnOnce() + Send>;

impl Namespace {
    /// Makes a namespace.
    ///
    /// # Errors
    /// When the caller lacks the right to.
    pub fn new() -> Result<Self, NetError> {
        let (jobs, to_do) = channel::<Job>();
        let main = move || {
            while let Ok(job) = to_do.recv() {
                job();
            }
        };
        thread::Builder::new().name("namespace".into()).spawn(main).map_err(NetError::system("start a thread"))?;
        let namespace = Self { jobs };
        namespace.run(|| {
            // SAFETY: unshare is unsafe for CLONE_FILES, which invalidates descriptors others own.
            // CLONE_NEWNET only changes the namespace in which this thread opens sockets.
            unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.map_err(NetError::system("make a network namespace"))?;
            netlink::bring_up_loopback()
        })??;
        Ok(namespace)
    }

    /// Runs `job` on the thread in the namespace and waits for its result. Threads and processes that
    /// it starts are in the namespace, too.
    ///
    /// # Errors
    /// When that thread has ended because an earlier job panicked.
    pub fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Result<T, NetError> {
        let (answer, answered) = sync_channel(1);
        let job = Box::new(move || {
            // The caller waits for it below.
            let _ = answer.send(job());
        });
        let gone = || NetError::system("use the namespace")(io::ErrorKind::BrokenPipe);
        self.jobs.send(job).map_err(|_| gone())?;
        answered.recv().map_err(|_| gone())
    }
}
