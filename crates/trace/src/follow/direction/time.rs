//! Passes what the sender sent and heard to the [`Division`](crate::cost::division::Division) of its time.

use super::DirectionState;
use crate::{
    attribute::episode::ConnectionEnd,
    cost::division::{Ending, FirstRetransmission, Heard, Patience, RecoveredRow},
    finding::TimeByState,
    follow::shared::DirectionContext,
};
use recoup_units::{Instant, Offset, Span};

/// Every window has room for this.
const NO_EDGE: Offset = Offset(u64::MAX);

/// Before the first ACK.
const NOTHING_HEARD: Heard = Heard { una: Offset(0), edge: NO_EDGE };

/// A segment that waited for an ACK leaves within this time in ns after it.
const PROMPT: u64 = 1_000_000;

/// [`PROMPT`] away from the sender: most timestamps that say when a segment left have ticks of 1 ms.
const PROMPT_AWAY: u64 = 3_000_000;

/// Away from the sender, ACKs and data take this fraction (1/n) of their way longer or shorter than others.
const JITTER: u64 = 32;

/// But never later than after this fraction (1/n) of the round-trip time.
const PROMPT_RTTS: u64 = 8;

/// How long a segment may take to follow the ACK that let it go, in ns. `least`: the shortest RTT.
#[inline]
pub(super) fn patience(lag: u64, least: u64) -> Patience {
    let closed = match lag {
        0 => PROMPT,
        lag => PROMPT_AWAY.max(lag / JITTER),
    };
    let usual = match least + lag {
        0 => closed,
        rtt => closed.min(rtt / PROMPT_RTTS),
    };
    Patience { usual, closed }
}

impl DirectionState {
    /// The handshake is complete.
    pub fn begin_division(&mut self, now: Instant) {
        self.division.begin(now, self.una >= self.nxt);
    }

    /// ACKs that the sender has heard if it is at the capture point.
    #[inline]
    pub fn heard_here(&self) -> Heard {
        Heard { una: self.una, edge: if self.acked > Offset::SYN { self.window_edge } else { NO_EDGE } }
    }

    /// With this much acknowledged, nothing but a FIN is in flight.
    #[inline]
    pub(super) fn idle_at(&self) -> Offset {
        self.nxt.min(Offset(self.fin.0.saturating_sub(1)))
    }

    /// The sender sends new data.
    #[inline]
    pub fn divide_at_new(&mut self, is_fin: bool, now: Instant, span: Span, context: DirectionContext<'_>) {
        let (at, heard, lag) = self.sent_by(now, context);
        if span.start > self.nxt && !context.shared.is_away(context.side) {
            self.divide_at_missing(Span::new(self.nxt, span.start), now, context);
        }
        let patience = patience(lag, self.rtts.least_nanos());
        let mss = self.mss.bytes();
        self.division.on_new(at, span, mss, heard, patience);
        if span.len() == 1 && is_fin && heard.una >= span.start {
            self.division.on_lone_fin();
        }
    }

    /// The sender retransmits `span`; its first byte was `last_sent` before.
    #[cold]
    pub fn divide_at_retransmission(
        &mut self,
        now: Instant,
        span: Span,
        last_sent: Option<Instant>,
        context: DirectionContext<'_>,
    ) {
        let (at, heard, lag) = self.sent_by(now, context);
        if span.end == self.fin && span.len() == 1 && heard.una >= span.start {
            return self.division.on_lone_fin();
        }
        let Some(row) = self.episode.as_ref().and_then(|episode| episode.last_row()) else {
            return;
        };
        let rtt = (self.rtts.average()).map_or(0, |rtt| rtt.as_nanos() as u64 + lag);
        let due = last_sent.map_or(at, |sent| sent.plus_nanos(rtt));
        let first = FirstRetransmission {
            at,
            due: due.max(self.advanced_at.plus_nanos(lag)),
            nxt: self.nxt.max(span.end),
            row,
        };
        self.division.on_retransmission(first, span.start < heard.una);
    }

    /// The sender probes the window, or whether its peer is alive.
    #[cold]
    pub fn divide_at_probe(&mut self, now: Instant, context: DirectionContext<'_>) {
        let (at, ..) = self.sent_by(now, context);
        self.division.on_window_probe(at);
    }

    /// The capture does not hold `span`.
    #[cold]
    pub fn divide_at_missing(&mut self, span: Span, now: Instant, context: DirectionContext<'_>) {
        let [own, peer] = [context.side, 1 - context.side].map(|side| context.shared.last_packet_at[side]);
        let before = if own < now { own } else { peer };
        let (at, ..) = self.sent_by(now, context);
        if self.segments > 0 && !span.is_empty() {
            self.division.on_packets_missing(before, at);
        }
    }

    /// An ACK of all below `una` passed.
    #[inline]
    pub fn divide_at_ack(&mut self, now: Instant, before: Heard, una: Offset, context: DirectionContext<'_>) {
        if !self.division.has_begun() && self.nxt >= super::MID_CONNECTION {
            self.division.begin(now, una >= self.nxt);
        }
        if context.shared.is_away(context.side) {
            return;
        }
        let heard = Heard { una, edge: self.window_edge };
        let (idle_at, patience) = (self.idle_at(), patience(0, self.rtts.least_nanos()));
        let recovered = self.division.on_ack(now, before, heard, idle_at, patience);
        if recovered.is_some() {
            self.on_recovered(recovered);
        }
    }

    /// When the latest packet, captured `now`, left, and what the sender had heard by then. Also the time an ACK takes
    /// to the sender and the answer back, in ns.
    #[inline]
    fn sent_by(&mut self, now: Instant, context: DirectionContext<'_>) -> (Instant, Heard, u64) {
        if !context.shared.is_away(context.side) {
            return (now, self.heard_here(), 0);
        }
        let at = self.departure(now, context).at;
        let lag = context.shared.response_time(context.side);
        (at, self.hear_until(at, lag), lag)
    }

    /// The sender, `lag` away, hears the ACKs that reach it until `at`.
    #[inline]
    pub fn hear_until(&mut self, at: Instant, lag: u64) -> Heard {
        match &self.away {
            Some(away) if !away.recent_acks.has_unheard(at.minus_nanos(lag)) => away.heard.unwrap_or(NOTHING_HEARD),
            Some(_) => self.hear_next(at, lag),
            None => NOTHING_HEARD,
        }
    }

    #[inline(never)]
    fn hear_next(&mut self, at: Instant, lag: u64) -> Heard {
        let (idle_at, patience) = (self.idle_at(), patience(lag, self.rtts.least_nanos()));
        let Some(mut away) = self.away.take() else {
            return NOTHING_HEARD;
        };
        let until = at.minus_nanos(lag);
        let mut before = away.heard.unwrap_or(NOTHING_HEARD);
        while let Some(ack) = away.recent_acks.next_heard(until) {
            let heard = ack.heard();
            if heard.una < before.una {
                continue;
            }
            let at = heard.at.plus_nanos(lag);
            let heard = Heard { una: heard.una, edge: heard.window_edge };
            let recovered = self.division.on_ack(at, before, heard, idle_at, patience);
            before = heard;
            self.on_recovered(recovered);
        }
        away.heard = Some(before);
        self.away = Some(away);
        before
    }

    /// Either end sent a reset.
    #[cold]
    pub fn divide_at_reset(&mut self, now: Instant, context: DirectionContext<'_>) {
        if self.division.is_over() {
            return;
        }
        if context.shared.is_away(context.side) {
            self.hear_until(now, context.shared.response_time(context.side));
        }
        let recovered = self.division.on_reset(now, self.una >= self.idle_at() && self.nxt >= self.fin);
        self.on_recovered(recovered);
    }

    #[cold]
    fn on_recovered(&mut self, row: Option<RecoveredRow>) {
        if let (Some((row, nanos)), Some(episode)) = (row, &mut self.episode) {
            episode.set_recovering(row, nanos);
        }
    }

    /// Ends the division.
    #[cold]
    pub fn finish_division(&mut self, end: &ConnectionEnd, context: DirectionContext<'_>) -> TimeByState {
        let heard = if context.shared.is_away(context.side) {
            self.hear_until(end.at, context.shared.response_time(context.side))
        } else {
            self.heard_here()
        };
        let ending = Ending {
            had_handshake: end.had_handshake,
            one_direction: end.one_direction,
            is_closing: self.nxt >= self.fin && heard.una >= self.idle_at(),
        };
        let (time, recovered) = self.division.finish(end.first, end.at, ending);
        self.on_recovered(recovered);
        time
    }
}
