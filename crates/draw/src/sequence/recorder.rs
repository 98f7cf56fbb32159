//! Turns the segments a sender sends and the ACKs it receives into the marks of a diagram.

use super::{Control, Mark, MarkKind, Necessity};
use recoup_units::{Instant, Offset, Span};

/// Collects the marks of one direction of a connection. Call its methods in order of time.
#[derive(Clone, Debug, Default)]
pub struct MarkRecorder {
    marks: Vec<Mark>,
    /// The number of the packet that the next marks show.
    frame: Option<u64>,
    una: Option<Offset>,
    window: Option<Offset>,
    /// The end of the sequence space sent.
    sent: Offset,
    /// Sequence space in first transmissions.
    unique_bytes: u64,
}

/// An ACK that reaches the sender.
#[derive(Clone, Copy, Debug)]
pub struct AckArrival {
    /// The cumulative acknowledgment.
    pub una: Offset,
    /// Whether it may count as a duplicate ACK (RFC 5681 §2): it carries no data, SYN or FIN, and
    /// does not change the receive window. [`MarkRecorder::ack_arrived`] compares windows itself
    /// where `window` is known.
    pub may_be_duplicate: bool,
    /// The first offset the peer does not accept, if that is known.
    pub window: Option<Offset>,
}

impl MarkRecorder {
    /// The marks that follow show the packet with this number in the capture.
    pub fn set_frame(&mut self, frame: u64) {
        self.frame = Some(frame);
    }

    /// The sender sent a segment with this flag, which lies at `offset`.
    pub fn control_sent(&mut self, at: Instant, flag: Control, offset: Offset) {
        self.push(at, MarkKind::Control(flag, offset));
    }

    /// The sender sent `span` for the first time.
    pub fn data_sent(&mut self, at: Instant, span: Span) {
        self.unique_bytes += span.len();
        self.push_sent(at, span, MarkKind::Sent(span));
    }

    /// The sender retransmitted `span`; `trigger` is the reason, if that is known.
    pub fn retransmitted(&mut self, at: Instant, span: Span, trigger: Option<&'static str>) {
        self.push_sent(at, span, MarkKind::Retransmitted(span, trigger));
    }

    /// The sender retransmitted `span`, and an analysis found the trigger, the necessity and the reason
    /// for it.
    pub fn retransmission_explained(
        &mut self,
        at: Instant,
        span: Span,
        trigger: String,
        necessity: Necessity,
        reason: &'static str,
    ) {
        let kind = MarkKind::Explained { span, trigger, necessity, reason };
        self.push_sent(at, span, kind);
    }

    /// The sender sent an extra copy of `span` before any loss was detected.
    pub fn extra_copy_sent(&mut self, at: Instant, span: Span) {
        self.push_sent(at, span, MarkKind::ExtraCopy(span));
    }

    fn push_sent(&mut self, at: Instant, span: Span, kind: MarkKind) {
        self.sent = self.sent.max(span.end);
        self.push(at, kind);
    }

    /// An ACK arrived with these SACK blocks.
    pub fn ack_arrived(&mut self, at: Instant, ack: AckArrival, sack_blocks: impl IntoIterator<Item = Span>) {
        let AckArrival { una, may_be_duplicate, window } = ack;
        let before = self.marks.len();
        // A SACK block proves that its data was sent, even if the recorder missed it.
        let mut sent = self.sent;
        for block in sack_blocks.into_iter().filter(|block| !block.is_empty()) {
            sent = sent.max(block.end);
            self.push(at, MarkKind::Sacked(block));
        }
        let has_sack_blocks = self.marks.len() > before;
        let window_changed = window.is_some() && window != self.window;
        if self.una.is_none_or(|last| una > last) {
            self.una = Some(una);
            self.push(at, MarkKind::Acked(una));
        } else if self.una == Some(una) && sent > una && may_be_duplicate && (has_sack_blocks || !window_changed) {
            self.push(at, MarkKind::DuplicateAck(una));
        }
        if let Some(edge) = window.filter(|_| window_changed) {
            self.window = window;
            self.push(at, MarkKind::ReceiveWindow(edge));
        }
    }

    fn push(&mut self, at: Instant, kind: MarkKind) {
        let frame = self.frame;
        self.marks.push(Mark { at, kind, frame });
    }

    /// The end of the sequence space sent or acknowledged so far.
    pub fn highest(&self) -> Offset {
        self.una.map_or(self.sent, |una| una.max(self.sent))
    }

    /// The length of the sequence space sent, without retransmissions and copies.
    pub fn unique_bytes(&self) -> u64 {
        self.unique_bytes
    }

    /// The marks, in order of time.
    pub fn into_marks(self) -> Vec<Mark> {
        self.marks
    }
}
