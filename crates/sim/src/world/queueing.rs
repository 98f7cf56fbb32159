//! How long packets waited in queues.

use hdrhistogram::Histogram;
use std::time::Duration;

/// The distribution of queueing delays: how long packets waited in the queues of a link before their transmission
/// began. Packets that were dropped are not in it.
///
/// Quantiles are exact to 1 %, the maximum to the nanosecond. Memory is some kilobytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueingDelays {
    /// In nanoseconds. `None` until a packet waited.
    waited: Option<Box<Histogram<u64>>>,
    /// Packets that did not wait.
    at_once: u64,
    /// In nanoseconds.
    longest: u64,
}

/// The significant decimal digits of a delay.
const DIGITS: u8 = 2;

impl QueueingDelays {
    /// Adds a packet that waited this long.
    pub fn add(&mut self, waited: Duration) {
        self.add_nanos(u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX));
    }

    /// As [`add`](Self::add), in nanoseconds.
    #[inline]
    pub(super) fn add_nanos(&mut self, nanos: u64) {
        if nanos == 0 {
            self.at_once += 1;
            return;
        }
        self.longest = self.longest.max(nanos);
        if let Some(histogram) = self.histogram() {
            // Recording cannot fail, because the histogram resizes itself.
            let _ = histogram.record(nanos);
        }
    }

    /// Adds all packets of another distribution.
    pub fn merge(&mut self, other: &Self) {
        self.at_once += other.at_once;
        self.longest = self.longest.max(other.longest);
        if let Some(theirs) = &other.waited
            && let Some(ours) = self.histogram()
        {
            // Adding cannot fail, because both histograms resize themselves.
            let _ = ours.add(&**theirs);
        }
    }

    /// The number of packets.
    pub fn count(&self) -> u64 {
        self.at_once + self.waited.as_ref().map_or(0, |waited| waited.len())
    }

    /// The delay that this share of the packets does not exceed (nearest rank); `None` without packets. `share` is
    /// from 0 to 1.
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let count = self.count();
        let rank = (share.clamp(0.0, 1.0) * count as f64).ceil().max(1.0) as u64;
        if count == 0 {
            return None;
        }
        let (Some(waited), Some(rank)) = (&self.waited, rank.checked_sub(self.at_once + 1)) else {
            return Some(Duration::ZERO);
        };
        // In the middle of the rank's step, so that rounding cannot choose its neighbour.
        let among = (rank as f64 + 0.5) / waited.len() as f64;
        let nanos = waited.value_at_quantile(among.min(1.0));
        Some(Duration::from_nanos(nanos.min(self.longest)))
    }

    /// The longest delay; zero without packets.
    pub const fn longest(&self) -> Duration {
        Duration::from_nanos(self.longest)
    }

    fn histogram(&mut self) -> Option<&mut Histogram<u64>> {
        if self.waited.is_none() {
            self.waited = Histogram::new(DIGITS).ok().map(Box::new);
        }
        self.waited.as_deref_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn delays(all: impl IntoIterator<Item = Duration>) -> QueueingDelays {
        let mut delays = QueueingDelays::default();
        all.into_iter().for_each(|one| delays.add(one));
        delays
    }

    #[test]
    fn quantiles_are_the_nearest_ranks() {
        // 50 packets that do not wait, then 1 to 50 ms.
        let all = delays((0..100).map(|n| ms(u64::saturating_sub(n, 49))));
        assert_eq!(all.count(), 100);
        for (share, expected) in [(0.0, 0), (0.5, 0), (0.51, 1), (0.75, 25), (0.99, 49), (1.0, 50)] {
            let got = all.quantile(share).unwrap();
            let error = got.abs_diff(ms(expected));
            assert!(error * 100 <= ms(expected), "{share}: {got:?}, expected {expected} ms");
        }
        assert_eq!(all.longest(), ms(50));
        assert_eq!(QueueingDelays::default().quantile(0.5), None);
        assert_eq!(delays([Duration::ZERO]).quantile(1.0), Some(Duration::ZERO));
    }

    #[test]
    fn parts_merge_to_the_whole() {
        let one = (0..500).map(ms);
        let two = (0..700).map(|n| Duration::from_nanos(n * 997));
        let whole = delays(one.clone().chain(two.clone()));
        let mut merged = delays(one);
        merged.merge(&delays(two));
        assert_eq!(merged, whole);
    }
}
