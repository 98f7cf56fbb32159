//! Points in time.

use core::fmt;
use core::num::NonZeroU64;
use core::ops::{Add, AddAssign, Sub};
use core::time::Duration;

/// A point in time, in nanoseconds since an epoch that the clock's owner chooses (the start of a
/// simulation, the first packet of a capture).
///
/// 64 bits hold 584 years. Additions saturate instead of wrapping. An `Option<Instant>` takes 8 bytes, too.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(
    /// Nanoseconds since the epoch, plus one: zero is left for `None`.
    NonZeroU64,
);

impl Instant {
    /// The epoch.
    pub const ZERO: Self = Self(NonZeroU64::MIN);

    /// The instant `nanos` nanoseconds after the epoch. The last one is 2⁶⁴ − 2 ns after it.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(NonZeroU64::MIN.saturating_add(nanos))
    }

    /// The instant `millis` milliseconds after the epoch.
    pub const fn from_millis(millis: u64) -> Self {
        Self::from_nanos(millis.saturating_mul(1_000_000))
    }

    /// `nanos` nanoseconds later.
    #[must_use]
    pub const fn plus_nanos(self, nanos: u64) -> Self {
        Self(self.0.saturating_add(nanos))
    }

    /// `nanos` nanoseconds earlier, or the epoch if that is later.
    #[must_use]
    pub const fn minus_nanos(self, nanos: u64) -> Self {
        match NonZeroU64::new(self.0.get().saturating_sub(nanos)) {
            Some(left) => Self(left),
            None => Self::ZERO,
        }
    }

    /// Nanoseconds since the epoch.
    pub const fn as_nanos(self) -> u64 {
        self.0.get() - 1
    }

    /// Milliseconds since the epoch, for printing.
    pub fn as_millis_f64(self) -> f64 {
        self.as_nanos() as f64 / 1e6
    }

    /// Nanoseconds since `earlier`; 0 if `earlier` is later. Cheaper than [`since`](Self::since) where
    /// many times are compared and added up.
    pub const fn nanos_since(self, earlier: Self) -> u64 {
        self.0.get().saturating_sub(earlier.0.get())
    }

    /// The time since `earlier`; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.nanos_since(earlier))
    }
}

impl Default for Instant {
    fn default() -> Self {
        Self::ZERO
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Instant").field(&self.as_nanos()).finish()
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Instant {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_nanos().serialize(serializer)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Instant {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u64::deserialize(deserializer).map(Self::from_nanos)
    }
}

/// `d` in whole nanoseconds, saturating at 584 years.
const fn nanos(d: Duration) -> u64 {
    d.as_secs().saturating_mul(1_000_000_000).saturating_add(d.subsec_nanos() as u64)
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, d: Duration) -> Self {
        self.plus_nanos(nanos(d))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;
    fn sub(self, d: Duration) -> Self {
        self.minus_nanos(nanos(d))
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6} ms", self.as_millis_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        let t = Instant::from_millis(5);
        assert_eq!(t + Duration::from_millis(2), Instant::from_nanos(7_000_000));
        assert_eq!(t - Duration::from_millis(9), Instant::ZERO);
        assert_eq!(t.since(Instant::from_millis(9)), Duration::ZERO);
        let far = Instant::from_nanos(u64::MAX);
        assert_eq!(far + Duration::MAX, far);
        assert_eq!(far.as_nanos(), u64::MAX - 1);
        assert_eq!(far - Duration::MAX, Instant::ZERO);
        assert_eq!(size_of::<Option<Instant>>(), size_of::<u64>());
    }
}
