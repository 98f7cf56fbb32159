//! Renumbers the findings of an analysis that is merged with another.

use super::{Connection, Retransmission};
use crate::read::CapturedPacket;

/// Numbers added to those of an analysis that comes after another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Renumbering {
    /// The frames before its own.
    pub frames: u64,
    /// The connections before its own.
    pub connections: u64,
}

impl Connection {
    /// Gives it another number, and its frames too.
    pub fn renumber(&mut self, by: Renumbering) {
        self.id = self.id.saturating_add(by.connections);
        let [first, last] = [self.frames.start(), self.frames.end()].map(|frame| frame.saturating_add(by.frames));
        self.frames = first..=last;
        for late in self.directions.iter_mut().flat_map(|direction| &mut direction.late_acks) {
            late.frame = late.frame.saturating_add(by.frames);
        }
    }
}

impl Retransmission {
    /// Gives its connection another number, and its frame too.
    pub fn renumber(&mut self, by: Renumbering) {
        self.connection = self.connection.saturating_add(by.connections);
        self.frame = self.frame.saturating_add(by.frames);
    }
}

impl CapturedPacket {
    pub(crate) fn renumber(&mut self, by: Renumbering) {
        self.frame = self.frame.saturating_add(by.frames);
    }
}
