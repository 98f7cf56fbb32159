//! The short way of a direction to which nothing has happened, see
//! [`ConnectionState::on_plain_packet`](crate::follow::connection::ConnectionState::on_plain_packet).

use super::{DirectionState, MOST_DISTANCE, acks::HeardAck, outstanding::OutstandingPacket};
use crate::follow::{fields::TcpFields, shared::DirectionContext};
use recoup_units::{Instant, Offset, Span};

impl DirectionState {
    /// Whether it has begun, and nothing was lost.
    #[inline]
    pub fn is_uneventful(&self) -> bool {
        self.isn.is_some() && self.episode.is_none() && !self.is_unconfirmed
    }

    /// What a packet of the peer acknowledges; `None` if the long way must find that out. `sack`: SACK is in use.
    /// `knows_close`: the peer knows that this direction was closed before.
    #[inline(always)]
    pub fn acknowledged_by(&self, fields: &TcpFields, sack: bool, knows_close: bool) -> Option<Offset> {
        let acked = u64::from(fields.ack.0.wrapping_sub(self.isn?.at(self.una).0));
        let most = self.nxt.since(self.una).min(MOST_DISTANCE);
        let may_repeat = acked == 0 && !sack && fields.payload_len == 0 && self.scaled(fields.window) == self.window;
        let repeats = may_repeat && self.unacknowledged() > 0;
        // A closed window is an event, and so is the end of the direction.
        let is_plain = acked <= most && fields.window > 0 && !repeats;
        let has_closed = knows_close && self.is_closed();
        is_plain.then(|| self.una + acked).filter(|cumulative| has_closed || *cumulative < self.fin)
    }

    /// The window of an ACK without a SYN.
    #[inline]
    fn scaled(&self, window: u16) -> u32 {
        u32::from(window) << self.window_scale
    }

    /// Whether a packet is the next one of this direction, and no packet is missing before it. If so, it is remembered.
    #[inline(always)]
    pub fn takes_next(&mut self, fields: &TcpFields, fingerprint: u32, now: Instant) -> bool {
        let is_next = self.isn.is_some_and(|isn| fields.seq == isn.at(self.nxt));
        // A single byte may be a probe.
        if !is_next || fields.payload_len == 1 || self.ids.would_miss(fields.ip_id) {
            return false;
        }
        if self.recent.contains(fingerprint, now) {
            return false;
        }
        self.recent.push(fingerprint, now);
        true
    }

    /// Takes an ACK of all below `cumulative` from the peer. Returns what [`on_ack`](Self::on_ack) does.
    #[inline(always)]
    pub fn on_plain_ack(
        &mut self,
        fields: &TcpFields,
        cumulative: Offset,
        (now, frame): (Instant, u64),
        peer: &Self,
        context: DirectionContext<'_>,
    ) -> Option<u64> {
        let window = self.scaled(fields.window);
        self.heard = true;
        self.window = window;
        self.acked = self.acked.max(cumulative);
        self.remember_ack(fields, fields.timestamps.map(|ts| ts.echo), now, cumulative, &[], context);
        let carries_data = fields.payload_len > 0;
        let heard = HeardAck { now, frame, ip_id: fields.ip_id, cumulative, window, carries_data };
        self.advance(heard, peer, context)
    }

    /// Takes the next packet of this direction.
    #[inline(always)]
    pub fn on_plain_packet(&mut self, fields: &TcpFields, now: Instant, context: DirectionContext<'_>) {
        let len = fields.payload_len;
        self.on_arrival(fields, len > 0, now, context);
        if len == 0 {
            return;
        }
        self.segments += 1;
        self.bytes += u64::from(len);
        let span = Span::at(self.nxt, len.into());
        let sent = self.begin_new(fields, now, span, context);
        self.push(OutstandingPacket::first(span, sent));
        self.mss.on_payload(len);
        self.end_new(span);
    }
}
