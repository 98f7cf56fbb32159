//! How much of a connection is analyzed: all of it, only what is in the time window, or nothing.
//!
//! A connection that the filter leaves out is numbered like the others, so the analysis must find out where
//! it ends and where the next one between the same ends begins. [`ConnectionState::skim`] keeps track of
//! what decides this, and of nothing else.
//!
//! Before the time window a connection is followed as usual. So it is known at the beginning of the window
//! what is outstanding, and what the handshake agreed on. Then [`ConnectionState::enter_window`] forgets
//! what was counted.

use super::{ConnectionState, Reset, handshake::Completion};
use crate::{
    finding::{Connection, Opening},
    follow::{TimedPacket, direction::DirectionState},
    memory::OptionalU64,
};
use recoup_wire::Flags;
use serde::{Deserialize, Serialize};
use std::mem::replace;

/// How much of a connection is analyzed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Attention {
    /// Every packet that comes.
    Followed,
    /// No packet came in the time window yet.
    BeforeWindow,
    /// Nothing: the filter leaves it out.
    LeftOut,
}

/// Counts of a connection before the time window.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct BeforeWindow {
    packets: u64,
    pub duplicates: u64,
    segments: [u64; 2],
    /// The frame of the first packet in the window.
    pub next_frame: u64,
}

impl BeforeWindow {
    /// Removes it from what was found.
    pub fn leave_out(&self, found: &mut Connection) {
        found.frames = self.next_frame..=*found.frames.end();
        found.packets = found.packets.saturating_sub(self.packets);
        for (direction, before) in found.directions.iter_mut().zip(self.segments) {
            direction.segments = direction.segments.saturating_sub(before);
        }
    }
}

impl ConnectionState {
    /// Takes the next packet of a connection that is left out. Returns whether it ended the connection.
    pub fn skim(&mut self, timed: &TimedPacket, side: usize) -> bool {
        let packet = &timed.packet;
        let segment = &packet.segment;
        let now = timed.time.max(self.last);
        self.last = now;
        self.packets += 1;
        self.last_frame = packet.frame;
        self.has_sent[side] = true;
        // The copies in a merged file are compared with them.
        self.directions[side].is_identical_to_recent(packet, now);
        let flags = segment.flags;
        let mut crosses_syn = false;
        if let Reset::BeyondWindow(sender) = self.reset {
            self.settle_doubtful_reset(sender.into(), side);
        }
        if flags.intersects(Flags::SYN.union(Flags::RST)) {
            if flags.contains(Flags::RST) && !self.is_valid_reset(segment, side) {
                let is_over = self.is_over();
                return !replace(&mut self.was_over, is_over) && is_over;
            }
            crosses_syn = flags.contains(Flags::SYN) && self.on_syn(packet, now, side);
        }
        if flags.contains(Flags::ACK) {
            self.directions[1 - side].skim_ack(segment, now);
        }
        if !crosses_syn {
            self.directions[side].skim(segment, now);
        }
        if flags.contains(Flags::RST) {
            self.reset = Reset::Yes;
            self.reset_by[side] = true;
        }
        let is_over = self.is_over();
        !replace(&mut self.was_over, is_over) && is_over
    }

    /// As [`prefetch`](Self::prefetch), of what [`skim`](Self::skim) needs.
    pub fn prefetch_skimmed(&self) -> u64 {
        let sides = self.directions.iter().map(DirectionState::prefetch_skimmed);
        sides.fold(self.packets ^ self.pending_syns.len() as u64, |a, b| a ^ b)
    }

    /// The time window begins, and this packet is the first one in it.
    #[cold]
    pub fn enter_window(&mut self, timed: &TimedPacket) {
        let packet = &timed.packet;
        self.attention = Attention::Followed;
        self.opening = Opening::MidConnection;
        self.handshake.syn_at = OptionalU64::NONE;
        self.handshake.took = OptionalU64::NONE;
        self.handshake.completion = Completion::Pending;
        self.begun = packet.at.min(timed.time);
        self.first = timed.time;
        self.before = Some(Box::new(BeforeWindow {
            packets: self.packets,
            duplicates: self.directions.iter().map(|d| d.duplicates).sum(),
            segments: self.directions.each_ref().map(|d| d.segments),
            next_frame: packet.frame,
        }));
        if let Some(ecn) = &mut self.ecn {
            ecn.counts = Default::default();
        }
        for direction in &mut self.directions {
            direction.enter_window(timed.time);
        }
    }
}
