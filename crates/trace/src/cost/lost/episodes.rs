//! Time lost by each episode of recovery.
//!
//! An episode begins with a retransmission. It ends when `snd_una` passes what was `snd_nxt` at that
//! retransmission. Later retransmissions until then belong to it; the next one begins another episode.
//!
//! The sender decides when that is. Away from it, the ACK that ends the episode passes first and the sender hears it later. What
//! the sender sent meanwhile passes after the ACK, and belongs to the episode.
//!
//! ```text
//! lost = end - max(sent + RTT, last advance)     sent: first transmission of the last byte before snd_nxt
//! ```
//!
//! `last advance` is the last ACK before the episode that advanced `snd_una`: until then, nothing waited. The
//! RTT is the moving average when the episode began. Away from the sender, an ACK reaches the sender later
//! than the capture point by a time that both terms contain, so the difference holds at every capture point.
//!
//! Where the receiver reported that last byte above a hole, the report is when its ACK would have come: that
//! takes the place of `sent + RTT`. Where no report preceded it, and the hole had been filled before, the ACK
//! came when it would have: nothing is lost.
//!
//! `last byte before snd_nxt` leaves out what was sent after the ACK of the first byte in flight was [late](super::delays):
//! the hole had been open before.
//!
//! Without the receiver's packets, nothing shows when data was acknowledged. Then no episode has a cost, unless the capture
//! begins with it and holds nothing else of the sender.
//!
//! The time recovering comes from the [division](crate::cost::division) of the direction's life.
//!
//! Limits:
//!
//! - An episode that `snd_una` never passes lasts until the connection's last packet.
//! - What an episode costs afterwards, because the congestion window is smaller, does not count.

use crate::finding::{Cause, EpisodeCost};
use recoup_units::{Instant, Offset};
use std::{iter::Peekable, time::Duration, vec::IntoIter};

/// A packet may come sooner by this fraction (1/n) of the round trip to its sender.
const JITTER: u32 = 16;

/// A retransmission, and the repair of what was sent before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Repair {
    /// When it was sent.
    pub at: Instant,
    /// Its first byte.
    pub start: Offset,
    /// `snd_nxt` when it was sent.
    pub nxt: Offset,
    /// An earlier one had not been repaired when it was sent.
    pub within: bool,
    /// When the ACK of everything sent before it was due.
    pub all_due: Instant,
    /// When that was acknowledged.
    pub until: Instant,
    /// Somebody waited for the answer: nobody does for that to a FIN, with or without the last message of TLS, from a peer
    /// that has closed or is gone.
    pub is_awaited: bool,
    /// The time that its sender was recovering, if the recovery began with it.
    pub recovering: Option<Duration>,
}

/// The episodes of one direction, in order.
#[derive(Debug)]
pub(crate) struct EpisodeCosts {
    /// The number of the first retransmission, and the cost.
    episodes: Peekable<IntoIter<(usize, EpisodeCost)>>,
    next: usize,
}

impl EpisodeCosts {
    /// Divides a direction's retransmissions, in order. The causes are still unknown. `opened`: the end of the
    /// handshake, which takes the time before. `lag`: the round trip between the capture point and the sender.
    pub fn of(retransmissions: impl Iterator<Item = Repair>, opened: Instant, lag: Duration) -> Self {
        let mut episodes: Vec<(usize, EpisodeCost)> = Vec::new();
        let mut end = opened;
        let mut nxt = Offset(0);
        // Packets take their way longer or shorter than others.
        let unheard = lag - lag / JITTER;
        for (number, repair) in retransmissions.enumerate() {
            let Repair { at, until, within, .. } = repair;
            let goes_on = at < end + unheard || (at == end && within) || (!lag.is_zero() && repair.start < nxt);
            match episodes.last_mut() {
                Some((_, cost)) if goes_on => {
                    cost.segments = cost.segments.saturating_add(1);
                    cost.recovering += repair.recovering.unwrap_or_default();
                }
                _ => {
                    let lost = match repair.is_awaited {
                        true => until.since(repair.all_due.max(end).min(until)),
                        false => Duration::ZERO,
                    };
                    let cost = EpisodeCost {
                        recovering: repair.recovering.unwrap_or_default(),
                        lost,
                        detection: None,
                        segments: 1,
                        cause: Cause::Unknown,
                    };
                    episodes.push((number, cost));
                    end = until.max(end);
                    nxt = repair.nxt;
                }
            }
        }
        Self { episodes: episodes.into_iter().peekable(), next: 0 }
    }

    /// Cost of the episode that begins with the next retransmission, if one does.
    pub fn next(&mut self) -> Option<EpisodeCost> {
        let number = self.next;
        self.next += 1;
        let begins = self.episodes.next_if(|(first, _)| *first == number);
        begins.map(|(_, cost)| cost)
    }
}
