//! Analyzes the connections of one shard.

use super::{
    Findings, Settings,
    round::{RoundFacts, RoundOrder, shard_of_ends},
};
use crate::{
    ablation::{Step, reaches},
    attribute::{context::ReplayContext, identify::Candidates, pool::Pools, provisional::ChangedHosts},
    finding::Renumbering,
    follow::{
        packed::PackedPackets,
        points::Pair,
        table::{ConnectionTable, KeepingCost, Limits, Look, Separation},
    },
    hosts::{HostFacts, KnownHosts},
    read::LeftOut,
};
use serde::{Deserialize, Serialize};
use std::{
    cell::RefCell,
    net::IpAddr,
    sync::{Arc, RwLock},
};

/// Half-open connections that all shards keep.
const MOST_HALF_OPEN: usize = 1 << 15;

/// The profiles that senders are compared with.
pub(super) fn candidates(settings: &Settings) -> Candidates {
    match &settings.profile {
        Some(profile) => Candidates::only(profile),
        None => Candidates::known(),
    }
}

/// An empty table for one shard.
pub(super) fn connection_table(settings: &Settings, hosts: Arc<RwLock<KnownHosts>>) -> ConnectionTable {
    let filter = settings.filter.clone();
    ConnectionTable::new(limits(settings), filter, replay_context(settings, hosts))
}

fn limits(settings: &Settings) -> Limits {
    Limits {
        idle: settings.idle,
        most_open: settings.most_connections.div_ceil(settings.shard_count()).max(1),
        most_half_open: MOST_HALF_OPEN / settings.shard_count(),
    }
}

fn replay_context(settings: &Settings, hosts: Arc<RwLock<KnownHosts>>) -> ReplayContext {
    ReplayContext {
        candidates: candidates(settings),
        hosts,
        pools: Pools::default(),
        timeline: settings.timeline.then(RefCell::default),
    }
}

/// The connections of one shard, with their findings.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Shard {
    connections: ConnectionTable,
    reorder: Reorder,
}

impl Shard {
    /// An empty shard. It reads `hosts`, but does not write it.
    pub fn new(settings: &Settings, hosts: &Arc<RwLock<KnownHosts>>) -> Self {
        Self { connections: connection_table(settings, Arc::clone(hosts)), reorder: Reorder::default() }
    }

    /// Makes anew what is not saved.
    pub fn resume(&mut self, settings: &Settings, hosts: &Arc<RwLock<KnownHosts>>) {
        let replay_context = replay_context(settings, Arc::clone(hosts));
        let filter = settings.filter.clone();
        self.connections.resume(limits(settings), filter, replay_context);
    }

    /// Checks that the shard with this number does not contradict itself.
    pub fn check(&self, number: usize, settings: &Settings) -> Result<(), &'static str> {
        let profiles = candidates(settings).len();
        let shards = settings.shard_count();
        let is_here = |pair: &Pair| shard_of_ends(&pair.ends(), shards) == number;
        if !self.reorder.0.iter().all(|timed| is_here(&Pair::of(&timed.packet.endpoints))) {
            return Err("a packet is in another shard");
        }
        self.connections.check(profiles, is_here)
    }

    /// The ends of all connections that are open, or whose packets are held back.
    pub fn pairs(&self) -> impl Iterator<Item = Pair> {
        let held = self.reorder.0.iter();
        let held = held.map(|timed| Pair::of(&timed.packet.endpoints));
        self.connections.pairs().chain(held)
    }

    /// The number of slots for connections.
    pub fn slots(&self) -> usize {
        self.connections.slots()
    }

    /// Gives all connections and frames other numbers.
    pub fn renumber(&mut self, by: Renumbering) {
        self.connections.renumber(by);
        self.reorder.0.renumber(by);
    }

    /// Adds the connections of `other`, whose numbers come after these.
    pub fn merge(&mut self, other: Self) {
        self.connections.merge(other.connections);
        self.reorder.0.merge(&other.reorder.0);
    }

    /// Takes its part of a round.
    pub fn take(&mut self, part: &PackedPackets, about: RoundFacts, findings: &mut impl Findings) {
        if !reaches(Step::Find) {
            return;
        }
        let RoundFacts { order, latest, window_begins } = about;
        let connections = &mut self.connections;
        connections.set_window(window_begins);
        if order == RoundOrder::Sorted && self.reorder.is_empty() {
            connections.on_packets(part, findings);
        } else {
            let take = |packets: &PackedPackets| connections.on_packets(packets, findings);
            self.reorder.in_order(part, order, take);
        }
        if order == RoundOrder::Last {
            connections.release_all(findings);
        }
        connections.sweep(latest, findings);
    }

    /// The frames in which connections without a number begin.
    pub fn unnumbered(&self) -> impl Iterator<Item = u64> {
        self.connections.unnumbered()
    }

    /// Numbers those connections; `number` maps the frame to the number.
    pub fn number(&mut self, number: impl Fn(u64) -> u64, findings: &mut impl Findings) {
        self.connections.number(number, findings);
    }

    /// Facts about hosts that were not passed on yet.
    pub fn host_facts_mut(&mut self) -> &mut Vec<(IpAddr, HostFacts)> {
        self.connections.host_facts_mut()
    }

    /// Passes on what connections showed of hosts.
    pub fn pass_on_host_facts(&mut self, hosts: &mut KnownHosts, changed: &mut ChangedHosts) {
        self.connections.pass_on_host_facts(hosts, changed);
    }

    /// More became known of hosts.
    pub fn revise(&mut self, changed: &ChangedHosts, findings: &mut impl Findings) {
        self.connections.revise(changed, findings);
    }

    /// From now on remembers which connections packets came of.
    pub fn begin_looks(&mut self) {
        self.connections.begin_looks();
    }

    /// Passes on open connections, as they would be reported if the capture ended here.
    pub fn look(&mut self, whom: Look, findings: &mut impl Findings) {
        self.connections.look(whom, findings);
    }

    /// The number of open connections.
    pub fn open(&self) -> usize {
        self.connections.open()
    }

    /// The memory of its connections, in bytes.
    pub fn memory(&self) -> usize {
        self.connections.memory()
    }

    /// Cost of keeping each open connection.
    pub fn keeping_costs(&self) -> impl Iterator<Item = KeepingCost> {
        self.connections.keeping_costs()
    }

    /// Cost of keeping the connections that may be packed.
    pub fn drowsy(&self) -> impl Iterator<Item = KeepingCost> {
        self.connections.drowsy()
    }

    /// Packs the connection in this slot.
    pub fn pack(&mut self, slot: u32) {
        self.connections.pack(slot);
    }

    /// Removes the connections in these slots to limit memory.
    pub fn evict(&mut self, slots: impl Iterator<Item = u32>, findings: &mut impl Findings) {
        for slot in slots {
            self.connections.evict(slot, findings);
        }
        self.connections.forget_evicted();
    }

    /// The capture is over: closes up to `most` connections.
    pub fn close_some(&mut self, most: usize, findings: &mut impl Findings) {
        self.connections.close_some(most, findings);
    }

    /// The capture is over, and all connections have their numbers. Closes them.
    pub fn finish(&mut self, findings: &mut impl Findings) {
        self.connections.finish(findings);
    }

    /// All connections are closed, and all is known of their hosts.
    pub fn pass_on_held(&mut self, findings: &mut impl Findings) {
        self.connections.pass_on_held(findings);
    }

    /// Whether the capture points of connections could be told apart.
    pub fn separation(&self) -> Separation {
        self.connections.separation()
    }

    /// Connections and packets that the filter left out.
    pub fn left_out(&self) -> LeftOut {
        self.connections.left_out()
    }
}

/// Packets held back because packets of the next round may belong before them.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Reorder(PackedPackets);

impl Reorder {
    /// Whether none is held back.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Passes on the packets held back and those of `part`, ordered by time, but for those that packets of the next round
    /// may belong before.
    pub fn in_order(&mut self, part: &PackedPackets, order: RoundOrder, hand_out: impl FnOnce(&PackedPackets)) {
        self.0.merge(part);
        let held = match order {
            RoundOrder::Sorted | RoundOrder::Last => PackedPackets::default(),
            RoundOrder::Unsorted { until } => self.0.split_off_later(until),
        };
        hand_out(&self.0);
        self.0 = held;
    }
}
