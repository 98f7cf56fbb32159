use core::fmt;
use core::time::Duration;

/// A share or probability from 0 to 1, in parts per million.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Ppm(u32);

impl Ppm {
    /// A share of nothing, or the probability 0.
    pub const ZERO: Self = Self(0);
    /// A share of the whole, or the probability 1.
    pub const ONE: Self = Self(1_000_000);

    /// `millionths` of the whole; larger values become the whole.
    pub const fn new(millionths: u32) -> Self {
        if millionths < Self::ONE.0 { Self(millionths) } else { Self::ONE }
    }

    /// `percent` % of the whole; larger values become the whole.
    pub const fn percent(percent: u32) -> Self {
        Self::new(percent.saturating_mul(10_000))
    }

    /// The share of `part` in `whole`, rounded down; 0 if `whole` is 0.
    pub fn ratio(part: u64, whole: u64) -> Self {
        let millionths = (u128::from(part) * 1_000_000).checked_div(u128::from(whole));
        Self::new(u32::try_from(millionths.unwrap_or(0)).unwrap_or(u32::MAX))
    }

    /// The share in millionths, 0 to 1,000,000.
    pub const fn millionths(self) -> u32 {
        self.0
    }

    /// The whole less this share.
    pub const fn rest(self) -> Self {
        Self(Self::ONE.0 - self.0)
    }

    /// This share of a duration, rounded down to the nanosecond.
    pub fn of(self, whole: Duration) -> Duration {
        let nanos = whole.as_nanos() * u128::from(self.0) / 1_000_000;
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Ppm {
    /// As a number from 0 to 1: `0.02`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (f64::from(self.0) / 1e6).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_stay_within_the_whole() {
        for (share, millionths, text) in [
            (Ppm::new(2_000_000), 1_000_000, "1"),
            (Ppm::percent(2), 20_000, "0.02"),
            (Ppm::percent(u32::MAX), 1_000_000, "1"),
            (Ppm::ratio(1, 8), 125_000, "0.125"),
            (Ppm::ratio(9, 3), 1_000_000, "1"),
            (Ppm::ratio(0, 0), 0, "0"),
            (Ppm::ratio(u64::MAX, u64::MAX), 1_000_000, "1"),
            (Ppm::percent(10).rest(), 900_000, "0.9"),
        ] {
            assert_eq!(share.millionths(), millionths);
            assert_eq!(share.to_string(), text);
        }
        let eighth = Ppm::ratio(1, 8).of(Duration::from_millis(40));
        assert_eq!(eighth, Duration::from_millis(5));
        assert_eq!(Ppm::ONE.of(Duration::MAX).as_nanos(), u128::from(u64::MAX));
    }
}
