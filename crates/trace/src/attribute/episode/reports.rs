//! Reports of ACKs beside the data they acknowledge.

use crate::cost::lost::causes::Answer;
use recoup_recovery::Ack;
use recoup_units::{Instant, Offset, Span};
use recoup_wire::SeqNumber;
use serde::{Deserialize, Serialize};

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

/// Reports of the receiver about data above its cumulative ACKs.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct ReportsAbove {
    /// The highest byte that a SACK block has reported, and when one did first.
    pub highest: Offset,
    pub at: Instant,
    /// The largest SACK block since the cumulative ACK advanced, in bytes.
    pub largest: u64,
    /// The last ACK: its number and window.
    last: (Offset, u64),
}

impl ReportsAbove {
    pub fn on_ack(&mut self, at: Instant, una: Offset, ack: &Ack, without_sack: bool) {
        if ack.cumulative > self.last.0 {
            self.largest = 0;
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
            let above = ack.cumulative + 1;
            if above > self.highest {
                (self.highest, self.at) = (above, at);
            }
        }
        self.last = this;
    }

    /// Whether something sent after the byte at `start` was reported.
    pub fn is_above(&self, start: Offset) -> bool {
        self.highest > start
    }
}
