//! The limit of the queue, from the backlog that each packet met.
//!
//! The model with an unlimited queue is fed with the packets that arrived; packets that were lost did not join it.
//! So it has the backlog of the real queue, and every packet met a known one. A drop-tail queue of `n` packets
//! accepts at `n − 1` waiting packets and drops at `n`. The limit is the one that sets most losses apart: losses
//! at or above it count for it, and arrivals at or above it against it.
//!
//! Losses by chance do not prefer a large backlog. So a limit is believed only if chance would put this many of
//! the losses above it once in a thousand times (a binomial test). Trials are the runs of consecutive
//! losses, because channels lose packets in bursts: a run counts once, wherever its packets met the queue.

use super::{Backlog, Fifo};
use crate::transmission::{Fate, Transmission};
use recoup_path::Queue;
use recoup_units::{BitRate, Instant};

/// How often chance may show a limit where there is none.
const SIGNIFICANCE: f64 = 1e-3;
pub(super) struct QueueEstimate {
    pub limit: Queue,
    /// The largest backlog at which a packet was accepted.
    pub largest: Backlog,
}

/// A packet that could have been dropped: the transmitter was not idle.
#[derive(Clone, Copy)]
struct Met {
    /// The backlog with the packet accepted: packets, bytes.
    level: [u64; 2],
    is_lost: bool,
    /// The first of a run of losses.
    begins_run: bool,
}

/// A limit and what speaks for it.
struct Limit {
    /// The smallest level that is too much.
    level: u64,
    /// Losses at or above it, less arrivals.
    score: i64,
}

/// The limit of a queue in front of a transmitter of `rate`.
pub(super) fn estimate(connections: &[&[Transmission]], rate: BitRate) -> QueueEstimate {
    let mut met = Vec::new();
    let mut largest = Backlog::default();
    for transmissions in connections {
        let mut is_run = false;
        for (transmission, backlog, departure) in backlogs(transmissions, rate) {
            let is_lost = transmission.fate == Fate::Lost;
            if departure.is_some() {
                largest = largest.max(backlog);
            }
            if transmission.fate != Fate::Unknown {
                met.push(Met {
                    level: [u64::from(backlog.packets) + 1, backlog.bytes + u64::from(transmission.ip_len)],
                    is_lost,
                    begins_run: is_lost && !is_run,
                });
            }
            is_run = is_lost;
        }
    }
    let [packets, bytes] = [0, 1].map(|unit| limit(&mut met, unit));
    let limit = match (packets, bytes) {
        // Packets are the usual unit; most packets are equally long, and then both fit.
        (Some(packets), bytes) if bytes.as_ref().is_none_or(|bytes| bytes.score <= packets.score) => {
            Queue::Packets(u32::try_from(packets.level - 1).unwrap_or(u32::MAX).max(1))
        }
        (_, Some(bytes)) => Queue::Bytes(bytes.level - 1),
        (_, None) => Queue::Unlimited,
    };
    QueueEstimate { limit, largest }
}

/// The backlog that each transmission met and its departure, if it arrived.
pub(super) fn backlogs(
    transmissions: &[Transmission],
    rate: BitRate,
) -> impl Iterator<Item = (&Transmission, Backlog, Option<Instant>)> {
    let mut fifo = Fifo::new(rate, Queue::Unlimited);
    transmissions.iter().map(move |transmission| {
        let backlog = fifo.found_by(transmission.sent, transmission.ip_len);
        let arrived = matches!(transmission.fate, Fate::Arrived(_));
        let departure = arrived.then(|| fifo.arrive(transmission.sent, transmission.ip_len)).flatten();
        (transmission, backlog, departure)
    })
}

/// Whether a queue with this backlog drops a packet. One packet less is full too: the model's clock may
/// be a packet late.
pub(super) fn is_full(queue: Queue, backlog: Backlog, bytes: u32) -> bool {
    let packets = backlog.packets as usize + 1;
    !queue.admits(packets, backlog.bytes + u64::from(bytes), bytes)
}

/// The limit in one unit.
fn limit(met: &mut [Met], unit: usize) -> Option<Limit> {
    met.sort_by_key(|met| std::cmp::Reverse(met.level[unit]));
    let runs = met.iter().filter(|met| met.begins_run).count();
    let (mut lost, mut arrived, mut runs_above) = (0_i64, 0_i64, 0_usize);
    let mut best: Option<(Limit, usize, usize)> = None;
    for (index, packet) in met.iter().enumerate() {
        if packet.is_lost {
            lost += 1
        } else {
            arrived += 1
        }
        runs_above += usize::from(packet.begins_run);
        let level = packet.level[unit];
        let next = met.get(index + 1).map(|next| next.level[unit]);
        let score = lost - arrived;
        // The largest level that explains as much: nothing was lost below it.
        let is_better = best.as_ref().is_none_or(|(best, ..)| score > best.score);
        if next != Some(level) && is_better {
            best = Some((Limit { level, score }, index + 1, runs_above));
        }
    }
    let (limit, above, runs_above) = best?;
    let share = above as f64 / met.len() as f64;
    let is_limit = limit.score > 0 && limit.level > 1 && binomial_tail(runs, runs_above, share) <= SIGNIFICANCE;
    is_limit.then_some(limit)
}

/// The probability of at least `least` successes in `trials` of probability `p`.
pub(crate) fn binomial_tail(trials: usize, least: usize, p: f64) -> f64 {
    if least == 0 {
        return 1.0;
    }
    let choose = |k: f64| {
        let n = trials as f64;
        libm::lgamma(n + 1.0) - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0)
    };
    let (ln_p, ln_q) = (p.max(1e-300).ln(), (1.0 - p).max(1e-300).ln());
    (least..=trials)
        .map(|k| {
            let successes = k as f64;
            (choose(successes) + successes * ln_p + (trials - k) as f64 * ln_q).exp()
        })
        .sum()
}
