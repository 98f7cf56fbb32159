//! TCP listeners.

use crate::{
    Stack, TcpOptions, TcpStream,
    host::{Host, HostError, Incoming as Syn, ListenerId},
    shard::Hold,
};
use futures_core::Stream;
use std::{
    future::poll_fn,
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    pin::Pin,
    task::{Context, Poll},
};

/// The address of what takes connections or datagrams at every address and port.
pub(crate) const EVERYWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

/// Accepts TCP connections. When it is dropped, connections that nobody accepted are reset.
#[derive(Debug)]
pub struct TcpListener {
    shard: Hold,
    id: ListenerId,
}

impl Drop for TcpListener {
    fn drop(&mut self) {
        // The wakers are dropped when the lock is released, because they may own tasks with sockets.
        let _wakers = self.shard.call(|inner, _| {
            inner.host.stop_listening(self.id);
            inner.listeners.remove(&self.id)
        });
    }
}

impl TcpListener {
    /// Takes connections at `local`; at each of the stack's addresses if it is the unspecified one.
    ///
    /// # Errors
    /// When the address is not the stack's, or taken.
    pub fn bind(stack: &Stack, local: SocketAddr) -> io::Result<Self> {
        Self::open(stack, |host| host.listen(local))
    }

    /// As [`bind`](Self::bind), with options of its own.
    ///
    /// # Errors
    /// As [`bind`](Self::bind).
    pub fn bind_with(stack: &Stack, local: SocketAddr, options: &TcpOptions) -> io::Result<Self> {
        Self::open(stack, |host| host.listen_with(local, options))
    }

    /// Gives each connection one of these options from now on, by a keyed hash of its addresses and ports: about as many
    /// connections have one as another, and no peer can choose. So a trial compares options on the same clients. What
    /// concerns the listener itself, such as its backlog, is that of the first one. Handshakes under way end with the new options.
    ///
    /// # Errors
    /// When there is no option.
    pub fn split_among(&self, choices: &[TcpOptions]) -> io::Result<()> {
        self.shard.call(|inner, _| Ok(inner.host.split_listener(self.id, choices)?))
    }

    /// Which of the options of [`split_among`](Self::split_among) a connection of this listener has; 0 if it is none.
    pub fn choice(&self, stream: &TcpStream) -> usize {
        stream.choice().unwrap_or(0)
    }

    pub(crate) fn open(
        stack: &Stack,
        listen: impl FnOnce(&mut Host) -> Result<ListenerId, HostError>,
    ) -> io::Result<Self> {
        let id = stack.shard.call(|inner, _| {
            inner.check()?;
            let id = listen(&mut inner.host)?;
            inner.listeners.insert(id, crate::waiters::Wakers::default());
            Ok::<_, io::Error>(id)
        })?;
        Ok(Self { shard: stack.shard.clone(), id })
    }

    /// Where it takes connections: `0.0.0.0:0` if everywhere.
    ///
    /// # Errors
    /// None; the type is that of other listeners.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        let local = self.shard.call(|inner, _| inner.host.listens_at(self.id));
        Ok(local.unwrap_or(EVERYWHERE))
    }

    fn poll<T>(&self, context: &Context<'_>, take: impl FnOnce(&mut Host) -> Option<T>) -> Poll<io::Result<T>> {
        self.shard.call(|inner, _| {
            if let Some(taken) = take(&mut inner.host) {
                return Poll::Ready(Ok(taken));
            }
            if let Err(gone) = inner.check() {
                return Poll::Ready(Err(gone));
            }
            inner.listeners.entry(self.id).or_default().add(context);
            Poll::Pending
        })
    }

    /// The next connection whose handshake is done, and its peer's address.
    ///
    /// # Errors
    /// When the stack's device is gone.
    pub fn poll_accept(&self, context: &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        self.poll(context, |host| host.accept(self.id)).map(|accepted| {
            let stream = TcpStream::of(&self.shard, accepted?).ok_or(HostError::Unknown)?;
            let peer = stream.peer_addr()?;
            Ok((stream, peer))
        })
    }

    /// Waits for the next connection whose handshake is done, and gives its peer's address, too. If the future is dropped,
    /// no connection is lost.
    ///
    /// # Errors
    /// When the stack's device is gone.
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        poll_fn(|context| self.poll_accept(context)).await
    }

    /// The next SYN, which waits for a decision ([`TcpOptions::decide_first`]).
    ///
    /// # Errors
    /// When the stack's device is gone.
    pub fn poll_incoming(&self, context: &mut Context<'_>) -> Poll<io::Result<Incoming>> {
        let syn = self.poll(context, |host| host.next_incoming(self.id));
        syn.map_ok(|syn| Incoming { shard: self.shard.clone(), syn, decided: false })
    }

    /// Waits for the next SYN, which waits for a decision ([`TcpOptions::decide_first`]). If the future is dropped, no SYN
    /// is lost.
    ///
    /// # Errors
    /// When the stack's device is gone.
    pub async fn incoming(&self) -> io::Result<Incoming> {
        poll_fn(|context| self.poll_incoming(context)).await
    }
}

/// The connections as [`TcpListener::accept`] gives them. The stream ends when the stack's device is gone.
impl Stream for TcpListener {
    type Item = (TcpStream, SocketAddr);

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_accept(context).map(Result::ok)
    }
}

/// A SYN that is not answered yet. When it is dropped, its sender is reset.
#[derive(Debug)]
pub struct Incoming {
    shard: Hold,
    syn: Syn,
    decided: bool,
}

impl Incoming {
    /// Where its sender wants to go.
    pub const fn local_addr(&self) -> SocketAddr {
        self.syn.path.src
    }

    /// Its sender.
    pub const fn peer_addr(&self) -> SocketAddr {
        self.syn.path.dst
    }

    /// Answers it with the listener's options, and waits for the end of the handshake.
    ///
    /// # Errors
    /// When its sender has given up, or the stack has as many connections as it may.
    pub async fn accept(self) -> io::Result<TcpStream> {
        let options = self.shard.call(|inner, _| inner.host.listener_options(self.syn.listener));
        self.accept_with(&options).await
    }

    /// As [`accept`](Self::accept), with options of its own.
    ///
    /// # Errors
    /// As [`accept`](Self::accept).
    pub async fn accept_with(self, options: &TcpOptions) -> io::Result<TcpStream> {
        self.begin(options)?.opened().await
    }

    /// A stream that opens.
    pub(crate) fn begin(mut self, options: &TcpOptions) -> io::Result<TcpStream> {
        self.decided = true;
        let path = self.syn.path;
        let id = self.shard.call(|inner, now| inner.host.admit(now, &path, options))?;
        TcpStream::of(&self.shard, id).ok_or_else(|| HostError::Unknown.into())
    }

    /// Refuses the connection: its sender is reset. So does dropping this.
    pub fn refuse(self) {}

    /// Does not answer. Its sender tries again, for about a minute or two.
    pub fn ignore(mut self) {
        self.decided = true;
        self.shard.call(|inner, _| inner.host.ignore(&self.syn.path));
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if !self.decided {
            self.shard.call(|inner, now| {
                // An error says that its sender has given up.
                let _ = inner.host.refuse(now, &self.syn.path);
            });
        }
    }
}
