//! A command at work inside.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};

use rustix::process::{
    Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal, set_parent_process_death_signal,
};

use crate::NetError;

/// A command that was started. Its descriptor is readable once it has ended.
#[derive(Debug)]
pub struct Running {
    child: Child,
    pidfd: OwnedFd,
}

impl Running {
    /// Starts `command` on this thread; it is killed when the thread ends.
    pub(crate) fn start(mut command: Command) -> Result<Self, NetError> {
        let with_parent =
            || set_parent_process_death_signal(Some(Signal::KILL)).map_err(io::Error::from);
        // SAFETY: between fork and exec the child makes this one system call, without allocating or
        // taking locks: `io::Error` keeps an error number.
        unsafe { command.pre_exec(with_parent) };
        let child = command.spawn().map_err(|source| NetError::Command {
            program: command.get_program().to_owned(),
            source,
        })?;
        let pidfd = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())
            .map_err(|e| NetError::system("watch the command")(e.into()))?;
        Ok(Self { child, pidfd })
    }

    /// Something to send it signals with from elsewhere.
    ///
    /// # Errors
    /// When there are no descriptors left.
    pub fn signaller(&self) -> Result<Signaller, NetError> {
        let pidfd = self.pidfd.try_clone();
        Ok(Signaller(
            pidfd.map_err(NetError::system("watch the command"))?,
        ))
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// When somebody else has waited for it.
    pub fn wait(&mut self) -> Result<ExitStatus, NetError> {
        let status = self.child.wait();
        status.map_err(NetError::system("wait for the command"))
    }
}

impl AsFd for Running {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}

/// Sends signals to a command.
#[derive(Debug)]
pub struct Signaller(OwnedFd);

impl Signaller {
    /// Sends the signal of this number. None reaches a command that has ended.
    pub fn send(&self, signal: i32) {
        if let Some(signal) = Signal::from_named_raw(signal) {
            // It has ended by itself.
            let _ = pidfd_send_signal(&self.0, signal);
        }
    }
}
