//! The states with RFC 9002's loss detection.
//!
//! ```text
//! on an ACK:    recovery ends if it delivers what was sent after recovery began     RFC 9002 §7.3.2
//!               losses are marked, before the window grows                               A.7
//! on the timer: losses are marked                                                        A.9
//! on losses:    if one was sent after the last recovery began, recovery begins:          B.6
//!               ssthresh = cwnd / 2, cwnd = ssthresh, one segment may go at once
//!               if nothing arrived of what was sent in a period longer than
//!               3 · (SRTT + max(4·RTTVAR, 1 ms) + max_ack_delay), cwnd = 2 segments       §7.6
//! ```
//! Recovery and CWR are one: the period in which losses do not reduce the window. Open and Disorder differ
//! in whether anything is SACKed, lost or retransmitted, and lost segments are retransmitted in all of them.
//!
//! Deviations, beside those at the rules:
//!
//! - What was sent before recovery began does not grow the window while recovery lasts. The ACK that ends
//!   recovery counts in full, and so do late segments after it.
//! - The original of a segment that a probe repeats stays in flight until the probe is delivered or lost.
//! - For persistent congestion, nothing may have arrived of what was sent after the newest segment delivered
//!   before this ACK and before the oldest segment that this ACK delivers.
//! - After a retransmission timeout or a smaller path MTU, the sender is in Loss as with other detectors.

use super::*;
use crate::ack::AckSummary;
use crate::counters::Ended;
use crate::tlp::MAX_ACK_DELAY;

/// The losses found at once.
#[derive(Clone, Copy, Default)]
struct Losses {
    /// The number of the newest transmission lost.
    newest: Option<u32>,
    /// When the first and the last transmission were sent that make persistent congestion.
    period: Option<(Instant, Instant)>,
}

impl<C: CongestionControl> Sender<C> {
    /// Whether RFC 9002's thresholds find losses.
    pub(super) fn goes_by_packets(&self) -> bool {
        self.losses.threshold.rule() == LossRule::PacketTime && self.uses_sack()
    }

    /// An ACK arrived. Returns whether it begins a recovery.
    pub(super) fn run_packet_states(
        &mut self,
        now: Instant,
        ack: &Ack<&[Span]>,
        summary: &mut AckSummary,
        duplicate: bool,
    ) -> bool {
        match self.episode.state {
            State::Loss => self.process_loss(now, ack, summary, duplicate),
            State::Recovery => {
                let partial = self.board.una() < self.episode.recovery_point;
                if partial && summary.una_advanced > 0 && self.undo_partly(now, ack, summary) {
                    return false;
                }
                if self.episode.state == State::Recovery && self.undo_by_dsack(now) {
                    self.keep_open(now);
                }
            }
            State::Open | State::Disorder => {
                self.undo_by_dsack(now);
            }
            State::Cwr => {}
        }
        if self.reducing() && self.recovery_is_over(summary) {
            self.end_period(now, ack);
        }
        let since = self.quiet_period_of(summary);
        let losses = self.detect_by_packets(now, since);
        let entering = self.respond_to(now, losses, self.arrived_with(summary));
        if self.episode.state <= State::Disorder {
            self.keep_open(now);
        }
        entering
    }

    /// Whether this ACK delivers what was sent after the window was reduced.
    fn recovery_is_over(&self, summary: &AckSummary) -> bool {
        //= RFC 9002 §7.3.2 step: "A recovery period ends and the sender enters congestion avoidance when a packet sent
        //=   during the recovery period is acknowledged."
        //= deviation: a byte stream also leaves recovery when all data outstanding at its beginning is acknowledged
        let newer = summary.newest_delivered.is_some() && self.losses.packets.is_after_reduction(summary.newest_number);
        // Numbered packets are passed as soon as they are lost.
        newer || (!self.board.numbers_packets() && self.board.una() >= self.episode.recovery_point)
    }

    fn end_period(&mut self, now: Instant, ack: &Ack<&[Span]>) {
        if self.episode.state == State::Recovery {
            let last_cwnd = self.congestion.cwnd;
            let acked = self.board.una() >= self.episode.recovery_point;
            let ended = match self.proof(ack).filter(|_| acked) {
                Some(proof) => {
                    self.take_back(now, proof);
                    Ended::Undone
                }
                None => {
                    if self.losses.packets.on_recovered() {
                        self.losses.threshold.restore();
                    }
                    self.end_reduction();
                    Ended::Complete
                }
            };
            self.episode.settled_to = self.episode.recovery_point;
            self.note_recovery_ended(now, last_cwnd, ended);
        } else {
            self.end_reduction();
        }
        self.set_state(now, State::Open);
    }

    /// The period of which nothing arrived: after the transmission with this number, and before this time.
    //= RFC 9002 §7.6.2 step: "across all packet number spaces, none of the packets sent between the send times of these
    //=   two packets are acknowledged"
    fn quiet_period_of(&self, summary: &AckSummary) -> Option<(u32, Instant)> {
        let delivered = [summary.first_original_acked, summary.first_original_sacked, summary.retransmission_sent];
        let until = delivered.into_iter().flatten().min()?;
        Some((self.losses.packets.previous(), until))
    }

    /// Marks what the thresholds show to be lost, and sets the timer for what may become so.
    fn detect_by_packets(&mut self, now: Instant, quiet: Option<(u32, Instant)>) -> Losses {
        self.timers.reorder = None;
        let mut losses = Losses::default();
        let detector = self.losses.packets;
        let Some(newest) = detector.newest() else {
            return losses;
        };
        let delay = detector.loss_delay(self.rtt.srtt_nanos());
        //= RFC 9002 §6.1.2 SHOULD: "Once a later packet within the same packet number space has been acknowledged, an
        //=   endpoint SHOULD declare an earlier packet lost if it was sent a threshold amount of time in the past."
        let overdue = (now.nanos_since(Instant::ZERO) >= delay).then(|| now.minus_nanos(delay));
        let packets = self.packet_threshold();
        let (adaptive, rtt) = (self.remembers_suspects(), detector.round_trip(self.rtt.srtt_nanos()));
        let suspects = &mut self.losses.suspects;
        let log = &mut self.log;
        let waiting = self.board.mark_overtaken(newest, packets, overdue, |segment, by_packets| {
            losses.newest = Some(segment.number);
            if adaptive {
                suspects.add(segment, rtt);
            }
            let sent = segment.sent_at;
            let is_quiet = quiet.is_some_and(|(after, until)| {
                let later = segment.number.wrapping_sub(after);
                later > 0 && later <= i32::MAX as u32 && sent < until
            });
            //= RFC 9002 §7.6.2 step: "A sender establishes persistent congestion after the receipt of an acknowledgment
            //=   if two packets that are ack-eliciting are declared lost, and:"
            //= deviation: both must be declared lost by one ACK
            if is_quiet && detector.had_sample(sent) {
                let first = losses.period.map_or(sent, |(first, _)| first);
                losses.period = Some((first, sent));
            }
            let (span, by) = match by_packets {
                true => (segment.span, LossDetector::PacketThreshold),
                false => (segment.span, LossDetector::TimeThreshold),
            };
            log.push(now, Event::MarkedLost { span, by });
        });
        //= RFC 9002 §6.1.2 SHOULD: "If packets sent prior to the largest acknowledged packet cannot yet be declared
        //=   lost, then a timer SHOULD be set for the remaining time."
        self.timers.reorder = waiting.map(|sent| sent.plus_nanos(delay));
        losses
    }

    /// The packet threshold. Once a late segment raised it, it does not apply.
    fn packet_threshold(&self) -> u32 {
        let threshold = &self.losses.threshold;
        match threshold.is_raised() {
            true => u32::MAX,
            //= RFC 9002 §6.1.1 SHOULD NOT: "In order to remain similar to TCP, implementations SHOULD NOT use a packet
            //=   threshold less than 3"
            false => threshold.dupthresh().0,
        }
    }

    /// Reduces the window for losses, unless it was reduced after they were sent. Returns whether a recovery
    /// begins.
    fn respond_to(&mut self, now: Instant, losses: Losses, arrived: Segments) -> bool {
        //= RFC 9002 §7.3.2 step: "A sender that is already in a recovery period stays in it and does not reenter it."
        //= RFC 9002 §7.3.2 step: "during a recovery period, the congestion window does not change in response to new
        //=   losses or increases in the ECN-CE count"
        let counts = |newest: &u32| self.losses.packets.is_after_reduction(*newest);
        //= RFC 9002 §7.4 MUST NOT: "Endpoints MUST NOT ignore the loss of packets that were sent after the earliest
        //=   acknowledged packet in a given packet number space."
        let entering = losses.newest.as_ref().is_some_and(counts);
        if entering {
            //= RFC 9002 §7.3.1 MUST: "The sender MUST exit slow start and enter a recovery period when a packet is lost
            //=   or when the ECN-CE count reported by its peer increases."
            self.enter_recovery(now, Trigger::Fast, arrived);
            //= RFC 9002 §7.3.2 MUST: "The congestion window MUST be set to the reduced value of the slow start
            //=   threshold before exiting the recovery period."
            //= RFC 9002 §7.3.2 MAY: "Implementations MAY reduce the congestion window immediately upon entering a
            //=   recovery period or use other mechanisms, such as Proportional Rate Reduction [PRR], to reduce the
            //=   congestion window more gradually."
            self.congestion.cwnd = self.congestion.cwnd.min(self.congestion.ssthresh);
            //= RFC 9002 §7.3.2 MAY: "If the congestion window is reduced immediately, a single packet can be sent prior
            //=   to reduction."
            self.episode.release = Release::Forced;
            self.note_recovery_begun(now);
        }
        //= RFC 9002 §7.6.2 step: "the duration between the send times of these two packets exceeds the persistent
        //=   congestion duration (Section 7.6.1)"
        if let Some((first, last)) = losses.period
            && last.nanos_since(first) > self.persistent_congestion_nanos()
        {
            self.collapse(now);
            return false;
        }
        entering
    }

    /// §7.6.1, kPersistentCongestionThreshold = 3.
    //= RFC 9002 §7.6.1 step: "The persistent congestion duration is computed as follows: (smoothed_rtt + max(4*rttvar,
    //=   kGranularity) + max_ack_delay) * kPersistentCongestionThreshold"
    fn persistent_congestion_nanos(&self) -> u64 {
        let once = self.rtt.rto_nanos().saturating_add(MAX_ACK_DELAY);
        //= RFC 9002 §7.6.1 SHOULD: "The RECOMMENDED value for kPersistentCongestionThreshold is 3"
        once.saturating_mul(3)
    }

    /// Persistent congestion: the window falls to its minimum, and may grow at once (§7.6.2, B.8).
    fn collapse(&mut self, now: Instant) {
        let last_cwnd = self.congestion.cwnd;
        self.congestion.control.on_timeout();
        //= RFC 9002 §7.2 SHOULD: "The RECOMMENDED value is 2 * max_datagram_size."
        //= RFC 9002 §7.6.2 MUST: "When persistent congestion is declared, the sender's congestion window MUST be
        //=   reduced to the minimum congestion window (kMinimumWindow), similar to a TCP sender's response on an RTO"
        self.congestion.cwnd = congestion::MIN_SSTHRESH;
        self.episode.undo.forbid();
        //= RFC 9002 §5.2 SHOULD: "Endpoints SHOULD set the min_rtt to the newest RTT sample after persistent congestion
        //=   is established."
        self.rtt.forget_min();
        if self.episode.state == State::Recovery {
            self.note_recovery_ended(now, last_cwnd, Ended::Timeout);
        }
        if self.reducing() {
            self.set_state(now, State::Open);
            self.keep_open(now);
        }
    }

    /// The timer of the time threshold fired.
    pub(super) fn on_loss_timeout(&mut self, now: Instant) {
        let losses = self.detect_by_packets(now, None);
        self.respond_to(now, losses, Segments::ZERO);
        if self.episode.state <= State::Disorder {
            self.keep_open(now);
        }
    }
}
