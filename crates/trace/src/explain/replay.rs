//! Why a segment was sent again: the engine hears the ACKs of the capture and is told what was sent;
//! where it would have sent the same at that moment, its reason is the trigger.
//!
//! A timer is not let go off when the engine's own would: hosts round deadlines, and what their
//! clocks say is known only to them. It goes off when the capture shows what it makes a sender send,
//! and explains that if it was due, within the tolerances below.
//!
//! What the engine does not explain gets the trigger nearest to what was seen (see
//! [`Replay::likely`]), and counts against the profile; so does what it would have sent and the
//! capture does not show.
//!
//! Source: the 2007 study §IV-A (the state machines of several senders, fed with a trace).

use super::context::EpisodeContext;
use super::tape::{Beginning, Step, Tape};
use crate::finding::Triggers;
use recoup_recovery::sender::Midway;
use recoup_recovery::{Mechanisms, Send, Sender, State, Timer, Trigger};
use recoup_units::{Instant, Segments, Span};
use std::time::Duration;

/// How long before its computed deadline a timer may fire: the sender's clock ticks, and it
/// measures RTTs elsewhere in the host.
const EARLY: Duration = Duration::from_millis(3);

/// How long after its deadline a timer may fire, besides an eighth of its length: Linux's timer
/// wheel rounds by as much.
const LATE: Duration = Duration::from_millis(20);

/// A retransmission that an ACK calls for is sent within this or within an eighth of a round trip,
/// the window permitting.
const AT_ONCE: Duration = Duration::from_millis(10);

/// A segment that an ACK releases follows it within this.
const PROMPT: Duration = Duration::from_millis(1);

/// What a profile says of one retransmission.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Explained {
    pub triggers: Triggers,
    /// The profile would have sent it at that time and for that reason.
    pub fits: bool,
}

/// One sender, replayed under one profile.
#[derive(Clone, Debug)]
pub(crate) struct Replay {
    sender: Sender,
    mss: u64,
    /// Since when the engine has wanted to retransmit something that the window permits.
    wanting: Option<Instant>,
    /// The wanted retransmission is late or missing. Each is counted once.
    overdue: bool,
    /// Retransmissions that were due and that the capture does not show.
    absent: u32,
    explained: u32,
    total: u32,
    /// The time of the last step.
    now: Instant,
    /// When something was last sent, or an ACK last brought news.
    active: Instant,
    /// The retransmission timer went off, and nothing was heard since.
    unheard: bool,
}

impl Replay {
    /// A replay to [`begin`](Self::begin).
    pub fn new(mechanisms: &Mechanisms) -> Self {
        Self {
            sender: Sender::new(mechanisms, USUAL_MSS, Trigger::Syn, false),
            mss: 1,
            wanting: None,
            overdue: false,
            absent: 0,
            explained: 0,
            total: 0,
            now: Instant::ZERO,
            active: Instant::ZERO,
            unheard: false,
        }
    }

    /// Begins in the state `beginning`, with the round-trip times measured so far.
    pub fn begin(
        &mut self,
        mechanisms: &Mechanisms,
        common: &EpisodeContext<'_>,
        beginning: &Beginning,
    ) {
        let rtt = (beginning.rtts).estimator(mechanisms.rto, common.timestamps);
        let sender = &mut self.sender;
        sender.reset(mechanisms, common.mss, Trigger::Syn, false);
        sender.set_sack(common.sack);
        sender.set_user_timeout(Duration::from_secs(1 << 30));
        let mss = u64::from(common.mss);
        sender.resume(Midway {
            una: beginning.una,
            window_edge: beginning.window_edge,
            rtt,
            advanced_at: beginning.advanced_at,
            outstanding: (beginning.outstanding.iter())
                .flat_map(|&(at, span)| pieces(span, mss).map(move |piece| (at, piece))),
        });
        self.mss = mss;
        self.wanting = None;
        self.overdue = false;
        self.absent = 0;
        self.explained = 0;
        self.total = 0;
        self.now = beginning.advanced_at;
        self.active = beginning.advanced_at;
        self.unheard = false;
    }

    /// Takes the steps of a tape, and passes the explanation of each retransmission to `explain`.
    pub fn run(&mut self, tape: &Tape, mut explain: impl FnMut(u32, Explained)) {
        let mut written = tape.steps().iter().peekable();
        for step in tape.steps() {
            // What is sent within a round trip had been written by the application.
            let until = step.at() + self.sender.rtt().srtt().unwrap_or_default();
            while let Some(ahead) = written.next_if(|ahead| ahead.at() <= until) {
                if let Step::Sent { span, .. } = ahead {
                    let more = span.end.since(self.sender.limit());
                    self.sender.on_written(step.at(), more);
                }
            }
            match step {
                Step::Heard(heard) => {
                    self.miss_timers(heard.at());
                    self.unheard = false;
                    let news = self.sender.on_ack(heard.at(), &tape.ack(heard));
                    if news.una_advanced > 0 || news.newly_sacked > Segments::ZERO {
                        self.active = heard.at();
                    }
                    self.note_wants(heard.at());
                }
                &Step::Sent {
                    at,
                    span,
                    retransmission,
                } => {
                    if let Some(index) = retransmission {
                        let explained = self.on_again(at, span);
                        self.total += 1;
                        self.explained += u32::from(explained.fits);
                        explain(index, explained);
                    } else {
                        self.on_new(at, span);
                    }
                    self.active = at;
                    self.note_wants(at);
                }
            }
        }
    }

    fn on_new(&mut self, at: Instant, span: Span) {
        self.miss_timers(at);
        let span = Span::new(self.sender.nxt(), span.end.max(self.sender.nxt()));
        for piece in pieces(span, self.mss) {
            let more = piece.end.since(self.sender.limit());
            self.sender.on_written(at, more);
            let probe = self
                .sender
                .deadline(Timer::Probe)
                .is_some_and(|due| due <= at + EARLY && at <= due + self.lateness(due));
            // With nothing but the window in its way new data goes as a probe (RFC 8985 §7.3).
            let what = if probe && !self.sender.has_room_for_new(at) {
                self.sender
                    .on_timer(self.reached(at, Timer::Probe), Timer::Probe);
                Send::NewProbe(piece)
            } else {
                Send::New(piece)
            };
            self.sender.on_sent(at, what);
        }
    }

    fn on_again(&mut self, at: Instant, span: Span) -> Explained {
        let known = Span::new(span.start, span.end.min(self.sender.nxt()).max(span.start));
        let explained = self.explain(at, known);
        let trigger = explained.triggers.first().unwrap_or(Trigger::Fast);
        self.sender.on_sent(at, Send::Again(known, trigger));
        if span.end > known.end {
            self.on_new(at, Span::new(known.end, span.end));
        }
        self.wanting = None;
        self.overdue = false;
        explained
    }

    fn explain(&mut self, at: Instant, span: Span) -> Explained {
        // What waits for the window when the retransmission timer goes off is sent by that: nothing was
        // heard just now that would have let it go.
        self.note_overdue(at);
        let unprompted = self.overdue || at.since(self.now) > PROMPT;
        let first = self.is_first(span);
        // Slow start goes on with ACKs (RFC 5681 §3.1): without any the timer has gone off again.
        let again = self.unheard && first;
        let timed_out = again || unprompted && first && self.is_due(at, Timer::Rto);
        if let Some(trigger) = self.sender.reason_for(span).filter(|_| !timed_out) {
            return Explained {
                triggers: trigger.into(),
                fits: !self.overdue,
            };
        }
        for timer in [Timer::Early, Timer::Reorder] {
            if self.is_due(at, timer) {
                self.sender.on_timer(self.reached(at, timer), timer);
                if let Some(trigger) = self.sender.reason_for(span) {
                    return Explained {
                        triggers: trigger.into(),
                        fits: true,
                    };
                }
            }
        }
        let may_probe = self.sender.probe_is_answered();
        if may_probe && self.is_due(at, Timer::Probe) && self.is_last(span) {
            let fits = self.in_time(at, Timer::Probe);
            self.sender
                .on_timer(self.reached(at, Timer::Probe), Timer::Probe);
            return Explained {
                triggers: Trigger::Tlp.into(),
                fits,
            };
        }
        if first && (again || self.is_due(at, Timer::Rto)) {
            // A probe due long before should have gone first.
            let probe = self.sender.deadline(Timer::Probe);
            let probed = probe.is_none_or(|due| at <= due + self.lateness(due));
            let fits = probed && self.is_due(at, Timer::Rto) && self.in_time(at, Timer::Rto);
            self.time_out(at);
            return Explained {
                triggers: Trigger::Rto.into(),
                fits,
            };
        }
        Explained {
            triggers: self.likely(at, span),
            fits: false,
        }
    }

    /// What is sent again although the profile had no reason to: by a timer if nothing was heard or sent
    /// for about as long as one takes, else by what the state says of retransmissions.
    fn likely(&mut self, at: Instant, span: Span) -> Triggers {
        let board = self.sender.board();
        if span.end <= board.una() {
            // The ACK had passed the place of capture, and had not reached the sender.
            return match self.sender.state() {
                State::Loss => Trigger::SlowStart.into(),
                State::Recovery => Trigger::Fast.into(),
                _ => Triggers::UNKNOWN,
            };
        }
        let quiet = at.since(self.active);
        let waited = quiet >= self.sender.rtt().srtt().unwrap_or(self.sender.rto()) / 2 + EARLY;
        let below_sack = span.start < board.highest_sacked();
        let may_probe =
            self.sender.deadline(Timer::Probe).is_some() && self.sender.probe_is_answered();
        if waited && self.is_last(span) && (may_probe || !self.is_first(span)) {
            return Trigger::Tlp.into();
        }
        if waited && self.is_first(span) {
            self.time_out(at);
            return Trigger::Rto.into();
        }
        match self.sender.state() {
            State::Loss => Trigger::SlowStart.into(),
            State::Recovery => Trigger::Fast.into(),
            _ if below_sack || board.sacked().0 > 0 => Trigger::Fast.into(),
            _ => Triggers::UNKNOWN,
        }
    }

    fn time_out(&mut self, at: Instant) {
        let at = self.reached(at, Timer::Rto);
        self.sender.on_timer(at, Timer::Rto);
        self.unheard = true;
    }

    /// `at`, or the deadline where that is a little later.
    fn reached(&self, at: Instant, timer: Timer) -> Instant {
        self.sender.deadline(timer).map_or(at, |due| due.max(at))
    }

    fn is_due(&self, at: Instant, timer: Timer) -> bool {
        let due = self.sender.deadline(timer);
        due.is_some_and(|due| due <= at + EARLY.max(self.waits(due) / 32))
    }

    fn in_time(&self, at: Instant, timer: Timer) -> bool {
        let due = self.sender.deadline(timer);
        due.is_some_and(|due| at <= due + self.lateness(due))
    }

    /// How long a timer due at `due` has been waiting, about.
    fn waits(&self, due: Instant) -> Duration {
        due.since(self.now.min(due))
    }

    fn lateness(&self, due: Instant) -> Duration {
        LATE + self.waits(due) / 8
    }

    fn is_first(&self, span: Span) -> bool {
        let first = self.sender.board().first();
        first.is_some_and(|first| first.span.overlaps(span))
    }

    fn is_last(&self, span: Span) -> bool {
        let last = self.sender.board().last();
        last.is_some_and(|last| last.span.overlaps(span))
    }

    /// Something happens at `at`: a timer that was due long before, and would have made the sender send
    /// something again, was none of this sender's.
    fn miss_timers(&mut self, at: Instant) {
        for timer in [Timer::Early, Timer::Reorder, Timer::Probe, Timer::Rto] {
            let silent = timer == Timer::Probe && !self.sender.probe_is_answered();
            let missed = (self.sender.deadline(timer))
                .filter(|_| !silent)
                .is_some_and(|due| due + self.lateness(due) < at && due > self.now);
            if missed {
                self.absent += 1;
                break;
            }
        }
        self.now = at;
    }

    /// Notes since when the engine has wanted to retransmit.
    fn note_wants(&mut self, at: Instant) {
        self.now = at;
        let wants = matches!(self.sender.next_send(at), Some(Send::Again(..)));
        if !wants {
            self.wanting = None;
            self.overdue = false;
            return;
        }
        self.wanting.get_or_insert(at);
        self.note_overdue(at);
    }

    fn note_overdue(&mut self, at: Instant) {
        let patience = AT_ONCE.max(self.sender.rtt().srtt().unwrap_or_default() / 8);
        let waited = self.wanting.is_some_and(|since| at.since(since) > patience);
        if waited && !self.overdue {
            self.overdue = true;
            self.absent += 1;
        }
    }

    /// How much this profile explains.
    pub fn score(&self) -> Score {
        Score {
            explained: self.explained,
            of: self.total + self.absent,
        }
    }
}

/// Retransmissions that fit a profile, of those sent and those it would have sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Score {
    pub explained: u32,
    pub of: u32,
}

impl Score {
    /// The sum of both.
    pub fn plus(self, other: Self) -> Self {
        Self {
            explained: self.explained + other.explained,
            of: self.of + other.of,
        }
    }

    /// Whether every retransmission is explained.
    pub fn is_full(self) -> bool {
        self.explained == self.of
    }

    /// By how much chance may change the share: two standard deviations. Laplace's rule (one more
    /// of either kind) keeps it above 0 where all are explained.
    pub fn chance(self) -> f64 {
        let of = f64::from(self.of) + 2.0;
        let share = (f64::from(self.explained) + 1.0) / of;
        2.0 * (share * (1.0 - share).max(0.0) / of).sqrt()
    }

    /// The share explained, 0 to 1.
    pub fn share(self) -> f64 {
        f64::from(self.explained) / f64::from(self.of.max(1))
    }
}

/// `span` cut into segments of `mss` bytes: with offload, a capture shows many segments as one
/// packet. A span that was not captured may be of any length, and is cut into at most
/// [`MOST_PIECES`].
fn pieces(span: Span, mss: u64) -> impl Iterator<Item = Span> {
    let mss = mss.max(span.len().div_ceil(MOST_PIECES));
    let mut at = span.start;
    std::iter::from_fn(move || {
        let left = span.end.since(at);
        // The FIN goes with the last segment.
        let len = if left <= mss + 1 { left } else { mss };
        let piece = Span::at(at, len);
        at = piece.end;
        (len > 0).then_some(piece)
    })
}

/// More segments than any host sends at once.
const MOST_PIECES: u64 = 256;

/// The payload of a segment if nothing is known of it, in bytes: Ethernet with timestamps.
pub(crate) const USUAL_MSS: u32 = 1448;

#[cfg(test)]
mod tests {
    use super::*;
    use recoup_units::Offset;

    #[test]
    fn packets_are_cut_into_segments_and_the_fin_goes_with_the_last() {
        let lens = |len| {
            let span = Span::at(Offset(5), len);
            pieces(span, 1000).map(Span::len).collect::<Vec<_>>()
        };
        assert_eq!(lens(0), [] as [u64; 0]);
        assert_eq!(lens(1), [1]);
        assert_eq!(lens(1000), [1000]);
        assert_eq!(lens(1001), [1001]);
        assert_eq!(lens(2500), [1000, 1000, 500]);
        assert_eq!(lens(3001), [1000, 1000, 1001]);
        assert!(lens(1 << 30).len() <= 256);
    }
}
