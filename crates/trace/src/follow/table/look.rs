//! Looks at connections that are open: what would be found if the capture ended now.
//!
//! A look ends a copy of the connection, and the connection itself goes on, untouched. So what a look finds is what an analysis
//! of the packets so far finds, and the last finding is the same, however often one looked.

use super::{ConnectionState, ConnectionTable, Held};
use crate::{
    attribute::provisional::ChangedHosts,
    finding::{Closing, Findings},
    follow::connection::Attention,
};
use recoup_units::Instant;
use std::{mem::take, time::Duration};

/// A look takes about as long for each retransmission, times this: so at most a twentieth of the time goes into looks at a
/// connection, however many it has.
const PAUSE_FOR_EACH: Duration = Duration::from_micros(20);

/// Which connections are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Those with retransmissions that packets came of since the last such look, or of whose receivers more became known.
    Troubled,
    /// Those that packets came of since this time, but for silent ones that were packed to save memory.
    Since(Instant),
}

/// Which connections packets came of.
#[derive(Debug, Default)]
pub(super) struct Looks {
    /// By slot.
    seen: Vec<Seen>,
    /// The slots of which packets came since the last look at the troubled. Each is there once.
    touched: Vec<u32>,
}

/// What is remembered of the connection in a slot.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    is_touched: bool,
    /// It had retransmissions when it was looked at.
    is_troubled: bool,
    /// When it may be looked at again.
    due: Instant,
}

impl Looks {
    fn touch(&mut self, slot: u32) {
        if self.seen.len() <= slot as usize {
            self.seen.resize(slot as usize + 1, Seen::default());
        }
        let is_touched = &mut self.seen[slot as usize].is_touched;
        if !*is_touched {
            *is_touched = true;
            self.touched.push(slot);
        }
    }
}

impl Looks {
    /// Whether packets came of the connection in `slot` since the last look at the troubled.
    pub fn is_touched(&self, slot: u32) -> bool {
        self.seen.get(slot as usize).is_some_and(|seen| seen.is_touched)
    }
}

impl ConnectionTable {
    /// From now on remembers which connections packets came of.
    pub fn begin_looks(&mut self) {
        self.looks = Some(Box::default());
    }

    /// A packet of the connection in `slot` came.
    #[inline]
    pub(super) fn touch(&mut self, slot: u32) {
        if let Some(looks) = &mut self.looks {
            looks.touch(slot);
        }
    }

    /// More became known of hosts: their troubled connections are looked at again.
    pub(super) fn touch_receivers(&mut self, changed: &ChangedHosts) {
        let Some(looks) = &mut self.looks else {
            return;
        };
        let troubled = looks.seen.iter().enumerate().filter(|(_, seen)| seen.is_troubled);
        let concerned = troubled.filter_map(|(slot, _)| {
            let ends = &self.slots.get(slot)?.as_ref()?.shared.endpoints;
            let is_known = [ends.src, ends.dst].iter().any(|end| changed.contains_key(&end.ip()));
            is_known.then_some(slot as u32)
        });
        let concerned: Vec<u32> = concerned.collect();
        concerned.into_iter().for_each(|slot| looks.touch(slot));
    }

    /// Passes on the connections, as they would be reported if the capture ended here.
    pub fn look(&mut self, whom: Look, findings: &mut impl Findings) {
        match whom {
            Look::Troubled => self.look_at_troubled(findings),
            Look::Since(from) => {
                for open in self.slots.iter().flatten().filter(|open| open.last >= from) {
                    self.look_at(open, findings);
                }
            }
        }
    }

    fn look_at_troubled(&mut self, findings: &mut impl Findings) {
        let Some(mut looks) = self.looks.take() else {
            return;
        };
        let mut touched = take(&mut looks.touched);
        touched.retain(|&slot| {
            let seen = &mut looks.seen[slot as usize];
            if seen.due > self.now {
                return true;
            }
            seen.is_touched = false;
            let troubled = self.get(slot).filter(|open| open.has_rows());
            let found = troubled.map_or(0, |open| self.look_at(open, findings));
            seen.is_troubled = found > 0;
            seen.due = self.now + PAUSE_FOR_EACH * found;
            false
        });
        looks.touched = touched;
        self.looks = Some(looks);
    }

    /// Passes on a connection. Returns how many retransmissions it has.
    fn look_at(&self, open: &ConnectionState, findings: &mut impl Findings) -> u32 {
        // Without a number it cannot be named. It gets one before the next look.
        if open.attention != Attention::Followed || open.number.get().is_none() {
            return 0;
        }
        let mut copy = open.clone();
        let closing = if copy.is_over() { copy.closing() } else { Closing::CaptureEnd };
        let mut rows = Vec::new();
        let mut found = copy.close(closing, &self.replay_context, &mut rows, |_, _| {});
        found.capture_point = self.points.of(open);
        for row in &mut rows {
            row.retransmission.capture_point = found.capture_point.number;
        }
        let count = u32::try_from(rows.len()).unwrap_or(u32::MAX);
        let hosts = self.replay_context.hosts();
        Held::pass_on_so_far(found, rows, &hosts, &self.replay_context.candidates, findings);
        count
    }
}
