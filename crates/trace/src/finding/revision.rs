//! Verdicts that change after their connection was passed on.

use super::{Cause, Connection, ConnectionKey, Evidence, Renumbering, Retransmission, Verdict};
use crate::hosts::ReportsDuplicates;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, net::IpAddr};

/// Retransmissions that [`HeldConnections`] keeps.
const MOST_HELD: usize = 1 << 15;

/// A new verdict on a retransmission, because more became known of the host that received it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Revision {
    /// The retransmission with its new verdict and evidence.
    pub retransmission: Retransmission,
    /// The verdict and the evidence that it had before.
    pub before: (Verdict, Evidence),
    /// The cause of the time that its episode lost before, if it begins one.
    pub cause_before: Option<Cause>,
    /// The host that received the retransmission.
    pub host: IpAddr,
    /// The new fact about the host.
    pub fact: ReportsDuplicates,
}

impl Revision {
    /// Revises the retransmission among the `rows` of its connection, which are ordered by frame.
    /// Returns whether it was found.
    pub fn apply(&self, rows: &mut [Retransmission]) -> bool {
        let new = &self.retransmission;
        let from = rows.partition_point(|row| row.frame < new.frame);
        let mut same_frame = rows[from..].iter_mut().take_while(|row| row.frame == new.frame);
        let row = same_frame.find(|row| row.seq == new.seq);
        row.map(|row| *row = *new).is_some()
    }

    /// Changes the counts of the retransmission's connection, and moves the time that its episode lost to its
    /// new cause.
    pub fn recount(&self, connection: &mut Connection) {
        let new = &self.retransmission;
        let side = usize::from(new.endpoints.src != connection.endpoints.src);
        let direction = &mut connection.directions[side];
        (direction.retransmissions).change(new.triggers, self.before.0, new.verdict);
        if let (Some(cost), Some(before)) = (new.cost, self.cause_before)
            && cost.cause != before
        {
            direction.lost.change(cost.lost, before, cost.cause);
        }
    }
}

/// Holds connections back until their verdicts are final. For totals that cannot subtract what they
/// have added. Memory is bounded: if more than 32,768 retransmissions are held, the connections with
/// the lowest numbers are released, and their verdicts stay as they are.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct HeldConnections {
    held: BTreeMap<ConnectionKey, (Connection, Vec<Retransmission>)>,
    /// Retransmissions of all of them.
    rows: usize,
}

impl HeldConnections {
    /// Passes the connection to `release` if its verdicts are final, and holds it back otherwise.
    pub fn add(
        &mut self,
        connection: Connection,
        retransmissions: &[Retransmission],
        mut release: impl FnMut(Connection, &[Retransmission]),
    ) {
        if !retransmissions.iter().any(|row| row.provisional) {
            return release(connection, retransmissions);
        }
        self.rows += retransmissions.len();
        let held = (connection, retransmissions.to_vec());
        self.held.insert(held.0.key(), held);
        while self.rows > MOST_HELD
            && let Some((_, (connection, rows))) = self.held.pop_first()
        {
            self.rows -= rows.len();
            release(connection, &rows);
        }
    }

    /// Revises a verdict, if its connection is held. Returns whether it is.
    pub fn revise(&mut self, revision: &Revision) -> bool {
        let Some((connection, rows)) = self.held.get_mut(&revision.retransmission.connection_key()) else {
            return false;
        };
        let found = revision.apply(rows);
        if found {
            revision.recount(connection);
        }
        found
    }

    /// Gives all connections and frames other numbers.
    pub fn renumber(&mut self, by: Renumbering) {
        let held = std::mem::take(&mut self.held).into_values();
        self.held = held
            .map(|(mut connection, mut rows)| {
                connection.renumber(by);
                rows.iter_mut().for_each(|row| row.renumber(by));
                (connection.key(), (connection, rows))
            })
            .collect();
    }

    /// Gives all connections other numbers in the same order. `number` maps a number to the new one.
    pub fn number_connections(&mut self, number: &dyn Fn(u64) -> u64) {
        let held = std::mem::take(&mut self.held).into_values();
        self.held = held
            .map(|(mut connection, mut rows)| {
                connection.id = number(connection.id);
                for row in &mut rows {
                    row.connection = number(row.connection);
                }
                (connection.key(), (connection, rows))
            })
            .collect();
    }

    /// Adds the connections that another thread holds.
    pub fn merge(&mut self, other: Self) {
        self.rows += other.rows;
        self.held.extend(other.held);
    }

    /// Passes the connections without an open verdict to `release`. `is_open`: whether the verdict on a retransmission may
    /// still be revised.
    pub fn release_final(
        &mut self,
        is_open: impl Fn(&Retransmission) -> bool,
        mut release: impl FnMut(Connection, &[Retransmission]),
    ) {
        let held = std::mem::take(&mut self.held);
        let (open, is_final): (BTreeMap<_, _>, BTreeMap<_, _>) =
            held.into_iter().partition(|(_, (_, rows))| rows.iter().any(&is_open));
        self.held = open;
        for (connection, rows) in is_final.into_values() {
            self.rows -= rows.len();
            release(connection, &rows);
        }
    }

    /// Passes all held connections to `release`: their verdicts are final.
    pub fn release_all(self, mut release: impl FnMut(Connection, &[Retransmission])) {
        for (connection, rows) in self.held.into_values() {
            release(connection, &rows);
        }
    }
}
