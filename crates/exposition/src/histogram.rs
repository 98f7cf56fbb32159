//! How many of the measured times are no longer than each of some bounds.

use std::time::Duration;

/// The bounds in seconds. A time beyond all of them is counted in `+Inf` alone.
pub(crate) const BOUNDS: [f64; 14] = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0];

/// Times by their length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    /// Times up to each bound that are longer than the bound before.
    counts: [u64; BOUNDS.len()],
    count: u64,
    sum: Duration,
}

impl Histogram {
    /// Adds a time.
    pub fn add(&mut self, time: Duration) {
        let place = BOUNDS.iter().position(|bound| time.as_secs_f64() <= *bound);
        if let Some(count) = place.and_then(|place| self.counts.get_mut(place)) {
            *count += 1;
        }
        self.count += 1;
        self.sum = self.sum.saturating_add(time);
    }

    /// How many times are there.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Their sum.
    pub const fn sum(&self) -> Duration {
        self.sum
    }

    /// Each bound in seconds, and how many times are no longer.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, u64)> {
        let mut so_far = 0;
        let sums = self.counts.iter().map(move |count| {
            so_far += count;
            so_far
        });
        BOUNDS.into_iter().zip(sums).chain([(f64::INFINITY, self.count)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_has_all_times_up_to_its_bound() {
        let mut histogram = Histogram::default();
        for millis in [5, 6, 1000, 61_000] {
            histogram.add(Duration::from_millis(millis));
        }
        let buckets: Vec<(f64, u64)> = histogram.buckets().collect();
        assert_eq!(&buckets[..3], [(0.005, 1), (0.01, 2), (0.02, 2)]);
        assert_eq!(&buckets[7..9], [(0.5, 2), (1.0, 3)]);
        assert_eq!(&buckets[13..], [(60.0, 3), (f64::INFINITY, 4)]);
        assert_eq!((histogram.count(), histogram.sum()), (4, Duration::from_millis(62_011)));
    }
}
