//! Bit rates.

use core::fmt;
use core::time::Duration;

/// A rate in bits per second, never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BitRate(core::num::NonZeroU64);

impl BitRate {
    /// A rate of `bits` per second; `None` for zero.
    pub const fn from_bits_per_second(bits: u64) -> Option<Self> {
        match core::num::NonZeroU64::new(bits) {
            Some(bits) => Some(Self(bits)),
            None => None,
        }
    }

    /// Bits per second.
    pub const fn bits_per_second(self) -> u64 {
        self.0.get()
    }

    /// The transmission time of `bytes` at this rate, rounded up to the nanosecond.
    pub fn time_for(self, bytes: u64) -> Duration {
        Duration::from_nanos(self.nanos_for(bytes))
    }

    /// As [`time_for`](Self::time_for), in nanoseconds: cheaper where many times are added up.
    #[inline]
    pub fn nanos_for(self, bytes: u64) -> u64 {
        const NANO_BITS: u64 = 8_000_000_000;
        match bytes.checked_mul(NANO_BITS) {
            Some(bits) => bits.div_ceil(self.0.get()),
            None => {
                let bits = u128::from(bytes) * u128::from(NANO_BITS);
                u64::try_from(bits.div_ceil(u128::from(self.0.get()))).unwrap_or(u64::MAX)
            }
        }
    }
}

impl fmt::Display for BitRate {
    /// In the largest unit that divides it: `10Mbit`, `1500kbit`, `7bit`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.0.get();
        for (unit, name) in [(1_000_000_000, "Gbit"), (1_000_000, "Mbit"), (1000, "kbit")] {
            if bits.is_multiple_of(unit) {
                return write!(f, "{}{name}", bits / unit);
            }
        }
        write!(f, "{bits}bit")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_transmission_times_and_texts() {
        let cases = [
            (10_000_000, 1500, 1_200_000, "10Mbit"),
            (1_500_000, 40, 213_334, "1500kbit"),
            (7, 1, 1_142_857_143, "7bit"),
            (7, 2_305_843_009, 2_635_249_153_142_857_143, "7bit"),
            (8_000_000, 2_305_843_010, 2_305_843_010_000, "8Mbit"),
            (8, u64::MAX, u64::MAX, "8bit"),
        ];
        for (bits, bytes, nanos, text) in cases {
            let rate = BitRate::from_bits_per_second(bits).unwrap();
            assert_eq!(rate.time_for(bytes), Duration::from_nanos(nanos));
            assert_eq!(rate.to_string(), text);
        }
        assert_eq!(BitRate::from_bits_per_second(0), None);
    }
}
