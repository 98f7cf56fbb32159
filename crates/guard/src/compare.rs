//! Times of connections that were helped beside those of connections that were left alone, and which are.

use recoup_support::stats::{Bootstrap, Interval, Sample, Statistic};
use recoup_units::Ppm;
use recoup_wire::Endpoints;
use siphasher::sip::SipHasher13;
use std::hash::{Hash, Hasher};
use std::time::Duration;

/// Keeps this hash apart from others of the same key.
const DOMAIN: u64 = u64::from_le_bytes(*b"guardctl");

/// Whether a connection is left alone, to compare with: a hash of its ends, this host's first, decides, so that nobody chooses.
pub fn is_control(connection: &Endpoints, key: u64, share: Ppm) -> bool {
    let mut hasher = SipHasher13::new_with_keys(key, DOMAIN);
    connection.hash(&mut hasher);
    Ppm::ratio(hasher.finish() >> 32, 1 << 32) < share
}

/// The most times that are kept of each kind for intervals; later ones are counted only.
const MOST: usize = 200_000;

/// Times of connections that were helped, and of those that were left alone, in milliseconds.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// Of connections that were helped.
    pub helped: Vec<f64>,
    /// Of connections that were left alone.
    pub control: Vec<f64>,
}

impl Times {
    /// Adds one.
    pub fn add(&mut self, time: Duration, is_control: bool) {
        let times = if is_control { &mut self.control } else { &mut self.helped };
        if times.len() < MOST {
            times.push(time.as_secs_f64() * 1e3);
        }
    }
}

/// The difference between helped and control in one statistic, in milliseconds.
#[derive(Clone, Debug)]
pub struct Difference {
    /// Of which statistic.
    pub statistic: Statistic,
    /// Its value where connections were helped.
    pub helped: f64,
    /// Its value where they were left alone.
    pub control: f64,
    /// The 95 % interval of the difference; `None` if there are too few times.
    pub interval: Option<Interval>,
}

impl Times {
    /// In the mean and in quantiles, with 95 % intervals by bootstrap: each group is drawn as a whole of independent times.
    pub fn differences(&self, key: u64) -> Vec<Difference> {
        let count = self.helped.len() + self.control.len();
        if self.helped.is_empty() || self.control.is_empty() {
            return Vec::new();
        }
        let units = |from: usize, values: &[f64]| {
            let numbered: Vec<_> = (from as u32..).zip(values).map(|(unit, value)| (unit, 1, *value)).collect();
            Sample::new(numbered.into_iter())
        };
        let samples = [units(0, &self.helped), units(self.helped.len(), &self.control)];
        let bootstrap = Bootstrap::new(&samples, key, count as u32, count as u64);
        let fewest = self.helped.len().min(self.control.len()) as u64;
        let of = |(i, statistic): (usize, Statistic)| {
            let [helped, control] = [&self.helped, &self.control].map(|values| value(values, statistic));
            let interval = bootstrap.interval(helped - control, |found| found[0][i] - found[1][i]);
            let interval = interval.filter(|_| fewest >= statistic.fewest());
            Difference { statistic, helped, control, interval }
        };
        Statistic::ALL.into_iter().enumerate().map(of).collect()
    }
}

/// The statistic of these values, which are some.
fn value(values: &[f64], statistic: Statistic) -> f64 {
    match statistic.share() {
        None => values.iter().sum::<f64>() / values.len() as f64,
        Some(share) => {
            let mut sorted = values.to_vec();
            sorted.sort_by(f64::total_cmp);
            let rank = (sorted.len() as f64 * share).ceil() as usize;
            sorted[rank.clamp(1, sorted.len()) - 1]
        }
    }
}
