//! Connections in TIME-WAIT that their applications have let go of: a small entry each.
//!
//! All waits last equally long, so that entries stand in the order in which they end. When a wait begins anew, a new entry
//! is made, which happens once a second at most, and the old one stays without a use until its turn comes.

use std::{
    collections::{VecDeque, hash_map::RandomState},
    hash::{BuildHasher, Hash},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use hashbrown::HashTable;
use recoup_tcp::{TimeWait, TimeWaitAnswer};
use recoup_units::Instant;
use recoup_wire::{Endpoints, Segment};

/// The ends of a connection over one IP version, ours first.
type Key<A> = ([A; 2], [u16; 2]);

#[derive(Clone, Copy, Debug)]
struct Entry<A> {
    /// `None`: the wait has ended.
    wait: Option<TimeWait>,
    ends: Key<A>,
}

/// Entries of one IP version.
#[derive(Debug)]
struct Entries<A> {
    entries: VecDeque<Entry<A>>,
    /// How many entries were taken out at the front. An entry's number minus this is its place.
    gone: u32,
    by_ends: HashTable<u32>,
}

impl<A> Default for Entries<A> {
    fn default() -> Self {
        Self { entries: VecDeque::new(), gone: 0, by_ends: HashTable::new() }
    }
}

impl<A: Copy + Eq + Hash> Entries<A> {
    fn number(&self, hash: u64, ends: &Key<A>) -> Option<u32> {
        let same = |number: &u32| {
            let entry = self.entries.get(number.wrapping_sub(self.gone) as usize);
            entry.is_some_and(|entry| entry.ends == *ends)
        };
        self.by_ends.find(hash, same).copied()
    }

    fn get_mut(&mut self, hasher: &RandomState, ends: &Key<A>) -> Option<&mut Entry<A>> {
        let number = self.number(hasher.hash_one(ends), ends)?;
        self.entries.get_mut(number.wrapping_sub(self.gone) as usize)
    }

    fn insert(&mut self, hasher: &RandomState, ends: Key<A>, wait: TimeWait) {
        self.remove(hasher, &ends);
        if self.entries.len() == self.entries.capacity() {
            // Twice as many as there are would be too much memory.
            self.entries.reserve_exact((self.entries.len() / 4).max(16));
        }
        let number = self.gone.wrapping_add(self.entries.len() as u32);
        self.entries.push_back(Entry { wait: Some(wait), ends });
        let (entries, gone) = (&self.entries, self.gone);
        let hash = |number: &u32| {
            let entry = entries.get(number.wrapping_sub(gone) as usize);
            entry.map_or(0, |entry| hasher.hash_one(entry.ends))
        };
        self.by_ends.insert_unique(hasher.hash_one(ends), number, hash);
    }

    /// Ends a wait. Its entry stays until its turn comes.
    fn remove(&mut self, hasher: &RandomState, ends: &Key<A>) {
        let hash = hasher.hash_one(ends);
        let Some(number) = self.number(hash, ends) else {
            return;
        };
        if let Ok(found) = self.by_ends.find_entry(hash, |other| *other == number) {
            found.remove();
        }
        if let Some(entry) = self.entries.get_mut(number.wrapping_sub(self.gone) as usize) {
            entry.wait = None;
        }
    }

    /// Takes out the first entry.
    fn pop(&mut self, hasher: &RandomState) {
        if let Some(ends) = self.entries.front().filter(|first| first.wait.is_some()).map(|first| first.ends) {
            self.remove(hasher, &ends);
        }
        if self.entries.pop_front().is_some() {
            self.gone = self.gone.wrapping_add(1);
        }
    }

    /// Has a connection's segment answered by `answer`.
    fn on_segment(
        &mut self,
        hasher: &RandomState,
        ends: &Key<A>,
        answer: impl FnOnce(&mut TimeWait) -> TimeWaitAnswer,
    ) -> Option<TimeWaitAnswer> {
        let wait = self.get_mut(hasher, ends)?.wait.as_mut()?;
        let until = wait.until();
        let answered = answer(wait);
        let wait = *wait;
        match answered {
            TimeWaitAnswer::Ended | TimeWaitAnswer::BeginsAnew(_) => self.remove(hasher, ends),
            _ if wait.until() != until => self.insert(hasher, *ends, wait),
            _ => {}
        }
        Some(answered)
    }

    fn end_due(&mut self, hasher: &RandomState, now: Instant) {
        while self.next().is_some_and(|until| until <= now) {
            self.pop(hasher);
        }
        if self.entries.is_empty() {
            *self = Self { gone: self.gone, ..Self::default() };
        }
    }

    fn next(&self) -> Option<Instant> {
        self.entries.front().map(|first| first.wait.map_or(Instant::ZERO, |wait| wait.until()))
    }

    fn memory(&self) -> usize {
        self.entries.capacity() * size_of::<Entry<A>>() + self.by_ends.allocation_size()
    }
}

/// All entries of a host.
#[derive(Debug, Default)]
pub(crate) struct TimeWaits {
    v4: Entries<Ipv4Addr>,
    v6: Entries<Ipv6Addr>,
    hasher: RandomState,
}

/// Calls a method of the entries of a path's IP version, with the path's ends.
macro_rules! of_version {
    ($self:ident, $path:expr, $default:expr, |$entries:ident, $ends:ident| $call:expr) => {
        match ($path.src.ip(), $path.dst.ip()) {
            (IpAddr::V4(ours), IpAddr::V4(theirs)) => {
                let ($entries, $ends) = (&mut $self.v4, &([ours, theirs], ports($path)));
                $call
            }
            (IpAddr::V6(ours), IpAddr::V6(theirs)) => {
                let ($entries, $ends) = (&mut $self.v6, &([ours, theirs], ports($path)));
                $call
            }
            _ => $default,
        }
    };
}

fn ports(path: &Endpoints) -> [u16; 2] {
    [path.src, path.dst].map(|end: SocketAddr| end.port())
}

impl TimeWaits {
    /// The number of entries, those without a use included.
    pub fn len(&self) -> usize {
        self.v4.entries.len() + self.v6.entries.len()
    }

    /// Keeps a connection's wait. Above `most` entries, the oldest of its IP version goes.
    pub fn insert(&mut self, path: &Endpoints, wait: TimeWait, most: usize) {
        let full = self.len() >= most;
        of_version!(self, path, (), |entries, ends| {
            if full {
                entries.pop(&self.hasher);
            }
            entries.insert(&self.hasher, *ends, wait);
        });
    }

    /// Takes in a segment along `path`. `None` if no connection there is in TIME-WAIT. The bound is as for
    /// [`insert`](Self::insert), because a wait that begins anew is a new entry.
    pub fn on_segment(
        &mut self,
        now: Instant,
        path: &Endpoints,
        segment: &Segment,
        most: usize,
    ) -> Option<TimeWaitAnswer> {
        if self.len() == 0 {
            return None;
        }
        let others = if path.src.is_ipv4() { self.v6.entries.len() } else { self.v4.entries.len() };
        of_version!(self, path, None, |entries, ends| {
            let answer = entries.on_segment(&self.hasher, ends, |wait| wait.on_segment(now, segment));
            if others + entries.entries.len() > most {
                entries.pop(&self.hasher);
            }
            answer
        })
    }

    /// Whether a connection along `path` is in TIME-WAIT.
    pub fn has(&mut self, path: &Endpoints) -> bool {
        of_version!(self, path, false, |entries, ends| entries.get_mut(&self.hasher, ends).is_some())
    }

    /// Ends the waits that are over by `now`.
    pub fn end_due(&mut self, now: Instant) {
        self.v4.end_due(&self.hasher, now);
        self.v6.end_due(&self.hasher, now);
    }

    /// When [`end_due`](Self::end_due) has something to do.
    pub fn next(&self) -> Option<Instant> {
        [self.v4.next(), self.v6.next()].into_iter().flatten().min()
    }

    /// The memory of all entries, in bytes.
    pub fn memory(&self) -> usize {
        self.v4.memory() + self.v6.memory()
    }
}

#[cfg(test)]
mod tests;
