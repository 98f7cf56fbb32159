//! Tells two capture points apart by the order of the copies, where their marks are the same.
//!
//! Between hosts on one link, nothing in a packet changes. A packet is captured first near its
//! sender and a path delay later at the other end. One that is captured once was lost between the
//! points. This holds if the clocks of the captures differ by less than the delay, which the
//! handshake shows: the SYN-ACK leaves after the SYN has arrived.

use super::sightings::{Repeats, Sighting};
use crate::{
    finding::WhyInseparable,
    follow::{TimedPacket, direction::fingerprint},
};
use recoup_units::Instant;
use recoup_wire::SeqNumber;
use serde::{Deserialize, Serialize};
use std::{collections::VecDeque, time::Duration};

/// Packets of a side that are remembered until their copies come.
const MOST_REMEMBERED: usize = 1024;

/// A packet waits for its copy for four path delays and this long, in ns.
const PATIENCE: u64 = 1_000_000_000;

/// Copied packets that it takes to separate the points.
const ENOUGH_REPEATS: u32 = 3;

/// Interpretation of repeated packets with one mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repetition {
    /// Too few packets are repeated, or too few so far.
    None,
    /// Two capture points, this many ns apart on each side.
    Ordered([u64; 2]),
    /// Two capture points that cannot be told apart.
    Inseparable(WhyInseparable),
}

/// Interprets the repeated packets of both sides. `last`: no more packets will come.
pub(crate) fn repetition(sides: [&Repeats; 2], last: bool) -> Repetition {
    let count: u32 = sides.iter().map(|side| side.count).sum();
    let both = sides.iter().all(|side| side.count > 0 && side.is_most());
    if !both || count < ENOUGH_REPEATS {
        return Repetition::None;
    }
    if sides.iter().any(|side| !side.is_identified()) {
        return Repetition::Inseparable(WhyInseparable::Unidentified);
    }
    let [Some(one), Some(other)] = sides.map(|side| side.syn) else {
        return if last { Repetition::Inseparable(WhyInseparable::NoHandshake) } else { Repetition::None };
    };
    let (syn, syn_ack) = if one <= other { (one, other) } else { (other, one) };
    if syn_ack.0 >= syn.1 {
        Repetition::Ordered(sides.map(|side| side.least))
    } else {
        Repetition::Inseparable(WhyInseparable::Clocks)
    }
}

/// Two capture points told apart by the order of copies.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    /// Path delays of both sides, in ns.
    delays: [u64; 2],
    sides: [VecDeque<Sent>; 2],
}

/// A packet captured near its sender.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Sent {
    fingerprint: u32,
    at: Instant,
    seq: SeqNumber,
    len: u32,
    ts: Option<u32>,
    has_copy: bool,
}

impl Order {
    pub fn new(delays: [u64; 2]) -> Self {
        Self { delays, sides: Default::default() }
    }

    /// A packet of `side` was captured near its sender.
    pub fn remember(&mut self, side: usize, packet: &Sighting) {
        self.sides[side].push_back(Sent {
            fingerprint: packet.fingerprint,
            at: packet.at,
            seq: SeqNumber(0),
            len: 0,
            ts: None,
            has_copy: false,
        });
    }

    /// The delay between the points. Differences between clocks cancel out.
    pub fn apart(&self) -> Duration {
        let [there, back] = self.delays;
        Duration::from_nanos(there / 2 + back / 2)
    }

    /// The point where this packet of `side` was captured: 0 is nearest to the sender of side 0.
    pub fn point(&mut self, side: usize, timed: &TimedPacket) -> usize {
        let delay = self.delays[side];
        let now = timed.time;
        let patience = delay.saturating_mul(4).saturating_add(PATIENCE);
        let sent = &mut self.sides[side];
        while let Some(first) = sent.front()
            && (now.nanos_since(first.at) > patience || sent.len() > MOST_REMEMBERED)
        {
            sent.pop_front();
        }
        let packet = Sent {
            fingerprint: fingerprint(&timed.packet),
            at: now,
            seq: timed.packet.segment.seq,
            len: timed.packet.segment.payload_len,
            ts: timed.packet.segment.options.timestamps.map(|ts| ts.value),
            has_copy: false,
        };
        let old = |sent: &Sent| now.nanos_since(sent.at) >= delay / 2;
        let is_copy = |sent: &Sent| sent.fingerprint == packet.fingerprint && old(sent);
        let place = sent
            .iter()
            .position(|sent| is_copy(sent) && !sent.has_copy)
            .or_else(|| sent.iter().position(is_copy))
            .or_else(|| sent.iter().position(|sent| sent.shares_bytes(&packet) && old(sent)));
        match place {
            Some(place) => {
                sent[place].has_copy = true;
                1 - side
            }
            None => {
                sent.push_back(packet);
                side
            }
        }
    }
}

impl Sent {
    /// Whether one is a part of the other: one point captured super-segments.
    fn shares_bytes(&self, other: &Self) -> bool {
        let within = |a: &Self, b: &Self| {
            let offset = a.seq.0.wrapping_sub(b.seq.0);
            u64::from(offset) + u64::from(a.len) <= u64::from(b.len)
        };
        let both = self.len > 0 && other.len > 0 && self.len != other.len;
        both && self.ts.is_some() && self.ts == other.ts && (within(self, other) || within(other, self))
    }
}
