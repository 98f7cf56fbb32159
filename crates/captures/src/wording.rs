//! Numbers as people say them.

use std::cmp::Reverse;
use std::fmt::Display;
use std::time::Duration;

/// The name of a capture in sentences.
pub fn capture_name(capture: &str) -> &str {
    match capture {
        "-" => "standard input",
        name => name,
    }
}

/// The durations above zero of some things, the longest first.
pub fn longest_first<T: Copy>(all: impl IntoIterator<Item = T>, of: impl Fn(T) -> Duration) -> Vec<(T, Duration)> {
    let mut times: Vec<_> = all.into_iter().map(|one| (one, of(one))).filter(|(_, time)| !time.is_zero()).collect();
    times.sort_by_key(|(_, time)| Reverse(*time));
    times
}

/// A time in milliseconds.
pub fn in_ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// A duration with two or three significant digits: `12 µs`, `0.25 ms`, `60 ms`, `1.20 s`, `25.3 s`, `12.5 min`.
pub fn duration(time: Duration) -> String {
    let ms = in_ms(time);
    match ms {
        _ if ms < 0.000_05 => "0 ms".into(),
        _ if ms < 0.009_95 => format!("{:.1} µs", ms * 1e3),
        _ if ms < 0.099_5 => format!("{:.0} µs", ms * 1e3),
        _ if ms < 0.995 => format!("{ms:.2} ms"),
        _ if ms < 9.95 => format!("{ms:.1} ms"),
        _ if ms < 999.5 => format!("{ms:.0} ms"),
        _ if ms < 9_995.0 => format!("{:.2} s", ms / 1e3),
        _ if ms < 99_950.0 => format!("{:.1} s", ms / 1e3),
        _ if ms < 600_000.0 => format!("{:.0} s", ms / 1e3),
        _ if ms < 7_200_000.0 => format!("{:.1} min", ms / 60e3),
        _ => format!("{:.1} h", ms / 3600e3),
    }
}

/// A duration in milliseconds as [`duration`] says it; `−60 ms` if it is negative.
pub fn millis(ms: f64) -> String {
    let text = duration(Duration::try_from_secs_f64(ms.abs() / 1e3).unwrap_or_default());
    match ms < 0.0 && text != "0 ms" {
        true => format!("−{text}"),
        false => text,
    }
}

/// An amount of data with three significant digits, in powers of ten: `22.8 MB`.
pub fn bytes(bytes: u64) -> String {
    match bytes {
        1 => "1 byte".into(),
        _ => scaled(bytes, ["bytes", "kB", "MB", "GB", "TB"]),
    }
}

/// A rate with three significant digits: `5.12 Mbit/s`.
pub fn bit_rate(bits_per_second: u64) -> String {
    scaled(bits_per_second, ["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"])
}

/// A number with three significant digits, and the unit that suits it: each is a thousand of the one before.
fn scaled(number: u64, units: [&str; 5]) -> String {
    let [first, ..] = units;
    let mut value = number as f64;
    let mut unit = first;
    for next in units.into_iter().skip(1) {
        if value < 999.5 {
            break;
        }
        value /= 1e3;
        unit = next;
    }
    match value {
        _ if unit == first => format!("{number} {unit}"),
        _ if value < 9.995 => format!("{value:.2} {unit}"),
        _ if value < 99.95 => format!("{value:.1} {unit}"),
        _ => format!("{value:.0} {unit}"),
    }
}

/// A share as a percentage with two significant digits: `27 %`, `2.8 %`, `0.04 %`, `−2.8 %`.
pub fn percent(part: f64, whole: f64) -> String {
    let share = match whole > 0.0 {
        true => 100.0 * part / whole,
        false => 0.0,
    };
    match share {
        0.0 => "0 %".into(),
        _ if share < 0.0 => format!("−{}", percent(-part, whole)),
        _ if share < 0.005 => "below 0.01 %".into(),
        _ if share < 0.995 => format!("{share:.2} %"),
        _ if share < 9.95 => format!("{share:.1} %"),
        _ => format!("{share:.0} %"),
    }
}

/// One time as a share of another.
pub fn percent_of(part: Duration, whole: Duration) -> String {
    percent(part.as_secs_f64(), whole.as_secs_f64())
}

/// The things that a question left out: those that an interrupt kept it from, and those beyond its sample.
pub fn unreached(interrupted: u64, left_out: u64, one: &str) -> impl Iterator<Item = String> {
    let interrupted = (interrupted > 0).then(|| format!("Interrupted: {} not reached.", count(interrupted, one)));
    let left_out = (left_out > 0).then(|| format!("{} left out of the sample.", count(left_out, one)));
    interrupted.into_iter().chain(left_out)
}

/// A count with its noun: `1 connection`, `790 connections`.
pub fn count(n: u64, one: impl Display) -> String {
    match n {
        1 => format!("1 {one}"),
        _ => format!("{} {one}s", grouped(n)),
    }
}

/// `once`, `twice` or `25 times`.
pub fn times(n: u64) -> String {
    match n {
        1 => "once".into(),
        2 => "twice".into(),
        _ => format!("{} times", grouped(n)),
    }
}

/// A count with its thousands apart: `23,310`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Clauses as a sentence's list: `a, b and c`.
pub fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

/// The text with a capital at its beginning.
pub fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests;
