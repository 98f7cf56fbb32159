//! The header that tells a server who its client is: the PROXY protocol, version 1 (text) or 2 (binary).
//!
//! Source: "The PROXY protocol, versions 1 & 2", haproxy.org, 2020-03-05, §2.1, §2.2.

use clap::ValueEnum;
use ppp::{v1, v2};
use serde::Deserialize;
use std::io;
use std::net::{IpAddr, SocketAddr};

/// A version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Version {
    /// A line of text
    V1,
    /// Binary
    V2,
}

/// The header of a connection from `client` to `at`.
pub fn header(version: Version, client: SocketAddr, at: SocketAddr) -> io::Result<Vec<u8>> {
    match version {
        Version::V1 => {
            let (ours, theirs) = (client.port(), at.port());
            let addresses = match (client.ip(), at.ip()) {
                (IpAddr::V4(client), IpAddr::V4(at)) => v1::Addresses::new_tcp4(client, at, ours, theirs),
                (IpAddr::V6(client), IpAddr::V6(at)) => v1::Addresses::new_tcp6(client, at, ours, theirs),
                _ => v1::Addresses::Unknown,
            };
            Ok(addresses.to_string().into_bytes())
        }
        Version::V2 => {
            let command = v2::Version::Two | v2::Command::Proxy;
            v2::Builder::with_addresses(command, v2::Protocol::Stream, (client, at)).build()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_those_of_the_specification() {
        let (client, at) = ("192.0.2.9:40000".parse().unwrap(), "198.51.100.1:443".parse().unwrap());
        let text = header(Version::V1, client, at).unwrap();
        assert_eq!(text, b"PROXY TCP4 192.0.2.9 198.51.100.1 40000 443\r\n");
        let binary = header(Version::V2, client, at).unwrap();
        let expected = [
            &b"\r\n\r\n\0\r\nQUIT\n"[..],
            &[0x21, 0x11, 0, 12, 192, 0, 2, 9, 198, 51, 100, 1],
            &40_000_u16.to_be_bytes(),
            &443_u16.to_be_bytes(),
        ];
        assert_eq!(binary, expected.concat());
        let (client, at) = ("[2001:db8::9]:1".parse().unwrap(), "[2001:db8::1]:2".parse().unwrap());
        assert_eq!(header(Version::V1, client, at).unwrap(), b"PROXY TCP6 2001:db8::9 2001:db8::1 1 2\r\n");
        assert_eq!(header(Version::V2, client, at).unwrap().len(), 16 + 36);
    }
}
