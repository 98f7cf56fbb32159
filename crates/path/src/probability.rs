//! Probabilities, and how a random draw decides by one.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A probability: a number from 0 to 1, never NaN.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Probability(f64);

impl Probability {
    /// Never.
    pub const ZERO: Self = Self(0.0);
    /// Always.
    pub const ONE: Self = Self(1.0);

    /// The probability `p`; `None` outside 0 to 1 and for NaN.
    pub fn new(p: f64) -> Option<Self> {
        // Adding zero turns -0.0 into 0.0, so that it does not print a sign.
        (0.0..=1.0).contains(&p).then_some(Self(p + 0.0))
    }

    /// As a number from 0 to 1.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// Whether a uniform 64-bit draw falls below this probability. For 0 and 1 no draw is made.
    pub(crate) fn happens(self, draw: impl FnOnce() -> u64) -> bool {
        if self == Self::ZERO || self == Self::ONE {
            return self == Self::ONE;
        }
        unit(draw()) < self.0
    }
}

/// A draw as a number in 0..1 (1 excluded), exact in 53 bits.
pub(crate) fn unit(draw: u64) -> f64 {
    const STEP: f64 = 1.0 / (1u64 << 53) as f64;
    (draw >> 11) as f64 * STEP
}

/// Text that is not a probability.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is not a probability: expected a number from 0 to 1, or 0% to 100%")]
pub struct ProbabilityError(pub String);

impl FromStr for Probability {
    type Err = ProbabilityError;

    /// A number from 0 to 1 (`0.02`) or a percentage (`2%`).
    fn from_str(text: &str) -> Result<Self, ProbabilityError> {
        let number = match text.trim().strip_suffix('%') {
            // The decimal point moves before the number is rounded to binary: 0.3% is 0.003.
            Some(percent) => format!("{}e-2", percent.trim_end()).parse().ok(),
            None => text.trim().parse().ok(),
        };
        number.and_then(Self::new).ok_or_else(|| ProbabilityError(text.to_owned()))
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_zero_to_one_and_the_ends_are_certain() {
        for p in [-0.1, 1.000_1, f64::NAN, f64::INFINITY] {
            assert_eq!(Probability::new(p), None, "{p}");
        }
        assert_eq!(Probability::new(-0.0).unwrap().to_string(), "0");
        for text in ["", "x", "1.5", "-1", "nan", "%", "101%", "1%%"] {
            let message = format!("`{text}` is not a probability: expected a number from 0 to 1, or 0% to 100%");
            assert_eq!(text.parse::<Probability>().unwrap_err().to_string(), message);
        }
        for (text, printed) in [("2%", "0.02"), (" 0.1 % ", "0.001"), ("100%", "1"), ("7%", "0.07")] {
            let probability: Probability = text.parse().unwrap();
            assert_eq!(probability.to_string(), printed);
        }
        let half: Probability = "0.5".parse().unwrap();
        for (draw, zero, at_half, one) in [
            (0, false, true, true),
            ((1 << 63) - 1, false, true, true),
            (1 << 63, false, false, true),
            (u64::MAX, false, false, true),
        ] {
            assert_eq!(Probability::ZERO.happens(|| draw), zero, "{draw:#x}");
            assert_eq!(half.happens(|| draw), at_half, "{draw:#x}");
            assert_eq!(Probability::ONE.happens(|| draw), one, "{draw:#x}");
        }
    }
}
