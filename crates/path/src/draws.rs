//! Random quantities. A draw is SipHash-1-3 of (seed, item, purpose, number), as in `path` and `sim`: no draw
//! depends on the draws before it.

use siphasher::sip::SipHasher13;

/// A lognormally distributed quantity, cut off at both ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogNormal {
    /// The median, in the unit of the quantity.
    pub median: f64,
    /// The standard deviation of the natural logarithm.
    pub sigma: f64,
    /// The least value; smaller ones become it.
    pub least: f64,
    /// The largest value; larger ones become it.
    pub most: f64,
}

impl LogNormal {
    /// The value at `normal`, a standard normal draw.
    fn at(&self, normal: f64) -> f64 {
        let value = self.median * libm::exp(self.sigma * normal);
        value.max(self.least).min(self.most)
    }
}

/// A standard normal number of two uniform ones, the first above 0.
pub(crate) fn normal(radius: f64, angle: f64) -> f64 {
    // Box and Muller, "A Note on the Generation of Random Normal Deviates", 1958.
    libm::sqrt(-2.0 * libm::log(radius)) * libm::cos(std::f64::consts::TAU * angle)
}

/// The draws of one item: a flow, a host, a page.
#[derive(Clone, Copy, Debug)]
pub struct Draws {
    seed: u64,
    domain: u64,
    item: u64,
}

impl Draws {
    /// The draws of `item`. `domain` keeps items of different kinds apart: eight ASCII letters, for example.
    pub const fn new(seed: u64, domain: u64, item: u64) -> Self {
        Self { seed, domain, item }
    }

    /// A number from 0 to 1, both excluded. `n` counts the draws of this purpose.
    pub fn uniform(&self, purpose: u64, n: u64) -> f64 {
        let mut message = [0; 24];
        message[..8].copy_from_slice(&self.item.to_le_bytes());
        message[8..16].copy_from_slice(&purpose.to_le_bytes());
        message[16..].copy_from_slice(&n.to_le_bytes());
        let bits = SipHasher13::new_with_keys(self.seed, self.domain).hash(&message);
        ((bits >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
    }

    /// True with this probability.
    pub fn happens(&self, probability: f64, purpose: u64) -> bool {
        self.uniform(purpose, 0) < probability
    }

    /// The `n`-th lognormal value of this purpose.
    pub fn lognormal(&self, of: &LogNormal, purpose: u64, n: u64) -> f64 {
        of.at(normal(self.uniform(purpose, 2 * n), self.uniform(purpose, 2 * n + 1)))
    }

    /// The `n`-th exponential value of this purpose.
    pub fn exponential(&self, mean: f64, purpose: u64, n: u64) -> f64 {
        -mean * libm::log(self.uniform(purpose, n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_have_their_distribution() {
        let some = LogNormal { median: 80.0, sigma: 0.7, least: 40.0, most: 1e9 };
        let flows = || (0..20_000).map(|flow| Draws::new(1, 7, flow));
        let share = |counts: &dyn Fn(Draws) -> bool| flows().filter(|draws| counts(*draws)).count() as f64 / 20_000.0;
        for (expected, found) in [
            (0.3, share(&|d| d.happens(0.3, 1))),
            (0.5, share(&|d| d.lognormal(&some, 2, 0) < 80.0)),
            // One standard deviation above the median.
            (0.1587, share(&|d| d.lognormal(&some, 2, 3) > 80.0 * 0.7_f64.exp())),
            // The cut: ln(1/2) / 0.7 standard deviations below it.
            (0.1611, share(&|d| d.lognormal(&some, 2, 0) == 40.0)),
            (0.3679, share(&|d| d.exponential(5.0, 3, 1) > 5.0)),
        ] {
            assert!((found - expected).abs() < 0.012, "{found} {expected}");
        }
    }

    #[test]
    fn seed_domain_item_purpose_and_number_matter() {
        let one = Draws::new(1, 9, 2).uniform(4, 3);
        for other in [
            Draws::new(2, 9, 2).uniform(4, 3),
            Draws::new(1, 8, 2).uniform(4, 3),
            Draws::new(1, 9, 3).uniform(4, 3),
            Draws::new(1, 9, 2).uniform(5, 3),
            Draws::new(1, 9, 2).uniform(4, 4),
        ] {
            assert_ne!(one, other);
        }
        assert_eq!(one, Draws::new(1, 9, 2).uniform(4, 3));
    }
}
