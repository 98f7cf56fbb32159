//! Why a segment was sent, for a replay: the capture says what was sent, the sender says what for.
//!
//! A replay does not fire the timers itself. Hosts round deadlines, and only the host knows what its
//! clock says. A timer fires when the capture shows the segment that it makes a sender send, provided
//! that the replay accepts its deadline as reached.

use super::*;
use crate::profile::RecoveryFill;
use crate::scoreboard::SentSegment;

/// Why the sender retransmits a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reason {
    /// The trigger of the retransmission.
    pub trigger: Trigger,
    /// The timer that fired for it, and the timer's deadline. `None`: the state called for it.
    pub timer: Option<(Timer, Instant)>,
    /// The deadline of a probe that should have been sent first.
    pub skipped_probe: Option<Instant>,
}

impl Reason {
    fn of_state(trigger: Trigger) -> Self {
        Self { trigger, timer: None, skipped_probe: None }
    }
}

impl<C: CongestionControl> Sender<C> {
    /// Why the sender retransmits some of `span` at `now`, were it its turn and the window open. `None`:
    /// it does not.
    ///
    /// The state comes first: the segment is lost, or a hole that this recovery fills. After it come the
    /// timers, in the order in which those due at one instant are served. `is_due` decides whether the
    /// deadline of a timer counts as reached; a timer that is asked for and due fires.
    ///
    /// A retransmission timeout precedes the state in two cases. The head goes again although no ACK has
    /// arrived since the last timeout: slow start goes on with ACKs (RFC 5681 §3.1), so that the timer
    /// must have fired again. Or the timer is due and the retransmission is not `prompted`: neither an
    /// ACK nor another transmission went just before it, and so nothing opened the window.
    pub fn reason_for(
        &mut self,
        now: Instant,
        span: Span,
        prompted: bool,
        is_due: impl Fn(Timer, Instant) -> bool,
    ) -> Option<Reason> {
        let due = |sender: &Self, timer| sender.deadline(timer).is_some_and(|at| is_due(timer, at));
        let head = self.is_head(span);
        let repeated = head && self.episode.timeout_unanswered;
        let timed_out = repeated || (!prompted && head && due(self, Timer::Rto));
        if !timed_out && let Some(trigger) = self.state_reason(span) {
            return Some(Reason::of_state(trigger));
        }
        Timer::ALL.into_iter().find_map(|timer| {
            let deadline = self.deadline(timer)?;
            let due = is_due(timer, deadline) || (repeated && timer == Timer::Rto);
            let fires = due
                && match timer {
                    Timer::Early | Timer::Reorder => true,
                    Timer::Probe => self.timers.probe.is_answered() && self.is_probed(span),
                    Timer::Rto => head,
                    Timer::Persist | Timer::Copy | Timer::User | Timer::Pacing => false,
                };
            if !fires {
                return None;
            }
            let skipped_probe = self.deadline(Timer::Probe).filter(|_| timer == Timer::Rto);
            self.on_timer(now.max(deadline), timer);
            let trigger = match timer {
                Timer::Probe => Trigger::Tlp,
                Timer::Rto => Trigger::Rto,
                _ => self.state_reason(span)?,
            };
            Some(Reason { trigger, timer: Some((timer, deadline)), skipped_probe })
        })
    }

    /// The most likely trigger of a retransmission of `span` that [`reason_for`](Self::reason_for) does
    /// not explain. `quiet`: nothing was sent or heard for about as long as a timer takes. Then a timer
    /// comes first, and the retransmission timer fires if it is that one. Otherwise the state decides.
    pub fn likely_trigger(&mut self, now: Instant, span: Span, quiet: bool) -> Option<Trigger> {
        let outstanding = span.end > self.board.una();
        if outstanding && quiet {
            let probe = &self.timers.probe;
            let may_probe = probe.deadline().is_some() && probe.is_answered();
            let head = self.is_head(span);
            if self.is_probed(span) && (may_probe || !head) {
                return Some(Trigger::Tlp);
            }
            if let Some(deadline) = self.deadline(Timer::Rto).filter(|_| head) {
                self.on_timer(now.max(deadline), Timer::Rto);
                return Some(Trigger::Rto);
            }
        }
        let board = &self.board;
        let reported = span.start < board.highest_sacked() || board.sacked() > Segments::ZERO;
        match self.episode.state {
            State::Loss => Some(self.episode.loss_trigger),
            State::Recovery => Some(Trigger::Fast),
            // An ACK may have passed the capture point without having reached the sender. The sender is in
            // recovery now, whatever began it.
            _ if outstanding && reported => {
                self.enter_recovery(now, Trigger::Fast, Segments::ZERO);
                self.mark_head(now);
                self.note_recovery_begun(now);
                Some(Trigger::Fast)
            }
            _ => None,
        }
    }

    /// As what the sender sends new data at `now`: as a probe if only the congestion window is in its
    /// way (RFC 8985 §7.3) and `is_due` accepts the deadline of the probe timer as reached. The timer
    /// then fires.
    pub fn send_for_new(&mut self, now: Instant, span: Span, is_due: impl Fn(Instant) -> bool) -> Transmission {
        let due = self.deadline(Timer::Probe).filter(|at| is_due(*at));
        match due {
            Some(deadline) if !self.has_room_for_new(now) => {
                self.on_timer(now.max(deadline), Timer::Probe);
                Transmission::NewProbe(span)
            }
            _ => Transmission::New(span),
        }
    }

    /// The timers that make the sender retransmit something when they fire, with their deadlines.
    pub fn retransmission_timers(&self) -> impl Iterator<Item = (Timer, Instant)> {
        let probe = self.deadline(Timer::Probe);
        let timers = [
            (Timer::Early, self.timers.early),
            (Timer::Reorder, self.timers.reorder),
            (Timer::Probe, probe.filter(|_| self.timers.probe.is_answered())),
            (Timer::Rto, self.timers.rto.deadline()),
        ];
        (timers.into_iter()).filter_map(|(timer, deadline)| Some((timer, deadline?)))
    }

    /// Why the state calls for a retransmission of some of `span`.
    fn state_reason(&self, span: Span) -> Option<Trigger> {
        let mut segments = self.board.overlapping(span);
        if let Some(lost) = segments.find(|s| s.wants_retransmission()) {
            return Some(self.trigger_of(lost.span));
        }
        let fills = self.episode.state == State::Recovery
            && self.mechanisms.recovery_fill != RecoveryFill::Nothing
            && (self.next_fill().is_some_and(|fill| fill.overlaps(span))
                || self.board.overlapping(span).any(|s| self.is_hole(s)));
        fills.then_some(self.episode.trigger)
    }

    /// Below the highest SACK, and never retransmitted.
    fn is_hole(&self, segment: &SentSegment) -> bool {
        let untouched = !segment.sacked && !segment.retransmitted;
        untouched && segment.span.end <= self.board.highest_sacked()
    }

    /// Whether `span` begins where the earliest outstanding segment does, or below: the timeout
    /// retransmits from there.
    fn is_head(&self, span: Span) -> bool {
        let first = self.board.first();
        first.is_some_and(|first| span.start <= first.span.start && first.span.overlaps(span))
    }

    /// Whether a tail loss probe may repeat `span`: it is the tail, or a part of it after the MSS fell.
    fn is_probed(&self, span: Span) -> bool {
        let last = self.board.last();
        let is_tail = last.is_some_and(|last| last.span.overlaps(span));
        let part = self.board.segment_at(span.start);
        is_tail || (!self.is_head(span) && part.is_some_and(|part| part.cut))
    }
}
