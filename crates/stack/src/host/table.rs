//! The connections: by number, by path, and by when they wake.

use std::collections::{BTreeSet, HashMap};

use recoup_tcp::{Config, SendLimits, TimeWait};
use recoup_units::Instant;
use recoup_wire::Endpoints;

use super::{Connection, connection::Origin};

/// Identifies a connection. The table reuses its numbers; ids are unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionId {
    index: u32,
    generation: u32,
}

/// A connection, or the memory of one that is over.
#[derive(Debug)]
struct Slot {
    generation: u32,
    live: bool,
    /// The time of its entry among the timers.
    armed: Option<Instant>,
    /// The memory of its out-of-order data, as it is counted in [`Table::out_of_order`].
    out_of_order: usize,
    connection: Box<Connection>,
}

/// Every connection of a host.
impl Slot {
    fn is_owned(&self, id: ConnectionId) -> bool {
        self.live && self.generation == id.generation && !self.connection.released
    }
}

#[derive(Debug, Default)]
pub(crate) struct Table {
    slots: Vec<Slot>,
    free: Vec<u32>,
    by_path: HashMap<Endpoints, u32>,
    /// The connection found last, by number.
    latest: Option<u32>,
    /// One entry per connection that is to wake: at that time or later.
    timers: BTreeSet<(Instant, u32)>,
    /// The memory of the out-of-order data of all connections, in bytes.
    out_of_order: usize,
}

impl Table {
    /// The number of connections.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// What is to be kept of a connection that is in TIME-WAIT and owes no segment.
    pub fn time_wait(&self, index: u32) -> Option<(Endpoints, TimeWait)> {
        let connection = &self.slots.get(index as usize)?.connection;
        Some((connection.path, TimeWait::of(connection.tcp.endpoint())?))
    }

    /// The numbers of all connections.
    pub fn all(&self) -> Vec<u32> {
        let slots = self.slots.iter().zip(0..);
        slots.filter(|(slot, _)| slot.live).map(|(_, index)| index).collect()
    }

    /// The connection along `path`.
    pub fn find(&self, path: &Endpoints) -> Option<u32> {
        self.by_path.get(path).copied()
    }

    /// As [`find`](Self::find); faster for the path of the last call, because packets come in trains.
    pub fn find_again(&mut self, path: &Endpoints) -> Option<u32> {
        let slot = |index: &u32| self.slots.get(*index as usize);
        let again = |index: &u32| slot(index).is_some_and(|slot| slot.connection.path == *path);
        self.latest = self.latest.filter(again).or_else(|| self.find(path));
        self.latest
    }

    /// The id of a connection's present use.
    pub fn id(&self, index: u32) -> ConnectionId {
        let slot = self.slots.get(index as usize);
        ConnectionId { index, generation: slot.map_or(0, |slot| slot.generation) }
    }

    /// The connection of this number, if there is one.
    pub fn at_mut(&mut self, index: u32) -> Option<&mut Connection> {
        let slot = self.slots.get_mut(index as usize)?;
        slot.live.then_some(&mut *slot.connection)
    }

    /// The connection of this id, unless it was let go of.
    pub fn get(&self, id: ConnectionId) -> Option<&Connection> {
        let slot = self.slots.get(id.index as usize)?;
        slot.is_owned(id).then_some(&*slot.connection)
    }

    /// The connection of this id, unless it was let go of, and its number.
    pub fn get_mut(&mut self, id: ConnectionId) -> Option<(u32, &mut Connection)> {
        let slot = self.slots.get_mut(id.index as usize)?;
        slot.is_owned(id).then_some((id.index, &mut *slot.connection))
    }

    /// A new connection.
    pub fn open(&mut self, config: &Config, path: Endpoints, origin: Origin, limits: SendLimits) -> u32 {
        let index = match self.free.pop() {
            Some(index) => {
                let slot = &mut self.slots[index as usize];
                slot.live = true;
                slot.connection.reset(config, path, origin, limits);
                index
            }
            None => {
                self.slots.push(Slot {
                    generation: 0,
                    live: true,
                    armed: None,
                    out_of_order: 0,
                    connection: Box::new(Connection::new(config, path, origin, limits)),
                });
                (self.slots.len() - 1) as u32
            }
        };
        self.by_path.insert(path, index);
        index
    }

    /// Packets along its path are no longer a connection's.
    pub fn forget_path(&mut self, index: u32) {
        self.latest = None;
        if let Some(slot) = self.slots.get(index as usize)
            && self.by_path.get(&slot.connection.path) == Some(&index)
        {
            self.by_path.remove(&slot.connection.path);
        }
    }

    /// A connection is over and unowned. Its memory is kept for another one.
    pub fn free(&mut self, index: u32) {
        self.forget_path(index);
        self.disarm(index);
        if let Some(slot) = self.slots.get_mut(index as usize)
            && std::mem::replace(&mut slot.live, false)
        {
            slot.generation = slot.generation.wrapping_add(1);
            slot.connection.tcp.give_back_memory();
            self.free.push(index);
        }
        self.count_out_of_order(index);
    }

    /// Counts the out-of-order data of a connection, which may have changed. Returns the memory of all.
    pub fn count_out_of_order(&mut self, index: u32) -> usize {
        if let Some(slot) = self.slots.get_mut(index as usize) {
            let now = slot.connection.tcp.out_of_order_memory();
            self.out_of_order = self.out_of_order - std::mem::replace(&mut slot.out_of_order, now) + now;
        }
        self.out_of_order
    }

    /// Discards the out-of-order data of the connections with the most of it, until no more than `most` bytes are left.
    /// Returns the number of these connections. As this looks at every connection, `most` should leave room for a while.
    pub fn discard_out_of_order(&mut self, most: usize) -> u64 {
        let slots = self.slots.iter().zip(0..).filter(|(slot, _)| slot.out_of_order > 0);
        let mut greediest: Vec<(usize, u32)> = slots.map(|(slot, index)| (slot.out_of_order, index)).collect();
        greediest.sort_unstable();
        let mut discarded = 0;
        while self.out_of_order > most
            && let Some((_, index)) = greediest.pop()
        {
            self.slots[index as usize].connection.tcp.discard_out_of_order();
            self.count_out_of_order(index);
            discarded += 1;
        }
        discarded
    }

    /// Makes sure that a connection is woken in time. An entry that is early enough stays, since most timers
    /// are put off before they fire.
    pub fn arm(&mut self, index: u32) {
        let Some(slot) = self.slots.get_mut(index as usize) else {
            return;
        };
        let Some(at) = slot.connection.next_timer() else {
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
