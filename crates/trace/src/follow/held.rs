//! Ended connections on their way out.
//!
//! - A connection whose sender several profiles explain waits: the host's other connections may show
//!   which profile it is.
//! - A verdict that depends on what becomes known of the receiver is revised, even when its
//!   connection has been passed on.

use crate::explain::identify::{Candidates, assume_defaults};
use crate::explain::provisional::{ChangedHosts, ProvisionalFindings, ProvisionalRow};
use crate::finding::{Connection, Findings, Identification, Renumbering, Retransmission, Tally};
use crate::hosts::KnownHosts;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::mem::take;

/// The most connections that wait.
const MOST_WAITING: usize = 512;

/// The most retransmissions of a connection that waits.
const MOST_ROWS: usize = 1024;

/// The connections that wait, oldest first, and the verdicts that may be revised.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Held {
    waiting: VecDeque<(Connection, Vec<ProvisionalRow>)>,
    provisional: ProvisionalFindings,
}

impl Held {
    /// Passes the connection on or, if its sender may still be settled, keeps it.
    pub fn take(
        &mut self,
        connection: Connection,
        rows: Vec<ProvisionalRow>,
        findings: &mut impl Findings,
    ) {
        if !waits(&connection) || rows.len() > MOST_ROWS {
            return self.pass_on(connection, &rows, findings);
        }
        while self.waiting.len() >= MOST_WAITING
            && let Some((oldest, rows)) = self.waiting.pop_front()
        {
            self.pass_on(oldest, &rows, findings);
        }
        self.waiting.push_back((connection, rows));
    }

    /// More became known of hosts: revises the verdicts that depend on it.
    pub fn revise(&mut self, changed: &ChangedHosts, findings: &mut impl Findings) {
        for (connection, rows) in &mut self.waiting {
            let revisions = rows.iter_mut().filter_map(|row| row.revise(changed));
            revisions.for_each(|revision| revision.recount(connection));
        }
        self.provisional.revise(changed, findings);
    }

    /// Decides by what is known of the hosts, and passes on the connections that are settled.
    pub fn settle(
        &mut self,
        hosts: &KnownHosts,
        candidates: &Candidates,
        findings: &mut impl Findings,
    ) {
        for (mut connection, mut rows) in take(&mut self.waiting) {
            let ends = connection.endpoints;
            let sides = connection.directions.iter_mut().zip([ends.src, ends.dst]);
            for (direction, end) in sides {
                let before = candidates.first(&direction.profile);
                candidates.settle(&mut direction.profile, &hosts.of(end.ip()));
                let now = candidates.first(&direction.profile);
                if let Some(profile) = now.filter(|_| now != before) {
                    let own = |row: &&mut ProvisionalRow| row.retransmission.endpoints.src == end;
                    let own = rows.iter_mut().filter(own);
                    direction.retransmissions = name_triggers(own, profile);
                }
            }
            if waits(&connection) {
                self.waiting.push_back((connection, rows));
            } else {
                self.pass_on(connection, &rows, findings);
            }
        }
    }

    /// Gives all connections and frames other numbers.
    pub fn renumber(&mut self, by: Renumbering) {
        for (connection, rows) in &mut self.waiting {
            connection.renumber(by);
            rows.iter_mut()
                .for_each(|row| row.retransmission.renumber(by));
        }
        self.provisional.renumber(by);
    }

    /// Adds those of another analysis.
    pub fn merge(&mut self, other: Self) {
        self.waiting.extend(other.waiting);
        self.provisional.merge(other.provisional);
    }

    /// Passes on all connections.
    pub fn finish(&mut self, findings: &mut impl Findings) {
        for (connection, rows) in take(&mut self.waiting) {
            self.pass_on(connection, &rows, findings);
        }
    }

    fn pass_on(
        &mut self,
        mut connection: Connection,
        rows: &[ProvisionalRow],
        findings: &mut impl Findings,
    ) {
        for direction in &mut connection.directions {
            assume_defaults(&mut direction.profile);
        }
        let all: Vec<Retransmission> = rows.iter().map(|row| row.retransmission).collect();
        findings.connection(connection, &all);
        for row in rows {
            if let Some(alternative) = row.alternative {
                self.provisional.push(row.retransmission, alternative);
            }
        }
    }
}

fn waits(connection: &Connection) -> bool {
    let mut profiles = connection.directions.iter().map(|d| &d.profile);
    profiles.any(|profile| matches!(profile, Identification::Several(_)))
}

/// Names the triggers under another profile, and counts them.
fn name_triggers<'a>(rows: impl Iterator<Item = &'a mut ProvisionalRow>, profile: usize) -> Tally {
    let mut tally = Tally::default();
    for row in rows {
        let retransmission = &mut row.retransmission;
        retransmission.triggers = row.triggers[profile];
        tally.add(retransmission.triggers, retransmission.verdict);
    }
    tally
}
