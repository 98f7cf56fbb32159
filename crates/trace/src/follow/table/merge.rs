//! Merges the tables of two analyses that have no connection in common.

use super::{ConnectionTable, Unnumbered};
use crate::{finding::Renumbering, follow::points::Pair};
use std::mem::take;

impl ConnectionTable {
    /// The ends of all connections that are open, or whose packets are held back.
    pub fn pairs(&self) -> impl Iterator<Item = Pair> {
        let open = self.slots.iter().flatten();
        let open = open.map(|open| Pair::of(&open.shared.endpoints));
        open.chain(self.points.pairs().map(Pair::in_any_network))
    }

    /// The number of slots.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Gives all connections and frames other numbers.
    pub fn renumber(&mut self, by: Renumbering) {
        for connection in self.slots.iter_mut().flatten() {
            connection.renumber(by);
        }
        for unnumbered in &mut self.unnumbered {
            unnumbered.frame = unnumbered.frame.saturating_add(by.frames);
        }
        for (connection, rows) in &mut self.unnumbered_closed {
            // The frame stands in for the number.
            let by = Renumbering { connections: by.frames, ..by };
            connection.renumber(by);
            rows.iter_mut().for_each(|row| row.retransmission.renumber(by));
        }
        self.held.renumber(by);
        self.points.renumber(by);
    }

    /// Adds the connections of `other`, whose numbers come after these. Slots and serial numbers of
    /// `other` come after these, too. [`resume`](Self::resume) must follow.
    pub fn merge(&mut self, other: Self) {
        let slots = self.slots.len() as u32;
        let serials = self.next_serial;
        let slot = |slot: u32| slot.saturating_add(slots);
        let serial = |serial: u64| serial.saturating_add(serials);
        self.slots.extend(other.slots.into_iter().map(|mut connection| {
            if let Some(connection) = &mut connection {
                connection.serial = serial(connection.serial);
            }
            connection
        }));
        self.free.extend(other.free.into_iter().map(slot));
        self.next_serial = serial(other.next_serial);
        let unnumbered = other.unnumbered.into_iter().map(|theirs| Unnumbered {
            slot: slot(theirs.slot),
            serial: serial(theirs.serial),
            ..theirs
        });
        self.unnumbered.extend(unnumbered);
        self.unnumbered_closed.extend(other.unnumbered_closed);
        self.held.merge(other.held);
        let lingering = other.lingering.into_iter();
        self.forgetful = 0;
        self.lingering.extend(lingering.map(|(until, s, number)| (until, slot(s), serial(number))));
        self.lingering.make_contiguous().sort_by_key(|(until, ..)| *until);
        let half_open = other.half_open.into_iter();
        self.half_open.extend(half_open.map(|(s, number)| (slot(s), serial(number))));
        self.now = self.now.max(other.now);
        self.left_out.add(other.left_out);
        self.host_facts.extend(other.host_facts);
        self.points.merge(other.points);
    }
}

impl super::CapturePoints {
    fn pairs(&self) -> impl Iterator<Item = Pair> {
        self.pairs.keys().copied()
    }

    fn renumber(&mut self, by: Renumbering) {
        for points in self.pairs.values_mut() {
            points.renumber(by);
        }
        if let Some(first) = &mut self.separation.first {
            first.frame = first.frame.saturating_add(by.frames);
        }
    }

    fn merge(&mut self, mut other: Self) {
        self.pairs.extend(take(&mut other.pairs));
        self.waiting.extend(other.waiting);
        self.waiting.make_contiguous().sort_by_key(|(since, _)| *since);
        self.held = self.held.saturating_add(other.held);
        self.separation.merge(&other.separation);
    }
}
