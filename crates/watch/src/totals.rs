//! Counts since the start, which only go up, as programs that collect them expect.

use crate::event::Event;
use recoup_recovery::Trigger;
use recoup_trace::finding::{Cause, Closing, Connection, ConnectionKey, LostTime, Verdict};
use std::collections::HashMap;
use std::time::Duration;

/// Triggers, and at last the unknown one.
pub const TRIGGERS: usize = Trigger::ALL.len() + 1;

/// Counts since the start.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Retransmissions by the trigger that was said first.
    pub retransmissions: [u64; TRIGGERS],
    /// Verdicts by trigger: of each retransmission once it is decided, and again if the verdict changes.
    pub verdicts: [[u64; Verdict::ALL.len()]; TRIGGERS],
    /// Verdicts that changed after they were decided, by what they were and what they became.
    pub revisions: [[u64; Verdict::ALL.len()]; Verdict::ALL.len()],
    /// Packets that turned out to be no retransmissions.
    pub withdrawn: u64,
    /// Time lost by cause. If time moves to another cause, both have counted it.
    pub lost: [Duration; Cause::ALL.len()],
    /// Connections that have ended.
    pub ended: [u64; Closing::ALL.len()],
    counted: HashMap<ConnectionKey, LostTime>,
}

/// The place of a trigger; the last is that of none.
pub fn place(trigger: Option<Trigger>) -> usize {
    trigger.map_or(Trigger::ALL.len(), |trigger| trigger as usize)
}

impl Totals {
    /// Something was said.
    pub fn hear(&mut self, event: &Event) {
        match event {
            Event::Retransmission { row, decided } => {
                let trigger = place(row.triggers.first());
                self.retransmissions[trigger] += 1;
                if *decided {
                    self.verdicts[trigger][row.verdict as usize] += 1;
                }
            }
            Event::Verdict { row, decided, was } => {
                let is_new = *decided && (!was.decided || was.verdict != row.verdict);
                self.verdicts[place(row.triggers.first())][row.verdict as usize] += u64::from(is_new);
                let is_revised = was.decided && was.verdict != row.verdict;
                self.revisions[was.verdict as usize][row.verdict as usize] += u64::from(is_revised);
            }
            Event::Withdrawn { .. } => self.withdrawn += 1,
            Event::Ended { connection } => self.ended[connection.closing as usize] += 1,
            Event::Episode { .. } | Event::KernelReason { .. } | Event::KernelOnly { .. } | Event::Note { .. } => {}
        }
    }

    /// A connection has lost this much so far.
    pub fn lose(&mut self, connection: &Connection, has_ended: bool) {
        let lost = connection.lost();
        let key = connection.key();
        let before = self.counted.get(&key).copied().unwrap_or_default();
        for cause in Cause::ALL {
            self.lost[cause as usize] += lost.of(cause).saturating_sub(before.of(cause));
        }
        if has_ended {
            self.counted.remove(&key);
        } else if !lost.total().is_zero() {
            self.counted.insert(key, lost);
        }
    }
}

#[cfg(test)]
mod tests;
