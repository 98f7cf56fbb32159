//! Ended connections whose sender several profiles explain. The host's other connections may show
//! which profile it is, so a connection waits for them, up to a bound.

use crate::explain::identify::{Candidates, assume_defaults};
use crate::finding::{Connection, Findings, Identification, Retransmission};
use crate::hosts::KnownHosts;
use std::collections::VecDeque;

/// The most connections that wait.
const MOST_HELD: usize = 512;

/// The most retransmissions of a connection that waits.
const MOST_ROWS: usize = 1024;

/// Connections that wait, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Held(VecDeque<(Connection, Vec<Retransmission>)>);

impl Held {
    /// Passes the connection on or, if its sender may still be settled, keeps it.
    pub fn take(
        &mut self,
        connection: Connection,
        rows: &[Retransmission],
        findings: &mut impl Findings,
    ) {
        if !waits(&connection) || rows.len() > MOST_ROWS {
            return pass_on(connection, rows, findings);
        }
        if self.0.len() >= MOST_HELD
            && let Some((oldest, rows)) = self.0.pop_front()
        {
            pass_on(oldest, &rows, findings);
        }
        self.0.push_back((connection, rows.to_vec()));
    }

    /// Decides by what is known of the hosts, and passes on the connections that are settled.
    pub fn settle(
        &mut self,
        hosts: &KnownHosts,
        candidates: &Candidates,
        findings: &mut impl Findings,
    ) {
        for (mut connection, rows) in std::mem::take(&mut self.0) {
            let ends = connection.endpoints;
            let sides = connection.directions.iter_mut().zip([ends.src, ends.dst]);
            for (direction, end) in sides {
                candidates.settle(&mut direction.profile, &hosts.of(end.ip()));
            }
            if waits(&connection) {
                self.0.push_back((connection, rows));
            } else {
                findings.connection(connection, &rows);
            }
        }
    }

    /// Passes on all connections.
    pub fn finish(&mut self, findings: &mut impl Findings) {
        for (connection, rows) in self.0.drain(..) {
            pass_on(connection, &rows, findings);
        }
    }
}

fn pass_on(mut connection: Connection, rows: &[Retransmission], findings: &mut impl Findings) {
    let directions = connection.directions.iter_mut();
    directions.for_each(|direction| assume_defaults(&mut direction.profile));
    findings.connection(connection, rows);
}

fn waits(connection: &Connection) -> bool {
    let mut profiles = connection.directions.iter().map(|d| &d.profile);
    profiles.any(|profile| matches!(profile, Identification::Several(_)))
}
