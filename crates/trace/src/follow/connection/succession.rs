//! Where one connection ends and the next one between the same ends begins.
//!
//! A SYN with a new sequence number
//!
//! - opens the next connection if the old one is over, was silent for long, or was never answered;
//! - belongs to the same connection if the other end has sent only its own SYN: a simultaneous open
//!   (RFC 9293 §3.5, figure 8);
//! - belongs to the same connection if that began with its SYN-ACK: the capture holds the two in the wrong order;
//! - is undecided otherwise. Either the capture lost the end of the old connection, or the SYN is a
//!   stray, which the receiver answers with an ACK of the old connection (RFC 9293 §3.10.7.4, RFC
//!   5961 §4).
//!
//! An undecided SYN waits for a packet that belongs to it: its SYN-ACK, or its sender's next
//! segment. A SYN-ACK with a new number that does not answer the known SYN opens the next
//! connection.

use super::ConnectionState;
use crate::{follow::TimedPacket, read::CapturedPacket};
use recoup_wire::{Flags, Segment, SeqNumber};
use std::mem::take;

/// After this much silence, in ns, a SYN opens the next connection.
const SILENT: u64 = 60_000_000_000;

/// SYNs kept until they are decided: Linux retransmits a SYN six times.
const MOST_PENDING_SYNS: usize = 7;

/// First data lies within this many bytes of the SYN.
const FIRST: u32 = 1 << 16;

/// The connection that a packet belongs to.
#[derive(Debug)]
pub(crate) enum Owner {
    This,
    /// The next one. It begins with these SYNs or, if there are none, with the packet.
    Next(Vec<TimedPacket>),
    /// A later packet decides. This one is kept.
    Undecided,
}

impl ConnectionState {
    /// Whether a packet may belong to the next connection, so that [`owner_of`](Self::owner_of)
    /// decides.
    #[inline]
    pub fn may_open_next(&self, packet: &CapturedPacket) -> bool {
        packet.segment.flags.contains(Flags::SYN) || !self.pending_syns.is_empty()
    }

    /// The connection that a packet of direction `side` belongs to.
    pub fn owner_of(&mut self, timed: &TimedPacket, side: usize) -> Owner {
        let segment = &timed.packet.segment;
        if self.confirms_pending_syns(&timed.packet) {
            return Owner::Next(take(&mut self.pending_syns));
        }
        let syn = segment.flags.contains(Flags::SYN);
        let answer = segment.flags.contains(Flags::ACK);
        match (syn, answer) {
            (true, false) => self.owner_of_syn(timed, side),
            (true, true) if self.is_foreign_syn_ack(segment, side) => Owner::Next(Vec::new()),
            _ => Owner::This,
        }
    }

    fn owner_of_syn(&mut self, timed: &TimedPacket, side: usize) -> Owner {
        let number = timed.packet.segment.seq;
        let known = self.directions[side].syn();
        let crosses = known.is_none() && self.is_half_open() && self.handshake.syn_acks == 0;
        let is_answered = known.is_none() && self.handshake.syn_acks > 0 && self.directions[side].is_next(number + 1);
        if known == Some(number) || crosses || is_answered {
            return Owner::This;
        }
        let again = self.pending_syns.first().is_some_and(|first| {
            first.packet.segment.seq == number && first.packet.endpoints == timed.packet.endpoints
        });
        if !again {
            self.packets += take(&mut self.pending_syns).len() as u64;
        }
        let silent = timed.time.nanos_since(self.last) > SILENT;
        if self.is_over() || self.is_half_open() || silent {
            return Owner::Next(take(&mut self.pending_syns));
        }
        if self.pending_syns.len() < MOST_PENDING_SYNS {
            self.pending_syns.push(*timed);
        } else {
            self.packets += 1;
        }
        Owner::Undecided
    }

    /// Whether a packet shows that the undecided SYNs open a connection: it answers or continues
    /// them.
    fn confirms_pending_syns(&self, packet: &CapturedPacket) -> bool {
        let Some(first) = self.pending_syns.first() else {
            return false;
        };
        let segment = &packet.segment;
        let begins = first.packet.segment.seq + 1;
        if packet.endpoints != first.packet.endpoints {
            return segment.flags.contains(Flags::ACK) && follows(segment.ack, begins);
        }
        !segment.flags.contains(Flags::SYN) && follows(segment.seq, begins)
    }

    /// Whether a SYN-ACK belongs to another connection.
    fn is_foreign_syn_ack(&self, segment: &Segment, side: usize) -> bool {
        let fits = match self.directions[side].syn() {
            Some(number) => number == segment.seq,
            None => !self.has_sent[side],
        };
        !fits && !self.directions[1 - side].is_opened_by(segment.ack)
    }
}

/// Whether `number` is `begins` or slightly more.
fn follows(number: SeqNumber, begins: SeqNumber) -> bool {
    number.0.wrapping_sub(begins.0) < FIRST
}
