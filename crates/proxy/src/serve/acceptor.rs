//! Where connections come from.

use std::future::Future;
use std::io;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};

/// A listener whose connections can be served.
pub trait Acceptor: Send + 'static {
    /// A connection.
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// Waits for the next connection.
    fn accept(&self) -> impl Future<Output = io::Result<Self::Stream>> + Send;
}

/// Connections of the host's own TCP.
impl Acceptor for TcpListener {
    type Stream = TcpStream;

    async fn accept(&self) -> io::Result<TcpStream> {
        let (stream, _) = Self::accept(self).await?;
        // A response is written in few large pieces. If this fails, its last segment waits for an ACK.
        let _ = stream.set_nodelay(true);
        Ok(stream)
    }
}

/// Connections of a stack of Recoup's.
impl Acceptor for recoup_stack::TcpListener {
    type Stream = recoup_stack::TcpStream;

    async fn accept(&self) -> io::Result<recoup_stack::TcpStream> {
        let (stream, _) = Self::accept(self).await?;
        let _ = stream.set_nodelay(true);
        Ok(stream)
    }
}
