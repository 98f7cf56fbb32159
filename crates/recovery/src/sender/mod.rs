//! The sender: composes the policies, and is the one place where their verdicts are applied.
//!
//! ```text
//! on_ack   → scoreboard → RTT, timers → window growth → state machine → probe timer
//! on_timer → marks what the timer implies
//! next_send: what would go now, by priority:                             (RFC 6675 §4 NextSeg)
//!     a due probe; lost segments; new data; holes below the highest SACK (in recovery)
//! on_sent  → scoreboard, timers, rate control
//! ```
//! Windows are counted in segments, as Linux does; the receive window in bytes.
//!
//! Source of the order of things: Linux 3.17 `tcp_ack`, `tcp_fastretrans_alert`,
//! `tcp_xmit_retransmit_queue`.
//!
//! Where it is not Linux 3.17 (each is a place where a mechanism is still to come, or where the
//! kernel's way is an accident of its timers):
//!
//! - Undo (DSACK, Eifel) and F-RTO are missing: a timeout or a recovery once entered is never taken
//!   back. Their place is `acks`: what an ACK proves is in [`AckSummary`](crate::AckSummary),
//!   `run_states` runs before anything is sent for it, and `begin_reduction` and `enter_loss` are the
//!   only two places that give up a window.
//! - A lost retransmission is found by the retransmission timer alone (`tcp_mark_lost_retrans`).
//! - With dupthresh raised by reordering, few segments outstanding and nothing to send, Linux
//!   recovers on three SACKs; here the timer does (`tcp_time_to_recover`).
//! - With dupthresh raised, Linux lets the window grow on SACKs too.
//! - Reneging is acted on at once, and its retransmissions are called `rto`; Linux waits for
//!   max(SRTT/2, 10 ms).
//! - An RTT measured by SACK does not move the retransmission timer.
//! - A FIN alone does not bypass the congestion window.
//! - Without SACK the send side falls back on the retransmission timer alone.

mod acks;
mod timers;

use crate::ack::Ack;
use crate::congestion::{self, Congestion};
use crate::detect::Threshold;
use crate::event::{Event, EventLog, Send, State, Timer, Trigger};
use crate::profile::Mechanisms;
use crate::rate::Prr;
use crate::rto::RetransmissionTimer;
use crate::rtt::RttEstimator;
use crate::scoreboard::Scoreboard;
use crate::tlp::LossProbe;
use recoup_units::{Instant, Offset, Segments, Span};
use std::time::Duration;

/// One direction of a connection, as its sender sees it.
#[derive(Clone, Debug)]
pub struct Sender {
    mechanisms: Mechanisms,
    /// Largest payload of a segment, in bytes.
    mss: u32,
    /// The peer reports what it has by SACK.
    sack: bool,
    /// What a retransmitted SYN of this side is called.
    syn_trigger: Trigger,
    board: Scoreboard,
    /// End of what the application has handed over (SYN and FIN included).
    limit: Offset,
    /// The FIN's offset, once the application has closed.
    fin: Option<Offset>,
    window: PeerWindow,

    state: State,
    /// An ACK of this ends the episode (Linux's high_seq).
    recovery_point: Offset,
    /// What retransmissions of the present recovery are called.
    recovery_trigger: Trigger,
    cwnd: Segments,
    ssthresh: Segments,
    usage: WindowUsage,
    prr: Prr,
    congestion: Congestion,
    detection: Threshold,

    rtt: RttEstimator,
    rto: RetransmissionTimer,
    early: Option<Instant>,
    probe: LossProbe,
    persist: Persist,
    /// Retransmission timeouts since the last ACK of new data.
    timeouts: u32,
    /// The timer went off and its own retransmission has not gone yet.
    timeout_due: bool,
    /// The last time the peer acknowledged something, or the first data of a flight was sent.
    progress_at: Instant,
    last_sent_at: Instant,
    gave_up: bool,

    log: EventLog,
    logged_timers: [Option<Instant>; Timer::ALL.len()],
    unlogged_change: Option<(State, State)>,
}

/// What the peer will take.
#[derive(Clone, Copy, Debug, Default)]
struct PeerWindow {
    /// First offset it will not take.
    edge: Offset,
    /// The largest window it ever offered, in bytes.
    largest: u64,
}

/// Whether the congestion window was what limited sending (Linux's tcp_cwnd_validate).
#[derive(Clone, Copy, Debug, Default)]
struct WindowUsage {
    most_outstanding: Segments,
    round_end: Offset,
    limited: bool,
}

/// Zero-window probing.
#[derive(Clone, Copy, Debug, Default)]
struct Persist {
    deadline: Option<Instant>,
    backoff: u32,
    due: bool,
}

impl Sender {
    /// A sender about to send its SYN. `mss` in bytes of payload; `syn_trigger`: [`Trigger::Syn`]
    /// or [`Trigger::SynAck`]. `log`: keep events.
    pub fn new(mechanisms: &Mechanisms, mss: u32, syn_trigger: Trigger, log: bool) -> Self {
        Self {
            mechanisms: *mechanisms,
            mss: mss.max(1),
            sack: true,
            syn_trigger,
            board: Scoreboard::new(Offset::SYN),
            limit: Offset::DATA,
            fin: None,
            window: PeerWindow {
                edge: Offset::DATA,
                largest: 0,
            },
            state: State::Open,
            recovery_point: Offset::SYN,
            recovery_trigger: Trigger::Fast,
            cwnd: mechanisms.initial_window,
            ssthresh: Segments::MAX,
            usage: WindowUsage::default(),
            prr: Prr::default(),
            congestion: Congestion::new(mechanisms.congestion),
            detection: mechanisms.detection,
            rtt: RttEstimator::new(mechanisms.rto),
            rto: RetransmissionTimer::default(),
            early: None,
            probe: LossProbe::default(),
            persist: Persist::default(),
            timeouts: 0,
            timeout_due: false,
            progress_at: Instant::ZERO,
            last_sent_at: Instant::ZERO,
            gave_up: false,
            log: EventLog::new(log),
            logged_timers: [None; Timer::ALL.len()],
            unlogged_change: None,
        }
    }

    /// Begins again as [`new`](Self::new), keeping memory.
    pub fn reset(&mut self, mechanisms: &Mechanisms, mss: u32, syn_trigger: Trigger, log: bool) {
        let mut board = std::mem::take(&mut self.board);
        board.reset(Offset::SYN);
        *self = Self {
            board,
            ..Self::new(mechanisms, mss, syn_trigger, log)
        };
    }

    /// The application handed over `bytes` more. After [`close`](Self::close) nothing is taken.
    pub fn on_written(&mut self, now: Instant, bytes: u64) {
        if self.fin.is_some() {
            return;
        }
        self.limit = self.limit + bytes;
        self.update_persist(now);
        self.log_changes(now);
    }

    /// The application is done: a FIN follows the data. Closing again changes nothing.
    pub fn close(&mut self, now: Instant) {
        if self.fin.is_none() {
            self.fin = Some(self.limit);
            self.limit = self.limit + 1;
            self.update_persist(now);
            self.log_changes(now);
        }
    }

    /// The handshake told whether the peer reports what it has by SACK. Until told, it is taken to.
    pub fn set_sack(&mut self, sack: bool) {
        self.sack = sack;
    }

    /// The path takes segments of at most `mss` bytes from now on; outstanding ones stay as sent.
    pub fn set_mss(&mut self, mss: u32) {
        self.mss = mss.max(1);
    }

    /// What the sender would send now; asking again gives the same answer until something happens.
    pub fn next_send(&self, now: Instant) -> Option<Send> {
        if self.gave_up {
            return None;
        }
        if self.persist.due {
            return Some(self.window_probe());
        }
        if self.probe.is_due()
            && let Some(send) = self.loss_probe()
        {
            return Some(send);
        }
        // First what there is to send, then whether it may go: most of the time there is nothing.
        let candidate = if let Some(lost) = self.board.next_lost() {
            Send::Again(lost.span, self.trigger_of(lost.span))
        } else if let Some(span) = self.next_new() {
            Send::New(span)
        } else if self.state == State::Recovery {
            Send::Again(self.board.next_hole()?.span, self.recovery_trigger)
        } else {
            return None;
        };
        (self.board.pipe() < self.window_now(now)).then_some(candidate)
    }

    /// Something was sent: by this sender's own advice, or, in a replay, because the capture says so.
    pub fn on_sent(&mut self, now: Instant, what: Send) {
        match what {
            Send::New(span) | Send::NewProbe(span) => self.on_sent_new(now, span),
            Send::Again(span, trigger) => self.on_sent_again(now, span, trigger),
            Send::WindowProbe => self.persist.due = false,
        }
        if let Send::NewProbe(_) = what {
            self.probe.on_sent(false, self.board.nxt());
            self.rto.start(now, &self.rtt);
        }
        if self.log.is_on() {
            let (pipe, cwnd) = (self.board.pipe(), self.cwnd);
            self.log.push(now, Event::Sent { what, pipe, cwnd });
            self.log_changes(now);
        }
    }

    fn on_sent_new(&mut self, now: Instant, span: Span) {
        if self.board.first().is_none() {
            self.restart_after_idle(now);
            self.progress_at = now;
        }
        self.last_sent_at = now;
        self.early = None; // the new data may draw the SACKs that were missing
        self.board.push(now, span);
        self.limit = self.limit.max(span.end);
        if self.rto.deadline().is_none() {
            self.rto.start(now, &self.rtt);
        }
        if self.reducing() {
            self.prr.on_sent();
        }
        self.note_usage();
        self.persist = Persist::default();
        self.schedule_probe(now);
    }

    fn on_sent_again(&mut self, now: Instant, span: Span, trigger: Trigger) {
        self.last_sent_at = now;
        let head = span.start <= self.board.una();
        self.board.resend(now, span, trigger != Trigger::Tlp);
        if trigger == Trigger::Tlp {
            self.probe.on_sent(true, self.board.nxt());
            self.rto.start(now, &self.rtt);
            return;
        }
        if self.reducing() {
            self.prr.on_sent();
        }
        if self.timeout_due {
            self.timeout_due = false; // the expiry has set the timer already
        } else if head {
            self.rto.start(now, &self.rtt);
        }
    }

    /// What the present state calls a retransmission of `span`.
    fn trigger_of(&self, span: Span) -> Trigger {
        if span.start == Offset::SYN {
            return self.syn_trigger;
        }
        match self.state {
            State::Loss if self.timeout_due => Trigger::Rto,
            State::Loss => Trigger::SlowStart,
            _ => self.recovery_trigger,
        }
    }

    /// The next new data the receive window permits, by the sender's side of silly-window
    /// avoidance: a full segment, or all there is, or half the largest window
    /// (RFC 9293 §3.8.6.2.1; the push bit is always on, there is no Nagle delay).
    fn next_new(&self) -> Option<Span> {
        if self.board.nxt() >= self.limit {
            return None;
        }
        let span = self.new_span(self.window.edge);
        let enough = span.len() >= u64::from(self.mss)
            || span.end == self.limit
            || span.len() >= (self.window.largest / 2).max(1);
        (!span.is_empty() && enough).then_some(span)
    }

    /// The next new data up to `edge`, at most a segment. The SYN goes alone; the FIN rides on the
    /// last data, whose payload it does not lengthen.
    fn new_span(&self, edge: Offset) -> Span {
        let start = self.board.nxt();
        let full = start + u64::from(self.mss);
        let cap = match self.fin {
            _ if start == Offset::SYN => Offset::DATA,
            Some(fin) if full >= fin => fin + 1,
            _ => full,
        };
        Span::new(start, cap.min(self.limit).min(edge.max(start)))
    }

    /// A tail loss probe: new data if the receive window permits, else the last segment
    /// (draft-dukkipati-tcpm-tcp-loss-probe-01 §2.2).
    fn loss_probe(&self) -> Option<Send> {
        self.next_new().map(Send::NewProbe).or_else(|| {
            self.board
                .last()
                .map(|last| Send::Again(last.span, Trigger::Tlp))
        })
    }

    /// A zero-window probe: what fits if a little does (the override of silly-window avoidance),
    /// else a segment that only draws an ACK.
    fn window_probe(&self) -> Send {
        let span = self.new_span(self.window.edge);
        if span.is_empty() {
            Send::WindowProbe
        } else {
            Send::New(span)
        }
    }

    /// The congestion window for a segment sent now, idle time considered.
    #[inline]
    fn window_now(&self, now: Instant) -> Segments {
        if self.board.first().is_some() || self.board.una() == Offset::SYN {
            return self.cwnd;
        }
        self.window_after_idle(now)
    }

    fn window_after_idle(&self, now: Instant) -> Segments {
        let idle = now.since(self.last_sent_at);
        let initial = self.mechanisms.initial_window;
        congestion::after_idle(self.cwnd, initial, idle, self.rto.rto(&self.rtt))
    }

    /// Takes the window idle time leaves. What slow start may regain of it, ssthresh remembers
    /// (RFC 2861 §2; Linux tcp_cwnd_restart).
    fn restart_after_idle(&mut self, now: Instant) {
        let window = self.window_now(now);
        if window < self.cwnd {
            let three_quarters = Segments(self.cwnd.0 / 2 + self.cwnd.0 / 4);
            self.ssthresh = self.ssthresh.max(three_quarters);
            self.cwnd = window;
        }
    }

    /// Whether the window is being reduced, so that PRR counts what is sent.
    fn reducing(&self) -> bool {
        matches!(self.state, State::Cwr | State::Recovery)
    }

    fn note_usage(&mut self) {
        let outstanding = self.board.outstanding();
        let usage = &mut self.usage;
        if self.board.una() >= usage.round_end || outstanding > usage.most_outstanding {
            *usage = WindowUsage {
                most_outstanding: outstanding,
                round_end: self.board.nxt(),
                limited: self.board.pipe() >= self.cwnd,
            };
        }
    }

    /// Changes the state. It is logged when all else that goes with the change is done, or before
    /// the next change.
    fn set_state(&mut self, now: Instant, to: State) {
        let from = std::mem::replace(&mut self.state, to);
        if from != to && self.log.is_on() {
            self.log_state(now);
            self.unlogged_change = Some((from, to));
        }
    }

    fn log_state(&mut self, now: Instant) {
        if let Some((from, to)) = self.unlogged_change.take() {
            let (cwnd, ssthresh, pipe) = (self.cwnd, self.ssthresh, self.board.pipe());
            self.log.push(
                now,
                Event::StateChanged {
                    from,
                    to,
                    cwnd,
                    ssthresh,
                    pipe,
                },
            );
        }
    }

    /// The lowest unacknowledged offset.
    pub fn una(&self) -> Offset {
        self.board.una()
    }

    /// The next offset to be sent for the first time.
    pub fn nxt(&self) -> Offset {
        self.board.nxt()
    }

    /// The end of what the application has handed over.
    pub fn limit(&self) -> Offset {
        self.limit
    }

    /// What is outstanding.
    pub fn board(&self) -> &Scoreboard {
        &self.board
    }

    /// The state.
    pub fn state(&self) -> State {
        self.state
    }

    /// The congestion window.
    pub fn cwnd(&self) -> Segments {
        self.cwnd
    }

    /// The slow-start threshold; [`Segments::MAX`] until the first reduction.
    pub fn ssthresh(&self) -> Segments {
        self.ssthresh
    }

    /// Segments in flight.
    pub fn pipe(&self) -> Segments {
        self.board.pipe()
    }

    /// The round-trip time estimate.
    pub fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// The RTO in force, back-off included.
    pub fn rto(&self) -> Duration {
        self.rto.rto(&self.rtt)
    }

    /// Whether the user timeout has passed.
    pub fn gave_up(&self) -> bool {
        self.gave_up
    }

    /// The FIN's offset, once the application has closed.
    pub fn fin(&self) -> Option<Offset> {
        self.fin
    }

    /// Takes out the events logged since the last call.
    pub fn drain_events(&mut self) -> impl Iterator<Item = (Instant, Event)> + '_ {
        self.log.drain()
    }

    /// Checks what must hold after every event; the oracle of the property tests.
    pub fn check(&self) -> Result<(), String> {
        self.board.check()?;
        let rules = [
            (
                "snd_nxt is past the data written",
                self.board.nxt() <= self.limit.max(Offset::DATA),
            ),
            (
                "cwnd is zero",
                self.cwnd > Segments::ZERO || self.reducing(),
            ),
            (
                "ssthresh is under two",
                self.ssthresh >= congestion::MIN_SSTHRESH,
            ),
            (
                "the retransmission timer runs if and only if something is outstanding",
                self.board.first().is_some() == self.rto.deadline().is_some(),
            ),
            (
                "in recovery although the recovery point is acknowledged",
                !matches!(self.state, State::Recovery) || self.una() < self.recovery_point,
            ),
        ];
        match rules.iter().find(|(_, holds)| !holds) {
            Some((what, _)) => Err(format!("{what}: {self:?}")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
