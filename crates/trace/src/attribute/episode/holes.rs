//! The holes that a receiver reports, each with the round trip of the first segment above it.

use crate::{cost::queue::RttBeside, memory::HeapSize, verdict::SentSegments};
use recoup_recovery::Ack;
use recoup_units::{Instant, Offset, Span};
use serde::{Deserialize, Serialize};

/// Holes kept; beyond, the lowest are forgotten.
const MOST_HOLES: usize = 128;

/// The holes of one direction that are not acknowledged, the lowest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Holes {
    /// Each with a round trip in µs.
    holes: Vec<(Span, u32)>,
    /// The end of what was reported.
    reported_to: Offset,
}

impl Holes {
    /// Forgets all holes, keeping memory.
    pub fn clear(&mut self) {
        self.holes.clear();
        self.reported_to = Offset(0);
    }

    /// Its memory on the heap, in bytes.
    pub fn heap_size(&self) -> usize {
        self.holes.heap_size()
    }

    /// Takes the SACK blocks of an ACK. `sent` finds the segments that they report.
    #[inline]
    pub fn on_ack(&mut self, at: Instant, ack: &Ack, sent: SentSegments<'_>) {
        if ack.blocks().iter().any(|block| block.end > self.reported_to && block.start > ack.cumulative) {
            self.on_new_reports(at, ack, sent);
        }
    }

    #[cold]
    fn on_new_reports(&mut self, at: Instant, ack: &Ack, sent: SentSegments<'_>) {
        if self.reported_to < ack.cumulative {
            self.holes.clear();
            self.reported_to = ack.cumulative;
        }
        let is_new = |block: &&Span, to: Offset| block.end > to && block.start > ack.cumulative;
        // An ACK that follows lost ones reports several.
        while let Some(block) =
            ack.blocks().iter().filter(|block| is_new(block, self.reported_to)).min_by_key(|block| block.start)
        {
            if block.start > self.reported_to
                && let Some(first) = sent(block.start)
            {
                let micros = at.since(first.copy.at.min(at)).as_micros();
                if self.holes.len() >= MOST_HOLES {
                    self.holes.remove(0);
                }
                let hole = Span::new(self.reported_to, block.start);
                self.holes.push((hole, u32::try_from(micros).unwrap_or(u32::MAX)));
            }
            self.reported_to = block.end;
        }
    }

    /// The round trip beside the byte at `offset`. `before`: that of the last segment acknowledged before it, in µs.
    pub fn rtt_beside(&self, offset: Offset, before: Option<u32>) -> RttBeside {
        let i = self.holes.partition_point(|(hole, _)| hole.end <= offset);
        match (self.holes.get(i), before) {
            (Some((hole, micros)), _) if hole.contains(offset) => RttBeside::Exactly(*micros),
            (_, Some(micros)) => RttBeside::AtMost(micros),
            _ => RttBeside::Unknown,
        }
    }
}
