//! Finds the kernel's report of each retransmission: of the same direction, with a common byte, and nearest in time. One report may
//! be several packets (segmentation offload), and a packet may be seen at several interfaces.

use super::agreement::{Agreement, agrees};
use crate::event::Event;
use crate::totals::place;
use recoup_kernel::{KernelRetransmission, Reason};
use recoup_trace::finding::{Connection, ConnectionKey, Opening, Retransmission, Triggers, Vantage};
use recoup_units::Instant;
use recoup_wire::{Endpoints, SeqNumber};
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

/// Reports that are kept for retransmissions that are found later. Beyond, the oldest are dropped.
const MOST_REPORTS: usize = 1 << 16;

/// A packet is captured at most this long after the report: queues of the host may hold it.
const LATEST: Duration = Duration::from_secs(2);

/// A packet is captured at most this long before the report: the kernel passes it on first, and may be interrupted then.
const EARLIEST: Duration = Duration::from_millis(50);

/// Reports beside retransmissions.
#[derive(Default)]
pub struct Matching {
    directions: HashMap<Endpoints, Direction>,
    /// The directions and numbers of reports, the oldest first.
    order: VecDeque<(Endpoints, u64)>,
    reports: u64,
    /// Directions with reports since reasons were said last.
    reported: Vec<Endpoints>,
    pub agreement: Agreement,
}

/// Of a direction.
#[derive(Default)]
struct Direction {
    /// In the order of time.
    reports: VecDeque<Report>,
    /// Retransmissions whose report has not come.
    waiting: Vec<Retransmission>,
    /// Retransmissions whose reason was said.
    said: Vec<SaidReason>,
}

struct Report {
    number: u64,
    retransmission: KernelRetransmission,
    is_found: bool,
}

#[derive(Clone, Copy)]
struct SaidReason {
    connection: ConnectionKey,
    frame: u64,
    seq: u32,
    triggers: Triggers,
    reason: Reason,
}

impl Matching {
    /// The kernel reports a retransmission.
    pub fn report(&mut self, retransmission: KernelRetransmission) {
        if !retransmission.is_sent {
            // The kernel reports all of its connections, also those in namespaces that nobody watches.
            let known = self.directions.get(&retransmission.endpoints);
            let is_watched = known.is_some_and(|known| !(known.waiting.is_empty() && known.said.is_empty()));
            self.agreement.unsent += u64::from(is_watched);
            return;
        }
        let (ends, number) = (retransmission.endpoints, self.reports);
        self.reports += 1;
        self.order.push_back((ends, number));
        let reports = &mut self.directions.entry(ends).or_default().reports;
        reports.push_back(Report { number, retransmission, is_found: false });
        if self.reported.last() != Some(&ends) {
            self.reported.push(ends);
        }
        if self.order.len() > MOST_REPORTS {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        let Some((ends, number)) = self.order.pop_front() else {
            return;
        };
        if let Some(direction) = self.directions.get_mut(&ends) {
            // Its connection may have ended, and the report be gone.
            if direction.reports.front().is_some_and(|report| report.number == number) {
                direction.reports.pop_front();
            }
            self.tidy(ends);
        }
    }

    /// Adds the reasons of retransmissions to what is said.
    pub fn hear(&mut self, events: &mut Vec<Event>) {
        let mut reasons = Vec::new();
        for ends in std::mem::take(&mut self.reported) {
            if let Some(direction) = self.directions.get_mut(&ends) {
                direction.retry(&mut self.agreement, &mut reasons);
            }
        }
        for event in &*events {
            match event {
                Event::Retransmission { row, .. } => {
                    let direction = self.directions.entry(row.endpoints).or_default();
                    match direction.say(row, &mut self.agreement) {
                        Some(event) => reasons.push(event),
                        None => direction.waiting.push(*row),
                    }
                }
                Event::Verdict { row, was, .. } if was.triggers != row.triggers => reasons.extend(self.change(row)),
                Event::Withdrawn { was, .. } => self.withdraw(was),
                _ => {}
            }
        }
        // A connection at several interfaces may end at all of them at once.
        for event in &*events {
            if let Event::Ended { connection } = event {
                self.end(connection, &mut reasons);
            }
        }
        events.append(&mut reasons);
    }

    /// A retransmission has another trigger.
    fn change(&mut self, row: &Retransmission) -> Option<Event> {
        let direction = self.directions.get_mut(&row.endpoints)?;
        if let Some(waiting) = direction.waiting.iter_mut().find(|waiting| place_of(waiting) == place_of(row)) {
            *waiting = *row;
        }
        let said = direction.said.iter_mut().find(|said| said.place() == place_of(row))?;
        self.agreement.remove(said.triggers, said.reason);
        said.triggers = row.triggers;
        self.agreement.add(said.triggers, said.reason);
        Some(event(row, said.reason))
    }

    fn withdraw(&mut self, row: &Retransmission) {
        let Some(direction) = self.directions.get_mut(&row.endpoints) else {
            return;
        };
        direction.waiting.retain(|waiting| place_of(waiting) != place_of(row));
        let agreement = &mut self.agreement;
        direction.said.retain(|said| {
            let is_it = said.place() == place_of(row);
            if is_it {
                agreement.remove(said.triggers, said.reason);
            }
            !is_it
        });
    }

    /// What has not been found by the end of a connection will not be.
    fn end(&mut self, connection: &Connection, to: &mut Vec<Event>) {
        let key = connection.key();
        for (ends, side) in
            [connection.endpoints, connection.endpoints.reverse()].into_iter().zip(&connection.directions)
        {
            let Some(direction) = self.directions.get_mut(&ends) else {
                continue;
            };
            // Another connection between the same ends may follow.
            let until = connection.ended + LATEST;
            let is_reported = direction.said.iter().any(|said| said.connection == key) || !direction.reports.is_empty();
            for row in direction.waiting.iter().filter(|row| row.connection_key() == key) {
                match is_reported {
                    true => self.agreement.without[place(row.triggers.first())] += 1,
                    false => self.agreement.elsewhere += 1,
                }
            }
            direction.waiting.retain(|row| row.connection_key() != key);
            direction.said.retain(|said| said.connection != key);
            let over = direction.reports.partition_point(|report| report.retransmission.at <= until);
            for report in direction.reports.drain(..over) {
                // Before its first packet, nothing was captured.
                if report.is_found || report.retransmission.at < connection.begun {
                    continue;
                }
                match (connection.opening, side.vantage) {
                    (Opening::Handshake, Vantage::Sender) => {
                        self.agreement.missed[report.retransmission.reason as usize] += 1
                    }
                    _ => self.agreement.unseen += 1,
                }
                let (vantage, report) = (side.vantage, report.retransmission);
                to.push(Event::KernelOnly { connection: connection.id, vantage, report });
            }
            self.tidy(ends);
        }
    }

    fn tidy(&mut self, ends: Endpoints) {
        let is_empty = |one: &Direction| one.reports.is_empty() && one.waiting.is_empty() && one.said.is_empty();
        if self.directions.get(&ends).is_some_and(is_empty) {
            self.directions.remove(&ends);
        }
    }
}

impl Direction {
    /// Looks for reports that came after the packet was found.
    fn retry(&mut self, agreement: &mut Agreement, to: &mut Vec<Event>) {
        for row in std::mem::take(&mut self.waiting) {
            match self.say(&row, agreement) {
                Some(event) => to.push(event),
                None => self.waiting.push(row),
            }
        }
    }

    /// Says the reason of a retransmission, if it was reported.
    fn say(&mut self, row: &Retransmission, agreement: &mut Agreement) -> Option<Event> {
        let reason = self.find(row)?;
        agreement.begin(row.triggers, reason);
        let (connection, frame, seq, triggers) = (row.connection_key(), row.frame, row.seq.0, row.triggers);
        self.said.push(SaidReason { connection, frame, seq, triggers, reason });
        Some(event(row, reason))
    }

    /// The report that is nearest in time.
    fn find(&mut self, row: &Retransmission) -> Option<Reason> {
        let end = row.seq.0.wrapping_add(row.len).wrapping_add(u32::from(row.syn)).wrapping_add(u32::from(row.fin));
        let (from, until) = (row.at - LATEST, row.at + EARLIEST);
        let first = self.reports.partition_point(|report| report.retransmission.at < from);
        let near = self.reports.range_mut(first..).take_while(|report| report.retransmission.at <= until);
        let same = near.filter(|report| {
            let reported = &report.retransmission;
            reported.seq.before(SeqNumber(end)) && row.seq.before(reported.end)
        });
        let found = same.min_by_key(|report| distance(report.retransmission.at, row.at))?;
        found.is_found = true;
        Some(found.retransmission.reason)
    }
}

impl SaidReason {
    fn place(&self) -> (ConnectionKey, u64, u32) {
        (self.connection, self.frame, self.seq)
    }
}

fn place_of(row: &Retransmission) -> (ConnectionKey, u64, u32) {
    (row.connection_key(), row.frame, row.seq.0)
}

fn event(row: &Retransmission, reason: Reason) -> Event {
    Event::KernelReason { row: *row, reason, agrees: agrees(row.triggers, reason) }
}

fn distance(a: Instant, b: Instant) -> u64 {
    a.as_nanos().abs_diff(b.as_nanos())
}

#[cfg(test)]
mod tests;
