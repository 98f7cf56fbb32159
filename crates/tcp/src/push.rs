//! Where the PSH bit goes.
//!
//! A receiver need not use the bit (RFC 9293 §3.9.1.2), but a comparison of traces segment by segment shows
//! it. Stacks differ:
//!
//! - [`Push::WriteEnd`]: the segment that ends what the application has written so far carries the bit.
//! - [`Push::Burst`]: Linux since 5.4 hands segments to the device in bursts, cut from chunks of the send
//!   queue. The last segment of a burst of several carries the bit. So does the end of a marked chunk. A
//!   chunk is marked at the end of a write, and within a write once half the largest window was queued
//!   since the last mark. A burst is retransmitted as one burst, as far as all of it is lost and the window
//!   permits.
//!
//! A retransmission repeats the bit at the end of a write, even if more was written since. The bit at the
//! end of a burst belongs to that burst only.
//!
//! Sources: Linux `tcp_sendmsg_locked`, `forced_push`, `tcp_write_xmit`, `tcp_tso_autosize`,
//! `tcp_transmit_skb`.

use recoup_recovery::Sender;
use recoup_units::{Offset, Span};
use std::collections::VecDeque;

/// Which segments carry the PSH bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Push {
    /// The end of a write.
    #[default]
    WriteEnd,
    /// The end of a write and of a burst.
    Burst {
        /// The smallest limit on the segments of a burst (Linux's tcp_min_tso_segs, 2).
        least: u32,
    },
}

/// The most bytes in a chunk of the send queue (a packet of 64 KiB less room for headers).
const LARGEST_CHUNK: u64 = 65_535 - 320;

/// Bytes of the unsent data that go to the device together at most, and whether their end is marked.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    end: Offset,
    marked: bool,
}

/// Decides which segments carry the bit.
#[derive(Clone, Debug)]
pub(crate) struct Pusher {
    policy: Push,
    /// The chunks of unsent data, ascending; only with [`Push::Burst`].
    chunks: VecDeque<Chunk>,
    /// The end of the queued data.
    written: Offset,
    /// The value of `written` at the last mark.
    marked: Offset,
    /// Segments left in the current burst.
    left: u32,
    /// Whether the current burst has more than one segment.
    several: bool,
    /// The ends of outstanding bursts, ascending. Bursts of one segment are kept only if marked.
    sent: VecDeque<Chunk>,
}

impl Pusher {
    pub fn new(policy: Push) -> Self {
        Self {
            policy,
            chunks: VecDeque::new(),
            written: Offset::DATA,
            marked: Offset::DATA,
            left: 0,
            several: false,
            sent: VecDeque::new(),
        }
    }

    /// Resets to a new connection and keeps the memory.
    pub fn reset(&mut self, policy: Push) {
        let (mut chunks, mut sent) = (std::mem::take(&mut self.chunks), std::mem::take(&mut self.sent));
        chunks.clear();
        sent.clear();
        *self = Self { chunks, sent, ..Self::new(policy) };
    }

    /// Bytes that still fit in the last chunk, or in a new one if it is full. Without bursts there are no
    /// chunks, and there is no limit.
    pub fn room(&self, sender: &Sender) -> u64 {
        if self.policy == Push::WriteEnd {
            return u64::MAX;
        }
        let goal = chunk_goal(sender);
        match self.tail_len(sender) {
            len if len < goal => goal - len,
            _ => goal,
        }
    }

    /// Whether the next queued data joins the last chunk: the chunk has room and unsent data.
    pub fn joins_tail(&self, sender: &Sender) -> bool {
        (1..chunk_goal(sender)).contains(&self.tail_len(sender))
    }

    /// Unsent bytes of the last chunk.
    fn tail_len(&self, sender: &Sender) -> u64 {
        let before = self.chunks.iter().rev().nth(1);
        let start = before.map_or(Offset::DATA, |c| c.end).max(sender.nxt());
        let end = self.chunks.back().map_or(start, |tail| tail.end);
        end.since(start)
    }

    /// `bytes` of a write were queued. `first`: they are the first of that write, so a mark at the end of the
    /// chunk they join is removed. Returns whether enough was queued since the last mark for another mark.
    pub fn queue(&mut self, mut bytes: u64, first: bool, sender: &Sender) -> bool {
        if self.policy == Push::WriteEnd {
            self.written = self.written + bytes;
            return false;
        }
        let (mut first, mut much) = (first, false);
        while bytes > 0 {
            let joins = self.joins_tail(sender);
            let take = self.room(sender).min(bytes);
            self.written = self.written + take;
            bytes -= take;
            match self.chunks.back_mut().filter(|_| joins) {
                Some(tail) => {
                    tail.end = self.written;
                    tail.marked &= !first;
                }
                None => self.chunks.push_back(Chunk { end: self.written, marked: false }),
            }
            first = false;
            let half = sender.peer_window().largest() / 2;
            if self.room(sender) == chunk_goal(sender) && self.written > self.marked + half {
                self.mark();
                much = true;
            }
        }
        much
    }

    pub const fn policy(&self) -> Push {
        self.policy
    }

    /// Whether the bit marks only the ends of writes.
    pub fn marks_ends_alone(&self) -> bool {
        self.policy == Push::WriteEnd
    }

    /// Whether the current burst has segments left.
    pub fn is_in_burst(&self) -> bool {
        self.left > 0
    }

    /// A write ended: marks its last chunk.
    pub fn mark(&mut self) {
        if let Some(tail) = self.chunks.back_mut() {
            tail.marked = true;
        }
        self.marked = self.written;
    }

    /// Nothing more may be sent now: the next segment begins a new burst.
    pub fn pause(&mut self) {
        self.left = 0;
    }

    /// Whether new data `payload`, which is being sent, carries the bit. `written`: the end of the data.
    pub fn on_new(&mut self, payload: Span, written: Offset, sender: &Sender) -> bool {
        match self.policy {
            Push::WriteEnd => {
                let marked = payload.end == written;
                if marked {
                    self.note_sent(payload.end, true);
                }
                marked
            }
            Push::Burst { least } => self.on_new_in_burst(payload, least, sender),
        }
    }

    fn on_new_in_burst(&mut self, payload: Span, least: u32, sender: &Sender) -> bool {
        while self.chunks.front().is_some_and(|c| c.end <= payload.start) {
            self.chunks.pop_front();
        }
        let chunk = self.chunks.front().copied().unwrap_or(Chunk { end: payload.end, marked: true });
        if self.left == 0 {
            self.begin(burst(payload.start, chunk.end, least, sender));
        }
        self.left -= 1;
        let chunk_ends = payload.end >= chunk.end;
        if chunk_ends {
            self.left = 0;
        }
        let marked = chunk_ends && chunk.marked;
        if self.left == 0 {
            self.note_sent(payload.end, marked);
        }
        (self.left == 0 && self.several) || marked
    }

    fn begin(&mut self, segments: u32) {
        self.left = segments;
        self.several = segments > 1;
    }

    fn note_sent(&mut self, end: Offset, marked: bool) {
        if self.sent.back().is_none_or(|last| last.end < end) {
            self.sent.push_back(Chunk { end, marked });
        }
    }

    /// Whether `payload`, which is being retransmitted, carries the bit. `alone`: it is sent by itself, even
    /// if more of its burst is lost.
    pub fn on_again(&mut self, payload: Span, alone: bool, sender: &Sender) -> bool {
        let at = self.sent.partition_point(|burst| burst.end < payload.end);
        let sent = self.sent.get(at).copied();
        let marked = sent.is_some_and(|burst| burst.marked && burst.end == payload.end);
        if self.policy == Push::WriteEnd {
            return marked;
        }
        if alone {
            self.left = 0;
            return marked;
        }
        if self.left == 0 {
            let end = sent.map_or(payload.end, |burst| burst.end);
            self.begin(1 + lost_after(payload.end, end, sender));
        }
        self.left -= 1;
        if self.left == 0 && sent.is_some_and(|burst| burst.end > payload.end) {
            let marked = false;
            let end = payload.end;
            self.sent.insert(at, Chunk { end, marked });
        }
        (self.left == 0 && self.several) || marked
    }

    /// Forgets acknowledged data.
    pub fn on_una(&mut self, una: Offset) {
        while self.sent.front().is_some_and(|first| first.end <= una) {
            self.sent.pop_front();
        }
    }
}

/// The size of a full chunk in bytes: full segments, at most half the largest window.
fn chunk_goal(sender: &Sender) -> u64 {
    const DEFAULT_MSS: u64 = 536;
    let half = match sender.peer_window().largest() {
        small @ 0..=DEFAULT_MSS => small,
        large => large / 2,
    };
    let most = if half > 0 { LARGEST_CHUNK.min(half) } else { LARGEST_CHUNK };
    (most / mss(sender)).max(1) * mss(sender)
}

/// The number of segments in the burst that begins at `start`, whose first segment was just sent: one
/// millisecond at the pacing rate, at most half the window.
fn burst(start: Offset, chunk_end: Offset, least: u32, sender: &Sender) -> u32 {
    let cwnd = sender.cwnd().0;
    let half = (cwnd / 2).max(1);
    let quota = half.min(1 + sender.room().0);
    let end = chunk_end.min(sender.peer_window().edge().max(start + 1));
    let there = u32::try_from(end.since(start).div_ceil(mss(sender))).unwrap_or(u32::MAX);
    quota.min(there).min(sender.burst(least)).max(1)
}

/// The number of segments from `start` to the end of a burst that can be retransmitted now.
fn lost_after(start: Offset, end: Offset, sender: &Sender) -> u32 {
    let lost = sender.board().lost_from(start);
    let burst = lost.take_while(|s| s.span.end <= end);
    burst.take(sender.room().0 as usize).count() as u32
}

fn mss(sender: &Sender) -> u64 {
    u64::from(sender.mss())
}

#[cfg(test)]
mod tests;
