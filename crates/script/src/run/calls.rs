//! Runs system calls.

use super::{
    Runner, Stop,
    arguments::word,
    host::Host,
    sockets::{Role, Socket, fatal_error, has_opened},
};
use crate::{
    error::{Wrong, wrong},
    script::{Call, Expression, Note},
};
use recoup_tcp::{Config, Endpoint, State};
use recoup_units::Instant;

/// The result of a call.
#[derive(Clone, Debug, Default)]
pub(super) struct Returned {
    pub value: i64,
    pub error: Option<&'static str>,
    /// How the call's output differs from the script's expectation.
    pub mismatch: Option<String>,
}

pub(super) enum Attempt {
    Returned(Returned),
    /// The call blocks; it returns at `wakes_at` at the latest.
    Blocks {
        wakes_at: Option<Instant>,
    },
}

pub(super) fn done(value: i64) -> Result<Attempt, Stop> {
    Ok(Attempt::Returned(Returned { value, ..Returned::default() }))
}

pub(super) fn error(error: &'static str) -> Result<Attempt, Stop> {
    Ok(Attempt::Returned(Returned { value: -1, error: Some(error), mismatch: None }))
}

/// A call blocks, or fails with `code` on a socket that does not block.
pub(super) fn waits(nonblocking: bool, code: &'static str) -> Result<Attempt, Stop> {
    if nonblocking { error(code) } else { Ok(Attempt::Blocks { wakes_at: None }) }
}

const IPPROTO_TCP: i64 = 6;
const O_NONBLOCK: i64 = 0o4000;
const MSG_DONTWAIT: i64 = 0x40;
const MSG_PEEK: i64 = 2;
const MSG_NOSIGNAL: i64 = 0x4000;

impl Runner<'_> {
    /// Tries a call that began at `begun`; `first` is true at the first attempt.
    pub fn attempt(&mut self, call: &Call, begun: Instant, first: bool) -> Result<Attempt, Stop> {
        if self.host.guest.is_some() && call.name.contains("poll") {
            return Err(self.not_applicable(format!("`{}` is no call of a guest", call.name)));
        }
        match call.name.as_str() {
            "socket" => self.socket(call),
            "epoll_create" | "epoll_create1" => {
                let fd = self.new_fd(call)?;
                self.sockets.epolls.insert(fd, Default::default());
                done(fd)
            }
            "poll" => self.poll(call, begun),
            _ => {
                let fd = self.number(call, 0, "a descriptor")?;
                if self.sockets.epolls.contains_key(&fd) {
                    return self.epoll(call, fd, begun);
                }
                if !self.sockets.streams.contains_key(&fd) {
                    return error("EBADF");
                }
                match self.host.guest {
                    Some(_) => self.guest_call(call, fd, first),
                    None => self.socket_call(call, fd, first),
                }
            }
        }
    }

    fn socket_call(&mut self, call: &Call, fd: i64, first: bool) -> Result<Attempt, Stop> {
        match call.name.as_str() {
            "bind" => done(0),
            "listen" => self.listen(fd),
            "connect" => self.connect(fd, first),
            "accept" => self.accept(call, fd),
            "write" | "send" | "sendto" | "writev" | "sendmsg" => {
                let (len, flags) = self.transfer(call)?;
                self.write(fd, len, flags)
            }
            "read" | "recv" | "recvfrom" | "readv" | "recvmsg" => {
                let (len, flags) = self.transfer(call)?;
                self.read(fd, len, flags)
            }
            "close" => self.close(fd),
            "shutdown" => self.shutdown(call, fd),
            "fcntl" => self.fcntl(call, fd),
            "ioctl" => self.ioctl(call, fd),
            "setsockopt" => self.setsockopt(call, fd).and_then(|e| e.map_or(done(0), error)),
            "getsockopt" => self.getsockopt(call, fd),
            _ => error("EINVAL"), // an epoll call of a socket
        }
    }

    pub fn stream(&mut self, fd: i64) -> Result<&mut Socket, Stop> {
        let place = self.place;
        let socket = self.sockets.streams.get_mut(&fd);
        socket.ok_or_else(|| Wrong::new(place, format!("descriptor {fd} is no socket")).into())
    }

    /// The bytes that a call reads or writes, and its flags.
    pub fn transfer(&self, call: &Call) -> Result<(u64, i64), Stop> {
        match call.name.as_str() {
            "writev" | "readv" => {
                let (value, place) = self.argument(call, 1, "buffers")?;
                Ok((self.vector(value, place)?, 0))
            }
            "sendmsg" | "recvmsg" => Ok((self.message(call, 1)?, self.message_flags(call, 2)?)),
            _ => Ok((self.length(call, 2)?, self.message_flags(call, 3)?)),
        }
    }

    /// The flags of a call that sends or receives; 0 without flags.
    fn message_flags(&self, call: &Call, index: usize) -> Result<i64, Stop> {
        let Some(argument) = call.arguments.get(index) else {
            return Ok(0);
        };
        let flags = match &argument.value {
            Expression::Any => 0,
            value => Self::integer(value, argument.place)?,
        };
        match flags & !(MSG_DONTWAIT | MSG_NOSIGNAL) {
            0 => Ok(flags),
            _ => wrong(
                argument.place,
                format!("flags of `{}`: only MSG_DONTWAIT and MSG_NOSIGNAL are supported", call.name),
            ),
        }
    }

    /// A new descriptor, with the number that the script gives it.
    pub fn new_fd(&self, call: &Call) -> Result<i64, Stop> {
        match &call.result {
            Expression::Integer(fd) if *fd >= 0 => {
                if self.sockets.is_used(*fd) {
                    wrong(self.place, format!("descriptor {fd} is in use"))
                } else {
                    Ok(*fd)
                }
            }
            _ => Ok(self.sockets.free()),
        }
    }

    fn socket(&mut self, call: &Call) -> Result<Attempt, Stop> {
        let kind = self.number(call, 1, "SOCK_STREAM")?;
        if kind & 0xf != 1 {
            return wrong(self.place, "only SOCK_STREAM sockets are supported");
        }
        self.only_tcp(call)?;
        let fd = self.new_fd(call)?;
        let nonblocking = kind & O_NONBLOCK != 0;
        self.sockets.streams.insert(fd, Socket::new(nonblocking));
        done(fd)
    }

    /// Checks the protocol of a stream socket, if it is given; 0 means TCP.
    fn only_tcp(&self, call: &Call) -> Result<(), Stop> {
        let (protocol, place) = self.argument(call, 2, "IPPROTO_TCP")?;
        match protocol {
            Expression::Any => Ok(()),
            _ if matches!(Self::integer(protocol, place)?, 0 | IPPROTO_TCP) => Ok(()),
            _ => wrong(place, "only TCP is supported, expected IPPROTO_TCP or 0"),
        }
    }

    fn listen(&mut self, fd: i64) -> Result<Attempt, Stop> {
        if self.stream(fd)?.role == Role::Listener {
            return done(0);
        }
        self.only_connection()?;
        self.stream(fd)?.role = Role::Listener;
        self.host.endpoint = Some(Endpoint::listen(&self.config_of(fd)));
        done(0)
    }

    fn only_connection(&self) -> Result<(), Stop> {
        match self.host.endpoint {
            None => Ok(()),
            Some(_) => wrong(self.place, "a script has one connection: another socket listens or connects already"),
        }
    }

    fn connect(&mut self, fd: i64, first: bool) -> Result<Attempt, Stop> {
        let socket = self.stream(fd)?;
        let (role, nonblocking, told) = (socket.role, socket.nonblocking, socket.connect_reported);
        if role == Role::Listener {
            return error("EISCONN");
        }
        if role == Role::Fresh {
            self.only_connection()?;
            self.stream(fd)?.role = Role::Connection;
            self.host.endpoint = Some(Endpoint::connect(&self.config_of(fd)));
            self.on_host(Host::transmit)?;
            return waits(nonblocking, "EINPROGRESS");
        }
        let endpoint = self.host.endpoint.as_ref();
        if let Some(failed) = endpoint.and_then(|e| fatal_error(e, !told)) {
            self.stream(fd)?.error_reported = true;
            return error(failed);
        }
        if endpoint.is_some_and(has_opened) {
            self.stream(fd)?.connect_reported = true;
            return if told && first { error("EISCONN") } else { done(0) };
        }
        waits(nonblocking, "EALREADY")
    }

    /// The configuration of a connection by the options of its socket.
    pub fn config_of(&self, fd: i64) -> Config {
        self.setup.config(Some(&self.sockets.streams[&fd].options), self.host.numbers.local)
    }

    fn accept(&mut self, call: &Call, fd: i64) -> Result<Attempt, Stop> {
        let socket = self.stream(fd)?;
        let (role, nonblocking, options) = (socket.role, socket.nonblocking, socket.options);
        if role != Role::Listener {
            return error("EINVAL");
        }
        let ready = !self.sockets.accepted && self.host.endpoint.as_ref().is_some_and(has_opened);
        if !ready {
            return waits(nonblocking, "EAGAIN");
        }
        let new = self.new_fd(call)?;
        self.sockets.accepted = true;
        let connection = Socket { role: Role::Connection, options, connect_reported: true, ..Socket::new(false) };
        self.sockets.streams.insert(new, connection);
        done(new)
    }

    /// The connection's endpoint, or the error without a connection.
    fn connected(&mut self, fd: i64) -> Result<Result<&mut Endpoint, &'static str>, Stop> {
        let role = self.stream(fd)?.role;
        Ok(match &mut self.host.endpoint {
            Some(endpoint) if role == Role::Connection => Ok(endpoint),
            _ => Err("ENOTCONN"),
        })
    }

    /// The error that ended the connection, reported once.
    pub fn take_error(&mut self, fd: i64) -> Result<Option<&'static str>, Stop> {
        let socket = self.stream(fd)?;
        if socket.role != Role::Connection || socket.error_reported {
            return Ok(None);
        }
        let connecting = !socket.connect_reported;
        let failed = self.host.endpoint.as_ref().and_then(|e| fatal_error(e, connecting));
        self.stream(fd)?.error_reported = failed.is_some();
        Ok(failed)
    }

    fn write(&mut self, fd: i64, len: u64, flags: i64) -> Result<Attempt, Stop> {
        let nonblocking = self.stream(fd)?.nonblocking || flags & MSG_DONTWAIT != 0;
        if let Some(failed) = self.take_error(fd)? {
            return error(failed);
        }
        let endpoint = match self.connected(fd)? {
            Ok(endpoint) => endpoint,
            Err(_) => return error("EPIPE"), // as Linux says of a socket never connected
        };
        if matches!(endpoint.state(), State::Closed(_)) || endpoint.sender().fin().is_some() {
            return error("EPIPE");
        }
        if !has_opened(endpoint) {
            return waits(nonblocking, "EAGAIN");
        }
        self.on_host(|host| host.write(len))?;
        done(len as i64)
    }

    fn read(&mut self, fd: i64, len: u64, flags: i64) -> Result<Attempt, Stop> {
        debug_assert!(flags & MSG_PEEK == 0);
        let nonblocking = self.stream(fd)?.nonblocking || flags & MSG_DONTWAIT != 0;
        let now = self.host.now;
        let endpoint = match self.connected(fd)? {
            Ok(endpoint) => endpoint,
            Err(failed) => return error(failed),
        };
        let taken = endpoint.readable().min(len);
        if taken > 0 {
            endpoint.read(now, taken);
            return done(taken as i64);
        }
        let ended = endpoint.receiver().finished() || matches!(endpoint.state(), State::Closed(_));
        let over = ended || self.stream(fd)?.reading_over;
        if let Some(failed) = self.take_error(fd)? {
            return error(failed);
        }
        if over || len == 0 { done(0) } else { waits(nonblocking, "EAGAIN") }
    }

    fn close(&mut self, fd: i64) -> Result<Attempt, Stop> {
        let Some(socket) = self.sockets.streams.remove(&fd) else {
            return error("EBADF");
        };
        for interest in self.sockets.epolls.values_mut() {
            interest.remove(&fd);
        }
        let now = self.host.now;
        let Some(endpoint) = &mut self.host.endpoint else {
            return done(0);
        };
        match socket.role {
            Role::Connection => endpoint.release(now, socket.linger_zero),
            Role::Listener if endpoint.state() == State::Listen => self.host.endpoint = None,
            Role::Listener | Role::Fresh => {}
        }
        done(0)
    }

    fn shutdown(&mut self, call: &Call, fd: i64) -> Result<Attempt, Stop> {
        let how = self.number(call, 1, "SHUT_RD, SHUT_WR or SHUT_RDWR")?;
        let now = self.host.now;
        match self.connected(fd)? {
            Ok(endpoint) if how != 0 => endpoint.close(now),
            Ok(_) => {}
            Err(failed) => return error(failed),
        }
        self.stream(fd)?.reading_over |= how != 1;
        done(0)
    }

    pub fn fcntl(&mut self, call: &Call, fd: i64) -> Result<Attempt, Stop> {
        let (command, _) = self.argument(call, 1, "F_GETFL or F_SETFL")?;
        match word(command) {
            "F_GETFL" => {
                let nonblocking = self.stream(fd)?.nonblocking;
                done(2 | if nonblocking { O_NONBLOCK } else { 0 })
            }
            "F_SETFL" => {
                let flags = self.number(call, 2, "flags")?;
                self.stream(fd)?.nonblocking = flags & O_NONBLOCK != 0;
                done(0)
            }
            "F_GETFD" | "F_SETFD" => done(0),
            other => wrong(self.place, format!("fcntl `{other}` is not supported, expected F_GETFL or F_SETFL")),
        }
    }

    fn ioctl(&mut self, call: &Call, fd: i64) -> Result<Attempt, Stop> {
        let (request, place) = self.argument(call, 1, "SIOCINQ, SIOCOUTQ or SIOCOUTQNSD")?;
        let endpoint = match self.connected(fd)? {
            Ok(endpoint) => endpoint,
            Err(failed) => return error(failed),
        };
        let sender = endpoint.sender();
        let value = match word(request) {
            "SIOCINQ" | "FIONREAD" => endpoint.readable(),
            "SIOCOUTQ" => sender.limit().since(sender.una()),
            "SIOCOUTQNSD" => sender.limit().since(sender.nxt()),
            other => {
                return wrong(
                    place,
                    format!("ioctl `{other}` is not supported, expected SIOCINQ, SIOCOUTQ or SIOCOUTQNSD"),
                );
            }
        };
        self.wrote(call, 2, word(request), value)
    }

    /// Compares the `value` that the call wrote with the expected one, its argument at `index`.
    pub fn wrote(&self, call: &Call, index: usize, name: &str, value: u64) -> Result<Attempt, Stop> {
        let (expected, place) = self.argument(call, index, "the value expected, as in `[0]`")?;
        let mismatch = match expected {
            Expression::Any => None,
            expected => {
                let expected = Self::integer(expected, place)?;
                (i64::try_from(value) != Ok(expected)).then(|| format!("{name} is {value}, expected {expected}"))
            }
        };
        Ok(Attempt::Returned(Returned { value: 0, error: None, mismatch }))
    }

    pub fn note(&mut self, text: impl Into<String>) {
        let line = self.place.line;
        self.notes.push(Note::without_effect(line, text));
    }
}
