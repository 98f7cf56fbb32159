//! Counts packets, and lost originals with their copies.

use crate::prelude::*;

/// Lost originals and their copies.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pairs {
    /// Lost originals that had a copy.
    pub originals_lost: u64,
    /// Lost originals whose copy was lost too.
    pub both_lost: u64,
    /// Lost originals by the distance to their copy, in packets; 1 is the next packet.
    pub distances: BTreeMap<u64, u64>,
}

/// Counts packets. With `EVENTS` it also counts copies.
#[derive(Debug, Default)]
pub struct Watch<const EVENTS: bool> {
    /// Packets sent.
    pub packets: u64,
    /// Packets lost.
    pub lost: u64,
    /// Flows' first packets, both directions.
    pub firsts: u64,
    /// First packets lost.
    pub firsts_lost: u64,
    /// Lost originals and copies.
    pub pairs: Pairs,
    /// This flow's packets that carry sequence space, by direction: sequence number and ordinal.
    sent: [Vec<(SeqNumber, u64)>; 2],
    /// This flow's lost packets.
    lost_packets: Vec<(Direction, u64)>,
    /// This flow's copies: ordinals of original and copy.
    copies: Vec<(Direction, u64, u64)>,
}

impl<const EVENTS: bool> Watch<EVENTS> {
    /// Ends the flow and counts its pairs.
    pub fn end_flow(&mut self) {
        for &(direction, original, copy) in &self.copies {
            if !self.lost_packets.contains(&(direction, original)) {
                continue;
            }
            self.pairs.originals_lost += 1;
            self.pairs.both_lost += u64::from(self.lost_packets.contains(&(direction, copy)));
            *self.pairs.distances.entry(copy - original).or_default() += 1;
        }
        self.copies.clear();
        self.lost_packets.clear();
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
                    self.lost_packets.push((direction, packet.ordinal));
                }
            }
        }
    }

    fn on_event(&mut self, _: Instant, _: FlowId, host: Host, event: &Event) {
        let Event::Sent { what: Transmission::Copy(span), .. } = event else {
            return;
        };
        // Each direction's first packet is a SYN, at offset 0.
        let sent = &self.sent[host.sends() as usize];
        let Some((isn, _)) = sent.first() else {
            return;
        };
        let seq = isn.at(span.start);
        let transmissions = || sent.iter().filter(|(start, _)| *start == seq);
        if let (Some((_, original)), Some((_, copy))) = (transmissions().next(), transmissions().next_back()) {
            self.copies.push((host.sends(), *original, *copy));
        }
    }
}
