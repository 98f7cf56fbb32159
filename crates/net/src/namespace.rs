//! Network namespaces: a new one without a name, or one that exists.
//!
//! A namespace is a property of a thread: unshare(2) with CLONE_NEWNET and setns(2) move the calling thread alone.
//! Sockets and processes inside are opened and started on that thread. The kernel removes a namespace with the last
//! socket, device and process in it, unless it has a name.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    str::FromStr,
    sync::mpsc::{Sender, channel, sync_channel},
    thread,
};

use recoup_support::suggest::did_you_mean;
use rustix::{
    fs::{Mode, OFlags, open},
    io::Errno,
    thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe},
};
use std::os::fd::AsFd;

use crate::{NetError, error::this_program, interface::one_of, netlink};

/// Where ip-netns(8) keeps named namespaces.
const NAMED: &str = "/run/netns";

/// A network namespace with a thread in it.
#[derive(Debug)]
pub struct Namespace {
    jobs: Sender<Job>,
}

type Job = Box<dyn FnOnce() + Send>;

/// Which network namespace is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamespaceTarget {
    /// That of the process with this number.
    Process(u32),
    /// That of this name (ip-netns(8)).
    Name(String),
    /// That of this file.
    File(PathBuf),
}

impl FromStr for NamespaceTarget {
    type Err = std::convert::Infallible;

    /// Reads digits as the number of a process, a text with `/` as a file, and others as a name.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text.parse() {
            Ok(process) if text.bytes().all(|byte| byte.is_ascii_digit()) => Self::Process(process),
            _ if text.contains('/') => Self::File(text.into()),
            _ => Self::Name(text.into()),
        })
    }
}

impl fmt::Display for NamespaceTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process(process) => write!(f, "of process {process}"),
            Self::Name(name) => f.write_str(name),
            Self::File(file) => write!(f, "{}", file.display()),
        }
    }
}

impl NamespaceTarget {
    fn file(&self) -> PathBuf {
        match self {
            Self::Process(process) => format!("/proc/{process}/ns/net").into(),
            Self::Name(name) => Path::new(NAMED).join(name),
            Self::File(file) => file.clone(),
        }
    }

    /// Moves the calling thread into it.
    fn enter(&self) -> Result<(), NetError> {
        let file = open(self.file(), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map_err(|e| self.error(e))?;
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).map_err(|e| self.error(e))
    }

    fn error(&self, error: Errno) -> NetError {
        let unknown = |why: &str, expected: String| NetError::UnknownNamespace {
            name: self.to_string(),
            why: why.into(),
            expected,
        };
        match error {
            Errno::NOENT | Errno::NOTDIR | Errno::SRCH => match self {
                Self::Process(_) => unknown("it does not run", "the number of a process that runs".into()),
                Self::Name(name) => {
                    let entries = fs::read_dir(NAMED).into_iter().flatten().flatten();
                    let mut names: Vec<_> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
                    names.sort();
                    let names: Vec<_> = names.iter().map(String::as_str).collect();
                    let near = did_you_mean(name, names.iter().copied());
                    let list = if names.is_empty() { String::new() } else { format!("{}, ", one_of(&names)) };
                    unknown("it has no name", format!("{list}a file or the number of a process{near}"))
                }
                Self::File(_) => {
                    unknown("there is no such file", "a file like /run/netns/NAME or /proc/PID/ns/net".into())
                }
            },
            // Not a namespace, or another kind of namespace.
            Errno::INVAL => {
                unknown("the file is no network namespace", "a file like /run/netns/NAME or /proc/PID/ns/net".into())
            }
            // The files of other users' processes (namespaces(7)).
            Errno::ACCESS => self.lacks(
                "CAP_SYS_PTRACE (its process is another user's) and CAP_SYS_ADMIN",
                "cap_net_raw,cap_sys_admin,cap_sys_ptrace",
            ),
            Errno::PERM => self.lacks("CAP_SYS_ADMIN", "cap_net_raw,cap_sys_admin"),
            e => NetError::system(format!("enter the network namespace {self}"))(e),
        }
    }

    fn lacks(&self, needed: &'static str, granted: &'static str) -> NetError {
        NetError::NamespaceRights { namespace: self.to_string(), needed, granted, program: this_program() }
    }
}

impl Namespace {
    /// Makes a namespace. At first it has a loopback interface only.
    ///
    /// # Errors
    /// When the caller lacks the right to.
    pub fn new() -> Result<Self, NetError> {
        Self::with(|| {
            // SAFETY: unshare is unsafe for CLONE_FILES, which invalidates descriptors others own.
            // CLONE_NEWNET only changes the namespace in which this thread opens sockets.
            unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.map_err(NetError::system("make a network namespace"))?;
            netlink::bring_up_loopback()
        })
    }

    /// Enters a namespace that exists.
    ///
    /// # Errors
    /// When there is none, or the caller lacks the right to.
    pub fn join(target: &NamespaceTarget) -> Result<Self, NetError> {
        let target = target.clone();
        Self::with(move || target.enter())
    }

    /// Starts a thread that enters a namespace by `enter`.
    fn with(enter: impl FnOnce() -> Result<(), NetError> + Send + 'static) -> Result<Self, NetError> {
        let (jobs, to_do) = channel::<Job>();
        let main = move || {
            while let Ok(job) = to_do.recv() {
                job();
            }
        };
        thread::Builder::new().name("namespace".into()).spawn(main).map_err(NetError::system("start a thread"))?;
        let namespace = Self { jobs };
        namespace.run(enter)??;
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
