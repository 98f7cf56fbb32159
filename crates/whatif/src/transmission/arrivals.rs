//! When each transmission arrived.
//!
//! The time from a transmission to its ACK is the network's delay and the receiver's. An ACK that covers two full
//! segments, reports data out of order or fills a hole goes at once (RFC 5681 §4.2), so its delay is the network's. Less
//! data in order may wait for the receiver's timer, such as a full segment and the rest of a response: what its ACK took
//! longer than those of its neighbours counts as the receiver's delay, up to [`MOST_ACK_DELAY`].
//!
//! A transmission that later ones overtook was held by the network, for as long as it took longer than its
//! neighbours.

use super::{Fate, Transmission, Transmissions};
use recoup_units::Instant;
use std::time::Duration;

/// The longest time that a receiver delays an ACK (RFC 9293 §3.8.6.3).
pub(crate) const MOST_ACK_DELAY: Duration = Duration::from_millis(500);

/// An ACK that took longer than its neighbours was not delayed by the receiver if the excess is below this.
const LEAST_ACK_DELAY: Duration = Duration::from_millis(4);

/// An ACK of more than a segment, but less than two full ones, waited for the receiver's timer if it took longer than the one
/// before it by this. Linux waits for 40 ms at least (TCP_DELACK_MIN), others for longer; a queue does not grow by as much within
/// a segment.
const LEAST_TIMER: Duration = Duration::from_millis(20);

/// ACK of a transmission.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heard {
    pub at: Instant,
    /// The receiver sent the ACK because of it.
    pub is_trigger: bool,
    /// The receiver must have sent an ACK for it that did not come.
    pub is_lost: bool,
    pub in_order: bool,
}

/// Completes the arrivals. `heard`: what was heard of each transmission; `least`: the smallest round trip.
pub(super) fn complete(mut all: Vec<Transmission>, mut heard: Vec<Option<Heard>>, least: Duration) -> Transmissions {
    find_lost_acks_of_pairs(&all, &mut heard);
    let heard = &heard[..];
    let mut longest_wait = Duration::ZERO;
    let overtaken = overtaken(heard);
    let delays = sure_delays(&all, heard, &overtaken);
    let mut latest = Instant::ZERO;
    for index in 0..all.len() {
        let Some(heard) = heard[index] else {
            continue;
        };
        let sent = all[index].sent;
        let Fate::Arrived(arrival) = &mut all[index].fate else {
            continue;
        };
        let usual = delays.near(index).unwrap_or(least).max(least);
        let took = heard.at.since(sent);
        arrival.in_order = heard.in_order;
        arrival.ack_lost = heard.is_lost;
        if overtaken[index] {
            arrival.held = took.saturating_sub(usual);
            arrival.echo = heard.at;
            arrival.ack = heard.is_trigger.then_some(Duration::ZERO);
            continue;
        }
        if heard.is_trigger {
            // It arrived no earlier than those before it.
            let excess = took.saturating_sub(usual).min(heard.at.since(latest));
            let is_sure = delays.is_sure(index);
            let waited = !is_sure && excess >= LEAST_ACK_DELAY && excess <= MOST_ACK_DELAY;
            let waited = if waited { excess } else { Duration::ZERO };
            arrival.ack = Some(waited);
            arrival.echo = heard.at - waited;
        } else {
            arrival.echo = (sent + usual).max(latest).min(heard.at);
            let waited = heard.at.since(arrival.echo);
            arrival.ack_lost |= waited > MOST_ACK_DELAY;
            if arrival.in_order && !arrival.ack_lost {
                longest_wait = longest_wait.max(waited);
            }
        }
        latest = latest.max(arrival.echo);
    }
    Transmissions { all, longest_wait }
}

/// A receiver acknowledges at least every second full segment in order (RFC 5681 §4.2). Where the path is known to lose
/// ACKs, the missing ACK of such a segment was lost. Otherwise the receiver may have taken several segments as one.
fn find_lost_acks_of_pairs(all: &[Transmission], heard: &mut [Option<Heard>]) {
    if !heard.iter().flatten().any(|heard| heard.is_lost) {
        return;
    }
    let full = full_segment(all);
    let mut waits = false;
    for (sent, heard) in all.iter().zip(heard) {
        let Some(heard) = heard.as_mut().filter(|heard| heard.in_order) else {
            continue;
        };
        let is_missing = waits && !heard.is_trigger && sent.span.len() == full;
        heard.is_lost |= is_missing;
        waits = !heard.is_trigger && !heard.is_lost;
    }
}

/// The bytes of a full segment.
fn full_segment(all: &[Transmission]) -> u64 {
    all.iter().map(|sent| sent.span.len()).max().unwrap_or(0)
}

/// Which transmissions were overtaken by later ones.
fn overtaken(heard: &[Option<Heard>]) -> Vec<bool> {
    let mut earliest_later: Option<Instant> = None;
    let mut overtaken: Vec<bool> = heard
        .iter()
        .rev()
        .map(|heard| {
            let Some(heard) = heard.filter(|heard| heard.is_trigger) else {
                return false;
            };
            let is_overtaken = earliest_later.is_some_and(|later| later < heard.at);
            earliest_later = Some(earliest_later.map_or(heard.at, |later| later.min(heard.at)));
            is_overtaken
        })
        .collect();
    overtaken.reverse();
    overtaken
}

/// Delays of ACKs that the receiver sent at once.
struct SureDelays {
    /// Index of the transmission, and the delay.
    delays: Vec<(usize, Duration)>,
}

/// The transmissions whose ACKs the receiver sent at once: those that complete two full segments without an ACK, or more than
/// one as soon as the one before, those out of order, and those that another one followed so soon that it would have ended the wait.
fn sure_delays(all: &[Transmission], heard: &[Option<Heard>], overtaken: &[bool]) -> SureDelays {
    let mut delays = Vec::new();
    let full = full_segment(all);
    // Bytes in order that wait for an ACK.
    let mut waits = 0;
    for (index, sent) in all.iter().enumerate() {
        let Some(heard) = heard[index] else {
            continue;
        };
        if !heard.is_trigger {
            waits = if heard.in_order && !heard.is_lost { waits + sent.span.len() } else { 0 };
            continue;
        }
        let next = all.get(index + 1).filter(|next| next.arrival().is_some());
        let is_followed = next.is_some_and(|next| next.sent.since(sent.sent) < LEAST_ACK_DELAY);
        let took = heard.at.since(sent.sent);
        let before = delays.last().map_or(took, |(_, before)| *before);
        let ends_wait = waits + sent.span.len() >= 2 * full || (waits > 0 && took < before + LEAST_TIMER);
        let is_sure = (ends_wait || !heard.in_order || is_followed) && !overtaken[index];
        waits = 0;
        if is_sure {
            delays.push((index, took));
        }
    }
    // Without any, the quickest ACKs are the best evidence.
    if delays.is_empty() {
        let triggers = heard.iter().enumerate().filter_map(|(index, heard)| {
            let heard = heard.filter(|heard| heard.is_trigger && !overtaken[index])?;
            Some((index, heard.at.since(all[index].sent)))
        });
        let least = triggers.clone().map(|(_, delay)| delay).min();
        delays.extend(triggers.filter(|(_, delay)| Some(*delay) == least));
    }
    SureDelays { delays }
}

impl SureDelays {
    /// The delay of the nearest ones before and behind, the smaller of both.
    fn near(&self, index: usize) -> Option<Duration> {
        let at = self.delays.partition_point(|(of, _)| *of < index);
        let behind = self.delays.get(at).map(|(_, delay)| *delay);
        let before = at.checked_sub(1).map(|before| self.delays[before].1);
        match (before, behind) {
            (Some(before), Some(behind)) => Some(before.min(behind)),
            (before, behind) => before.or(behind),
        }
    }

    fn is_sure(&self, index: usize) -> bool {
        self.delays.binary_search_by_key(&index, |(of, _)| *of).is_ok()
    }
}
