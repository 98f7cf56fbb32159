//! Loss by counting: FACK and dupthresh.
//!
//! ```text
//! FACK:       enter when snd.fack − snd_una > dupthresh segments; then everything not SACKed that
//!             lies dupthresh or more segments below the highest SACK is lost
//! dupthresh:  a segment is lost when dupthresh segments above it are SACKed
//! ```
//! Sources: Mathis and Mahdavi, "Forward acknowledgment" (FACK); RFC 6675 §4 IsLost, counted in
//! segments; Linux `tcp_time_to_recover`, `tcp_update_scoreboard`, `tcp_update_reordering`.
//!
//! Reordering by more than dupthresh raises dupthresh to the distance seen, up to
//! [`MAX_DUPTHRESH`], and switches FACK off for good (Linux).

use crate::scoreboard::Scoreboard;
use recoup_units::Segments;

/// RFC 5681 §3.2: three duplicates.
pub const DUPTHRESH: Segments = Segments(3);

/// How far reordering can raise dupthresh (Linux's TCP_MAX_REORDERING).
pub const MAX_DUPTHRESH: Segments = Segments(127);

/// What a detector says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Enough evidence to enter recovery.
    pub recover: bool,
    /// Of the segments from `snd_una` on, this many are lost unless SACKed.
    pub lost: Segments,
}

/// The counting detector and what it has learned of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threshold {
    dupthresh: Segments,
    fack: bool,
    reordering_seen: bool,
}

impl Threshold {
    /// FACK with the standard threshold.
    pub const FACK: Self = Self {
        dupthresh: DUPTHRESH,
        fack: true,
        reordering_seen: false,
    };

    /// Segments of reordering tolerated.
    pub fn dupthresh(&self) -> Segments {
        self.dupthresh
    }

    /// Whether the distance to the highest SACK counts, holes included.
    pub fn uses_fack(&self) -> bool {
        self.fack
    }

    /// Whether this path was seen to reorder.
    pub fn reordering_seen(&self) -> bool {
        self.reordering_seen
    }

    /// Learns that a segment arrived `distance` segments late. What dupthresh tolerates leaves the
    /// detector as it is.
    pub fn on_reordering(&mut self, distance: Segments) {
        self.reordering_seen = true;
        if distance > self.dupthresh {
            self.fack = false;
            self.dupthresh = distance.min(MAX_DUPTHRESH);
        }
    }

    /// Judges the scoreboard.
    pub fn verdict(&self, board: &Scoreboard) -> Verdict {
        if board.sacked() == Segments::ZERO {
            return Verdict {
                recover: false,
                lost: Segments::ZERO,
            };
        }
        if self.fack {
            let lost = board.fack().saturating_sub(self.dupthresh);
            return Verdict {
                recover: lost > Segments::ZERO,
                lost,
            };
        }
        let lost = self.below_nth_sack(board);
        Verdict {
            recover: lost > Segments::ZERO,
            lost,
        }
    }

    /// How many segments lie below the dupthresh-th SACKed one from the top, if there is a hole
    /// among them.
    fn below_nth_sack(&self, board: &Scoreboard) -> Segments {
        if board.sacked() < self.dupthresh {
            return Segments::ZERO;
        }
        // Holes above the dupthresh-th SACK are few: each SACK passed shortens the way.
        let mut seen = 0;
        for (below, segment) in board.iter().enumerate().take(board.fack().0 as usize).rev() {
            seen += u32::from(segment.sacked);
            if seen == self.dupthresh.0 {
                return Segments(below as u32);
            }
        }
        Segments::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ack::Ack;
    use recoup_units::{Instant, Offset, Span};

    /// Ten segments of one byte each at offsets 1 to 10, those listed SACKed.
    fn board(sacked: &[u64]) -> Scoreboard {
        let mut board = Scoreboard::new(Offset(1));
        for i in 1..=10 {
            board.push(Instant::ZERO, Span::at(Offset(i), 1));
        }
        for &i in sacked {
            board.on_ack(&Ack::new(Offset(1), 0).with_blocks([Span::at(Offset(i), 1)]));
        }
        board
    }

    #[test]
    fn verdicts() {
        let dupthresh = Threshold {
            fack: false,
            ..Threshold::FACK
        };
        // (SACKed, lost by FACK, lost by dupthresh)
        let cases: [(&[u64], u32, u32); 7] = [
            (&[], 0, 0),
            (&[3], 0, 0),
            (&[4], 1, 0), // one SACK four up: three holes lie below, FACK takes the first
            (&[10], 7, 0),
            (&[2, 3, 4], 1, 1), // three SACKs above segment 1
            (&[2, 5, 9], 6, 1),
            (&[3, 4, 5, 6], 3, 3),
        ];
        for (sacked, fack, dup) in cases {
            let b = board(sacked);
            let verdict = |lost| Verdict {
                recover: lost > 0,
                lost: Segments(lost),
            };
            assert_eq!(
                Threshold::FACK.verdict(&b),
                verdict(fack),
                "FACK {sacked:?}"
            );
            assert_eq!(dupthresh.verdict(&b), verdict(dup), "dupthresh {sacked:?}");
        }
    }

    #[test]
    fn reordering_beyond_the_threshold_raises_it_and_ends_fack() {
        let mut t = Threshold::FACK;
        t.on_reordering(Segments(2));
        assert_eq!(
            (t.dupthresh(), t.uses_fack(), t.reordering_seen()),
            (Segments(3), true, true)
        );
        t.on_reordering(Segments(7));
        assert_eq!((t.dupthresh(), t.uses_fack()), (Segments(7), false));
        t.on_reordering(Segments(3));
        assert_eq!(t.dupthresh(), Segments(7));
        t.on_reordering(Segments(4000));
        assert_eq!(t.dupthresh(), MAX_DUPTHRESH);
    }
}
