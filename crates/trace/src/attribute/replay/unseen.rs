//! Segments of a sender that were lost before the capture point.
//!
//! Away from the sender, a missing retransmission says nothing against a profile: it may be lost.
//! So what the engine would have sent counts as sent once its time is over. If the packet comes
//! after all, it was only late, and has the reason for which the engine sent it.

use super::{
    super::tape::{Step, Tape},
    Explained, LATE, Replay,
};
use crate::finding::Triggers;
use recoup_recovery::{State, Timer, Transmission, Trigger};
use recoup_units::{Instant, Segments, Span};
use serde::{Deserialize, Serialize};

/// Retransmissions that are assumed between two steps.
const MOST_AT_ONCE: usize = 256;

/// Assumed retransmissions that are remembered.
const MOST_REMEMBERED: usize = 64;

/// Outstanding segments up to which retransmissions are assumed.
const MOST_OUTSTANDING: Segments = Segments(1024);

/// A retransmission that the engine sent and the capture did not show in time.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Unseen {
    at: Instant,
    span: Span,
    trigger: Trigger,
}

impl Replay {
    /// Before step `i`: how many packets may be assumed lost before the next one captured. Called
    /// for every step, it looks ahead once per captured packet.
    #[inline]
    pub fn allow_unseen(&mut self, tape: &Tape, i: usize) {
        if !self.away {
            return;
        }
        let is_sent = |step: &Step| matches!(step, Step::Sent { .. });
        let steps = tape.steps();
        if i == 0 || is_sent(&steps[i - 1]) {
            self.may_assume = steps[i..].iter().find(|step| is_sent(step)).and_then(|step| match step {
                Step::Sent { unseen, .. } => unseen.map(u32::from),
                Step::Heard(_) | Step::PathMtu { .. } => None,
            });
        }
    }

    /// Sends what the engine would have sent by `until`, before a step at that time.
    pub fn send_unseen(&mut self, until: Instant) {
        if !self.away || self.sender.board().outstanding() > MOST_OUTSTANDING {
            return;
        }
        for _ in 0..MOST_AT_ONCE {
            if self.may_assume == Some(0) {
                return;
            }
            let waited = self.wanting.filter(|&since| self.is_overdue(since, until));
            if let Some(since) = waited {
                if !self.send_wanted(since, None) {
                    self.wanting = None;
                }
            } else if let Some((due, timer)) = self.missed_timer(until) {
                self.sender.on_timer(due, timer);
                self.now = self.now.max(due);
                self.absent += 1;
                if !self.send_wanted(due, None) {
                    self.wanting = None;
                }
            } else {
                return;
            }
        }
    }

    /// Sends what the engine wants to send before `span`, or before new data if that is `None`: it
    /// goes in this order.
    pub fn send_unseen_before(&mut self, at: Instant, span: Option<Span>) {
        if !self.away || span.is_some_and(|span| !self.is_wanted(span)) {
            return;
        }
        for _ in 0..MOST_AT_ONCE {
            if !self.send_wanted(at, span) {
                return;
            }
        }
    }

    /// Sends the retransmission that the engine wants at `at`, unless it overlaps `except`.
    fn send_wanted(&mut self, at: Instant, except: Option<Span>) -> bool {
        let (span, trigger) = match self.sender.next_send(at) {
            Some(Transmission::Again(span, trigger)) => (span, trigger),
            // New data that nobody saw was not there to probe with.
            Some(Transmission::NewProbe(_)) => match self.sender.board().last() {
                Some(last) => (last.span, Trigger::Tlp),
                None => return false,
            },
            _ => return false,
        };
        if except.is_some_and(|except| except.overlaps(span)) || self.may_assume == Some(0) {
            return false;
        }
        self.may_assume = self.may_assume.map(|more| more - 1);
        self.sender.on_sent(at, Transmission::Again(span, trigger));
        if self.unseen.len() == MOST_REMEMBERED {
            self.unseen.pop_front();
        }
        self.unseen.push_back(Unseen { at, span, trigger });
        self.active = self.active.max(at);
        let more = self.sender.wants_to_retransmit(at);
        self.wanting = more.then_some(at);
        true
    }

    /// Whether the engine has marked some of `span` lost.
    fn is_wanted(&self, span: Span) -> bool {
        let mut segments = self.sender.board().overlapping(span);
        segments.any(|segment| segment.wants_retransmission())
    }

    /// Whether ACKs report that `span` may be lost.
    pub fn is_reported(&self, span: Span) -> bool {
        let board = self.sender.board();
        match board.sacked() {
            Segments::ZERO => !matches!(self.sender.state(), State::Open | State::Cwr),
            _ => span.start < board.highest_sacked(),
        }
    }

    /// The first timer that was due long before `until`, and its deadline.
    fn missed_timer(&self, until: Instant) -> Option<(Instant, Timer)> {
        let clock = self.clock(until);
        let retransmits = [Timer::Early, Timer::Reorder, Timer::Probe, Timer::Rto];
        let deadlines = (retransmits.into_iter()).filter_map(|timer| Some((self.sender.deadline(timer)?, timer)));
        let missed = deadlines.filter(|(due, _)| !clock.in_time(*due));
        missed.min_by_key(|(due, _)| *due)
    }

    /// The trigger of a retransmission of `span` at `at` that was taken for lost.
    pub fn late_trigger(&mut self, at: Instant, span: Span) -> Option<Explained> {
        let late = LATE.max(self.sender.rtt().srtt().unwrap_or_default());
        let mut recent = (self.unseen.iter().enumerate().rev())
            .filter(|(_, unseen)| unseen.span.overlaps(span) && at <= unseen.at + late);
        let (i, unseen) = recent.next()?;
        let triggers = Triggers::from(unseen.trigger);
        self.unseen.remove(i);
        Some(Explained { triggers, fits: true })
    }
}
