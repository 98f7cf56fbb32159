//! Divides the life of a direction among the [states of its sender](SenderState).
//!
//! - **In**: new data, retransmissions and window probes when they were sent, and ACKs when they reached the
//!   sender. All times are by one clock: when what is sent then passes the capture point. Away from the
//!   sender, an ACK reaches it later than it passes the capture point, by the time that the sender's answer
//!   takes back to it.
//! - **Out**: a [`TimeByState`].
//!
//! The states follow Zhang et al. (T-RAT, SIGCOMM 2002, §3), Siekkinen et al. (CoNEXT 2005) and
//! RFC 4898 (`tcpEStatsPerfSndLimTimeRwin`, `…Cwnd`, `…Snd`). Linux measures the same in `TCP_INFO`:
//!
//! | Linux | states |
//! | --- | --- |
//! | `tcpi_busy_time` | recovering + zero window + receiver window + sender buffer + network |
//! | `tcpi_rwnd_limited` | zero window + receiver window, outside recovery |
//! | `tcpi_sndbuf_limited` | sender buffer, outside recovery |
//!
//! ## When the receiver's window limits
//! A segment that waits for room in the window leaves at once when an ACK makes the room (RFC 9293 §3.8.6.2.1,
//! `tcp_snd_wnd_test` in Linux). So the time from one new segment to the next counts as limited by the window if
//! the next one did not fit into the window until just before it was sent. What the time since the last new
//! segment belongs to is open until then: one pending interval for each direction.
//!
//! After a closed window, the sender may take longer to answer the ACK that opens it: up to [`Patience`].
//!
//! A segment that did fit for longer waited for something else: with data in flight for the congestion window, the path
//! or the application, which look the same; with nothing in flight for the application.

use crate::{
    cost::lost::delays::LONGEST_WAIT,
    finding::{SenderState, TimeByState, WhyUnknown},
    memory::allocated,
};
use recoup_units::{Instant, Offset, Span};
use serde::{Deserialize, Serialize};

/// Stands for "not yet".
const NEVER: Instant = Instant::from_nanos(u64::MAX);

/// Where the life of a direction goes. The times of most directions are in the first fields.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Division {
    /// Since when the sender is known; `NEVER` during the handshake.
    begun: Instant,
    /// When the pending interval began: the last new segment was sent.
    since: Instant,
    /// When everything sent was acknowledged, but for a FIN; `NEVER` while something is in flight.
    idle_since: Instant,
    /// The right edge of the window before it moved last, and when it began to move.
    edge_before: Offset,
    edge_at: Instant,
    /// Time in which the application had nothing to send, in ns.
    application: u64,
    rare: Option<Box<RareTime>>,
}

/// State that few directions need. Times are in ns.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct RareTime {
    recovering: u64,
    zero_window: u64,
    /// How often the window closed, and how often data waited meanwhile.
    closed: u32,
    zero_windows: u32,
    /// The window closed so often when data waited last.
    counted: u32,
    receiver_window: u64,
    closing: u64,
    packets_missing: u64,
    /// Parts of the pending interval before a recovery.
    held: Pending,
    /// When the window closed; `NEVER` while it is open.
    closed_since: Instant,
    /// The window was closed before.
    opened: Option<Opened>,
    /// A probe showed that data waited while it was closed.
    probed: bool,
    /// When the last interval ended that was no time of the network.
    decided: Instant,
    recovery: Option<Recovery>,
    /// Nothing but a FIN is left to be acknowledged.
    is_closing: bool,
    /// A reset ended the connection.
    is_over: bool,
}

impl Default for RareTime {
    fn default() -> Self {
        Self {
            recovering: 0,
            zero_window: 0,
            closed: 0,
            zero_windows: 0,
            counted: 0,
            receiver_window: 0,
            closing: 0,
            packets_missing: 0,
            held: Pending::default(),
            closed_since: NEVER,
            opened: None,
            probed: false,
            decided: Instant::ZERO,
            recovery: None,
            is_closing: false,
            is_over: false,
        }
    }
}

/// How the window opened.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Opened {
    at: Instant,
    /// The right edge before.
    edge: Offset,
    /// A segment that follows within this time in ns waited for it.
    within: u64,
}

/// How long in ns a segment may take to follow the ACK that lets it go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Patience {
    /// An ACK that makes room.
    pub usual: u64,
    /// One that opens a closed window. Data that follows within a quarter of the time in which the window was closed waited
    /// for it, rather than being written just then.
    pub closed: u64,
}

/// A recovery that is not complete.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Recovery {
    since: Instant,
    /// End of the data sent before the first retransmission.
    end: Offset,
    /// The episode's row of the first retransmission.
    row: u32,
}

/// An interval whose state is not known yet, in ns.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Pending {
    in_flight: u64,
    idle: u64,
    /// The part of both in which the window was closed.
    closed: u64,
}

/// A recovery that is complete: the row of its first retransmission, and its time in ns.
pub(crate) type RecoveredRow = (u32, u64);

/// The receiver's state as the sender knows it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Heard {
    pub una: Offset,
    /// The right edge of the window.
    pub edge: Offset,
}

/// A retransmission that may begin a recovery.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FirstRetransmission {
    pub at: Instant,
    /// When the ACK of its first byte was due, if nothing acknowledged more since then.
    pub due: Instant,
    /// Everything sent before it ends here.
    pub nxt: Offset,
    /// The episode's row of it.
    pub row: u32,
}

impl Default for Division {
    fn default() -> Self {
        Self {
            begun: NEVER,
            since: NEVER,
            idle_since: NEVER,
            edge_before: Offset::SYN,
            edge_at: Instant::ZERO,
            application: 0,
            rare: None,
        }
    }
}

impl Division {
    /// Its memory on the heap, in bytes.
    #[inline]
    pub fn memory(&self) -> usize {
        match self.rare {
            Some(_) => allocated(size_of::<RareTime>()),
            None => 0,
        }
    }

    /// Whether the sender is known.
    #[inline]
    pub fn has_begun(&self) -> bool {
        self.begun != NEVER
    }

    /// The handshake is complete or, where it was not captured, the first ACK was heard. `idle`: nothing is
    /// in flight.
    pub fn begin(&mut self, at: Instant, idle: bool) {
        if !self.has_begun() {
            self.begun = at;
            self.since = at;
            self.idle_since = if idle { at } else { NEVER };
        }
    }

    /// Sends new data or a FIN, of which `least` bytes leave together if at all.
    #[inline]
    pub fn on_new(&mut self, at: Instant, span: Span, least: u32, heard: Heard, patience: Patience) {
        if !self.has_begun() {
            return;
        }
        let at = at.max(self.since);
        let edge = if at.nanos_since(self.edge_at) <= patience.usual { self.edge_before } else { heard.edge };
        let opened = self.rare.as_mut().and_then(|rare| rare.opened.take());
        let edge =
            opened.filter(|opened| at.nanos_since(opened.at) <= opened.within).map_or(edge, |opened| opened.edge);
        if at == self.since {
            return self.idle_since = NEVER;
        }
        let least = u64::from(least);
        // A timer sends what there is room for (RFC 9293 §3.8.6.2.1, `tcp_write_wakeup` in Linux).
        let fills_window = span.end == heard.edge && span.len() < least;
        let is_limited = span.start + least.min(span.len()) > edge || fills_window;
        if is_limited || self.rare.is_some() {
            self.decide(at, is_limited);
        } else if self.idle_since < at {
            self.application += at.nanos_since(self.idle_since);
        }
        self.since = at;
        self.idle_since = NEVER;
    }

    /// The FIN was sent, and nothing else is in flight.
    #[cold]
    pub fn on_lone_fin(&mut self) {
        self.idle_since = self.since;
    }

    /// An ACK reached the sender. `end`: it leaves nothing in flight if it acknowledges this much. `before`:
    /// what the sender had heard.
    #[inline]
    pub fn on_ack(
        &mut self,
        at: Instant,
        before: Heard,
        now: Heard,
        end: Offset,
        patience: Patience,
    ) -> Option<RecoveredRow> {
        if now.edge != before.edge && at.nanos_since(self.edge_at) > patience.usual {
            self.edge_before = before.edge;
            self.edge_at = at;
        }
        if !self.has_begun() {
            return None;
        }
        let is_idle = now.una >= end;
        if is_idle && self.idle_since == NEVER {
            // It had its ACK soon, and the capture has not.
            let is_absent = at.nanos_since(self.since) > LONGEST_WAIT;
            self.idle_since = if is_absent { self.since } else { at.max(self.since) };
        }
        if self.rare.is_some() || now.una >= now.edge {
            return self.on_rare_ack(at, before, now, is_idle, patience);
        }
        None
    }

    /// The window is closed, or was, or the sender recovers from a loss.
    fn on_rare_ack(
        &mut self,
        at: Instant,
        before: Heard,
        now: Heard,
        is_idle: bool,
        patience: Patience,
    ) -> Option<RecoveredRow> {
        let at = at.max(self.since);
        let is_closed = now.una >= now.edge;
        let rare = self.rare.get_or_insert_default();
        let recovered = rare.recovery.filter(|recovery| now.una >= recovery.end);
        let mut row = None;
        if let Some(recovery) = recovered {
            let at = at.max(recovery.since);
            let time = at.nanos_since(recovery.since);
            rare.recovering += time;
            rare.recovery = None;
            rare.decided = at;
            row = Some((recovery.row, time));
            self.since = at;
            self.idle_since = if is_idle { at } else { NEVER };
            let closes = is_closed && rare.closed_since == NEVER;
            rare.closed = rare.closed.saturating_add(closes.into());
            rare.closed_since = if is_closed { at } else { NEVER };
        } else if rare.recovery.is_none() && is_closed != (rare.closed_since != NEVER) {
            rare.held.closed += closed_time(rare.closed_since, self.since, at);
            rare.closed = rare.closed.saturating_add(is_closed.into());
            rare.opened = (!is_closed).then(|| {
                let quarter = at.nanos_since(rare.closed_since) / 4;
                let within = if rare.probed { patience.closed } else { patience.closed.min(quarter) };
                Opened { at, edge: before.edge, within }
            });
            rare.probed = false;
            rare.closed_since = if is_closed { at } else { NEVER };
        }
        row
    }

    /// A probe of a closed window shows that data waits.
    #[cold]
    pub fn on_window_probe(&mut self, at: Instant) {
        if self.has_begun() && self.rare.as_ref().is_some_and(|rare| rare.closed_since != NEVER) {
            let at = at.max(self.since);
            self.decide(at, true);
            self.rare.get_or_insert_default().probed = true;
            self.since = at;
            if self.idle_since != NEVER {
                self.idle_since = at;
            }
        }
    }

    /// A retransmission. It begins a recovery unless one is not complete.
    #[cold]
    pub fn on_retransmission(&mut self, first: FirstRetransmission, was_acknowledged: bool) {
        if !self.has_begun() {
            return;
        }
        let mut rare = self.rare.take().unwrap_or_default();
        if rare.recovery.is_none() && !rare.is_over {
            let floor = match was_acknowledged {
                true => self.since,
                // Since the last advance of `snd_una`, data was in flight.
                false => self.begun.max(rare.decided),
            };
            let at = first.at.max(floor).max(self.since);
            let due = first.due.clamp(floor, at);
            rare.held = self.pending(&rare, due.max(self.since));
            rare.recovery = Some(Recovery { since: due, end: first.nxt, row: first.row });
        }
        self.rare = Some(rare);
    }

    /// Packets are missing from the capture since `from`.
    #[cold]
    pub fn on_packets_missing(&mut self, from: Instant, at: Instant) {
        if !self.has_begun() {
            return;
        }
        let rare = self.rare.get_or_insert_default();
        if rare.recovery.is_some() || rare.is_over {
            return;
        }
        let at = at.max(self.since);
        let from = from.clamp(self.since, at);
        self.decide(from, false);
        self.since = at;
        if self.idle_since != NEVER {
            self.idle_since = at;
        }
        let rare = self.rare.get_or_insert_default();
        rare.packets_missing += at.nanos_since(from);
        rare.decided = at;
    }

    /// The pending interval, if it ends `at`.
    fn pending(&self, rare: &RareTime, at: Instant) -> Pending {
        let idle_since = self.idle_since.clamp(self.since, at);
        let mut pending = rare.held;
        pending.in_flight += idle_since.nanos_since(self.since);
        pending.idle += at.nanos_since(idle_since);
        pending.closed += closed_time(rare.closed_since, self.since, at);
        pending
    }

    /// The pending interval ends `at`. `is_limited`: data waited for the receiver's window.
    #[inline(never)]
    fn decide(&mut self, at: Instant, is_limited: bool) {
        let mut rare = self.rare.take().unwrap_or_default();
        self.decide_in(&mut rare, at, is_limited);
        self.rare = Some(rare);
    }

    /// As [`decide`](Self::decide), where `rare` is taken out.
    fn decide_in(&mut self, rare: &mut RareTime, at: Instant, is_limited: bool) {
        let in_recovery = rare.recovery.is_some();
        // The time before the recovery is decided now, the recovery is not.
        let at = if in_recovery { self.since } else { at };
        let pending = if in_recovery { rare.held } else { self.pending(rare, at) };
        rare.held = Pending::default();
        let whole = pending.in_flight + pending.idle;
        if rare.is_over {
            rare.closing += whole;
        } else if is_limited {
            let closed = pending.closed.min(whole);
            rare.zero_window += closed;
            if closed > 0 && rare.counted != rare.closed {
                rare.counted = rare.closed;
                rare.zero_windows = rare.zero_windows.saturating_add(1);
            }
            rare.receiver_window += whole - closed;
            rare.decided = at;
        } else if rare.is_closing {
            rare.closing += pending.idle;
        } else {
            self.application += pending.idle;
        }
    }

    /// Whether a reset ended the connection.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.is_over)
    }

    /// Either end sent a reset.
    #[cold]
    pub fn on_reset(&mut self, at: Instant, is_closing: bool) -> Option<RecoveredRow> {
        if !self.has_begun() || self.is_over() {
            return None;
        }
        let mut rare = self.rare.take().unwrap_or_default();
        let row = self.end(&mut rare, at, is_closing);
        rare.is_over = true;
        self.rare = Some(rare);
        self.since = at.max(self.since);
        self.idle_since = self.since;
        row
    }

    /// Decides all time until `at`; `rare` is taken out.
    fn end(&mut self, rare: &mut RareTime, at: Instant, is_closing: bool) -> Option<RecoveredRow> {
        let at = at.max(self.since);
        rare.is_closing = is_closing;
        let recovery = rare.recovery.take();
        let mut row = None;
        if let Some(recovery) = recovery {
            let time = at.max(recovery.since).nanos_since(recovery.since);
            rare.recovering += time;
            row = Some((recovery.row, time));
            // The time before the recovery is decided, too.
            self.idle_since = NEVER;
            self.since = at;
        }
        self.decide_in(rare, at, false);
        row
    }

    /// How often the window was closed while data waited.
    pub fn zero_windows(&self) -> u32 {
        self.rare.as_ref().map_or(0, |rare| rare.zero_windows)
    }

    /// Ends the life of the direction, which began at `first` and ends at `last`. Returns also the recovery
    /// that the end interrupts.
    #[cold]
    pub fn finish(&mut self, first: Instant, last: Instant, ending: Ending) -> (TimeByState, Option<RecoveredRow>) {
        let mut time = TimeByState::default();
        let life = last.nanos_since(first);
        let before = self.begun.min(last).nanos_since(first);
        match (ending.had_handshake, ending.one_direction) {
            (true, _) => time.add(SenderState::Connecting, before),
            (false, false) => time.add_unknown(WhyUnknown::CaptureBegins, before),
            (false, true) => time.add_unknown(WhyUnknown::OneDirection, before),
        }
        let rest = life.saturating_sub(before);
        if ending.one_direction {
            time.add_unknown(WhyUnknown::OneDirection, rest);
            return (time, None);
        }
        if rest == 0 {
            return (time, None);
        }
        // Most directions have none, and need no memory for it here.
        let mut rare = self.rare.take().map_or_else(RareTime::default, |rare| *rare);
        let row = self.end(&mut rare, last, ending.is_closing);
        let mut left = rest;
        let mut take = |nanos: u64| {
            let part = nanos.min(left);
            left -= part;
            part
        };
        for (state, nanos) in [
            (SenderState::Recovering, rare.recovering),
            (SenderState::ZeroWindow, rare.zero_window),
            (SenderState::ReceiverWindow, rare.receiver_window),
            (SenderState::Application, self.application),
            (SenderState::Closing, rare.closing),
        ] {
            time.add(state, take(nanos));
        }
        time.add_unknown(WhyUnknown::PacketsMissing, take(rare.packets_missing));
        time.add(SenderState::Network, left);
        (time, row)
    }
}

/// How the life of a direction ends, and what was captured of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ending {
    pub had_handshake: bool,
    pub one_direction: bool,
    /// It had sent its FIN, and at most that was in flight.
    pub is_closing: bool,
}

/// The time in ns from `since` until `at` in which the window was closed, if it closed at `closed`.
fn closed_time(closed: Instant, since: Instant, at: Instant) -> u64 {
    match closed {
        NEVER => 0,
        closed => at.nanos_since(closed.max(since)),
    }
}
