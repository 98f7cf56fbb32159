//! Decides which copies are sent, and interprets reports of their arrival.

use super::*;
use crate::ack::AckSummary;
use crate::slp::{Carried, FIRST_GAP, Kind, SlpRules, Stakes};

/// No SYN is repeated sooner by its timer (RFC 6298 §2.1).
const FIRST_REPETITION: Duration = Duration::from_secs(1);

impl<C: CongestionControl> Sender<C> {
    /// Whether anything is ever worth a copy, so that [`offer_copy`](Self::offer_copy) is to be asked.
    #[inline]
    pub fn sends_copies(&self) -> bool {
        self.copying.is_some()
    }

    /// `span` has just been sent for the first time: if it is worth a copy, and the windows permit one,
    /// the copy is planned (§II-C). Returns whether it is.
    pub fn offer_copy(&mut self, now: Instant, span: Span, carried: Carried) -> bool {
        if !self.is_worth_a_copy(span, carried) {
            return false;
        }
        let room = self.windows_take_a_copy(span);
        let Some(copying) = &mut self.copying else {
            return false;
        };
        let another_out = !copying.copies.is_free();
        if another_out || !room {
            copying.withheld += 1;
            self.log.push(now, Event::CopyWithheld { span, another_out });
            return false;
        }
        let gap = copy_gap(&copying.rules, &self.rtt);
        copying.copies.plan(span, now + gap);
        self.log_changes(now);
        true
    }

    /// The gap between an original and its copy; `None` if nothing is ever copied.
    pub fn copy_gap(&self) -> Option<Duration> {
        self.copying.as_ref().map(|copying| copy_gap(&copying.rules, &self.rtt))
    }

    /// The peer's SYN came again. So early it is a copy, not its timer's repetition, and the SYN-ACK is
    /// to answer it too (`true`); later the SYN-ACK's own timer does. (Linux answers any, and sets its
    /// timer anew.) What the answer draws is no more news than what a copy's arrival does.
    pub fn answers_again(&mut self, now: Instant) -> bool {
        let sent = self.board.first().map(|syn_ack| syn_ack.sent_at);
        let early = sent.is_some_and(|sent| now.since(sent) < FIRST_REPETITION / 2);
        if early && let Some(copying) = &mut self.copying {
            let syn = Span::new(Offset::SYN, Offset::DATA);
            copying.copies.expect_answer(syn, self.board.nxt());
        }
        early
    }

    /// The arbitrator's verdict.
    fn is_worth_a_copy(&self, span: Span, carried: Carried) -> bool {
        let Some(Copying { rules, .. }) = self.copying.as_deref() else {
            return false;
        };
        let measured = self.delivery.as_ref().and_then(|delivery| delivery.rate());
        let counters = &self.totals.counters;
        let again = &counters.retransmissions;
        let handshake = again.of(Trigger::Syn) + again.of(Trigger::SynAck);
        // Segments that a DSACK reported had not been lost.
        let lost = (again.total() - handshake).saturating_sub(counters.dsacks.into());
        let stakes = Stakes {
            p: rules.loss.of(lost, counters.segments_sent),
            q: rules.likelihoods.of_all(self.kinds(span, carried)),
            rto: self.rto(),
            ip_len: carried.ip_len,
            bandwidth: measured.unwrap_or(rules.bandwidth),
        };
        stakes.favour_a_copy()
    }

    fn kinds(&self, span: Span, carried: Carried) -> impl Iterator<Item = Kind> {
        let handshake = span.start == Offset::SYN;
        let syn = match self.mechanisms.syn_trigger {
            Trigger::SynAck => Kind::SynAck,
            _ => Kind::Syn,
        };
        let kinds = [
            (syn, handshake),
            (Kind::Fin, self.stream.fin().is_some_and(|fin| span.contains(fin))),
            (Kind::Psh, carried.push),
            (Kind::Tail, !handshake && span.end >= self.stream.limit),
            (Kind::First, span.start == Offset::DATA),
        ];
        kinds.into_iter().filter(|(_, is)| *is).map(|(kind, _)| kind)
    }

    /// Whether both windows have room for a copy of `span`, which is outstanding (§II-C2): next is
    /// where it begins.
    fn windows_take_a_copy(&self, span: Span) -> bool {
        if span.start == Offset::SYN {
            return true;
        }
        let (next, size) = (span.start, span.len());
        next + 2 * size < self.board.una() + self.cwnd_bytes()
            && next + size < self.peer.window.edge()
            && self.board.pipe() < self.congestion.cwnd
    }

    /// Whether the congestion window still has room for the planned copy of `span`, whatever was sent
    /// since: flight and copy may fill it.
    fn window_still_takes_a_copy(&self, span: Span) -> bool {
        let flight = self.board.nxt().since(self.board.una());
        span.start == Offset::SYN
            || (flight + span.len() <= self.cwnd_bytes() && self.board.pipe() < self.congestion.cwnd)
    }

    /// `window` without what a copy takes of it.
    #[inline]
    pub(super) fn less_copies(&self, window: Segments) -> Segments {
        match &self.copying {
            None => window,
            Some(copying) => window.saturating_sub(copying.copies.room()),
        }
    }

    /// A copy whose gap is over goes if nothing else does and there is still room for it.
    pub(super) fn next_copy(&self) -> Option<Transmission> {
        let span = self.copying.as_ref()?.copies.due()?;
        self.window_still_takes_a_copy(span).then_some(Transmission::Copy(span))
    }

    pub(super) fn on_sent_copy(&mut self, now: Instant, span: Span) {
        let original = self.board.segment_at(span.start);
        let after = original.map_or(Duration::ZERO, |original| now.since(original.sent_at));
        self.board.note_copied(span);
        if let Some(copying) = &mut self.copying {
            copying.copies.on_sent(span, after, self.board.nxt());
            copying.sent += 1;
            copying.sent_bytes = copying.sent_bytes.saturating_add(span.len());
        }
        if self.reducing() {
            self.congestion.reduction.on_sent();
        }
    }

    /// The report that a copy arrived beside its original says nothing else: neither a retransmission
    /// was spurious nor does the path reorder.
    #[inline]
    pub(super) fn take_report_of_copy(&mut self, ack: &Ack<&[Span]>, summary: &mut AckSummary) {
        if self.sends_copies() {
            self.read_report_of_copy(ack, summary);
        }
    }

    fn read_report_of_copy(&mut self, ack: &Ack<&[Span]>, summary: &mut AckSummary) {
        let Some(copying) = &mut self.copying else {
            return;
        };
        summary.copy_reported = match summary.dsack {
            Some(duplicate) => !self.timers.probe.is_of_probe(duplicate) && copying.copies.explains(duplicate),
            None => {
                let una = self.board.una();
                self.mechanisms.sack != Sack::Used
                    && summary.is_duplicate(ack)
                    && copying.copies.explains_duplicate_ack(una)
            }
        };
        if summary.copy_reported {
            copying.reported += u64::from(summary.dsack.take().is_some());
        }
    }

    /// The RTT that an ACK of a copied segment shows. It is `from_original` if the original arrived; the
    /// echoed timestamp, where there is one, decides between the original and the copy.
    pub(super) fn rtt_of_copied(&self, from_original: Duration, ack: &Ack<&[Span]>) -> Duration {
        let copies = self.copying.as_ref().map(|copying| &copying.copies);
        let after = copies.and_then(Copies::sent_after);
        let (Some(after), Some(echo)) = (after, ack.timestamp_rtt) else {
            return from_original;
        };
        let from_copy = from_original.saturating_sub(after);
        match from_copy.abs_diff(echo) < from_original.abs_diff(echo) {
            true => from_copy,
            false => from_original,
        }
    }

    /// Drops a copy that is no longer useful: its original was lost, SACKed or retransmitted.
    pub(super) fn review_copied(&mut self) {
        let Some(Copying { copies, .. }) = self.copying.as_deref_mut() else {
            return;
        };
        let copied = copies.segment();
        if let Some(original) = copied.and_then(|span| self.board.segment_at(span.start)) {
            if original.lost {
                copies.on_original_lost();
            } else if original.sacked || !original.is_original() {
                copies.drop_waiting();
            }
        }
    }

    /// After an ACK, forgets a copy whose original is acknowledged, and reviews the copy otherwise.
    #[inline]
    pub(super) fn follow_copied(&mut self) {
        let una = self.board.una();
        if let Some(copying) = &mut self.copying {
            copying.copies.on_una(una);
            self.review_copied();
        }
    }

    /// Drops a copy that was due and was not sent.
    #[inline]
    pub(super) fn drop_due_copy(&mut self) {
        if let Some(copying) = &mut self.copying {
            copying.copies.drop_due();
        }
    }

    /// Drops a waiting copy: its original was cut, SACKed or retransmitted.
    pub(super) fn drop_waiting_copy(&mut self) {
        if let Some(copying) = &mut self.copying {
            copying.copies.drop_waiting();
        }
    }
}

fn copy_gap(rules: &SlpRules, rtt: &RttEstimator) -> Duration {
    rtt.srtt().map_or(FIRST_GAP, |srtt| rules.gap.of(srtt))
}
