//! Connections to servers, by the host's sockets.

use super::settings::Upstream;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::SocketAddr;
use tokio::net::{TcpSocket, TcpStream, lookup_host};

/// Connects for `client`, which wanted to go to `at`. A name is looked up each time, and each of its addresses is tried.
pub(crate) async fn connect(upstream: &Upstream, client: SocketAddr, at: SocketAddr) -> io::Result<TcpStream> {
    let stream = match upstream {
        Upstream::Destination => connect_from(client, at).await?,
        Upstream::Server(address) => {
            let mut last = None;
            let mut found = None;
            for to in lookup_host((address.host.as_str(), address.port)).await? {
                match TcpStream::connect(to).await {
                    Ok(stream) => {
                        found = Some(stream);
                        break;
                    }
                    Err(why) => last = Some(why),
                }
            }
            let none = || last.unwrap_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the name has no address"));
            found.ok_or_else(none)?
        }
    };
    // The client decides what goes together; the proxy does not hold it back.
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Connects from a client's address (ip(7), `IP_TRANSPARENT`), and from a port of the host's choice: the client's may be in
/// use towards this server.
async fn connect_from(client: SocketAddr, to: SocketAddr) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(to), Type::STREAM, Some(Protocol::TCP))?;
    match to {
        SocketAddr::V4(_) => socket.set_ip_transparent_v4(true)?,
        SocketAddr::V6(_) => socket.set_ip_transparent_v6(true)?,
    }
    socket.set_nonblocking(true)?;
    socket.bind(&SocketAddr::new(client.ip(), 0).into())?;
    TcpSocket::from_std_stream(socket.into()).connect(to).await
}
