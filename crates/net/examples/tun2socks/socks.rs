//! A client of SOCKS5 (RFC 1928) without authentication.

use std::{
    io,
    net::{IpAddr, SocketAddr},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// Commands (RFC 1928 §4).
const CONNECT: u8 = 1;
const UDP_ASSOCIATE: u8 = 3;

/// A stream to `target` by way of `proxy`.
pub async fn connect(proxy: SocketAddr, target: SocketAddr) -> io::Result<TcpStream> {
    Ok(request(proxy, CONNECT, target).await?.0)
}

/// Where `proxy` takes this client's datagrams, as long as the stream is open.
pub async fn associate(proxy: SocketAddr) -> io::Result<(TcpStream, SocketAddr)> {
    let unknown = SocketAddr::new(unspecified_like(proxy), 0);
    let (stream, mut relay) = request(proxy, UDP_ASSOCIATE, unknown).await?;
    if relay.ip().is_unspecified() {
        relay.set_ip(proxy.ip());
    }
    Ok((stream, relay))
}

/// The unspecified address of the same IP version.
pub fn unspecified_like(address: SocketAddr) -> IpAddr {
    match address {
        SocketAddr::V4(_) => [0; 4].into(),
        SocketAddr::V6(_) => [0; 16].into(),
    }
}

/// What a datagram begins with between client and proxy (RFC 1928 §7).
pub fn wrap(target: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut wrapped = vec![0; 3];
    put_address(&mut wrapped, target);
    wrapped.extend_from_slice(bytes);
    wrapped
}

/// The sender and the data of a datagram from the proxy. `None` if it is a fragment (RFC 1928 §7) or malformed.
pub fn unwrap(datagram: &[u8]) -> Option<(SocketAddr, &[u8])> {
    let (ip, rest) = match datagram {
        [_, _, 0, 1, rest @ ..] => rest.split_first_chunk::<4>().map(|(ip, rest)| (IpAddr::from(*ip), rest))?,
        [_, _, 0, 4, rest @ ..] => rest.split_first_chunk::<16>().map(|(ip, rest)| (IpAddr::from(*ip), rest))?,
        _ => return None,
    };
    let (port, bytes) = rest.split_first_chunk()?;
    Some((SocketAddr::new(ip, u16::from_be_bytes(*port)), bytes))
}

/// Sends one request, and returns the bound address of the reply, too.
async fn request(proxy: SocketAddr, command: u8, target: SocketAddr) -> io::Result<(TcpStream, SocketAddr)> {
    let mut stream = TcpStream::connect(proxy).await?;
    stream.set_nodelay(true)?;
    stream.write_all(&[5, 1, 0]).await?;
    let mut chosen = [0; 2];
    stream.read_exact(&mut chosen).await?;
    if chosen != [5, 0] {
        return Err(io::Error::other(format!("the proxy {proxy} expects authentication, or is none of SOCKS5")));
    }
    let mut request = vec![5, command, 0];
    put_address(&mut request, target);
    stream.write_all(&request).await?;
    let mut reply = [0; 4];
    stream.read_exact(&mut reply).await?;
    check(reply[1], target)?;
    let bound = match reply[3] {
        4 => SocketAddr::new(IpAddr::from(stream.read_u128().await?.to_be_bytes()), stream.read_u16().await?),
        1 => SocketAddr::new(IpAddr::from(stream.read_u32().await?.to_be_bytes()), stream.read_u16().await?),
        other => return Err(io::Error::other(format!("the proxy {proxy} answers with an address of type {other}"))),
    };
    Ok((stream, bound))
}

fn put_address(into: &mut Vec<u8>, address: SocketAddr) {
    match address.ip() {
        IpAddr::V4(ip) => {
            into.push(1);
            into.extend_from_slice(&ip.octets());
        }
        IpAddr::V6(ip) => {
            into.push(4);
            into.extend_from_slice(&ip.octets());
        }
    }
    into.extend_from_slice(&address.port().to_be_bytes());
}

/// What a reply says (RFC 1928 §6).
fn check(code: u8, target: SocketAddr) -> io::Result<()> {
    let kind = match code {
        0 => return Ok(()),
        2 => io::ErrorKind::PermissionDenied,
        3 => io::ErrorKind::NetworkUnreachable,
        4 => io::ErrorKind::HostUnreachable,
        5 => io::ErrorKind::ConnectionRefused,
        6 => io::ErrorKind::TimedOut,
        7 | 8 => io::ErrorKind::Unsupported,
        _ => io::ErrorKind::Other,
    };
    Err(io::Error::new(kind, format!("the proxy cannot reach {target}: reply {code}, {kind}")))
}
