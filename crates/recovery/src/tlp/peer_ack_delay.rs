//! How long a receiver takes to acknowledge a single segment: a measured TLP.max_ack_delay.
//!
//! A receiver that delays ACKs holds that of a single segment back, until more data arrives or its timer fires. The time
//! from the segment's transmission to its ACK, *r*, includes that. The allowance is what the longest recent *r* exceeds SRTT by:
//!
//! ```text
//! PTO = 2·SRTT + max(longest r − SRTT, 2 ms),  at most 2·SRTT + 200 ms
//! ```
//! So a probe leaves at least one SRTT after the latest ACK that it may expect. "Recent" are the last 16 to 31 such ACKs. Until
//! there were three, and for the next three after a probe that turned out to be needless, the allowance is 200 ms.
//!
//! Only a segment that was sent once is measured, alone from its transmission to its ACK (Karn's rule).

use super::{MS, WORST_DELAYED_ACK};

/// The least allowance: what a host's clock may be coarse by (as Linux's 2 ms for several segments).
const LEAST: u64 = 2 * MS;

/// ACKs until the allowance is known.
const KNOWN_FROM: u8 = 3;

/// ACKs of a generation: the longest of this one and of the one before counts.
const GENERATION: u8 = 16;

/// The longest recent times to the ACK of a single segment, in µs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct PeerAckDelay {
    longest: u32,
    longest_before: u32,
    /// ACKs in this generation.
    count: u8,
    /// Whether there was one before.
    later: bool,
}

impl PeerAckDelay {
    /// An ACK of a single segment came, this long (ns) after its transmission.
    pub fn take(&mut self, nanos: u64) {
        if self.count == GENERATION {
            *self = Self { longest_before: self.longest, longest: 0, count: 0, later: true };
        }
        self.count += 1;
        self.longest = self.longest.max(u32::try_from(nanos.div_ceil(1000)).unwrap_or(u32::MAX));
    }

    /// A probe was needless: what was measured does not hold any more.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// The allowance beside a multiple of SRTT (ns).
    pub fn beyond(&self, srtt: u64) -> u64 {
        let worst = WORST_DELAYED_ACK.as_millis() as u64 * MS;
        if !self.later && self.count < KNOWN_FROM {
            return worst;
        }
        let longest = u64::from(self.longest.max(self.longest_before)) * 1000;
        longest.saturating_sub(srtt).clamp(LEAST, worst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(millis: &[u64]) -> PeerAckDelay {
        let mut peer = PeerAckDelay::default();
        millis.iter().for_each(|ms| peer.take(ms * MS));
        peer
    }

    #[test]
    fn the_allowance_is_the_longest_recent_ack_beyond_srtt() {
        let beyond = |millis: &[u64]| after(millis).beyond(20 * MS) / MS;
        assert_eq!(beyond(&[]), 200);
        assert_eq!(beyond(&[60, 60]), 200);
        assert_eq!(beyond(&[60, 25, 30]), 40);
        assert_eq!(beyond(&[20, 20, 20]), 2);
        assert_eq!(beyond(&[500, 20, 20]), 200);
        // The long one counts for 16 to 31 ACKs after it.
        let later = |others: usize| beyond(&[&[60][..], &vec![25; others]].concat());
        assert_eq!([15, 16, 31, 32].map(later), [40, 40, 40, 5]);
    }

    #[test]
    fn a_needless_probe_makes_it_unknown() {
        let mut peer = after(&[60; 40]);
        peer.forget();
        assert_eq!(peer.beyond(20 * MS), 200 * MS);
        (0..3).for_each(|_| peer.take(60 * MS));
        assert_eq!(peer.beyond(20 * MS), 40 * MS);
    }
}
