//! Matches the packets of a rerun with the transmissions of the capture.

use crate::recorded::Recorded;
use recoup_units::Span;

/// How often each part of the stream was transmitted in a rerun.
#[derive(Clone, Debug, Default)]
pub(super) struct Copies {
    /// By the pieces of the capture.
    sent: Vec<u16>,
    /// The piece that was matched last, near which the next one is likely.
    near: usize,
}

/// A packet of a rerun, matched.
#[derive(Clone, Copy, Debug)]
pub(super) struct MatchedCopy {
    /// 1 for the first transmission of its first offset.
    pub copy: u16,
    /// The transmission of the capture; `None`: the capture has none.
    pub index: Option<usize>,
}

impl Copies {
    /// Nothing was sent yet.
    pub fn begin(&mut self, recorded: &Recorded) {
        self.sent.clear();
        self.sent.resize(recorded.pieces.len(), 0);
        self.near = 0;
    }

    /// `span` is transmitted. The segments of a rerun need not have the same limits as those of the capture, so
    /// new data counts once for each part, however many segments it takes.
    pub fn send(&mut self, recorded: &Recorded, span: Span, is_new: bool) -> MatchedCopy {
        let pieces = &recorded.pieces;
        let first = recoup_units::partition_point_near(pieces.len(), self.near, |i| pieces[i].span.end <= span.start);
        self.near = first;
        let mut matched = MatchedCopy { copy: 1, index: None };
        for (i, piece) in pieces.iter().enumerate().skip(first) {
            if piece.span.start >= span.end {
                break;
            }
            let sent = &mut self.sent[i];
            *sent = if is_new { 1 } else { sent.saturating_add(1) };
            if i == first {
                matched.copy = *sent;
                matched.index = piece.transmission(*sent);
            }
        }
        matched
    }
}
