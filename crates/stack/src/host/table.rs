//! The connections: by number, by path, and by when they wake.

use std::collections::BTreeSet;

use recoup_tcp::{Config, SendLimits, TimeWait};
use recoup_units::Instant;
use recoup_wire::Endpoints;

use super::{Connection, connection::Origin, memory::Growth, paths::Paths};

/// Identifies a connection. The table reuses its numbers; ids are unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionId {
    index: u32,
    generation: u32,
}

impl ConnectionId {
    /// The number of the connection, which another one has after it.
    pub(crate) const fn index(self) -> usize {
        self.index as usize
    }
}

/// Memory of connections that are over, for new ones: that many at most.
const SPARE: usize = 64;

/// The place of a connection, or an empty one.
#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    /// The time of its entry among the timers.
    armed: Option<Instant>,
    counted: Counted,
    connection: Option<Box<Connection>>,
}

/// What a table counts of a connection, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counted {
    /// Bytes of memory.
    memory: usize,
    /// Bytes of it for out-of-order data.
    out_of_order: usize,
    /// Bytes of the receive buffer.
    promised: u64,
}

impl Counted {
    /// What a connection takes beside its streams: its state, its place here, and an entry in each map. Beside the timers'
    /// entry there may be one of the queues of events and of what is to be transmitted.
    const FIXED: usize = size_of::<Connection>() + size_of::<Slot>() + Paths::ENTRY + 40;

    fn of(connection: &Connection) -> Self {
        let tcp = &connection.tcp;
        Self {
            memory: Self::FIXED + tcp.memory() + tcp.endpoint().sender().memory(),
            out_of_order: tcp.out_of_order_memory(),
            promised: tcp.endpoint().receiver().buffer(),
        }
    }

    /// Replaces `before`, which is a part of this, by `now`.
    fn replace(&mut self, before: Self, now: Self) {
        self.memory = self.memory - before.memory + now.memory;
        self.out_of_order = self.out_of_order - before.out_of_order + now.out_of_order;
        self.promised = self.promised - before.promised + now.promised;
    }
}

impl Slot {
    /// The connection of this id, unless it was let go of.
    fn owned(&self, id: ConnectionId) -> Option<&Connection> {
        let same = self.generation == id.generation;
        self.connection.as_deref().filter(|connection| same && !connection.released)
    }
}

/// Every connection of a host.
#[derive(Debug, Default)]
pub(crate) struct Table {
    slots: Vec<Slot>,
    free: Vec<u32>,
    #[expect(clippy::vec_box, reason = "slots take them as they are")]
    spare: Vec<Box<Connection>>,
    by_path: Paths,
    /// The connection found last, by number.
    latest: Option<u32>,
    /// One entry per connection that is to wake: at that time or later.
    timers: BTreeSet<(Instant, u32)>,
    /// The sum over all connections.
    counted: Counted,
}

impl Table {
    /// The memory that a connection takes beside its streams, in bytes, as long as its sender has sent nothing.
    pub const STATE: usize = Counted::FIXED;

    /// The number of connections.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// What is to be kept of a connection that is in TIME-WAIT and owes no segment.
    pub fn time_wait(&self, index: u32) -> Option<(Endpoints, TimeWait)> {
        let connection = self.at(index)?;
        Some((connection.path, TimeWait::of(connection.tcp.endpoint())?))
    }

    /// The numbers of all connections.
    pub fn all(&self) -> Vec<u32> {
        let slots = self.slots.iter().zip(0..);
        slots.filter(|(slot, _)| slot.connection.is_some()).map(|(_, index)| index).collect()
    }

    /// The connection along `path`.
    pub fn find(&self, path: &Endpoints) -> Option<u32> {
        self.by_path.find(path, |index| self.at(index).is_some_and(|connection| connection.path == *path))
    }

    /// As [`find`](Self::find); faster for the path of the last call, because packets come in trains.
    pub fn find_again(&mut self, path: &Endpoints) -> Option<u32> {
        let again = |index: &u32| self.at(*index).is_some_and(|connection| connection.path == *path);
        self.latest = self.latest.filter(again).or_else(|| self.find(path));
        self.latest
    }

    /// The id of a connection's present use.
    pub fn id(&self, index: u32) -> ConnectionId {
        let slot = self.slots.get(index as usize);
        ConnectionId { index, generation: slot.map_or(0, |slot| slot.generation) }
    }

    /// The connection of this number, if there is one.
    pub fn at(&self, index: u32) -> Option<&Connection> {
        self.slots.get(index as usize)?.connection.as_deref()
    }

    /// The connection of this number, if there is one.
    pub fn at_mut(&mut self, index: u32) -> Option<&mut Connection> {
        self.slots.get_mut(index as usize)?.connection.as_deref_mut()
    }

    /// The connection of this id, unless it was let go of.
    pub fn get(&self, id: ConnectionId) -> Option<&Connection> {
        self.slots.get(id.index as usize)?.owned(id)
    }

    /// The connection of this id, unless it was let go of, and its number.
    pub fn get_mut(&mut self, id: ConnectionId) -> Option<(u32, &mut Connection)> {
        self.get(id)?;
        Some((id.index, self.at_mut(id.index)?))
    }

    /// A new connection.
    pub fn open(
        &mut self,
        config: &Config,
        path: Endpoints,
        origin: Origin,
        limits: SendLimits,
        growth: Growth,
    ) -> u32 {
        let connection = match self.spare.pop() {
            Some(mut connection) => {
                connection.reset(config, path, origin, limits);
                connection
            }
            None => Box::new(Connection::new(config, path, origin, limits)),
        };
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            (self.slots.len() - 1) as u32
        });
        let slot = &mut self.slots[index as usize];
        let connection = slot.connection.insert(connection);
        connection.growth = growth;
        self.by_path.insert(&path, index);
        self.count(index);
        index
    }

    /// Packets along its path are no longer a connection's.
    pub fn forget_path(&mut self, index: u32) {
        self.latest = None;
        if let Some(connection) = self.at(index) {
            let path = connection.path;
            self.by_path.remove(&path, index);
        }
    }

    /// A connection is over and unowned. Some memory is kept for another one.
    pub fn free(&mut self, index: u32) {
        self.forget_path(index);
        self.disarm(index);
        if let Some(slot) = self.slots.get_mut(index as usize)
            && let Some(mut connection) = slot.connection.take()
        {
            slot.generation = slot.generation.wrapping_add(1);
            self.free.push(index);
            if self.spare.len() < SPARE {
                connection.tcp.give_back_memory();
                connection.tcp.shrink();
                self.spare.push(connection);
            }
        }
        self.count(index);
    }

    /// Counts a connection, which may have changed.
    pub fn count(&mut self, index: u32) {
        if let Some(slot) = self.slots.get_mut(index as usize) {
            let now = slot.connection.as_deref().map_or(Counted::default(), Counted::of);
            self.counted.replace(std::mem::replace(&mut slot.counted, now), now);
        }
    }

    /// The memory of all connections, in bytes.
    pub const fn memory(&self) -> usize {
        self.counted.memory
    }

    /// The memory of the out-of-order data of all connections, in bytes.
    pub const fn out_of_order(&self) -> usize {
        self.counted.out_of_order
    }

    /// The sum of all receive buffers, in bytes.
    pub const fn promised(&self) -> u64 {
        self.counted.promised
    }

    /// Discards the out-of-order data of the connections with the most of it, until no more than `most` bytes are left.
    /// Returns the number of these connections. As this looks at every connection, `most` should leave room for a while.
    pub fn discard_out_of_order(&mut self, most: usize) -> u64 {
        let slots = self.slots.iter().zip(0..).map(|(slot, index)| (slot.counted.out_of_order, index));
        let mut greediest: Vec<(usize, u32)> = slots.filter(|(bytes, _)| *bytes > 0).collect();
        greediest.sort_unstable();
        let mut discarded = 0;
        while self.out_of_order() > most
            && let Some((_, index)) = greediest.pop()
        {
            if let Some(connection) = self.at_mut(index) {
                connection.tcp.discard_out_of_order();
            }
            self.count(index);
            discarded += 1;
        }
        discarded
    }

    /// Frees the memory of empty streams. This looks at every connection.
    pub fn shrink_empty(&mut self) {
        for index in 0..self.slots.len() as u32 {
            if let Some(connection) = self.at_mut(index).filter(|connection| connection.tcp.is_empty()) {
                connection.tcp.shrink();
                self.count(index);
            }
        }
    }

    /// Makes sure that a connection is woken in time. An entry that is early enough stays, since most timers
    /// are put off before they fire.
    pub fn arm(&mut self, index: u32) {
        let Some(slot) = self.slots.get_mut(index as usize) else {
            return;
        };
        let Some(at) = slot.connection.as_deref().and_then(Connection::next_timer) else {
            return;
        };
        if slot.armed.is_some_and(|armed| armed <= at) {
            return;
        }
        if let Some(armed) = slot.armed.replace(at) {
            self.timers.remove(&(armed, index));
        }
        self.timers.insert((at, index));
    }

    fn disarm(&mut self, index: u32) {
        if let Some(slot) = self.slots.get_mut(index as usize)
            && let Some(armed) = slot.armed.take()
        {
            self.timers.remove(&(armed, index));
        }
    }

    /// The earliest time any connection is to be woken.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// Takes out a connection that is to wake by `now`; it must be armed again.
    pub fn take_due(&mut self, now: Instant) -> Option<u32> {
        let (at, index) = *self.timers.first()?;
        if at > now {
            return None;
        }
        self.disarm(index);
        Some(index)
    }
}
