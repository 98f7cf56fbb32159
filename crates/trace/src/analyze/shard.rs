//! Some of the connections, which know nothing of the others.

use super::feed::{Order, Timed};
use super::{Findings, SHARDS, Settings};
use crate::connections::Connections;
use crate::identify::Hosts;
use crate::replay::Score;
use recoup_units::Instant;
use std::net::IpAddr;
use std::sync::{Arc, RwLock};

/// Packets held back to be sorted among those that come, once some came out of order.
const HELD: usize = 1024 / SHARDS;

/// Connections and what is found of them.
#[derive(Debug)]
pub(super) struct Shard<F> {
    connections: Connections,
    findings: F,
    held: Held,
}

impl<F: Findings> Shard<F> {
    /// None yet. Of `hosts` it reads what is known.
    pub fn new(settings: &Settings, hosts: &Arc<RwLock<Hosts>>, findings: F) -> Self {
        Self {
            connections: Connections::new(settings, Arc::clone(hosts)),
            findings,
            held: Held::default(),
        }
    }

    /// Takes in its part of a round, which went to `now`.
    pub fn take(&mut self, part: &[Timed], order: Order, now: Instant) {
        let (connections, findings) = (&mut self.connections, &mut self.findings);
        self.held.sorted(part, order, |packets| {
            connections.on_packets(packets, findings);
        });
        connections.sweep(now, findings);
    }

    /// The frames of the first packets of connections that have no number yet.
    pub fn newborn(&self) -> impl Iterator<Item = u64> {
        self.connections.newborn()
    }

    /// Gives those their numbers: `number` is told the frame.
    pub fn number(&mut self, number: impl Fn(u64) -> u64) {
        self.connections.number(number, &mut self.findings);
    }

    /// What it learned of hosts since this was last asked.
    pub fn notes(&mut self) -> impl Iterator<Item = (IpAddr, Vec<Score>)> {
        self.connections.notes()
    }

    /// The capture is over. All have their numbers.
    pub fn finish(&mut self) {
        self.connections.finish(&mut self.findings);
    }

    pub fn into_findings(self) -> F {
        self.findings
    }
}

/// The last packets of a round, where those of the next may belong before them.
#[derive(Debug, Default)]
pub(super) struct Held(Vec<Timed>);

impl Held {
    /// Hands out the packets of `part` in the order of their times, and those held back before.
    pub fn sorted(&mut self, part: &[Timed], order: Order, hand_out: impl FnOnce(&[Timed])) {
        if order == Order::Kept && self.0.is_empty() {
            return hand_out(part);
        }
        self.0.extend_from_slice(part);
        self.0.sort_by_key(|timed| timed.time);
        let ready = match order {
            Order::Kept | Order::Last => self.0.len(),
            Order::Disturbed => self.0.len().saturating_sub(HELD),
        };
        hand_out(&self.0[..ready]);
        self.0.drain(..ready);
    }
}
