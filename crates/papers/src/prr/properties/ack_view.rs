//! The data delivered, as an observer of the returning ACKs counts it without the sender's scoreboard (§4.2).

use recoup_wire::{Segment, SeqNumber};

/// The data that the ACKs seen so far report as delivered. Positions are in bytes after the server's initial sequence number.
#[derive(Clone, Debug, Default)]
pub struct AckView {
    /// The server's initial sequence number.
    isn: SeqNumber,
    /// The highest acknowledgment number.
    una: u64,
    /// SACKed ranges above it, in order and apart from each other.
    ranges: Vec<(u64, u64)>,
    /// How many SACK blocks of an ACK it reads.
    blocks: usize,
}

impl AckView {
    /// An observer of a connection whose server begins at `isn`, who reads this many SACK blocks of an ACK.
    pub const fn new(isn: SeqNumber, blocks: usize) -> Self {
        Self { isn, una: 0, ranges: Vec::new(), blocks }
    }

    /// Bytes delivered so far.
    pub fn delivered(&self) -> u64 {
        let sacked = self.ranges.iter().map(|(start, end)| end - start);
        self.una + sacked.sum::<u64>()
    }

    /// Takes in an ACK, and returns DeliveredData in bytes.
    pub fn on_ack(&mut self, segment: &Segment) -> u64 {
        let before = self.delivered();
        self.una = self.una.max(segment.ack.since(self.isn).into());
        for [left, right] in segment.options.sack.iter().take(self.blocks) {
            let block = [left, right].map(|edge| u64::from(edge.since(self.isn)));
            self.ranges.push((block[0], block[1]));
        }
        self.ranges.sort_unstable();
        let mut merged: Vec<(u64, u64)> = Vec::new();
        for &(start, end) in &self.ranges {
            let start = start.max(self.una);
            match merged.last_mut() {
                _ if end <= start => {}
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => merged.push((start, end)),
            }
        }
        self.ranges = merged;
        self.delivered() - before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(ack: u32, blocks: &[[u32; 2]]) -> Segment {
        let mut segment = Segment { ack: SeqNumber(ack), ..Segment::default() };
        let blocks = blocks.iter().map(|block| block.map(SeqNumber));
        segment.options.sack = blocks.collect();
        segment
    }

    #[test]
    fn delivered_data_is_what_is_new() {
        let mut view = AckView::new(SeqNumber(100), 4);
        assert_eq!(view.on_ack(&ack(101, &[])), 1);
        assert_eq!(view.on_ack(&ack(101, &[[121, 131]])), 10);
        assert_eq!(view.on_ack(&ack(101, &[[141, 151], [121, 131]])), 10);
        // The gap between the ranges, and part of the first one again.
        assert_eq!(view.on_ack(&ack(101, &[[125, 151]])), 10);
        // A cumulative ACK counts only what was not SACKed.
        assert_eq!(view.on_ack(&ack(151, &[])), 20);
        // A DSACK and an old ACK deliver nothing.
        assert_eq!(view.on_ack(&ack(151, &[[121, 131]])), 0);
        assert_eq!(view.on_ack(&ack(121, &[])), 0);
        assert_eq!(view.delivered(), 51);
    }
}
