//! What each episode of recovery cost.
//!
//! An episode begins with a retransmission. It ends when `snd_una` passes what was `snd_nxt` at that
//! retransmission. Later retransmissions until then belong to it; the next one begins another episode.
//!
//! ```text
//! lost       = end - max(sent + RTT, last advance)     sent: first transmission of the last byte before snd_nxt
//! recovering                                           as `division` divides the sender's time
//! ```
//!
//! `last advance` is the last ACK before the episode that advanced `snd_una`: until then, nothing waited. The
//! RTT is the moving average when the episode began. Away from the sender, an ACK reaches the sender later
//! than the capture point by a time that both terms contain, so the difference holds at every capture point.
//!
//! Limits:
//!
//! - An episode that `snd_una` never passes lasts until the connection's last packet.
//! - What an episode costs afterwards, because the congestion window is smaller, does not count.

use crate::finding::{Cause, EpisodeCost};
use recoup_units::Instant;
use serde::{Deserialize, Serialize};
use std::iter::Peekable;
use std::time::Duration;
use std::vec::IntoIter;

/// When a retransmission was sent, and what its episode is measured by if it begins one.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct EpisodeTimes {
    /// When the ACK of everything sent before it was due.
    pub all_due: Instant,
    /// When the ACK of its first byte was due, but no later than it was sent.
    pub first_due: Instant,
}

/// The episodes of one direction, in order.
#[derive(Debug)]
pub(crate) struct EpisodeCosts {
    /// The number of the first retransmission, and the cost.
    episodes: Peekable<IntoIter<(usize, EpisodeCost)>>,
    next: usize,
}

impl EpisodeCosts {
    /// Divides a direction's retransmissions, in order: when each was sent, when everything sent before it was
    /// acknowledged, the time of the recovery that began with it, and its times. The causes are still unknown.
    pub fn of(
        retransmissions: impl Iterator<Item = (Instant, Instant, Duration, EpisodeTimes)>,
    ) -> Self {
        let mut episodes: Vec<(usize, EpisodeCost)> = Vec::new();
        let mut end = Instant::ZERO;
        for (number, (at, until, recovering, times)) in retransmissions.enumerate() {
            match episodes.last_mut() {
                Some((_, cost)) if at < end => {
                    cost.segments = cost.segments.saturating_add(1);
                    cost.recovering += recovering;
                }
                _ => {
                    let since = |due: Instant| until.since(due.max(end).min(until));
                    let cost = EpisodeCost {
                        recovering,
                        lost: since(times.all_due.max(times.first_due)),
                        segments: 1,
                        cause: Cause::Unknown,
                    };
                    episodes.push((number, cost));
                    end = until.max(end);
                }
            }
        }
        Self {
            episodes: episodes.into_iter().peekable(),
            next: 0,
        }
    }

    /// What the episode costs that begins with the next retransmission, if one does.
    pub fn next(&mut self) -> Option<EpisodeCost> {
        let number = self.next;
        self.next += 1;
        let begins = self.episodes.next_if(|(first, _)| *first == number);
        begins.map(|(_, cost)| cost)
    }
}
