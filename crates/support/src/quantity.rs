//! Durations, rates and factors as people write them: `80ms`, `10Mbit`, `1/8`.

pub use recoup_path::quantity::{format_duration, parse_any_duration, parse_duration, parse_rate};

use recoup_recovery::rtt::Factor;
use recoup_units::{Segments, parse_bytes};
use std::ops::RangeInclusive;
use std::time::Duration;

/// Parses a factor in this range: `2`, `0.5` or `1/8`. It must be exact in millionths. `Display` formats
/// factors as decimal numbers.
///
/// # Errors
/// Any other text. The error names the next lower factor if the text is not exact.
pub fn parse_factor(text: &str, range: RangeInclusive<Factor>) -> Result<Factor, String> {
    let text = text.trim();
    let expected = || {
        let (least, most) = (range.start(), range.end());
        format!("`{text}`: expected a number from {least} to {most}, such as 0.5 or 1/8")
    };
    let (numerator, denominator) = ratio(text).ok_or_else(expected)?;
    let millionths = numerator * 1_000_000;
    let factor = u32::try_from(millionths / denominator).map(Factor);
    let factor = factor.ok().filter(|factor| range.contains(factor));
    let factor = factor.ok_or_else(expected)?;
    match millionths.is_multiple_of(denominator) {
        true => Ok(factor),
        // Above the range by less than a millionth.
        false if factor == *range.end() => Err(expected()),
        false => Err(format!("`{text}` is not exact in millionths: expected a number such as {factor}")),
    }
}

/// Numerator and denominator of `1/8`, `2` or `1.5`, each below 10^24; no denominator is 0.
fn ratio(text: &str) -> Option<(u128, u128)> {
    let number = |digits: &str| {
        let is_short = (1..=24).contains(&digits.len());
        let is_number = is_short && digits.bytes().all(|b| b.is_ascii_digit());
        is_number.then(|| digits.parse::<u128>().ok())?
    };
    let (numerator, denominator) = match (text.split_once('/'), text.split_once('.')) {
        (Some((numerator, denominator)), _) => (number(numerator)?, number(denominator)?),
        (None, Some((whole, decimals))) => {
            number(decimals)?;
            let shifted = number(&format!("{whole}{decimals}"))?;
            (shifted, 10_u128.pow(decimals.len() as u32))
        }
        (None, None) => (number(text)?, 1),
    };
    (denominator > 0).then_some((numerator, denominator))
}

/// The most bytes a setting takes: 1 TB.
const MOST_BYTES: u64 = 1_000_000_000_000;

/// Reads a number of bytes from 1 to 1 TB, as in `20kB` or `16KiB`.
///
/// # Errors
/// Any other text.
pub fn parse_size(text: &str) -> Result<u64, String> {
    parse_bytes(text).filter(|bytes| (1..=MOST_BYTES).contains(bytes)).ok_or_else(|| {
        format!("`{text}`: expected bytes from 1 to 1 TB, such as 20kB (1000 bytes each) or 16KiB (1024 bytes each)")
    })
}

/// Reads a number of bytes, as in `20kB`, `16KiB` or `500`: 0, or from 1 to 1 TB.
///
/// # Errors
/// Any other text.
pub fn parse_size_or_zero(text: &str) -> Result<u64, String> {
    match text {
        "0" => Ok(0),
        text => parse_size(text).map_err(|why| format!("{why}, or 0")),
    }
}

/// The largest minimum RTO: RFC 6298 §2.5 allows no smaller maximum, and no profile has one.
const LARGEST_MINIMUM: Duration = Duration::from_secs(60);

/// The largest number of duplicate ACKs.
const LARGEST_THRESHOLD: u32 = 1000;

/// Reads a value of k or m.
///
/// # Errors
/// If it is not a number from 0 to 1000.
pub fn parse_multiple(text: &str) -> Result<Factor, String> {
    parse_factor(text, Factor(0)..=Factor::MAX)
}

/// Reads a value of a or b.
///
/// # Errors
/// If it is not above 0, and at most 1.
pub fn parse_weight(text: &str) -> Result<Factor, String> {
    parse_factor(text, Factor(1)..=Factor::ONE)
}

/// Reads a minimum RTO.
///
/// # Errors
/// If it is not a time of at most 60 s.
pub fn parse_minimum(text: &str) -> Result<Duration, String> {
    match parse_duration(text)? {
        min if min > LARGEST_MINIMUM => {
            let most = format_duration(LARGEST_MINIMUM);
            Err(format!("`{text}`: expected at most {most}, such as 200ms"))
        }
        min => Ok(min),
    }
}

/// Reads a number of duplicate ACKs.
///
/// # Errors
/// If it is not a whole number from 1 to 1000.
pub fn parse_threshold(text: &str) -> Result<Segments, String> {
    let number = text.parse().ok();
    let number = number.filter(|number| (1..=LARGEST_THRESHOLD).contains(number));
    let expected = || format!("`{text}`: expected a whole number from 1 to {LARGEST_THRESHOLD}");
    number.map(Segments).ok_or_else(expected)
}

#[cfg(test)]
mod tests;
