//! History of the receiver's ACKs.

use super::{
    SentSegments,
    evidence::is_before,
    pieces::{Answered, CoveringAck, Neighbor},
    sacked::Sacked,
};
use recoup_recovery::Ack;
use recoup_units::{Instant, Offset, Span};
use serde::{Deserialize, Serialize};
use std::{collections::VecDeque, mem::take, time::Duration};

/// ACKs that are remembered.
const MOST_ACKS: usize = 64;

/// An ACK of the receiver, taken apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceivedAck<'a> {
    pub at: Instant,
    /// The highest cumulative ACK before it.
    pub una_before: Offset,
    pub cumulative: Offset,
    pub window: u64,
    pub carries_data: bool,
    /// Its `TSecr`.
    pub echo: Option<u32>,
    /// The blocks above the cumulative ACK.
    pub sacked: &'a [Span],
    /// The block that reports a duplicate.
    pub dsack: Option<Span>,
}

impl<'a> ReceivedAck<'a> {
    pub fn new(at: Instant, una_before: Offset, ack: &'a Ack, echo: Option<u32>) -> Self {
        let dsack = ack.dsack();
        Self {
            at,
            una_before,
            cumulative: ack.cumulative,
            window: ack.window,
            carries_data: ack.carries_data,
            echo,
            sacked: &ack.blocks()[usize::from(dsack.is_some())..],
            dsack,
        }
    }

    /// The end of the first SACK block.
    fn first_end(&self) -> Offset {
        self.sacked.first().map_or(Offset::SYN, |block| block.end)
    }
}

/// The receiver's ACKs so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct AckHistory {
    /// When the last one came.
    pub at: Instant,
    /// The highest cumulative ACK.
    pub cumulative: Offset,
    /// The end of the highest SACK block.
    pub sacked_up_to: Offset,
    /// Ranges selectively acknowledged above the cumulative ACK.
    pub sacked: Sacked,
    /// The last duplicate ACK: its cumulative ACK, and when it came.
    pub asked_for: Option<(Offset, Instant)>,
    /// The newest timestamp echoed.
    pub newest_echo: Option<u32>,
    /// The last segment sent once that was acknowledged.
    pub neighbor: Option<Neighbor>,
    /// When the last overtaken ACK came.
    pub overtaken_at: Option<Instant>,
    /// The last retransmission that an ACK covered.
    pub filled: Option<Answered>,
    /// The longest delay of an overtaken ACK behind the first that overtook it.
    pub longest_delay: Duration,
    /// The last ACKs: time, cumulative ACK, and end of the first SACK block.
    pub last: VecDeque<(Instant, Offset, Offset)>,
    pub window: u64,
}

impl AckHistory {
    /// Removes everything, keeping memory.
    pub fn clear(&mut self) {
        let (mut sacked, mut last) = (take(&mut self.sacked), take(&mut self.last));
        sacked.clear();
        last.clear();
        *self = Self { sacked, last, ..Self::default() };
    }

    /// Frees spare memory.
    pub fn shrink(&mut self) {
        self.last.shrink_to_fit();
        self.sacked.shrink();
    }

    /// Reads what the next ACK will change. The value has no meaning.
    #[inline]
    pub fn prefetch(&self) -> u64 {
        let last = self.last.back().map_or(0, |(at, ..)| at.as_nanos());
        last ^ self.at.as_nanos() ^ self.window
    }

    /// Whether a block below the cumulative ACK is no DSACK. Linux repeats a SACK block when the
    /// hole below it is filled, if the block holds the FIN. A DSACK reports the segment that drew
    /// the ACK (RFC 2883 §4), and that filled the hole.
    pub fn is_stale(&self, block: Span, ack: &ReceivedAck<'_>) -> bool {
        ack.una_before < block.start && block.end <= ack.cumulative && self.sacked.has(block)
    }

    /// Remembers the oldest segment sent once that `ack` newly covers.
    pub fn note_neighbor(&mut self, ack: &ReceivedAck<'_>, sent: SentSegments<'_>) {
        let is_new = |at: Offset| !self.sacked.has(Span::at(at, 1));
        let last_of = |block: &Span| Offset(block.end.0.saturating_sub(1));
        let (at, in_order) = match ack.sacked.first().map(last_of) {
            _ if ack.cumulative > ack.una_before => (Some(ack.una_before), true),
            newest => (newest, false),
        };
        if let Some(segment) = at.filter(|&at| is_new(at)).and_then(sent) {
            self.neighbor = Some(Neighbor {
                sent: segment.copy.at,
                acked: ack.at,
                // Of two segments in order the first may wait for the second (RFC 5681 §4.2).
                withheld_from: if in_order { segment.span.end + segment.span.len() } else { Offset::SYN },
            });
        }
    }

    /// `ack` as the one that first covers a piece below its cumulative ACK. `dsack`: the duplicate that
    /// it reports.
    pub fn covering(&self, ack: &ReceivedAck<'_>, dsack: Option<Span>, sent: SentSegments<'_>) -> CoveringAck {
        CoveringAck {
            at: ack.at,
            after: self.at,
            cumulative: ack.cumulative,
            edge: ack.una_before,
            echo: ack.echo,
            dsack,
            sacked_up_to: self.sacked_up_to,
            asked_for: self.asked_for,
            carries_data: ack.carries_data,
            newest_echo: self.newest_echo,
            echo_shared: self.is_echo_shared(ack, sent),
            above_sent_at: sent(ack.cumulative).map(|above| above.copy.at),
            neighbor: self.neighbor,
            overtaken_at: self.overtaken_at,
            filled: self.filled,
        }
    }

    /// Whether a segment that the ACK covers first may have brought the timestamp that the ACK echoes:
    /// new data is often sent together with a retransmission.
    fn is_echo_shared(&self, ack: &ReceivedAck<'_>, sent: SentSegments<'_>) -> bool {
        let from = self.sacked_up_to.max(ack.una_before);
        let Some(echo) = ack.echo.filter(|_| ack.cumulative > from) else {
            return false;
        };
        let ts = |at: Offset| sent(at)?.copy.ts_value;
        match [from, Offset(ack.cumulative.0 - 1)].map(ts) {
            [Some(first), Some(last)] => !is_before(echo, first) && !is_before(last, echo),
            [first, last] => first == Some(echo) || last == Some(echo),
        }
    }

    /// Whether later ACKs than `ack` have come: one of its blocks lies inside a longer one.
    pub fn has_later_than(&self, ack: &ReceivedAck<'_>) -> bool {
        let first = ack.sacked.first();
        ack.cumulative < ack.una_before || first.is_some_and(|block| self.sacked.exceeds(*block))
    }

    /// Later ACKs have overtaken `ack`.
    pub fn on_overtaken(&mut self, ack: &ReceivedAck<'_>) {
        self.overtaken_at = Some(ack.at);
        let (cumulative, end) = (ack.cumulative, ack.first_end());
        let mut last = self.last.iter();
        let first = last.find(|&&(_, c, e)| c > cumulative || c == cumulative && e > end);
        let longest_delay = first.map_or(Duration::ZERO, |(at, ..)| ack.at.since(*at));
        self.longest_delay = self.longest_delay.max(longest_delay);
    }

    /// Whether `ack` shows that the receiver discarded what it had reported (RFC 2018 §8): its cumulative ACK advances
    /// to a reported byte, and stops there.
    pub fn is_reneging(&self, ack: &ReceivedAck<'_>) -> bool {
        let next = Span::at(ack.cumulative, 1);
        // Some receivers report what the same ACK acknowledges or asks for: that is no news.
        ack.cumulative > ack.una_before && self.sacked.has(next) && !ack.sacked.iter().any(|block| block.covers(next))
    }

    /// The receiver has discarded what it had reported above `cumulative`.
    pub fn on_reneging(&mut self, cumulative: Offset) {
        self.sacked.clear();
        self.sacked_up_to = cumulative;
    }

    pub fn note(&mut self, ack: &ReceivedAck<'_>) {
        if self.last.len() == MOST_ACKS {
            self.last.pop_front();
        }
        self.last.push_back((ack.at, ack.cumulative, ack.first_end()));
        self.at = self.at.max(ack.at);
        self.cumulative = self.cumulative.max(ack.cumulative).max(ack.una_before);
        for block in ack.sacked {
            self.sacked_up_to = self.sacked_up_to.max(block.end);
            self.sacked.insert(*block);
        }
        self.sacked.forget(self.cumulative);
        // A duplicate ACK (RFC 5681 §2).
        let duplicate =
            ack.cumulative == ack.una_before && !ack.carries_data && ack.window == self.window && ack.dsack.is_none();
        if duplicate {
            self.asked_for = Some((ack.cumulative, ack.at));
        }
        self.window = ack.window;
        if let Some(echo) = ack.echo
            && self.newest_echo.is_none_or(|newest_echo| is_before(newest_echo, echo))
        {
            self.newest_echo = Some(echo);
        }
    }
}
