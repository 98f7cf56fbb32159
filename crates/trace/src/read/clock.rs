//! The clock of a capture: converts ticks to nanoseconds since 1970.

use recoup_units::Instant;

const NANOS: u64 = 1_000_000_000;

/// A clock with its offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clock {
    rate: Rate,
    /// Added to each time, in nanoseconds.
    offset: i128,
}

/// The length of a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rate {
    /// Nanoseconds.
    Whole(u64),
    /// Ticks per second.
    PerSecond(u64),
}

impl Clock {
    /// The clock of a pcapng interface. `resolution` is its option: 10^-n s or, with the highest
    /// bit set, 2^-n s. `offset` is added, in seconds (draft-ietf-opsawg-pcapng §4.2). `None` if a
    /// second does not fit into 64 bits of ticks.
    pub fn of_interface(resolution: u8, offset: i64) -> Option<Self> {
        let exponent = u32::from(resolution & 0x7f);
        let rate = match resolution & 0x80 {
            0 => 10u64.checked_pow(exponent),
            _ => 1u64.checked_shl(exponent),
        }?;
        let rate = if NANOS.is_multiple_of(rate) { Rate::Whole(NANOS / rate) } else { Rate::PerSecond(rate) };
        Some(Self { rate, offset: i128::from(offset) * i128::from(NANOS) })
    }

    /// The time after `ticks`; `Err` with the nearest possible time if it lies before 1970 or after
    /// July 2554.
    #[inline]
    pub fn instant(&self, ticks: u64) -> Result<Instant, Instant> {
        if let Rate::Whole(nanos) = self.rate
            && self.offset == 0
            && let Some(nanos) = ticks.checked_mul(nanos)
        {
            return Ok(Instant::from_nanos(nanos));
        }
        self.far(ticks)
    }

    #[cold]
    fn far(&self, ticks: u64) -> Result<Instant, Instant> {
        let nanos = match self.rate {
            Rate::Whole(nanos) => u128::from(ticks) * u128::from(nanos),
            Rate::PerSecond(rate) => u128::from(ticks) * u128::from(NANOS) / u128::from(rate),
        };
        // Below 2^94, and the offset is below 2^93.
        let nanos = nanos as i128 + self.offset;
        u64::try_from(nanos)
            .map(Instant::from_nanos)
            .map_err(|_| Instant::from_nanos(if nanos < 0 { 0 } else { u64::MAX }))
    }
}

/// The time of a classic record whose fraction counts units of `nanos`; `Err` with the end of the
/// second if the fraction is a second or more.
#[inline]
pub(super) fn of_record(seconds: u32, fraction: u32, nanos: u32) -> Result<Instant, Instant> {
    let at = |fraction: u64| Instant::from_nanos(u64::from(seconds) * NANOS + fraction);
    let fraction = u64::from(fraction) * u64::from(nanos);
    if fraction < NANOS { Ok(at(fraction)) } else { Err(at(NANOS - 1)) }
}

#[cfg(test)]
mod tests;
