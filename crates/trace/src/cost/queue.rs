//! Which lost segments met a full queue.
//!
//! A queue that drops from its end drops only while it is full, and then everything behind it takes longest. So the round
//! trip of a segment that passed just beside a lost one shows what the lost one met:
//!
//! ```text
//! position = (round trip beside the loss - least) / (99th percentile - least)
//!
//! position ≥ 0.85   the queue was full
//! position ≤ 0.7    it was not
//! between           not known
//! ```
//!
//! Beside a loss is the first segment that the receiver reported above the hole (RFC 2018), whose report is never delayed
//! (RFC 5681 §4.2). Without one, the last segment acknowledged before the hole counts, and only as an upper bound: its ACK may
//! have been delayed.
//!
//! Sources: Cen, Cosman and Voelker, "End-to-end differentiation of congestion and wireless losses", IEEE/ACM Transactions
//! on Networking 11(5), 2003 ("Spike" divides the same range at 1/2 and 1/3, of one-way times and for streams that fill no
//! queue themselves); Biaz and Vaidya, "Discriminating congestion losses from wireless losses using inter-arrival times at
//! the receiver", ASSET 1999 (times between arrivals, which a capture at the sender lacks); Sundaresan et al., "TCP
//! Congestion Signatures", IMC 2017 (a flow that fills a queue shows it by the range of its round trips).
//!
//! Limits:
//!
//! - Round trips that vary by less than [`LEAST_SPREAD`] or an eighth of the least one show no queue: a shallow queue.
//! - A queue seems to be full where round trips are longest. To be believed, [`FEWEST_FULL`] segments of the direction must be lost
//!   there: a single random loss may come when a window is largest.
//! - "Not full" is no proof of a random loss: a policer (which has [its own rule](super::policer)) and active queue management
//!   (CoDel, RED) drop before a queue is full.
//! - A random loss while the queue is nearly full counts as a drop by the queue.
//! - A link whose rate changes has no one longest round trip.
//! - Retransmissions that were lost, and losses on the other side of the capture point, are not known.

use crate::finding::{QueueLosses, RttQuantiles};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// From this position on, a queue is full.
const FULL: f64 = 0.85;

/// Up to this position it is not.
const NOT_FULL: f64 = 0.7;

/// Fewer losses with the longest round trips show no full queue.
pub(crate) const FEWEST_FULL: usize = 3;

/// Round trips that vary by less show no queue.
const LEAST_SPREAD: Duration = Duration::from_millis(2);

/// Nor do those that vary by less than this fraction (1/n) of the least one.
const SPREAD_OF_LEAST: u32 = 8;

/// With fewer samples, the range of the round trips is not known.
const FEWEST_SAMPLES: u64 = 10;

/// The round trip of a segment beside a lost one, in µs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RttBeside {
    /// No segment shows it.
    #[default]
    Unknown,
    /// It took this long.
    Exactly(u32),
    /// The receiver may have delayed the ACK: it took at most this long.
    AtMost(u32),
}

/// Counts the losses of a direction by whether their queue was full. `range`: all round trips.
pub(crate) fn count(losses: impl Iterator<Item = RttBeside>, range: Option<&RttQuantiles>) -> QueueLosses {
    let mut found = QueueLosses::default();
    let range = range.filter(|rtt| rtt.samples >= FEWEST_SAMPLES);
    let spread = range.map_or(Duration::ZERO, |rtt| rtt.p99 - rtt.min);
    let varies = range.is_some_and(|rtt| spread >= LEAST_SPREAD.max(rtt.min / SPREAD_OF_LEAST));
    let least = range.map_or(Duration::ZERO, |rtt| rtt.min);
    let position = |micros: u32| {
        let above = Duration::from_micros(micros.into()).saturating_sub(least);
        above.as_secs_f64() / spread.as_secs_f64()
    };
    let mut full = Vec::new();
    for loss in losses {
        match loss {
            RttBeside::Exactly(micros) | RttBeside::AtMost(micros) if varies && position(micros) <= NOT_FULL => {
                found.not_full += 1;
            }
            RttBeside::Exactly(micros) if varies && position(micros) >= FULL => full.push(micros),
            _ => found.unknown += 1,
        }
    }
    if full.len() < FEWEST_FULL {
        found.unknown += full.len() as u64;
        return found;
    }
    found.full = full.len() as u64;
    let middle = full.len() / 2;
    let (_, median, _) = full.select_nth_unstable(middle);
    found.full_rtt = Some(Duration::from_micros((*median).into()));
    found
}

#[cfg(test)]
mod tests;
