//! The ACKs between the capture point and the sender of the data.
//!
//! ```text
//! sender ◄──────── capture ◄──────── receiver
//!          lag: the round-trip time between the sender and the capture point
//! ```
//! An ACK that passes the capture point reaches the sender later, or never. What the sender sends
//! next passes the capture point a full `lag` after the ACK did.
//!
//! With timestamps, the sender's segments show which ACKs it had. A segment echoes the highest
//! timestamp value that the sender had received in sequence (RFC 7323 §4.3). So of the ACKs that
//! may have changed the echo,
//!
//! - those with lower values had arrived, or were lost and no longer matter;
//! - one with the same value had arrived;
//! - those with higher values had not arrived. If it was past their time, they were held up or lost.
//!
//! An ACK that was lost counts as arrived when a later one does: what it says is no news by then.
//!
//! With or without timestamps, a sender retransmits nothing that it knows to have arrived. So a
//! retransmission shows that no ACK of its last byte had arrived.

use super::tape::{Departure, HeardAck};
use crate::memory::HeapSize;
use recoup_units::{Instant, Offset, Span};
use recoup_wire::{Segment, SeqNumber};
use serde::{Deserialize, Serialize};
use std::{collections::VecDeque, time::Duration};

/// By how much the round-trip time between the capture point and the sender may be overestimated.
const UNCERTAIN: Duration = Duration::from_millis(1);

/// ACKs on their way at once. Beyond, the oldest count as arrived.
const MOST_ON_THE_WAY: usize = 4096;

/// An ACK on its way to the sender.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct PassedAck {
    /// Its time is when it reaches the sender, if it is not held up.
    pub heard: HeardAck,
    pub blocks: [Span; 4],
    /// Its timestamp value and its sequence number, if it carries timestamps.
    pub ts: Option<(u32, SeqNumber)>,
}

/// The ACKs on their way to one sender.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct WayBack {
    lag: Duration,
    acks: VecDeque<PassedAck>,
    /// The highest timestamp that the sender echoed, and what it acknowledged with it.
    latest: Option<(u32, SeqNumber)>,
    /// When the sender sent its latest segment. It had not heard the ACKs still on their way.
    sent_at: Instant,
}

impl WayBack {
    /// Empties the way and sets its round-trip time.
    pub fn begin(&mut self, lag: Duration) {
        self.acks.clear();
        self.latest = None;
        self.sent_at = Instant::ZERO;
        self.lag = lag;
    }

    /// The round-trip time between the capture point and the sender.
    pub fn lag(&self) -> Duration {
        self.lag
    }

    /// The round-trip time is not longer than `lag`.
    pub fn shorten_lag(&mut self, lag: Duration) {
        if !lag.is_zero() {
            self.lag = self.lag.min(lag);
        }
    }

    /// Its memory on the heap, in bytes.
    pub fn memory(&self) -> usize {
        self.acks.heap_size()
    }

    /// Forgets the ACKs, and frees memory beyond `usual` of them.
    pub fn trim(&mut self, usual: usize) {
        self.acks.clear();
        self.acks.shrink_to(usual);
    }

    /// An ACK passed the capture point. Passes on ACKs that are too many to keep.
    pub fn push(&mut self, ack: PassedAck, mut arrive: impl FnMut(PassedAck)) {
        if self.acks.len() >= MOST_ON_THE_WAY
            && let Some(oldest) = self.acks.pop_front()
        {
            arrive(oldest);
        }
        self.acks.push_back(ack);
    }

    /// The sender sent a segment. Passes the ACKs that had reached it by then to `arrive`, in order.
    /// `again`: the end of the segment, if it is a retransmission.
    pub fn on_segment(
        &mut self,
        sent: Departure,
        segment: &Segment,
        again: Option<Offset>,
        mut arrive: impl FnMut(PassedAck),
    ) {
        let at = sent.at;
        let end = again.unwrap_or(Offset(u64::MAX));
        // An ACK may have prompted a retransmission, though the shortest way is not quite known.
        let uncertain = |by: Duration| match again {
            Some(_) => at + by,
            None => at,
        };
        let Some(ts) = segment.options.timestamps else {
            // No echo shows which ACKs had arrived, and few answers come at once.
            let latest = uncertain(UNCERTAIN.max(self.lag / 8));
            return self.arrive_below(latest, end, |mut ack| {
                ack.heard.arrive_by(at);
                arrive(ack);
            });
        };
        let is_new = |(echo, _): (u32, _)| ts.echo.wrapping_sub(echo).cast_signed() >= 0;
        // A segment that was overtaken shows nothing new, and a SYN echoes nothing.
        if ts.echo == 0 || !self.latest.is_none_or(is_new) {
            return;
        }
        let newest = segment.ack;
        // An ACK that arrives counts if the sender had acknowledged all before it by then.
        let acknowledged = self.latest.map_or(newest, |(_, before)| before);
        self.latest = Some((ts.echo, newest));
        let count = self.heard_by(uncertain(UNCERTAIN), ts.echo, acknowledged, end);
        for mut ack in self.acks.drain(..count) {
            ack.heard.arrive_after(self.sent_at);
            ack.heard.arrive_by(at);
            arrive(ack);
        }
        if sent.is_exact {
            self.sent_at = at;
        }
    }

    /// How many of the ACKs the sender had received when it sent a segment that echoes `echo` and
    /// acknowledges `acknowledged`, while it did not know that `end` had arrived.
    fn heard_by(&self, at: Instant, echo: u32, acknowledged: SeqNumber, end: Offset) -> usize {
        let mut count = 0;
        let mut echo_explained = false;
        for (i, ack) in self.acks.iter().enumerate() {
            if ack.heard.cumulative() >= end {
                break;
            }
            let in_time = ack.heard.at() <= at;
            match ack.ts.filter(|_| ack.shows_in_echo(acknowledged)) {
                Some((value, _)) => {
                    let beyond = value.wrapping_sub(echo).cast_signed();
                    if beyond > 0 {
                        break;
                    }
                    if beyond == 0 && echo_explained && !in_time {
                        break;
                    }
                    echo_explained |= beyond == 0;
                }
                None if in_time => {}
                None => break,
            }
            count = i + 1;
        }
        count
    }

    /// Passes on the ACKs below `end` that have had the time to reach the sender by `at`.
    pub fn arrive_below(&mut self, at: Instant, end: Offset, mut arrive: impl FnMut(PassedAck)) {
        while let Some(ack) = self.acks.front()
            && ack.heard.at() <= at
            && ack.heard.cumulative() < end
            && let Some(ack) = self.acks.pop_front()
        {
            arrive(ack);
        }
    }

    /// Passes on all ACKs.
    pub fn arrive_all(&mut self, arrive: impl FnMut(PassedAck)) {
        self.acks.drain(..).for_each(arrive);
    }
}

impl PassedAck {
    /// Whether its timestamp is echoed once the sender, which has acknowledged up to
    /// `acknowledged`, receives it: beyond that, it does not count (RFC 7323 §4.3 (2)).
    fn shows_in_echo(&self, acknowledged: SeqNumber) -> bool {
        self.ts.is_some_and(|(_, seq)| !seq.after(acknowledged))
    }
}

#[cfg(test)]
mod tests;
