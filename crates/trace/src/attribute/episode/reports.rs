//! Reports of ACKs beside the data they acknowledge.

use crate::cost::lost::causes::Answer;
use recoup_recovery::Ack;
use recoup_units::{Instant, Offset, Span};
use recoup_wire::SeqNumber;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The longest that any receiver may delay an ACK (RFC 5681 §4.2).
pub(super) const LONGEST_DELAY: Duration = Duration::from_millis(500);

/// Marks of an ACK beside the data it acknowledges.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckMarks {
    /// The timestamp that it echoes.
    pub echo: Option<u32>,
    /// Its own timestamp value and sequence number.
    pub ts: Option<(u32, SeqNumber)>,
    /// How many packets of its sender are missing just before it, if known.
    pub missing: Option<u16>,
    /// The capture may have cut SACK blocks from it.
    pub blocks_cut: bool,
}

/// Kind of `ack`, the first one of a retransmission of `span`. `missing`: packets of the receiver missing
/// before it.
pub(super) fn answer(ack: &Ack, span: Span, missing: Option<u16>) -> Answer {
    let is_duplicate = |block: &Span| block.end <= ack.cumulative && block.overlaps(span);
    match missing {
        Some(0) => Answer::InSequence,
        Some(_) => Answer::AfterMissing,
        None if ack.blocks().iter().any(is_duplicate) => Answer::Unknown,
        None => Answer::NoDuplicate,
    }
}

/// A time in which the receiver answered nothing: no IP identification is missing between its packets before and after.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Silence {
    pub from: Instant,
    pub until: Instant,
}

impl Silence {
    /// Whether it covers the time in which a copy would have been answered that is usually answered at `due`.
    pub fn covers_answer(&self, due: Instant) -> bool {
        self.from < due && due + LONGEST_DELAY < self.until
    }
}

/// Reports of the receiver about data above its cumulative ACKs.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct ReportsAbove {
    /// The highest byte that a SACK block has reported, and when one did first.
    pub highest: Offset,
    pub at: Instant,
    /// The largest SACK block since the cumulative ACK advanced, in bytes.
    pub largest: u64,
    /// Duplicate ACKs since the cumulative ACK advanced.
    duplicates: u8,
    /// The last ACK: its number and window.
    last: (Offset, u64),
}

impl ReportsAbove {
    pub fn on_ack(&mut self, at: Instant, una: Offset, ack: &Ack, without_sack: bool) {
        if ack.cumulative > self.last.0 {
            self.largest = 0;
            self.duplicates = 0;
        }
        for block in ack.blocks() {
            if block.start > ack.cumulative {
                self.largest = self.largest.max(block.len());
            }
            if block.end > self.highest {
                (self.highest, self.at) = (block.end, at);
            }
        }
        let this = (ack.cumulative, ack.window);
        let repeated = without_sack && this == self.last && !ack.carries_data;
        // A duplicate ACK reports some byte above (RFC 5681 §3.2).
        if repeated && ack.cumulative >= una {
            self.duplicates = self.duplicates.saturating_add(1);
            let above = ack.cumulative + 1;
            if above > self.highest {
                (self.highest, self.at) = (above, at);
            }
        }
        self.last = this;
    }

    /// Whether as much was reported above a segment as shows its loss (RFC 6675 §2: DupThresh segments). Without SACK, duplicate
    /// ACKs report it of the segment at `acked`.
    pub fn are_many(&self, segment: Span, acked: Offset) -> bool {
        let by_blocks = self.highest.0 >= segment.end.0.saturating_add(3 * segment.len());
        by_blocks || (self.duplicates >= 3 && segment.start == acked)
    }

    /// Whether something sent after the byte at `start` was reported.
    pub fn is_above(&self, start: Offset) -> bool {
        self.highest > start
    }
}
