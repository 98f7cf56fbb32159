//! Analyzes a capture in partitions: some shards at a time, each on a machine of its own.
//!
//! ```text
//! capture ─► RoundPlan ─┬─► analyze_partition 0 ─┬─► settle ─► Settled::Final
//!                       ├─► analyze_partition 1 ─┤      └────► Settled::Again: with the facts that
//!                       └─► …                   ─┘             the partitions have shown of hosts
//! ```
//!
//! The result is what one analysis of the whole capture finds ([`exchange`](super::exchange) proves it), with one
//! exception: the limit of memory holds for each partition. [`PartitionTotals::reached_memory_limit`] says whether
//! that may make a difference.

use super::{
    Findings, Settings, Shards, analyzer,
    exchange::{Exchange, ForeignFacts, PartitionLog},
    round::{Round, shard_of},
    rounds::RoundPlan,
    saved::SavedSettings,
};
use crate::{
    follow::table::Separation,
    hosts::Hosts,
    read::{Counts, LeftOut, Packet, ReadError},
};
use recoup_units::Instant;
use serde::{Deserialize, Serialize};
use std::{mem::take, ops::Range, sync::Arc};
use thiserror::Error;

/// One of several partitions of the connections of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partition {
    /// From 0.
    pub number: usize,
    /// How many partitions there are; at least 1, and at most as many as [shards](Settings::shards).
    pub of: usize,
}

impl Partition {
    /// The partition of a packet's connection, the same in both directions and in every run.
    pub fn of_packet(packet: &Packet, partitions: usize, settings: &Settings) -> usize {
        let shards = settings.shard_count();
        shard_of(packet, shards) * partitions / shards
    }

    /// The shards of this partition, among `shards`.
    fn shards(self, shards: usize) -> Range<usize> {
        let first = |number: usize| (number * shards).div_ceil(self.of);
        first(self.number)..first(self.number + 1)
    }
}

/// Why partitions cannot be analyzed or settled. Each message is one line.
#[derive(Debug, Error)]
pub enum PartitionError {
    /// The number of the partition is too large.
    #[error("partition {} of {}: expected a number from 0, and at most {shards} partitions", .partition.number, .partition.of)]
    Number {
        /// The partition.
        partition: Partition,
        /// How many shards there are.
        shards: usize,
    },
    /// A packet is not of this partition, or its frame is not after the one before.
    #[error("frame {0}: expected the packets of the partition in the order of their frames")]
    Packet(u64),
    /// The analyses are not those of all partitions of one plan.
    #[error("expected one analysis of each partition by the same plan")]
    Incomplete,
    /// They were made with different settings.
    #[error("the partitions were analyzed with another {0}")]
    Settings(&'static str),
    /// The analysis of the whole capture ends with this error.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Findings of one partition. Its connections have numbers of their own until the partitions are
/// [settled](settle).
#[derive(Debug, Serialize, Deserialize)]
pub struct PartitionAnalysis<F> {
    partition: Partition,
    /// The shards that all partitions have.
    shards: usize,
    settings: SavedSettings,
    /// [`RoundPlan::digest`].
    plan: u64,
    /// A digest of the facts of the other partitions that were used.
    used: u64,
    log: PartitionLog,
    /// Those of each shard of the partition.
    findings: Vec<F>,
    left_out: LeftOut,
    separation: Separation,
}

impl<F> PartitionAnalysis<F> {
    /// Which partition was analyzed.
    pub fn partition(&self) -> Partition {
        self.partition
    }

    /// The findings of each of its shards. They are those of one analysis only once the partitions are settled.
    pub fn findings(&self) -> impl Iterator<Item = &F> {
        self.findings.iter()
    }

    fn own(&self) -> Range<usize> {
        self.partition.shards(self.shards)
    }
}

/// Analyzes the connections of one partition. `packets` gives its packets until it returns `false`; their frames
/// are those of the whole capture, and go up. `facts` are what all partitions have shown of hosts in the pass
/// before; in the first pass there are none. The part of the facts that the partition has shown itself is not used.
///
/// # Errors
/// If the partition's number is too large, or if a packet belongs to another partition.
pub fn analyze_partition<F: Findings>(
    plan: &RoundPlan,
    partition: Partition,
    facts: &Arc<ForeignFacts>,
    settings: &Settings,
    packets: impl FnMut(&mut Packet) -> bool + Send,
    findings: impl Fn() -> F,
) -> Result<PartitionAnalysis<F>, PartitionError> {
    let shard_count = settings.shard_count();
    if partition.number >= partition.of || partition.of > shard_count {
        return Err(PartitionError::Number { partition, shards: shard_count });
    }
    let own = partition.shards(shard_count);
    let mut shards = Shards::new(settings);
    shards.exchange = Some(Box::new(Exchange::new(own.clone(), Arc::clone(facts))));
    let mut findings: Vec<F> = (0..shard_count).map(|_| findings()).collect();
    let mut replay = Replay::new(plan, own.clone(), packets);
    let mut run = |in_parallel: bool| {
        let mut coming = Round::new(shard_count);
        let fill = |round: &mut Round| replay.fill(round);
        shards.take_rounds(&mut coming, fill, &mut findings, in_parallel);
        shards.finish(plan.last, &mut findings, in_parallel);
    };
    match analyzer::threads(settings) {
        Some(threads) => threads.install(|| run(true)),
        None => run(false),
    }
    if let Some(frame) = replay.misplaced {
        return Err(PartitionError::Packet(frame));
    }
    let log = shards.exchange.take().map(|exchange| exchange.into_log());
    Ok(PartitionAnalysis {
        partition,
        shards: shard_count,
        settings: SavedSettings::of(settings),
        plan: plan.digest(),
        used: facts.digest_without(&own),
        log: log.unwrap_or_default(),
        left_out: shards.left_out(),
        separation: shards.separation(),
        findings: findings.drain(own).collect(),
    })
}

/// Divides the packets of a partition into the rounds of the plan.
struct Replay<'a, P> {
    plan: &'a RoundPlan,
    clock: super::rounds::PlannedClock<'a>,
    own: Range<usize>,
    packets: P,
    /// The next round.
    round: usize,
    /// A packet of a later round, with its time.
    ahead: Option<(Box<Packet>, Option<Instant>)>,
    latest_frame: u64,
    /// The frame of a packet that cannot be here.
    misplaced: Option<u64>,
}

impl<'a, P: FnMut(&mut Packet) -> bool> Replay<'a, P> {
    fn new(plan: &'a RoundPlan, own: Range<usize>, packets: P) -> Self {
        Self { plan, clock: plan.clock(), own, packets, round: 0, ahead: None, latest_frame: 0, misplaced: None }
    }

    /// Adds the packets of the next round; `false` if there is none.
    fn fill(&mut self, round: &mut Round) -> bool {
        let Some(planned) = self.plan.rounds.get(self.round) else {
            return false;
        };
        self.round += 1;
        round.facts = planned.facts;
        if let Some((packet, time)) = self.ahead.take() {
            if packet.frame > planned.last_frame {
                self.ahead = Some((packet, time));
                return true;
            }
            time.into_iter().for_each(|time| round.push(&packet, time));
        }
        let shards = round.parts.len();
        let mut packet = Packet::default();
        while self.misplaced.is_none() && (self.packets)(&mut packet) {
            if packet.frame <= self.latest_frame || !self.own.contains(&shard_of(&packet, shards)) {
                self.misplaced = Some(packet.frame);
                break;
            }
            self.latest_frame = packet.frame;
            let time = self.clock.time(&packet);
            if packet.frame > planned.last_frame {
                self.ahead = Some((Box::new(packet), time));
                break;
            }
            time.into_iter().for_each(|time| round.push(&packet, time));
        }
        true
    }
}

/// Gives connections their final numbers.
pub trait NumbersConnections {
    /// `number` maps the number that each connection has to its new one, and keeps their order.
    fn number_connections(&mut self, number: &dyn Fn(u64) -> u64);
}

/// Totals of all partitions.
#[derive(Debug)]
pub struct PartitionTotals<F> {
    /// As [`Analysis::counts`](super::Analysis::counts).
    pub counts: Counts,
    /// Those of each shard, in the order of the shards.
    pub findings: Vec<F>,
    /// Facts about hosts that the capture showed, without [`Settings::hosts`].
    pub hosts: Hosts,
    /// Whether the connections of all partitions together exceeded [`Settings::most_memory`]. One analysis would
    /// then have closed some, and may have found something else.
    pub reached_memory_limit: bool,
}

/// Result of [`settle`].
#[derive(Debug)]
pub enum Settled<F> {
    /// The partitions found what one analysis finds.
    Final(Box<PartitionTotals<F>>),
    /// Some partitions must be analyzed again.
    Again {
        /// The analyses that stay as they are.
        kept: Vec<PartitionAnalysis<F>>,
        /// The numbers of the other partitions.
        partitions: Vec<usize>,
        /// Facts about hosts from all partitions.
        facts: ForeignFacts,
    },
}

/// Decides whether the analyses of all partitions are final, and puts them together if they are.
///
/// # Errors
/// If they are not the analyses of all partitions by this plan, or were made with different settings. If they are
/// final, also [`ReadError::Merged`], as in [`Analyzer::finish`](super::Analyzer::finish).
pub fn settle<F: NumbersConnections>(
    plan: &RoundPlan,
    mut analyses: Vec<PartitionAnalysis<F>>,
) -> Result<Settled<F>, PartitionError> {
    analyses.sort_by_key(|analysis| analysis.partition.number);
    check(plan, &analyses)?;
    let mut facts = ForeignFacts::default();
    analyses.iter().for_each(|analysis| facts.add(&analysis.log));
    let is_stale = |analysis: &PartitionAnalysis<F>| analysis.used != facts.digest_without(&analysis.own());
    let partitions = analyses.iter().filter(|analysis| is_stale(analysis));
    let partitions: Vec<usize> = partitions.map(|stale| stale.partition.number).collect();
    if !partitions.is_empty() {
        analyses.retain(|analysis| !is_stale(analysis));
        return Ok(Settled::Again { kept: analyses, partitions, facts });
    }
    let mut counts = plan.counts.clone();
    let mut separation = Separation::default();
    for analysis in &analyses {
        counts.left_out.add(analysis.left_out);
        separation.merge(&analysis.separation);
    }
    analyzer::check_separation(&mut counts, &separation, &plan.name)?;
    number_connections(&mut analyses);
    let mut hosts = Hosts::default();
    let all = facts.rounds.iter().flatten();
    all.for_each(|fact| hosts.add(fact.host, &fact.facts));
    Ok(Settled::Final(Box::new(PartitionTotals {
        counts,
        reached_memory_limit: reaches_memory_limit(&analyses),
        findings: analyses.into_iter().flat_map(|a| a.findings).collect(),
        hosts,
    })))
}

/// Checks that these are the analyses of all partitions by the plan.
fn check<F>(plan: &RoundPlan, analyses: &[PartitionAnalysis<F>]) -> Result<(), PartitionError> {
    let Some(first) = analyses.first() else {
        return Err(PartitionError::Incomplete);
    };
    let digest = plan.digest();
    for (number, analysis) in analyses.iter().enumerate() {
        let of = analyses.len();
        let is_next = analysis.partition == Partition { number, of };
        if let Some(setting) = first.settings.difference(&analysis.settings) {
            return Err(PartitionError::Settings(setting));
        }
        if !is_next || analysis.plan != digest || analysis.shards != first.shards {
            return Err(PartitionError::Incomplete);
        }
    }
    Ok(())
}

/// Numbers the connections of all partitions in the order of their first packets in a round, as one analysis does.
fn number_connections<F: NumbersConnections>(analyses: &mut [PartitionAnalysis<F>]) {
    let logs: Vec<PartitionLog> = analyses.iter_mut().map(|a| take(&mut a.log)).collect();
    let mut numbers: Vec<Vec<u64>> = logs.iter().map(|_| Vec::new()).collect();
    let mut numbered = 0;
    for round in 0..logs.iter().map(|log| log.rounds.len()).max().unwrap_or_default() {
        let of_round = logs.iter().filter_map(|log| log.rounds.get(round));
        let mut all: Vec<u64> = of_round.flat_map(|round| round.first_frames.iter().copied()).collect();
        all.sort_unstable();
        let number = |frame: &u64| numbered + all.partition_point(|other| other < frame) as u64;
        for (numbers, log) in numbers.iter_mut().zip(&logs) {
            let own = log.rounds.get(round).map(|round| &round.first_frames);
            numbers.extend(own.into_iter().flatten().map(number));
        }
        numbered += all.len() as u64;
    }
    for ((analysis, numbers), log) in analyses.iter_mut().zip(numbers).zip(logs) {
        let number = |own: u64| numbers.get(own as usize).copied().unwrap_or(own);
        let findings = analysis.findings.iter_mut();
        findings.for_each(|findings| findings.number_connections(&number));
        analysis.log = log;
    }
}

/// Whether the connections of all partitions together take up more memory than one analysis allows.
fn reaches_memory_limit<F>(analyses: &[PartitionAnalysis<F>]) -> bool {
    let most = analyses.first().map_or(usize::MAX, |first| first.settings.most_memory());
    let rounds = analyses.iter().map(|a| a.log.rounds.len()).max();
    (0..rounds.unwrap_or_default()).any(|round| {
        let logs = analyses.iter().filter_map(|a| a.log.rounds.get(round));
        logs.map(|log| log.memory).sum::<usize>() > most
    })
}
