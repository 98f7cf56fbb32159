//! The system calls on sockets, with Linux's behaviour.

use super::*;
use recoup_stack::host::Read;
use recoup_tcp::WriteMode;

/// The flags of a send call (`MSG_…`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendFlags {
    /// `MSG_MORE`.
    pub more: bool,
    /// `MSG_EOR`.
    pub end_of_record: bool,
}

/// The result of a receive call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Received {
    pub bytes: Vec<u8>,
    /// The number of bytes left to read, if `TCP_INQ` requests it.
    pub inq: Option<i32>,
}

/// Linux's `net.core.somaxconn`.
const MOST_BACKLOG: u32 = 4096;

impl Sockets {
    /// `socket`: TCP over IPv4 or IPv6.
    pub fn socket(&mut self, v6: bool, nonblocking: bool, sysctls: Sysctls) -> Outcome<Fd> {
        let tcp = self.settings.options(&sysctls);
        self.add(Descriptor::Socket(Box::new(Socket {
            role: Role::Fresh,
            v6,
            nonblocking,
            local: None,
            tcp,
            default_user_timeout: tcp.endpoint.mechanisms.user_timeout,
            options: options::Options::default(),
            read_shut: false,
            end_reported: false,
            changes: 0,
        })))
    }

    /// `bind`. Port 0 becomes a free one by `listen` or `connect`.
    pub fn bind(&mut self, fd: Fd, address: SocketAddr) -> Outcome<()> {
        let socket = self.socket_mut(fd)?;
        if socket.local.is_some() {
            return Err(Errno::INVALID);
        }
        socket.local = Some(address);
        Ok(())
    }

    /// `listen`.
    pub fn listen(&mut self, fd: Fd, backlog: i32) -> Outcome<()> {
        let socket = self.socket_mut(fd)?;
        // Linux takes one more (`sk_acceptq_is_full`), and all it may if the number is negative.
        socket.tcp.backlog = backlog.cast_unsigned().min(MOST_BACKLOG) as usize + 1;
        match socket.role {
            Role::Fresh => {
                let any = if socket.v6 { IpAddr::V6(Ipv6Addr::UNSPECIFIED) } else { IpAddr::V4(Ipv4Addr::UNSPECIFIED) };
                let local = unmapped(*socket.local.get_or_insert(SocketAddr::new(any, 0)));
                let options = socket.tcp;
                let ids = self.open_listeners(local, &options)?;
                self.socket_mut(fd)?.role = Role::Listener(ids);
                Ok(())
            }
            Role::Listener(_) => self.apply_options(fd),
            Role::Connected(_) => Err(Errno::INVALID),
        }
    }

    /// Listens at `local`. IPv6's unspecified address stands for IPv4's, too (ipv6(7), `IPV6_V6ONLY`).
    fn open_listeners(&mut self, local: SocketAddr, options: &TcpOptions) -> Outcome<Vec<ListenerId>> {
        let first = self.host.listen_with(local, options)?;
        if local.ip() != IpAddr::V6(Ipv6Addr::UNSPECIFIED) {
            return Ok(vec![first]);
        }
        let port = self.host.listens_at(first).map_or(0, |at| at.port());
        match self.host.listen_with(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port), options) {
            Ok(second) => Ok(vec![first, second]),
            Err(error) => {
                self.host.stop_listening(first);
                Err(error.into())
            }
        }
    }

    /// `accept`: the new descriptor and the peer's address.
    pub fn accept(&mut self, fd: Fd) -> Outcome<(Fd, SocketAddr)> {
        let listener = self.socket_of(fd)?.clone();
        let Role::Listener(ids) = &listener.role else {
            return Err(Errno::INVALID);
        };
        let id = ids.iter().find_map(|id| self.host.accept(*id)).ok_or(Errno::AGAIN)?;
        let path = self.host.path(id).ok_or(Errno::AGAIN)?;
        let v6 = listener.v6;
        self.inherit_cork(&listener, id)?;
        let accepted = self.add(Descriptor::Socket(Box::new(Socket {
            role: Role::Connected(id),
            nonblocking: false,
            local: Some(path.src),
            changes: 0,
            ..listener
        })));
        if accepted.is_err() {
            self.host.abort(id)?;
        }
        self.settle();
        Ok((accepted?, mapped(path.dst, v6)))
    }

    /// Corks a new connection if its socket, or the listener it came to, is corked.
    fn inherit_cork(&mut self, socket: &Socket, id: ConnectionId) -> Outcome<()> {
        if socket.options.corked {
            self.host.set_cork(self.now, id, true)?;
        }
        Ok(())
    }

    /// `connect`: starts the handshake; [`connected`](Self::connected) reports its progress.
    pub fn connect(&mut self, fd: Fd, to: SocketAddr) -> Outcome<()> {
        let socket = self.socket_of(fd)?;
        match socket.role {
            Role::Fresh => {}
            Role::Connected(_) => return self.connected(fd, Errno::ALREADY),
            Role::Listener(_) => return Err(Errno::IS_CONNECTED),
        }
        let to = unmapped(to);
        let bound = socket.local.map(unmapped);
        let same_version = |ip: &IpAddr| ip.is_ipv4() == to.is_ipv4();
        let ip = bound.map(|bound| bound.ip()).filter(|ip| !ip.is_unspecified() && same_version(ip));
        let ip = ip.or_else(|| UNBOUND.into_iter().find(same_version)).ok_or(Errno::NETWORK_UNREACHABLE)?;
        let local = SocketAddr::new(ip, bound.map_or(0, |bound| bound.port()));
        let socket = socket.clone();
        let id = self.host.connect_with(self.now, local, to, Some(&socket.tcp))?;
        self.inherit_cork(&socket, id)?;
        let local = self.host.path(id).map(|path| path.src);
        *self.socket_mut(fd)? = Socket { role: Role::Connected(id), local, ..socket };
        self.settle();
        self.connected(fd, Errno::IN_PROGRESS)
    }

    /// Whether the handshake that `connect` started is complete. `pending`: the error until then.
    pub fn connected(&mut self, fd: Fd, pending: Errno) -> Outcome<()> {
        if let Some(error) = self.take_error(fd)? {
            return Err(error);
        }
        let tcp = self.tcp_of(fd)?.ok_or(Errno::NOT_CONNECTED)?;
        match tcp.is_past_handshake() {
            true if tcp.is_closed() => Err(Errno::CONNECTION_RESET),
            true if pending == Errno::ALREADY => Err(Errno::IS_CONNECTED),
            true => Ok(()),
            false => Err(pending),
        }
    }

    /// `send`, or `write`. During a long write, transmits when Linux does.
    pub fn send(&mut self, fd: Fd, bytes: &[u8], flags: SendFlags) -> Outcome<usize> {
        let id = self.connection_of(fd)?.ok_or(Errno::PIPE)?;
        if let Some(error) = self.take_error(fd)? {
            return Err(error);
        }
        let tcp = self.host.connection(id).ok_or(Errno::PIPE)?;
        if tcp.is_write_shut() {
            return Err(Errno::PIPE);
        }
        if !tcp.is_past_handshake() || (!tcp.has_room() && !bytes.is_empty()) {
            self.host.await_room(id)?;
            return Err(Errno::AGAIN);
        }
        let mode = WriteMode { more: flags.more, ends_record: flags.end_of_record };
        let mut sink = sink(self.now, &mut self.packets);
        let sent = self.host.write_with_mode(self.now, id, bytes, mode, &mut sink)?;
        drop(sink);
        self.settle();
        Ok(sent)
    }

    /// `recv`, or `read`. `peek`: the bytes stay in the receive buffer.
    pub fn receive_bytes(&mut self, fd: Fd, count: usize, peek: bool) -> Outcome<Vec<u8>> {
        let id = self.connection_of(fd)?.ok_or(Errno::NOT_CONNECTED)?;
        let tcp = self.host.connection(id).ok_or(Errno::NOT_CONNECTED)?;
        let readable = usize::try_from(tcp.endpoint().readable()).unwrap_or(usize::MAX);
        if readable > 0 {
            let mut bytes = vec![0; count.min(readable)];
            let got = match peek {
                true => self.host.peek(id, &mut bytes)?,
                false => match self.host.read(self.now, id, &mut bytes)? {
                    Read::Bytes(read) => read,
                    Read::Nothing | Read::End => 0,
                },
            };
            bytes.truncate(got);
            self.settle();
            return Ok(bytes);
        }
        let (finished, closed) = (tcp.endpoint().receiver().finished(), tcp.is_closed());
        if !finished && let Some(error) = self.take_error(fd)? {
            return Err(error);
        }
        if finished || closed || self.socket_of(fd)?.read_shut { Ok(Vec::new()) } else { Err(Errno::AGAIN) }
    }

    /// `recvmsg`.
    pub fn receive_message(&mut self, fd: Fd, count: usize, peek: bool) -> Outcome<Received> {
        let bytes = self.receive_bytes(fd, count, peek)?;
        let socket = self.socket_of(fd)?;
        let inq = match socket.options.inq {
            false => None,
            // A FIN counts as one byte when no data is left.
            true if self.inq(fd)? == 0 && self.tcp_of(fd)?.is_some_and(|tcp| socket.is_at_end(tcp)) => Some(1),
            true => Some(self.inq(fd)?),
        };
        Ok(Received { bytes, inq })
    }

    /// Bytes that can be read (`SIOCINQ`).
    pub fn inq(&self, fd: Fd) -> Outcome<i32> {
        self.bytes_of(fd, |tcp| tcp.endpoint().readable())
    }

    fn bytes_of(&self, fd: Fd, bytes: impl Fn(&tcp::Connection) -> u64) -> Outcome<i32> {
        let tcp = self.tcp_of(fd)?.ok_or(Errno::INVALID)?;
        Ok(i32::try_from(bytes(tcp)).unwrap_or(i32::MAX))
    }

    /// Bytes written and not acknowledged (`SIOCOUTQ`).
    pub fn outq(&self, fd: Fd) -> Outcome<i32> {
        self.bytes_of(fd, tcp::Connection::queued)
    }

    /// Bytes written and not sent (`SIOCOUTQNSD`).
    pub fn outq_unsent(&self, fd: Fd) -> Outcome<i32> {
        self.bytes_of(fd, tcp::Connection::unsent)
    }

    /// `shutdown`.
    pub fn shutdown(&mut self, fd: Fd, read: bool, write: bool) -> Outcome<()> {
        let id = self.connection_of(fd)?.ok_or(Errno::NOT_CONNECTED)?;
        if self.host.connection(id).is_none_or(tcp::Connection::is_closed) {
            return Err(Errno::NOT_CONNECTED);
        }
        let socket = self.socket_mut(fd)?;
        socket.changes += u64::from(read && !socket.read_shut);
        socket.read_shut |= read;
        if write {
            self.host.close(self.now, id)?;
        }
        self.settle();
        Ok(())
    }

    /// `close`. Fails if the descriptor is none of these. The connection stays until TCP closes it.
    pub fn close(&mut self, fd: Fd) -> Outcome<()> {
        let what = self.descriptors.remove(&fd);
        match what.ok_or(Errno::BAD_DESCRIPTOR)? {
            Descriptor::Socket(socket) => match socket.role {
                Role::Fresh => {}
                Role::Connected(id) if socket.options.lingers_not_at_all() => self.host.abort(id)?,
                Role::Connected(id) => self.host.release(self.now, id)?,
                Role::Listener(ids) => ids.into_iter().for_each(|id| self.host.stop_listening(id)),
            },
            Descriptor::Epoll(_) | Descriptor::PipeReader(_) | Descriptor::PipeWriter(_) => {}
        }
        for what in self.descriptors.values_mut() {
            if let Descriptor::Epoll(epoll) = what {
                epoll.forget(fd);
            }
        }
        self.settle();
        Ok(())
    }

    /// Whether calls on `fd` must not wait.
    pub fn is_nonblocking(&self, fd: Fd) -> bool {
        self.socket_of(fd).is_ok_and(|socket| socket.nonblocking)
    }

    /// Sets whether calls on `fd` must not wait.
    pub fn set_nonblocking(&mut self, fd: Fd, nonblocking: bool) -> Outcome<()> {
        match self.descriptors.get_mut(&fd) {
            Some(Descriptor::Socket(socket)) => socket.nonblocking = nonblocking,
            Some(_) => {}
            None => return Err(Errno::BAD_DESCRIPTOR),
        }
        Ok(())
    }
}

impl Socket {
    /// Whether there will be nothing to read after what there is.
    pub(super) fn is_at_end(&self, tcp: &tcp::Connection) -> bool {
        tcp.endpoint().receiver().finished() || tcp.is_closed() || self.read_shut
    }
}

/// The address as a socket reports it: an IPv6 socket shows IPv4 addresses as mapped.
fn mapped(address: SocketAddr, v6: bool) -> SocketAddr {
    match address {
        SocketAddr::V4(v4) if v6 => SocketAddr::new(v4.ip().to_ipv6_mapped().into(), v4.port()),
        other => other,
    }
}

/// The address as packets carry it.
fn unmapped(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}
