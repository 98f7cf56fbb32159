//! TCP streams.

use crate::{
    KeepAlive, Stack, TcpOptions,
    host::{ConnectionId, Host, HostError, Read, Readiness},
    shard::{Hold, Inner},
    waiters::Wakers,
};
use recoup_recovery::Counters;
use recoup_tcp::{Info, State};
use recoup_units::Instant;
use recoup_wire::Endpoints;
use std::{
    future::poll_fn,
    io::{self, IoSlice},
    net::SocketAddr,
    sync::Arc,
    task::{Context, Poll},
};

/// A connection that a socket owns. When it is dropped, the connection is let go of.
#[derive(Debug)]
struct Handle {
    shard: Hold,
    id: ConnectionId,
}

impl Drop for Handle {
    fn drop(&mut self) {
        // The wakers are dropped when the lock is released, because they may own tasks with sockets.
        let _waiters = self.shard.call(|inner, now| {
            // An error says that it was aborted.
            let _ = inner.host.release(now, self.id);
            inner.connections.remove(self.id)
        });
    }
}

impl Handle {
    fn call<T>(&self, call: impl FnOnce(&mut Inner, Instant) -> T) -> T {
        self.shard.call(call)
    }

    /// Waits until `ready` says what there is to return.
    fn poll<T>(
        &self,
        context: &Context<'_>,
        wakers: impl FnOnce(&mut Inner) -> &mut Wakers,
        ready: impl FnOnce(&mut Host, Instant) -> Result<Option<T>, HostError>,
    ) -> Poll<io::Result<T>> {
        self.call(|inner, now| match ready(&mut inner.host, now) {
            Ok(Some(value)) => Poll::Ready(Ok(value)),
            Err(error) => Poll::Ready(Err(error.into())),
            Ok(None) => match inner.check() {
                Err(gone) => Poll::Ready(Err(gone)),
                Ok(()) => {
                    wakers(inner).add(context);
                    Poll::Pending
                }
            },
        })
    }

    fn readers<'a>(&self, inner: &'a mut Inner) -> &'a mut Wakers {
        &mut inner.connections.of(self.id).read
    }

    fn writers<'a>(&self, inner: &'a mut Inner) -> &'a mut Wakers {
        &mut inner.connections.of(self.id).write
    }

    fn poll_opened(&self, context: &Context<'_>) -> Poll<io::Result<()>> {
        self.poll(
            context,
            |inner| self.writers(inner),
            |host, _| {
                let Readiness { opened, closed, .. } = host.readiness(self.id).ok_or(HostError::Unknown)?;
                match closed {
                    Some(how) if !opened => {
                        let to = host.path(self.id).ok_or(HostError::Unknown)?.dst;
                        Err(HostError::Unopened { how, to })
                    }
                    _ => Ok(opened.then_some(())),
                }
            },
        )
    }

    fn poll_read(&self, context: &Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        self.poll(
            context,
            |inner| self.readers(inner),
            |host, now| {
                Ok(match host.read(now, self.id, into)? {
                    _ if into.is_empty() => Some(0),
                    Read::Bytes(count) => Some(count),
                    Read::End => Some(0),
                    Read::Nothing => None,
                })
            },
        )
    }

    fn poll_write(&self, context: &Context<'_>, slices: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let empty = slices.iter().all(|slice| slice.is_empty());
        // Nothing would ever send what is written.
        if let Err(gone) = self.call(|inner, _| inner.check()) {
            return Poll::Ready(Err(gone));
        }
        self.poll(
            context,
            |inner| self.writers(inner),
            |host, now| {
                let mut taken = 0;
                for slice in slices {
                    match host.write(now, self.id, slice) {
                        Ok(count) => {
                            taken += count;
                            if count < slice.len() {
                                break;
                            }
                        }
                        // The next write says it.
                        Err(_) if taken > 0 => break,
                        Err(error) => return Err(error),
                    }
                }
                Ok((taken > 0 || empty).then_some(taken))
            },
        )
    }

    fn poll_readable(&self, context: &Context<'_>) -> Poll<io::Result<()>> {
        self.poll(
            context,
            |inner| self.readers(inner),
            |host, _| {
                let readiness = host.readiness(self.id).ok_or(HostError::Unknown)?;
                Ok((readiness.readable || readiness.closed.is_some()).then_some(()))
            },
        )
    }

    fn poll_writable(&self, context: &Context<'_>) -> Poll<io::Result<()>> {
        self.poll(
            context,
            |inner| self.writers(inner),
            |host, _| {
                let readiness = host.readiness(self.id).ok_or(HostError::Unknown)?;
                let writable = readiness.writable || readiness.closed.is_some();
                if !writable {
                    host.await_room(self.id)?;
                }
                Ok(writable.then_some(()))
            },
        )
    }

    fn close(&self) -> io::Result<()> {
        self.call(|inner, now| {
            inner.check()?;
            Ok(inner.host.close(now, self.id)?)
        })
    }

    /// Calls `poll` once. [`io::ErrorKind::WouldBlock`] if it is not ready.
    fn attempt<T>(poll: impl FnOnce(&mut Context<'_>) -> Poll<io::Result<T>>) -> io::Result<T> {
        match poll(&mut Context::from_waker(std::task::Waker::noop())) {
            Poll::Ready(result) => result,
            Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
        }
    }
}

/// A TCP stream.
///
/// When it is dropped, what was written is still sent, and the connection closed. If data was left unread, the peer is
/// reset (RFC 1122 §4.2.2.13). The stack's runner does this, for a minute at most if no socket of the stack is left.
///
/// Every method can be cancelled: a read or a write that did not return has taken no byte.
#[derive(Debug)]
pub struct TcpStream {
    handle: Arc<Handle>,
}

impl TcpStream {
    /// Connects to `remote`, from an address of the stack and an ephemeral port. If the future is dropped, the attempt ends.
    ///
    /// # Errors
    /// When `remote` cannot be reached, refuses, or does not answer.
    pub async fn connect(stack: &Stack, remote: SocketAddr) -> io::Result<Self> {
        Self::begin(stack, |host, now| host.connect(now, remote))?.opened().await
    }

    /// As [`connect`](Self::connect), from `local`, whose port may be 0, and with options of its own. If the stack
    /// [accepts any](Stack::accept_any) connection, the address may be anybody's.
    ///
    /// # Errors
    /// As [`connect`](Self::connect), and when `local` is not the stack's, or taken.
    pub async fn connect_with(
        stack: &Stack,
        local: SocketAddr,
        remote: SocketAddr,
        options: &TcpOptions,
    ) -> io::Result<Self> {
        Self::begin(stack, |host, now| host.connect_with(now, local, remote, Some(options)))?.opened().await
    }

    /// A stream that connects.
    pub(crate) fn begin(
        stack: &Stack,
        connect: impl FnOnce(&mut Host, Instant) -> Result<ConnectionId, HostError>,
    ) -> io::Result<Self> {
        let id = stack.shard.call(|inner, now| {
            inner.check()?;
            Ok::<_, io::Error>(connect(&mut inner.host, now)?)
        })?;
        Self::of(&stack.shard, id).ok_or_else(|| HostError::Unknown.into())
    }

    /// The stream of a connection that nobody owns.
    pub(crate) fn of(shard: &Hold, id: ConnectionId) -> Option<Self> {
        shard.call(|inner, _| inner.host.path(id))?;
        Some(Self { handle: Arc::new(Handle { shard: shard.clone(), id }) })
    }

    /// This stream once its handshake is done.
    pub(crate) async fn opened(self) -> io::Result<Self> {
        poll_fn(|context| self.handle.poll_opened(context)).await?;
        Ok(self)
    }

    /// Bytes that were written and that the peer has not acknowledged; `None` once the connection is forgotten.
    pub fn unacknowledged(&self) -> Option<usize> {
        self.handle.call(|inner, _| inner.host.unacknowledged(self.handle.id))
    }

    /// Which of the options of its listener it has.
    pub(crate) fn choice(&self) -> Option<usize> {
        self.handle.call(|inner, _| inner.host.choice(self.handle.id))
    }

    /// The connection's ends, which the host knows as long as there is a handle.
    fn path(&self) -> io::Result<Endpoints> {
        let path = self.handle.call(|inner, _| inner.host.path(self.handle.id));
        path.ok_or_else(|| HostError::Unknown.into())
    }

    /// The stack's end: of an accepted stream, where its peer wanted to go.
    ///
    /// # Errors
    /// None; the type is that of other streams.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.path()?.src)
    }

    /// The peer's end.
    ///
    /// # Errors
    /// None; the type is that of other streams.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.path()?.dst)
    }

    /// Reads what has arrived, as much as fits. 0 is the end of the stream.
    ///
    /// # Errors
    /// When the connection ended otherwise than by the peer's closing it.
    pub fn poll_read(&self, context: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        self.handle.poll_read(context, into)
    }

    /// Writes as much as there is room for.
    ///
    /// # Errors
    /// When the connection is over, or this side has closed it.
    pub fn poll_write(&self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.handle.poll_write(context, &[IoSlice::new(bytes)])
    }

    /// As [`poll_write`](Self::poll_write), of several slices.
    ///
    /// # Errors
    /// As [`poll_write`](Self::poll_write).
    pub fn poll_write_vectored(&self, context: &mut Context<'_>, slices: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        self.handle.poll_write(context, slices)
    }

    /// Is ready when a read would not wait.
    ///
    /// # Errors
    /// When the stack's device is gone.
    pub fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.handle.poll_readable(context)
    }

    /// Is ready when a write would not wait.
    ///
    /// # Errors
    /// When the stack's device is gone.
    pub fn poll_writable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.handle.poll_writable(context)
    }

    /// Waits until a read would not wait.
    ///
    /// # Errors
    /// When the stack's device is gone.
    pub async fn readable(&self) -> io::Result<()> {
        poll_fn(|context| self.poll_readable(context)).await
    }

    /// Waits until a write would not wait.
    ///
    /// # Errors
    /// When the stack's device is gone.
    pub async fn writable(&self) -> io::Result<()> {
        poll_fn(|context| self.poll_writable(context)).await
    }

    /// Reads what has arrived. [`io::ErrorKind::WouldBlock`] if there is nothing.
    ///
    /// # Errors
    /// As [`poll_read`](Self::poll_read).
    pub fn try_read(&self, into: &mut [u8]) -> io::Result<usize> {
        Handle::attempt(|context| self.poll_read(context, into))
    }

    /// Writes as much as there is room for. [`io::ErrorKind::WouldBlock`] if there is none.
    ///
    /// # Errors
    /// As [`poll_write`](Self::poll_write).
    pub fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        Handle::attempt(|context| self.poll_write(context, bytes))
    }

    /// As [`try_write`](Self::try_write), of several slices.
    ///
    /// # Errors
    /// As [`poll_write`](Self::poll_write).
    pub fn try_write_vectored(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        Handle::attempt(|context| self.poll_write_vectored(context, slices))
    }

    /// Copies the first bytes that have arrived; they stay.
    ///
    /// # Errors
    /// As [`poll_read`](Self::poll_read).
    pub fn poll_peek(&self, context: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        let handle = &self.handle;
        handle.poll(
            context,
            |inner| handle.readers(inner),
            |host, now| {
                let count = host.peek(handle.id, into)?;
                if count > 0 || into.is_empty() {
                    return Ok(Some(count));
                }
                // Without bytes, a read takes nothing, and says whether and how the stream has ended.
                Ok(matches!(host.read(now, handle.id, into)?, Read::End).then_some(0))
            },
        )
    }

    /// Closes this direction: the peer reads to the end of what was written. Reading goes on.
    ///
    /// # Errors
    /// When the connection is over.
    pub fn close(&self) -> io::Result<()> {
        self.handle.close()
    }

    /// Ends the connection at once: the peer is reset, and what was written may be lost (`SO_LINGER` with 0 seconds).
    pub fn abort(self) {
        self.reset();
    }

    /// As [`abort`](Self::abort), where others have the stream, too. Nothing more can be done with it.
    pub fn reset(&self) {
        let id = self.handle.id;
        self.handle.call(|inner, _| {
            // An error says that it has ended already.
            let _ = inner.host.abort(id);
        });
    }

    fn set(&self, set: impl FnOnce(&mut Host, Instant, ConnectionId) -> Result<(), HostError>) -> io::Result<()> {
        self.handle.call(|inner, now| Ok(set(&mut inner.host, now, self.handle.id)?))
    }

    /// Sends less than full segments at once (`TCP_NODELAY`), or follows Nagle's rule.
    ///
    /// # Errors
    /// When the connection is over.
    pub fn set_nodelay(&self, on: bool) -> io::Result<()> {
        self.set(|host, _, id| host.set_nagle(id, !on))
    }

    /// Holds less than full segments back (`TCP_CORK`), or sends what was held back.
    ///
    /// # Errors
    /// When the connection is over.
    pub fn set_cork(&self, on: bool) -> io::Result<()> {
        self.set(|host, now, id| host.set_cork(now, id, on))
    }

    /// Probes the peer when the connection is idle (`SO_KEEPALIVE`), or not. A peer that does not answer ends it.
    ///
    /// # Errors
    /// When the connection is over.
    pub fn set_keep_alive(&self, rules: Option<KeepAlive>) -> io::Result<()> {
        self.set(|host, _, id| host.set_keep_alive(id, rules))
    }

    /// Ends the connection when data was not acknowledged for so long (`TCP_USER_TIMEOUT`). Zero changes
    /// nothing.
    ///
    /// # Errors
    /// When the connection is over.
    pub fn set_user_timeout(&self, timeout: std::time::Duration) -> io::Result<()> {
        self.set(|host, _, id| host.set_user_timeout(id, timeout))
    }

    /// The connection's state, as in TCP_INFO.
    ///
    /// # Errors
    /// When the connection is over and forgotten.
    pub fn info(&self) -> io::Result<Info> {
        let info = self.handle.call(|inner, now| inner.host.info(now, self.handle.id));
        info.ok_or_else(|| HostError::Unknown.into())
    }

    /// What the sender has counted, since the connection began.
    ///
    /// # Errors
    /// When the connection is over and forgotten.
    pub fn counters(&self) -> io::Result<Counters> {
        let counters = self.handle.call(|inner, _| inner.host.counters(self.handle.id));
        counters.ok_or_else(|| HostError::Unknown.into())
    }

    /// The state of the connection: how it ended, if it is over. `None` once it is forgotten.
    pub fn state(&self) -> Option<State> {
        self.handle.call(|inner, _| inner.host.state(self.handle.id))
    }

    /// Both directions, each for itself, for as long as this is borrowed.
    pub const fn split(&mut self) -> (ReadHalf<'_>, WriteHalf<'_>) {
        (ReadHalf(self), WriteHalf(self))
    }

    /// Both directions, each for itself. Dropping the write half closes its direction.
    pub fn into_split(self) -> (OwnedReadHalf, OwnedWriteHalf) {
        let other = Self { handle: Arc::clone(&self.handle) };
        (OwnedReadHalf(other), OwnedWriteHalf { stream: self, closes: true })
    }
}

/// The read half of a stream.
#[derive(Debug)]
pub struct ReadHalf<'a>(&'a TcpStream);

/// The write half of a stream.
#[derive(Debug)]
pub struct WriteHalf<'a>(&'a TcpStream);

/// The read half of a stream, which it owns together with the other half.
#[derive(Debug)]
pub struct OwnedReadHalf(TcpStream);

/// The write half of a stream, which it owns together with the other half. When it is dropped, its direction is closed.
#[derive(Debug)]
pub struct OwnedWriteHalf {
    stream: TcpStream,
    closes: bool,
}

impl AsRef<Self> for TcpStream {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl AsRef<TcpStream> for ReadHalf<'_> {
    fn as_ref(&self) -> &TcpStream {
        self.0
    }
}

impl AsRef<TcpStream> for WriteHalf<'_> {
    fn as_ref(&self) -> &TcpStream {
        self.0
    }
}

impl AsRef<TcpStream> for OwnedReadHalf {
    fn as_ref(&self) -> &TcpStream {
        &self.0
    }
}

impl AsRef<TcpStream> for OwnedWriteHalf {
    fn as_ref(&self) -> &TcpStream {
        &self.stream
    }
}

impl OwnedReadHalf {
    /// The whole stream again.
    ///
    /// # Errors
    /// Both halves, if they are of different streams.
    pub fn reunite(self, mut other: OwnedWriteHalf) -> Result<TcpStream, (Self, OwnedWriteHalf)> {
        if !Arc::ptr_eq(&self.0.handle, &other.stream.handle) {
            return Err((self, other));
        }
        other.closes = false;
        Ok(self.0)
    }
}

impl OwnedWriteHalf {
    /// Drops this half without closing its direction.
    pub fn forget(mut self) {
        self.closes = false;
    }
}

impl Drop for OwnedWriteHalf {
    fn drop(&mut self) {
        if self.closes {
            // An error says that the connection is over.
            let _ = self.stream.close();
        }
    }
}
