//! System calls on a guest's socket.
//!
//! A guest has the calls of [`recoup_guest::Input`]. A script that needs more of the sockets, or looks into the stack, does
//! not apply to it.

use super::{
    Runner, Stop,
    arguments::word,
    calls::{Attempt, done, error, waits},
    guest::GuestHost,
    sockets::{Role, Socket},
};
use crate::script::{Call, Expression};
use recoup_guest::{Ended, Input};

/// Options that say nothing about packets.
const OF_NO_MATTER: [&str; 3] = ["SO_REUSEADDR", "SO_REUSEPORT", "SO_SNDBUF"];

impl<'a> Runner<'a> {
    /// A call on descriptor `fd`; `first` is true at the first attempt.
    pub fn guest_call(&mut self, call: &Call, fd: i64, first: bool) -> Result<Attempt, Stop> {
        match call.name.as_str() {
            "bind" => done(0),
            "fcntl" => self.fcntl(call, fd),
            "listen" => {
                self.stream(fd)?.role = Role::Listener;
                self.guest_begins(Input::Listen)?;
                done(0)
            }
            "connect" => self.guest_connects(fd, first),
            "accept" => self.guest_accepts(call, fd),
            "write" | "send" | "sendto" | "writev" | "sendmsg" => {
                let (len, _) = self.transfer(call)?;
                self.guest_writes(fd, len)
            }
            "read" | "recv" | "recvfrom" | "readv" | "recvmsg" => {
                let (len, _) = self.transfer(call)?;
                self.guest_reads(fd, len)
            }
            "close" => self.guest_closes(fd),
            "shutdown" => match self.number(call, 1, "SHUT_RD, SHUT_WR or SHUT_RDWR")? {
                1 => self.guest_shuts(),
                _ => Err(self.not_applicable("`shutdown` with SHUT_RD is no call of a guest")),
            },
            "setsockopt" => self.guest_option(call, fd),
            name => Err(self.not_applicable(format!("`{name}` is no call of a guest"))),
        }
    }

    /// The script does not apply to the guest, for this reason.
    pub fn not_applicable(&self, reason: impl Into<String>) -> Stop {
        Stop::NotApplicable { line: self.place.line, reason: reason.into() }
    }

    fn guest(&self) -> Option<&GuestHost<'a>> {
        self.host.guest.as_ref()
    }

    fn guest_begins(&mut self, how: Input<'_>) -> Result<(), Stop> {
        if self.guest().is_some_and(GuestHost::has_begun) {
            return Err(self.not_applicable("a guest has one connection, and it has begun"));
        }
        self.on_host(|host| host.guest_begin(how))
    }

    fn ended(&self) -> Option<&'static str> {
        match self.guest()?.status.ended? {
            Ended::Closed => None,
            Ended::Reset => Some("ECONNRESET"),
            Ended::TimedOut => Some("ETIMEDOUT"),
        }
    }

    fn opened(&self) -> bool {
        self.guest().is_some_and(|guest| guest.status.open)
    }

    fn guest_connects(&mut self, fd: i64, first: bool) -> Result<Attempt, Stop> {
        let nonblocking = self.stream(fd)?.nonblocking;
        if first && self.stream(fd)?.role == Role::Fresh {
            self.stream(fd)?.role = Role::Connection;
            self.guest_begins(Input::Connect)?;
            return waits(nonblocking, "EINPROGRESS");
        }
        if self.opened() {
            return done(0);
        }
        match self.ended() {
            Some("ECONNRESET") => error("ECONNREFUSED"),
            Some(code) => error(code),
            None => waits(nonblocking, "EALREADY"),
        }
    }

    fn guest_accepts(&mut self, call: &Call, fd: i64) -> Result<Attempt, Stop> {
        let nonblocking = self.stream(fd)?.nonblocking;
        if self.sockets.accepted || !self.opened() {
            return waits(nonblocking, "EAGAIN");
        }
        let new = self.new_fd(call)?;
        self.sockets.accepted = true;
        let connection = Socket { role: Role::Connection, connect_reported: true, ..Socket::new(false) };
        self.sockets.streams.insert(new, connection);
        done(new)
    }

    /// The application has a buffer of its own: what the guest does not take now is written when there is room.
    fn guest_writes(&mut self, fd: i64, len: u64) -> Result<Attempt, Stop> {
        let nonblocking = self.stream(fd)?.nonblocking;
        if let Some(code) = self.ended() {
            return error(code);
        }
        if self.guest().is_some_and(|guest| guest.closed) {
            return error("EPIPE");
        }
        if !self.opened() {
            return waits(nonblocking, "EAGAIN");
        }
        if let Some(guest) = &mut self.host.guest {
            guest.unwritten = guest.unwritten.saturating_add(len);
        }
        self.on_host(|host| host.guest_step(Input::Wake))?;
        done(i64::try_from(len).unwrap_or(i64::MAX))
    }

    fn guest_reads(&mut self, fd: i64, len: u64) -> Result<Attempt, Stop> {
        let nonblocking = self.stream(fd)?.nonblocking;
        let status = self.guest().map(|guest| guest.status).unwrap_or_default();
        if status.readable > 0 && len > 0 {
            self.on_host(|host| host.guest_step(Input::Read(len)))?;
            let taken = self.guest().map_or(0, |guest| guest.status.taken);
            return done(i64::try_from(taken).unwrap_or(i64::MAX));
        }
        if status.finished || len == 0 {
            return done(0);
        }
        match self.ended() {
            Some(code) => error(code),
            None => waits(nonblocking, "EAGAIN"),
        }
    }

    /// Closing is the end of writing: the peer sees no more of it while nothing is left unread.
    fn guest_closes(&mut self, fd: i64) -> Result<Attempt, Stop> {
        let Some(socket) = self.sockets.streams.remove(&fd) else {
            return error("EBADF");
        };
        match socket.role {
            Role::Connection if socket.linger_zero => self.on_host(|host| host.guest_step(Input::Reset))?,
            Role::Connection => return self.guest_shuts(),
            Role::Listener | Role::Fresh => {}
        }
        done(0)
    }

    fn guest_shuts(&mut self) -> Result<Attempt, Stop> {
        let waits = self.guest().is_some_and(|guest| guest.unwritten > 0);
        if waits {
            return Err(self.not_applicable("the guest's send buffer has no room for what is written before it closes"));
        }
        if let Some(guest) = &mut self.host.guest
            && !std::mem::replace(&mut guest.closed, true)
        {
            self.on_host(|host| host.guest_step(Input::Close))?;
        }
        done(0)
    }

    /// An option that a guest may have is asked for by its name before the guest begins.
    fn guest_option(&mut self, call: &Call, fd: i64) -> Result<Attempt, Stop> {
        let (option, _) = self.argument(call, 2, "an option")?;
        let name = word(option);
        if OF_NO_MATTER.contains(&name) {
            return done(0);
        }
        if name == "SO_LINGER" {
            return self.setsockopt(call, fd).and_then(|code| code.map_or(done(0), error));
        }
        let (option, value) = match name {
            "TCP_NODELAY" => ("no-delay", (self.number(call, 3, "0 or 1")? != 0).to_string()),
            "TCP_MAXSEG" => ("max-segment", self.number(call, 3, "an MSS")?.to_string()),
            "SO_RCVBUF" => ("receive-buffer", self.length(call, 3)?.to_string()),
            "TCP_CONGESTION" => match self.argument(call, 3, "\"reno\" or \"cubic\"")? {
                (Expression::Text(text), _) => ("congestion", text.clone()),
                (_, place) => return crate::error::wrong(place, "expected \"reno\" or \"cubic\""),
            },
            _ => return Err(self.not_applicable(format!("`{name}` is no option of a guest"))),
        };
        if self.guest().is_some_and(GuestHost::has_begun) {
            return Err(self.not_applicable(format!("`{name}`: a guest's options are set before it begins")));
        }
        if let Some(guest) = &mut self.host.guest {
            guest.option(option, value);
        }
        done(0)
    }
}
