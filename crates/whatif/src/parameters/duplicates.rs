//! The duplicate ACKs since `snd_una` last advanced, and which of them is the D-th.
//!
//! Without SACK, they are counted (RFC 5681 §2). With SACK, what they report counts, as the sender's rule has it:
//!
//! ```text
//! SACKed segments, IsLost   segments SACKed above snd_una, a part of one counted as one    RFC 6675 §4
//! FACK                      segments from snd_una to the highest SACK, less the first      Linux 2.4, 3.17
//! ```
//! Time-based detection (RACK) counts as SACKed segments, as it does before it has seen reordering (RFC 8985
//! §6.2 step 4).

use crate::record::{Record, Seen};
use recoup_recovery::{Mechanisms, detect::LossRule};
use recoup_units::{Instant, Offset, Segments, Span};

/// Duplicate ACKs beyond this number decide nothing.
const MOST: usize = 1000;

/// The most ranges of reported data that are kept apart.
const MOST_RANGES: usize = 64;

#[derive(Clone, Debug, Default)]
pub(super) struct Duplicates {
    /// When each arrived, and what had been counted by then.
    arrivals: Vec<(Instant, u64)>,
    /// Ranges reported above `snd_una`, in order and apart.
    reported: Vec<Span>,
    uses_sack: bool,
    counts_to_highest: bool,
    segment_size: u64,
    /// The right edge of the window last announced.
    edge: Option<Offset>,
}

impl Duplicates {
    pub fn new(mechanisms: &Mechanisms, record: &Record) -> Self {
        Self {
            uses_sack: mechanisms.sack,
            counts_to_highest: mechanisms.detection.rule == LossRule::Fack,
            segment_size: record.agreed.segment_size.into(),
            ..Self::default()
        }
    }

    pub fn is_empty(&self) -> bool {
        self.arrivals.is_empty()
    }

    /// When D was reached, if it was.
    pub fn reaches(&self, dupthresh: Segments) -> Option<Instant> {
        let wanted = u64::from(dupthresh.0);
        let reached = self.arrivals.iter().find(|(_, count)| *count >= wanted);
        reached.map(|(at, _)| *at)
    }

    /// When the first of them arrived.
    pub fn first(&self) -> Option<Instant> {
        self.arrivals.first().map(|(at, _)| *at)
    }

    /// The most that was counted.
    pub fn most(&self) -> u32 {
        let most = self.arrivals.iter().map(|(_, count)| *count).max();
        most.map_or(0, |most| u32::try_from(most).unwrap_or(u32::MAX))
    }

    /// The sender received a packet, when `una` was its lowest unacknowledged offset.
    pub fn take(&mut self, packet: &Seen, una: Offset) {
        let acknowledged = packet.ack.filter(|ack| *ack > una);
        if let Some(ack) = acknowledged {
            self.arrivals.clear();
            self.reported.retain(|span| span.end > ack);
        }
        let una = acknowledged.unwrap_or(una);
        let blocks = if self.uses_sack { packet.sack.as_slice() } else { &[] };
        let mut reports = false;
        for block in blocks.iter().filter(|block| block.start > una && !block.is_empty()) {
            reports = true;
            self.add_reported(*block);
        }
        let is_bare = packet.span.is_empty() && packet.ack == Some(una);
        let is_plain = blocks.is_empty() && packet.edge == self.edge;
        let is_duplicate = is_bare && acknowledged.is_none() && (reports || is_plain);
        if is_duplicate && self.arrivals.len() < MOST {
            let count = if reports { self.count_reported(una) } else { self.arrivals.len() as u64 + 1 };
            self.arrivals.push((packet.at, count));
        }
        self.edge = packet.edge.or(self.edge);
    }

    fn add_reported(&mut self, block: Span) {
        let from = self.reported.partition_point(|span| span.end < block.start);
        let to = self.reported.partition_point(|span| span.start <= block.end);
        let merged = self.reported[from..to]
            .iter()
            .fold(block, |all, span| Span::new(all.start.min(span.start), all.end.max(span.end)));
        self.reported.splice(from..to, [merged]);
        if self.reported.len() > MOST_RANGES {
            self.reported.remove(0);
        }
    }

    fn count_reported(&self, una: Offset) -> u64 {
        // A FIN takes up an offset, and is no segment of its own.
        let size = self.segment_size.max(1);
        let segments = |len: u64| len.saturating_sub(1).div_ceil(size).max(1);
        if self.counts_to_highest {
            let highest = self.reported.last().map_or(una, |span| span.end);
            segments(highest.since(una)).saturating_sub(1)
        } else {
            self.reported.iter().map(|span| segments(span.len())).sum()
        }
    }

    /// These duplicate ACKs of `una`, and those after packet `number`.
    pub fn with_later(&self, record: &Record, number: usize, una: Offset) -> Self {
        let mut all = self.clone();
        let later = record.packets.get(number + 1..).unwrap_or_default();
        for packet in later.iter().filter(|packet| !packet.is_sent) {
            if packet.ack.is_some_and(|ack| ack > una) || all.arrivals.len() >= MOST {
                break;
            }
            all.take(packet, una);
        }
        all
    }
}
