//! Groups that stand out from the others.

use super::super::order::SortBy;
use super::{Group, GroupBy, GroupKey, GroupTable, Groups};
use crate::study::Merge;
use crate::wording::{capitalized, millis, percent};

/// Fewer connections say little about a group.
const FEWEST: f64 = 10.0;

/// The others of their kind lost a smaller share of their time, by this factor.
const LEAST_RATIO: f64 = 1.5;

/// Standard errors between a group and the others. With this many, one of a hundred groups stands out by chance about once in
/// ten captures (two-sided, normal).
const LEAST_ERRORS: f64 = 3.3;

/// Groups of a kind that are named.
const MOST_NAMED: usize = 2;

/// Sentences on the groups that lost a larger share of their time than the others of their kind, beyond chance.
pub fn differences(groups: &Groups) -> Vec<String> {
    let mut tables: Vec<&GroupTable> = groups.all().iter().filter(|table| table.groups.len() > 1).collect();
    // With one server, a path is a client's network, and where paths and servers are the same, servers say all.
    let same = |table: &GroupTable| {
        let servers = groups.all().iter().find(|other| other.by == GroupBy::Server);
        matches!(table.by, GroupBy::Path(..)) && servers.is_some_and(|other| other.groups.len() == table.groups.len())
    };
    tables.retain(|table| !same(table));
    tables.into_iter().flat_map(of_table).collect()
}

fn of_table(table: &GroupTable) -> Vec<String> {
    let mut all = Sums::default();
    table.groups.values().for_each(|group| all.add(&Sums::of(group), 1.0));
    let ranked = table.ranked(SortBy::ShareLost).into_iter();
    let found = ranked.filter(|(key, group)| {
        let of_group = Sums::of(group);
        let mut others = all;
        others.add(&of_group, -1.0);
        **key != GroupKey::Others && of_group.stands_out_from(&others)
    });
    found.take(MOST_NAMED).map(|(key, group)| sentence(table.by, key, group, &without(table, key))).collect()
}

/// The other groups.
fn without(table: &GroupTable, key: &GroupKey) -> Group {
    let mut others = Group::default();
    let groups = table.groups.iter().filter(|(other, _)| *other != key);
    groups.for_each(|(_, group)| others.merge(group));
    others
}

/// What a comparison of groups takes.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    connections: f64,
    shares: f64,
    squares: f64,
    /// In seconds.
    lost: f64,
    /// In seconds.
    time: f64,
}

impl Sums {
    fn of(group: &Group) -> Self {
        Self {
            connections: group.connections as f64,
            shares: group.shares.sum,
            squares: group.shares.squares,
            lost: group.lost.total().as_secs_f64(),
            time: group.connection_time.as_secs_f64(),
        }
    }

    fn add(&mut self, other: &Self, times: f64) {
        self.connections += times * other.connections;
        self.shares += times * other.shares;
        self.squares += times * other.squares;
        self.lost += times * other.lost;
        self.time += times * other.time;
    }

    /// Whether it lost a larger share than the others, beyond chance: by the mean share of its connections (Welch's test), and
    /// by the share of all their time.
    fn stands_out_from(&self, others: &Self) -> bool {
        if self.connections < FEWEST || others.connections < FEWEST {
            return false;
        }
        let [(mean, variance), (others_mean, others_variance)] = [self, others].map(Self::mean_and_its_variance);
        let share = |sums: &Self| sums.lost / sums.time.max(1e-9);
        mean - others_mean > LEAST_ERRORS * (variance + others_variance).sqrt()
            && mean >= LEAST_RATIO * others_mean
            && share(self) >= LEAST_RATIO * share(others)
    }

    /// The mean share that a connection lost, and the variance of that mean.
    fn mean_and_its_variance(&self) -> (f64, f64) {
        let mean = self.shares / self.connections;
        let variance = (self.squares / self.connections - mean * mean).max(0.0);
        (mean, variance / (self.connections - 1.0))
    }
}

fn sentence(by: GroupBy, key: &GroupKey, group: &Group, others: &Group) -> String {
    let share = |group: &Group| percent(group.share_lost(), 1.0);
    let rate = |group: &Group| percent(group.retransmissions.total() as f64, group.segments as f64);
    let mut measured = vec![format!("{} of segments retransmitted ({})", rate(group), rate(others))];
    if let (Some(rtt), Some(usual)) = (group.rtt.summary(), others.rtt.summary()) {
        measured.push(format!("round-trip time {} ({})", millis(rtt.p50), millis(usual.p50)));
    }
    format!(
        "{} {key} stands out: it lost {} of its connections' time (the others: {}), {}.",
        capitalized(by.noun()),
        share(group),
        share(others),
        measured.join(", ")
    )
}
