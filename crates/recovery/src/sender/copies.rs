//! Which copies are sent, and what their arrival means.

use super::*;
use crate::ack::AckSummary;
use crate::delivery::Delivery;
use crate::slp::{Carried, FIRST_GAP, Kind, SlpRules, Stakes};

impl Sender {
    /// Whether anything is ever worth a copy, so that [`offer_copy`](Self::offer_copy) is to be asked.
    pub fn sends_copies(&self) -> bool {
        self.mechanisms.slp.is_some()
    }

    /// `span` has just been sent for the first time: if it is worth a copy, and the windows permit one,
    /// the copy is planned (§II-C). Returns whether it is.
    pub fn offer_copy(&mut self, now: Instant, span: Span, carried: Carried) -> bool {
        let rules = self.mechanisms.slp;
        let worth = rules.is_some_and(|rules| self.is_worth_a_copy(&rules, span, carried));
        let Some(rules) = rules.filter(|_| worth) else {
            return false;
        };
        if !self.copies.is_free() || !self.windows_take_a_copy(span) {
            self.counters.copies_withheld += 1;
            self.log.push(now, Event::CopyWithheld { span });
            return false;
        }
        let gap = self.rtt.srtt().map_or(FIRST_GAP, |srtt| rules.gap.of(srtt));
        self.copies.plan(span, now + gap);
        self.log_changes(now);
        true
    }

    /// The SYN-ACK went once more, to answer a copy of the SYN: the ACK that draws tells nothing either.
    pub fn on_answered_again(&mut self) {
        let syn = Span::new(Offset::SYN, Offset::DATA);
        self.copies.expect_answer(syn, self.board.nxt());
    }

    /// The arbitrator's verdict.
    fn is_worth_a_copy(&self, rules: &SlpRules, span: Span, carried: Carried) -> bool {
        let counters = &self.counters;
        // What a DSACK reported had not been lost.
        let again = counters.retransmissions.total();
        let lost = again.saturating_sub(counters.dsacks);
        let stakes = Stakes {
            p: rules.loss.of(lost, counters.segments_sent),
            q: rules.likelihoods.of_all(self.kinds(span, carried)),
            rto: self.rto(),
            ip_len: carried.ip_len,
            bandwidth: self.delivery.rate().unwrap_or(rules.bandwidth),
        };
        stakes.favour_a_copy()
    }

    fn kinds(&self, span: Span, carried: Carried) -> impl Iterator<Item = Kind> {
        let handshake = span.start == Offset::SYN;
        let syn = match self.syn_trigger {
            Trigger::SynAck => Kind::SynAck,
            _ => Kind::Syn,
        };
        let kinds = [
            (syn, handshake),
            (Kind::Fin, self.fin.is_some_and(|fin| span.contains(fin))),
            (Kind::Psh, carried.push),
            (Kind::Tail, !handshake && span.end >= self.limit),
            (Kind::First, span.start == Offset::DATA),
        ];
        kinds
            .into_iter()
            .filter(|(_, is)| *is)
            .map(|(kind, _)| kind)
    }

    /// Whether both windows have room for a copy of `span`, which is outstanding (§II-C2): next is
    /// where it begins.
    fn windows_take_a_copy(&self, span: Span) -> bool {
        if span.start == Offset::SYN {
            return true;
        }
        let (next, size) = (span.start, span.len());
        next + 2 * size < self.board.una() + self.cwnd_bytes()
            && next + size < self.window.edge
            && self.board.pipe() < self.cwnd
    }

    /// Whether the congestion window still has room for the planned copy of `span`.
    fn window_still_takes_a_copy(&self, span: Span) -> bool {
        let flight = self.board.nxt().since(self.board.una());
        span.start == Offset::SYN
            || (flight + span.len() <= self.cwnd_bytes() && self.board.pipe() < self.cwnd)
    }

    fn cwnd_bytes(&self) -> u64 {
        u64::from(self.cwnd.0) * u64::from(self.mss)
    }

    /// `window` without what a copy takes of it; never the last segment of it.
    #[inline]
    pub(super) fn less_copies(&self, window: Segments) -> Segments {
        if self.copies.is_free() {
            return window;
        }
        let less = window.saturating_sub(self.copies.room());
        less.max(window.min(Segments::ONE))
    }

    /// A copy whose gap is over goes if nothing else does and there is still room for it.
    pub(super) fn next_copy(&self) -> Option<Send> {
        let span = self.copies.due()?;
        self.window_still_takes_a_copy(span)
            .then_some(Send::Copy(span))
    }

    pub(super) fn on_sent_copy(&mut self, span: Span) {
        self.board.note_copied(span);
        self.copies.on_sent(span, self.board.nxt());
        self.counters.copies += 1;
        self.counters.copied_bytes += span.len();
        if self.reducing() {
            self.reduction.on_sent();
        }
    }

    /// The application is about to write: does the connection wait for it?
    pub(super) fn note_application_limit(&mut self) {
        let nothing_waits = self.board.nxt() >= self.limit && self.board.next_lost().is_none();
        if self.sends_copies() && nothing_waits && self.room() > Segments::ZERO {
            self.delivery.on_application_limited(self.board.pipe());
        }
    }

    /// The report that a copy arrived beside its original says nothing else: neither a retransmission
    /// was spurious nor does the path reorder.
    pub(super) fn take_report_of_copy(&mut self, ack: &Ack, summary: &mut AckSummary) {
        if !self.sends_copies() {
            return;
        }
        summary.copy_reported = match summary.dsack {
            Some(duplicate) => {
                !self.probe.is_of_probe(duplicate) && self.copies.explains(duplicate)
            }
            None => {
                let una = self.board.una();
                !self.sack && summary.is_duplicate(ack) && self.copies.explains_duplicate_ack(una)
            }
        };
        if summary.copy_reported {
            summary.dsack = None;
            self.counters.copies_reported += 1;
        }
    }

    /// What became of the segment copied, if it is still outstanding.
    pub(super) fn review_copied(&mut self) {
        let copied = self.copies.segment();
        if let Some(original) = copied.and_then(|span| self.board.segment_at(span.start)) {
            if original.lost || !original.is_original() {
                self.copies.on_original_lost();
            } else if original.sacked {
                self.copies.on_original_sacked();
            }
        }
    }

    /// After an ACK: what became of the segment copied, and how fast the network delivers.
    pub(super) fn follow_copied(&mut self, now: Instant, summary: &AckSummary) {
        if !self.sends_copies() {
            return;
        }
        let una = self.board.una();
        self.copies.on_una(una);
        self.review_copied();
        let delivery = Delivery {
            delivered: summary.delivered,
            newest: summary.newest_delivered,
            una,
            min_rtt: self.rtt.min().unwrap_or_default(),
            mss: self.mss,
        };
        self.delivery.on_ack(now, &delivery);
    }
}
