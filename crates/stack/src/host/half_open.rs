//! Connections whose SYN-ACK waits for its ACK: a small entry each.
//!
//! When such a connection has had its turn, [`HalfOpens`] takes what is left of it, and its place in the table is free
//! again. When its timer goes off, or a packet for it arrives, it is made again (see [`recoup_tcp::HalfOpen`]).
//!
//! An entry takes at most 128 bytes, its share of the index and of the timers included (RFC 4987 §3.5). How many there
//! may be is each listener's to say; beyond that it answers with [cookies](super::cookies).

use std::{
    net::{IpAddr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use recoup_tcp::{Connection as Tcp, HalfOpen};
use recoup_units::Instant;
use recoup_wire::{Endpoints, SeqNumber};

use super::{EMBRYONIC_LIFE, Host, ListenerId, connection::Origin, paths::Paths};

/// How long a connection waits for its turn when there is no memory for its state.
const POSTPONED: Duration = Duration::from_millis(50);

/// The ends of a connection, ours first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ends {
    /// An IPv4 address in its IPv6 form.
    addresses: [Ipv6Addr; 2],
    ports: [u16; 2],
    v4: bool,
}

impl Ends {
    fn of(path: &Endpoints) -> Self {
        let ends = [path.src, path.dst];
        let address = |end: SocketAddr| match end.ip() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            IpAddr::V6(ip) => ip,
        };
        Self { addresses: ends.map(address), ports: ends.map(|end| end.port()), v4: path.src.is_ipv4() }
    }

    fn path(&self) -> Endpoints {
        let end = |n: usize| {
            let ip = self.addresses[n];
            let v4 = ip.to_ipv4_mapped().filter(|_| self.v4);
            SocketAddr::new(v4.map_or(IpAddr::V6(ip), IpAddr::V4), self.ports[n])
        };
        Endpoints { src: end(0), dst: end(1) }
    }
}

/// What is kept of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    pub half: HalfOpen,
    pub listener: ListenerId,
    /// The receive buffer, which the SYN-ACK offered, in bytes.
    pub receive_buffer: u32,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    ends: Ends,
    kept: Kept,
    /// When it is to be made again, in µs after its SYN.
    due: u32,
    /// Its place among the timers.
    place: u32,
}

impl Entry {
    fn due(&self) -> Instant {
        self.kept.half.since() + Duration::from_micros(self.due.into())
    }
}

/// All entries of a host.
#[derive(Debug, Default)]
pub(crate) struct HalfOpens {
    /// In no order, without gaps.
    entries: Vec<Entry>,
    by_path: Paths,
    /// A binary heap of entries by when they are due: none is due before the one at half its place.
    timers: Vec<u32>,
}

/// Makes room for one more, without the doubling of `Vec`: memory must be in proportion.
fn reserve_one<T>(items: &mut Vec<T>) {
    if items.len() == items.capacity() {
        items.reserve_exact((items.len() / 8).max(16));
    }
}

impl HalfOpens {
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The memory of all entries, in bytes.
    pub fn memory(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>() + self.timers.capacity() * size_of::<u32>() + self.by_path.memory()
    }

    /// Whether a connection along `path` is among them.
    pub fn has(&self, path: &Endpoints) -> bool {
        self.get(path).is_some()
    }

    /// What is kept of the connection along `path`.
    pub fn get(&self, path: &Endpoints) -> Option<&Kept> {
        if self.entries.is_empty() {
            return None;
        }
        Some(&self.entries.get(self.number(path)? as usize)?.kept)
    }

    fn number(&self, path: &Endpoints) -> Option<u32> {
        let ends = Ends::of(path);
        let is_along = |number: u32| self.entries.get(number as usize).is_some_and(|entry| entry.ends == ends);
        self.by_path.find(path, is_along)
    }

    /// Keeps a connection until `due`.
    pub fn insert(&mut self, path: &Endpoints, kept: Kept, due: Instant) {
        self.take(path);
        // Not too early: nothing would be due then.
        let due = due.since(kept.half.since()).as_nanos().div_ceil(1_000);
        let due = u32::try_from(due).unwrap_or(u32::MAX);
        let number = self.entries.len() as u32;
        reserve_one(&mut self.entries);
        reserve_one(&mut self.timers);
        self.entries.push(Entry { ends: Ends::of(path), kept, due, place: number });
        self.timers.push(number);
        self.by_path.insert(path, number);
        self.rise(number as usize);
    }

    /// Takes out the connection along `path`.
    pub fn take(&mut self, path: &Endpoints) -> Option<Kept> {
        if self.entries.is_empty() {
            return None;
        }
        let number = self.number(path)?;
        self.by_path.remove(path, number);
        self.leave(self.entries.get(number as usize)?.place as usize);
        let gone = self.entries.swap_remove(number as usize);
        // The last entry has its number now.
        if let Some(moved) = self.entries.get(number as usize) {
            let path = moved.ends.path();
            self.by_path.remove(&path, self.entries.len() as u32);
            self.by_path.insert(&path, number);
            if let Some(timer) = self.timers.get_mut(moved.place as usize) {
                *timer = number;
            }
        }
        if self.entries.is_empty() {
            *self = Self::default();
        }
        Some(gone.kept)
    }

    /// When the next one is due.
    pub fn next(&self) -> Option<Instant> {
        self.due_at(0)
    }

    /// The path of a connection that is due by `now`.
    pub fn due(&self, now: Instant) -> Option<Endpoints> {
        let first = self.entries.get(*self.timers.first()? as usize)?;
        (first.due() <= now).then(|| first.ends.path())
    }

    fn due_at(&self, place: usize) -> Option<Instant> {
        Some(self.entries.get(*self.timers.get(place)? as usize)?.due())
    }

    /// Exchanges two timers.
    fn swap(&mut self, a: usize, b: usize) {
        self.timers.swap(a, b);
        for place in [a, b] {
            if let Some(entry) = self.timers.get(place).and_then(|number| self.entries.get_mut(*number as usize)) {
                entry.place = place as u32;
            }
        }
    }

    /// Moves the timer at `place` up to where it belongs.
    fn rise(&mut self, mut place: usize) {
        while place > 0 && self.due_at(place) < self.due_at((place - 1) / 2) {
            self.swap(place, (place - 1) / 2);
            place = (place - 1) / 2;
        }
    }

    /// Takes out the timer at `place`.
    fn leave(&mut self, mut place: usize) {
        let last = self.timers.len() - 1;
        self.swap(place, last);
        self.timers.pop();
        self.rise(place.min(last.saturating_sub(1)));
        loop {
            let children = [2 * place + 1, 2 * place + 2];
            let earliest = children.into_iter().filter_map(|child| Some((self.due_at(child)?, child))).min();
            match earliest.filter(|(due, _)| self.due_at(place).is_some_and(|own| *due < own)) {
                Some((_, child)) => {
                    self.swap(place, child);
                    place = child;
                }
                None => return,
            }
        }
    }
}

impl Host {
    /// The number of connections whose SYN-ACK waits for its ACK. They are none of [`connections`](Self::connections).
    pub fn half_open(&self) -> usize {
        self.half_open.len()
    }

    /// The memory of what is kept of these connections, in bytes.
    pub fn half_open_memory(&self) -> usize {
        self.half_open.memory()
    }

    /// Takes a connection that came to a listener out of the table if all that it does is wait for the ACK of its SYN-ACK.
    /// Says whether it did.
    pub(super) fn keep_half(&mut self, index: u32) -> bool {
        let Some(connection) = self.table.at(index) else {
            return false;
        };
        let (Origin::Listener(listener), Some(since)) = (connection.origin, connection.syn_at()) else {
            return false;
        };
        let endpoint = connection.tcp.endpoint();
        let (Some(half), Some(due)) = (HalfOpen::of(endpoint, since), connection.next_timer()) else {
            return false;
        };
        let Ok(receive_buffer) = u32::try_from(endpoint.receiver().buffer()) else {
            return false;
        };
        let path = connection.path;
        self.table.free(index);
        self.half_open.insert(&path, Kept { half, listener, receive_buffer }, due);
        true
    }

    /// Puts a half-open connection back into the table. `None` if there is none along `path`, or its listener is gone.
    pub(super) fn reopen(&mut self, path: &Endpoints) -> Option<u32> {
        let Kept { half, listener, receive_buffer } = self.half_open.take(path)?;
        let options = self.options_for(listener, path)?;
        let begins = Begins { isn: half.isn(), receive_buffer: Some(receive_buffer.into()) };
        let index = self.open(*path, Some(&options), Origin::Listener(listener), begins);
        if let Some(connection) = self.table.at_mut(index) {
            connection.reopen(|tcp: &mut Tcp| half.reopen(tcp), half.since());
        }
        Some(index)
    }

    /// Wakes the half-open connections that are due, and forgets those whose peers have given up.
    pub(super) fn wake_half_open(&mut self, now: Instant) {
        while let Some(path) = self.half_open.due(now) {
            let kept = self.half_open.get(&path).copied();
            if let Some(kept) = kept.filter(|kept| now.since(kept.half.since()) >= EMBRYONIC_LIFE) {
                self.half_open.take(&path);
                self.listeners.give_place(kept.listener);
            } else if let Some(kept) = kept.filter(|_| !self.has_memory_for_state()) {
                // So many are due at once that they have their turns in groups.
                self.half_open.insert(&path, kept, now + POSTPONED);
            } else if let Some(index) = self.reopen(&path) {
                if let Some(connection) = self.table.at_mut(index) {
                    connection.on_time(now);
                }
                self.mark_dirty(index);
            }
        }
    }
}

/// With what a connection begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begins {
    pub isn: SeqNumber,
    /// Bytes of the receive buffer, unless it is what the memory permits.
    pub receive_buffer: Option<u64>,
}

#[cfg(test)]
mod tests;
