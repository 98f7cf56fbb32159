//! Conditional requests (RFC 9110 §13).

use crate::serve::version::{Tag, Version};
use httpdate::parse_http_date;
use hyper::header::{HeaderMap, HeaderName, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE};
use std::time::SystemTime;

/// What a request's preconditions say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The request is carried out.
    Proceed,
    /// The client has the file as it is: status 304.
    NotModified,
    /// It is not carried out: status 412.
    Failed,
}

/// Evaluates preconditions in the order of RFC 9110 §13.2.2. `current` is the file as it is, if there is one; `reads` is whether
/// the method is GET or HEAD.
pub fn evaluate(headers: &HeaderMap, current: Option<&Version>, reads: bool) -> Outcome {
    let tag = current.map(|version| &version.tag);
    let modified = current.and_then(|version| version.modified);
    // §13.1.1: strong comparison.
    match any_tag(headers, &IF_MATCH, tag, |tag, strong| strong && !tag.is_weak) {
        Some(false) => return Outcome::Failed,
        Some(true) => {}
        // §13.1.4
        None => match (date(headers, &IF_UNMODIFIED_SINCE), modified) {
            (Some(since), Some(modified)) if modified > since => return Outcome::Failed,
            _ => {}
        },
    }
    // §13.1.2: weak comparison.
    match any_tag(headers, &IF_NONE_MATCH, tag, |_, _| true) {
        Some(true) if reads => return Outcome::NotModified,
        Some(true) => return Outcome::Failed,
        Some(false) => {}
        // §13.1.3
        None => match (date(headers, &IF_MODIFIED_SINCE), modified) {
            (Some(since), Some(modified)) if reads && modified <= since => return Outcome::NotModified,
            _ => {}
        },
    }
    Outcome::Proceed
}

/// Whether `Range` counts: `If-Range` is absent, or has a strong validator of the file as it is (RFC 9110 §13.1.5).
pub fn takes_range(headers: &HeaderMap, current: &Version) -> bool {
    let mut values = headers.get_all(IF_RANGE).iter();
    let value = match (values.next(), values.next()) {
        (None, _) => return true,
        (Some(value), None) => value.as_bytes(),
        (Some(_), Some(_)) => return false,
    };
    match Tags(value).next() {
        Some((is_strong, opaque)) => {
            is_strong && !current.tag.is_weak && opaque == current.tag.opaque.as_bytes() && value == opaque
        }
        None => {
            let date = std::str::from_utf8(value).ok().and_then(|text| parse_http_date(text).ok());
            date.is_some() && date == current.strong_modified()
        }
    }
}

/// Whether a header lists the tag and `compares` it so; `*` lists any. `None` without the header. `compares` is given the tag of
/// the file, and whether the listed one is strong.
fn any_tag(
    headers: &HeaderMap,
    name: &HeaderName,
    current: Option<&Tag>,
    compares: impl Fn(&Tag, bool) -> bool,
) -> Option<bool> {
    let mut is_there = false;
    for value in headers.get_all(name) {
        is_there = true;
        let value = value.as_bytes().trim_ascii();
        let Some(current) = current else { continue };
        let is_listed =
            |(is_strong, opaque): (bool, &[u8])| opaque == current.opaque.as_bytes() && compares(current, is_strong);
        if value == b"*" || Tags(value).any(is_listed) {
            return Some(true);
        }
    }
    is_there.then_some(false)
}

/// The date of a header. `None` if it is no date, or there are several: then it does not count (RFC 9110 §13.1.3, §13.1.4).
fn date(headers: &HeaderMap, name: &HeaderName) -> Option<SystemTime> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => parse_http_date(value.to_str().ok()?.trim()).ok(),
        _ => None,
    }
}

/// The entity tags of a list: whether each is strong, and what is between its quotes, with them. Ends at anything else.
struct Tags<'a>(&'a [u8]);

impl<'a> Iterator for Tags<'a> {
    type Item = (bool, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.0.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b','))?;
        let rest = &self.0[start..];
        // `W` is case-sensitive (RFC 9110 §8.8.3).
        let (is_strong, quoted) = rest.strip_prefix(b"W/").map_or((true, rest), |quoted| (false, quoted));
        let inner = quoted.strip_prefix(b"\"")?;
        let end = inner.iter().position(|byte| !matches!(byte, 0x21 | 0x23..=0x7e | 0x80..))?;
        if inner[end] != b'"' {
            return None;
        }
        let (opaque, rest) = quoted.split_at(end + 2);
        // Only a comma parts one from the next.
        let follows = rest.iter().find(|byte| !matches!(byte, b' ' | b'\t'));
        self.0 = if follows.is_none_or(|byte| *byte == b',') { rest } else { &[] };
        Some((is_strong, opaque))
    }
}

#[cfg(test)]
mod tests;
