//! Sockets by descriptor, as POSIX and Linux have them, over the stack's host.
//!
//! ```text
//!   runtime ── calls, packets, time ──► Sockets ──► recoup_stack::host::Host ──► packets
//!                                          ▲                  │
//!                                          └───── events ─────┘
//! ```
//!
//! [`Host`] is all that a host is: connections by their ends, listeners and their queues, timers, initial sequence
//! numbers, resets, ICMP, ECN, fragments. It keeps nothing of sockets. [`Sockets`] adds what POSIX and Linux make of
//! it: descriptors, error numbers, options, `poll` and `epoll`, pipes. A [`Socket`] refers to its connection or
//! its listeners by their ids, and keeps its options, which the host takes as [`TcpOptions`].
//!
//! Time is virtual. Each call hands the host the present time and ends with [`Sockets::settle`], in which the host sends
//! what there is to send, and its events become changes that `epoll` compares.
//!
//! | module | contents |
//! | --- | --- |
//! | `calls` | the system calls on sockets |
//! | `errors` | error numbers of how connections end |
//! | `options` | `setsockopt` and `getsockopt` |
//! | `pipes` | `pipe` and `splice` |
//! | `readiness` | `poll` and `epoll` |
//!
//! This module is safe Rust, driven by calls and by the clock. Nothing blocks or sleeps: a call that would
//! block returns `EAGAIN`, and [`crate::runtime`] makes it wait.

mod calls;
mod errors;
mod options;
mod pipes;
mod readiness;

pub use calls::{Received, SendFlags};
pub use readiness::Interest;

use crate::{
    errno::{Errno, Outcome},
    settings::Settings,
};
use pipes::Pipe;
use readiness::Epoll;
use recoup_stack::{
    Config, TcpOptions,
    host::{ConnectionId, Event, Host, ListenerId, Secret},
};
use recoup_tcp::{self as tcp, sysctl::Sysctls};
use recoup_units::Instant;
use std::{
    collections::{BTreeMap, VecDeque},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    os::fd::IntoRawFd,
    time::Duration,
};

/// A file descriptor.
pub type Fd = i32;

/// The addresses of sockets that connect and are not bound.
const UNBOUND: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(192, 0, 2, 254)), IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0xfe))];

/// Object that a descriptor refers to.
#[derive(Debug)]
enum Descriptor {
    Socket(Box<Socket>),
    Epoll(Epoll),
    PipeReader(u64),
    PipeWriter(u64),
}

#[derive(Clone, Debug)]
struct Socket {
    role: Role,
    /// Whether it is an IPv6 socket, which shows IPv4 peers as mapped addresses.
    v6: bool,
    nonblocking: bool,
    local: Option<SocketAddr>,
    tcp: TcpOptions,
    /// How long data may stay unacknowledged where `TCP_USER_TIMEOUT` does not say.
    default_user_timeout: Duration,
    options: options::Options,
    /// Whether the application has shut down the read side.
    read_shut: bool,
    /// Whether a call has reported how the connection ended.
    end_reported: bool,
    /// How often something happened that edge-triggered `epoll` reports.
    changes: u64,
}

/// The state of a socket.
#[derive(Clone, Debug)]
enum Role {
    Fresh,
    /// An IPv6 socket may have one for IPv4, too.
    Listener(Vec<ListenerId>),
    Connected(ConnectionId),
}

/// A packet that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// When it was sent.
    pub at: Instant,
    /// The IP packet.
    pub bytes: Vec<u8>,
}

/// All descriptors, the host behind them, and the clock; see the [module](self).
#[derive(Debug)]
pub struct Sockets {
    now: Instant,
    settings: Settings,
    host: Host,
    descriptors: BTreeMap<Fd, Descriptor>,
    pipes: BTreeMap<u64, Pipe>,
    packets: VecDeque<Packet>,
}

impl Sockets {
    /// None yet, at time zero.
    pub fn new(settings: Settings) -> Self {
        // Scripts say what addresses the stack has, but only to packetdrill.
        let config = Config { every_address: true, answer_any_echo: true, answer_each: true, ..Config::new(UNBOUND) };
        // A script runs alike each time.
        let secret = Secret::from_key([0; 16]);
        Self {
            now: Instant::ZERO,
            host: Host::new(config, settings.mtu(), secret),
            settings,
            descriptors: BTreeMap::new(),
            pipes: BTreeMap::new(),
            packets: VecDeque::new(),
        }
    }

    /// The virtual time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Whether `fd` is one of these descriptors.
    pub fn knows(&self, fd: Fd) -> bool {
        self.descriptors.contains_key(&fd)
    }

    /// Allocates a descriptor for `what`. It is a real file descriptor, so the number stays unique in the
    /// process, and other code can close it.
    fn add(&mut self, what: Descriptor) -> Outcome<Fd> {
        let place =
            std::fs::File::open("/dev/null").map_err(|error| Errno(error.raw_os_error().unwrap_or(libc::EMFILE)))?;
        let fd = place.into_raw_fd();
        self.descriptors.insert(fd, what);
        Ok(fd)
    }

    fn socket_of(&self, fd: Fd) -> Outcome<&Socket> {
        match self.descriptors.get(&fd) {
            Some(Descriptor::Socket(socket)) => Ok(socket),
            Some(_) => Err(Errno::NOT_SOCKET),
            None => Err(Errno::BAD_DESCRIPTOR),
        }
    }

    fn socket_mut(&mut self, fd: Fd) -> Outcome<&mut Socket> {
        match self.descriptors.get_mut(&fd) {
            Some(Descriptor::Socket(socket)) => Ok(socket),
            Some(_) => Err(Errno::NOT_SOCKET),
            None => Err(Errno::BAD_DESCRIPTOR),
        }
    }

    /// The connection of a socket, if it has one.
    fn connection_of(&self, fd: Fd) -> Outcome<Option<ConnectionId>> {
        Ok(match self.socket_of(fd)?.role {
            Role::Connected(id) => Some(id),
            _ => None,
        })
    }

    /// The TCP of a socket's connection, if it has one.
    fn tcp_of(&self, fd: Fd) -> Outcome<Option<&tcp::Connection>> {
        Ok(self.connection_of(fd)?.and_then(|id| self.host.connection(id)))
    }

    /// When the next event occurs without a call or a packet.
    pub fn next_event(&self) -> Option<Instant> {
        self.host.next_timer()
    }

    /// Advances the clock to `until`, or to the next event if that is earlier. Returns whether `until` was
    /// reached.
    pub fn advance(&mut self, until: Instant) -> bool {
        match self.next_event().filter(|at| *at <= until) {
            Some(at) => {
                self.now = self.now.max(at);
                self.host.on_timer(self.now);
                self.settle();
                false
            }
            None => {
                self.now = self.now.max(until);
                true
            }
        }
    }

    /// Removes and returns the next packet sent.
    pub fn next_packet(&mut self) -> Option<Packet> {
        self.packets.pop_front()
    }

    /// Processes an IP packet.
    pub fn receive(&mut self, bytes: &[u8]) {
        self.host.on_packet(self.now, bytes, &mut sink(self.now, &mut self.packets));
        self.settle();
    }

    /// Lets the host send what there is to send, and notes its events.
    fn settle(&mut self) {
        let mut sink = sink(self.now, &mut self.packets);
        while self.host.poll_transmit(self.now, &mut sink) {}
        drop(sink);
        while let Some(event) = self.host.next_event() {
            self.note(&event);
        }
    }

    /// Something happened to a connection.
    fn note(&mut self, event: &Event) {
        let listener = self.host.listener(event.connection).filter(|_| event.opened);
        for what in self.descriptors.values_mut() {
            let Descriptor::Socket(socket) = what else {
                continue;
            };
            let concerned = match &socket.role {
                Role::Fresh => false,
                Role::Listener(ids) => listener.is_some_and(|id| ids.contains(&id)),
                Role::Connected(id) => *id == event.connection,
            };
            socket.changes += u64::from(concerned);
        }
    }
}

/// Where the host's packets go.
fn sink(at: Instant, packets: &mut VecDeque<Packet>) -> impl FnMut(&[u8]) {
    move |bytes| packets.push_back(Packet { at, bytes: bytes.to_vec() })
}
