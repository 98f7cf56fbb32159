//! What became of packets, and of originals and their copies.

use recoup_recovery::{Event, Send};
use recoup_sim::{Observer, Packet, Point};
use recoup_tcp::flow::Host;
use recoup_units::{Direction, FlowId, Instant};
use recoup_wire::SeqNumber;
use std::collections::BTreeMap;

/// What became of originals and their copies.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pairs {
    /// Originals that were lost and had a copy.
    pub originals_lost: u64,
    /// … whose copy was lost too.
    pub both_lost: u64,
    /// Of those originals, by how many packets later their copy was sent: 1 is the next one.
    pub distances: BTreeMap<u64, u64>,
}

/// Counts packets; with `EVENTS`, copies too.
#[derive(Debug, Default)]
pub struct Watch<const EVENTS: bool> {
    /// Packets sent.
    pub packets: u64,
    /// … and lost.
    pub lost: u64,
    /// Flows' first packets, each way …
    pub firsts: u64,
    /// … and how many were lost.
    pub firsts_lost: u64,
    /// What became of originals and copies.
    pub pairs: Pairs,
    /// Of this flow: by direction, packets that carry sequence space and their ordinals.
    sent: [Vec<(SeqNumber, u64)>; 2],
    /// Of this flow: packets lost.
    gone: Vec<(Direction, u64)>,
    /// Of this flow: ordinals of originals and their copies.
    copies: Vec<(Direction, u64, u64)>,
}

impl<const EVENTS: bool> Watch<EVENTS> {
    /// The flow is over.
    pub fn end_flow(&mut self) {
        for &(direction, original, copy) in &self.copies {
            if !self.gone.contains(&(direction, original)) {
                continue;
            }
            self.pairs.originals_lost += 1;
            self.pairs.both_lost += u64::from(self.gone.contains(&(direction, copy)));
            *self.pairs.distances.entry(copy - original).or_default() += 1;
        }
        self.copies.clear();
        self.gone.clear();
        self.sent.iter_mut().for_each(Vec::clear);
    }
}

impl<const EVENTS: bool> Observer for Watch<EVENTS> {
    const WANTS_EVENTS: bool = EVENTS;

    fn on_packet(&mut self, _: Instant, point: Point, direction: Direction, packet: &Packet) {
        let first = u64::from(packet.ordinal == 0);
        match point {
            Point::Arrived => {}
            Point::Sent => {
                self.packets += 1;
                self.firsts += first;
                if EVENTS && packet.segment.sequence_len() > 0 {
                    let sent = (packet.segment.seq, packet.ordinal);
                    self.sent[direction as usize].push(sent);
                }
            }
            Point::Dropped(_) => {
                self.lost += 1;
                self.firsts_lost += first;
                if EVENTS {
                    self.gone.push((direction, packet.ordinal));
                }
            }
        }
    }

    fn on_event(&mut self, _: Instant, _: FlowId, host: Host, event: &Event) {
        let Event::Sent {
            what: Send::Copy(span),
            ..
        } = event
        else {
            return;
        };
        // Each direction's first packet is a SYN, at offset 0.
        let sent = &self.sent[host.sends() as usize];
        let Some((isn, _)) = sent.first() else {
            return;
        };
        let seq = isn.at(span.start);
        let of_it = || sent.iter().filter(|(start, _)| *start == seq);
        if let (Some((_, original)), Some((_, copy))) = (of_it().next(), of_it().next_back()) {
            self.copies.push((host.sends(), *original, *copy));
        }
    }
}
