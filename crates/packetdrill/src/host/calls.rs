//! The system calls on sockets, with Linux's behaviour.

use super::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

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

/// The first ephemeral port.
const EPHEMERAL: u64 = 32_768;

impl Host {
    /// `socket`: TCP over IPv4 or IPv6.
    pub fn socket(&mut self, v6: bool, nonblocking: bool, sysctls: Sysctls) -> Outcome<Fd> {
        let config = self.settings.config(&sysctls, v6);
        let personality = self.settings.personality(&sysctls, &config);
        self.add(Descriptor::Socket(Box::new(Socket {
            role: Role::Fresh,
            v6,
            nonblocking,
            local: None,
            options: options::Options::default(),
            config,
            max_segment: None,
            personality,
        })))
    }
    pub fn bind(&mut self, fd: Fd, address: SocketAddr) -> Outcome<()> {
        let port = match address.port() {
            0 => self.free_port(),
            port => port,
        };
        let socket = self.socket_mut(fd)?;
        if socket.local.is_some() {
            return Err(Errno::INVALID);
        }
        socket.local = Some(SocketAddr::new(address.ip(), port));
        Ok(())
    }

    fn free_port(&mut self) -> u16 {
        (EPHEMERAL + self.number() % 28_000) as u16
    }
    pub fn listen(&mut self, fd: Fd) -> Outcome<()> {
        let port = self.free_port();
        let socket = self.socket_mut(fd)?;
        match socket.role {
            Role::Fresh => {
                let any = if socket.v6 { IpAddr::V6(Ipv6Addr::UNSPECIFIED) } else { IpAddr::V4(Ipv4Addr::UNSPECIFIED) };
                socket.local.get_or_insert(SocketAddr::new(any, port));
                socket.role = Role::Listener { ready: VecDeque::new() };
                Ok(())
            }
            Role::Listener { .. } => Ok(()),
            Role::Connected(_) => Err(Errno::INVALID),
        }
    }

    /// `accept`: the new descriptor and the peer's address.
    pub fn accept(&mut self, fd: Fd) -> Outcome<(Fd, SocketAddr)> {
        let socket = self.socket_mut(fd)?;
        let Role::Listener { ready } = &mut socket.role else {
            return Err(Errno::INVALID);
        };
        let id = ready.pop_front().ok_or(Errno::AGAIN)?;
        let (v6, max_segment, config) = (socket.v6, socket.max_segment, socket.config);
        let (personality, options) = (socket.personality.clone(), socket.options.clone());
        self.arrivals.remove(&id);
        let path = self.connections.get(&id).ok_or(Errno::AGAIN)?.path;
        let new = self.add(Descriptor::Socket(Box::new(Socket {
            role: Role::Connected(id),
            v6,
            nonblocking: false,
            local: Some(path.src),
            max_segment,
            config,
            personality,
            options,
        })))?;
        Ok((new, mapped(path.dst, v6)))
    }

    /// `connect`: starts the handshake; [`connected`](Self::connected) reports its progress.
    pub fn connect(&mut self, fd: Fd, to: SocketAddr) -> Outcome<()> {
        let (id, port) = (self.number(), self.free_port());
        let (now, settings) = (self.now, self.settings.clone());
        let socket = self.socket_mut(fd)?;
        match socket.role {
            Role::Fresh => {}
            Role::Connected(_) => return self.connected(fd, Errno::ALREADY),
            Role::Listener { .. } => return Err(Errno::IS_CONNECTED),
        }
        let to = unmapped(to);
        let local = socket.local.map(unmapped);
        let ip = local.map(|local| local.ip()).filter(|ip| !ip.is_unspecified() && ip.is_ipv4() == to.is_ipv4());
        let ip = ip.unwrap_or(match to {
            SocketAddr::V4(_) => Ipv4Addr::new(192, 0, 2, 254).into(),
            SocketAddr::V6(_) => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0xfe).into(),
        });
        let src = SocketAddr::new(ip, local.map_or(port, |local| local.port()));
        socket.local = Some(src);
        socket.role = Role::Connected(id);
        let path = Endpoints { src, dst: to };
        let config = socket.config_of(id, &path, &settings);
        let personality = socket.personality.clone();
        let mut connection = Connection::new(&config, false, path, personality);
        let mut out = Vec::new();
        connection.transmit(now, &mut out);
        self.connections.insert(id, connection);
        self.packets.extend(out);
        self.connected(fd, Errno::IN_PROGRESS)
    }

    /// Whether the handshake that `connect` started is complete. `pending`: the error until then.
    pub fn connected(&mut self, fd: Fd, pending: Errno) -> Outcome<()> {
        let connection = self.connection_mut(fd)?.ok_or(Errno::NOT_CONNECTED)?;
        if let Some(error) = connection.take_error() {
            return Err(error);
        }
        match connection.tcp.is_past_handshake() {
            true if connection.tcp.is_closed() => Err(Errno::CONNECTION_RESET),
            true if pending == Errno::ALREADY => Err(Errno::IS_CONNECTED),
            true => Ok(()),
            false => Err(pending),
        }
    }

    /// `send`, or `write`.
    pub fn send(&mut self, fd: Fd, bytes: &[u8], flags: SendFlags) -> Outcome<usize> {
        let now = self.now;
        let mode = WriteMode { more: flags.more, ends_record: flags.end_of_record };
        let mut out = Vec::new();
        let connection = self.connection_mut(fd)?.ok_or(Errno::PIPE)?;
        let sent = connection.write(now, bytes, mode, &mut out);
        self.packets.extend(out);
        sent
    }

    /// `recv`, or `read`.
    pub fn receive_bytes(&mut self, fd: Fd, count: usize, peek: bool) -> Outcome<Vec<u8>> {
        let now = self.now;
        let connection = self.connection_mut(fd)?.ok_or(Errno::NOT_CONNECTED)?;
        let bytes = connection.read(now, count, peek)?;
        self.transmit(fd);
        Ok(bytes)
    }

    /// `recvmsg`.
    pub fn receive_message(&mut self, fd: Fd, count: usize, peek: bool) -> Outcome<Received> {
        let bytes = self.receive_bytes(fd, count, peek)?;
        let inq = match self.socket_of(fd)?.options.inq {
            false => None,
            // A FIN counts as one byte when no data is left.
            true if self.inq(fd)? == 0 && self.connection_of(fd)?.is_some_and(Connection::at_end) => Some(1),
            true => Some(self.inq(fd)?),
        };
        Ok(Received { bytes, inq })
    }

    /// Bytes that can be read (`SIOCINQ`).
    pub fn inq(&self, fd: Fd) -> Outcome<i32> {
        self.bytes_of(fd, |tcp| tcp.endpoint().readable())
    }

    fn bytes_of(&self, fd: Fd, bytes: impl Fn(&recoup_tcp::Connection) -> u64) -> Outcome<i32> {
        let connection = self.connection_of(fd)?.ok_or(Errno::INVALID)?;
        Ok(i32::try_from(bytes(&connection.tcp)).unwrap_or(i32::MAX))
    }

    /// Bytes written and not acknowledged (`SIOCOUTQ`).
    pub fn outq(&self, fd: Fd) -> Outcome<i32> {
        self.bytes_of(fd, recoup_tcp::Connection::queued)
    }

    /// Bytes written and not sent (`SIOCOUTQNSD`).
    pub fn outq_unsent(&self, fd: Fd) -> Outcome<i32> {
        self.bytes_of(fd, recoup_tcp::Connection::unsent)
    }
    pub fn shutdown(&mut self, fd: Fd, read: bool, write: bool) -> Outcome<()> {
        let now = self.now;
        let connection = self.connection_mut(fd)?.ok_or(Errno::NOT_CONNECTED)?;
        if connection.tcp.is_closed() {
            return Err(Errno::NOT_CONNECTED);
        }
        connection.read_shut |= read;
        if write {
            connection.tcp.close(now);
        }
        self.transmit(fd);
        Ok(())
    }

    /// `close`. Fails if the descriptor does not belong to this host. The connection stays until TCP closes
    /// it.
    pub fn close(&mut self, fd: Fd) -> Outcome<()> {
        let now = self.now;
        let what = self.descriptors.remove(&fd);
        match what.ok_or(Errno::BAD_DESCRIPTOR)? {
            Descriptor::Socket(socket) => {
                let reset = socket.options.lingers_not_at_all();
                match socket.role {
                    Role::Fresh => {}
                    Role::Connected(id) => self.release(now, id, reset),
                    Role::Listener { .. } => {
                        let mine = self.arrivals.iter().filter(|(_, of)| **of == fd);
                        let mine: Vec<ConnectionId> = mine.map(|(id, _)| *id).collect();
                        for id in mine {
                            self.arrivals.remove(&id);
                            self.release(now, id, true);
                        }
                    }
                }
            }
            Descriptor::Epoll(_) | Descriptor::PipeReader(_) | Descriptor::PipeWriter(_) => {}
        }
        for what in self.descriptors.values_mut() {
            if let Descriptor::Epoll(epoll) = what {
                epoll.forget(fd);
            }
        }
        Ok(())
    }

    fn release(&mut self, now: Instant, id: ConnectionId, reset: bool) {
        let mut out = Vec::new();
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.release_descriptor(now, reset);
            connection.transmit(now, &mut out);
        }
        self.packets.extend(out);
        self.sweep();
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
