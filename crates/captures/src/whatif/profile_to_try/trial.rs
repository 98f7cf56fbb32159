//! How many connections an A/B trial needs to show a difference of means.
//!
//! Two arms of `n` connections each, whose flow completion times have the variances `v₁` and `v₂`, show a difference `δ` of their
//! means at the level `1 − α` with the power `1 − β` if
//!
//! ```text
//! n = (z₁₋α⸝₂ + z₁₋β)² · (v₁ + v₂) / δ²
//! ```
//!
//! (Snedecor and Cochran, "Statistical Methods", §6.14; NIST/SEMATECH, "e-Handbook of Statistical Methods", §7.2.2.2). Here the level is 95 %
//! and the power 80 %. The arms are other connections, so sizes and paths vary between them: `v₁` and `v₂` are the variances over
//! connections, and not those of the paired changes.

/// The 97.5 % and the 80 % quantile of the normal distribution.
const LEVEL: f64 = 1.959_964;
const POWER: f64 = 0.841_621;

/// The flow completion times of the connections under one profile.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Arm {
    /// Connections.
    pub connections: u64,
    /// The mean, in ms.
    pub mean_ms: f64,
    /// The variance over connections, in ms².
    pub variance: f64,
}

/// A trial of a profile beside another one: a proxy gives each connection one of them by chance.
#[derive(Clone, Debug, PartialEq)]
pub struct AbTrial {
    /// The other profile.
    pub control: String,
    /// Whether the other profile is what the server's own sender behaves like.
    pub is_todays: bool,
    /// How much later connections end under the profile than under the other one, on average, in ms.
    pub effect_ms: f64,
    /// Half the width of the 95 % interval of this, in ms.
    pub half_ms: Option<f64>,
    /// The completion times under the other profile, and under the profile.
    pub arms: [Arm; 2],
}

impl Arm {
    /// Of these completion times, in ms.
    pub(super) fn of(times: impl Iterator<Item = f64>) -> Self {
        // Welford's algorithm: exact also where times are long and alike.
        let mut arm = Self::default();
        let mut squares = 0.0;
        for time in times {
            arm.connections += 1;
            let off = time - arm.mean_ms;
            arm.mean_ms += off / arm.connections as f64;
            squares += off * (time - arm.mean_ms);
        }
        arm.variance = squares / (arm.connections as f64 - 1.0).max(1.0);
        arm
    }
}

impl AbTrial {
    /// Connections of both arms together that show the effect. `None`: there is no effect, or a single connection.
    pub fn connections(&self) -> Option<f64> {
        self.needed(self.effect_ms)
    }

    /// The same if the effect is as small as its interval permits. `None`: it may be none.
    pub fn most_connections(&self) -> Option<f64> {
        let least = self.effect_ms.abs() - self.half_ms?;
        (least > 0.0).then(|| self.needed(least)).flatten()
    }

    fn needed(&self, effect_ms: f64) -> Option<f64> {
        /// Of fewer connections of an arm, the mean is not normally distributed (the usual rule of thumb).
        const FEWEST: f64 = 30.0;
        if effect_ms == 0.0 || self.arms.iter().any(|arm| arm.connections < 2) {
            return None;
        }
        let variances: f64 = self.arms.iter().map(|arm| arm.variance).sum();
        let each = ((LEVEL + POWER) / effect_ms).powi(2) * variances;
        Some(2.0 * each.ceil().max(FEWEST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(effect_ms: f64, half_ms: f64, deviation_ms: f64) -> AbTrial {
        let arm = Arm { connections: 100, mean_ms: 500.0, variance: deviation_ms * deviation_ms };
        AbTrial { control: "linux-6".into(), is_todays: true, effect_ms, half_ms: Some(half_ms), arms: [arm; 2] }
    }

    #[test]
    fn sixteen_times_the_squared_ratio_of_deviation_and_effect_is_needed_of_each_arm() {
        // Lehr's rule rounds 2·(1.96 + 0.84)² = 15.7 to 16.
        let each = trial(-10.0, 5.0, 100.0).connections().unwrap() / 2.0;
        assert_eq!(each, 1570.0);
        // Half the effect takes four times as many.
        assert_eq!(trial(-10.0, 5.0, 100.0).most_connections(), Some(2.0 * 6280.0));
        assert_eq!(trial(-10.0, 11.0, 100.0).most_connections(), None);
        assert_eq!(trial(0.0, 0.0, 100.0).connections(), None);
        assert_eq!(trial(-10.0, 1.0, 0.0).connections(), Some(60.0));
    }

    #[test]
    fn an_arm_has_the_mean_and_variance_of_its_times() {
        let arm = Arm::of([2e9 + 1.0, 2e9 + 2.0, 2e9 + 6.0].into_iter());
        assert_eq!((arm.connections, arm.mean_ms, arm.variance), (3, 2e9 + 3.0, 7.0));
        assert_eq!(Arm::of(std::iter::empty()), Arm::default());
    }
}
