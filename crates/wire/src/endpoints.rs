//! The sender and the receiver of a segment.

use std::fmt;
use std::net::SocketAddr;

use crate::IpVersion;

/// The addresses and ports of a packet, both of the same IP version.
///
/// A packet carries neither flow label nor scope: both are 0 in what [`decode`](crate::decode)
/// returns, and ignored by [`encode`](crate::encode).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Endpoints {
    /// The sender.
    pub src: SocketAddr,
    /// The receiver.
    pub dst: SocketAddr,
}

impl Endpoints {
    /// The endpoints of a packet in the other direction.
    pub const fn reverse(self) -> Self {
        Self { src: self.dst, dst: self.src }
    }

    /// The IP version of both; `None` when they differ, which no packet can carry.
    pub const fn ip_version(&self) -> Option<IpVersion> {
        match (self.src, self.dst) {
            (SocketAddr::V4(_), SocketAddr::V4(_)) => Some(IpVersion::V4),
            (SocketAddr::V6(_), SocketAddr::V6(_)) => Some(IpVersion::V6),
            _ => None,
        }
    }
}

impl fmt::Display for Endpoints {
    /// As tcpdump prints them: `192.0.2.1:40000 > 192.0.2.2:80`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} > {}", self.src, self.dst)
    }
}
