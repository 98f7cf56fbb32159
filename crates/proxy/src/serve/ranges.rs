//! The parts of a file that a request asks for (RFC 9110 §14).

use hyper::header::{HeaderMap, RANGE};
use std::ops::Range;

/// The most ranges that are sent. Requests for more get the whole file: RFC 9110 §17.15 warns of many small ones.
const MOST_RANGES: usize = 100;

/// What is sent of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    Whole,
    /// Ranges of bytes, at least one, each with at least one byte, in the order of the request.
    Parts(Vec<Range<u64>>),
    /// All ranges begin after the end: status 416.
    Nothing,
}

/// Reads `Range` of a request for a file of this length. What cannot be read is ignored, as RFC 9110 §14.2 allows, and so are
/// many ranges, and ranges that have more bytes together than the file.
pub fn select(headers: &HeaderMap, length: u64) -> Selection {
    let mut values = headers.get_all(RANGE).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return Selection::Whole };
    let Some(ranges) = parse(value.as_bytes(), length) else { return Selection::Whole };
    if ranges.len() > MOST_RANGES {
        return Selection::Whole;
    }
    // A suffix of an empty file can be satisfied, but no `Content-Range` can say so.
    if length == 0 && ranges.iter().any(Option::is_some) {
        return Selection::Whole;
    }
    let parts: Vec<Range<u64>> = ranges.into_iter().flatten().collect();
    let bytes: u128 = parts.iter().map(|part| u128::from(part.end - part.start)).sum();
    match parts.is_empty() {
        true => Selection::Nothing,
        false if parts.len() > 1 && bytes > length.into() => Selection::Whole,
        false => Selection::Parts(parts),
    }
}

/// The ranges of a file of this length; `None` for each that cannot be satisfied. `None` if the text is something else.
fn parse(value: &[u8], length: u64) -> Option<Vec<Option<Range<u64>>>> {
    let equals = value.iter().position(|byte| *byte == b'=')?;
    let (unit, set) = (&value[..equals], &value[equals + 1..]);
    // Names of units are case-insensitive (RFC 9110 §14.1).
    if !unit.eq_ignore_ascii_case(b"bytes") {
        return None;
    }
    // RFC 9110 §5.6.1.2: empty elements of a list are ignored.
    let specs = set.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).filter(|spec| !spec.is_empty());
    let ranges: Vec<_> = specs.map(|spec| range(spec, length)).collect::<Option<_>>()?;
    (!ranges.is_empty()).then_some(ranges)
}

/// `first-last`, `first-` or `-suffix`.
fn range(spec: &[u8], length: u64) -> Option<Option<Range<u64>>> {
    let dash = spec.iter().position(|byte| *byte == b'-')?;
    let (first, last) = (&spec[..dash], &spec[dash + 1..]);
    if first.is_empty() {
        let suffix = number(last)?;
        return Some((suffix > 0).then(|| length.saturating_sub(suffix)..length));
    }
    let first = number(first)?;
    let last = match last {
        b"" => u64::MAX,
        last => number(last)?,
    };
    if last < first {
        return None;
    }
    Some((first < length).then(|| first..last.saturating_add(1).min(length)))
}

/// A number; a larger one than any file has bytes is as good as the largest.
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        Some(number.saturating_mul(10).saturating_add(digit))
    })
}

#[cfg(test)]
mod tests;
