//! What can go wrong with real packets.

use std::ffi::OsString;
use std::io;

use recoup_path::ChainError;
use thiserror::Error;

use crate::host::HostError;

/// Why the emulator cannot work.
#[derive(Debug, Error)]
pub enum NetError {
    /// The system refuses something it was asked for.
    #[error("cannot {what}: {source}")]
    System {
        /// What was asked for.
        what: String,
        /// What the system says.
        source: io::Error,
    },
    /// Neither root nor user namespaces.
    #[error(
        "cannot make a network namespace: expected to be root (CAP_NET_ADMIN and CAP_SYS_ADMIN), or a system that gives users namespaces of their own; it says: {source}"
    )]
    Privilege {
        /// What the system says of a user namespace.
        source: io::Error,
    },
    /// There is no block of addresses left at the top.
    #[error("no addresses: every /16 of 100.64.0.0/10 is routed already, expected one that is not")]
    NoBlock,
    /// There is no block of addresses left in the block this namespace has.
    #[error(
        "no addresses: expected at most {} emulators side by side within another, and six within each other",
        crate::address::SIBLINGS
    )]
    NestedTooDeep,
    /// A relay between devices of which one has offloads, without all that takes.
    #[error(
        "offloads: expected devices at both ends that have them, and a path of delay alone: other hops must see single packets"
    )]
    Offloads,
    /// The namespace does not forward packets.
    #[error(
        "cannot reach a host of Recoup's through its namespace: expected a system that lets net.ipv4.ip_forward be set there (/proc/sys may be mounted read-only)"
    )]
    Forwarding,
    /// A host of ours does not do what it is asked.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The hops cannot be built.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// The command cannot be started.
    #[error("cannot run `{}`: {source}", .program.display())]
    Command {
        /// Its name.
        program: OsString,
        /// What the system says.
        source: io::Error,
    },
}

impl NetError {
    /// The error of not being able to do `what`.
    pub(crate) fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::System { what, source }
    }
}
