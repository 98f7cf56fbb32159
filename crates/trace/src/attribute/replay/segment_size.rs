//! Segments that are retransmitted in smaller parts: the path MTU fell, or a probe for a larger one failed.
//!
//! The capture need not hold the ICMP message. What it shows instead: a segment is retransmitted in parts, one
//! after another, although a timeout retransmits one part alone.
//!
//! - If the segments sent after it are as large, the path MTU has just fallen.
//! - If it alone is larger, and the next ones have the size of the parts, it was a path MTU probe.
//! - If the sender is in slow start after a timeout, its segments became smaller before: Linux reduces them
//!   after repeated timeouts (`tcp_mtu_probing`).
//!
//! After the path MTU fell, everything larger is lost to the engine, and it names the retransmissions.
//!
//! Source: RFC 1191 §6.4; RFC 4821 §7.6; Linux 6.12 `tcp_simple_retransmit`, `tcp_mtu_probe`.

use super::{PROMPT, Replay, Step};
use recoup_recovery::{SentSegment, State};
use recoup_units::{Instant, Offset, Span};
use serde::{Deserialize, Serialize};

/// Segments walked per recording in order to cut some: each cut is a walk over everything outstanding.
const MOST_WALKED: usize = 1 << 16;

/// No path MTU permits fewer bytes of payload (Linux `TCP_MIN_SND_MSS`).
const LEAST_SIZE: u64 = 48;

/// Segments looked at to learn which size was in use just before, or is just after.
const FEW: usize = 3;

/// Segments after the first part among which another one of its size is searched.
const MOST_AHEAD: usize = 16;

/// Segments after the retransmitted one among which a probe is searched.
const MOST_SEARCHED: usize = 64;

/// The sizes of a sender's segments, as a replay learns them.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct SegmentSizes {
    /// The payload of the parts that were retransmitted, in bytes, until new segments are larger again.
    parts: u64,
    /// How many new segments in a row were larger.
    larger: u8,
    walked: usize,
}

impl Default for SegmentSizes {
    fn default() -> Self {
        Self { parts: u64::MAX, larger: 0, walked: 0 }
    }
}

impl SegmentSizes {
    /// A segment of new data was sent.
    pub fn on_new(&mut self, len: u64) {
        self.larger = if len > self.parts.saturating_add(1) { self.larger + 1 } else { 0 };
        // One alone may be a path MTU probe.
        if self.larger == 2 {
            self.parts = u64::MAX;
            self.larger = 0;
        }
    }
}

impl Replay {
    /// `part` is retransmitted. If it is only a part of an outstanding segment, finds out why. `sack_bytes`: what SACK
    /// blocks took of its packet, which is as large as the segment's was.
    pub fn on_smaller_segment(&mut self, at: Instant, part: Span, sack_bytes: u8, ahead: &[Step]) {
        let board = self.sender.board();
        let (Some(&first), Some(&last)) =
            (board.segment_at(part.start), board.segment_at(Offset(part.end.0.saturating_sub(1))))
        else {
            return;
        };
        // Without its FIN a segment is not smaller.
        let smaller = part.start > first.span.start || part.end + 1 < last.span.end;
        // With other boundaries than before, a segment as large is none of its parts.
        let shifted = first.span != last.span && part.len() + 1 >= first.span.len().max(last.span.len());
        if !smaller || shifted || part.len() < LEAST_SIZE || self.sizes.walked > MOST_WALKED {
            return;
        }
        self.sizes.walked += board.iter().len();
        let is_first_part = part.start == first.span.start && part.end + 1 < first.span.end;
        let has_full_size = part.end + 1 + u64::from(sack_bytes) >= first.span.end;
        if is_first_part && !has_full_size {
            let size = u32::try_from(part.len()).unwrap_or(u32::MAX);
            let is_news = part.len() < self.sizes.parts;
            self.sizes.parts = part.len().min(self.sizes.parts);
            let rest_follows = rest_follows(at, part, ahead) && (!self.away || is_largest(part.len(), ahead));
            if rest_follows && self.is_probe(&first, part) {
                return self.sender.on_mtu_probe_lost(at, size);
            }
            if rest_follows && is_news && !self.was_smaller_before(&first, part) {
                return self.sender.on_path_mtu(at, size);
            }
            self.find_probe(part);
        }
        self.sender.split_segment(part.start);
        self.sender.split_segment(part.end);
    }

    /// Whether the earliest outstanding segment alone is larger than `part`.
    fn is_probe(&self, whole: &SentSegment, part: Span) -> bool {
        let board = self.sender.board();
        let mut next = board.iter().skip(1).take(2);
        whole.span.start == board.una()
            && self.sender.may_fail_probe()
            && next.len() == 2
            && next.all(|segment| segment.span.len() == part.len())
    }

    /// Whether the sender's segments had the size of `part` before this retransmission.
    fn was_smaller_before(&self, whole: &SentSegment, part: Span) -> bool {
        let waits = whole.wants_retransmission();
        if waits && self.sender.state() == State::Loss {
            return true;
        }
        let others = self.sender.board().iter().rev().take(FEW);
        let mut others = others.filter(|segment| segment.span != whole.span).peekable();
        waits && others.peek().is_some() && others.all(|s| s.span.len() <= part.len() + 1)
    }

    /// Finds an outstanding path MTU probe: larger than `part`, while the next segments are as large.
    fn find_probe(&mut self, part: Span) {
        let size = part.len();
        let board = self.sender.board();
        let later = board.overlapping(Span::new(part.end, board.nxt()));
        let later: Vec<Span> = later.take(MOST_SEARCHED).map(|s| s.span).collect();
        let is_probe = |spans: &&[Span]| {
            spans[0].start >= part.end && spans[0].len() > size + 1 && spans[1..].iter().all(|span| span.len() == size)
        };
        if let Some(probe) = later.windows(3).find(is_probe) {
            self.sender.note_mtu_probe(probe[0].end);
        }
    }
}

/// Whether none of the next segments is longer than `size`, and one is as long. Away from the sender, the capture does
/// not show how lost bytes were divided into segments, so parts alone prove nothing.
fn is_largest(size: u64, ahead: &[Step]) -> bool {
    let sent = ahead.iter().filter_map(|step| match step {
        Step::Sent { span, .. } => Some(span.len()),
        Step::Heard(_) | Step::PathMtu { .. } => None,
    });
    let sizes = || sent.clone().take(MOST_AHEAD);
    sizes().take(FEW).all(|len| len <= size + 1) && sizes().any(|len| len == size)
}

/// Whether the rest of the segment follows `part` at once.
fn rest_follows(at: Instant, part: Span, ahead: &[Step]) -> bool {
    match ahead.first() {
        Some(Step::Sent { at: then, span, .. }) => span.start == part.end && then.since(at) <= PROMPT,
        _ => false,
    }
}
