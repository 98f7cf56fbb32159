//! Durations and rates as people write them: `80ms`, `10Mbit`.

use jiff::fmt::friendly::SpanParser;
use recoup_units::BitRate;
use std::time::Duration;

/// The longest duration accepted, so that every run ends.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// Parses a duration: `80ms`, `1.5s` or `1s 500ms`. It has no sign, always a unit (except 0), and is a
/// day at most.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    match parse_any_duration(text)? {
        d if d > LONGEST => Err(format!("`{}` is too long: expected at most a day", text.trim())),
        d => Ok(d),
    }
}

/// Parses a duration as [`parse_duration`] does, without a limit.
pub fn parse_any_duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let expected = || {
        let minus = if text.starts_with('-') { ", not negative" } else { "" };
        format!("`{text}` is not a duration: expected a number with a unit{minus}, such as 80ms or 1.5s")
    };
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    // jiff also takes hours, minutes and seconds joined by colons, which have no unit.
    if text.contains(':') {
        return Err(expected());
    }
    let parser = SpanParser::new();
    parser.parse_unsigned_duration(text).map_err(|_| expected())
}

/// Formats a duration for [`parse_duration`], in the largest unit that needs no fraction.
pub fn format_duration(d: Duration) -> String {
    let nanos = d.as_nanos();
    for (unit, name) in [(1_000_000_000, "s"), (1_000_000, "ms"), (1000, "us")] {
        if nanos.is_multiple_of(unit) && nanos > 0 {
            return format!("{}{name}", nanos / unit);
        }
    }
    if nanos == 0 { "0ms".into() } else { format!("{nanos}ns") }
}

/// Parses a rate: `10Mbit`, `1.5Gbit`, `64kbit`, `9600bit`, each with or without `/s`. Prefixes are
/// decimal, as in tc(8). A rate is at least 1 bit/s and below 10¹⁵ bit/s.
pub fn parse_rate(text: &str) -> Result<BitRate, String> {
    let trimmed = text.trim();
    let expected = || {
        format!(
            "`{trimmed}` is not a rate: expected a number with a unit, such as 10Mbit or 64kbit, above zero and below 1000000Gbit"
        )
    };
    let digits = trimmed.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
    let (number, unit) = trimmed.split_at(digits);
    let unit = unit.trim().trim_end_matches("/s");
    let scale = match unit {
        "bit" => 1.0,
        "kbit" | "Kbit" => 1e3,
        "Mbit" | "mbit" => 1e6,
        "Gbit" | "gbit" => 1e9,
        _ => return Err(expected()),
    };
    let bits = number.parse::<f64>().map_err(|_| expected())? * scale;
    if !(1.0..1e15).contains(&bits) {
        return Err(expected());
    }
    BitRate::from_bits_per_second(bits.round() as u64).ok_or_else(expected)
}
