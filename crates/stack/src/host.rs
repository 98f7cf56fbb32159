//! A TCP host over Recoup's endpoints, on real packets.
//!
//! A [`Host`] has many connections behind a few addresses. It does no I/O and reads no clock: packets and
//! the time go in, packets go out to a [`Sink`], and [`Event`]s notify the application of what became
//! possible.
//!
//! ```text
//!   application ── write, read, close ──► Host ── poll_transmit ──► Sink ┐
//!       ▲                                  ▲  ▲                  ├ device
//!       └────────── next_event ────────────┘  └ on_packet, on_timer ┘
//! ```
//!
//! [`recoup_tcp::Connection`] handles loss, congestion, the states, PAWS, challenge ACKs and the bytes of
//! both streams. The host adds what takes more than one connection: demultiplexing (a hash of both ends,
//! RFC 9293 §3.3.1), listeners, initial sequence numbers (RFC 6528), ephemeral ports (RFC 6056), resets for
//! segments to no connection (RFC 9293 §3.10.7.1), the budget of challenge ACKs (RFC 5961 §7), path MTU
//! (RFC 1191, RFC 8201), checksums, echo replies (RFC 792, RFC 4443), and when to wake.
//!
//! Nothing looks at all connections, except when memory is scarce or the link's MTU falls. Timers are an ordered set with one entry per connection, which moves only
//! when the connection must wake earlier. Connections with something to transmit stand in a queue. Segments
//! are answered when a batch has been read. Out-of-order segments are answered at once, because the peer
//! counts dupACKs.
//!
//! A connection in TIME-WAIT that its application has let go of is kept in an entry of at most 64 bytes, and one whose
//! SYN-ACK waits for its ACK in one of at most 128. A listener with very many of these answers with SYN cookies.
//!
//! Beside TCP there are sockets of [UDP](Host::udp_bind) and of [echoes](Host::ping_open), and [raw packets](Host::set_raw).
//! Their packets share a bounded queue, which leaves before the connections' segments.

mod challenge;
mod connection;
mod cookies;
mod datagrams;
mod egress;
mod error;
mod half_open;
mod icmp;
mod input;
mod listeners;
mod look;
mod memory;
mod others;
mod outbox;
mod output;
mod paths;
mod ping;
mod raw;
mod reassembly;
mod secret;
mod strays;
mod table;
mod time_wait;
mod train;
mod udp;
mod write;

#[cfg(test)]
mod tests;

pub use datagrams::{Datagram, DatagramId};
pub use error::{HostError, describe};
pub(crate) use input::is_unicast;
pub use listeners::{Incoming, ListenerId};
pub use output::Sink;
pub use ping::EchoReply;
pub use recoup_wire::Unreachable;
pub use secret::Secret;
pub(crate) use strays::Strays;
pub use strays::{Place, Stray};
pub use table::ConnectionId;

use std::{
    collections::VecDeque,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use challenge::ChallengeBudget;
use connection::{Connection, Origin};
use datagrams::Datagrams;
use half_open::{Begins, HalfOpens};
use icmp::ErrorBudget;
use listeners::Listeners;
use memory::Budget;
use outbox::Outbox;
use raw::RawQueue;
use reassembly::Reassembly;
use recoup_tcp::{Closed, Endpoint, WriteMode};
pub use recoup_tcp::{KeepAlive, Read};
use recoup_units::Instant;
use recoup_wire::{Endpoints, SeqNumber};
use table::Table;
use time_wait::TimeWaits;

use crate::{Config, TcpOptions};

/// How long an unanswered SYN-ACK keeps a connection (Linux's five retransmissions).
const EMBRYONIC_LIFE: Duration = Duration::from_secs(63);

/// How long a connection nobody owns waits for an ACK of more data. A peer that keeps its window closed would otherwise hold
/// it, and what was written, for ever. Linux gives up after about as long: when the backoff of its probes reaches two
/// minutes (tcp_probe_timer).
const ORPHAN_STALL: Duration = Duration::from_secs(240);

/// How long a connection nobody owns waits for its peer's FIN (Linux's tcp_fin_timeout).
const ORPHAN_LIFE: Duration = Duration::from_secs(60);

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

/// What can be done with a connection at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Readiness {
    /// The handshake is done, or was.
    pub opened: bool,
    /// There is data to read, or the end of the stream.
    pub readable: bool,
    /// A write takes something, or says that none is possible.
    pub writable: bool,
    /// It is over.
    pub closed: Option<Closed>,
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
    /// SYNs, and ACKs that end a handshake, dropped for want of room.
    pub syns_dropped: u64,
    /// SYNs answered with a cookie.
    pub cookies_sent: u64,
    /// Connections that a cookie opened.
    pub cookies_accepted: u64,
    /// ACKs to a listener that had sent cookies, without one.
    pub cookies_refused: u64,
    /// How often connections lost their out-of-order data for want of room.
    pub out_of_order_discarded: u64,
    /// Segments dropped for want of memory.
    pub segments_without_memory: u64,
    /// Packets that the device did not take: it was down, or had no room.
    pub device_lost: u64,
    /// Datagrams and echoes dropped because the socket, or what waits to be sent, had no room.
    pub datagrams_dropped: u64,
    /// Packets put together from fragments.
    pub reassembled: u64,
    /// Fragmented packets dropped: incomplete for too long, with overlaps, or for want of room.
    pub fragmented_dropped: u64,
    /// Errors sent by ICMP.
    pub errors_sent: u64,
    /// Errors not sent because the budget was spent, or for want of room.
    pub errors_withheld: u64,
    /// Messages of ICMP that a segment that is outstanding does not reach its destination.
    pub unreachable: u64,
    /// Packets that nothing took, dropped because the application had not taken out others.
    pub raw_dropped: u64,
    /// Packets passed on to another host of the same addresses (see [`Host::set_place`]).
    pub strays: u64,
    /// Packets for which there was no room among those to be passed on.
    pub strays_dropped: u64,
}

/// A TCP host; see the [module](self).
#[derive(Debug)]
pub struct Host {
    config: Config,
    /// The longest packet, IP header included, in bytes.
    mtu: u16,
    secret: Secret,
    table: Table,
    listeners: Listeners,
    half_open: HalfOpens,
    time_waits: TimeWaits,
    budget: Budget,
    /// Connections with something to transmit, each once.
    dirty: VecDeque<u32>,
    /// Connections with an event, each once.
    events: VecDeque<u32>,
    challenges: ChallengeBudget,
    /// Where a listener has begun to send cookies.
    flooded: Option<SocketAddr>,
    datagrams: Datagrams,
    /// What is no segment of a connection, on its way out.
    outbox: Outbox,
    reassembly: Reassembly,
    /// Limits errors of ICMP.
    errors: ErrorBudget,
    /// Other hosts with the same addresses.
    neighbours: strays::Neighbours,
    /// What nothing took, if the application wants it.
    raw: Option<RawQueue>,
    /// An endpoint that is closed, which knows how to answer what is for nobody.
    nobody: Endpoint,
    egress: egress::Egress,
    stats: Stats,
}

impl Host {
    /// A host whose packets have up to `mtu` bytes, IP header included. It has no sockets yet.
    pub fn new(config: Config, mtu: u16, secret: Secret) -> Self {
        let mut nobody = Endpoint::listen(&config.tcp.endpoint);
        nobody.close(Instant::ZERO);
        let most_fragments = config.most_fragments;
        Self {
            config,
            mtu,
            secret,
            table: Table::default(),
            listeners: Listeners::default(),
            half_open: HalfOpens::default(),
            time_waits: TimeWaits::default(),
            budget: Budget::default(),
            dirty: VecDeque::new(),
            events: VecDeque::new(),
            challenges: ChallengeBudget::default(),
            flooded: None,
            datagrams: Datagrams::default(),
            outbox: Outbox::default(),
            reassembly: Reassembly::new(most_fragments),
            errors: ErrorBudget::default(),
            neighbours: strays::Neighbours::default(),
            raw: None,
            nobody,
            egress: egress::Egress::default(),
            stats: Stats::default(),
        }
    }

    /// The settings.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Whether packets to this address are for this host.
    fn is_own(&self, address: IpAddr) -> bool {
        self.config.every_address || self.config.addresses.contains(&address) || self.listeners.takes_any()
    }

    /// Begins a connection to `remote`, from an address of this host and an ephemeral port.
    ///
    /// # Errors
    /// When it cannot be reached, or nothing is left to reach it with.
    pub fn connect(&mut self, now: Instant, remote: SocketAddr) -> Result<ConnectionId, HostError> {
        let same_version = |ip: &&IpAddr| ip.is_ipv4() == remote.is_ipv4();
        let local = self.config.addresses.iter().find(same_version).copied();
        let local = local.ok_or(HostError::Unreachable(remote))?;
        self.connect_with(now, SocketAddr::new(local, 0), remote, None)
    }

    /// Begins a connection to `remote` from `local`, whose port may be 0 for an ephemeral one. The address may be
    /// another host's if the host takes every address, or one of its [listeners](Self::listen_any).
    ///
    /// # Errors
    /// As [`connect`](Self::connect), and when `local` is not this host's, or taken.
    pub fn connect_with(
        &mut self,
        now: Instant,
        local: SocketAddr,
        remote: SocketAddr,
        options: Option<&TcpOptions>,
    ) -> Result<ConnectionId, HostError> {
        if !self.is_own(local.ip()) {
            return Err(HostError::NotOurs(local.ip()));
        }
        if !input::is_peer(remote)
            || local.is_ipv4() != remote.is_ipv4()
            || self.config.addresses.contains(&remote.ip())
        {
            return Err(HostError::Unreachable(remote));
        }
        if !self.has_place() {
            return Err(HostError::Exhausted(remote));
        }
        let along = |port| Endpoints { src: SocketAddr::new(local.ip(), port), dst: remote };
        let path = match local.port() {
            0 => {
                let Self { table, listeners, half_open, time_waits, .. } = self;
                let place = self.neighbours.place;
                let own = |port: &u16| place.has_port(*port);
                let mut taken =
                    |path: &Endpoints| table.find(path).is_some() || half_open.has(path) || time_waits.has(path);
                let free = |path: &Endpoints| !listeners.has(path.src) && !taken(path);
                let found = self.secret.ports(local.ip(), remote).filter(own).map(along).find(free);
                found.ok_or(HostError::Exhausted(remote))?
            }
            port => {
                let path = along(port);
                if self.has_path(&path) { Err(HostError::InUse(local)) } else { Ok(path) }?
            }
        };
        let begins = self.begins(now, &path, None);
        let index = self.open(path, options, Origin::Connected, begins);
        self.mark_dirty(index);
        Ok(self.table.id(index))
    }

    /// With what a new connection along `path` begins. Its initial sequence number is `least` or a later one.
    fn begins(&self, now: Instant, path: &Endpoints, least: Option<SeqNumber>) -> Begins {
        let isn = self.secret.isn(now, path);
        let isn = least.filter(|least| isn.before(*least)).unwrap_or(isn);
        Begins { isn, receive_buffer: None }
    }

    /// A new connection along `path`: one that came to a listener, or one that connects.
    fn open(&mut self, path: Endpoints, options: Option<&TcpOptions>, origin: Origin, begins: Begins) -> u32 {
        let options = options.unwrap_or(&self.config.tcp);
        let (receive_buffer, limits, growth) = Budget::first(self.config.memory, self.table.len(), options);
        let receive_buffer = begins.receive_buffer.unwrap_or(receive_buffer);
        let config = options.endpoint_for(&path, begins.isn, self.mtu, receive_buffer);
        let (keep_alive, user_timeout) = (options.keep_alive, options.user_timeout);
        let index = self.table.open(&config, path, origin, limits, growth);
        if let Some(connection) = self.table.at_mut(index) {
            let endpoint = connection.tcp.endpoint_mut();
            if keep_alive.is_some() {
                endpoint.set_keep_alive(keep_alive);
            }
            if let Some(timeout) = user_timeout {
                endpoint.set_user_timeout(timeout);
            }
        }
        index
    }

    /// Hands over bytes to send, and says how many were taken: as many as there is room for. When it
    /// is less than all, an event says that there is room again.
    ///
    /// # Errors
    /// When the connection takes none.
    pub fn write(&mut self, now: Instant, id: ConnectionId, bytes: &[u8]) -> Result<usize, HostError> {
        let fits = self.writable(id, bytes.len())?.min(bytes.len());
        let (index, connection) = self.table.get_mut(id).ok_or(HostError::Unknown)?;
        let taken = connection.tcp.write(now, &bytes[..fits], WriteMode::default(), |_, _| {})?;
        Ok(self.wrote(index, taken))
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
        let fits = self.writable(id, 1)?;
        let (index, connection) = self.table.get_mut(id).ok_or(HostError::Unknown)?;
        let taken = connection.tcp.write_with(now, fits, fill)?;
        Ok(self.wrote(index, taken))
    }

    /// A connection has `taken` so many bytes of a write, which are to be sent.
    fn wrote(&mut self, index: u32, taken: usize) -> usize {
        if taken > 0 {
            self.table.count(index);
            self.mark_dirty(index);
        }
        taken
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
            self.tune_receive_buffer(now, index);
            self.settle_read(index);
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

    /// Announces by an event when there is much room to write, as after a write that found too little.
    ///
    /// # Errors
    /// When no connection has this id.
    pub fn await_room(&mut self, id: ConnectionId) -> Result<(), HostError> {
        let (_, connection) = self.table.get_mut(id).ok_or(HostError::Unknown)?;
        connection.tcp.await_room();
        Ok(())
    }

    /// How many connections there are, those over but not let go of included.
    pub fn connections(&self) -> usize {
        self.table.len()
    }

    /// The memory of all connections, in bytes: their state, the bytes of both streams, and out-of-order data.
    pub const fn memory(&self) -> usize {
        self.table.memory()
    }

    /// The number of connections in TIME-WAIT that their applications have let go of. They are none of
    /// [`connections`](Self::connections).
    pub fn time_waits(&self) -> usize {
        self.time_waits.len()
    }

    /// The memory of what is kept of connections in TIME-WAIT, in bytes.
    pub fn time_wait_memory(&self) -> usize {
        self.time_waits.memory()
    }

    /// Whether a connection is not over, or in use.
    pub fn has_unfinished(&self) -> bool {
        self.table.len() > 0
    }

    /// The longest packet is `mtu` bytes from now on, IP header included. Connections whose segments are too large for
    /// it go on with smaller ones. Larger packets are for new connections alone.
    pub fn set_mtu(&mut self, now: Instant, mtu: u16) {
        let before = std::mem::replace(&mut self.mtu, mtu);
        if mtu >= before {
            return;
        }
        for index in self.table.all() {
            self.limit_mtu(now, index, mtu);
        }
    }

    /// Counts packets that the device did not take.
    pub(crate) const fn count_lost(&mut self, packets: u64) {
        self.stats.device_lost += packets;
    }

    /// Counters of the host.
    pub const fn stats(&self) -> Stats {
        let reassembly::Counts { completed, discarded } = self.reassembly.counts;
        Stats { reassembled: completed, fragmented_dropped: discarded, ..self.stats }
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

    /// Whether there is an event, a socket of datagrams to read, or a packet that nothing took.
    pub fn has_events(&self) -> bool {
        !self.events.is_empty() || self.listeners.asks() || self.datagrams.has_readable() || self.has_raw()
    }

    /// When [`on_timer`](Self::on_timer) is due next.
    pub fn next_timer(&self) -> Option<Instant> {
        let others = [self.half_open.next(), self.time_waits.next(), self.reassembly.next_expiry()];
        let others = others.into_iter().flatten();
        self.table.next_deadline().into_iter().chain(others).min()
    }

    /// Lets timers go off that are due.
    pub fn on_timer(&mut self, now: Instant) {
        self.wake_half_open(now);
        self.time_waits.end_due(now);
        self.expire_fragments(now);
        while let Some(index) = self.table.take_due(now) {
            self.limit_turn(index);
            if let Some(connection) = self.table.at_mut(index) {
                connection.on_time(now);
            }
            if self.table.at(index).is_some_and(|connection| connection.limited) {
                // What the next one may take depends on it.
                self.table.count(index);
            }
            self.mark_dirty(index);
        }
    }

    /// Whether something is to be transmitted, or may be.
    pub fn has_work(&self) -> bool {
        !self.dirty.is_empty() || !self.outbox.is_empty()
    }

    fn mark_dirty(&mut self, index: u32) {
        if let Some(connection) = self.table.at_mut(index)
            && !std::mem::replace(&mut connection.dirty, true)
        {
            self.dirty.push_back(index);
        }
    }
}
