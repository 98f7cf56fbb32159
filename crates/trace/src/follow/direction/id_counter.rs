//! Packets of one direction that were lost before the capture point, by the IP identification.
//!
//! Many hosts number the packets of each connection one by one (Linux does, RFC 6864 §4.1 permits
//! it). Then a gap in the numbers counts the packets lost between two captured ones. A host that
//! numbers otherwise is soon noticed: its numbers do not follow one another.

use serde::{Deserialize, Serialize};

/// Packets that must have followed their predecessors for each that did not.
const FOLLOWED_PER_GAP: u16 = 3;

/// Packets that must have followed their predecessors at all.
const LEAST_FOLLOWED: u16 = 2;

/// Larger gaps do not come from losses.
const MOST_LOST: u16 = 1024;

/// The identifications of one direction.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct IdCounter {
    /// The identification that the next packet has if none is lost.
    next: Option<u16>,
    followed: u16,
    /// How many packets must have followed because of the gaps.
    needed: u16,
}

impl IdCounter {
    /// A packet of `segments` segments, at least one, was captured. Returns how many were lost just before it, if the
    /// numbers show that.
    #[inline]
    pub fn on_packet(&mut self, id: Option<u16>, segments: u16) -> Option<u16> {
        let id = id.filter(|id| *id != 0)?;
        let after = id.wrapping_add(segments);
        let Some(next) = self.next else {
            self.next = Some(after);
            return None;
        };
        let lost = id.wrapping_sub(next);
        let reliable = self.is_reliable();
        if lost == 0 {
            self.followed = self.followed.saturating_add(1);
            self.next = Some(after);
            return reliable.then_some(0);
        }
        // Overtaken packets are behind.
        let behind = lost.cast_signed() < 0 && lost.wrapping_neg() < MOST_LOST;
        if behind {
            return reliable.then_some(0);
        }
        self.next = Some(after);
        let is_loss = lost < MOST_LOST;
        let gaps = if is_loss { 1 } else { FOLLOWED_PER_GAP };
        self.needed = self.needed.saturating_add(gaps * FOLLOWED_PER_GAP);
        (reliable && is_loss).then_some(lost)
    }

    /// Whether packets would count as lost just before one with this identification.
    #[inline]
    pub fn would_miss(&self, id: Option<u16>) -> bool {
        self.lost_before(id).is_some_and(|lost| lost > 0)
    }

    /// The numbers follow one another, as far as known.
    fn is_reliable(&self) -> bool {
        self.followed >= LEAST_FOLLOWED.max(self.needed)
    }

    /// How many packets were lost just before the one with this identification, which was just captured, if
    /// the numbers show that.
    #[inline]
    pub fn lost_before(&self, id: Option<u16>) -> Option<u16> {
        let id = id.filter(|id| *id != 0)?;
        let lost = id.wrapping_sub(self.next?);
        let behind = lost.cast_signed() < 0 && lost.wrapping_neg() < MOST_LOST;
        let lost = if behind { 0 } else { lost };
        (self.is_reliable() && lost < MOST_LOST).then_some(lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets known to be lost before each packet of one segment.
    fn lost(ids: &[u16]) -> Vec<Option<u16>> {
        let mut counter = IdCounter::default();
        let ids = ids.iter();
        ids.map(|&id| counter.on_packet(Some(id), 1)).collect()
    }

    #[test]
    fn gaps_count_once_the_numbers_have_followed_one_another() {
        let known = [None, None, None, Some(0), Some(2), Some(0)];
        assert_eq!(lost(&[7, 8, 9, 10, 13, 14]), known);
    }

    #[test]
    fn overtaken_packets_close_no_gap() {
        let known = [None, None, None, Some(0), Some(1), Some(0), Some(0)];
        assert_eq!(lost(&[7, 8, 9, 10, 12, 11, 13]), known);
    }

    #[test]
    fn numbers_of_another_kind_tell_nothing() {
        assert_eq!(lost(&[7, 900, 31, 5000, 40_000, 12]), [None; 6]);
        assert_eq!(lost(&[0; 5]), [None; 5]);
        // A counter of all connections of the host.
        assert_eq!(lost(&[7, 9, 12, 13, 17, 20]), [None; 6]);
    }

    #[test]
    fn one_packet_of_several_segments_takes_as_many_numbers() {
        let mut counter = IdCounter::default();
        for id in [1, 2, 3] {
            counter.on_packet(Some(id), 1);
        }
        assert_eq!(counter.on_packet(Some(4), 10), Some(0));
        assert_eq!(counter.on_packet(Some(14), 1), Some(0));
        assert_eq!(counter.on_packet(Some(16), 1), Some(1));
    }
}
