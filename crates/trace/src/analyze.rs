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
//! | `feed` | divides packets among the shards, with times that never go back |
//! | `shard` | analyzes the connections of one shard |

mod feed;
mod shard;

use crate::explain::provisional::ChangedHosts;
pub use crate::finding::Findings;
use crate::finding::{Connection, ConnectionKey, Retransmission, Revision};
use crate::follow::table::{KeepingCost, Separation};
use crate::hosts::{Hosts, KnownHosts};
use crate::read::{CapturedPacket, ClockAnomalies, Counts, ReadError, Reader};
use feed::{PacketFeed, Round, RoundOrder};
use rayon::ThreadPoolBuilder;
use rayon::iter::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator};
use shard::Shard;
use std::collections::HashMap;
use std::iter;
use std::mem::{swap, take};
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

/// Shards that the connections are divided among.
const SHARDS: usize = 8;

/// A connection that takes up more than this fraction (1/n) of the memory is large.
const LARGE: usize = 8;

/// Packets read between two calls of `watch`.
const PACKETS_PER_WATCH: u64 = 4096;

/// One inseparable connection for so many that can be told apart makes a merged file unfit.
const MOST_INSEPARABLE: u64 = 8;

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
    /// more are closed, then those that have ended, and then those that were silent for longest. The whole analysis uses up
    /// to 1.7 times as much.
    pub most_memory: usize,
    /// Threads besides the calling one; 0: none.
    pub threads: usize,
    /// What is known of hosts beforehand, for example from an earlier capture.
    pub hosts: Arc<Hosts>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            profile: None,
            idle: Duration::from_secs(900),
            most_connections: 2_000_000,
            most_memory: 192 << 20,
            threads: std::thread::available_parallelism().map_or(1, |n| n.get().saturating_sub(1)),
            hosts: Arc::default(),
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

/// What [`analyze`] returns.
#[derive(Debug)]
pub struct Analysis<F> {
    /// Frames and packets read, and frames that could not be read.
    pub counts: Counts,
    /// Each of these covers a part of the connections.
    pub findings: Vec<F>,
    /// What the capture showed of hosts, without [`Settings::hosts`].
    pub hosts: Hosts,
}

/// Analyzes a whole capture, on as many threads as the settings say. Packets that are slightly out
/// of order are sorted by time. Where the capture's clock was set back, time continues from there.
/// A single timestamp far from its neighbours is ignored ([`ClockAnomalies`]).
///
/// `watch` is called every few thousand packets, for example to show [`Reader::taken`]. If it
/// returns `false`, reading stops, and what was read is analyzed.
///
/// # Errors
/// Those of [`Reader::finish`]. [`ReadError::Merged`] if the file is merged from captures of several
/// points that cannot be told apart.
pub fn analyze<F: Findings>(
    mut reader: Reader<'_>,
    settings: &Settings,
    findings: impl Fn() -> F,
    mut watch: impl FnMut(&Reader<'_>) -> bool + Send,
) -> Result<Analysis<F>, ReadError> {
    let mut count = 0_u64;
    let packets = iter::from_fn(|| {
        let asked = count.is_multiple_of(PACKETS_PER_WATCH);
        count += 1;
        if asked && !watch(&reader) {
            return None;
        }
        reader.next_or_message().copied()
    });
    let followed = follow_timed(packets.fuse(), settings, findings);
    let name = reader.name().to_owned();
    let mut counts = reader.stop()?;
    let Separation {
        apart,
        inseparable,
        first,
    } = followed.separation;
    if let Some(first) = first {
        if inseparable * MOST_INSEPARABLE >= apart {
            return Err(ReadError::Merged { file: name, first });
        }
        counts.inseparable = Some((inseparable, first));
    }
    counts.clock = followed.clock;
    Ok(Analysis {
        counts,
        findings: followed.found,
        hosts: followed.hosts,
    })
}

/// Analyzes packets as [`analyze`] does those of a capture. Their frame numbers must increase.
/// Connections whose capture points cannot be told apart are counted, but have no retransmissions.
pub fn follow<F: Findings>(
    packets: impl Iterator<Item = CapturedPacket> + Send,
    settings: &Settings,
    findings: impl Fn() -> F,
) -> Vec<F> {
    follow_timed(packets, settings, findings).found
}

/// The findings, what limits them, and what was learned of hosts.
struct Followed<F> {
    found: Vec<F>,
    hosts: Hosts,
    clock: ClockAnomalies,
    separation: Separation,
}

/// The same; also returns what limits the findings, and what was learned of hosts.
fn follow_timed<F: Findings>(
    packets: impl Iterator<Item = CapturedPacket> + Send,
    settings: &Settings,
    findings: impl Fn() -> F,
) -> Followed<F> {
    let hosts = Arc::new(RwLock::new(KnownHosts::new(Arc::clone(&settings.hosts))));
    let shards = (0..SHARDS).map(|_| Shard::new(settings, &hosts, findings()));
    let mut all = Shards {
        shards: shards.collect(),
        hosts,
        numbered: 0,
        most_memory: settings.most_memory,
    };
    // Without threads, or if the system provides none, the calling thread does everything.
    let threads = (settings.threads > 0)
        .then(|| ThreadPoolBuilder::new().num_threads(settings.threads + 1))
        .and_then(|pool| pool.build().ok());
    let clock = match threads {
        Some(pool) => pool.install(|| all.follow(packets, true)),
        None => all.follow(packets, false),
    };
    let mut separation = Separation::default();
    all.shards
        .iter()
        .for_each(|shard| separation.merge(&shard.separation()));
    let found = all.shards.into_iter().map(Shard::into_findings).collect();
    let mut hosts = all.hosts.write().unwrap_or_else(PoisonError::into_inner);
    Followed {
        separation,
        found,
        hosts: take(&mut hosts.learned),
        clock,
    }
}

/// All shards, and what they share.
#[derive(Debug)]
struct Shards<F> {
    shards: Vec<Shard<F>>,
    hosts: Arc<RwLock<KnownHosts>>,
    /// Connections that have a number.
    numbered: u64,
    /// Bytes that the connections may take up.
    most_memory: usize,
}

impl<F: Findings> Shards<F> {
    /// Analyzes round after round. `in_parallel`: on several threads. Returns the anomalies of the
    /// timestamps.
    fn follow(
        &mut self,
        packets: impl Iterator<Item = CapturedPacket> + Send,
        in_parallel: bool,
    ) -> ClockAnomalies {
        let mut feed = PacketFeed::new(packets);
        let (mut read, mut coming) = (Round::default(), Round::default());
        let mut more = feed.fill(&mut coming);
        while more {
            swap(&mut read, &mut coming);
            if in_parallel {
                let analyze = || {
                    let both = self.shards.par_iter_mut().zip(&read.parts);
                    both.for_each(|(shard, part)| shard.take(part, read.order, read.latest));
                };
                (more, ()) = rayon::join(|| feed.fill(&mut coming), analyze);
            } else {
                for (shard, part) in self.shards.iter_mut().zip(&read.parts) {
                    shard.take(part, read.order, read.latest);
                }
                more = feed.fill(&mut coming);
            }
            self.settle();
        }
        for shard in &mut self.shards {
            shard.take(&[], RoundOrder::Last, read.latest);
        }
        self.settle();
        if in_parallel {
            self.shards.par_iter_mut().for_each(Shard::finish);
        } else {
            self.shards.iter_mut().for_each(Shard::finish);
        }
        self.learn();
        self.shards.iter_mut().for_each(Shard::pass_on_held);
        feed.clock
    }

    /// Between two rounds: numbers new connections in the order of their first packets, and
    /// collects what each shard learned of hosts.
    fn settle(&mut self) {
        let mut frames: Vec<u64> = self.shards.iter().flat_map(Shard::unnumbered).collect();
        frames.sort_unstable();
        let first = self.numbered;
        self.numbered += frames.len() as u64;
        let number = |frame| first + frames.partition_point(|&other| other < frame) as u64;
        self.shards
            .iter_mut()
            .for_each(|shard| shard.number(number));
        self.learn();
    }

    /// Collects what each shard learned of hosts, and revises the findings that this changes.
    fn learn(&mut self) {
        let mut hosts = self.hosts.write().unwrap_or_else(PoisonError::into_inner);
        let mut changed = ChangedHosts::default();
        hosts.forget_changes();
        for shard in &mut self.shards {
            shard.pass_on_host_facts(&mut hosts, &mut changed);
        }
        if !changed.is_empty() {
            self.shards
                .iter_mut()
                .for_each(|shard| shard.revise(&changed));
        }
        drop(hosts);
        if self.memory() > self.most_memory {
            self.make_room();
        }
    }

    /// The memory of all connections, in bytes.
    fn memory(&self) -> usize {
        self.shards.iter().map(Shard::memory).sum()
    }

    /// Closes connections until a quarter of the memory is free: first those that take up a large part
    /// of it, then those that have ended, and then those that were silent for longest.
    #[cold]
    fn make_room(&mut self) {
        let shards = self.shards.iter().enumerate();
        let mut open: Vec<(usize, KeepingCost)> = shards
            .flat_map(|(i, shard)| shard.keeping_costs().map(move |cost| (i, cost)))
            .collect();
        let large = self.most_memory / LARGE;
        open.sort_unstable_by_key(|(_, cost)| {
            (cost.memory < large, !cost.over, cost.last, cost.first_frame)
        });
        let mut memory = self.memory();
        let enough = open.iter().take_while(|(_, cost)| {
            let more = memory > self.most_memory / 4 * 3;
            memory = memory.saturating_sub(cost.memory);
            more
        });
        let count = enough.count();
        for (i, shard) in self.shards.iter_mut().enumerate() {
            let evicted = open[..count].iter().filter(|(of, _)| *of == i);
            shard.evict(evicted.map(|(_, cost)| cost.slot));
        }
    }
}

#[cfg(test)]
mod tests;
