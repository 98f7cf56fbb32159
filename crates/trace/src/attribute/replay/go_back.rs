//! What a sender sends again because of a timeout.
//!
//! After a timeout a sender goes back to the first outstanding segment and sends from there on, as its window permits. A
//! sender that holds no scoreboard, or forgets it at a timeout, repeats everything. How much it sends at once, and what it
//! leaves out because SACKs reported it, differs among senders. The order does not: a retransmission above the last one
//! and below what was outstanding at the timeout is a part of that pass, even if no profile would have sent it.
//!
//! Source: RFC 6298 §5.4; RFC 5681 §3.1 (slow start after the first segment); RFC 2018 §5 (SACKed bits are cleared at a
//! timeout); RFC 6675 §5.1.

use super::Replay;
use crate::finding::Triggers;
use recoup_recovery::Trigger;
use recoup_units::{Offset, Span};
use serde::{Deserialize, Serialize};

/// The bytes that a sender may still repeat because of its last timeout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct GoBack {
    /// The end of what was retransmitted since.
    next: Offset,
    /// The end of what was outstanding at the timeout; 0 without one.
    end: Offset,
}

impl GoBack {
    /// Whether a retransmission of `span` continues it. `una`: the first byte not acknowledged.
    fn continues(self, span: Span, una: Offset) -> bool {
        span.start >= self.next.max(una) && span.start < self.end
    }

    /// `span` was retransmitted for `triggers`, while everything below `nxt` had been sent.
    fn note(&mut self, span: Span, triggers: Triggers, nxt: Offset) {
        if triggers.iter().any(|trigger| trigger == Trigger::Rto) {
            *self = Self { next: span.end, end: nxt };
        } else if span.start >= self.next {
            self.next = span.end;
        }
    }
}

impl Replay {
    /// `triggers`, or [`Trigger::SlowStart`] if they are unknown and the retransmission of `span` continues what a timeout
    /// began.
    pub fn or_go_back(&self, span: Span, triggers: Triggers) -> Triggers {
        let continues = self.go_back.continues(span, self.sender.board().una());
        if triggers == Triggers::UNKNOWN && continues { Trigger::SlowStart.into() } else { triggers }
    }

    /// `span` was retransmitted for `triggers`.
    pub fn note_go_back(&mut self, span: Span, triggers: Triggers) {
        self.go_back.note(span, triggers, self.sender.nxt());
    }
}
