//! Random quantities of a flow. A draw is SipHash-1-3 of (seed, flow, purpose), as in `path` and `sim`.

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

/// What a draw decides.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    Rtt,
    Rate,
    Queue,
    Loss,
    Bursts,
    Reordering,
    ReorderingDelay,
    Pauses,
    PauseBegin,
    PauseLength,
    Exchanges,
    ResponseSize,
    ThinkTime,
    Sack,
    Timestamps,
    DelayedAcks,
}

/// The draws of one flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draws {
    seed: u64,
    flow: u64,
}

impl Draws {
    pub fn new(seed: u64, flow: u64) -> Self {
        Self { seed, flow }
    }

    /// A number from 0 to 1, both excluded. `n` counts the draws of this purpose.
    pub fn uniform(&self, purpose: Purpose, n: u64) -> f64 {
        // The second key ("flows" in ASCII) makes these draws independent of those of paths and hosts.
        let mut message = [0; 24];
        message[..8].copy_from_slice(&self.flow.to_le_bytes());
        message[8..16].copy_from_slice(&(purpose as u64).to_le_bytes());
        message[16..].copy_from_slice(&n.to_le_bytes());
        let bits = SipHasher13::new_with_keys(self.seed, 0x66_6c6f_7773).hash(&message);
        ((bits >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
    }

    /// True with this probability.
    pub fn happens(&self, probability: f64, purpose: Purpose) -> bool {
        self.uniform(purpose, 0) < probability
    }

    /// The `n`-th lognormal value of this purpose.
    pub fn lognormal(&self, of: &LogNormal, purpose: Purpose, n: u64) -> f64 {
        // Box and Muller, "A Note on the Generation of Random Normal Deviates", 1958.
        let radius = libm::sqrt(-2.0 * libm::log(self.uniform(purpose, 2 * n)));
        let angle = std::f64::consts::TAU * self.uniform(purpose, 2 * n + 1);
        of.at(radius * libm::cos(angle))
    }

    /// The `n`-th exponential value of this purpose.
    pub fn exponential(&self, mean: f64, purpose: Purpose, n: u64) -> f64 {
        -mean * libm::log(self.uniform(purpose, n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_have_their_distribution() {
        let some = LogNormal {
            median: 80.0,
            sigma: 0.7,
            least: 40.0,
            most: 1e9,
        };
        let flows = || (0..20_000).map(|flow| Draws::new(1, flow));
        let share = |counts: &dyn Fn(Draws) -> bool| {
            flows().filter(|draws| counts(*draws)).count() as f64 / 20_000.0
        };
        for (expected, found) in [
            (0.3, share(&|d| d.happens(0.3, Purpose::Sack))),
            (0.5, share(&|d| d.lognormal(&some, Purpose::Rtt, 0) < 80.0)),
            // One standard deviation above the median.
            (
                0.1587,
                share(&|d| d.lognormal(&some, Purpose::Rtt, 3) > 80.0 * 0.7_f64.exp()),
            ),
            // The cut: ln(1/2) / 0.7 standard deviations below it.
            (
                0.1611,
                share(&|d| d.lognormal(&some, Purpose::Rtt, 0) == 40.0),
            ),
            (
                0.3679,
                share(&|d| d.exponential(5.0, Purpose::PauseBegin, 1) > 5.0),
            ),
        ] {
            assert!((found - expected).abs() < 0.012, "{found} {expected}");
        }
    }

    #[test]
    fn seed_flow_purpose_and_number_matter() {
        let one = Draws::new(1, 2).uniform(Purpose::Rtt, 3);
        for other in [
            Draws::new(2, 2).uniform(Purpose::Rtt, 3),
            Draws::new(1, 3).uniform(Purpose::Rtt, 3),
            Draws::new(1, 2).uniform(Purpose::Rate, 3),
            Draws::new(1, 2).uniform(Purpose::Rtt, 4),
        ] {
            assert_ne!(one, other);
        }
        assert_eq!(one, Draws::new(1, 2).uniform(Purpose::Rtt, 3));
    }
}
