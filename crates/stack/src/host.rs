//! A TCP host over Recoup's endpoints, on real packets.
//!
//! A [`Host`] has many connections behind a few addresses. It does no I/O and reads no clock: packets and
//! the time go in, packets go out to a [`Sink`], and [`Event`]s notify the application of what became
//! possible.
//!
//! ```text
//!   application ── write, read, close ──► Host ── flush ──► Sink ┐
//!       ▲                                  ▲  ▲                  ├ device
//!       └────────── next_event ────────────┘  └ receive, on_time ┘
//! ```
//!
//! [`recoup_tcp::Connection`] handles loss, congestion, the states, PAWS, challenge ACKs and the bytes of
//! both streams. The host adds what takes more than one connection: demultiplexing (a hash of both ends,
//! RFC 9293 §3.3.1), listeners, initial sequence numbers (RFC 6528), ephemeral ports (RFC 6056), resets for
//! segments to no connection (RFC 9293 §3.10.7.1), the budget of challenge ACKs (RFC 5961 §7), path MTU
//! (RFC 1191, RFC 8201), checksums, echo replies (RFC 792, RFC 4443), and when to wake.
//!
//! Nothing scans the connections. Timers are an ordered set with one entry per connection, which moves only
//! when the connection must wake earlier. Connections with something to transmit stand in a queue. Segments
//! are answered when a batch has been read. Out-of-order segments are answered at once, because the peer
//! counts dupACKs.
//!
//! Deviations: a connection in TIME-WAIT keeps its whole state except for the streams' bytes. A segment that
//! turned out too long for its path is cut when it is retransmitted, which waits for the retransmission
//! timer. There is no ECN.

mod challenge;
mod connection;
mod icmp;
mod input;
mod output;
mod secret;
mod table;

#[cfg(test)]
mod tests;

pub use output::Sink;
pub use secret::Secret;
pub use table::ConnectionId;

use std::{
    collections::{HashMap, VecDeque},
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use challenge::ChallengeBudget;
use connection::Connection;
use recoup_recovery::{Counters, Mechanisms, Sender};
pub use recoup_tcp::Read;
use recoup_tcp::{AckPolicy, Closed, Config, Endpoint, Info, MtuProbing, SendLimits, State, WriteError, WriteMode};
use recoup_units::Instant;
use recoup_wire::{Endpoints, IpVersion};
use table::Table;
use thiserror::Error;

/// How long an unanswered SYN-ACK keeps a connection (Linux's five retransmissions).
const EMBRYONIC_LIFE: Duration = Duration::from_secs(63);

/// How long a connection nobody owns waits for its peer's FIN (Linux's tcp_fin_timeout).
const ORPHAN_LIFE: Duration = Duration::from_secs(60);

/// The settings of a host.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How its endpoints behave. MSS, IP version and ISN are each connection's own.
    pub endpoint: Config,
    /// The longest packet, IP header included, in bytes.
    pub mtu: u16,
    /// Bytes written and not acknowledged, at most, per connection.
    pub send_buffer: usize,
    /// Bytes written and not sent, at most, per connection (Linux `TCP_NOTSENT_LOWAT`). A low limit keeps
    /// data in the processor's caches until it is transmitted.
    pub unsent: usize,
    /// Whether each segment is answered, as the ACK policy says, before the next one is read. Otherwise
    /// segments that were read together are answered together, as Linux answers what GRO joined. That
    /// takes fewer ACKs and is faster.
    pub answer_each: bool,
    /// Connections at most, those in TIME-WAIT included.
    pub most_connections: usize,
    /// Connections of a listener whose handshake is not done, at most.
    pub backlog: usize,
    /// Memory that out-of-order data of all connections takes at most, bookkeeping included, in bytes. Above it, the
    /// connections with the most of it lose theirs, and their peers retransmit it.
    pub most_out_of_order: usize,
}

impl Settings {
    /// Buffers of 4 MiB, 128 KiB of it unsent, 128 MiB of out-of-order data, delayed ACKs as Linux has them, Nagle's rule,
    /// packets of up to `mtu` bytes, fewer where a path swallows them.
    pub fn new(mechanisms: Mechanisms, mtu: u16) -> Self {
        let quick = AckPolicy::LINUX_QUICK;
        Self {
            endpoint: Config {
                acks: AckPolicy::Linux { quick },
                receive_buffer: 4 << 20,
                nagle: true,
                mtu_probing: MtuProbing::OnBlackHole,
                ..Config::new(mechanisms)
            },
            mtu,
            send_buffer: 4 << 20,
            unsent: 128 << 10,
            answer_each: false,
            most_connections: 1 << 16,
            backlog: 1024,
            most_out_of_order: 128 << 20,
        }
    }

    /// How much of what is written a connection takes.
    fn send_limits(&self) -> SendLimits {
        SendLimits { buffer: self.send_buffer as u64, unsent: self.unsent as u64 }
    }

    /// The configuration of the endpoint of one connection.
    fn endpoint_for(&self, path: &Endpoints, isn: recoup_wire::SeqNumber) -> Config {
        let ip_version = path.ip_version().unwrap_or(IpVersion::V4);
        let mut config = Config { ip_version, isn, ..self.endpoint };
        config.announce(largest_mss(self.mtu, ip_version));
        config
    }
}

/// The MSS, options not taken off, of packets of `mtu` bytes (RFC 9293 §3.7.1).
fn largest_mss(mtu: u16, version: IpVersion) -> u16 {
    let headers = version.header_len() as u16 + recoup_wire::TCP_HEADER_LEN as u16;
    mtu.saturating_sub(headers).max(1)
}

/// Which listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ListenerId(u32);

/// Changes on a connection since its last event.
///
/// Events are merged: at most one per connection waits. Treat them as edges: after an event, read until
/// [`Read::Nothing`] and write until less than everything is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The connection.
    pub connection: ConnectionId,
    /// The handshake is done. This is the first event of a connection that came to a listener.
    pub opened: bool,
    /// There is data to read, or the end of the stream.
    pub readable: bool,
    /// There is room again after [`Host::write`] took less than everything.
    pub writable: bool,
    /// It is over.
    pub closed: Option<Closed>,
}

/// Why a host does not do what it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum HostError {
    /// The address is none of this host's.
    #[error("address {0}: expected one of this host's own")]
    NotOurs(IpAddr),
    /// Nothing of this host's can reach the address.
    #[error("address {0}: expected a unicast address, not of a loopback, and port of an IP version this host has")]
    Unreachable(SocketAddr),
    /// Another listener is there.
    #[error("address {0}: another listener has it")]
    InUse(SocketAddr),
    /// All ports to that peer, or all connections, are in use.
    #[error("no connection to {0}: as many as there may be are in use")]
    Exhausted(SocketAddr),
    /// No connection has this id, or it was released.
    #[error("no such connection")]
    Unknown,
    /// It is not open yet, or this side has closed it.
    #[error("the connection takes no data: it is not open for writing")]
    NotWritable,
    /// It is over.
    #[error("the connection is over: {}", describe(*.0))]
    Ended(Closed),
}

impl From<WriteError> for HostError {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Shut => Self::NotWritable,
            WriteError::Ended(how) => Self::Ended(how),
        }
    }
}

/// How a connection ended, in words.
pub const fn describe(how: Closed) -> &'static str {
    match how {
        Closed::Gracefully => "both sides closed it",
        Closed::ByReset => "the peer reset or refused it",
        Closed::ByTimeout => "the peer does not answer",
        Closed::ByAbort => "this side aborted it",
    }
}

/// A place connections come to.
#[derive(Debug)]
struct Listener {
    address: SocketAddr,
    /// Connections whose handshake is not done.
    embryonic: usize,
}

/// Counters of a host beside its connections'.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Packets handed in.
    pub packets_in: u64,
    /// Packets given to the sink.
    pub packets_out: u64,
    /// Packets handed in that are not for this host, are damaged, or are of no protocol it has.
    pub ignored: u64,
    /// Resets sent in answer to segments for no connection.
    pub refused: u64,
    /// Challenge ACKs not sent because the budget of the second was spent.
    pub challenges_withheld: u64,
    /// SYNs dropped for want of room.
    pub syns_dropped: u64,
    /// How often connections lost their out-of-order data for want of room.
    pub out_of_order_discarded: u64,
}

/// A TCP host; see the [module](self).
#[derive(Debug)]
pub struct Host {
    settings: Settings,
    addresses: Vec<IpAddr>,
    secret: Secret,
    table: Table,
    listeners: Vec<Listener>,
    by_address: HashMap<SocketAddr, ListenerId>,
    /// Connections with something to transmit, each once.
    dirty: VecDeque<u32>,
    /// Connections with an event, each once.
    events: VecDeque<u32>,
    challenges: ChallengeBudget,
    /// An endpoint that is closed, which knows how to answer what is for nobody.
    nobody: Endpoint,
    egress: output::Egress,
    stats: Stats,
}

impl Host {
    /// A host that has these addresses and is nobody's peer yet.
    pub fn new(settings: Settings, addresses: &[IpAddr], secret: Secret) -> Self {
        let mut nobody = Endpoint::listen(&settings.endpoint);
        nobody.close(Instant::ZERO);
        Self {
            settings,
            addresses: addresses.to_vec(),
            secret,
            table: Table::default(),
            listeners: Vec::new(),
            by_address: HashMap::new(),
            dirty: VecDeque::new(),
            events: VecDeque::new(),
            challenges: ChallengeBudget::default(),
            nobody,
            egress: output::Egress::default(),
            stats: Stats::default(),
        }
    }

    /// Takes connections at `local` from now on; at each of the host's addresses if it is the
    /// unspecified one. They are announced by their first event.
    ///
    /// # Errors
    /// When the address is not this host's, or taken.
    pub fn listen(&mut self, local: SocketAddr) -> Result<ListenerId, HostError> {
        if !local.ip().is_unspecified() && !self.addresses.contains(&local.ip()) {
            return Err(HostError::NotOurs(local.ip()));
        }
        if self.by_address.contains_key(&local) {
            return Err(HostError::InUse(local));
        }
        let id = ListenerId(self.listeners.len() as u32);
        self.by_address.insert(local, id);
        self.listeners.push(Listener { address: local, embryonic: 0 });
        Ok(id)
    }

    /// Takes no more connections there; those it took go on.
    pub fn stop_listening(&mut self, listener: ListenerId) {
        if let Some(listener) = self.listeners.get(listener.0 as usize) {
            self.by_address.remove(&listener.address);
        }
    }

    /// The listener for what comes to `local`.
    fn listener_at(&self, local: SocketAddr) -> Option<ListenerId> {
        let any: IpAddr = match local {
            SocketAddr::V4(_) => [0; 4].into(),
            SocketAddr::V6(_) => [0; 16].into(),
        };
        let found = self.by_address.get(&local);
        let found = found.or_else(|| self.by_address.get(&SocketAddr::new(any, local.port())));
        found.copied()
    }

    /// Begins a connection to `remote`.
    ///
    /// # Errors
    /// When it cannot be reached, or nothing is left to reach it with.
    pub fn connect(&mut self, now: Instant, remote: SocketAddr) -> Result<ConnectionId, HostError> {
        let same_version = |ip: &&IpAddr| ip.is_ipv4() == remote.is_ipv4();
        let local = self.addresses.iter().find(same_version).copied();
        let local = local.filter(|_| input::is_peer(remote));
        let local = local.ok_or(HostError::Unreachable(remote))?;
        if self.table.len() >= self.settings.most_connections {
            return Err(HostError::Exhausted(remote));
        }
        let free = self.secret.ports(local, remote).find_map(|port| {
            let path = Endpoints { src: SocketAddr::new(local, port), dst: remote };
            let taken = self.table.find(&path).is_some() || self.listener_at(path.src).is_some();
            (!taken).then_some(path)
        });
        let path = free.ok_or(HostError::Exhausted(remote))?;
        let config = self.settings.endpoint_for(&path, self.secret.isn(now, &path));
        let index = self.table.open(&config, path, None, &self.settings);
        self.mark_dirty(index);
        Ok(self.table.id(index))
    }

    /// Hands over bytes to send, and says how many were taken: as many as there is room for. When it
    /// is less than all, an event says that there is room again.
    ///
    /// # Errors
    /// When the connection takes none.
    pub fn write(&mut self, now: Instant, id: ConnectionId, bytes: &[u8]) -> Result<usize, HostError> {
        let (index, connection) = self.table.get_mut(id).ok_or(HostError::Unknown)?;
        let taken = connection.tcp.write(now, bytes, WriteMode::default(), |_, _| {})?;
        if taken > 0 {
            self.mark_dirty(index);
        }
        Ok(taken)
    }

    /// As [`write`](Self::write), for bytes that are made or read where they are kept: `fill` is given
    /// room, in one piece, and says how much of it, from its beginning, it filled. It is not called when
    /// there is no room; then, and only then, an event says when there is again. More is filled by
    /// further calls.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_with(
        &mut self,
        now: Instant,
        id: ConnectionId,
        fill: impl FnOnce(&mut [u8]) -> usize,
    ) -> Result<usize, HostError> {
        let (index, connection) = self.table.get_mut(id).ok_or(HostError::Unknown)?;
        let taken = connection.tcp.write_with(now, fill)?;
        if taken > 0 {
            self.mark_dirty(index);
        }
        Ok(taken)
    }

    /// Reads bytes that arrived, as many as fit in `into`, which should not be empty.
    ///
    /// # Errors
    /// When the connection ended otherwise than by the peer's closing it, and all that arrived before
    /// was read.
    pub fn read(&mut self, now: Instant, id: ConnectionId, into: &mut [u8]) -> Result<Read, HostError> {
        let (index, connection) = self.table.get_mut(id).ok_or(HostError::Unknown)?;
        let read = connection.tcp.read(now, into).map_err(HostError::Ended)?;
        if matches!(read, Read::Bytes(_)) {
            self.mark_dirty(index);
        }
        Ok(read)
    }

    /// This side is done sending: a FIN follows what was written. Reading goes on.
    ///
    /// # Errors
    /// When no connection has this id.
    pub fn close(&mut self, now: Instant, id: ConnectionId) -> Result<(), HostError> {
        self.with(id, |connection| connection.tcp.close(now))
    }

    fn with(&mut self, id: ConnectionId, change: impl FnOnce(&mut Connection)) -> Result<(), HostError> {
        let (index, connection) = self.table.get_mut(id).ok_or(HostError::Unknown)?;
        change(connection);
        self.mark_dirty(index);
        Ok(())
    }

    /// Lets go of a connection; its id means nothing from then on. What was written is still sent,
    /// and the connection closed, unless data was left unread: then it is reset.
    ///
    /// # Errors
    /// When no connection has this id.
    pub fn release(&mut self, now: Instant, id: ConnectionId) -> Result<(), HostError> {
        self.with(id, |connection| {
            connection.released = true;
            connection.tcp.release(now, false);
        })
    }

    /// Gives a connection up: the peer is reset. Its id means nothing from then on.
    ///
    /// # Errors
    /// When no connection has this id.
    pub fn abort(&mut self, id: ConnectionId) -> Result<(), HostError> {
        self.with(id, |connection| {
            connection.released = true;
            connection.tcp.abort();
        })
    }

    /// Has a connection follow Nagle's rule from now on, or not.
    ///
    /// # Errors
    /// When no connection has this id.
    pub fn set_nagle(&mut self, id: ConnectionId, on: bool) -> Result<(), HostError> {
        self.with(id, |connection| connection.tcp.set_nagle(on))
    }

    /// The ends of a connection: `src` is this host's.
    pub fn path(&self, id: ConnectionId) -> Option<Endpoints> {
        Some(self.table.get(id)?.path)
    }

    /// The state of a connection.
    pub fn state(&self, id: ConnectionId) -> Option<State> {
        Some(self.table.get(id)?.tcp.endpoint().state())
    }

    /// The listener a connection came to; `None` of one this host began.
    pub fn listener(&self, id: ConnectionId) -> Option<ListenerId> {
        self.table.get(id)?.listener
    }

    /// Bytes of a connection written and not acknowledged.
    pub fn unacknowledged(&self, id: ConnectionId) -> Option<usize> {
        Some(self.table.get(id)?.tcp.queued() as usize)
    }

    /// State of a connection, as in TCP_INFO.
    pub fn info(&self, now: Instant, id: ConnectionId) -> Option<Info> {
        Some(self.table.get(id)?.tcp.endpoint().info(now))
    }

    /// A connection's sender, as it stands.
    pub fn sender(&self, id: ConnectionId) -> Option<&Sender> {
        Some(self.table.get(id)?.tcp.endpoint().sender())
    }

    /// Takes out the events a connection's sender has logged since the last call; none unless
    /// [`Config::log`] is set.
    pub fn take_events(&mut self, id: ConnectionId) -> Vec<(Instant, recoup_recovery::Event)> {
        let connection = self.table.get_mut(id);
        connection.map_or_else(Vec::new, |(_, connection)| connection.tcp.endpoint_mut().drain_events().collect())
    }

    /// Counters of a connection.
    pub fn counters(&self, id: ConnectionId) -> Option<Counters> {
        Some(self.table.get(id)?.tcp.endpoint().sender().counters())
    }

    /// How many connections there are, those over but not let go of included.
    pub fn connections(&self) -> usize {
        self.table.len()
    }

    /// Counters of the host.
    pub const fn stats(&self) -> Stats {
        self.stats
    }

    /// Takes out the next event.
    pub fn next_event(&mut self) -> Option<Event> {
        loop {
            let index = self.events.pop_front()?;
            let id = self.table.id(index);
            let Some(connection) = self.table.at_mut(index) else {
                continue;
            };
            if let Some(event) = connection.take_news(id) {
                return Some(event);
            }
        }
    }

    /// Whether there is an event.
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// When [`on_time`](Self::on_time) is due next.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.table.next_deadline()
    }

    /// Lets timers go off that are due.
    pub fn on_time(&mut self, now: Instant) {
        while let Some(index) = self.table.take_due(now) {
            if let Some(connection) = self.table.at_mut(index) {
                connection.on_time(now);
            }
            self.mark_dirty(index);
        }
    }

    /// Whether a connection has something to transmit, or may have.
    pub fn has_work(&self) -> bool {
        !self.dirty.is_empty()
    }

    fn mark_dirty(&mut self, index: u32) {
        if let Some(connection) = self.table.at_mut(index)
            && !std::mem::replace(&mut connection.dirty, true)
        {
            self.dirty.push_back(index);
        }
    }
}
