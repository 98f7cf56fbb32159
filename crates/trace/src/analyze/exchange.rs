//! Facts that the shards of one partition exchange with those of the others.
//!
//! Connections of different shards depend on each other only through what is known of hosts
//! ([`KnownHosts`](crate::hosts::KnownHosts)). Between two rounds, each shard says what its connections showed of
//! hosts, and all shards learn it. Here, the facts of the other partitions come from their earlier analyses
//! ([`ForeignFacts`]), and the own facts are noted for theirs ([`PartitionLog`]).
//!
//! **Why the result is that of one analysis.** Let F(r) be the facts that all shards say after round r of the
//! analysis of the whole capture. The state of a shard after round r is a function of its own packets up to round r
//! and of F(1) … F(r − 1): the order in which facts are learned is part of F, and the plan says which packets a
//! round has. So F(r) is a function of the packets and of F(1) … F(r − 1). Suppose that all partitions used facts G,
//! and said exactly these facts G. Then G(1) = F(1), because the first round uses none. If G equals F before round
//! r, then G(r) is the same function of the same values as F(r). By induction G = F: all partitions used what one
//! analysis would have learned, and found what it would have found.
//!
//! Each pass makes one more round right: after pass n, the facts of the first n rounds are those of F. So the passes
//! end. Captures whose facts do not depend on other facts need two passes. Where many segments are retransmitted,
//! what is known of a sender changes how its later connections are explained, and so their facts: three passes are
//! usual then, and the third only confirms the second's facts.
//!
//! Two things are left besides facts:
//!
//! - Numbers of connections depend on the connections of all partitions. Nothing depends on them, so they are given
//!   in the end ([`settle`](super::Settled)).
//! - The limit of memory holds for all shards together. [`PartitionLog`] notes the memory of each round, so that
//!   it is known whether one analysis would have reached the limit.

use super::shard::Shard;
use crate::hosts::HostFacts;
use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher13;
use std::{
    hash::{Hash, Hasher},
    net::IpAddr,
    ops::Range,
    sync::Arc,
};

/// A fact about a host, shown by a connection.
#[derive(Clone, Debug, Hash, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ShownFact {
    /// The shard of the connection.
    pub shard: u32,
    pub host: IpAddr,
    pub facts: HostFacts,
}

/// Facts about hosts from the connections of all partitions, by round.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignFacts {
    /// Those of each round, ordered by shard.
    pub(super) rounds: Vec<Vec<ShownFact>>,
}

impl ForeignFacts {
    /// Adds what the shards of a partition showed.
    pub(super) fn add(&mut self, log: &PartitionLog) {
        if self.rounds.len() < log.rounds.len() {
            self.rounds.resize_with(log.rounds.len(), Vec::new);
        }
        for (all, own) in self.rounds.iter_mut().zip(&log.rounds) {
            all.extend_from_slice(&own.facts);
            all.sort_by_key(|fact| fact.shard);
        }
    }

    /// Whether nothing was shown of any host.
    pub fn is_empty(&self) -> bool {
        self.rounds.iter().all(Vec::is_empty)
    }

    /// A digest of the facts of all shards but these. The hash is the same in every build: partitions whose digests
    /// differ are analyzed again.
    pub(super) fn digest_without(&self, shards: &Range<usize>) -> u64 {
        let mut hasher = SipHasher13::new();
        for (round, facts) in self.rounds.iter().enumerate() {
            for fact in facts {
                if !shards.contains(&(fact.shard as usize)) {
                    (round, fact).hash(&mut hasher);
                }
            }
        }
        hasher.finish()
    }
}

/// Facts from the shards of a partition, round by round.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PartitionLog {
    pub(super) rounds: Vec<RoundLog>,
}

/// Facts from the shards of a partition after one round.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct RoundLog {
    facts: Vec<ShownFact>,
    /// The frames in which new connections begin, in order.
    pub first_frames: Vec<u64>,
    /// The memory of all connections, in bytes.
    pub memory: usize,
}

/// Exchanges facts between the shards of one partition and those of the others.
#[derive(Debug)]
pub(super) struct Exchange {
    /// The shards of this partition. The others are empty.
    own: Range<usize>,
    foreign: Arc<ForeignFacts>,
    log: PartitionLog,
    /// The round that has just been taken.
    round: RoundLog,
}

impl Exchange {
    pub fn new(own: Range<usize>, foreign: Arc<ForeignFacts>) -> Self {
        Self { own, foreign, log: PartitionLog::default(), round: RoundLog::default() }
    }

    /// New connections begin in these frames.
    pub fn on_new_connections(&mut self, frames: &[u64]) {
        self.round.first_frames.extend_from_slice(frames);
    }

    /// Notes what its shards showed, and lets the others show what they do show in this round.
    pub fn exchange_facts(&mut self, shards: &mut [Shard]) {
        for shard in self.own.clone() {
            let facts = shards[shard].host_facts_mut().iter();
            self.round.facts.extend(facts.map(|(host, facts)| ShownFact {
                shard: shard as u32,
                host: *host,
                facts: facts.clone(),
            }));
        }
        let foreign = self.foreign.rounds.get(self.log.rounds.len());
        for fact in foreign.into_iter().flatten() {
            let shard = fact.shard as usize;
            if !self.own.contains(&shard)
                && let Some(shard) = shards.get_mut(shard)
            {
                shard.host_facts_mut().push((fact.host, fact.facts.clone()));
            }
        }
    }

    /// All facts are known, and the connections take up `memory` bytes. The next round begins.
    pub fn on_memory(&mut self, memory: usize) {
        self.round.memory = memory;
        self.log.rounds.push(std::mem::take(&mut self.round));
    }

    pub fn into_log(self) -> PartitionLog {
        self.log
    }
}
