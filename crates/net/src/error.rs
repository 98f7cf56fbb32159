//! Errors of the emulator, the testbed and the devices.

use std::{ffi::OsString, io};

use recoup_path::ChainError;
use thiserror::Error;

use crate::host::HostError;

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
}
