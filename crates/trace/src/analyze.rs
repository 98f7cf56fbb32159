//! Captures in, findings out.
//!
//! Packets are dealt out to shards by their connections, a round of them at a time; while one round
//! is analyzed, shard beside shard, the next is read.
//!
//! ```text
//!           ┌─ read ─┬─ read ──────┬─ read ──────┬─
//! threads ──┤        ├─ 0 1 2 3 … ─┼─ 0 1 2 3 … ─┼─
//!           └        └─ settle ────┴─ settle ────┴─
//! ```
//!
//! What is found does not depend on how many threads there are: shards know nothing of each other while
//! they work; between the rounds, in turn, connections get their numbers, and what was learned of a host
//! becomes known to all.

mod feed;
mod shard;

use crate::finding::{Connection, Retransmission};
use crate::identify::Hosts;
use crate::read::{Clock, Counts, Packet, ReadError, Reader};
pub(crate) use feed::Timed;
use feed::{Feed, Order, Round};
use rayon::ThreadPoolBuilder;
use rayon::iter::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator};
use shard::Shard;
use std::iter;
use std::mem::swap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

/// Parts of the connections that are followed each by itself.
pub(crate) const SHARDS: usize = 8;

/// So many packets are read before `watch` is asked.
const WATCHED: u64 = 4096;

/// How a capture is analyzed.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Senders are taken to be of this profile; `None`: the best of those that are known.
    pub profile: Option<recoup_recovery::Profile>,
    /// A connection that is silent for so long is over.
    pub idle: Duration,
    /// Connections open at once, about; beyond these, some silent for long are let go.
    pub most_connections: usize,
    /// Threads beside the calling one; 0: none.
    pub threads: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            profile: None,
            idle: Duration::from_secs(900),
            most_connections: 2_000_000,
            threads: std::thread::available_parallelism().map_or(1, |n| n.get().saturating_sub(1)),
        }
    }
}

/// Takes in what is found as connections end, in no particular order.
pub trait Findings: Send {
    /// A connection ended, with its retransmissions in the order of their frames.
    fn connection(&mut self, connection: Connection, retransmissions: &[Retransmission]);
}

/// Keeps all: for captures whose findings fit into memory.
#[derive(Debug, Default)]
pub struct Kept {
    /// Connections, in no order.
    pub connections: Vec<Connection>,
    /// Retransmissions, in no order.
    pub retransmissions: Vec<Retransmission>,
}

impl Kept {
    /// Puts both into order: connections by number, retransmissions by frame.
    pub fn sort(&mut self) {
        self.connections.sort_by_key(|c| c.id);
        self.retransmissions.sort_by_key(|r| r.frame);
    }
}

impl Findings for Kept {
    fn connection(&mut self, connection: Connection, retransmissions: &[Retransmission]) {
        self.connections.push(connection);
        self.retransmissions.extend_from_slice(retransmissions);
    }
}

/// Analyzes a whole capture, on as many threads as the settings say. Packets that a capture holds a little
/// out of order are put into the order of their times; where its clock was set back, time goes on all the
/// same, and a single stamp far off its neighbours' does not count ([`Clock`]).
///
/// `watch` is called every few thousand packets: it may show [`Reader::taken`], and by returning `false`
/// ends the reading; what was read till then is analyzed. Each of the findings returned is of some of the
/// connections.
///
/// # Errors
/// Those of [`Reader::finish`].
pub fn analyze<F: Findings>(
    mut reader: Reader<'_>,
    settings: &Settings,
    findings: impl Fn() -> F,
    mut watch: impl FnMut(&Reader<'_>) -> bool + Send,
) -> Result<(Counts, Vec<F>), ReadError> {
    let mut count = 0_u64;
    let packets = iter::from_fn(|| {
        let asked = count.is_multiple_of(WATCHED);
        count += 1;
        if asked && !watch(&reader) {
            return None;
        }
        reader.next().copied()
    });
    let (clock, found) = follow_timed(packets.fuse(), settings, findings);
    let mut counts = reader.stop()?;
    counts.clock = clock;
    Ok((counts, found))
}

/// Analyzes packets, as [`analyze`] does those of a capture. Their frames are to rise.
pub fn follow<F: Findings>(
    packets: impl Iterator<Item = Packet> + Send,
    settings: &Settings,
    findings: impl Fn() -> F,
) -> Vec<F> {
    follow_timed(packets, settings, findings).1
}

/// The same, with what was odd about their stamps.
fn follow_timed<F: Findings>(
    packets: impl Iterator<Item = Packet> + Send,
    settings: &Settings,
    findings: impl Fn() -> F,
) -> (Clock, Vec<F>) {
    let hosts = Arc::default();
    let shards = (0..SHARDS).map(|_| Shard::new(settings, &hosts, findings()));
    let mut all = Shards {
        shards: shards.collect(),
        hosts,
        numbered: 0,
    };
    // Without threads, as where there are none to be had, it takes longer.
    let threads = (settings.threads > 0)
        .then(|| ThreadPoolBuilder::new().num_threads(settings.threads + 1))
        .and_then(|pool| pool.build().ok());
    let clock = match threads {
        Some(pool) => pool.install(|| all.follow(packets, true)),
        None => all.follow(packets, false),
    };
    let found = all.shards.into_iter().map(Shard::into_findings).collect();
    (clock, found)
}

/// All shards, and what is common to them.
#[derive(Debug)]
struct Shards<F> {
    shards: Vec<Shard<F>>,
    hosts: Arc<RwLock<Hosts>>,
    /// Connections that have their numbers.
    numbered: u64,
}

impl<F: Findings> Shards<F> {
    /// Round after round; `beside`: reading and the shards beside each other. Returns what was odd about
    /// the stamps.
    fn follow(&mut self, packets: impl Iterator<Item = Packet> + Send, beside: bool) -> Clock {
        let mut feed = Feed::new(packets);
        let (mut read, mut coming) = (Round::default(), Round::default());
        let mut more = feed.fill(&mut coming);
        while more {
            swap(&mut read, &mut coming);
            if beside {
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
            shard.take(&[], Order::Last, read.latest);
        }
        self.settle();
        if beside {
            self.shards.par_iter_mut().for_each(Shard::finish);
        } else {
            self.shards.iter_mut().for_each(Shard::finish);
        }
        feed.clock
    }

    /// Between two rounds: gives the connections that began in the last one their numbers, in the order
    /// of their first packets, and all shards what each learned.
    fn settle(&mut self) {
        let mut frames: Vec<u64> = self.shards.iter().flat_map(Shard::newborn).collect();
        frames.sort_unstable();
        let first = self.numbered;
        self.numbered += frames.len() as u64;
        let number = |frame| first + frames.partition_point(|&other| other < frame) as u64;
        let mut hosts = self.hosts.write().unwrap_or_else(PoisonError::into_inner);
        for shard in &mut self.shards {
            shard.number(number);
            for (host, scores) in shard.notes() {
                hosts.note(host, &scores);
            }
        }
    }
}

#[cfg(test)]
mod tests;
