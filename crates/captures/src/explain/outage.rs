//! An outage that many connections share, named once.
//!
//! Each connection pays for an outage by itself: its timeouts end at other times than those of others. What shows one
//! cause is that many of the connections that were open stood still at the same time.

use crate::study::Merge;
use recoup_trace::finding::{EpisodeCost, Retransmission};
use recoup_units::Instant;
use std::cmp::Reverse;
use std::time::Duration;

/// Shorter episodes of several connections often overlap by chance.
const LEAST: Duration = Duration::from_millis(500);

/// Fewer connections may stand still at a time by chance.
const FEWEST: usize = 3;

/// The longest episodes that are kept.
const MOST_KEPT: usize = 4096;

/// An episode in which a connection stood still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stall {
    from: Instant,
    until: Instant,
}

/// The longest episodes of all connections.
#[derive(Clone, Debug, Default)]
pub struct Stalls(Vec<Stall>);

/// A time in which many connections stood still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// When the last of them stopped.
    pub from: Instant,
    /// When the first of them went on.
    pub until: Instant,
    /// The connections.
    pub connections: usize,
}

impl Stalls {
    /// Adds the episode that begins with this retransmission.
    pub fn add(&mut self, row: &Retransmission, cost: &EpisodeCost) {
        if cost.lost < LEAST {
            return;
        }
        let Some(recovery) = row.recovery else {
            return; // it never went on, for whatever reason
        };
        let until = row.at + recovery;
        self.0.push(Stall { from: until - cost.lost, until });
        if self.0.len() >= 2 * MOST_KEPT {
            self.keep_longest();
        }
    }

    fn keep_longest(&mut self) {
        self.0.sort_by_key(|stall| (Reverse(stall.until.since(stall.from)), stall.from));
        self.0.truncate(MOST_KEPT);
    }

    /// The time in which most connections stood still, if that were half of those that are `open` on average.
    pub fn outage(&self, open: f64) -> Option<Outage> {
        let begins = self.0.iter().map(|stall| (stall.from, true));
        let ends = self.0.iter().map(|stall| (stall.until, false));
        let mut changes: Vec<(Instant, bool)> = begins.chain(ends).collect();
        // Ends come first.
        changes.sort();
        let mut standing = 0;
        let mut most: Option<Outage> = None;
        for (i, &(from, begins)) in changes.iter().enumerate() {
            if !begins {
                standing -= 1;
                continue;
            }
            standing += 1;
            if most.is_none_or(|most| standing > most.connections) {
                let until = changes.get(i + 1).map_or(from, |next| next.0);
                most = Some(Outage { from, until, connections: standing });
            }
        }
        most.filter(|most| most.connections >= FEWEST && most.connections as f64 * 2.0 >= open)
    }
}

impl Merge for Stalls {
    fn merge(&mut self, other: &Self) {
        self.0.extend(&other.0);
        self.keep_longest();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Episodes between these times in ms.
    fn stalls(times: &[(u64, u64)]) -> Stalls {
        let stall = |&(from, until)| Stall { from: Instant::from_millis(from), until: Instant::from_millis(until) };
        Stalls(times.iter().map(stall).collect())
    }

    #[test]
    fn an_outage_is_when_most_connections_stood_still() {
        let found = stalls(&[(1000, 4800), (1030, 4700), (1100, 4900), (9000, 9600), (1050, 4750)]).outage(4.0);
        let [from, until] = [1100, 4700].map(Instant::from_millis);
        assert_eq!(found, Some(Outage { from, until, connections: 4 }));
        // One after the other, too few, or few of many.
        assert_eq!(stalls(&[(0, 600), (600, 1200), (1200, 1800)]).outage(1.0), None);
        assert_eq!(stalls(&[(0, 600), (0, 700)]).outage(2.0), None);
        assert_eq!(stalls(&[(0, 600), (0, 700), (0, 800)]).outage(100.0), None);
    }
}
