//! Sockets of datagrams: UDP, echoes, and packets that the stack does not take.

use crate::{
    Stack,
    host::{Datagram, DatagramId, EchoReply, Host, HostError},
    listener::EVERYWHERE,
    shard::{Hold, Inner},
    waiters::{Waiters, Wakers},
};
use std::{
    future::poll_fn,
    io,
    net::{IpAddr, SocketAddr},
    task::{Context, Poll, Waker},
};

/// A socket that the host knows by an id. When it is dropped, it is closed.
#[derive(Debug)]
struct Handle {
    shard: Hold,
    id: DatagramId,
}

impl Drop for Handle {
    fn drop(&mut self) {
        // The wakers are dropped when the lock is released, because they may own tasks with sockets.
        let _waiters = self.shard.call(|inner, _| {
            // Sockets of echoes are closed alike. An error would say that it is closed.
            let _ = inner.host.udp_close(self.id);
            inner.datagrams.remove(&self.id)
        });
    }
}

impl Handle {
    fn open(stack: &Stack, open: impl FnOnce(&mut Host) -> Result<DatagramId, HostError>) -> io::Result<Self> {
        let id = stack.shard.call(|inner, _| {
            inner.check()?;
            Ok::<_, io::Error>(open(&mut inner.host)?)
        })?;
        Ok(Self { shard: stack.shard.clone(), id })
    }

    fn waiters<'a>(&self, inner: &'a mut Inner) -> &'a mut Waiters {
        inner.datagrams.entry(self.id).or_default()
    }

    /// Waits until `take` gives something.
    fn poll_take<T>(
        &self,
        context: &Context<'_>,
        take: impl FnOnce(&mut Host) -> Result<Option<T>, HostError>,
    ) -> Poll<io::Result<T>> {
        self.shard.call(|inner, _| match take(&mut inner.host) {
            Ok(Some(taken)) => Poll::Ready(Ok(taken)),
            Err(error) => Poll::Ready(Err(error.into())),
            Ok(None) => wait(inner, context, |inner| &mut self.waiters(inner).read),
        })
    }

    /// Waits until there is room to `send`.
    fn poll_send(
        &self,
        context: &Context<'_>,
        send: impl FnOnce(&mut Host) -> Result<(), HostError>,
    ) -> Poll<io::Result<()>> {
        poll_send(&self.shard, context, send)
    }
}

fn wait<T>(
    inner: &mut Inner,
    context: &Context<'_>,
    wakers: impl FnOnce(&mut Inner) -> &mut Wakers,
) -> Poll<io::Result<T>> {
    match inner.check() {
        Err(gone) => Poll::Ready(Err(gone)),
        Ok(()) => {
            wakers(inner).add(context);
            Poll::Pending
        }
    }
}

fn poll_send(
    shard: &Hold,
    context: &Context<'_>,
    send: impl FnOnce(&mut Host) -> Result<(), HostError>,
) -> Poll<io::Result<()>> {
    shard.call(|inner, _| match inner.check() {
        Err(gone) => Poll::Ready(Err(gone)),
        Ok(()) => match send(&mut inner.host) {
            Err(HostError::Full) => wait(inner, context, |inner| &mut inner.room),
            sent => Poll::Ready(sent.map_err(Into::into)),
        },
    })
}

/// Polls once. [`io::ErrorKind::WouldBlock`] if it is not ready.
fn attempt<T>(poll: impl FnOnce(&mut Context<'_>) -> Poll<io::Result<T>>) -> io::Result<T> {
    match poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
    }
}

/// A UDP socket.
///
/// Datagrams for which its queue has no room (208 KiB, bookkeeping included) are dropped. What does not fit in a packet
/// leaves in fragments. Every method can be cancelled: what it did not return is not lost, and what it did not send is not
/// sent.
#[derive(Debug)]
pub struct UdpSocket(Handle);

impl UdpSocket {
    /// Takes datagrams to `local`: at each of the stack's addresses if it is the unspecified one. Port 0 chooses one.
    ///
    /// # Errors
    /// When the address is not the stack's, or taken.
    pub fn bind(stack: &Stack, local: SocketAddr) -> io::Result<Self> {
        Handle::open(stack, |host| host.udp_bind(local)).map(Self)
    }

    /// Takes every datagram that no other socket takes, whatever its destination. It answers by
    /// [`send_from`](Self::send_from).
    ///
    /// # Errors
    /// When another socket does that already.
    pub fn bind_any(stack: &Stack) -> io::Result<Self> {
        Handle::open(stack, Host::udp_bind_any).map(Self)
    }

    /// The next flow of a socket that takes any: a socket for the datagrams that one sender sends to one destination, and the
    /// sender's address. The new socket has the first datagram, is connected to the sender, and answers from the
    /// destination, its [`local_addr`](Self::local_addr). Flows that have a socket are not seen here any more.
    ///
    /// # Errors
    /// When the socket does not take any, or the stack's device is gone.
    pub fn poll_accept(&self, context: &mut Context<'_>) -> Poll<io::Result<(Self, SocketAddr)>> {
        self.0
            .poll_take(context, |host| host.udp_accept(self.0.id))
            .map_ok(|(id, peer)| (Self(Handle { shard: self.0.shard.clone(), id }), peer))
    }

    /// Waits for the next flow; see [`poll_accept`](Self::poll_accept).
    ///
    /// # Errors
    /// As [`poll_accept`](Self::poll_accept).
    pub async fn accept(&self) -> io::Result<(Self, SocketAddr)> {
        poll_fn(|context| self.poll_accept(context)).await
    }

    /// Takes datagrams from `peer` alone from now on, and [`send`](Self::send)s to it. Calls then fail with what ICMP says
    /// of the peer.
    ///
    /// # Errors
    /// When the peer cannot be reached.
    pub fn connect(&self, peer: SocketAddr) -> io::Result<()> {
        self.0.shard.call(|inner, _| Ok(inner.host.udp_connect(self.0.id, peer)?))
    }

    /// Where it is bound: `0.0.0.0:0` if everywhere.
    ///
    /// # Errors
    /// None; the type is that of other sockets.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        let local = self.0.shard.call(|inner, _| inner.host.udp_local(self.0.id))?;
        Ok(local.unwrap_or(EVERYWHERE))
    }

    /// Where it is connected to.
    ///
    /// # Errors
    /// When it is not connected.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        let peer = self.0.shard.call(|inner, _| inner.host.udp_peer(self.0.id))?;
        peer.ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// Sets how many bytes its queue takes at most, bookkeeping included.
    ///
    /// # Errors
    /// Never, as long as it is open.
    pub fn set_receive_buffer(&self, bytes: usize) -> io::Result<()> {
        self.0.shard.call(|inner, _| Ok(inner.host.set_datagram_buffer(self.0.id, bytes)?))
    }

    /// The oldest datagram, with both its addresses.
    ///
    /// # Errors
    /// When the peer of a connected socket refuses, or the stack's device is gone.
    pub fn poll_recv_datagram(&self, context: &mut Context<'_>) -> Poll<io::Result<Datagram>> {
        self.0.poll_take(context, |host| host.udp_receive(self.0.id))
    }

    /// Waits for a datagram.
    ///
    /// # Errors
    /// As [`poll_recv_datagram`](Self::poll_recv_datagram).
    pub async fn recv_datagram(&self) -> io::Result<Datagram> {
        poll_fn(|context| self.poll_recv_datagram(context)).await
    }

    /// Waits for a datagram: its length, and its sender. What does not fit is cut off.
    ///
    /// # Errors
    /// As [`poll_recv_datagram`](Self::poll_recv_datagram).
    pub async fn recv_from(&self, into: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        Ok(copy(&self.recv_datagram().await?, into))
    }

    /// Waits for a datagram: its length.
    ///
    /// # Errors
    /// As [`poll_recv_datagram`](Self::poll_recv_datagram).
    pub async fn recv(&self, into: &mut [u8]) -> io::Result<usize> {
        Ok(self.recv_from(into).await?.0)
    }

    /// As [`recv_from`](Self::recv_from). [`io::ErrorKind::WouldBlock`] if there is none.
    ///
    /// # Errors
    /// As [`poll_recv_datagram`](Self::poll_recv_datagram).
    pub fn try_recv_from(&self, into: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        Ok(copy(&attempt(|context| self.poll_recv_datagram(context))?, into))
    }

    /// As [`recv_datagram`](Self::recv_datagram). [`io::ErrorKind::WouldBlock`] if there is none.
    ///
    /// # Errors
    /// As [`poll_recv_datagram`](Self::poll_recv_datagram).
    pub fn try_recv_datagram(&self) -> io::Result<Datagram> {
        attempt(|context| self.poll_recv_datagram(context))
    }

    /// Sends a datagram once there is room. `from` is for a socket that takes any; `to` may be `None` if it is connected.
    ///
    /// # Errors
    /// When the destination cannot be reached, when the datagram is too long, and when the peer of a connected socket
    /// refused an earlier one.
    pub fn poll_send(
        &self,
        context: &mut Context<'_>,
        from: Option<SocketAddr>,
        to: Option<SocketAddr>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let sent = self.0.poll_send(context, |host| host.udp_send(self.0.id, from, to, bytes));
        sent.map_ok(|()| bytes.len())
    }

    /// Sends to the peer of a connected socket.
    ///
    /// # Errors
    /// As [`poll_send`](Self::poll_send).
    pub async fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        poll_fn(|context| self.poll_send(context, None, None, bytes)).await
    }

    /// Sends to `to`.
    ///
    /// # Errors
    /// As [`poll_send`](Self::poll_send).
    pub async fn send_to(&self, bytes: &[u8], to: SocketAddr) -> io::Result<usize> {
        poll_fn(|context| self.poll_send(context, None, Some(to), bytes)).await
    }

    /// Sends from `from`, whoever's address it is, to `to`: for a socket that takes any.
    ///
    /// # Errors
    /// As [`poll_send`](Self::poll_send).
    pub async fn send_from(&self, bytes: &[u8], from: SocketAddr, to: SocketAddr) -> io::Result<usize> {
        poll_fn(|context| self.poll_send(context, Some(from), Some(to), bytes)).await
    }

    /// As [`send`](Self::send). [`io::ErrorKind::WouldBlock`] if there is no room.
    ///
    /// # Errors
    /// As [`poll_send`](Self::poll_send).
    pub fn try_send(&self, bytes: &[u8]) -> io::Result<usize> {
        attempt(|context| self.poll_send(context, None, None, bytes))
    }

    /// As [`send_from`](Self::send_from). [`io::ErrorKind::WouldBlock`] if there is no room.
    ///
    /// # Errors
    /// As [`poll_send`](Self::poll_send).
    pub fn try_send_from(&self, bytes: &[u8], from: SocketAddr, to: SocketAddr) -> io::Result<usize> {
        attempt(|context| self.poll_send(context, Some(from), Some(to), bytes))
    }

    /// As [`send_to`](Self::send_to). [`io::ErrorKind::WouldBlock`] if there is no room.
    ///
    /// # Errors
    /// As [`poll_send`](Self::poll_send).
    pub fn try_send_to(&self, bytes: &[u8], to: SocketAddr) -> io::Result<usize> {
        attempt(|context| self.poll_send(context, None, Some(to), bytes))
    }
}

fn copy(datagram: &Datagram, into: &mut [u8]) -> (usize, SocketAddr) {
    let len = datagram.bytes.len().min(into.len());
    into[..len].copy_from_slice(&datagram.bytes[..len]);
    (len, datagram.source)
}

/// Sends echo requests and takes the replies, of both IP versions.
#[derive(Debug)]
pub struct PingSocket(Handle);

impl PingSocket {
    /// Opens one.
    ///
    /// # Errors
    /// When there are as many as there may be.
    pub fn open(stack: &Stack) -> io::Result<Self> {
        Handle::open(stack, Host::ping_open).map(Self)
    }

    /// Sends a request with this sequence number.
    ///
    /// # Errors
    /// When the address cannot be reached, or the data is too long.
    pub async fn send(&self, to: IpAddr, sequence: u16, data: &[u8]) -> io::Result<()> {
        poll_fn(|context| self.0.poll_send(context, |host| host.ping_send(self.0.id, to, sequence, data))).await
    }

    /// The oldest reply.
    ///
    /// # Errors
    /// When the stack's device is gone.
    pub fn poll_recv(&self, context: &mut Context<'_>) -> Poll<io::Result<EchoReply>> {
        self.0.poll_take(context, |host| host.ping_receive(self.0.id))
    }

    /// Waits for a reply.
    ///
    /// # Errors
    /// When the stack's device is gone.
    pub async fn recv(&self) -> io::Result<EchoReply> {
        poll_fn(|context| self.poll_recv(context)).await
    }
}

/// Takes packets that the stack does not take: of other protocols, to addresses or ports that nobody has, and what is not
/// IP. One at a time for each stack.
#[derive(Debug)]
pub struct RawSocket(Hold);

impl RawSocket {
    /// Opens one whose queue takes `most` bytes, bookkeeping included. What does not fit is dropped.
    ///
    /// # Errors
    /// When the stack has one.
    pub fn open(stack: &Stack, most: usize) -> io::Result<Self> {
        stack.shard.call(|inner, _| {
            inner.check()?;
            if std::mem::replace(&mut inner.has_raw, true) {
                return Err(io::Error::new(io::ErrorKind::AddrInUse, "raw socket: the stack has one already"));
            }
            inner.host.set_raw(Some(most));
            Ok(())
        })?;
        Ok(Self(stack.shard.clone()))
    }

    /// The oldest packet.
    ///
    /// # Errors
    /// When the stack's device is gone.
    pub fn poll_recv(&self, context: &mut Context<'_>) -> Poll<io::Result<Vec<u8>>> {
        self.0.call(|inner, _| match inner.host.next_raw() {
            Some(packet) => Poll::Ready(Ok(packet)),
            None => wait(inner, context, |inner| &mut inner.raw),
        })
    }

    /// Waits for a packet.
    ///
    /// # Errors
    /// When the stack's device is gone.
    pub async fn recv(&self) -> io::Result<Vec<u8>> {
        poll_fn(|context| self.poll_recv(context)).await
    }

    /// Sends a packet as it is, once there is room.
    ///
    /// # Errors
    /// When it is longer than the device takes, or the device is gone.
    pub async fn send(&self, packet: &[u8]) -> io::Result<()> {
        poll_fn(|context| poll_send(&self.0, context, |host| host.send_raw(packet))).await
    }
}

impl Drop for RawSocket {
    fn drop(&mut self) {
        self.0.call(|inner, _| {
            inner.has_raw = false;
            inner.host.set_raw(None);
        });
    }
}
