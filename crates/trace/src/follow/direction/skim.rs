//! A direction that is left out, and one whose time window begins.
//!
//! Skimming updates what [`on_packet`](DirectionState::on_packet) and [`on_ack`](DirectionState::on_ack)
//! do to the sequence numbers and the window: they decide whether the connection is over, and which resets
//! and SYNs belong to it.

use super::{DirectionState, offset_near};
use crate::{cost::division::Division, follow::rtts::Rtts};
use recoup_units::{Instant, Span};
use recoup_wire::{Flags, Segment};
use std::mem::take;

impl DirectionState {
    /// Takes a packet of this direction.
    #[inline]
    pub fn skim(&mut self, segment: &Segment, now: Instant) {
        let isn = *self.isn.get_or_insert(segment.seq);
        let len = segment.sequence_len();
        if len == 0 || segment.flags.contains(Flags::RST) {
            return;
        }
        let Some(start) = offset_near(segment.seq, isn, self.nxt) else {
            return;
        };
        let span = Span::at(start, len.into());
        self.segments += 1;
        if segment.flags.contains(Flags::FIN) {
            self.fin = span.end;
        }
        if span.start < self.nxt {
            if !self.is_probe(segment.payload_len, span, now) {
                self.nxt = self.nxt.max(span.end);
            }
            return;
        }
        if segment.payload_len == 1 && self.is_beyond_closed_window(span) {
            self.window_probe = span.start;
            return;
        }
        self.nxt = span.end;
        self.note_outstanding();
        if self.is_unconfirmed && self.unconfirmed_ack <= self.nxt {
            self.accept_unconfirmed_ack();
        }
    }

    /// Takes an ACK from the peer.
    #[inline]
    pub fn skim_ack(&mut self, segment: &Segment, now: Instant) {
        let isn = *self.isn.get_or_insert(segment.ack);
        let Some(cumulative) = offset_near(segment.ack, isn, self.una) else {
            return;
        };
        if cumulative > self.nxt {
            if !self.is_confirmed(cumulative) {
                return;
            }
            self.nxt = cumulative;
        }
        self.is_unconfirmed = false;
        self.heard = true;
        let syn = segment.flags.contains(Flags::SYN);
        self.window = u32::from(segment.window) << if syn { 0 } else { self.window_scale };
        if cumulative < self.una {
            return;
        }
        self.window_edge = cumulative + u64::from(self.window);
        if cumulative > self.una {
            self.advanced_at = now;
            self.una = cumulative;
        }
    }

    /// Reads what skimming a packet needs. The value has no meaning.
    #[inline]
    pub fn prefetch_skimmed(&self) -> u64 {
        self.una.0
    }

    /// The time window begins. Forgets what was counted, and the recovery under way. What is outstanding
    /// stays, and so does what the handshake agreed on.
    #[cold]
    pub fn enter_window(&mut self, now: Instant) {
        let is_established = self.division.has_begun();
        *self = Self {
            plain_duplicates: 0,
            episode: None,
            bytes: 0,
            duplicates: 0,
            probes: 0,
            foreign: 0,
            rtts: Rtts::default(),
            division: Division::default(),
            late_copies: 0,
            missing: 0,
            late_acks: None,
            steps: 0,
            too_costly: false,
            ..take(self)
        };
        if is_established {
            self.begin_division(now);
        }
    }
}
