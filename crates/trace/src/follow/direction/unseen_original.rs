//! Retransmissions whose original was lost before the capture point, with nothing above it captured.
//!
//! They look like first transmissions. They are known as retransmissions only if a packet is missing just before them
//! (IP identification) and that packet can only have been the original:
//!
//! - Everything sent before was acknowledged, as the echoed timestamp shows, but perhaps the last segment of a flight. So the
//!   missing packet repeats nothing older.
//! - Acknowledgment number and window stayed the same, so the missing packet is no ACK and no window update.
//! - The time is too short for a keep-alive.
//! - Where the packet before the missing one is a bare ACK, the peer sent nothing meanwhile, and the echo stayed the same.
//! - Where it carries data, which the peer acknowledged, more time passed than an ACK takes to let new data go: a timer fired, at
//!   least two round trips after the original (RFC 8985 §7.2). And the peer's last ACK came within half a round trip, so that no timer
//!   fired for want of an ACK. Otherwise the missing packet may be a needless retransmission.
//!
//! New data is sent in order, so the missing packet began with the same byte.
//!
//! A bare ACK shows more: its sequence number is that of the next new byte (RFC 9293 §3.10.7.4), so
//! all below was sent before.

use super::{
    DirectionState,
    outstanding::{OutstandingPacket, SentPacket},
    probes::LEAST_IDLE,
};
use crate::{
    follow::{fields::TcpFields, shared::DirectionContext},
    read::CapturedPacket,
};
use recoup_units::{Instant, Offset, Span};
use recoup_wire::{Flags, SeqNumber, Timestamps};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// State of a sender as its packet shows it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct SenderShown {
    at: Instant,
    timestamps: Timestamps,
    ip_id: Option<u16>,
    ack: SeqNumber,
    window: u16,
    is_bare: bool,
    /// How many packets of the sender are missing after it.
    pub lost_since: u32,
}

impl SenderShown {
    /// The state that a packet shows, if it is an ACK with timestamps.
    #[inline]
    pub fn by(fields: &TcpFields, at: Instant) -> Option<Self> {
        let timestamps = fields.timestamps?;
        (fields.flags.contains(Flags::ACK)).then_some(Self {
            at,
            timestamps,
            ip_id: fields.ip_id,
            ack: fields.ack,
            window: fields.window,
            is_bare: fields.sequence_len() == 0,
            lost_since: 0,
        })
    }

    /// This state; `lost` packets of the sender are missing after it.
    pub fn before(self, lost: u32) -> Self {
        Self { lost_since: lost, ..self }
    }
}

impl DirectionState {
    /// Other packets are missing before a packet with the next new byte: finds out whether its original is
    /// among them.
    #[cold]
    pub fn look_for_unseen_original(&mut self, packet: &CapturedPacket, span: Span, context: DirectionContext<'_>) {
        let before = self.away.as_ref().and_then(|away| away.shown_before());
        if let Some(before) = before
            && self.repeats_unseen(packet, &before, context)
        {
            self.on_unseen_original(span, &before);
            if let Some(away) = &mut self.away {
                away.on_unseen_original(before.lost_since);
            }
        }
    }

    /// Whether a packet with the next new byte was sent before. `before`: what the packet captured
    /// before it showed; others are missing between the two.
    fn repeats_unseen(&self, packet: &CapturedPacket, before: &SenderShown, context: DirectionContext<'_>) -> bool {
        let (Some(shown), Some(away)) = (SenderShown::by(&TcpFields::of(packet), before.at), &self.away) else {
            return false;
        };
        let Some(elapsed) = away.clock.between(before.timestamps.value, shown.timestamps.value) else {
            return false;
        };
        if shown.ack != before.ack || shown.window != before.window || elapsed >= LEAST_IDLE {
            return false;
        }
        let way = context.shared.response_time(context.side);
        let (echo, echo_before) = (shown.timestamps.echo, before.timestamps.echo);
        let peer_sent_at = context.shared.last_packet_at[1 - context.side];
        if before.is_bare && echo == echo_before {
            let peer_was_silent = before.at.nanos_since(peer_sent_at) >= way && peer_sent_at <= before.at;
            return peer_was_silent && self.had_acknowledged(self.nxt, echo_before);
        }
        let round_trip = Duration::from_nanos(self.rtts.least_nanos().saturating_add(way));
        // The receiver may delay the ACK of the last segment for longer than a sender waits to probe.
        let but_last = Offset(self.nxt.0.saturating_sub(self.mss.bytes_or_usual().into()));
        !before.is_bare
            && elapsed >= round_trip + round_trip / 2
            && peer_sent_at <= before.at + round_trip / 2
            && self.had_acknowledged(but_last, echo)
    }

    /// `packet` is a bare ACK. Its sequence number shows what its sender, which is away from the capture
    /// point, had sent by then.
    #[cold]
    pub fn on_next_number(&mut self, packet: &CapturedPacket, isn: SeqNumber) {
        let segment = &packet.segment;
        let (ts, ip_id) = (segment.options.timestamps, packet.ip_id.filter(|id| *id != 0));
        let in_window = |next: &Offset| *next > self.nxt && *next <= self.least_window_edge();
        let next = segment.seq.unwrap(isn, self.nxt).filter(in_window);
        if let Some(next) = next.filter(|_| ts.is_some() || ip_id.is_some())
            && let Some(away) = &mut self.away
        {
            let sent = SentPacket {
                // One of the packets missing since then held it.
                at: away.lost_since().unwrap_or(away.departed_at()),
                ts: ts.map(|ts| ts.value),
                ip_id,
            };
            away.on_unseen_data();
            self.push_unseen(Span::new(self.nxt, next), sent);
        }
    }

    /// Whether the ACK of all below `end` had reached the sender when it echoed `echo`.
    fn had_acknowledged(&self, end: Offset, echo: u32) -> bool {
        let value = (self.away.as_ref()).and_then(|away| away.recent_acks.ts_of(end));
        value.is_some_and(|value| echo.wrapping_sub(value).cast_signed() >= 0)
    }

    /// `span` was sent after the packet that showed `before`, and lost.
    fn on_unseen_original(&mut self, span: Span, before: &SenderShown) {
        let sent = SentPacket { at: before.at, ts: Some(before.timestamps.value), ip_id: before.ip_id };
        self.push_unseen(span, sent);
    }

    /// `span` was sent before `sent`, and was not captured.
    fn push_unseen(&mut self, span: Span, sent: SentPacket) {
        self.missing += span.len();
        self.push(OutstandingPacket::uncaptured(span, sent));
        self.nxt = span.end;
        if let Some(episode) = &mut self.episode {
            episode.on_new(sent.at, span);
        }
    }
}
