//! A policer on the path: what exceeded a rate was dropped, not queued.
//!
//! **Model**: each connection meets a token bucket of its own ([`Bucket`]), which is full at its first packet.
//!
//! **Rate and burst** (Flach et al., "An Internet-Wide Analysis of Traffic Policing", SIGCOMM 2016, §3.1): a policer drops when
//! its bucket is empty. So what passed between the first and the last loss of a connection arrived at the rate of its tokens, and
//! the burst is what the bucket must have held to be empty at the first loss.
//!
//! **Believed** if the packets of the capture, put through the bucket, find it empty where they were lost
//! (`LEAST_EXPLAINED`) and not where they arrived (`MOST_CONTRADICTED`), and chance would put the losses there once in a
//! thousand times: the trials are runs of losses, as for the limit of a queue.
//!
//! **Not seen**: a policer that seldom dropped anything (`FEWEST`); one whose bucket serves several connections at once, or
//! whose rate changes; one behind a queue that drops first.

use crate::bottleneck::binomial_tail;
use crate::transmission::{Fate, Transmission};
use recoup_path::{Bucket, Policer};
use recoup_units::{BitRate, Instant};

/// A connection with fewer losses shows no rate.
const FEWEST: usize = 15;

/// The least share of losses that met an empty bucket.
const LEAST_EXPLAINED: f64 = 0.8;

/// The largest share of arrivals that met an empty bucket.
const MOST_CONTRADICTED: f64 = 0.05;

/// How often chance may show a policer where there is none.
const SIGNIFICANCE: f64 = 1e-3;

/// An error of the level, in packets: the capture's clock, and packets between it and the policer.
const TOLERANCE: f64 = 2.0;

/// The policer that connections of one path show, each given by its transmissions in the order of sending.
pub fn infer(connections: &[&[Transmission]]) -> Option<Policer> {
    let shown: Vec<&[Transmission]> =
        connections.iter().copied().filter(|sent| losses(sent).count() >= FEWEST).collect();
    let rate = median(shown.iter().filter_map(|sent| rate_of(sent)).collect())?;
    let rate = BitRate::from_bits_per_second(rate)?;
    let burst = median(shown.iter().filter_map(|sent| burst_of(sent, rate)).collect())?;
    let policer = Policer { rate, burst };
    let mut evidence = Evidence::default();
    for sent in &shown {
        evidence.add(policer, sent);
    }
    evidence.is_convincing().then_some(policer)
}

fn losses(sent: &[Transmission]) -> impl Iterator<Item = (usize, &Transmission)> {
    sent.iter().enumerate().filter(|(_, one)| one.fate == Fate::Lost)
}

fn passed(sent: &[Transmission]) -> u64 {
    sent.iter().filter(|one| one.arrival().is_some()).map(|one| u64::from(one.ip_len)).sum()
}

/// The rate between the first and the last loss, in bit/s.
fn rate_of(sent: &[Transmission]) -> Option<u64> {
    let (first, begin) = losses(sent).next()?;
    let (last, end) = losses(sent).last()?;
    let took = end.sent.nanos_since(begin.sent);
    let bits = u128::from(passed(&sent[first..last])) * 8_000_000_000;
    u64::try_from(bits.checked_div(u128::from(took))?).ok().filter(|rate| *rate > 0)
}

/// The largest burst with which the first packet that was lost meets too few tokens, in bytes; at least that packet.
fn burst_of(sent: &[Transmission], rate: BitRate) -> Option<u64> {
    let (first, lost) = losses(sent).next()?;
    let len = u64::from(lost.ip_len);
    let level = |burst| levels(Policer { rate, burst }, &sent[..=first]).last().map_or(0.0, |(_, level)| level);
    let (mut fits, mut too_large) = (len, passed(&sent[..first]).max(len) + len);
    while too_large - fits > 1 {
        let burst = fits.midpoint(too_large);
        if level(burst) < len as f64 { fits = burst } else { too_large = burst }
    }
    Some(fits)
}

fn median(mut values: Vec<u64>) -> Option<u64> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

/// The level of the bucket that each transmission met, in bytes. By an error of the capture it may be below 0, where a [`Bucket`]
/// never is. Packets that arrived passed it. A loss shows that it was lower than the
/// packet, an arrival that it was not, whatever clocks say.
fn levels(policer: Policer, sent: &[Transmission]) -> impl Iterator<Item = (&Transmission, f64)> {
    let per_nano = policer.rate.bits_per_second() as f64 / 8e9;
    let mut level = policer.burst as f64;
    let mut counted = sent.first().map_or(Instant::ZERO, |first| first.sent);
    sent.iter().map(move |one| {
        level = (level + one.sent.nanos_since(counted) as f64 * per_nano).min(policer.burst as f64);
        counted = counted.max(one.sent);
        let (met, len) = (level, f64::from(one.ip_len));
        level = match one.fate {
            // A debt beyond the tolerance is a contradiction, not a debt.
            Fate::Arrived(_) => (level - len).max(-len * TOLERANCE),
            Fate::Lost => level.min(len),
            Fate::Unknown => level,
        };
        (one, met)
    })
}

/// Whether a packet finds too little at this level.
fn is_empty(level: f64, len: u32) -> bool {
    level < f64::from(len) * (1.0 + TOLERANCE)
}

/// What speaks for a policer, and against it.
#[derive(Debug, Default)]
struct Evidence {
    packets: usize,
    empty: usize,
    lost: usize,
    explained: usize,
    arrived: usize,
    contradicted: usize,
    runs: usize,
    explained_runs: usize,
}

impl Evidence {
    fn add(&mut self, policer: Policer, sent: &[Transmission]) {
        let mut is_run = false;
        for (one, level) in levels(policer, sent) {
            let is_empty = is_empty(level, one.ip_len);
            match one.fate {
                Fate::Unknown => continue,
                Fate::Lost => {
                    self.lost += 1;
                    self.explained += usize::from(is_empty);
                    self.runs += usize::from(!is_run);
                    self.explained_runs += usize::from(!is_run && is_empty);
                    is_run = true;
                }
                Fate::Arrived(_) => {
                    self.arrived += 1;
                    self.contradicted += usize::from(level < f64::from(one.ip_len) * (1.0 - TOLERANCE));
                    is_run = false;
                }
            }
            self.packets += 1;
            self.empty += usize::from(is_empty);
        }
    }

    fn is_convincing(&self) -> bool {
        let share = |part: usize, all: usize| part as f64 / all.max(1) as f64;
        share(self.explained, self.lost) >= LEAST_EXPLAINED
            && share(self.contradicted, self.arrived) <= MOST_CONTRADICTED
            && binomial_tail(self.runs, self.explained_runs, share(self.empty, self.packets)) <= SIGNIFICANCE
    }
}

/// Which transmissions of a connection the policer dropped.
pub fn dropped(policer: Policer, sent: &[Transmission]) -> Vec<bool> {
    levels(policer, sent).map(|(one, level)| one.fate == Fate::Lost && is_empty(level, one.ip_len)).collect()
}

/// The policer that a connection met.
#[derive(Clone, Debug)]
pub(crate) struct Policing {
    policer: Policer,
    /// When the bucket was full.
    began: Instant,
    /// For each transmission of the capture: the level that it met, in bytes, and whether it was too low for a lost one.
    met: Vec<(f64, bool)>,
}

impl Policing {
    pub fn new(policer: Policer, all: &[Transmission]) -> Self {
        let met = levels(policer, all).map(|(_, level)| level).zip(dropped(policer, all)).collect();
        Self { policer, began: all.first().map_or(Instant::ZERO, |first| first.sent), met }
    }

    /// Whether the policer dropped this transmission of the capture.
    pub fn dropped(&self, index: usize) -> bool {
        self.met[index].1
    }

    /// The bucket of a rerun, full.
    pub fn bucket(&self) -> Bucket {
        Bucket::new(self.policer)
    }

    /// Whether a packet of a rerun passes. One that meets as much as its counterpart in the capture did, at the same time, has
    /// its fate: `recorded` is its index, and whether it arrived. Elsewhere the level decides.
    pub fn passes(&self, bucket: &mut Bucket, at: Instant, bytes: u32, recorded: Option<(usize, bool)>) -> bool {
        let level = bucket.level(Instant::ZERO.plus_nanos(at.nanos_since(self.began))) as f64;
        let is_same = |index: usize| (level - self.met[index].0).abs() < f64::from(bytes) * TOLERANCE;
        let recorded = recorded.filter(|(index, _)| is_same(*index)).map(|(_, arrived)| arrived);
        let passes = recorded.unwrap_or(level >= f64::from(bytes));
        if passes {
            bucket.take(bytes);
        } else {
            bucket.lower_to(bytes.into());
        }
        passes
    }
}

#[cfg(test)]
mod tests;
