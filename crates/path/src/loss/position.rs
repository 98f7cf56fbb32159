//! The position of each packet in its flow, and which loss rules match it.
//!
//! Sequence numbers are unwrapped to 64-bit payload offsets (offset 0 is ISN + 1, RFC 9293 §3.4)
//! around the highest payload end seen. A flow whose SYN did not pass this chain counts from the
//! sequence number of its first packet, and payload below that does not count as data.
//!
//! Memory per flow: for positional rules with `@2` or higher, the pieces of data they match; for random
//! rules with `@2` or higher, the ranges that were retransmitted.

use super::ranges::Retransmitted;
use super::{LossKind, LossSpec};
use crate::TcpFacts;

/// The rules of a chain that depend on the packets' positions.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    named: Vec<Named>,
    /// How far random rules distinguish transmissions.
    transmissions: Transmissions,
}

/// Which transmissions random rules distinguish.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Transmissions {
    #[default]
    Unused,
    /// The original from all later ones.
    Original,
    /// Each one.
    Each,
}

/// A positional rule and the hop it belongs to.
#[derive(Clone, Copy, Debug)]
struct Named {
    hop: u32,
    kind: LossKind,
    transmission: u32,
}

/// Which rules match a packet, determined when it enters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RuleMatch {
    /// The first hop with a positional rule that matches the packet.
    pub dropped_by: Option<u32>,
    /// Which transmission of its first payload byte it is; 0 without payload, or if no rule uses it.
    pub transmission: u32,
}

impl RuleMatch {
    pub const NONE: Self = Self { dropped_by: None, transmission: 0 };
}

impl Rules {
    pub fn clear(&mut self) {
        self.named.clear();
        self.transmissions = Transmissions::Unused;
    }

    /// Adds the rule of a hop.
    pub fn add(&mut self, hop: u32, spec: LossSpec) {
        if spec.kind.is_positional() {
            let transmission = spec.transmission.unwrap_or(1);
            self.named.push(Named { hop, kind: spec.kind, transmission });
            return;
        }
        self.transmissions = self.transmissions.max(match spec.transmission {
            None => Transmissions::Unused,
            Some(0 | 1) => Transmissions::Original,
            Some(_) => Transmissions::Each,
        });
    }

    /// Whether packets need not be looked at.
    pub fn is_empty(&self) -> bool {
        self.named.is_empty() && self.transmissions == Transmissions::Unused
    }
}

/// The packets of one flow in one direction, so far.
#[derive(Debug, Default)]
pub(crate) struct Positions {
    /// The wire sequence number of payload offset 0.
    base: Option<u32>,
    /// The highest payload end so far.
    highest: u64,
    data_segments: u64,
    syns: u64,
    acks: u64,
    /// By rule: the pieces of data it names, in order of their first byte.
    pieces: Vec<Vec<Piece>>,
    retransmitted: Retransmitted,
}

/// A piece of data that a rule matches.
#[derive(Clone, Copy, Debug)]
struct Piece {
    first_byte: u64,
    transmissions: u32,
}

/// A packet's payload in the stream.
#[derive(Clone, Copy, Debug)]
struct Payload {
    start: u64,
    end: u64,
    /// The number of the data segment, from 1, if this is a new one.
    segment: Option<u64>,
}

impl Positions {
    pub fn clear(&mut self) {
        self.base = None;
        self.highest = 0;
        self.data_segments = 0;
        self.syns = 0;
        self.acks = 0;
        self.pieces.iter_mut().for_each(Vec::clear);
        self.retransmitted.clear();
    }

    /// Counts the next packet of the flow and matches it with the rules.
    pub fn see(&mut self, rules: &Rules, tcp: TcpFacts) -> RuleMatch {
        self.syns += u64::from(tcp.syn);
        self.acks += u64::from(tcp.is_pure_ack());
        let payload = self.place(tcp);
        if self.pieces.len() < rules.named.len() {
            self.pieces.resize_with(rules.named.len(), Vec::new);
        }
        let mut dropped_by: Option<u32> = None;
        for (index, rule) in rules.named.iter().enumerate() {
            // Every rule must count every packet, so the loop does not end at the first match.
            if self.names(index, rule, tcp, payload) && dropped_by.is_none_or(|hop| rule.hop < hop) {
                dropped_by = Some(rule.hop);
            }
        }
        let mut transmission = 0;
        if let Some(payload) = payload {
            transmission = self.transmission(rules.transmissions, payload);
            self.highest = self.highest.max(payload.end);
        }
        RuleMatch { dropped_by, transmission }
    }

    /// The payload's range in the stream; `None` if the packet has none.
    fn place(&mut self, tcp: TcpFacts) -> Option<Payload> {
        // The SYN takes the sequence number before the payload's (RFC 9293 §3.4).
        let wire = tcp.seq.wrapping_add(u32::from(tcp.syn));
        let base = *self.base.get_or_insert(wire);
        // Sequence numbers are the low 32 bits of offsets, so truncation is meant.
        let distance = wire.wrapping_sub(base.wrapping_add(self.highest as u32)).cast_signed();
        let start = self.highest.checked_add_signed(distance.into());
        let below = start.map_or_else(|| u64::from(distance.unsigned_abs()) - self.highest, |_| 0);
        let start = start.unwrap_or(0);
        let end = start + u64::from(tcp.payload_len).saturating_sub(below);
        if start == end {
            return None;
        }
        let segment = (start >= self.highest).then(|| {
            self.data_segments += 1;
            self.data_segments
        });
        Some(Payload { start, end, segment })
    }

    /// Whether a rule matches this packet. Keeps what it needs to match later ones.
    fn names(&mut self, index: usize, rule: &Named, tcp: TcpFacts, payload: Option<Payload>) -> bool {
        match (rule.kind, payload) {
            (LossKind::Syn(k), _) => tcp.syn && self.syns == k,
            (LossKind::Ack(k), _) => tcp.is_pure_ack() && self.acks == k,
            (LossKind::Data { first, last }, Some(payload)) => {
                let named = payload.segment.is_some_and(|k| (first..=last).contains(&k));
                self.piece(index, rule.transmission, payload, named.then_some(payload.start))
            }
            (LossKind::Offset { first, last }, Some(payload)) => {
                let new = payload.start.max(self.highest).max(first);
                let named = new < payload.end && new <= last;
                self.piece(index, rule.transmission, payload, named.then_some(new))
            }
            _ => false,
        }
    }

    /// Whether the packet is transmission `wanted` of a piece of data that a rule matches. `new` is the
    /// first byte of a piece that this packet is the first to carry.
    fn piece(&mut self, index: usize, wanted: u32, payload: Payload, new: Option<u64>) -> bool {
        if wanted <= 1 {
            return wanted == 1 && new.is_some();
        }
        let Some(pieces) = self.pieces.get_mut(index) else {
            return false;
        };
        let from = pieces.partition_point(|piece| piece.first_byte < payload.start);
        let mut hit = false;
        for piece in pieces[from..].iter_mut().take_while(|piece| piece.first_byte < payload.end) {
            piece.transmissions = piece.transmissions.saturating_add(1);
            hit |= piece.transmissions == wanted;
        }
        if let Some(first_byte) = new {
            pieces.push(Piece { first_byte, transmissions: 1 });
        }
        hit
    }

    fn transmission(&mut self, wanted: Transmissions, payload: Payload) -> u32 {
        let retransmits = payload.start < self.highest;
        match wanted {
            Transmissions::Unused => 0,
            _ if !retransmits => 1,
            Transmissions::Original => 2,
            Transmissions::Each => {
                let end = payload.end.min(self.highest);
                self.retransmitted.count(payload.start, end).saturating_add(2)
            }
        }
    }
}

#[cfg(test)]
mod tests;
