//! Removes connections from the table: those that have ended, are silent, or are too many.

use super::{ConnectionTable, LINGER, hash};
use crate::{
    finding::{CapturePoint, Closing, Findings},
    follow::{
        connection::{Attention, ConnectionState},
        points::Pair,
    },
};
use recoup_units::Instant;
use std::{mem::take, time::Duration};

/// A SYN is answered or retransmitted within this time (RFC 6298 §5.5 and Linux's six retries: 64 s
/// at most), in ns.
const HALF_OPEN_TIMEOUT: u64 = 75_000_000_000;

/// Slots checked for silence after each round: a table of n slots is checked every n / 256 rounds.
const SWEPT_PER_ROUND: usize = 256;

/// The largest state that is kept for reuse as it is, in bytes.
const MOST_POOLED: usize = 1 << 14;

/// How long after its end a connection remembers all its packets.
const LINGER_WHOLE: Duration = Duration::from_secs(1);

impl ConnectionTable {
    /// Forgets connections that are no longer half-open. If there are too many others, removes the
    /// oldest.
    #[cold]
    pub fn thin_half_open(&mut self, findings: &mut impl Findings) {
        let mut half_open = take(&mut self.half_open);
        half_open.retain(|&(slot, serial)| {
            let open = self.get(slot).filter(|open| open.serial == serial);
            open.is_some_and(ConnectionState::is_half_open)
        });
        while half_open.len() > self.most_half_open
            && let Some((slot, _)) = half_open.pop_front()
        {
            self.close(slot, Closing::Evicted, findings);
        }
        self.half_open = half_open;
    }

    /// Removes the longest silent of a few connections.
    pub fn evict_one(&mut self, findings: &mut impl Findings) {
        let count = self.slots.len();
        let looked_at = (0..count).map(|i| (self.cursor + i) % count);
        let some = looked_at.filter_map(|slot| Some((self.last_of(slot)?, slot)));
        let oldest = some.take(32).min();
        if let Some((_, slot)) = oldest {
            self.cursor = (slot + 1) % count;
            self.close(slot as u32, Closing::Evicted, findings);
        }
    }

    /// Packets up to `now` were taken. Removes ended connections that are due, and checks some
    /// others for silence.
    pub fn sweep(&mut self, now: Instant, findings: &mut impl Findings) {
        self.now = now;
        self.settle(findings);
        self.release_held(false, findings);
        while let Some(&(due, slot, serial)) = self.lingering.front()
            && due <= now
        {
            self.lingering.pop_front();
            self.forgetful = self.forgetful.saturating_sub(1);
            let Some(over) = self.get(slot).filter(|over| over.serial == serial) else {
                continue;
            };
            let closing = over.closing();
            // The connection still sends, so what comes next belongs to it.
            if now.since(over.last) < LINGER / 2 {
                let until = over.last + LINGER;
                self.lingering.push_back((until, slot, serial));
            } else {
                self.close(slot, closing, findings);
            }
        }
        self.forget_ended(now);
        self.check_for_silence(findings);
    }

    /// Removes those of a few connections that were silent for too long.
    fn check_for_silence(&mut self, findings: &mut impl Findings) {
        self.not_silent_until.resize(self.slots.len(), Instant::ZERO);
        for _ in 0..self.slots.len().min(SWEPT_PER_ROUND) {
            self.cursor = (self.cursor + 1) % self.slots.len();
            if self.now <= self.not_silent_until[self.cursor] {
                continue;
            }
            if self.is_silent(self.cursor) {
                self.close(self.cursor as u32, Closing::Idle, findings);
            } else if let Some(last) = self.last_of(self.cursor) {
                let least = self.idle.min(HALF_OPEN_TIMEOUT);
                self.not_silent_until[self.cursor] = last.plus_nanos(least);
            }
        }
    }

    /// Lets connections that ended a while ago, and were silent since, forget most packets.
    fn forget_ended(&mut self, now: Instant) {
        while let Some(&(due, slot, serial)) = self.lingering.get(self.forgetful)
            && due <= now + (LINGER - LINGER_WHOLE)
        {
            self.forgetful += 1;
            if let Some(over) = &mut self.slots[slot as usize]
                && over.serial == serial
                && over.is_over()
                && now.since(over.last) >= LINGER_WHOLE / 2
            {
                over.forget_most();
                self.memory = self.memory.saturating_add_signed(over.count_memory());
            }
        }
    }

    /// Whether the connection in `slot` has been silent for too long.
    pub fn is_silent(&self, slot: usize) -> bool {
        let is_half_open = self.slots[slot].as_ref().is_some_and(|open| open.is_half_open());
        let patience = if is_half_open { self.idle.min(HALF_OPEN_TIMEOUT) } else { self.idle };
        self.last_of(slot).is_some_and(|last| self.now.nanos_since(last) > patience)
    }

    /// When the last packet came of the connection in `slot`.
    pub(super) fn last_of(&self, slot: usize) -> Option<Instant> {
        let awake = self.slots[slot].as_ref().map(|open| open.last);
        awake.or_else(|| self.asleep.last(slot as u32))
    }

    pub fn close(&mut self, slot: u32, closing: Closing, findings: &mut impl Findings) {
        self.wake(slot);
        let Some(mut connection) = self.slots[slot as usize].take() else {
            return;
        };
        let hash = hash(&self.hasher, &connection.shared.endpoints);
        if let Ok(entry) = self.entries.find_entry(hash, |entry| entry.slot == slot) {
            entry.remove();
        }
        self.free.push(slot);
        if let Some(until) = self.not_silent_until.get_mut(slot as usize) {
            *until = Instant::ZERO;
        }
        let capture_point = self.points.of(&connection);
        if connection.in_pair {
            self.forget_pair(hash, &Pair::of_connection(&connection));
        }
        let closing = if connection.is_over() { connection.closing() } else { closing };
        if connection.attention == Attention::LeftOut {
            let is_in_window = connection.last >= self.window_begins;
            self.left_out.connections += u64::from(is_in_window);
        } else {
            self.report(&mut connection, closing, capture_point, findings);
        }
        self.memory = self.memory.saturating_sub(connection.counted_memory());
        if connection.counted_memory() > MOST_POOLED {
            connection.trim();
        }
        self.closed.give(connection);
    }

    /// Passes on the findings of a connection that is removed, and what it showed of hosts.
    fn report(
        &mut self,
        connection: &mut ConnectionState,
        closing: Closing,
        capture_point: CapturePoint,
        findings: &mut impl Findings,
    ) {
        let mut rows = Vec::new();
        let host_facts = &mut self.host_facts;
        let learned = |host, facts| host_facts.push((host, facts));
        let mut found = connection.close(closing, &self.replay_context, &mut rows, learned);
        if connection.attention == Attention::BeforeWindow {
            return;
        }
        for row in &mut rows {
            row.retransmission.capture_point = capture_point.number;
        }
        found.capture_point = capture_point;
        self.check_separation(&found, connection.late_copies());
        match connection.number.get() {
            Some(_) => {
                let hosts = self.replay_context.hosts();
                let candidates = &self.replay_context.candidates;
                self.held.take(found, rows, &hosts, candidates, findings);
            }
            None => self.unnumbered_closed.push((found, rows)),
        }
    }
}
