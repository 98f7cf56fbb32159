//! Ended connections on their way out.
//!
//! - A connection whose sender several profiles explain waits: the host's other connections may show
//!   which profile it is.
//! - A verdict that depends on what becomes known of the receiver is revised, even when its
//!   connection has been passed on.

use crate::{
    attribute::{
        by_host::{OfHosts, QueueByHost},
        identify::{Candidates, assume_defaults},
        provisional::{ChangedHosts, ProvisionalFindings, ProvisionalRow},
    },
    cost::lost::causes::name_causes,
    finding::{Connection, Findings, Identification, Renumbering, Retransmission, Tally},
    hosts::KnownHosts,
};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// The most connections that wait.
const MOST_WAITING: usize = 512;

/// The most retransmissions of a connection that waits.
const MOST_ROWS: usize = 1024;

/// The connections that wait, oldest first, and the verdicts that may be revised.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Held {
    waiting: QueueByHost<Waiting>,
    /// The waiting connections below this number were compared with what is known of their hosts.
    #[serde(skip)]
    compared: u64,
    provisional: ProvisionalFindings,
}

/// A connection that waits.
#[derive(Debug, Serialize, Deserialize)]
struct Waiting {
    connection: Connection,
    rows: Vec<ProvisionalRow>,
}

impl OfHosts for Waiting {
    fn hosts(&self) -> impl Iterator<Item = IpAddr> {
        let ends = self.connection.endpoints;
        [ends.src.ip(), ends.dst.ip()].into_iter()
    }
}

impl Waiting {
    /// Decides by what is known of the hosts.
    fn settle(&mut self, hosts: &KnownHosts, candidates: &Candidates) {
        let ends = self.connection.endpoints;
        let directions = self.connection.directions.iter_mut();
        for (direction, end) in directions.zip([ends.src, ends.dst]) {
            if !matches!(direction.profile, Identification::Several(_)) {
                continue;
            }
            let before = candidates.first(&direction.profile);
            let known = hosts.profiles_of(end.ip(), candidates);
            candidates.settle(&mut direction.profile, known);
            let now = candidates.first(&direction.profile);
            if let Some(profile) = now.filter(|_| now != before) {
                let is_own = |row: &&mut ProvisionalRow| row.retransmission.endpoints.src == end;
                let own = self.rows.iter_mut().filter(is_own);
                direction.retransmissions = name_triggers(own, profile);
                let own = self.rows.iter_mut().filter(is_own);
                name_causes(own, &mut direction.lost);
            }
        }
    }
}

impl Held {
    /// Passes the connection on or, if its sender may still be settled, keeps it.
    pub fn take(
        &mut self,
        connection: Connection,
        rows: Vec<ProvisionalRow>,
        hosts: &KnownHosts,
        candidates: &Candidates,
        findings: &mut impl Findings,
    ) {
        if !waits(&connection, hosts, candidates) || rows.len() > MOST_ROWS {
            return self.pass_on(connection, &rows, hosts, candidates, findings);
        }
        while self.waiting.len() >= MOST_WAITING
            && let Some(Waiting { connection, rows }) = self.waiting.pop_first()
        {
            self.pass_on(connection, &rows, hosts, candidates, findings);
        }
        self.waiting.push(Waiting { connection, rows });
    }

    /// Passes on an open connection as it would be if the capture ended here.
    pub fn pass_on_so_far(
        connection: Connection,
        rows: Vec<ProvisionalRow>,
        hosts: &KnownHosts,
        candidates: &Candidates,
        findings: &mut impl Findings,
    ) {
        let mut open = Waiting { connection, rows };
        open.settle(hosts, candidates);
        name_profiles(&mut open.connection, hosts, candidates);
        let rows: Vec<Retransmission> = open.rows.iter().map(|row| row.retransmission).collect();
        findings.so_far(open.connection, &rows);
    }

    /// More became known of hosts: revises the verdicts that depend on it.
    pub fn revise(&mut self, changed: &ChangedHosts, findings: &mut impl Findings) {
        for number in self.waiting.numbers_of(changed.keys().copied()) {
            if let Some(Waiting { connection, rows }) = self.waiting.get_mut(number) {
                let revisions = rows.iter_mut().filter_map(|row| row.revise(changed));
                revisions.for_each(|revision| revision.recount(connection));
            }
        }
        self.provisional.revise(changed, findings);
    }

    /// Decides by what is known of the hosts, and passes on the connections that are settled. Looks at
    /// those that are new since the last call, and at those of hosts of which more has become known.
    pub fn settle(&mut self, hosts: &KnownHosts, candidates: &Candidates, findings: &mut impl Findings) {
        let new = self.compared;
        self.compared = self.waiting.next_number();
        let mut numbers = self.waiting.numbers_of(hosts.changed_profiles());
        numbers.retain(|&number| number < new);
        numbers.extend(self.waiting.numbers_from(new));
        for number in numbers {
            let Some(waiting) = self.waiting.get_mut(number) else {
                continue;
            };
            waiting.settle(hosts, candidates);
            if !waits(&waiting.connection, hosts, candidates)
                && let Some(Waiting { connection, rows }) = self.waiting.remove(number)
            {
                self.pass_on(connection, &rows, hosts, candidates, findings);
            }
        }
    }

    /// Gives all connections and frames other numbers.
    pub fn renumber(&mut self, by: Renumbering) {
        for Waiting { connection, rows } in self.waiting.values_mut() {
            connection.renumber(by);
            rows.iter_mut().for_each(|row| row.retransmission.renumber(by));
        }
        self.provisional.renumber(by);
    }

    /// Adds those of another analysis, whose facts are known to both now.
    pub fn merge(&mut self, other: Self) {
        (other.waiting.into_values()).for_each(|waiting| self.waiting.push(waiting));
        self.compared = 0;
        self.provisional.merge(other.provisional);
    }

    /// Decides by what is known of the hosts, and passes on all connections.
    pub fn finish(&mut self, hosts: &KnownHosts, candidates: &Candidates, findings: &mut impl Findings) {
        self.compared = 0;
        self.settle(hosts, candidates, findings);
        while let Some(Waiting { connection, rows }) = self.waiting.pop_first() {
            self.pass_on(connection, &rows, hosts, candidates, findings);
        }
    }

    fn pass_on(
        &mut self,
        mut connection: Connection,
        rows: &[ProvisionalRow],
        hosts: &KnownHosts,
        candidates: &Candidates,
        findings: &mut impl Findings,
    ) {
        name_profiles(&mut connection, hosts, candidates);
        let all: Vec<Retransmission> = rows.iter().map(|row| row.retransmission).collect();
        findings.connection(connection, &all);
        for row in rows {
            if let Some(alternative) = row.alternative {
                self.provisional.push(row.retransmission, alternative);
            }
        }
    }
}

/// Names the profiles of a connection's senders by what is known of the hosts.
fn name_profiles(connection: &mut Connection, hosts: &KnownHosts, candidates: &Candidates) {
    let ends = [connection.endpoints.src, connection.endpoints.dst];
    for (direction, end) in connection.directions.iter_mut().zip(ends) {
        if direction.profile == Identification::Nothing {
            continue;
        }
        assume_defaults(&mut direction.profile);
        let on_host = hosts.profiles_of(end.ip(), candidates);
        direction.least_rto = candidates.settle_least_rto(&mut direction.profile, direction.timeouts, on_host);
        candidates.name_bbr(&mut direction.profile, direction.window, on_host);
    }
}

/// Whether the hosts' other connections may still decide who a sender is.
fn waits(connection: &Connection, hosts: &KnownHosts, candidates: &Candidates) -> bool {
    let ends = [connection.endpoints.src, connection.endpoints.dst];
    let mut directions = connection.directions.iter().zip(ends);
    directions.any(|(direction, end)| {
        let window = direction.window;
        let may_be_bbr = window.unreduced > 0 && !window.shows_bbr() && !window.is_clocked();
        let timeouts = direction.timeouts;
        let may_have_set_rto = matches!(direction.profile, Identification::None(_))
            && candidates.len() > 1
            && timeouts.differ() > 0
            && timeouts.least_rto().is_none();
        matches!(direction.profile, Identification::Several(_))
            || (may_be_bbr && !hosts.profiles_of(end.ip(), candidates).shows_bbr())
            || (may_have_set_rto && hosts.profiles_of(end.ip(), candidates).least_rto().is_none())
    })
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
