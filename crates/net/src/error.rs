//! Errors of the emulator, the testbed and the devices.

use std::{ffi::OsString, io};

use recoup_path::ChainError;
use thiserror::Error;

use recoup_stack::host::HostError;

/// Why the emulator, the testbed or a device fails.
#[derive(Debug, Error)]
pub enum NetError {
    /// A system call failed.
    #[error("cannot {what}: {source}")]
    System {
        /// Purpose of the call.
        what: String,
        /// The system's error.
        source: io::Error,
    },
    /// The process is not root, and the system gives it no user namespace.
    #[error(
        "cannot make a network namespace: expected to be root (CAP_NET_ADMIN and CAP_SYS_ADMIN), or a system that gives users namespaces of their own; it says: {source}"
    )]
    Privilege {
        /// The error of making a user namespace.
        source: io::Error,
    },
    /// Every top-level block of addresses is in use.
    #[error("no addresses: every /16 of 100.64.0.0/10 is routed already, expected one that is not")]
    NoBlock,
    /// Every block within this namespace's own is in use.
    #[error(
        "no addresses: expected at most {} emulators side by side within another, and six within each other",
        crate::address::SIBLINGS
    )]
    NestedTooDeep,
    /// A device has offloads, but the other device or the path does not allow them.
    #[error(
        "offloads: expected devices at both ends that have them, and a path of delay alone: other hops must see single packets"
    )]
    Offloads,
    /// The namespace does not forward packets.
    #[error(
        "cannot reach a host of Recoup's through its namespace: expected a system that lets net.ipv4.ip_forward be set there (/proc/sys may be mounted read-only)"
    )]
    Forwarding,
    /// No interface has this name.
    #[error("no interface {name}: expected {expected}")]
    UnknownInterface {
        /// The name.
        name: String,
        /// The names that exist, and a similar one.
        expected: String,
    },
    /// The options of a device do not fit it, or each other. In one line: what, and what was expected.
    #[error("{0}")]
    Unsuitable(String),
    /// The process may not capture.
    #[error(
        "cannot {what}: expected the capability CAP_NET_RAW (and CAP_SYS_ADMIN for other network namespaces): run it as root, or grant it once by `sudo setcap cap_net_raw+ep {program}`"
    )]
    CaptureRights {
        /// What was to be done.
        what: String,
        /// The path of this program, as a shell reads it.
        program: String,
    },
    /// The process may not enter a network namespace.
    #[error(
        "cannot enter the network namespace {namespace}: expected the capability {needed}: run it as root, or grant it once by `sudo setcap {granted}+ep {program}`"
    )]
    NamespaceRights {
        /// The namespace, as it was asked for.
        namespace: String,
        /// The capabilities that it takes.
        needed: &'static str,
        /// The same with that to capture, for setcap(8).
        granted: &'static str,
        /// The path of this program, as a shell reads it.
        program: String,
    },
    /// There is no such network namespace.
    #[error("no network namespace {name}: {why}, expected {expected}")]
    UnknownNamespace {
        /// The namespace, as it was asked for.
        name: String,
        /// What is not there.
        why: String,
        /// What was expected.
        expected: String,
    },
    /// A Recoup host refused a request.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The hops cannot be built.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// The command cannot be started.
    #[error("cannot run `{}`: {source}", .program.display())]
    Command {
        /// The program's name.
        program: OsString,
        /// The system's error.
        source: io::Error,
    },
}

impl NetError {
    /// The error of a system call that was to do `what`.
    pub(crate) fn system<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> Self {
        let what = what.into();
        move |source| Self::System { what, source: source.into() }
    }

    /// The error of capturing without the right to; it was to do `what`.
    pub(crate) fn capture_rights(what: &str) -> Self {
        Self::CaptureRights { what: what.into(), program: this_program() }
    }
}

/// For programs whose errors are those of input and output.
impl From<NetError> for io::Error {
    fn from(error: NetError) -> Self {
        use io::ErrorKind;
        let kind = match &error {
            NetError::System { source, .. } | NetError::Command { source, .. } => source.kind(),
            NetError::Privilege { .. } | NetError::CaptureRights { .. } | NetError::NamespaceRights { .. } => {
                ErrorKind::PermissionDenied
            }
            NetError::NoBlock | NetError::NestedTooDeep => ErrorKind::AddrNotAvailable,
            NetError::UnknownInterface { .. } | NetError::UnknownNamespace { .. } => ErrorKind::NotFound,
            NetError::Forwarding => ErrorKind::Unsupported,
            NetError::Offloads | NetError::Unsuitable(_) | NetError::Chain(_) => ErrorKind::InvalidInput,
            NetError::Host(error) => Self::from(*error).kind(),
        };
        Self::new(kind, error)
    }
}

/// The path of this program, as a shell reads it.
pub(crate) fn this_program() -> String {
    let path = std::env::current_exe().unwrap_or_else(|_| "recoup".into());
    let path = path.to_string_lossy();
    let is_plain = path.chars().all(|c| c.is_alphanumeric() || "/._-+".contains(c));
    if is_plain { path.into_owned() } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_input_and_output_has_the_kind_and_the_text() {
        let denied = NetError::system("make a TUN device")(io::Error::from(io::ErrorKind::PermissionDenied));
        let text = denied.to_string();
        let error = io::Error::from(denied);
        assert_eq!((error.kind(), error.to_string()), (io::ErrorKind::PermissionDenied, text));
    }
}
