//! The outstanding packets of a direction, and those acknowledged within the last round trip.
//!
//! The entries leave no gap: bytes that were not captured have an entry too. With offload, one
//! packet holds many segments. When some of them are retransmitted, their bytes get an entry of
//! their own.

use super::{DirectionState, MID_CONNECTION, SAME_COUNTER};
use crate::{
    attribute::replay::MOST_PIECES,
    memory::room_for_more,
    verdict::{SentOnce, Transmission},
};
use recoup_units::{Instant, Offset, Span, partition_point_near};
use serde::{Deserialize, Serialize};
use std::{cmp::Ordering, collections::VecDeque};

/// The most entries kept.
const MOST_OUTSTANDING: usize = 1 << 16;

/// Entries for which there is room at first: an end that only sends a request has no more.
const FEWEST_OUTSTANDING: usize = 4;

/// Entries whose segments are counted one by one.
pub(super) const MOST_COUNTED: usize = 1024;

/// Packets counted once the captured segments no longer pay for more.
const LEAST_COUNTED: usize = 32;

/// Steps that looking after outstanding packets may take for each captured segment. A step counts or
/// moves an entry and takes about a ns.
const STEPS_PER_SEGMENT: u64 = 128;

/// Entries that are visited or moved at no cost.
const FEW: usize = 64;

/// Steps that it may take besides.
const FREE_STEPS: u64 = 4096;

/// An outstanding packet, or outstanding bytes that were not captured.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct OutstandingPacket {
    pub span: Span,
    /// When it was first sent. For bytes that were not captured: when the packet that revealed them
    /// was.
    pub at: Instant,
    /// When its latest copy was sent.
    pub last_sent_at: Instant,
    /// The timestamp of its latest copy.
    pub ts: Option<u32>,
    /// The IP identification of its latest copy.
    pub ip_id: Option<u16>,
    /// How often it was retransmitted.
    pub copies: u16,
    pub captured: Captured,
}

/// Whether a packet was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Captured {
    /// It was not.
    No,
    /// It was.
    Once,
    /// It was, and a copy of it that another program sent. An ACK may answer either.
    Copied,
}

impl OutstandingPacket {
    /// Whether its bytes were captured.
    pub fn is_captured(&self) -> bool {
        self.captured != Captured::No
    }

    /// Whether nothing but its first transmission can have been acknowledged.
    pub fn is_sent_once(&self) -> bool {
        self.captured == Captured::Once && self.copies == 0
    }
}

/// Values that distinguish the copies of a packet.
#[derive(Clone, Copy, Debug)]
pub struct SentPacket {
    pub at: Instant,
    pub ts: Option<u32>,
    pub ip_id: Option<u16>,
}

impl OutstandingPacket {
    /// A packet sent for the first time.
    pub fn first(span: Span, sent: SentPacket) -> Self {
        Self {
            span,
            at: sent.at,
            last_sent_at: sent.at,
            ts: sent.ts,
            ip_id: sent.ip_id,
            copies: 0,
            captured: Captured::Once,
        }
    }

    /// Bytes that were not captured; `sent` is the packet that revealed them.
    pub fn uncaptured(span: Span, sent: SentPacket) -> Self {
        Self { captured: Captured::No, ..Self::first(span, sent) }
    }
}

impl DirectionState {
    #[inline]
    pub fn push(&mut self, packet: OutstandingPacket) {
        // A peer that never acknowledges must not use unlimited memory.
        if self.outstanding.len() >= MOST_OUTSTANDING {
            self.outstanding.pop_front();
            self.acknowledged = self.acknowledged.saturating_sub(1);
        }
        if self.outstanding.len() == self.outstanding.capacity() {
            self.outstanding.reserve_exact(room_for_more(self.outstanding.len(), FEWEST_OUTSTANDING));
        }
        self.outstanding.push_back(packet);
    }

    /// How many entries are not acknowledged.
    pub fn unacknowledged(&self) -> usize {
        self.outstanding.len() - self.acknowledged as usize
    }

    /// The index of the entry that holds `offset`, acknowledged or not.
    pub fn outstanding_at(&self, offset: Offset) -> Option<usize> {
        let i = self.first_beyond(offset);
        (self.outstanding.get(i)?.span.start <= offset).then_some(i)
    }

    /// Whether the capture may have begun after the first transmission of `span`: nothing shows
    /// whether an earlier copy arrived.
    pub fn is_before_capture(&self, span: Span) -> bool {
        let seen = || (self.episode.as_ref()).is_some_and(|episode| episode.has_copy_of(span));
        self.nxt >= MID_CONNECTION && span.start < MID_CONNECTION && self.acked < span.end && !seen()
    }

    /// Whether part of `span` was not captured; `at` is the index of the packet with its first
    /// byte.
    pub fn has_uncaptured(&self, at: usize, span: Span) -> bool {
        let packets = self.outstanding.range(at..).take(MOST_COUNTED);
        let mut inside = packets.take_while(|packet| packet.span.start < span.end);
        inside.any(|packet| !packet.is_captured())
    }

    /// The index of the first entry that ends above `offset`.
    pub fn first_beyond(&self, offset: Offset) -> usize {
        let len = self.outstanding.len();
        let Some(first) = self.outstanding.front() else {
            return 0;
        };
        if len <= FEW {
            return self.outstanding.partition_point(|f| f.span.end <= offset);
        }
        // Most packets are of one length.
        let all = self.nxt.since(first.span.start).max(1) as f64;
        let guess = offset.since(first.span.start) as f64 / all * len as f64;
        partition_point_near(len, guess as usize, |i| self.outstanding[i].span.end <= offset)
    }

    /// An upper bound of the segments that a replay makes of what is outstanding.
    pub fn most_segments_outstanding(&self, mss: u32) -> u64 {
        let packets = self.unacknowledged() as u64;
        let bytes = self.nxt.since(self.una);
        (packets + bytes / u64::from(mss.max(1))).min(packets * MOST_PIECES)
    }

    /// The number of outstanding segments of `mss` bytes.
    pub fn segments_outstanding(&mut self, mss: u32) -> u32 {
        let len = self.unacknowledged();
        // Counting very many takes too long: each further entry counts as one segment.
        let most = if self.can_afford(len.min(MOST_COUNTED)) { MOST_COUNTED } else { LEAST_COUNTED };
        let rest = len.saturating_sub(most) as u64;
        let mss = u64::from(mss.max(1));
        let first = self.acknowledged as usize;
        let outstanding = self.outstanding.range(first..first + len.min(most));
        // `fold` takes a loop a slice.
        let counted = outstanding.fold(0, |sum, packet| {
            let left = packet.span.end.since(packet.span.start.max(self.una));
            sum + if left <= mss { 1 } else { left.div_ceil(mss) }
        });
        u32::try_from(counted + rest).unwrap_or(u32::MAX)
    }

    /// Something was sent for the first time.
    #[inline]
    pub fn note_outstanding(&mut self) {
        let outstanding = self.nxt.since(self.una.min(self.nxt));
        let outstanding = u32::try_from(outstanding).unwrap_or(u32::MAX);
        self.most_outstanding = self.most_outstanding.max(outstanding);
    }

    /// Segments of `mss` bytes first sent within the shortest round-trip time before `now`.
    pub fn sent_lately(&self, now: Instant, mss: u32) -> u32 {
        let Some(least) = self.rtts.least() else {
            return 0;
        };
        let older = |packet: &OutstandingPacket| packet.at + least <= now;
        let first = self.outstanding.partition_point(older);
        let bytes = (self.outstanding.get(first)).map_or(0, |p| self.nxt.since(p.span.start));
        u32::try_from(bytes / u64::from(mss.max(1))).unwrap_or(u32::MAX)
    }

    /// The largest flight so far, in segments of `mss` bytes. If the capture may have begun later, the most that
    /// the peer accepted.
    pub fn most_flight(&self, mss: u32) -> u32 {
        let unseen = match self.syn() {
            Some(_) => 0,
            None => self.least_window_edge().since(self.una.min(self.least_window_edge())),
        };
        let most = unseen.max(self.most_outstanding.into());
        u32::try_from(most.div_ceil(mss.max(1).into())).unwrap_or(u32::MAX)
    }

    /// Whether the packets of the direction pay for this many more steps, which are then spent.
    fn can_afford(&mut self, steps: usize) -> bool {
        let earned = FREE_STEPS + STEPS_PER_SEGMENT * self.captured_segments();
        let spent = self.steps + steps as u64;
        let affordable = spent <= earned;
        if affordable {
            self.steps = spent;
        }
        self.too_costly |= !affordable;
        affordable
    }

    /// `span` was captured: its first copy or, if `again`, another one.
    pub fn mark_sent(&mut self, span: Span, sent: SentPacket, again: bool) {
        let first = self.first_beyond(span.start);
        let mut i = first;
        while self.outstanding.get(i).is_some_and(|f| f.span.overlaps(span)) {
            // A packet may hold very many short ones.
            if i > first && (i - first).is_multiple_of(FEW) && !self.can_afford(4 * FEW) {
                break;
            }
            i = self.split_out(i, span);
            let packet = &mut self.outstanding[i];
            packet.copies = packet.copies.saturating_add(u16::from(again));
            packet.ts = sent.ts;
            packet.ip_id = sent.ip_id;
            packet.last_sent_at = sent.at;
            if !packet.is_captured() {
                packet.captured = Captured::Once;
                packet.at = sent.at;
                self.missing = self.missing.saturating_sub(packet.span.len());
            }
            i += 1;
        }
        while (self.outstanding.get(self.acknowledged as usize)).is_some_and(|packet| packet.span.end <= self.una) {
            self.acknowledged += 1;
        }
    }

    /// Another program sent a copy of `span`.
    pub fn mark_copied(&mut self, span: Span) {
        let first = self.first_beyond(span.start);
        let mut i = first;
        while self.outstanding.get(i).is_some_and(|packet| packet.span.overlaps(span)) {
            if i > first && (i - first).is_multiple_of(FEW) && !self.can_afford(4 * FEW) {
                break;
            }
            i = self.split_out(i, span);
            let packet = &mut self.outstanding[i];
            if packet.is_captured() {
                packet.captured = Captured::Copied;
            }
            i += 1;
        }
        while (self.outstanding.get(self.acknowledged as usize)).is_some_and(|packet| packet.span.end <= self.una) {
            self.acknowledged += 1;
        }
    }

    /// Splits an entry at the ends of `span`. Returns the index of the part inside.
    fn split_out(&mut self, i: usize, span: Span) -> usize {
        let whole = self.outstanding[i];
        if span.covers(whole.span) || self.outstanding.len() + 2 > MOST_OUTSTANDING {
            return i;
        }
        // Inserting moves the entries on one side.
        let moved = i.min(self.outstanding.len() - i);
        if moved > FEW && !self.can_afford(2 * moved) {
            return i;
        }
        let middle = Span::new(span.start.max(whole.span.start), span.end.min(whole.span.end));
        let part = |span| OutstandingPacket { span, ..whole };
        self.outstanding[i] = part(middle);
        if middle.end < whole.span.end {
            self.outstanding.insert(i + 1, part(Span::new(middle.end, whole.span.end)));
            self.acknowledged += u32::from(i < self.acknowledged as usize);
        }
        if whole.span.start < middle.start {
            self.outstanding.insert(i, part(Span::new(whole.span.start, middle.start)));
            self.acknowledged += u32::from(i < self.acknowledged as usize);
            return i + 1;
        }
        i
    }
}

/// The segment with the byte at `offset`, if it was captured and sent once.
pub(super) fn sent_once(outstanding: &VecDeque<OutstandingPacket>, offset: Offset) -> Option<SentOnce> {
    let i = outstanding.partition_point(|packet| packet.span.end <= offset);
    let packet = outstanding.get(i)?;
    let once = packet.is_sent_once() && packet.span.start <= offset;
    once.then_some(SentOnce { span: packet.span, copy: Transmission { at: packet.at, ts_value: packet.ts } })
}

/// Whether `sent` was sent after `other`; `None` if nothing shows it.
pub(super) fn sent_after(sent: SentPacket, other: &OutstandingPacket) -> Option<bool> {
    match (sent.ts, other.ts) {
        (Some(ts), Some(other)) if ts == other => None,
        _ => sent_after_gap(sent, other),
    }
}

/// Whether a packet that fills a gap was sent after the packet that revealed the gap. If so, it is
/// a retransmission: originals are sent in order. `None` if nothing shows it.
pub(super) fn sent_after_gap(sent: SentPacket, gap: &OutstandingPacket) -> Option<bool> {
    let (Some(ts), Some(revealed)) = (sent.ts, gap.ts) else {
        return order_by_id(sent, gap).map(Ordering::is_gt);
    };
    // In a round trip shorter than the clock's tick both have the same timestamp.
    let is_after = match ts.wrapping_sub(revealed).cast_signed() {
        0 => order_by_id(sent, gap) == Some(Ordering::Greater),
        distance => distance > 0,
    };
    Some(is_after)
}

/// The order in which `sent` and `other` were sent, if their IP identifications come from one counter.
pub(super) fn order_by_id(sent: SentPacket, other: &OutstandingPacket) -> Option<Ordering> {
    let (id, other) = (sent.ip_id?, other.ip_id?);
    let distance = id.wrapping_sub(other).cast_signed();
    let one_counter = id != 0 && other != 0 && distance.unsigned_abs() < SAME_COUNTER as u16;
    Some(distance.cmp(&0)).filter(|order| one_counter && order.is_ne())
}
