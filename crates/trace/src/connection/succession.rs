//! Where a connection ends and the next one between the same ends begins.
//!
//! | a SYN with another number | is |
//! | --- | --- |
//! | on a connection that is over, long silent, or was never answered | the next one |
//! | while the other end has only sent its own SYN | the same connection, opened from both ends (RFC 9293 §3.5, figure 8) |
//! | else | either: the capture lost how the old one ended, or the SYN is a stray, to which the receiver answers with an ACK of the old one (RFC 9293 §3.10.7.4, RFC 5961 §4) |
//!
//! In the last case it is put aside until something belongs to it: its answer, or what its sender sends
//! next. A SYN-ACK with another number that does not answer the known SYN is of the next connection.

use super::Connection;
use crate::analyze::Timed;
use crate::read::Packet;
use recoup_wire::{Flags, Segment, SeqNumber};
use std::mem::take;

/// A connection that was silent for so long, in ns, does not outlive a SYN.
const SILENT: u64 = 60_000_000_000;

/// SYNs put aside at once: as often as Linux sends one again.
const MOST_ASIDE: usize = 7;

/// What is sent at first lies within so many bytes of the SYN.
const FIRST: u32 = 1 << 16;

/// Whose a packet is.
#[derive(Debug)]
pub(crate) enum Belongs {
    /// This connection's.
    Here,
    /// The next one's, which begins with these SYNs, or, without any, with the packet.
    Next(Vec<Timed>),
    /// What follows will tell. It is kept.
    Aside,
}

impl Connection {
    /// Whether a packet of these ends may be of the next connection between them, so that
    /// [`claims`](Self::claims) decides.
    #[inline]
    pub fn may_be_next(&self, packet: &Packet) -> bool {
        packet.segment.flags.contains(Flags::SYN) || !self.aside.is_empty()
    }

    /// Whose a packet of direction `side` is.
    pub fn claims(&mut self, timed: &Timed, side: usize) -> Belongs {
        let segment = &timed.packet.segment;
        if self.belongs_to_aside(&timed.packet) {
            return Belongs::Next(take(&mut self.aside));
        }
        let syn = segment.flags.contains(Flags::SYN);
        let answer = segment.flags.contains(Flags::ACK);
        match (syn, answer) {
            (true, false) => self.claims_syn(timed, side),
            (true, true) if self.is_foreign_answer(segment, side) => Belongs::Next(Vec::new()),
            _ => Belongs::Here,
        }
    }

    fn claims_syn(&mut self, timed: &Timed, side: usize) -> Belongs {
        let number = timed.packet.segment.seq;
        let known = self.directions[side].syn();
        let crosses = known.is_none() && self.is_half_open() && self.handshake.answers == 0;
        if known == Some(number) || crosses {
            return Belongs::Here;
        }
        let again = self.aside.first().is_some_and(|first| {
            first.packet.segment.seq == number && first.packet.endpoints == timed.packet.endpoints
        });
        if !again {
            self.packets += take(&mut self.aside).len() as u64;
        }
        let silent = timed.time.nanos_since(self.last) > SILENT;
        if self.is_over() || self.is_half_open() || silent {
            return Belongs::Next(take(&mut self.aside));
        }
        if self.aside.len() < MOST_ASIDE {
            self.aside.push(*timed);
        } else {
            self.packets += 1;
        }
        Belongs::Aside
    }

    /// Whether a packet shows that the SYNs put aside open a connection: an answer to them, or what
    /// follows them.
    fn belongs_to_aside(&self, packet: &Packet) -> bool {
        let Some(first) = self.aside.first() else {
            return false;
        };
        let segment = &packet.segment;
        let begins = first.packet.segment.seq + 1;
        if packet.endpoints != first.packet.endpoints {
            return segment.flags.contains(Flags::ACK) && follows(segment.ack, begins);
        }
        !segment.flags.contains(Flags::SYN) && follows(segment.seq, begins)
    }

    /// Whether a SYN-ACK is of another connection than this.
    fn is_foreign_answer(&self, segment: &Segment, side: usize) -> bool {
        let fits = match self.directions[side].syn() {
            Some(number) => number == segment.seq,
            None => !self.heard[side],
        };
        !fits && !self.directions[1 - side].is_opened_by(segment.ack)
    }
}

/// Whether `number` is `begins`, or little more.
fn follows(number: SeqNumber, begins: SeqNumber) -> bool {
    number.0.wrapping_sub(begins.0) < FIRST
}
