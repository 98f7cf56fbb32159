//! Analyzes the connections of one shard.

use super::feed::RoundOrder;
use super::{Findings, SHARDS, Settings};
use crate::ablation::{Step, reaches};
use crate::explain::context::ReplayContext;
use crate::explain::identify::Candidates;
use crate::explain::pool::Pools;
use crate::explain::provisional::ChangedHosts;
use crate::follow::TimedPacket;
use crate::follow::table::{ConnectionTable, KeepingCost, Limits, Separation};
use crate::hosts::KnownHosts;
use recoup_units::Instant;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, RwLock};

/// Packets held back for sorting, once some came out of order.
const MOST_HELD: usize = 1024 / SHARDS;

/// Half-open connections that one shard keeps.
const MOST_HALF_OPEN: usize = (1 << 15) / SHARDS;

/// An empty table for one shard.
pub(super) fn connection_table(
    settings: &Settings,
    hosts: Arc<RwLock<KnownHosts>>,
) -> ConnectionTable {
    let limits = Limits {
        idle: settings.idle,
        most_open: settings.most_connections.div_ceil(SHARDS).max(1),
        most_half_open: MOST_HALF_OPEN,
    };
    let replay_context = ReplayContext {
        candidates: match &settings.profile {
            Some(profile) => Candidates::only(profile),
            None => Candidates::known(),
        },
        hosts,
        pools: Pools::default(),
    };
    ConnectionTable::new(limits, replay_context)
}

/// The connections of one shard, with their findings.
#[derive(Debug)]
pub(super) struct Shard<F> {
    connections: ConnectionTable,
    findings: F,
    reorder: Reorder,
}

impl<F: Findings> Shard<F> {
    /// An empty shard. It reads `hosts`, but does not write it.
    pub fn new(settings: &Settings, hosts: &Arc<RwLock<KnownHosts>>, findings: F) -> Self {
        Self {
            connections: connection_table(settings, Arc::clone(hosts)),
            findings,
            reorder: Reorder::default(),
        }
    }

    /// Takes its part of a round that ends at `now`.
    pub fn take(&mut self, part: &[TimedPacket], order: RoundOrder, now: Instant) {
        if !reaches(Step::Find) {
            return;
        }
        let (connections, findings) = (&mut self.connections, &mut self.findings);
        self.reorder.in_order(part, order, |packets| {
            connections.on_packets(packets, findings);
        });
        if order == RoundOrder::Last {
            connections.release_all(findings);
        }
        connections.sweep(now, findings);
    }

    /// The frames in which connections without a number begin.
    pub fn unnumbered(&self) -> impl Iterator<Item = u64> {
        self.connections.unnumbered()
    }

    /// Numbers those connections; `number` maps the frame to the number.
    pub fn number(&mut self, number: impl Fn(u64) -> u64) {
        self.connections.number(number, &mut self.findings);
    }

    /// Passes on what connections showed of hosts.
    pub fn pass_on_host_facts(&mut self, hosts: &mut KnownHosts, changed: &mut ChangedHosts) {
        self.connections.pass_on_host_facts(hosts, changed);
    }

    /// More became known of hosts.
    pub fn revise(&mut self, changed: &ChangedHosts) {
        self.connections.revise(changed, &mut self.findings);
    }

    /// The memory of its connections, in bytes.
    pub fn memory(&self) -> usize {
        self.connections.memory()
    }

    /// What each open connection costs to keep.
    pub fn keeping_costs(&self) -> impl Iterator<Item = KeepingCost> {
        self.connections.keeping_costs()
    }

    /// Removes the connections in these slots to limit memory.
    pub fn evict(&mut self, slots: impl Iterator<Item = u32>) {
        for slot in slots {
            self.connections.evict(slot, &mut self.findings);
        }
        self.connections.forget_evicted();
    }

    /// The capture is over, and all connections have their numbers. Closes them.
    pub fn finish(&mut self) {
        self.connections.finish(&mut self.findings);
    }

    /// All connections are closed, and all is known of their hosts.
    pub fn pass_on_held(&mut self) {
        self.connections.pass_on_held(&mut self.findings);
    }

    /// Whether the capture points of connections could be told apart.
    pub fn separation(&self) -> Separation {
        self.connections.separation()
    }

    pub fn into_findings(self) -> F {
        self.findings
    }
}

/// Packets held back because packets of the next round may belong before them.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Reorder(Vec<TimedPacket>);

impl Reorder {
    /// Passes on the packets held back and those of `part`, ordered by time.
    pub fn in_order(
        &mut self,
        part: &[TimedPacket],
        order: RoundOrder,
        hand_out: impl FnOnce(&[TimedPacket]),
    ) {
        if order == RoundOrder::Sorted && self.0.is_empty() {
            return hand_out(part);
        }
        self.0.extend_from_slice(part);
        self.0.sort_by_key(|timed| timed.time);
        let ready = match order {
            RoundOrder::Sorted | RoundOrder::Last => self.0.len(),
            RoundOrder::Unsorted => self.0.len().saturating_sub(MOST_HELD),
        };
        hand_out(&self.0[..ready]);
        self.0.drain(..ready);
    }
}
