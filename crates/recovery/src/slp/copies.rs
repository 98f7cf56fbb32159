//! The one copy allowed per window, and earlier copies whose DSACK or duplicate ACK may still arrive.

use core::time::Duration;
use recoup_units::{Instant, Offset, Segments, Span};

/// The state of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum Phase {
    /// The copy waits until this instant, the end of its gap.
    Paced(Instant),
    /// The gap has ended: the copy is sent now or dropped.
    Due,
    /// The copy was sent this long after its original.
    Sent(Duration),
    /// The copy was sent, and its segment was then marked lost; the copy may be lost too.
    Lost,
}

/// How many unanswered copies are remembered. The report of a copy comes one gap after the ACK that
/// permits the next copy, so few are ever unanswered at once.
const ANSWERS: usize = 4;

/// A copy whose arrival the receiver may still report.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Unanswered {
    span: Span,
    /// `snd_nxt` when the copy was sent: the highest ACK number its arrival can trigger.
    nxt: Offset,
}

/// The copies of one sender: the current one and those not yet answered.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Copies {
    /// The unacknowledged part of the copied segment: it starts at dup_seq and is dup_bytes long.
    current: Option<(Span, Phase)>,
    /// Ring buffer of unanswered copies; an empty span marks a free entry.
    unanswered: [Unanswered; ANSWERS],
    /// The index of the next entry to write.
    turn: u8,
}

impl Copies {
    /// Whether another copy may be planned: no copy is waiting or unacknowledged.
    pub fn is_free(&self) -> bool {
        self.current.is_none()
    }

    /// The unacknowledged part of the segment that was or will be copied.
    pub fn segment(&self) -> Option<Span> {
        self.current.map(|(span, _)| span)
    }

    /// The part of the congestion window that the copy occupies, in segments.
    pub fn room(&self) -> Segments {
        match self.current {
            None | Some((_, Phase::Lost)) => Segments::ZERO,
            Some(_) => Segments::ONE,
        }
    }

    /// Plans a copy of `span` for `at`.
    pub fn plan(&mut self, span: Span, at: Instant) {
        self.current = Some((span, Phase::Paced(at)));
    }

    /// When the waiting copy is to be sent, if there is one.
    pub fn deadline(&self) -> Option<Instant> {
        match self.current {
            Some((_, Phase::Paced(at))) => Some(at),
            _ => None,
        }
    }

    /// The gap has ended.
    pub fn on_expiry(&mut self) {
        if let Some((_, phase @ Phase::Paced(_))) = &mut self.current {
            *phase = Phase::Due;
        }
    }

    /// The copy to send now.
    pub fn due(&self) -> Option<Span> {
        match self.current {
            Some((span, Phase::Due)) => Some(span),
            _ => None,
        }
    }

    /// Drops a copy that was due and was not sent.
    pub fn drop_due(&mut self) {
        if self.due().is_some() {
            self.current = None;
        }
    }

    /// How long after its original the copy was sent; `None` once the segment is marked lost.
    pub fn sent_after(&self) -> Option<Duration> {
        match self.current {
            Some((_, Phase::Sent(after))) => Some(after),
            _ => None,
        }
    }

    /// A copy of `span` was sent, `after` its original, while `snd_nxt` was `nxt`.
    pub fn on_sent(&mut self, span: Span, after: Duration, nxt: Offset) {
        self.current = Some((span, Phase::Sent(after)));
        self.expect_answer(span, nxt);
    }

    /// Remembers that the receiver may report the copy of `span` as a duplicate.
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

    /// Drops a waiting copy: its original was SACKed or retransmitted.
    pub fn drop_waiting(&mut self) {
        if let Some((_, Phase::Paced(_) | Phase::Due)) = self.current {
            self.current = None;
        }
    }

    /// The original was marked lost. Its retransmission replaces a waiting copy; a sent copy counts as lost
    /// too.
    pub fn on_original_lost(&mut self) {
        self.drop_waiting();
        if let Some((_, phase)) = &mut self.current {
            *phase = Phase::Lost;
        }
    }

    /// Whether a copy explains `duplicate`, which a DSACK reported. Each copy explains one DSACK.
    pub fn explains(&mut self, duplicate: Span) -> bool {
        self.answer(|copy| copy.span.covers(duplicate))
    }

    /// Whether a copy may have triggered a bare duplicate ACK of `una`: a copy of data below `una`, sent when
    /// nothing above `una` had been. Each copy explains one duplicate ACK.
    pub fn explains_duplicate_ack(&mut self, una: Offset) -> bool {
        self.answer(|copy| (copy.span.end..=copy.nxt).contains(&una))
    }

    fn answer(&mut self, is_of: impl Fn(&Unanswered) -> bool) -> bool {
        let mut copies = self.unanswered.iter_mut();
        let found = copies.find(|copy| !copy.span.is_empty() && is_of(copy));
        found.map(core::mem::take).is_some()
    }
}

#[cfg(test)]
mod tests;
