//! Why a segment was retransmitted. The engine receives the ACKs of the capture and its sent
//! sent. Where it would have sent the same at that moment, its reason is the trigger
//! ([`Sender::reason_for`]).
//!
//! The replay does not fire a timer when the engine's deadline passes: hosts round deadlines, and only the
//! host knows what its clock says. A timer fires when the capture shows the segment that it makes a sender
//! send, if it was due within the tolerances below.
//!
//! What a sender repeats in order after a timeout has the timeout as its reason ([`go_back`]), even where the engine would
//! not have sent it.
//!
//! Away from the sender, what the engine would have sent may have been lost before the capture point
//! ([`unseen`]).
//!
//! A retransmission that the engine does not explain gets the most likely trigger
//! ([`Sender::likely_trigger`]) and counts against the profile. A retransmission that the engine would
//! have sent and that the capture does not show counts against it, too.
//!
//! Source: the 2007 study §IV-A (the state machines of several senders, fed with a trace).

mod go_back;
mod segment_size;
mod unseen;

use super::{
    context::EpisodeContext,
    playback::{Heads, Playback, UneventfulEnd},
    tape::{Beginning, Step},
};
use crate::{
    finding::Triggers,
    hosts::{Score, TimeoutEvidence},
    memory::allocated,
};
use go_back::GoBack;
use recoup_recovery::{
    AckSummary, Mechanisms, ResumeState, Sender, State, Timer, Transmission, Trigger,
    rtt::{Factor, RtoRules, RttEstimator},
};
use recoup_units::{Instant, Offset, Segments, Span};
use segment_size::SegmentSizes;
use serde::{Deserialize, Serialize};
use std::{collections::VecDeque, time::Duration};
use unseen::Unseen;

/// How long before its computed deadline a timer may fire: the sender's clock ticks, and it
/// measures RTTs elsewhere in the host.
const EARLY: Duration = Duration::from_millis(3);

/// How long after its deadline a timer may fire, besides an eighth of its length: Linux's timer
/// wheel rounds by as much.
pub(super) const LATE: Duration = Duration::from_millis(20);

/// A retransmission that an ACK calls for is sent within this or within an eighth of a round trip,
/// the window permitting.
const AT_ONCE: Duration = Duration::from_millis(10);

/// No sender's retransmission timeout is shorter (Linux `TCP_RTO_MIN`; RFC 6298 §2.4 asks for a second).
const LEAST_RTO: Duration = Duration::from_millis(200);

/// Averages of round-trip times lose less than this by rounding, in ns.
const ROUNDED: u64 = 1_000;

/// Timers that fire this much sooner or later than others show another least RTO, rather than other round trips.
const MUCH_SOONER: f64 = 0.8;
const MUCH_LATER: f64 = 1.25;

/// A segment that an ACK releases follows it within this.
const PROMPT: Duration = Duration::from_millis(1);

/// The most outstanding segments that are replayed: 95 MB in full segments, or 10 Gbit/s over 76 ms.
pub(crate) const MOST_REPLAYED: Segments = Segments(1 << 16);

/// A profile's explanation of one retransmission.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Explained {
    pub triggers: Triggers,
    /// The profile would have sent it at that time and for that reason.
    pub fits: bool,
}

/// One sender, replayed under one profile.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
    sizes: SegmentSizes,
    /// Captured away from the sender: packets may be lost before the capture point.
    away: bool,
    /// The profile has probes.
    probes: bool,
    /// Segments that the engine sent and the capture has not shown.
    unseen: VecDeque<Unseen>,
    /// How many more packets may be assumed lost before the next one captured; `None`: any number.
    may_assume: Option<u32>,
    /// Segments sent in steps that were not replayed.
    skipped: u64,
    /// A probe was due that the capture does not show, and that has changed the score.
    probe_is_missing: bool,
    timeouts: TimeoutEvidence,
    go_back: GoBack,
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
            sizes: SegmentSizes::default(),
            away: false,
            probes: false,
            unseen: VecDeque::new(),
            may_assume: None,
            skipped: 0,
            probe_is_missing: false,
            timeouts: TimeoutEvidence::default(),
            go_back: GoBack::default(),
        }
    }

    /// Begins in the state `beginning`. `rtt`: the state of the estimator then.
    pub fn begin(
        &mut self,
        mechanisms: &Mechanisms,
        common: &EpisodeContext<'_>,
        beginning: &Beginning,
        rtt: RttEstimator,
    ) {
        let sender = &mut self.sender;
        sender.reset(mechanisms, common.mss, Trigger::Syn, false);
        sender.set_sack(common.may_sack);
        sender.set_user_timeout(Duration::from_secs(1 << 30));
        let mss = u64::from(common.mss);
        sender.resume(ResumeState {
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
        let last_sent = beginning.outstanding.iter().map(|&(at, _)| at).max();
        self.now = beginning.advanced_at.max(last_sent.unwrap_or_default());
        self.active = self.now;
        self.sizes = SegmentSizes::default();
        self.away = !beginning.rtts.lag.is_zero();
        self.probes = mechanisms.probe.is_some();
        self.unseen.clear();
        self.may_assume = None;
        self.skipped = 0;
        self.probe_is_missing = false;
        self.timeouts = TimeoutEvidence::default();
        self.go_back = GoBack::default();
    }

    /// Takes the steps of a tape, and passes the explanation of each retransmission to `attribute`. Stops
    /// and returns `false` once the replay has done more than `most` [`work`](Self::work) or holds too
    /// many segments.
    pub fn run(&mut self, playback: &Playback<'_>, most: u64, mut explain: impl FnMut(u32, Explained)) -> bool {
        let tape = playback.tape;
        let steps = tape.steps();
        let mut acks = playback.acks.iter();
        let mut end = playback.uneventful;
        let mut written = steps.iter();
        for (i, step) in steps.iter().enumerate() {
            let board = self.sender.board();
            if board.work() > most || board.outstanding() > MOST_REPLAYED {
                return false;
            }
            if end.is_some_and(|end| self.is_calm(end, i)) {
                if self.skip(&steps[i..], most) {
                    return true;
                }
                end = None;
            }
            self.allow_unseen(tape, i);
            // Data sent within a round trip had been written by the application.
            let at = step.at();
            let until = at.plus_nanos(self.sender.rtt().srtt_nanos().unwrap_or_default());
            while let Some(ahead) = written.as_slice().first()
                && ahead.at() <= until
            {
                written.next();
                if let Step::Sent { span, .. } = ahead {
                    self.write_to(at, span.end);
                }
            }
            self.send_unseen(at);
            match step {
                Step::Heard(_) => {
                    self.miss_timers(at);
                    let mut news = AckSummary::default();
                    if let Some(ack) = acks.next() {
                        self.sender.take_ack(at, ack, &mut news);
                    }
                    if news.una_advanced > 0 || news.newly_sacked > Segments::ZERO {
                        self.active = at;
                    }
                    self.note_wants(at);
                }
                &Step::PathMtu { at, mss } => {
                    self.miss_timers(at);
                    self.sender.on_path_mtu(at, mss);
                    self.note_wants(at);
                }
                &Step::Sent { at, span, retransmission, sack_bytes, .. } => {
                    if let Some(index) = retransmission {
                        let explained = self.on_again(at, span, sack_bytes, &steps[i + 1..]);
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
        true
    }

    /// The application has written everything below `end`.
    #[inline]
    fn write_to(&mut self, at: Instant, end: Offset) {
        let more = end.since(self.sender.limit());
        if more > 0 {
            self.sender.on_written(at, more);
        }
    }

    /// Whether the tape's uneventful end has begun at step `i`, and changes nothing that is reported. In the Open state,
    /// with every outstanding segment sent once and after the last retransmission, the engine marks
    /// nothing lost.
    #[inline]
    fn is_calm(&self, end: UneventfulEnd, i: usize) -> bool {
        if i < end.from.min(end.prompt_from) || self.away || self.wanting.is_some() {
            return false;
        }
        let board = self.sender.board();
        self.sender.state() == State::Open
            && board.is_clean()
            && (board.first()).is_none_or(|first| first.sent_at > end.last_retransmission)
            && (i >= end.prompt_from || (i >= end.from && self.is_in_time(end.heads)))
    }

    /// Whether no timer is due before these heads are acknowledged.
    fn is_in_time(&self, heads: Heads) -> bool {
        let rtt = self.sender.rtt();
        let Some(srtt) = rtt.srtt_nanos() else { return false };
        // Averages are rounded down.
        let least_srtt = Duration::from_nanos(srtt.min(heads.least_rtt).saturating_sub(ROUNDED));
        let rules = rtt.rules();
        let usual = (rules.srtt_factor, rules.rttvar_factor) == (Factor::ONE, RtoRules::RTTVAR_FACTOR);
        let rto = rules.min.max(if usual { least_srtt + rules.min_variance } else { Duration::ZERO });
        let soonest = if self.probes { rto.min(least_srtt * 2) } else { rto };
        let none_runs = |timer| self.sender.deadline(timer).is_none();
        Duration::from_nanos(heads.longest) <= soonest + LATE && none_runs(Timer::Early) && none_runs(Timer::Reorder)
    }

    /// Counts the work of `rest` instead of replaying it; `false` if that may be more than `most`.
    fn skip(&mut self, rest: &[Step], most: u64) -> bool {
        let mut nxt = self.sender.nxt();
        let mut segments = 0;
        for step in rest {
            if let Step::Sent { span, .. } = step {
                let new = Span::new(nxt, span.end.max(nxt));
                segments += pieces(new, self.mss).count() as u64;
                nxt = new.end;
            }
        }
        let outstanding = u64::from(self.sender.board().outstanding().0);
        if self.work() + segments > most || outstanding + segments > u64::from(MOST_REPLAYED.0) {
            return false;
        }
        self.skipped += segments;
        true
    }

    /// Cost since its beginning: the segments that the engine has visited, or would have visited
    /// in skipped steps.
    pub fn work(&self) -> u64 {
        self.sender.board().work() + self.skipped
    }

    /// Whether a profile that differs only in having no probes explains the same. Before a probe is sent,
    /// those of the draft change nothing but their own timer.
    pub fn is_same_without_probes(&self) -> bool {
        !self.probe_is_missing && !self.away && self.sender.counters().probes == 0
    }

    /// Its memory, in bytes.
    pub fn memory(&self) -> usize {
        allocated(size_of::<Self>()) + self.sender.board().memory()
    }

    /// Frees memory beyond what most replays need.
    pub fn trim(&mut self) {
        self.sender.trim();
    }

    fn on_new(&mut self, at: Instant, span: Span) {
        self.send_unseen_before(at, None);
        self.miss_timers(at);
        let span = Span::new(self.sender.nxt(), span.end.max(self.sender.nxt()));
        for piece in pieces(span, self.mss) {
            self.write_to(at, piece.end);
            let clock = self.clock(at);
            let is_due = |due| due <= at + EARLY && clock.in_time(due);
            let what = self.sender.send_for_new(at, piece, is_due);
            self.sender.on_sent(at, what);
            self.sizes.on_new(piece.len());
        }
    }

    fn on_again(&mut self, at: Instant, span: Span, sack_bytes: u8, ahead: &[Step]) -> Explained {
        let known = Span::new(span.start, span.end.min(self.sender.nxt()).max(span.start));
        self.on_smaller_segment(at, known, sack_bytes, ahead);
        self.send_unseen_before(at, Some(known));
        let explained = self.explain(at, known);
        self.note_go_back(known, explained.triggers);
        let trigger = explained.triggers.first().unwrap_or(Trigger::Fast);
        self.sender.on_sent(at, Transmission::Again(known, trigger));
        if span.end > known.end {
            self.on_new(at, Span::new(known.end, span.end));
        }
        self.wanting = None;
        self.overdue = false;
        explained
    }

    fn explain(&mut self, at: Instant, span: Span) -> Explained {
        self.note_overdue(at);
        let prompted = !self.overdue && at.since(self.now) <= PROMPT;
        let clock = self.clock(at);
        let stalled = self.is_stalled(at);
        let is_due = |timer, due| match timer {
            Timer::Early | Timer::Reorder => clock.is_due(due) && !clock.is_long_over(due),
            Timer::Rto => clock.is_due(due) || stalled,
            _ => clock.is_due(due),
        };
        let Some(reason) = self.sender.reason_for(at, span, prompted, is_due) else {
            return self.late_trigger(at, span).unwrap_or_else(|| {
                let likely = self.likely(at, span);
                let triggers = self.or_go_back(span, likely);
                self.note_early(at, triggers);
                Explained { triggers, fits: false }
            });
        };
        if let Some((timer, due)) = reason.timer
            && self.is_set_by_rto(timer, due)
        {
            self.note_timeout(at, due);
        }
        let probed = reason.skipped_probe.is_none_or(|due| clock.in_time(due));
        self.probe_is_missing |= !probed;
        let fits = match reason.timer {
            None => !self.overdue,
            Some((Timer::Probe | Timer::Rto, due)) => probed && clock.is_due(due) && clock.in_time(due),
            Some(_) => true,
        };
        Explained { triggers: reason.trigger.into(), fits }
    }

    /// The term that the RTO adds to SRTT, if a timer shows it: not away from the sender, and not where timeouts double.
    fn rto_term(&self) -> Option<Duration> {
        let rtt = self.sender.rtt();
        let srtt = rtt.srtt().filter(|_| !self.away && self.sender.backoff() == 0)?;
        Some(rtt.rto().saturating_sub(srtt))
    }

    /// A timer seems to have fired although none was due.
    fn note_early(&mut self, at: Instant, triggers: Triggers) {
        let by_timer = matches!(triggers.first(), Some(Trigger::Rto | Trigger::Tlp));
        let mut timers = self.sender.retransmission_timers().filter(|(_, due)| *due > at);
        let next = timers.find_map(|(timer, due)| matches!(timer, Timer::Probe | Timer::Rto).then_some(due));
        if let (true, Some(term), Some(due)) = (by_timer, self.rto_term(), next) {
            let shown = term.saturating_sub(due.since(at));
            if shown < term.mul_f64(MUCH_SOONER) && !shown.is_zero() {
                self.timeouts.early.add(shown);
            }
        }
    }

    /// Whether the RTO sets when this timer is due: a probe is due with it at the latest (RFC 8985 §7.2).
    fn is_set_by_rto(&self, timer: Timer, due: Instant) -> bool {
        let mut timers = self.sender.retransmission_timers();
        match timer {
            Timer::Rto => true,
            Timer::Probe => timers.any(|(other, at)| other == Timer::Rto && at <= due),
            _ => false,
        }
    }

    /// The retransmission timeout, which was `due`, made the sender retransmit.
    fn note_timeout(&mut self, at: Instant, due: Instant) {
        let Some(term) = self.rto_term() else { return };
        let shown = term + at.since(due);
        if shown > term.mul_f64(MUCH_LATER) + LATE {
            self.timeouts.late.add(shown);
        } else {
            self.timeouts.on_time += 1;
        }
    }

    /// When timers fired, against those of the profile.
    pub fn timeouts(&self) -> TimeoutEvidence {
        self.timeouts
    }

    /// Whether the engine has wanted to retransmit for long, and nothing but a timer can have made the sender
    /// do it now: it heard and sent nothing just before, and the first segment is older than the timeout. At the sender
    /// a silence as long as any timeout shows it, too, whatever the engine's timeout has grown to.
    fn is_stalled(&self, at: Instant) -> bool {
        let rtt = self.sender.rtt();
        let first = self.sender.board().first();
        let timed_out = |sent_at: Instant| at.since(sent_at) + EARLY >= rtt.rto();
        let silence = at.since(self.now);
        let is_silent = !self.away && silence + EARLY >= LEAST_RTO.max(rtt.srtt().unwrap_or(LEAST_RTO));
        self.overdue && silence > PROMPT && (is_silent || first.is_some_and(|first| timed_out(first.sent_at)))
    }

    /// The trigger of a retransmission that the profile does not explain.
    fn likely(&mut self, at: Instant, span: Span) -> Triggers {
        if self.away {
            // Several copies may be held up and come at once, so silence says little. But only a
            // timer makes a sender retransmit what no ACK has reported missing.
            let quiet = !self.is_reported(span);
            return self.likely_of(at, span, quiet).map_or(Triggers::UNKNOWN, Triggers::from);
        }
        let srtt = self.sender.rtt().srtt();
        let timer = srtt.map_or(LEAST_RTO - EARLY, |srtt| srtt / 2 + EARLY);
        // In Loss an ACK makes the sender go on, even if it brings no news.
        let prompted = self.sender.state() == State::Loss && at.since(self.now) <= PROMPT;
        let quiet = !prompted && at.since(self.active) >= timer;
        // A timeout retransmits the first segment, a probe the last one.
        let first = self.sender.board().first();
        let both = first.is_none_or(|first| span.start <= first.span.start);
        match self.likely_of(at, span, quiet) {
            Some(Trigger::Tlp) if srtt.is_none() && both => Triggers::either(Trigger::Tlp, Trigger::Rto),
            likely => likely.map_or(Triggers::UNKNOWN, Triggers::from),
        }
    }

    /// [`Sender::likely_trigger`]. Without SACK nobody sends tail loss probes (RFC 8985 §7.2).
    fn likely_of(&mut self, at: Instant, span: Span, quiet: bool) -> Option<Trigger> {
        let likely = self.sender.likely_trigger(at, span, quiet);
        likely.filter(|trigger| *trigger != Trigger::Tlp || self.sender.uses_sack())
    }

    fn clock(&self, at: Instant) -> HostClock {
        HostClock { at, since: self.now }
    }

    /// Something happens at `at`. A timer that was due long before, and would have made the sender
    /// retransmit, counts against the profile: the real sender did not have it.
    fn miss_timers(&mut self, at: Instant) {
        let clock = self.clock(at);
        // A timer that was due since the last step is not late yet if that was a moment ago.
        if at.since(clock.since) > LATE {
            let is_missed = |due: Instant| !clock.in_time(due) && due > clock.since;
            let missed = (self.sender.retransmission_timers()).filter(|(_, due)| is_missed(*due));
            let (mut any, mut besides_probe) = (false, false);
            for (timer, _) in missed {
                any = true;
                besides_probe |= timer != Timer::Probe;
            }
            self.absent += u32::from(any);
            self.probe_is_missing |= any && !besides_probe;
        }
        self.now = at;
    }

    /// Notes since when the engine has wanted to retransmit.
    fn note_wants(&mut self, at: Instant) {
        self.now = at;
        if !self.sender.wants_to_retransmit(at) {
            self.wanting = None;
            self.overdue = false;
            return;
        }
        self.wanting.get_or_insert(at);
        self.note_overdue(at);
    }

    /// Whether what the engine has wanted to send since `since` is late at `at`.
    fn is_overdue(&self, since: Instant, at: Instant) -> bool {
        let patience = AT_ONCE.max(self.sender.rtt().srtt().unwrap_or_default() / 8);
        at.since(since) > patience
    }

    fn note_overdue(&mut self, at: Instant) {
        let waited = self.wanting.is_some_and(|since| self.is_overdue(since, at));
        if waited && !self.overdue {
            self.overdue = true;
            self.absent += 1;
        }
    }

    /// How much this profile explains.
    pub fn score(&self) -> Score {
        Score { explained: self.explained, of: self.total + self.absent }
    }
}

/// How a host may round the deadlines of timers.
#[derive(Clone, Copy, Debug)]
struct HostClock {
    /// The time.
    at: Instant,
    /// When the last step happened before that. Timers are taken to run since then.
    since: Instant,
}

impl HostClock {
    /// Whether a timer with the deadline `due` may have fired by now.
    #[inline]
    fn is_due(self, due: Instant) -> bool {
        due <= self.at.plus_nanos((EARLY.as_nanos() as u64).max(self.waits(due) / 32))
    }

    /// Whether a timer with the deadline `due` may have fired as late as now.
    #[inline]
    fn in_time(self, due: Instant) -> bool {
        let late = (LATE.as_nanos() as u64).saturating_add(self.waits(due) / 8);
        self.at <= due.plus_nanos(late)
    }

    /// Whether a timer with the deadline `due` would have fired so long ago that a retransmission timeout may have
    /// passed since.
    fn is_long_over(self, due: Instant) -> bool {
        !self.in_time(due) && self.at.since(due) >= LEAST_RTO - EARLY
    }

    /// For how long the timer runs, in ns.
    #[inline]
    fn waits(self, due: Instant) -> u64 {
        due.nanos_since(self.since)
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
pub(crate) const MOST_PIECES: u64 = 256;

/// The payload of a segment if nothing is known of it, in bytes: Ethernet with timestamps.
pub(crate) const USUAL_MSS: u32 = 1448;

#[cfg(test)]
mod tests;
