//! The short way for most packets of most connections: those of a connection to which nothing has happened, in order.
//!
//! It does what [`ConnectionState::on_packet`] would do, without asking for what cannot be. What it does is made of the
//! same parts. Whatever is unusual about a packet sends it the long way, before anything has changed.

use super::{ConnectionState, Reset};
use crate::{
    attribute::context::ReplayContext,
    follow::{connection::Attention, fields::PlainPacket, shared::DirectionContext},
};

impl ConnectionState {
    /// Whether nothing has happened to the connection that a plain packet would have to be checked against. Plain
    /// packets leave it so.
    #[inline]
    pub fn is_uneventful(&self) -> bool {
        self.attention == Attention::Followed
            && matches!(self.reset, Reset::No)
            && !self.was_over
            && !self.in_handshake
            && !self.has_doubtful_packets
            && self.ecn.is_none()
            && self.tunnels.is_none()
            && self.pending_syns.is_empty()
            && self.directions.iter().all(|direction| direction.is_uneventful())
    }

    /// Takes the next packet of an [uneventful](Self::is_uneventful) connection, sent in direction `side` after at most
    /// `idle` ns. Returns `false`, and nothing has changed, if it must go the long way.
    #[inline(always)]
    pub fn on_plain_packet(
        &mut self,
        packet: &PlainPacket,
        side: usize,
        idle: u64,
        replay_context: &ReplayContext,
    ) -> bool {
        let &PlainPacket { time: now, frame, fingerprint, ref fields, mark } = packet;
        if now < self.last || now.nanos_since(self.last) > idle || self.marks[side] != Some(mark) {
            return false;
        }
        let [first, second] = &mut self.directions;
        let (own, peer) = match side {
            0 => (first, second),
            _ => (second, first),
        };
        let shared = &mut self.shared;
        let Some(cumulative) = peer.acknowledged_by(fields, shared.sack, self.knows_close[side]) else {
            return false;
        };
        if !shared.knows_origin(mark.outgoing(), side) || !own.takes_next(fields, fingerprint, now) {
            return false;
        }
        self.last = now;
        self.packets += 1;
        self.last_frame = frame;
        self.has_sent[side] = true;
        shared.on_fields(fields, fields.payload_len, now, side);
        let context = DirectionContext { shared, replay_context, side: 1 - side };
        if let Some(took) = peer.on_plain_ack(fields, cumulative, (now, frame), own, context) {
            shared.on_response(took, side);
        }
        own.on_plain_packet(fields, now, DirectionContext { shared, replay_context, side });
        true
    }
}
