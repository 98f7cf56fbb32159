//! What the receiver's ACKs have said so far.

use super::SentSegments;
use super::evidence::is_before;
use super::pieces::Neighbor;
use super::sacked::Sacked;
use recoup_recovery::Ack;
use recoup_units::{Instant, Offset, Span};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::time::Duration;

/// ACKs that are remembered.
const MOST_ACKS: usize = 64;

/// The receiver's ACKs so far.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct AckHistory {
    /// When the last one came.
    pub at: Instant,
    /// The highest cumulative ACK.
    pub cumulative: Offset,
    /// The end of the highest SACK block.
    pub sacked_up_to: Offset,
    /// What was selectively acknowledged above the cumulative ACK.
    pub sacked: Sacked,
    /// The last duplicate ACK: its cumulative ACK, and when it came.
    pub asked_for: Option<(Offset, Instant)>,
    /// The newest timestamp echoed.
    pub newest_echo: Option<u32>,
    /// The last segment sent once that was acknowledged.
    pub neighbor: Option<Neighbor>,
    /// When the last overtaken ACK came.
    pub overtaken_at: Option<Instant>,
    /// The longest delay of an overtaken ACK behind the first that overtook it.
    pub longest_delay: Duration,
    /// The last ACKs: time, cumulative ACK, and end of the first SACK block.
    pub last: VecDeque<(Instant, Offset, Offset)>,
    pub window: u64,
}

impl AckHistory {
    /// Reads what the next ACK will change. The value has no meaning.
    #[inline]
    pub fn prefetch(&self) -> u64 {
        let last = self.last.back().map_or(0, |(at, ..)| at.as_nanos());
        last ^ self.at.as_nanos() ^ self.window
    }

    /// Whether a block below the cumulative ACK is no DSACK. Linux repeats a SACK block when the
    /// hole below it is filled, if the block holds the FIN. A DSACK reports the segment that drew
    /// the ACK (RFC 2883 §4), and that filled the hole.
    pub fn is_stale(&self, block: Span, una_before: Offset, ack: &Ack) -> bool {
        una_before < block.start && block.end <= ack.cumulative && self.sacked.has(block)
    }

    /// Remembers the oldest segment sent once that `ack` newly covers.
    pub fn note_neighbor(
        &mut self,
        now: Instant,
        una_before: Offset,
        ack: &Ack,
        sent: SentSegments<'_>,
    ) {
        let is_new = |at: Offset| !self.sacked.has(Span::at(at, 1));
        let last_of = |block: &Span| Offset(block.end.0.saturating_sub(1));
        let (at, in_order) = match ack.sack_blocks().first().map(last_of) {
            _ if ack.cumulative > una_before => (Some(una_before), true),
            newest => (newest, false),
        };
        if let Some(segment) = at.filter(|&at| is_new(at)).and_then(sent) {
            self.neighbor = Some(Neighbor {
                sent: segment.copy.at,
                acked: now,
                // Of two segments in order the first may wait for the second (RFC 5681 §4.2).
                withheld_from: match in_order {
                    true => segment.span.end + segment.span.len(),
                    false => Offset::SYN,
                },
            });
        }
    }

    /// Whether a segment that the ACK covers first may have brought the timestamp `echo` that the
    /// ACK echoes: new data is often sent together with a retransmission.
    pub fn is_echo_shared(
        &self,
        echo: u32,
        una_before: Offset,
        cumulative: Offset,
        sent: SentSegments<'_>,
    ) -> bool {
        let from = self.sacked_up_to.max(una_before);
        if cumulative <= from {
            return false;
        }
        let ts = |at: Offset| sent(at)?.copy.ts_value;
        match [from, Offset(cumulative.0 - 1)].map(ts) {
            [Some(first), Some(last)] => !is_before(echo, first) && !is_before(last, echo),
            [first, last] => first == Some(echo) || last == Some(echo),
        }
    }

    /// Whether later ACKs than `ack` have come: one of its blocks lies inside a longer one.
    pub fn has_later_than(&self, una_before: Offset, ack: &Ack) -> bool {
        let first = ack.sack_blocks().first();
        ack.cumulative < una_before || first.is_some_and(|block| self.sacked.exceeds(*block))
    }

    /// Later ACKs have overtaken `ack`.
    pub fn on_overtaken(&mut self, now: Instant, ack: &Ack) {
        self.overtaken_at = Some(now);
        let (cumulative, end) = (ack.cumulative, first_end(ack));
        let mut last = self.last.iter();
        let first = last.find(|&&(_, c, e)| c > cumulative || c == cumulative && e > end);
        let longest_delay = first.map_or(Duration::ZERO, |(at, ..)| now.since(*at));
        self.longest_delay = self.longest_delay.max(longest_delay);
    }

    pub fn note(&mut self, now: Instant, una_before: Offset, ack: &Ack, echo: Option<u32>) {
        if self.last.len() == MOST_ACKS {
            self.last.pop_front();
        }
        self.last.push_back((now, ack.cumulative, first_end(ack)));
        self.at = self.at.max(now);
        self.cumulative = self.cumulative.max(ack.cumulative).max(una_before);
        for block in ack.sack_blocks() {
            self.sacked_up_to = self.sacked_up_to.max(block.end);
            self.sacked.insert(*block);
        }
        self.sacked.forget(self.cumulative);
        // A duplicate ACK (RFC 5681 §2).
        let duplicate = ack.cumulative == una_before
            && !ack.carries_data
            && ack.window == self.window
            && ack.dsack().is_none();
        if duplicate {
            self.asked_for = Some((ack.cumulative, now));
        }
        self.window = ack.window;
        if let Some(echo) = echo
            && self
                .newest_echo
                .is_none_or(|newest_echo| is_before(newest_echo, echo))
        {
            self.newest_echo = Some(echo);
        }
    }
}

/// The end of the first SACK block.
fn first_end(ack: &Ack) -> Offset {
    (ack.sack_blocks().first()).map_or(Offset::SYN, |block| block.end)
}
