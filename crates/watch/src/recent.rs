//! Sums of the last minute, in the form that `recoup explain` makes its sentences of.
//!
//! Open connections are surveyed again and again. What each did lately is the difference between its sums now and those of an
//! earlier survey: the latest that was made [`HALF`] ago or more. What has ended counts for [`WINDOW`] from its end on.

use recoup_captures::analysis::{Analyzed, Collector};
use recoup_captures::explain::{Facts, SortBy, main_direction};
use recoup_trace::analyze::Findings;
use recoup_trace::finding::{Connection, ConnectionKey, Retransmission, SenderState, Sums, Tally, Verdict};
use recoup_trace::read::Counts;
use recoup_units::Instant;
use recoup_wire::Endpoints;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

/// How long what has ended counts.
pub const WINDOW: Duration = Duration::from_secs(60);

/// The least time between sums that are kept.
const HALF: Duration = Duration::from_secs(30);

/// What ended in this time is summed up together.
const BIN: Duration = Duration::from_secs(5);

/// Connections that are listed one by one.
const MOST_LISTED: usize = 500;

/// What happened lately.
#[derive(Debug, Default)]
pub struct Recent {
    earlier: HashMap<ConnectionKey, Earlier>,
    ended: VecDeque<(Instant, Facts)>,
}

/// Earlier sums of a connection: those of two surveys, the older ones first.
#[derive(Clone, Debug)]
struct Earlier {
    from: Instant,
    sums: Sums,
    then: Option<(Instant, Sums)>,
}

/// An open connection, and what it did lately.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Its number.
    pub id: u64,
    /// Its ends; `src` opened it.
    pub endpoints: Endpoints,
    /// Since when its sums count.
    pub since: Instant,
    /// When its last packet came.
    pub last: Instant,
    /// Payload bytes a second, in both directions.
    pub bytes_per_second: f64,
    /// Its retransmissions.
    pub retransmissions: u64,
    /// Those that were not needed.
    pub spurious: u64,
    /// The time that it lost.
    pub lost: Duration,
    /// The median round trip of its main sender.
    pub rtt: Option<Duration>,
    /// What its main sender spent most time in.
    pub limit: Option<SenderState>,
}

/// What one survey found.
#[derive(Clone, Debug)]
pub struct Survey {
    /// When it was made.
    pub at: Instant,
    /// Facts about the last minute.
    pub facts: Facts,
    /// The connections that lost most, and then those that carried most.
    pub listed: Vec<Listed>,
    /// Open connections by what limits their main sender.
    pub limits: [u64; SenderState::ALL.len()],
    /// How many were open and active.
    pub active: u64,
}

impl Survey {
    /// The facts as those of a capture of this name.
    pub fn into_analyzed(self, name: &str, counts: Counts) -> Analyzed<Facts> {
        Analyzed { capture: name.to_owned(), counts, interrupted: false, findings: self.facts }
    }
}

impl Recent {
    /// The time that connections must have been active since to be surveyed.
    pub fn since(now: Instant) -> Instant {
        before(now, WINDOW)
    }

    /// A connection has ended.
    pub fn end(&mut self, connection: Connection, rows: &[Retransmission]) {
        let ended = connection.ended;
        let (connection, rows) = self.lately(connection, rows);
        self.earlier.remove(&connection.key());
        let is_new = self.ended.back().is_none_or(|(at, _)| ended.since(*at) >= BIN);
        if is_new {
            self.ended.push_back((ended, Facts::new(SortBy::TimeLost, MOST_LISTED)));
        }
        if let Some((_, facts)) = self.ended.back_mut() {
            facts.connection(connection, &rows);
        }
    }

    /// Begins a survey at this time.
    pub fn begin(&self, at: Instant) -> Survey {
        let facts = Facts::new(SortBy::TimeLost, MOST_LISTED);
        Survey { at, facts, listed: Vec::new(), limits: [0; SenderState::ALL.len()], active: 0 }
    }

    /// Adds open connections as they are now, each with its retransmissions.
    pub fn add(&mut self, survey: &mut Survey, open: Vec<(Connection, Vec<Retransmission>)>) {
        survey.active += open.len() as u64;
        for (connection, rows) in open {
            let sums = connection.sums();
            let key = connection.key();
            // First, so that the sums of long ago count no more.
            self.remember(key, survey.at, sums);
            let (connection, rows) = self.lately(connection, &rows);
            let one = list(&connection, survey.at);
            if let Some(limit) = one.limit {
                survey.limits[limit as usize] += 1;
            }
            survey.listed.push(one);
            survey.facts.connection(connection, &rows);
        }
        survey.listed.sort_by(|a, b| b.lost.cmp(&a.lost).then(b.bytes_per_second.total_cmp(&a.bytes_per_second)));
        survey.listed.truncate(MOST_LISTED);
    }

    /// Adds what has ended lately.
    pub fn finish(&mut self, mut survey: Survey) -> Survey {
        let oldest = before(survey.at, WINDOW);
        while self.ended.front().is_some_and(|(at, _)| *at + BIN < oldest) {
            self.ended.pop_front();
        }
        for (_, ended) in &self.ended {
            survey.facts.merge(ended.clone());
        }
        survey.facts.order();
        survey
    }

    #[cfg(test)]
    pub fn survey(&mut self, now: Instant, open: Vec<(Connection, Vec<Retransmission>)>) -> Survey {
        let mut survey = self.begin(now);
        self.add(&mut survey, open);
        self.finish(survey)
    }

    /// What a connection did lately.
    fn lately(&self, connection: Connection, rows: &[Retransmission]) -> (Connection, Vec<Retransmission>) {
        match self.earlier.get(&connection.key()) {
            None => (connection, rows.to_vec()),
            Some(Earlier { from, sums, .. }) => {
                let since = rows.partition_point(|row| row.at < *from);
                (connection.since(sums, *from), rows[since..].to_vec())
            }
        }
    }

    /// Remembers the sums of a connection at `now`, unless those of a short time ago are known.
    fn remember(&mut self, key: ConnectionKey, now: Instant, sums: Sums) {
        let Some(earlier) = self.earlier.get_mut(&key) else {
            // Until there are earlier ones, all that it did is recent.
            self.earlier.insert(key, Earlier { from: Instant::ZERO, sums: Sums::default(), then: Some((now, sums)) });
            return;
        };
        match &mut earlier.then {
            Some((at, then)) if now.since(*at) >= HALF => {
                (earlier.from, earlier.sums) = (*at, std::mem::replace(then, sums));
                *at = now;
            }
            Some(_) => {}
            then => *then = Some((now, sums)),
        }
    }

    /// Connections whose earlier sums are kept.
    #[cfg(test)]
    pub fn kept(&self) -> usize {
        self.earlier.len()
    }
}

fn list(connection: &Connection, now: Instant) -> Listed {
    let main = &connection.directions[main_direction(connection)];
    let seconds = now.since(connection.begun).as_secs_f64().max(1.0);
    let bytes: u64 = connection.directions.iter().map(|direction| direction.bytes).sum();
    let tallies = connection.directions.iter().map(|direction| &direction.retransmissions);
    let spurious = |tally: &Tally| tally.of_verdict(Verdict::Spurious);
    let longest = SenderState::ALL.into_iter().max_by_key(|state| main.time.of(*state));
    Listed {
        id: connection.id,
        endpoints: connection.endpoints,
        since: connection.begun,
        last: connection.ended,
        bytes_per_second: bytes as f64 / seconds,
        retransmissions: tallies.clone().map(|tally| tally.total()).sum(),
        spurious: tallies.map(spurious).sum(),
        lost: connection.lost().total(),
        rtt: main.rtt.map(|rtt| rtt.p50),
        limit: longest.filter(|state| !main.time.of(*state).is_zero()),
    }
}

fn before(now: Instant, by: Duration) -> Instant {
    let by = u64::try_from(by.as_nanos()).unwrap_or(u64::MAX);
    Instant::from_nanos(now.as_nanos().saturating_sub(by))
}

#[cfg(test)]
mod tests;
