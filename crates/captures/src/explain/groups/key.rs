//! What connections are grouped by.

use recoup_support::suggest::did_you_mean;
use recoup_trace::finding::{Connection, Opening};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

/// What connections are grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupBy {
    /// The address of the end that accepted the connection.
    Server,
    /// The address of the end that opened it.
    Client,
    /// The client's network, by the lengths of the prefixes of IPv4 and IPv6.
    Prefix(u8, u8),
    /// The server's port.
    Port,
    /// The server's address and the client's network, by the lengths of its prefixes.
    Path(u8, u8),
    /// The capture.
    Capture,
}

/// The usual lengths of prefixes: what most sites of the internet announce or get.
const PREFIXES: (u8, u8) = (24, 48);

impl GroupBy {
    /// By path, with the usual prefixes.
    pub const PATH: Self = Self::Path(PREFIXES.0, PREFIXES.1);

    /// The names that [`from_str`](Self::from_str) reads.
    pub const NAMES: [&'static str; 6] = ["server", "client", "prefix", "port", "path", "capture"];

    /// The group of a connection; `None` if its capture decides.
    pub(super) fn key(self, connection: &Connection) -> Option<GroupKey> {
        let (client, server) = ends(connection);
        Some(match self {
            Self::Server => GroupKey::Host(server.ip()),
            Self::Client => GroupKey::Host(client.ip()),
            Self::Prefix(v4, v6) => GroupKey::Network(Network::of(client.ip(), v4, v6)),
            Self::Port => GroupKey::Port(server.port()),
            Self::Path(v4, v6) => GroupKey::Path(server.ip(), Network::of(client.ip(), v4, v6)),
            Self::Capture => return None,
        })
    }

    /// What a group is, in sentences: `server`.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
            Self::Prefix(..) => "client's network",
            Self::Port => "server's port",
            Self::Path(..) => "path",
            Self::Capture => "capture",
        }
    }
}

/// The client and the server. Where the capture lacks the handshake, the end with a port for services is the server: one
/// below 1024, or else one below the ports that systems give to clients (32768 and above).
fn ends(connection: &Connection) -> (SocketAddr, SocketAddr) {
    let ends = &connection.endpoints;
    let serves = |end: SocketAddr, other: SocketAddr| {
        [1024, 32_768].iter().any(|least| end.port() < *least && other.port() >= *least)
    };
    let turned = connection.opening == Opening::MidConnection && serves(ends.src, ends.dst);
    if turned { (ends.dst, ends.src) } else { (ends.src, ends.dst) }
}

impl fmt::Display for GroupBy {
    /// As [`from_str`](Self::from_str) reads it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, lengths) = match *self {
            Self::Server => ("server", None),
            Self::Client => ("client", None),
            Self::Prefix(v4, v6) => ("prefix", Some((v4, v6))),
            Self::Port => ("port", None),
            Self::Path(v4, v6) => ("path", Some((v4, v6)).filter(|lengths| *lengths != PREFIXES)),
            Self::Capture => ("capture", None),
        };
        match lengths {
            None => f.write_str(name),
            Some((v4, v6)) if v6 == PREFIXES.1 => write!(f, "{name}:{v4}"),
            Some((v4, v6)) => write!(f, "{name}:{v4},{v6}"),
        }
    }
}

impl FromStr for GroupBy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, lengths) = match text.split_once(':') {
            Some((name, lengths)) => (name, Some(lengths)),
            None => (text, None),
        };
        let prefixes = |lengths: Option<&str>| lengths.map_or(Ok(PREFIXES), self::prefixes);
        let by = match name {
            "prefix" => return prefixes(lengths).map(|(v4, v6)| Self::Prefix(v4, v6)),
            "path" => return prefixes(lengths).map(|(v4, v6)| Self::Path(v4, v6)),
            "server" => Self::Server,
            "client" => Self::Client,
            "port" => Self::Port,
            "capture" => Self::Capture,
            _ => {
                let hint = did_you_mean(name, Self::NAMES);
                return Err(format!("expected server, client, prefix:24, port, path or capture{hint}"));
            }
        };
        match lengths {
            None => Ok(by),
            Some(_) => Err(format!("expected `{name}` alone: only prefix and path take the length of a prefix")),
        }
    }
}

/// Reads `24` or `24,48`.
fn prefixes(text: &str) -> Result<(u8, u8), String> {
    let (v4, v6) = match text.split_once(',') {
        Some((v4, v6)) => (v4, Some(v6)),
        None => (text, None),
    };
    let length = |text: &str, most: u8| text.parse().ok().filter(|length| *length <= most);
    let v6 = v6.map_or(Some(PREFIXES.1), |v6| length(v6, 128));
    length(v4, 32).zip(v6).ok_or_else(|| {
        "expected the length of IPv4 prefixes from 0 to 32, and perhaps that of IPv6 ones from 0 to 128, such as prefix:24 or prefix:24,56".into()
    })
}

/// A network: its address and the length of its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Network(IpAddr, u8);

impl Network {
    /// The network of this address, by the lengths of the prefixes of IPv4 and IPv6.
    fn of(address: IpAddr, v4: u8, v6: u8) -> Self {
        match address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(v4)).unwrap_or(0);
                Self(Ipv4Addr::from_bits(address.to_bits() & mask).into(), v4)
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(v6)).unwrap_or(0);
                Self(Ipv6Addr::from_bits(address.to_bits() & mask).into(), v6)
            }
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.0, self.1)
    }
}

/// What the connections of a group have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupKey {
    /// A server or a client.
    Host(IpAddr),
    /// The client's network.
    Network(Network),
    /// The server's port.
    Port(u16),
    /// A server and a client's network.
    Path(IpAddr, Network),
    /// The name of a capture.
    Capture(String),
    /// Nothing: these groups were too many to keep.
    Others,
}

impl fmt::Display for GroupKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(host) => host.fmt(f),
            Self::Network(network) => network.fmt(f),
            Self::Port(port) => port.fmt(f),
            Self::Path(server, client) => write!(f, "{server} to {client}"),
            Self::Capture(name) => f.write_str(name),
            Self::Others => f.write_str("others"),
        }
    }
}

impl GroupKey {
    /// The expression of `--filter` that keeps these connections, if there is one.
    pub fn filter(&self) -> Option<String> {
        match self {
            Self::Host(host) => Some(format!("host {host}")),
            Self::Network(network) => Some(format!("net {network}")),
            Self::Port(port) => Some(format!("port {port}")),
            Self::Path(server, client) => Some(format!("host {server} and net {client}")),
            Self::Capture(_) | Self::Others => None,
        }
    }
}
