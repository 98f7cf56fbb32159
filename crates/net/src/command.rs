//! A command that runs inside, and the processes it starts.
//!
//! They have a process namespace of their own (pid_namespaces(7)), so that none outlasts this process.
//! The kernel kills the first process of the namespace when this process ends, even by SIGKILL, and all
//! others with it.
//!
//! /proc shows them no other processes, so that `pkill` inside ends none outside. For that they have a mount namespace of
//! their own, too (mount_namespaces(7)): what they mount is not mounted outside.

use std::{
    convert::Infallible,
    io,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::process::CommandExt,
    },
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{Sender, channel, sync_channel},
    thread,
};

use rustix::{
    mount::{MountFlags, MountPropagationFlags, mount, mount_change},
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal, set_parent_process_death_signal},
    thread::{UnshareFlags, unshare_unsafe},
};

use crate::NetError;

/// A command that was started. Its descriptor is readable once it has ended. When this is dropped, the
/// command and every process it started are killed.
#[derive(Debug)]
pub struct Running {
    processes: Processes,
    sees_others: bool,
    pidfd: OwnedFd,
    /// The thread that started the processes lives as long as this: they are killed when it ends.
    _thread: Sender<Infallible>,
}

impl Running {
    /// Starts `command` in the namespaces of the calling thread.
    pub(crate) fn start(command: Command) -> Result<Self, NetError> {
        let (keep, kept) = channel();
        let (report, reported) = sync_channel(1);
        let main = move || {
            // The receiver waits below.
            let _ = report.send(Processes::start(command).map(|processes| (processes, sees_own_process())));
            // Nothing is ever sent: this returns when the other end is dropped.
            let _ = kept.recv();
        };
        thread::Builder::new().name("command".into()).spawn(main).map_err(NetError::system("start a thread"))?;
        let gone = |_| NetError::system("start the command")(io::ErrorKind::BrokenPipe);
        let (processes, sees_others) = reported.recv().map_err(gone)??;
        let pid = Pid::from_child(&processes.command);
        let pidfd = pidfd_open(pid, PidfdFlags::empty()).map_err(NetError::system("watch the command"))?;
        Ok(Self { processes, sees_others, pidfd, _thread: keep })
    }

    /// Whether /proc shows the command the processes outside, because the system permits no other.
    pub const fn sees_others(&self) -> bool {
        self.sees_others
    }

    /// A handle that sends signals to it from another thread.
    ///
    /// # Errors
    /// When there are no descriptors left.
    pub fn signaller(&self) -> Result<Signaller, NetError> {
        let pidfd = self.pidfd.try_clone();
        Ok(Signaller(pidfd.map_err(NetError::system("watch the command"))?))
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// When it has been waited for already.
    pub fn wait(&mut self) -> Result<ExitStatus, NetError> {
        let status = self.processes.command.wait();
        status.map_err(NetError::system("wait for the command"))
    }
}

impl AsFd for Running {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}

/// The command, and the first process of the namespace it runs in.
#[derive(Debug)]
struct Processes {
    /// `None` where the system gives no process namespace: then the command alone is killed with this
    /// process.
    init: Option<Child>,
    command: Child,
}

impl Processes {
    /// Starts them on the calling thread, which must not start a thread afterwards.
    fn start(mut command: Command) -> Result<Self, NetError> {
        // SAFETY: unshare is unsafe for CLONE_FILES. CLONE_NEWPID only changes the namespace of this
        // thread's later children.
        let apart = unsafe { unshare_unsafe(UnshareFlags::NEWPID) }.is_ok();
        let init = if apart {
            let init = start_init(has_own_mounts());
            Some(init.map_err(NetError::system("start a process in a process namespace"))?)
        } else {
            None
        };
        // SAFETY: between fork and exec the child makes this one system call, without allocating or
        // taking locks: `io::Error` keeps an error number.
        unsafe { command.pre_exec(die_with_parent) };
        match command.spawn() {
            Ok(command) => Ok(Self { init, command }),
            Err(source) => {
                // Nothing else is in its namespace.
                if let Some(mut init) = init {
                    let _ = init.kill();
                    let _ = init.wait();
                }
                Err(NetError::Command { program: command.get_program().to_owned(), source })
            }
        }
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        // Each has ended where this fails.
        let _ = match &mut self.init {
            Some(init) => init.kill(),
            None => self.command.kill(),
        };
        // A process namespace ends when this process has waited for its own child in it.
        let _ = self.command.wait();
        if let Some(init) = &mut self.init {
            let _ = init.wait();
        }
    }
}

/// Has the calling process killed when its parent thread ends.
fn die_with_parent() -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(io::Error::from)
}

/// Gives the calling thread mounts of its own, which do not reach other namespaces. Returns whether it has them.
fn has_own_mounts() -> bool {
    // SAFETY: unshare is unsafe for CLONE_FILES. CLONE_NEWNS only changes the mounts, and the working directory, that this
    // thread and its later children see.
    let apart = unsafe { unshare_unsafe(UnshareFlags::NEWNS) };
    apart.and_then(|()| mount_change(c"/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)).is_ok()
}

/// Whether /proc, as the calling thread sees it, is that of its own process namespace.
fn sees_own_process() -> bool {
    std::fs::read_link("/proc/self").is_ok()
}

/// Starts the first process of a process namespace. The kernel kills all others when it ends. It mounts the /proc of
/// its namespace, if the calling thread has mounts of its own.
fn start_init(has_own_mounts: bool) -> io::Result<Child> {
    // No program is run: the child stays in `be_init`.
    let mut init = Command::new("init");
    init.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: `be_init` makes system calls only, without allocating or taking locks.
    unsafe { init.pre_exec(move || be_init(has_own_mounts)) };
    init.spawn()
}

/// Waits, in a child just forked, until it is killed with its parent.
fn be_init(has_own_mounts: bool) -> io::Result<()> {
    die_with_parent()?;
    if has_own_mounts {
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        // Where the system refuses, /proc stays as it was, and the parent sees that.
        let _ = mount(c"proc", c"/proc", c"proc", flags, None);
    }
    // SAFETY: each call is async-signal-safe, and its arguments live until it returns. The child uses no
    // descriptor afterwards. Closing them also tells the parent, which waits for exec, to go on.
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut());
        // Processes left to this one by their parents need not be waited for.
        libc::signal(libc::SIGCHLD, libc::SIG_IGN);
        // Kernels before 5.9 do not have it.
        if libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) != 0 {
            (3..1 << 16).for_each(|fd| {
                libc::close(fd);
            });
        }
        loop {
            libc::pause();
        }
    }
}

/// Sends signals to a command.
#[derive(Debug)]
pub struct Signaller(OwnedFd);

impl Signaller {
    /// Sends the signal of this number. None reaches a command that has ended.
    pub fn send(&self, signal: i32) {
        if let Some(signal) = Signal::from_named_raw(signal) {
            // An error says that the command has ended.
            let _ = pidfd_send_signal(&self.0, signal);
        }
    }
}
