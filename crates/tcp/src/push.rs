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
    /// The present burst and those that follow; only with [`Push::Burst`].
    bursts: Option<Box<Bursts>>,
    /// The end of the queued data.
    written: Offset,
    /// The ends of outstanding bursts, ascending. Bursts of one segment are kept only if marked.
    sent: VecDeque<Chunk>,
}

/// How unsent data is cut into bursts.
#[derive(Clone, Debug)]
struct Bursts {
    /// See [`Push::Burst`].
    least: u32,
    /// The chunks of unsent data, ascending.
    chunks: VecDeque<Chunk>,
    /// The end of the queued data at the last mark.
    marked: Offset,
    /// Segments left in the current burst.
    left: u32,
    /// Whether the current burst has more than one segment.
    several: bool,
}

impl Bursts {
    /// Unsent bytes of the last chunk.
    fn tail_len(&self, sender: &Sender) -> u64 {
        let before = self.chunks.iter().rev().nth(1);
        let start = before.map_or(Offset::DATA, |c| c.end).max(sender.nxt());
        let end = self.chunks.back().map_or(start, |tail| tail.end);
        end.since(start)
    }

    /// Bytes that still fit in the last chunk, or in a new one if it is full.
    fn room(&self, sender: &Sender) -> u64 {
        let goal = chunk_goal(sender);
        match self.tail_len(sender) {
            len if len < goal => goal - len,
            _ => goal,
        }
    }

    fn begin(&mut self, segments: u32) {
        self.left = segments;
        self.several = segments > 1;
    }

    fn mark(&mut self, written: Offset) {
        if let Some(tail) = self.chunks.back_mut() {
            tail.marked = true;
        }
        self.marked = written;
    }

    /// Whether new data `payload` carries the bit; and if it ends a burst, whether its end is marked.
    fn on_new(&mut self, payload: Span, sender: &Sender) -> (bool, Option<bool>) {
        while self.chunks.front().is_some_and(|c| c.end <= payload.start) {
            self.chunks.pop_front();
        }
        let chunk = self.chunks.front().copied().unwrap_or(Chunk { end: payload.end, marked: true });
        if self.left == 0 {
            self.begin(burst(payload.start, chunk.end, self.least, sender));
        }
        self.left -= 1;
        let chunk_ends = payload.end >= chunk.end;
        if chunk_ends {
            self.left = 0;
        }
        let marked = chunk_ends && chunk.marked;
        ((self.left == 0 && self.several) || marked, (self.left == 0).then_some(marked))
    }
}

impl Pusher {
    pub fn new(policy: Push) -> Self {
        let bursts = match policy {
            Push::WriteEnd => None,
            Push::Burst { least } => {
                let chunks = VecDeque::new();
                Some(Box::new(Bursts { least, chunks, marked: Offset::DATA, left: 0, several: false }))
            }
        };
        Self { bursts, written: Offset::DATA, sent: VecDeque::new() }
    }

    /// Resets to a new connection and keeps the memory.
    pub fn reset(&mut self, policy: Push) {
        let mut sent = std::mem::take(&mut self.sent);
        sent.clear();
        *self = Self { sent, ..Self::new(policy) };
    }

    /// Frees memory that nothing outstanding takes.
    pub fn free_unused(&mut self) {
        if self.sent.is_empty() {
            self.sent = VecDeque::new();
        }
    }

    /// Bytes that still fit in the last chunk, or in a new one if it is full. Without bursts there are no
    /// chunks, and there is no limit.
    pub fn room(&self, sender: &Sender) -> u64 {
        self.bursts.as_ref().map_or(u64::MAX, |bursts| bursts.room(sender))
    }

    /// Whether the next queued data joins the last chunk: the chunk has room and unsent data.
    pub fn joins_tail(&self, sender: &Sender) -> bool {
        let tail = self.bursts.as_ref().map_or(0, |bursts| bursts.tail_len(sender));
        (1..chunk_goal(sender)).contains(&tail)
    }

    /// `bytes` of a write were queued. `first`: they are the first of that write, so a mark at the end of the
    /// chunk they join is removed. Returns whether enough was queued since the last mark for another mark.
    pub fn queue(&mut self, mut bytes: u64, mut first: bool, sender: &Sender) -> bool {
        let Some(bursts) = &mut self.bursts else {
            self.written = self.written + bytes;
            return false;
        };
        let mut much = false;
        while bytes > 0 {
            let joins = (1..chunk_goal(sender)).contains(&bursts.tail_len(sender));
            let take = bursts.room(sender).min(bytes);
            self.written = self.written + take;
            bytes -= take;
            match bursts.chunks.back_mut().filter(|_| joins) {
                Some(tail) => {
                    tail.end = self.written;
                    tail.marked &= !first;
                }
                None => bursts.chunks.push_back(Chunk { end: self.written, marked: false }),
            }
            first = false;
            let half = sender.peer_window().largest() / 2;
            if bursts.room(sender) == chunk_goal(sender) && self.written > bursts.marked + half {
                bursts.mark(self.written);
                much = true;
            }
        }
        much
    }

    pub fn policy(&self) -> Push {
        match &self.bursts {
            None => Push::WriteEnd,
            Some(bursts) => Push::Burst { least: bursts.least },
        }
    }

    /// Whether the bit marks only the ends of writes.
    pub fn marks_ends_alone(&self) -> bool {
        self.bursts.is_none()
    }

    /// Whether the current burst has segments left.
    pub fn is_in_burst(&self) -> bool {
        self.bursts.as_ref().is_some_and(|bursts| bursts.left > 0)
    }

    /// A write ended: marks its last chunk.
    pub fn mark(&mut self) {
        if let Some(bursts) = &mut self.bursts {
            bursts.mark(self.written);
        }
    }

    /// Nothing more may be sent now: the next segment begins a new burst.
    pub fn pause(&mut self) {
        if let Some(bursts) = &mut self.bursts {
            bursts.left = 0;
        }
    }

    /// Whether new data `payload`, which is being sent, carries the bit. `written`: the end of the data.
    pub fn on_new(&mut self, payload: Span, written: Offset, sender: &Sender) -> bool {
        let (pushed, end) = match &mut self.bursts {
            None => {
                let marked = payload.end == written;
                (marked, marked.then_some(true))
            }
            Some(bursts) => bursts.on_new(payload, sender),
        };
        if let Some(marked) = end {
            self.note_sent(payload.end, marked);
        }
        pushed
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
        let Some(bursts) = &mut self.bursts else {
            return marked;
        };
        if alone {
            bursts.left = 0;
            return marked;
        }
        if bursts.left == 0 {
            let end = sent.map_or(payload.end, |burst| burst.end);
            bursts.begin(1 + lost_after(payload.end, end, sender));
        }
        bursts.left -= 1;
        let ends = bursts.left == 0;
        let several = ends && bursts.several;
        if ends && sent.is_some_and(|burst| burst.end > payload.end) {
            self.sent.insert(at, Chunk { end: payload.end, marked: false });
        }
        several || marked
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
