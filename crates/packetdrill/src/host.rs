//! The host: sockets by descriptor, the connections behind them, and one virtual clock.
//!
//! This module is safe Rust, driven by calls and by the clock. Nothing blocks or sleeps: a call that would
//! block returns `EAGAIN`, and [`crate::runtime`] makes it wait.

mod calls;
mod connection;
mod options;
mod packet;
mod pipes;
mod readiness;

pub use calls::{Received, SendFlags};
pub use connection::Connection;
pub use packet::Packet;
pub use readiness::Interest;

use crate::{
    errno::{Errno, Outcome},
    settings::{Personality, Settings},
};
use pipes::Pipe;
use readiness::Epoll;
use recoup_tcp::{Config, Endpoint, WriteMode, sysctl::Sysctls};
use recoup_units::Instant;
use recoup_wire::{Checksum, Decoded, Endpoints, Flags, Segment, SeqNumber, decode};
use std::{
    collections::{BTreeMap, VecDeque},
    net::SocketAddr,
    os::fd::IntoRawFd,
    time::Duration,
};

/// A file descriptor.
pub type Fd = i32;

/// The number of a connection.
pub type ConnectionId = u64;

/// Object that a descriptor refers to.
#[derive(Debug)]
enum Descriptor {
    Socket(Box<Socket>),
    Epoll(Epoll),
    PipeReader(u64),
    PipeWriter(u64),
}
#[derive(Debug)]
struct Socket {
    role: Role,
    /// Whether it is an IPv6 socket, which shows IPv4 peers as mapped addresses.
    v6: bool,
    nonblocking: bool,
    local: Option<SocketAddr>,
    config: Config,
    /// `TCP_MAXSEG`, which includes the options on every segment.
    max_segment: Option<u16>,
    personality: Personality,
    options: options::Options,
}

impl Socket {
    /// The configuration of connection `id` along `path`. The path may be IPv4 although the socket is IPv6.
    fn config_of(&self, id: ConnectionId, path: &Endpoints, settings: &Settings) -> Config {
        let mss = settings.mss(path.dst.is_ipv6());
        let mut config = Config { isn: isn(id), ..self.config };
        config.announce(self.max_segment.map_or(mss, |most| most.min(mss)));
        config
    }
}

/// The state of a socket.
#[derive(Debug)]
enum Role {
    Fresh,
    Listener { ready: VecDeque<ConnectionId> },
    Connected(ConnectionId),
}
#[derive(Debug)]
pub struct Host {
    now: Instant,
    settings: Settings,
    descriptors: BTreeMap<Fd, Descriptor>,
    connections: BTreeMap<ConnectionId, Connection>,
    /// The listener of each embryonic or not yet accepted connection.
    arrivals: BTreeMap<ConnectionId, Fd>,
    pipes: BTreeMap<u64, Pipe>,
    packets: VecDeque<Packet>,
    /// The number of objects created, from which each gets its own number.
    made: u64,
}

impl Host {
    /// A host at time zero.
    pub fn new(settings: Settings) -> Self {
        Self {
            now: Instant::ZERO,
            settings,
            descriptors: BTreeMap::new(),
            connections: BTreeMap::new(),
            arrivals: BTreeMap::new(),
            pipes: BTreeMap::new(),
            packets: VecDeque::new(),
            made: 0,
        }
    }

    /// The virtual time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Whether `fd` belongs to this host.
    pub fn knows(&self, fd: Fd) -> bool {
        self.descriptors.contains_key(&fd)
    }

    fn number(&mut self) -> u64 {
        self.made += 1;
        self.made
    }

    /// Allocates a descriptor for `what`. It is a real file descriptor, so the number stays unique in the
    /// process, and code outside the host can close it.
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

    fn connection_of(&self, fd: Fd) -> Outcome<Option<&Connection>> {
        Ok(match &self.socket_of(fd)?.role {
            Role::Connected(id) => self.connections.get(id),
            _ => None,
        })
    }

    fn connection_mut(&mut self, fd: Fd) -> Outcome<Option<&mut Connection>> {
        Ok(match self.socket_of(fd)?.role {
            Role::Connected(id) => self.connections.get_mut(&id),
            _ => None,
        })
    }

    /// When the next event occurs without a call or a packet.
    pub fn next_event(&self) -> Option<Instant> {
        let timers = self.connections.values().filter_map(|c| c.tcp.next_wake());
        timers.map(|(at, _)| at).min()
    }

    /// Advances the clock to `until`, or to the next event if that is earlier. Returns whether `until` was
    /// reached.
    pub fn advance(&mut self, until: Instant) -> bool {
        match self.next_event().filter(|at| *at <= until) {
            Some(at) => {
                self.now = self.now.max(at);
                self.run_timers();
                false
            }
            None => {
                self.now = self.now.max(until);
                true
            }
        }
    }

    fn run_timers(&mut self) {
        let now = self.now;
        let mut out = Vec::new();
        for connection in self.connections.values_mut() {
            while let Some((_, wake)) = connection.tcp.next_wake().filter(|(at, _)| *at <= now) {
                connection.on_wake(now, wake);
                connection.transmit(now, &mut out);
            }
        }
        self.packets.extend(out);
        self.sweep();
    }

    /// Removes and returns the next packet sent.
    pub fn next_packet(&mut self) -> Option<Packet> {
        self.packets.pop_front()
    }

    /// Processes an IP packet. Anything but a TCP segment with correct checksums is ignored.
    pub fn receive(&mut self, bytes: &[u8]) {
        let Ok(packet) = decode(bytes) else {
            return;
        };
        if packet.tcp_checksum != Checksum::Correct || !packet.ip_checksum_ok {
            return;
        }
        let payload = &bytes[packet.payload.clone()];
        let path = packet.endpoints.reverse();
        let known = self.connections.iter().find(|(_, c)| c.path == path && !c.tcp.is_closed());
        let now = self.now;
        let mut out = Vec::new();
        if let Some(id) = known.map(|(id, _)| *id).or_else(|| self.open_for_syn(&packet)) {
            if let Some(connection) = self.connections.get_mut(&id) {
                connection.deliver(now, &packet, payload, packet::is_marked(bytes));
                connection.transmit(now, &mut out);
            }
            self.note_established(id);
        } else if packet.segment.flags.contains(Flags::ACK) || !self.listens(&packet) {
            // A listener ignores segments with neither SYN nor ACK (§3.10.7.2).
            refuse(now, &packet, &mut out);
        }
        self.packets.extend(out);
        self.sweep();
    }

    /// The listener a packet is for, if there is one.
    fn listener(&self, packet: &Decoded) -> Option<(Fd, &Socket)> {
        let port = packet.endpoints.dst.port();
        self.descriptors.iter().find_map(|(fd, what)| match what {
            Descriptor::Socket(s) if matches!(s.role, Role::Listener { .. }) => {
                s.local.is_some_and(|local| local.port() == port).then_some((*fd, s.as_ref()))
            }
            _ => None,
        })
    }

    fn listens(&self, packet: &Decoded) -> bool {
        self.listener(packet).is_some()
    }

    /// Creates a connection for a SYN to a listener.
    fn open_for_syn(&mut self, packet: &Decoded) -> Option<ConnectionId> {
        let flags = packet.segment.flags;
        if !flags.contains(Flags::SYN) || flags.intersects(Flags::ACK | Flags::RST | Flags::FIN) {
            return None;
        }
        let (fd, socket) = self.listener(packet)?;
        let (id, path) = (self.made + 1, packet.endpoints.reverse());
        let config = socket.config_of(id, &path, &self.settings);
        let personality = socket.personality.clone();
        self.made = id;
        let connection = Connection::new(&config, true, path, personality);
        self.connections.insert(id, connection);
        self.arrivals.insert(id, fd);
        Some(id)
    }

    /// Queues a connection for `accept` once its handshake is complete.
    fn note_established(&mut self, id: ConnectionId) {
        let Some(fd) = self.arrivals.get(&id).copied() else {
            return;
        };
        let Some(connection) = self.connections.get(&id) else {
            return;
        };
        let open = connection.tcp.is_past_handshake();
        if let Ok(Socket { role: Role::Listener { ready }, .. }) = self.socket_mut(fd)
            && open
            && !ready.contains(&id)
        {
            ready.push_back(id);
        }
    }

    /// Removes closed connections that no descriptor refers to.
    fn sweep(&mut self) {
        let arrivals = &self.arrivals;
        self.connections.retain(|id, c| {
            let waits = arrivals.contains_key(id) && c.tcp.is_past_handshake();
            !(c.tcp.is_closed() && (c.orphan || (arrivals.contains_key(id) && !waits)))
        });
        let connections = &self.connections;
        self.arrivals.retain(|id, _| connections.contains_key(id));
    }

    /// Transmits for `fd` after a call changed something.
    fn transmit(&mut self, fd: Fd) {
        let now = self.now;
        let mut out = Vec::new();
        if let Ok(Some(connection)) = self.connection_mut(fd) {
            connection.transmit(now, &mut out);
        }
        self.packets.extend(out);
    }
}

/// The response of a closed port (RFC 9293 §3.10.7.1).
fn refuse(now: Instant, packet: &Decoded, out: &mut Vec<Packet>) {
    let config = Config::new(recoup_recovery::Mechanisms::LINUX_3_17);
    let mut closed = Endpoint::listen(&config);
    closed.close(now);
    closed.on_segment(now, &packet.segment);
    let mut segment = Segment::default();
    if closed.poll_transmit(now, &mut segment).is_some() {
        out.push(Packet {
            at: now,
            path: packet.endpoints.reverse(),
            segment,
            payload: Vec::new(),
            ecn_capable: false,
        });
    }
}

/// The initial sequence number of a connection: unique per connection, and the same in every run.
fn isn(id: ConnectionId) -> SeqNumber {
    SeqNumber((id as u32).wrapping_mul(0x9e37_79b1))
}
