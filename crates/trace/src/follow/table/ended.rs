//! Connections that have ended, and are kept as [`EndedConnection`] until they are removed.

use super::ConnectionTable;
use crate::follow::compact::Writer;
use crate::follow::connection::{ConnectionState, EndedConnection};
use recoup_units::Instant;
use recoup_wire::Endpoints;
use serde::{Deserialize, Serialize};

/// The ended connections by slot. Their slots hold no [`ConnectionState`].
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Ended {
    /// Ends with the last slot that was ever used for an ended connection.
    slots: Vec<Option<Box<EndedConnection>>>,
    #[serde(skip)]
    writer: Writer,
}

impl Ended {
    pub fn get(&self, slot: u32) -> Option<&EndedConnection> {
        self.slots.get(slot as usize)?.as_deref()
    }

    /// All, with their slots.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &EndedConnection)> {
        let slots = self.slots.iter().enumerate();
        slots.filter_map(|(slot, ended)| Some((slot as u32, ended.as_deref()?)))
    }

    fn take(&mut self, slot: u32) -> Option<Box<EndedConnection>> {
        self.slots.get_mut(slot as usize)?.take()
    }

    fn put(&mut self, slot: u32, ended: EndedConnection) {
        let slot = slot as usize;
        if self.slots.len() <= slot {
            self.slots.resize_with(slot + 1, || None);
        }
        self.slots[slot] = Some(Box::new(ended));
    }
}

impl ConnectionTable {
    /// Frees most memory of the connection in `slot`, which has ended.
    pub(super) fn compact(&mut self, slot: u32) {
        let Some(connection) = &mut self.slots[slot as usize] else {
            return;
        };
        let memory = connection.counted_memory();
        if let Some(ended) = EndedConnection::new(connection, &mut self.ended.writer) {
            self.memory = self
                .memory
                .saturating_add(ended.memory())
                .saturating_sub(memory);
            self.ended.put(slot, ended);
            if let Some(connection) = self.slots[slot as usize].take() {
                self.closed.give(connection);
            }
        }
    }

    /// Takes the connection out of `slot`.
    pub(super) fn take(&mut self, slot: u32) -> Option<Box<ConnectionState>> {
        self.restore(slot);
        self.slots.get_mut(slot as usize)?.take()
    }

    /// If the connection in `slot` has ended, puts its whole state there.
    pub(super) fn restore(&mut self, slot: u32) {
        let Some(mut ended) = self.ended.take(slot) else {
            return;
        };
        let memory = ended.memory();
        let Some(restored) = ended.restore() else {
            return;
        };
        let connection = match self.closed.take() {
            Some(mut used) => {
                *used = restored;
                used
            }
            None => Box::new(restored),
        };
        let now = connection.counted_memory();
        self.memory = self.memory.saturating_add(now).saturating_sub(memory);
        self.slots[slot as usize] = Some(connection);
    }

    /// Restores the ended connections between these ends: a packet of them came.
    pub(super) fn restore_between(&mut self, hash: u64, ends: &Endpoints) {
        let is_theirs = |slot: &u32| {
            self.ended
                .get(*slot)
                .is_some_and(|ended| ended.endpoints == *ends || ended.endpoints == ends.reverse())
        };
        let entries = self.entries.iter_hash(hash).map(|entry| entry.slot);
        let slots: Vec<u32> = entries.filter(is_theirs).collect();
        for slot in slots {
            self.restore(slot);
        }
    }

    /// Restores all ended connections.
    pub(super) fn restore_all(&mut self) {
        for slot in 0..self.slots.len() as u32 {
            self.restore(slot);
        }
    }

    /// When the last packet of the connection in `slot` came, and the connection's serial number.
    pub(super) fn last_of(&self, slot: u32) -> Option<(Instant, u64)> {
        match self.get(slot) {
            Some(open) => Some((open.last, open.serial)),
            None => (self.ended.get(slot)).map(|ended| (ended.last, ended.serial)),
        }
    }
}
