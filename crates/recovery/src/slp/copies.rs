//! The one copy a window may have, and the answers to earlier ones that are still to come.

use recoup_units::{Instant, Offset, Segments, Span};
use std::time::Duration;

/// How far a copy has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// It waits for its gap to pass.
    Paced(Instant),
    /// The gap has passed: it goes now or never.
    Due,
    /// It was sent, so long after its original.
    Sent(Duration),
    /// It was sent, and its segment is lost: so may the copy be.
    Lost,
}

/// Copies sent whose arrival can still be reported. The report of one comes a gap after the
/// acknowledgment that permits the next, so that few are ever due.
const ANSWERS: usize = 4;

/// A copy whose arrival may be reported.
#[derive(Clone, Copy, Debug, Default)]
struct Unanswered {
    span: Span,
    /// `snd_nxt` when it was sent: its receiver acknowledged no more when it arrived.
    nxt: Offset,
}

/// What a sender remembers of its copies.
#[derive(Clone, Copy, Debug, Default)]
pub struct Copies {
    /// What is not acknowledged of the copied segment: from dup_seq, dup_bytes long.
    current: Option<(Span, Phase)>,
    /// Copies no answer has come for yet; those of empty spans are none.
    unanswered: [Unanswered; ANSWERS],
    /// Where the next one goes.
    turn: u8,
}

impl Copies {
    /// Whether another copy may be planned: none waits, and none sent is unacknowledged.
    pub fn is_free(&self) -> bool {
        self.current.is_none()
    }

    /// What is not acknowledged of the segment copied or to be copied.
    pub fn segment(&self) -> Option<Span> {
        self.current.map(|(span, _)| span)
    }

    /// What the copy takes of the congestion window, in segments.
    pub fn room(&self) -> Segments {
        match self.current {
            None | Some((_, Phase::Lost)) => Segments::ZERO,
            Some(_) => Segments::ONE,
        }
    }

    /// A copy of `span` is to go at `at`.
    pub fn plan(&mut self, span: Span, at: Instant) {
        self.current = Some((span, Phase::Paced(at)));
    }

    /// When the copy is to go, if one waits.
    pub fn deadline(&self) -> Option<Instant> {
        match self.current {
            Some((_, Phase::Paced(at))) => Some(at),
            _ => None,
        }
    }

    /// The gap has passed.
    pub fn on_expiry(&mut self) {
        if let Some((_, phase @ Phase::Paced(_))) = &mut self.current {
            *phase = Phase::Due;
        }
    }

    /// The copy that is to go now.
    pub fn due(&self) -> Option<Span> {
        match self.current {
            Some((span, Phase::Due)) => Some(span),
            _ => None,
        }
    }

    /// The moment of a copy that was due is over.
    pub fn drop_due(&mut self) {
        if self.due().is_some() {
            self.current = None;
        }
    }

    /// How long after its original the copy was sent, unless they are taken for lost.
    pub fn sent_after(&self) -> Option<Duration> {
        match self.current {
            Some((_, Phase::Sent(after))) => Some(after),
            _ => None,
        }
    }

    /// A copy of `span` was sent, so long `after` its original, the stream having been sent to `nxt`.
    pub fn on_sent(&mut self, span: Span, after: Duration, nxt: Offset) {
        self.current = Some((span, Phase::Sent(after)));
        self.expect_answer(span, nxt);
    }

    /// What was sent beside its original may be reported.
    pub fn expect_answer(&mut self, span: Span, nxt: Offset) {
        self.unanswered[usize::from(self.turn)] = Unanswered { span, nxt };
        self.turn = (self.turn + 1) % ANSWERS as u8;
    }

    /// Everything below `una` is acknowledged.
    pub fn on_una(&mut self, una: Offset) {
        if let Some((span, phase)) = &mut self.current
            && una > span.start
        {
            let waits = matches!(phase, Phase::Paced(_) | Phase::Due);
            span.start = una.min(span.end);
            if span.is_empty() || waits {
                self.current = None;
            }
        }
    }

    /// The original is SACKed, or was retransmitted: a copy that waits is not needed.
    pub fn drop_waiting(&mut self) {
        if let Some((_, Phase::Paced(_) | Phase::Due)) = self.current {
            self.current = None;
        }
    }

    /// The original is taken as lost: it will be retransmitted, in place of a copy that waits; one that
    /// was sent is taken as lost with it.
    pub fn on_original_lost(&mut self) {
        self.drop_waiting();
        if let Some((_, phase)) = &mut self.current {
            *phase = Phase::Lost;
        }
    }

    /// Whether `duplicate`, reported by DSACK, is a copy that arrived beside its original. Each copy
    /// explains one.
    pub fn explains(&mut self, duplicate: Span) -> bool {
        self.answer(|copy| copy.span.covers(duplicate))
    }

    /// Whether a copy may have drawn a duplicate ACK of `una` that says no more: one of something below,
    /// sent when nothing above had been. Each copy explains one.
    pub fn explains_duplicate_ack(&mut self, una: Offset) -> bool {
        self.answer(|copy| (copy.span.end..=copy.nxt).contains(&una))
    }

    fn answer(&mut self, is_of: impl Fn(&Unanswered) -> bool) -> bool {
        let mut copies = self.unanswered.iter_mut();
        let found = copies.find(|copy| !copy.span.is_empty() && is_of(copy));
        found.map(std::mem::take).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: Duration = Duration::from_millis(5);

    fn span(a: u64, b: u64) -> Span {
        Span::new(Offset(a), Offset(b))
    }

    fn sent(span: Span) -> Copies {
        let mut copies = Copies::default();
        copies.plan(span, Instant::from_millis(1));
        copies.on_expiry();
        assert_eq!(copies.due(), Some(span));
        copies.on_sent(span, GAP, span.end);
        copies
    }

    #[test]
    fn acknowledgments_shrink_what_counts_as_copied() {
        // (ACK, what is left of 100..200)
        for (una, left) in [
            (50, Some(span(100, 200))),
            (100, Some(span(100, 200))),
            (101, Some(span(101, 200))),
            (199, Some(span(199, 200))),
            (200, None),
            (900, None),
        ] {
            let mut copies = sent(span(100, 200));
            copies.on_una(Offset(una));
            assert_eq!(copies.segment(), left, "{una}");
            assert_eq!(copies.is_free(), left.is_none());
        }
    }

    #[test]
    fn a_copy_that_waits_is_dropped_with_its_reason() {
        let causes: [fn(&mut Copies); 4] = [
            |c| c.on_una(Offset(101)),
            Copies::drop_waiting,
            Copies::on_original_lost,
            |c| {
                c.on_expiry();
                c.drop_due();
            },
        ];
        for cause in causes {
            let mut copies = Copies::default();
            copies.plan(span(100, 200), Instant::from_millis(1));
            assert_eq!(copies.room(), Segments::ONE);
            cause(&mut copies);
            assert!(copies.is_free());
            assert_eq!(copies.room(), Segments::ZERO);
            assert!(!copies.explains(span(100, 200)), "none was sent");
        }
    }

    #[test]
    fn a_lost_copy_takes_no_room_but_lets_no_other_go() {
        let mut copies = sent(span(100, 200));
        copies.drop_waiting();
        assert_eq!(copies.room(), Segments::ONE, "it is out");
        copies.on_original_lost();
        assert_eq!(copies.room(), Segments::ZERO);
        assert!(!copies.is_free());
    }

    #[test]
    fn each_copy_explains_one_duplicate() {
        let mut copies = sent(span(100, 200));
        copies.on_una(Offset(200));
        copies.on_sent(span(200, 300), GAP, Offset(300));
        assert!(!copies.explains(span(200, 301)), "more than was copied");
        assert!(copies.explains(span(100, 200)));
        assert!(!copies.explains(span(100, 200)), "again");
        assert!(copies.explains(span(250, 300)), "a part");

        // Sent when the stream had been sent to 500.
        for (una, explained) in [(199, false), (200, true), (500, true), (501, false)] {
            let mut copies = Copies::default();
            copies.on_sent(span(100, 200), GAP, Offset(500));
            assert_eq!(copies.explains_duplicate_ack(Offset(una)), explained);
            assert!(!copies.explains_duplicate_ack(Offset(una)), "again");
        }
    }
}
