//! Why a host does not do what it is asked.

use std::{
    io,
    net::{IpAddr, SocketAddr},
};

use recoup_tcp::{Closed, WriteError};
use recoup_wire::{EncodeError, IpVersion, Unreachable};
use thiserror::Error;

/// Why a host does not do what it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum HostError {
    /// The address is none of this host's.
    #[error("address {0}: expected one of this host's own")]
    NotOurs(IpAddr),
    /// Nothing of this host's can reach the address.
    #[error("address {0}: expected a unicast address, not of a loopback, and port of an IP version this host has")]
    Unreachable(SocketAddr),
    /// Another listener or connection is there.
    #[error("address {0}: another socket has it")]
    InUse(SocketAddr),
    /// Another listener takes every address.
    #[error("every address: another listener takes them already")]
    AnyInUse,
    /// All ports to that peer, or all connections, are in use.
    #[error("no connection to {0}: as many as there may be are in use")]
    Exhausted(SocketAddr),
    /// No connection or socket has this id, or it was released.
    #[error("no such connection or socket")]
    Unknown,
    /// It is not open yet, or this side has closed it.
    #[error("the connection takes no data: it is not open for writing")]
    NotWritable,
    /// It is over.
    #[error("the connection is over: {}", describe(*.0))]
    Ended(Closed),
    /// It did not open.
    #[error("no connection to {to}: {}", describe(*.how))]
    Unopened {
        /// How it ended.
        how: Closed,
        /// The peer.
        to: SocketAddr,
    },
    /// Nobody said where the datagram goes, or where it comes from.
    #[error("datagram without destination or source: a connected socket, or addresses expected")]
    NotConnected,
    /// Only a socket that takes any destination has flows.
    #[error("no flows of datagrams: the socket is bound or connected, and only one that takes any has them")]
    NotAny,
    /// It does not fit in a packet.
    #[error("packet of {len} bytes: {most} at most")]
    TooLong {
        /// The packet's length in bytes.
        len: usize,
        /// The longest packet's.
        most: usize,
    },
    /// As much as may waits to be sent.
    #[error("no room: packets wait to be sent")]
    Full,
    /// ICMP says that what was sent did not arrive.
    #[error("{peer}: {}", describe_unreachable(*.why))]
    Rejected {
        /// Where it was sent.
        peer: SocketAddr,
        /// The reason.
        why: Unreachable,
    },
}

impl From<HostError> for io::Error {
    fn from(error: HostError) -> Self {
        use io::ErrorKind;
        let kind = match error {
            HostError::NotOurs(_) => ErrorKind::AddrNotAvailable,
            HostError::InUse(_) | HostError::AnyInUse => ErrorKind::AddrInUse,
            HostError::Unreachable(_) => ErrorKind::NetworkUnreachable,
            HostError::Exhausted(_) => ErrorKind::QuotaExceeded,
            HostError::Unknown => ErrorKind::NotConnected,
            HostError::NotWritable => ErrorKind::BrokenPipe,
            HostError::NotConnected | HostError::NotAny | HostError::TooLong { .. } => ErrorKind::InvalidInput,
            HostError::Full => ErrorKind::WouldBlock,
            HostError::Rejected { why, .. } => kind_of(why),
            HostError::Ended(Closed::Gracefully) => ErrorKind::BrokenPipe,
            HostError::Unopened { how: Closed::ByReset, .. } => ErrorKind::ConnectionRefused,
            HostError::Ended(Closed::ByReset) => ErrorKind::ConnectionReset,
            HostError::Ended(how) | HostError::Unopened { how, .. } => match how {
                Closed::ByTimeout => ErrorKind::TimedOut,
                Closed::Unreachable(why) => kind_of(why),
                Closed::Gracefully | Closed::ByReset | Closed::ByAbort => ErrorKind::ConnectionAborted,
            },
        };
        Self::new(kind, error)
    }
}

impl From<EncodeError> for HostError {
    fn from(error: EncodeError) -> Self {
        match error {
            EncodeError::TooLong { len, version } => {
                let most = if version == IpVersion::V4 { 0xffff } else { 0xffff + version.header_len() as usize };
                Self::TooLong { len: len as usize, most }
            }
            // The ends' versions differ, or nothing that a datagram has.
            EncodeError::MixedFamilies(_) | EncodeError::PayloadLength { .. } => Self::NotConnected,
        }
    }
}

impl From<WriteError> for HostError {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Shut => Self::NotWritable,
            WriteError::Ended(how) => Self::Ended(how),
        }
    }
}

/// How a connection ended, in words.
pub const fn describe(how: Closed) -> &'static str {
    match how {
        Closed::Gracefully => "both sides closed it",
        Closed::ByReset => "the peer reset or refused it",
        Closed::ByTimeout => "the peer does not answer",
        Closed::ByAbort => "this side aborted it",
        Closed::Unreachable(why) => describe_unreachable(why),
    }
}

/// Why a peer cannot be reached, in words.
const fn describe_unreachable(why: Unreachable) -> &'static str {
    match why {
        Unreachable::Net => "no path leads to the peer's network",
        Unreachable::Host => "the peer's host cannot be reached",
        Unreachable::Protocol => "the peer's host does not have the protocol",
        Unreachable::Port => "nobody listens at the peer's port",
        Unreachable::Prohibited => "a firewall or a policy forbids it",
    }
}

const fn kind_of(why: Unreachable) -> io::ErrorKind {
    match why {
        Unreachable::Port | Unreachable::Protocol => io::ErrorKind::ConnectionRefused,
        Unreachable::Net => io::ErrorKind::NetworkUnreachable,
        Unreachable::Host | Unreachable::Prohibited => io::ErrorKind::HostUnreachable,
    }
}
