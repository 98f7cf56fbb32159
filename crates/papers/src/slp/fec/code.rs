//! The closed forms of a code's goodput when packets are lost at random.

/// A systematic, maximum distance separable block code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// Data packets per group, at least 1.
    pub n: u32,
    /// Redundant packets per group.
    pub k: u32,
}

impl Code {
    /// No code: each packet is a group.
    pub const ARQ: Self = Self { n: 1, k: 0 };

    /// The name in reports.
    pub fn name(self) -> String {
        match self {
            Self::ARQ => "ARQ".into(),
            Self { n, k } => format!("{n}+{k}"),
        }
    }

    /// Packets per group.
    pub const fn packets(self) -> u32 {
        self.n + self.k
    }

    /// The redundant share of the packets. At this loss rate a group loses k packets on average.
    pub fn border(self) -> f64 {
        f64::from(self.k) / f64::from(self.packets())
    }

    /// The goodput by the paper's formula at a loss rate of `p`. For FEC it assumes that no group fails.
    pub fn paper(self, p: f64) -> f64 {
        match self {
            Self::ARQ => 1.0 - p,
            Self { n, .. } => f64::from(n) / f64::from(self.packets()),
        }
    }

    /// The probability that a group loses more than the code can recover.
    pub fn fails(self, p: f64) -> f64 {
        at_least(self.packets(), self.k + 1, p)
    }

    /// The goodput without retransmissions.
    pub fn alone(self, p: f64) -> f64 {
        let missing = p * at_least(self.packets() - 1, self.k, p);
        f64::from(self.n) / f64::from(self.packets()) * (1.0 - missing)
    }

    /// The goodput with retransmissions of what the code cannot recover.
    pub fn with_arq(self, p: f64) -> f64 {
        f64::from(self.n) / (f64::from(self.packets()) + self.retransmissions(p))
    }

    /// The mean number of retransmissions per group; infinite at p = 1.
    pub fn retransmissions(self, p: f64) -> f64 {
        let beyond = |losses| f64::from(losses - self.k) * binomial(self.packets(), losses, p);
        let short: f64 = (self.k + 1..=self.packets()).map(beyond).sum();
        short / (1.0 - p)
    }
}

/// The probability that exactly `hits` of `trials` succeed, each with probability `p`. Computed with
/// logarithms, so that large groups do not overflow and small probabilities do not vanish.
fn binomial(trials: u32, hits: u32, p: f64) -> f64 {
    let misses = trials - hits;
    let choices = (1..=hits).map(|i| (f64::from(misses + i) / f64::from(i)).ln());
    let power = |log: f64, times| match times {
        // Also if the logarithm is infinite.
        0 => 0.0,
        times => log * f64::from(times),
    };
    (choices.sum::<f64>() + power(p.ln(), hits) + power((-p).ln_1p(), misses)).exp()
}

/// The probability that `hits` or more of `trials` succeed. It is a sum and not a difference to 1, so
/// that a small probability keeps its digits.
fn at_least(trials: u32, hits: u32, p: f64) -> f64 {
    let sum: f64 = (hits..=trials).map(|j| binomial(trials, j, p)).sum();
    sum.min(1.0)
}

#[cfg(test)]
mod tests;
