//! Connections by what they have in common: which server, client, network, port, path or capture lost most.
//!
//! | module | contents |
//! | --- | --- |
//! | `key` | what connections are grouped by, and the key of each group |
//! | `differences` | sentences on groups that stand out |
//! | `columns` | groups as rows of a table |

mod columns;
mod differences;
mod key;
#[cfg(test)]
mod tests;

pub use columns::{GroupRow, group_columns, group_rows};
pub(super) use differences::differences;
pub use key::{GroupBy, GroupKey};

use super::facts::{Facts, lost_by, main_direction};
use super::order::SortBy;
use crate::merge_fields;
use crate::study::Merge;
use recoup_support::stats::Durations;
use recoup_trace::finding::{Connection, LostTime, Tally, TimeByState, Vantage};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

/// The most groups of a table that are kept: those that lost most time. The others become one group.
const MOST_KEPT: usize = 1024;

/// Sums over the connections of a group.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// Connections.
    pub connections: u64,
    /// Connections that lost time.
    pub losers: u64,
    /// Payload bytes, retransmissions included.
    pub bytes: u64,
    /// Packets with payload, SYN or FIN.
    pub segments: u64,
    /// The sum of the connections' durations.
    pub connection_time: Duration,
    /// The main directions' time by state.
    pub time: TimeByState,
    /// The time that both directions lost.
    pub lost: LostTime,
    /// Retransmissions of both directions.
    pub retransmissions: Tally,
    /// The median round-trip time of each main direction that was not captured at its receiver.
    pub rtt: Durations,
    /// The sum of the squares of the connections' lost shares of their time, and the sum of these shares.
    shares: Shares,
}

/// Sums of the connections' lost shares of their time, from which the error of their mean follows.
#[derive(Clone, Copy, Debug, Default)]
struct Shares {
    sum: f64,
    squares: f64,
}

impl Merge for Shares {
    fn merge(&mut self, other: &Self) {
        self.sum += other.sum;
        self.squares += other.squares;
    }
}

merge_fields!(Group: connections, losers, bytes, segments, connection_time, time, lost, retransmissions, rtt, shares);

impl Group {
    /// The group of all connections of a capture.
    pub(super) fn of(facts: &Facts) -> Self {
        let all = facts.groups.0.first();
        let mut sum = Self::default();
        all.into_iter().flat_map(|table| table.groups.values()).for_each(|group| sum.merge(group));
        sum
    }

    fn add(&mut self, connection: &Connection) {
        let lost = lost_by(connection);
        self.lost.merge(&lost);
        for direction in &connection.directions {
            self.bytes += direction.bytes;
            self.segments += direction.segments;
            self.retransmissions.merge(&direction.retransmissions);
        }
        self.losers += u64::from(!lost.total().is_zero());
        let main = &connection.directions[main_direction(connection)];
        if let Some(rtt) = main.rtt.filter(|_| main.vantage != Vantage::Receiver) {
            self.rtt.add(rtt.p50);
        }
        if connection.capture_point.number == 0 {
            self.connections += 1;
            self.connection_time += main.time.total();
            self.time.merge(&main.time);
            let life = main.time.total().as_secs_f64();
            let share = if life > 0.0 { (lost.total().as_secs_f64() / life).min(1.0) } else { 0.0 };
            self.shares.sum += share;
            self.shares.squares += share * share;
        }
    }

    /// Groups with a larger value come first.
    fn value(&self, order: SortBy) -> u64 {
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        match order {
            SortBy::TimeLost => nanos(self.lost.total()),
            SortBy::ShareLost => {
                let lost = self.lost.total().as_secs_f64();
                (1e12 * lost / self.connection_time.as_secs_f64().max(1e-9)) as u64
            }
            SortBy::Duration => nanos(self.connection_time),
            SortBy::Bytes => self.bytes,
            SortBy::Retransmissions => self.retransmissions.total(),
            SortBy::Begin => 0, // the order of their keys
        }
    }

    /// The share of its connections' time that they lost, from 0 to 1.
    pub fn share_lost(&self) -> f64 {
        match self.connection_time.is_zero() {
            true => 0.0,
            false => self.lost.total().as_secs_f64() / self.connection_time.as_secs_f64(),
        }
    }
}

/// The groups by one of their properties.
#[derive(Clone, Debug)]
pub struct GroupTable {
    /// The property.
    pub by: GroupBy,
    groups: BTreeMap<GroupKey, Group>,
    /// The user asked for it. The others are compared, and not shown.
    pub(super) asked_for: bool,
}

impl GroupTable {
    fn new(by: GroupBy, asked_for: bool) -> Self {
        Self { by, groups: BTreeMap::new(), asked_for }
    }

    /// The groups, the first by `order` first, and the group of all that were too many to keep last.
    pub fn ranked(&self, order: SortBy) -> Vec<(&GroupKey, &Group)> {
        let mut all: Vec<_> = self.groups.iter().collect();
        all.sort_by_key(|(key, group)| (**key == GroupKey::Others, Reverse(group.value(order)), *key));
        all
    }

    fn add(&mut self, key: GroupKey, group: impl FnOnce(&mut Group)) {
        group(self.groups.entry(key).or_default());
        // Once per doubling costs little per connection.
        if self.groups.len() >= 2 * MOST_KEPT {
            self.keep_most_costly();
        }
    }

    fn keep_most_costly(&mut self) {
        if self.groups.len() <= MOST_KEPT {
            return;
        }
        let ranked = self.ranked(SortBy::TimeLost).into_iter();
        let left_out: Vec<GroupKey> = ranked.skip(MOST_KEPT - 1).map(|(key, _)| key.clone()).collect();
        let mut others = Group::default();
        for key in left_out {
            self.groups.remove(&key).iter().for_each(|group| others.merge(group));
        }
        self.groups.insert(GroupKey::Others, others);
    }

    fn merge(&mut self, other: Self) {
        for (key, group) in other.groups {
            self.groups.entry(key).or_default().merge(&group);
        }
        self.keep_most_costly();
    }
}

/// Tables of groups, each by another property.
#[derive(Clone, Debug)]
pub struct Groups(Vec<GroupTable>);

impl Default for Groups {
    /// The groups that are compared with each other, whether a user asks for them or not.
    fn default() -> Self {
        Self(vec![GroupTable::new(GroupBy::Server, false), GroupTable::new(GroupBy::PATH, false)])
    }
}

impl Groups {
    /// Also by these properties, which are shown.
    pub(super) fn ask(&mut self, by: &[GroupBy]) {
        for by in by {
            match self.0.iter_mut().find(|table| table.by == *by) {
                Some(table) => table.asked_for = true,
                None => self.0.push(GroupTable::new(*by, true)),
            }
        }
    }

    /// Adds a connection, of which only the directions nearest to their senders have data.
    pub(super) fn add(&mut self, connection: &Connection) {
        for table in &mut self.0 {
            if let Some(key) = table.by.key(connection) {
                table.add(key, |group| group.add(connection));
            }
        }
    }

    /// Adds all connections of a capture to the group of its name.
    pub(super) fn add_capture(&mut self, name: &str, all: &Group) {
        for table in self.0.iter_mut().filter(|table| table.by == GroupBy::Capture) {
            table.add(GroupKey::Capture(name.into()), |group| group.merge(all));
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        for theirs in other.0 {
            match self.0.iter_mut().find(|mine| mine.by == theirs.by) {
                Some(mine) => mine.merge(theirs),
                None => self.0.push(theirs),
            }
        }
    }

    /// The tables that the user asked for.
    pub fn asked_for(&self) -> impl Iterator<Item = &GroupTable> {
        self.0.iter().filter(|table| table.asked_for)
    }

    fn all(&self) -> &[GroupTable] {
        &self.0
    }
}
