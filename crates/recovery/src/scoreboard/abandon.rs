//! Segments that are not repeated.
//!
//! A segment given up counts as if it were SACKed: it has left the network, and nothing waits for it. Only lost
//! segments are given up, so there is evidence above each of them already. The earliest outstanding segment
//! is never one given up: `snd_una` passes those at once.

use super::{Scoreboard, SentSegment};
use crate::ack::AckSummary;
use recoup_units::{Instant, Span};

impl Scoreboard {
    /// Numbers packets instead of bytes: each is acknowledged by itself, and `snd_una` passes those that are.
    pub(crate) fn number_packets(&mut self) {
        self.numbers_packets = true;
        self.passes_settled = true;
    }

    /// Whether packets are numbered, instead of bytes.
    pub fn numbers_packets(&self) -> bool {
        self.numbers_packets
    }

    /// Whether a segment may have been given up, or packets are numbered.
    pub(crate) fn gives_up(&self) -> bool {
        self.passes_settled
    }

    /// Notes that no outstanding segment inside `span` is to be retransmitted. A segment in flight stays in the pipe
    /// until it is acknowledged or lost.
    pub(crate) fn abandon(&mut self, span: Span) {
        self.passes_settled = true;
        let mut i = self.index_of(span.start);
        while let Some(segment) = self.segments.get_mut(i)
            && segment.span.start < span.end
        {
            segment.abandoned |= span.covers(segment.span);
            i += 1;
        }
    }

    /// Gives up the first lost segment, and returns it as it was.
    pub(crate) fn give_up_lost(&mut self) -> Option<SentSegment> {
        let id = self.segments.lowest_waiting_id()?;
        let i = (id - self.segments.id(0)) as usize;
        self.segments.stop_waiting(id);
        let lost = self.segments[i];
        let segment = &mut self.segments[i];
        segment.lost = false;
        segment.sacked = true;
        segment.abandoned = true;
        segment.set_run(1);
        self.lost -= 1;
        self.sacked += 1;
        self.passes_settled = true;
        self.count_above(i);
        self.fack = self.fack.max(i as u32 + 1);
        self.pass_settled(Instant::ZERO, &mut AckSummary::default());
        self.settle();
        Some(lost)
    }

    /// Moves `snd_una` past the segments that nothing waits for.
    pub(super) fn pass_settled(&mut self, plausible: Instant, summary: &mut AckSummary) {
        while let Some(first) = self.segments.front()
            && first.sacked
            && (first.abandoned || self.numbers_packets)
        {
            self.advance(first.span.end, self.fack, plausible, summary, &mut |_| ());
        }
    }
}
