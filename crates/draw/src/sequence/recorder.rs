//! Turns what a sender sends and hears into the marks of a diagram.

use super::{Mark, Necessity, What};
use recoup_recovery::Trigger;
use recoup_units::{Instant, Offset, Span};

/// The marks of one direction of a connection, in the order they are reported.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    marks: Vec<Mark>,
    una: Option<Offset>,
    window: Option<Offset>,
    /// The end of what was sent.
    sent: Offset,
    /// Payload and the like, sent for the first time.
    volume: u64,
}

/// An ACK as it arrives.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The cumulative acknowledgment.
    pub una: Offset,
    /// It carries nothing else, neither data nor a window known to be another though not where it
    /// ends: with these it would be no duplicate (RFC 5681 §2).
    pub pure: bool,
    /// First offset the peer will not take, where that is known.
    pub window: Option<Offset>,
}

impl Recorder {
    /// Data left for the first time.
    pub fn sent(&mut self, at: Instant, span: Span) {
        self.volume += span.len();
        self.leave(at, span, What::Sent(span));
    }

    /// Data was retransmitted, and why, where that is known.
    pub fn sent_again(&mut self, at: Instant, span: Span, trigger: Option<Trigger>) {
        self.leave(at, span, What::Again(span, trigger));
    }

    /// Data was retransmitted, and an analysis found why and whether it was needed.
    pub fn judged(&mut self, at: Instant, span: Span, trigger: String, necessity: Necessity) {
        let what = What::Judged {
            span,
            trigger,
            necessity,
        };
        self.leave(at, span, what);
    }

    /// An extra copy left, in advance of any loss.
    pub fn copied(&mut self, at: Instant, span: Span) {
        self.leave(at, span, What::Copy(span));
    }

    fn leave(&mut self, at: Instant, span: Span, what: What) {
        self.sent = self.sent.max(span.end);
        self.marks.push(Mark { at, what });
    }

    /// An ACK arrived with its SACK blocks.
    pub fn heard(&mut self, at: Instant, arrival: Arrival, sacks: impl IntoIterator<Item = Span>) {
        let Arrival { una, pure, window } = arrival;
        let before = self.marks.len();
        // What a block tells of was sent, seen or not.
        let mut sent = self.sent;
        for block in sacks.into_iter().filter(|block| !block.is_empty()) {
            sent = sent.max(block.end);
            self.push(at, What::Sacked(block));
        }
        let sacked = self.marks.len() > before;
        let moved = window.is_some() && window != self.window;
        if self.una.is_none_or(|last| una > last) {
            self.una = Some(una);
            self.push(at, What::Acked(una));
        } else if self.una == Some(una) && sent > una && pure && (sacked || !moved) {
            self.push(at, What::Duplicate(una));
        }
        if let Some(edge) = window.filter(|_| moved) {
            self.window = window;
            self.push(at, What::Window(edge));
        }
    }

    fn push(&mut self, at: Instant, what: What) {
        self.marks.push(Mark { at, what });
    }

    /// The end of what was sent or acknowledged so far.
    pub fn highest(&self) -> Offset {
        self.una.map_or(self.sent, |una| una.max(self.sent))
    }

    /// Sequence space sent, each part counted once.
    pub fn volume(&self) -> u64 {
        self.volume
    }

    /// The marks, in the order of time.
    pub fn into_marks(self) -> Vec<Mark> {
        self.marks
    }
}
