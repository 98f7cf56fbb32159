//! Runs all stages: a capture in, findings out.
//!
//! Connections are divided among shards. Packets are read in rounds. While the shards analyze one
//! round in parallel, the next round is read.
//!
//! ```text
//!           ┌─ read ─┬─ read ──────┬─ read ──────┬─
//! threads ──┤        ├─ 0 1 2 3 … ─┼─ 0 1 2 3 … ─┼─
//!           └        └─ settle ────┴─ settle ────┴─
//! ```
//!
//! The findings do not depend on the number of threads. Shards share nothing while they work.
//! Between rounds one thread numbers new connections and tells all shards what was learned of
//! hosts.
//!
//! | module | what it does |
//! | --- | --- |
//! | `analyzer` | reads one capture after the other, and can pause in between |
//! | `saved` | keeps a paused analysis |
//! | `live` | analyzes packets as they come |
//! | `merge` | merges paused analyses |
//! | `feed` | deals packets out in rounds, with times that never go back |
//! | `round` | the packets of a round, divided among the shards |
//! | `rounds` | the rounds of a capture, planned without its headers |
//! | `partition`, `exchange` | analyzes some shards of a capture, apart from the others |
//! | `shard` | analyzes the connections of one shard |
//! | `selection` | which connections are analyzed, and in which time |

mod analyzer;
mod exchange;
mod feed;
mod live;
mod merge;
mod partition;
mod round;
mod rounds;
mod saved;
mod selection;
mod shard;

pub use crate::finding::Findings;
pub use crate::follow::table::Look;
use crate::{
    attribute::provisional::ChangedHosts,
    finding::{Connection, ConnectionKey, Retransmission, Revision},
    follow::{
        packed::PackedPackets,
        table::{KeepingCost, Separation},
    },
    hosts::{Hosts, KnownHosts},
    read::{CapturedPacket, Counts, LeftOut, PacketSource, ReadError, SentCopy},
};
pub use analyzer::{Analyzer, ResumeError, SoFarError};
use exchange::Exchange;
pub use exchange::{ForeignFacts, PartitionLog};
pub use merge::MergeError;
pub use partition::{
    NumbersConnections, Partition, PartitionAnalysis, PartitionError, PartitionTotals, Settled, analyze_partition,
    settle,
};
use rayon::iter::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelBridge, ParallelIterator};
use round::{Round, RoundFacts};
pub use rounds::RoundPlan;
pub use saved::SavedAnalysis;
pub use selection::{ConnectionFilter, TimeMark, TimeWindow};
use serde::{Deserialize, Serialize};
use shard::Shard;
use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap},
    mem::{swap, take},
    net::IpAddr,
    ops::Range,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

/// The fewest shards, and their usual number.
const FEWEST_SHARDS: usize = 8;
const MOST_SHARDS: usize = 256;

/// A connection that takes up more than this fraction (1/n) of the memory is large.
const LARGE: usize = 8;

/// How a capture is analyzed.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The profile of all senders; `None`: the best of the known profiles for each.
    pub profile: Option<recoup_recovery::Profile>,
    /// A connection that is silent for longer is over.
    pub idle: Duration,
    /// About how many connections may be open at once. Beyond, connections that were silent for
    /// long are closed.
    pub most_connections: usize,
    /// About how many bytes the connections may take up. Beyond, those that take up an eighth of it or
    /// more are closed, then those that have ended, and then those that were silent for longest. The whole analysis
    /// uses up to 1.7 times as much.
    pub most_memory: usize,
    /// Threads besides the calling one; 0: none.
    pub threads: usize,
    /// Collects a [`Timeline`](crate::timeline::Timeline). A saved analysis does not keep it: it begins where the
    /// analysis is resumed.
    pub timeline: bool,
    /// Facts about hosts known beforehand, for example from an earlier capture.
    pub hosts: Arc<Hosts>,
    /// Which connections are analyzed; `None`: all. The others are counted and numbered, but not
    /// followed.
    pub filter: Option<Arc<dyn ConnectionFilter>>,
    /// Copies of segments that other programs of the captured hosts sent. Whoever reads a capture leaves them out, by
    /// [`WithoutCopies`](crate::read::WithoutCopies); the analysis takes packets as they come.
    pub copies: Option<Arc<[SentCopy]>>,
    /// When the packets that are analyzed were captured.
    pub window: TimeWindow,
    /// Shards that the connections are divided among: a power of two from 8 to 256. Other numbers mean the next
    /// one. More shards let more partitions of a capture be analyzed apart
    /// ([`analyze_partition`]). Findings depend on their number only where a limit is reached that all shards
    /// share equally, or a silent connection is noticed earlier or later.
    pub shards: usize,
}

impl Settings {
    /// The number of shards that is used.
    pub fn shard_count(&self) -> usize {
        let shards = self.shards.clamp(FEWEST_SHARDS, MOST_SHARDS);
        shards.next_power_of_two()
    }
}

/// Whether the number of shards is valid.
fn is_shard_count(shards: usize) -> bool {
    shards.is_power_of_two() && (FEWEST_SHARDS..=MOST_SHARDS).contains(&shards)
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            profile: None,
            idle: Duration::from_secs(900),
            most_connections: 2_000_000,
            most_memory: 192 << 20,
            timeline: false,
            threads: std::thread::available_parallelism().map_or(1, |n| n.get().saturating_sub(1)),
            hosts: Arc::default(),
            filter: None,
            copies: None,
            window: TimeWindow::default(),
            shards: FEWEST_SHARDS,
        }
    }
}

/// Keeps all findings, for captures whose findings fit into memory.
#[derive(Debug, Default)]
pub struct Kept {
    /// Connections, in no order.
    pub connections: Vec<Connection>,
    /// Retransmissions, in no order.
    pub retransmissions: Vec<Retransmission>,
    /// Verdicts that were revised.
    pub revisions: u64,
    /// Where a connection with provisional verdicts is, and where its retransmissions are, by its
    /// number.
    provisional: HashMap<ConnectionKey, (usize, Range<usize>)>,
}

impl Kept {
    /// Sorts connections by number and retransmissions by frame.
    pub fn sort(&mut self) {
        self.provisional.clear();
        self.connections.sort_by_key(|c| c.id);
        self.retransmissions.sort_by_key(|r| r.frame);
    }
}

impl Findings for Kept {
    fn connection(&mut self, connection: Connection, retransmissions: &[Retransmission]) {
        if retransmissions.iter().any(|row| row.provisional) {
            let first = self.retransmissions.len();
            let rows = first..first + retransmissions.len();
            let places = (self.connections.len(), rows);
            self.provisional.insert(connection.key(), places);
        }
        self.connections.push(connection);
        self.retransmissions.extend_from_slice(retransmissions);
    }

    fn revision(&mut self, revision: &Revision) {
        let key = revision.retransmission.connection_key();
        let Some((connection, rows)) = self.provisional.get(&key) else {
            return;
        };
        if revision.apply(&mut self.retransmissions[rows.clone()]) {
            revision.recount(&mut self.connections[*connection]);
            self.revisions += 1;
        }
    }
}

/// Result of [`analyze`].
#[derive(Debug)]
pub struct Analysis<F> {
    /// Frames and packets read, and frames that could not be read.
    pub counts: Counts,
    /// Findings of the shards; each covers a part of the connections.
    pub findings: Vec<F>,
    /// Facts about hosts from this capture, without [`Settings::hosts`].
    pub hosts: Hosts,
}

/// Analyzes a whole capture, on as many threads as the settings say. Packets that are slightly out
/// of order are sorted by time. Where the capture's clock was set back, time continues from there.
/// A single timestamp far from its neighbours is ignored ([`ClockAnomalies`](crate::read::ClockAnomalies)).
///
/// `watch` is called every few thousand packets, for example to show [`PacketSource::taken`]. If it
/// returns `false`, reading stops, and what was read is analyzed.
///
/// # Errors
/// Those of [`Analyzer::read`] and [`Analyzer::finish`].
pub fn analyze<F: Findings, S: PacketSource>(
    source: S,
    settings: &Settings,
    findings: impl Fn() -> F,
    watch: impl FnMut(&S) -> bool + Send,
) -> Result<Analysis<F>, ReadError> {
    let mut analyzer = Analyzer::new(settings, findings);
    // Packets that were read are analyzed first, as they are if reading fails later.
    analyzer.read(source, watch)?;
    analyzer.finish()
}

/// Analyzes packets as [`analyze`] does those of a capture. Their frame numbers must increase.
/// Connections whose capture points cannot be told apart are counted, but have no retransmissions.
pub fn follow<F: Findings>(
    packets: impl Iterator<Item = CapturedPacket> + Send,
    settings: &Settings,
    findings: impl Fn() -> F,
) -> Vec<F> {
    let mut analyzer = Analyzer::new(settings, findings);
    analyzer.follow(packets);
    let (analysis, _) = analyzer.finish_all();
    analysis.findings
}

/// All shards, and what they share. The findings of each shard are passed in, in the order of the
/// shards.
#[derive(Debug, Serialize, Deserialize)]
struct Shards {
    shards: Vec<Shard>,
    hosts: Arc<RwLock<KnownHosts>>,
    /// Hosts of which more became known than some findings were based on.
    changed: BTreeSet<IpAddr>,
    /// Connections that have a number.
    numbered: u64,
    /// Bytes that the connections may take up.
    most_memory: usize,
    /// Exchange of facts with the shards of other partitions; `None`: there are none.
    #[serde(skip)]
    exchange: Option<Box<Exchange>>,
}

impl Shards {
    fn new(settings: &Settings) -> Self {
        let hosts = Arc::new(RwLock::new(KnownHosts::new(Arc::clone(&settings.hosts))));
        let shards = (0..settings.shard_count()).map(|_| Shard::new(settings, &hosts));
        Self {
            shards: shards.collect(),
            hosts,
            changed: BTreeSet::new(),
            numbered: 0,
            most_memory: settings.most_memory,
            exchange: None,
        }
    }

    /// Makes anew what is not saved.
    fn resume(&mut self, settings: &Settings) {
        for shard in &mut self.shards {
            shard.resume(settings, &self.hosts);
        }
    }

    /// Analyzes one round. `in_parallel`: on several threads.
    fn take<F: Findings>(&mut self, round: &Round, findings: &mut [F], in_parallel: bool) {
        let shards = self.shards.iter_mut().zip(findings).zip(&round.parts);
        let take = |((shard, findings), part): ((&mut Shard, &mut F), &PackedPackets)| {
            shard.take(part, round.facts, findings);
        };
        if in_parallel {
            // A thread that is free takes the next shard. The longest come first, so that no thread is
            // left alone with one at the end.
            let mut shards: Vec<_> = shards.collect();
            shards.sort_by_key(|(_, part)| Reverse(part.len()));
            shards.into_iter().par_bridge().for_each(take);
        } else {
            shards.for_each(take);
        }
    }

    /// Analyzes round after round. `fill` adds the packets of one to `coming`, which may have some already, until
    /// it returns `false`. The packets of an incomplete round stay in `coming`.
    fn take_rounds<F: Findings>(
        &mut self,
        coming: &mut Round,
        mut fill: impl FnMut(&mut Round) -> bool + Send,
        findings: &mut [F],
        in_parallel: bool,
    ) {
        // One thread takes a round before it reads the next, so it needs the memory of one.
        let mut read = Round::new(self.shards.len());
        let mut more = fill(coming);
        while more {
            if in_parallel {
                swap(&mut read, coming);
                coming.clear();
                let analyze = || self.take(&read, findings, true);
                (more, ()) = rayon::join(|| fill(coming), analyze);
            } else {
                self.take(coming, findings, false);
                coming.clear();
                more = fill(coming);
            }
            self.settle(findings);
        }
    }

    /// All packets were taken; `last` is said of an empty round after them. Closes all connections.
    fn finish<F: Findings>(&mut self, last: RoundFacts, findings: &mut [F], in_parallel: bool) {
        self.take_last(last, findings);
        if in_parallel {
            let shards = self.shards.par_iter_mut().zip(&mut *findings);
            shards.for_each(|(shard, findings)| shard.finish(findings));
        } else {
            let shards = self.shards.iter_mut().zip(&mut *findings);
            shards.for_each(|(shard, findings)| shard.finish(findings));
        }
        self.learn(findings);
        let shards = self.shards.iter_mut().zip(findings);
        shards.for_each(|(shard, findings)| shard.pass_on_held(findings));
    }

    /// Analyzes the packets that waited for others.
    fn take_last<F: Findings>(&mut self, last: RoundFacts, findings: &mut [F]) {
        for (shard, findings) in self.shards.iter_mut().zip(&mut *findings) {
            shard.take(&PackedPackets::default(), last, findings);
        }
        self.settle(findings);
    }

    /// Whether the capture points of connections could be told apart.
    fn separation(&self) -> Separation {
        let mut separation = Separation::default();
        let shards = self.shards.iter();
        shards.for_each(|shard| separation.merge(&shard.separation()));
        separation
    }

    /// Connections and packets that the filter left out.
    fn left_out(&self) -> LeftOut {
        let mut all = LeftOut::default();
        let shards = self.shards.iter();
        shards.for_each(|shard| all.add(shard.left_out()));
        all
    }

    /// Between two rounds: numbers new connections in the order of their first packets, and
    /// collects what each shard learned of hosts.
    fn settle<F: Findings>(&mut self, findings: &mut [F]) {
        let mut frames: Vec<u64> = self.shards.iter().flat_map(Shard::unnumbered).collect();
        frames.sort_unstable();
        if let Some(exchange) = &mut self.exchange {
            exchange.on_new_connections(&frames);
        }
        let first = self.numbered;
        self.numbered += frames.len() as u64;
        let number = |frame| first + frames.partition_point(|&other| other < frame) as u64;
        for (shard, findings) in self.shards.iter_mut().zip(&mut *findings) {
            shard.number(number, findings);
        }
        self.learn(findings);
    }

    /// Collects what each shard learned of hosts, and revises the findings that this changes.
    fn learn<F: Findings>(&mut self, findings: &mut [F]) {
        if let Some(exchange) = &mut self.exchange {
            exchange.exchange_facts(&mut self.shards);
        }
        let mut hosts = self.hosts.write().unwrap_or_else(PoisonError::into_inner);
        hosts.forget_changes();
        let changed = take(&mut self.changed).into_iter();
        let mut changed: ChangedHosts = changed.map(|host| (host, hosts.duplicates_of(host))).collect();
        for shard in &mut self.shards {
            shard.pass_on_host_facts(&mut hosts, &mut changed);
        }
        if !changed.is_empty() {
            for (shard, findings) in self.shards.iter_mut().zip(&mut *findings) {
                shard.revise(&changed, findings);
            }
        }
        drop(hosts);
        if self.exchange.is_some() {
            let memory = self.memory();
            self.exchange.iter_mut().for_each(|exchange| exchange.on_memory(memory));
        }
        if self.memory() > self.most_memory {
            self.make_room(findings);
        }
    }

    /// The memory of all connections, in bytes.
    fn memory(&self) -> usize {
        self.shards.iter().map(Shard::memory).sum()
    }

    /// Packs those connections that were silent for longest until a quarter of the memory is free.
    fn pack_silent(&mut self) {
        let shards = self.shards.iter().enumerate();
        let mut silent: Vec<(usize, KeepingCost)> =
            shards.flat_map(|(i, shard)| shard.drowsy().map(move |cost| (i, cost))).collect();
        silent.sort_unstable_by_key(|(_, cost)| (cost.last, cost.first_frame));
        for (i, cost) in silent {
            if self.memory() <= self.most_memory / 4 * 3 {
                break;
            }
            self.shards[i].pack(cost.slot);
        }
    }

    /// Makes room, by packing what is silent if that is enough. If not, closes connections until a quarter of the memory is free:
    /// first those that take up a large part
    /// of it, then those that have ended, and then those that were silent for longest.
    #[cold]
    fn make_room<F: Findings>(&mut self, findings: &mut [F]) {
        self.pack_silent();
        // With less room, the next round would look for silent ones again.
        if self.memory() <= self.most_memory / 8 * 7 {
            return;
        }
        let shards = self.shards.iter().enumerate();
        let mut open: Vec<(usize, KeepingCost)> =
            shards.flat_map(|(i, shard)| shard.keeping_costs().map(move |cost| (i, cost))).collect();
        let large = self.most_memory / LARGE;
        open.sort_unstable_by_key(|(_, cost)| (cost.memory < large, !cost.over, cost.last, cost.first_frame));
        let mut memory = self.memory();
        let enough = open.iter().take_while(|(_, cost)| {
            let more = memory > self.most_memory / 4 * 3;
            memory = memory.saturating_sub(cost.memory);
            more
        });
        let count = enough.count();
        for (i, (shard, findings)) in self.shards.iter_mut().zip(findings).enumerate() {
            let evicted = open[..count].iter().filter(|(of, _)| *of == i);
            shard.evict(evicted.map(|(_, cost)| cost.slot), findings);
        }
    }
}

#[cfg(test)]
mod tests;
