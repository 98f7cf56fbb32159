//! A policer on the path: a token bucket that lets a burst pass and drops what exceeds its rate.
//!
//! Flach et al., "An Internet-Wide Analysis of Traffic Policing", SIGCOMM 2016, §3.1: losses come when the bucket is
//! empty. So between two losses as much passes as the rate allows, however fast the sender is meanwhile; a burst passed
//! above that rate before the first loss; and no queue grew, which tells a policer from a full buffer.
//!
//! **Deviation**: they put each packet through the bucket. Here the losses alone decide: of each episode the first
//! segment that was lost, and when it was first sent.

use crate::finding::{Policer, Retransmission, Verdict};
use recoup_units::{Instant, Offset};
use recoup_wire::SeqNumber;
use std::time::Duration;

/// Fewer intervals between losses may agree by chance.
const FEWEST: usize = 6;

/// The rate between two losses differs by less than this share from that between the first and the last...
const SAME_RATE: f64 = 0.15;

/// ...for this share of the time.
const MOST_OF_TIME: f64 = 0.8;

/// A smaller bucket looks like a short queue, in bytes.
const LEAST_BURST: f64 = 10_000.0;

/// A queue that held the burst would delay packets for as long as the rate needs for it. Less than this share of it is no
/// queue.
const MOST_QUEUED: f64 = 0.25;

/// How a direction began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beginning {
    /// The initial sequence number.
    pub isn: SeqNumber,
    /// When the first data could be sent.
    pub at: Instant,
    /// The shortest round trip.
    pub rtt: Duration,
}

/// The first loss of an episode.
#[derive(Clone, Copy, Debug)]
struct Loss {
    /// When it was first sent.
    at: Instant,
    /// Bytes of data before it.
    before: f64,
    /// How much longer a round trip took then than the shortest one.
    queued: Duration,
}

/// The policer that a direction passed. `rows`: its retransmissions in the order of sending.
pub(crate) fn find_policer<'a>(rows: impl Iterator<Item = &'a Retransmission>, begin: Beginning) -> Option<Policer> {
    let mut near = Offset::DATA;
    let mut losses = Vec::new();
    for row in rows.filter(|row| row.cost.is_some() && !row.syn) {
        near = row.seq.unwrap(begin.isn, near)?;
        let Some((detection, rtt)) = row.detection.zip(row.rtt).filter(|_| row.verdict == Verdict::Needed) else {
            continue;
        };
        if row.copy == 1 {
            losses.push(Loss {
                at: row.at - detection,
                before: near.since(Offset::DATA) as f64,
                queued: rtt.saturating_sub(begin.rtt),
            });
        }
    }
    of_losses(&losses, begin.at)
}

/// From losses in the order of sending, of data that was sent from `begun` on.
fn of_losses(losses: &[Loss], begun: Instant) -> Option<Policer> {
    let (first, last) = losses.first().zip(losses.last())?;
    if losses.len() <= FEWEST {
        return None;
    }
    let between = |from: Instant, until: Instant| until.since(from).as_secs_f64();
    let time = between(first.at, last.at);
    let rate = (last.before - first.before) / time;
    let same: f64 = losses
        .windows(2)
        .map(|pair| (pair[0], pair[1]))
        .map(|(from, until)| (between(from.at, until.at), until.before - from.before))
        .filter(|(time, bytes)| (bytes / time - rate).abs() <= SAME_RATE * rate)
        .map(|(time, _)| time)
        .sum();
    let burst = first.before - rate * between(begun, first.at);
    let mut queued: Vec<Duration> = losses.iter().map(|loss| loss.queued).collect();
    queued.sort_unstable();
    let queued = queued[queued.len() / 2].max(first.queued).as_secs_f64();
    let is_policer =
        rate > 0.0 && same >= MOST_OF_TIME * time && burst >= LEAST_BURST && queued <= MOST_QUEUED * burst / rate;
    is_policer.then_some(Policer { bits_per_second: (8.0 * rate) as u64, burst: burst as u64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Losses at these times in ms, after so many bytes, with so many ms in a queue.
    fn losses(all: impl Iterator<Item = (u64, f64, u64)>) -> Vec<Loss> {
        let loss =
            |(at, before, queued)| Loss { at: Instant::from_millis(at), before, queued: Duration::from_millis(queued) };
        all.map(loss).collect()
    }

    /// Losses of a policer of 1 MB/s with a bucket of 100 kB, at uneven distances.
    fn policed(queued: u64, burst: f64) -> Vec<Loss> {
        losses((0..10_u64).map(|i| {
            let at = 100 + i * i * 37;
            (at, burst + at as f64 * 1e3, queued)
        }))
    }

    #[test]
    fn a_policer_drops_at_a_constant_rate_after_a_burst() {
        let found = of_losses(&policed(1, 1e5), Instant::ZERO).unwrap();
        assert_eq!((found.bits_per_second, found.burst), (8_000_000, 100_000));
    }

    #[test]
    fn a_full_queue_is_no_policer() {
        assert_eq!(of_losses(&policed(90, 1e5), Instant::ZERO), None);
    }

    #[test]
    fn without_a_burst_nothing_shows_a_bucket() {
        assert_eq!(of_losses(&policed(1, 1e3), Instant::ZERO), None);
    }

    #[test]
    fn few_losses_show_nothing() {
        assert_eq!(of_losses(&policed(1, 1e5)[..FEWEST], Instant::ZERO), None);
        assert_eq!(of_losses(&[], Instant::ZERO), None);
    }

    #[test]
    fn random_losses_are_no_policer() {
        let bytes = [900, 200, 2500, 100, 1700, 300, 2200, 800, 100, 1200];
        let all = bytes.iter().enumerate().scan(2e6, |before, (i, kb)| {
            *before += f64::from(*kb) * 1e3;
            Some((100 + 1000 * i as u64, *before, 1))
        });
        assert_eq!(of_losses(&losses(all), Instant::ZERO), None);
    }
}
