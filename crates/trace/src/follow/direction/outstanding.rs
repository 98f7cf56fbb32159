//! The outstanding packets of a direction, and those acknowledged within the last round trip.
//!
//! The entries leave no gap: bytes that were not captured have an entry too. With offload, one
//! packet holds many segments. When some of them are retransmitted, their bytes get an entry of
//! their own.

use super::{DirectionState, SAME_COUNTER};
use recoup_units::{Instant, Offset, Span};

/// The most entries kept.
const MOST_OUTSTANDING: usize = 1 << 17;

/// Entries whose segments are counted one by one.
const MOST_COUNTED: usize = 1024;

/// An outstanding packet, or outstanding bytes that were not captured.
#[derive(Clone, Copy, Debug)]
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
    pub captured: bool,
}

/// What distinguishes the copies of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentPacket {
    pub at: Instant,
    pub ts: Option<u32>,
    pub ip_id: Option<u16>,
}

impl OutstandingPacket {
    /// A packet sent for the first time.
    pub(super) fn first(span: Span, sent: SentPacket) -> Self {
        Self {
            span,
            at: sent.at,
            last_sent_at: sent.at,
            ts: sent.ts,
            ip_id: sent.ip_id,
            copies: 0,
            captured: true,
        }
    }

    /// Bytes that were not captured; `sent` is the packet that revealed them.
    pub(super) fn uncaptured(span: Span, sent: SentPacket) -> Self {
        Self {
            captured: false,
            ..Self::first(span, sent)
        }
    }
}

impl DirectionState {
    #[inline]
    pub(super) fn push(&mut self, packet: OutstandingPacket) {
        // A peer that never acknowledges must not use unlimited memory.
        if self.outstanding.len() >= MOST_OUTSTANDING {
            self.outstanding.pop_front();
            self.acknowledged = self.acknowledged.saturating_sub(1);
        }
        self.outstanding.push_back(packet);
    }

    /// The index of the entry that holds `offset`, acknowledged or not.
    pub(super) fn outstanding_at(&self, offset: Offset) -> Option<usize> {
        let i = self.first_beyond(offset);
        (self.outstanding.get(i)?.span.start <= offset).then_some(i)
    }

    /// The index of the first entry that ends above `offset`.
    pub(super) fn first_beyond(&self, offset: Offset) -> usize {
        self.outstanding.partition_point(|f| f.span.end <= offset)
    }

    /// The number of outstanding segments of `mss` bytes.
    pub(super) fn segments_outstanding(&self, mss: u32) -> u32 {
        let outstanding = self.outstanding.range(self.acknowledged..);
        // Counting very many takes too long: each further entry counts as one segment.
        let rest = outstanding.len().saturating_sub(MOST_COUNTED) as u64;
        let counted = outstanding.take(MOST_COUNTED).map(|packet| {
            let left = packet.span.end.since(packet.span.start.max(self.una));
            left.div_ceil(mss.max(1).into())
        });
        u32::try_from(counted.sum::<u64>() + rest).unwrap_or(u32::MAX)
    }

    /// `span` was captured: its first copy or, if `again`, another one.
    pub(super) fn mark_sent(&mut self, span: Span, sent: SentPacket, again: bool) {
        let mut i = self.first_beyond(span.start);
        while self
            .outstanding
            .get(i)
            .is_some_and(|f| f.span.overlaps(span))
        {
            i = self.split_out(i, span);
            let packet = &mut self.outstanding[i];
            packet.copies = packet.copies.saturating_add(u16::from(again));
            packet.ts = sent.ts;
            packet.ip_id = sent.ip_id;
            packet.last_sent_at = sent.at;
            if !packet.captured {
                packet.captured = true;
                packet.at = sent.at;
                self.missing = self.missing.saturating_sub(packet.span.len());
            }
            i += 1;
        }
        while (self.outstanding.get(self.acknowledged))
            .is_some_and(|packet| packet.span.end <= self.una)
        {
            self.acknowledged += 1;
        }
    }

    /// Splits an entry at the ends of `span`. Returns the index of the part inside.
    fn split_out(&mut self, i: usize, span: Span) -> usize {
        let whole = self.outstanding[i];
        if span.covers(whole.span) || self.outstanding.len() + 2 > MOST_OUTSTANDING {
            return i;
        }
        let middle = Span::new(
            span.start.max(whole.span.start),
            span.end.min(whole.span.end),
        );
        let part = |span| OutstandingPacket { span, ..whole };
        self.outstanding[i] = part(middle);
        if middle.end < whole.span.end {
            self.outstanding
                .insert(i + 1, part(Span::new(middle.end, whole.span.end)));
            self.acknowledged += usize::from(i < self.acknowledged);
        }
        if whole.span.start < middle.start {
            self.outstanding
                .insert(i, part(Span::new(whole.span.start, middle.start)));
            self.acknowledged += usize::from(i < self.acknowledged);
            return i + 1;
        }
        i
    }
}

/// Whether a packet that fills a gap was sent after the packet that revealed the gap. If so, it is
/// a retransmission: originals are sent in order. `None` if nothing shows it.
pub(super) fn sent_after_gap(sent: SentPacket, gap: &OutstandingPacket) -> Option<bool> {
    if let (Some(ts), Some(revealed)) = (sent.ts, gap.ts) {
        return Some(ts.wrapping_sub(revealed).cast_signed() > 0);
    }
    let (id, revealed) = (sent.ip_id?, gap.ip_id?);
    let distance = id.wrapping_sub(revealed).cast_signed();
    let one_counter = id != 0 && revealed != 0 && distance.unsigned_abs() < SAME_COUNTER as u16;
    one_counter.then_some(distance > 0)
}
