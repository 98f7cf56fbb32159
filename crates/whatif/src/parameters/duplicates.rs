//! The duplicate ACKs since `snd_una` last advanced.
//!
//! Source: RFC 5681 §2; with SACK, every ACK that reports data above `snd_una` (RFC 6675 §2).

use crate::record::{Record, Seen};
use recoup_units::{Instant, Offset};

/// Duplicate ACKs beyond this number decide nothing.
const MOST: usize = 1000;

#[derive(Clone, Debug, Default)]
pub(super) struct Duplicates {
    arrivals: Vec<Instant>,
    /// The right edge of the window last announced.
    edge: Option<Offset>,
}

impl Duplicates {
    pub fn clear(&mut self) {
        self.arrivals.clear();
    }

    pub fn count(&self) -> usize {
        self.arrivals.len()
    }

    pub fn add(&mut self, at: Instant) {
        if self.arrivals.len() < MOST {
            self.arrivals.push(at);
        }
    }

    pub fn note_window(&mut self, packet: &Seen) {
        self.edge = packet.edge.or(self.edge);
    }

    /// Whether a packet that the sender received is a duplicate ACK of `una`.
    pub fn is_duplicate(&self, packet: &Seen, una: Offset) -> bool {
        let blocks = packet.sack.as_slice();
        let reports = blocks
            .iter()
            .any(|block| block.start >= una && !block.is_empty());
        let is_bare = packet.span.is_empty() && packet.ack == Some(una);
        is_bare && (reports || (blocks.is_empty() && packet.edge == self.edge))
    }

    /// When each duplicate ACK of `una` arrived: those so far, and those after packet `number`.
    pub fn all(&self, record: &Record, number: usize, una: Offset) -> Vec<Instant> {
        let mut all = self.clone();
        let later = record.packets.get(number + 1..).unwrap_or_default();
        for packet in later.iter().filter(|packet| !packet.is_sent) {
            if packet.ack.is_some_and(|ack| ack > una) || all.count() >= MOST {
                break;
            }
            if all.is_duplicate(packet, una) {
                all.add(packet.at);
            }
            all.note_window(packet);
        }
        all.arrivals
    }
}
