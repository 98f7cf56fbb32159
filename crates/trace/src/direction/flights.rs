//! The packets of a direction that are outstanding, or were a moment ago, each with what is known of
//! its copies.
//!
//! They follow each other without a gap: what was not captured has an entry too. A host that leaves the
//! cutting to its network card sends many segments in one packet; where some of them go again, their
//! bytes get an entry of their own.

use super::{Direction, SAME_COUNTER};
use recoup_units::{Instant, Offset, Span};

/// Packets outstanding that are remembered.
const MOST_FLIGHTS: usize = 1 << 17;

/// Entries of which the segments are counted one by one.
const COUNTED: usize = 1024;

/// A packet outstanding, or bytes outstanding that were not captured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flight {
    pub span: Span,
    /// When it was first sent; for what was not captured, the packet that revealed it.
    pub at: Instant,
    /// When its last copy was.
    pub last: Instant,
    /// The timestamp of the last copy.
    pub ts: Option<u32>,
    /// The identification of the last copy.
    pub ip_id: Option<u16>,
    /// Retransmissions of it.
    pub copies: u16,
    /// It was captured.
    pub seen: bool,
}

/// A packet, as far as its copies are told apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sending {
    pub at: Instant,
    pub ts: Option<u32>,
    pub ip_id: Option<u16>,
}

impl Flight {
    /// Sent once.
    pub(super) fn first(span: Span, sending: Sending) -> Self {
        Self {
            span,
            at: sending.at,
            last: sending.at,
            ts: sending.ts,
            ip_id: sending.ip_id,
            copies: 0,
            seen: true,
        }
    }

    /// Never seen, but known by what `sending` tells.
    pub(super) fn unseen(span: Span, sending: Sending) -> Self {
        Self {
            seen: false,
            ..Self::first(span, sending)
        }
    }
}

impl Direction {
    #[inline]
    pub(super) fn push(&mut self, flight: Flight) {
        // A peer that never acknowledges must not cost memory without end.
        if self.flights.len() >= MOST_FLIGHTS {
            self.flights.pop_front();
            self.settled = self.settled.saturating_sub(1);
        }
        self.flights.push_back(flight);
    }

    /// The index of the packet, acknowledged or not, that holds `offset`.
    pub(super) fn flight_at(&self, offset: Offset) -> Option<usize> {
        let i = self.first_beyond(offset);
        (self.flights.get(i)?.span.start <= offset).then_some(i)
    }

    /// The index of the first packet that ends above `offset`.
    fn first_beyond(&self, offset: Offset) -> usize {
        self.flights.partition_point(|f| f.span.end <= offset)
    }

    /// Segments of `mss` bytes outstanding.
    pub(super) fn segments_outstanding(&self, mss: u32) -> u32 {
        let outstanding = self.flights.range(self.settled..);
        // It takes too long to look at very many.
        let rest = outstanding.len().saturating_sub(COUNTED) as u64;
        let counted = outstanding.take(COUNTED).map(|flight| {
            let left = flight.span.end.since(flight.span.start.max(self.una));
            left.div_ceil(mss.max(1).into())
        });
        u32::try_from(counted.sum::<u64>() + rest).unwrap_or(u32::MAX)
    }

    /// `span` was seen, as its first copy or, `again`, another.
    pub(super) fn fill(&mut self, span: Span, sending: Sending, again: bool) {
        let mut i = self.first_beyond(span.start);
        while self.flights.get(i).is_some_and(|f| f.span.overlaps(span)) {
            i = self.cut_out(i, span);
            let flight = &mut self.flights[i];
            flight.copies = flight.copies.saturating_add(u16::from(again));
            flight.ts = sending.ts;
            flight.ip_id = sending.ip_id;
            flight.last = sending.at;
            if !flight.seen {
                flight.seen = true;
                flight.at = sending.at;
                self.missing = self.missing.saturating_sub(flight.span.len());
            }
            i += 1;
        }
        while (self.flights.get(self.settled)).is_some_and(|flight| flight.span.end <= self.una) {
            self.settled += 1;
        }
    }

    /// Cuts what `span` covers of the packet out of it, and returns where it is.
    fn cut_out(&mut self, i: usize, span: Span) -> usize {
        let whole = self.flights[i];
        if span.covers(whole.span) || self.flights.len() + 2 > MOST_FLIGHTS {
            return i;
        }
        let middle = Span::new(
            span.start.max(whole.span.start),
            span.end.min(whole.span.end),
        );
        let part = |span| Flight { span, ..whole };
        self.flights[i] = part(middle);
        if middle.end < whole.span.end {
            self.flights
                .insert(i + 1, part(Span::new(middle.end, whole.span.end)));
            self.settled += usize::from(i < self.settled);
        }
        if whole.span.start < middle.start {
            self.flights
                .insert(i, part(Span::new(whole.span.start, middle.start)));
            self.settled += usize::from(i < self.settled);
            return i + 1;
        }
        i
    }
}

/// Whether a packet that fills a gap was sent after the packet that revealed the gap, and so is a
/// retransmission: originals are sent in order. `None`: nothing tells.
pub(super) fn later_than(sending: Sending, gap: &Flight) -> Option<bool> {
    if let (Some(ts), Some(revealed)) = (sending.ts, gap.ts) {
        return Some(ts.wrapping_sub(revealed).cast_signed() > 0);
    }
    let (id, revealed) = (sending.ip_id?, gap.ip_id?);
    let distance = id.wrapping_sub(revealed).cast_signed();
    let one_counter = id != 0 && revealed != 0 && distance.unsigned_abs() < SAME_COUNTER as u16;
    one_counter.then_some(distance > 0)
}
