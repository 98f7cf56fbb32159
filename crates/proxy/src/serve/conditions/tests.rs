use super::*;
use hyper::header::HeaderValue;
use proptest::prelude::*;
use std::time::{Duration, UNIX_EPOCH};

const BEFORE: &str = "Sun, 06 Nov 1994 08:49:36 GMT";
const MODIFIED: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
const AFTER: &str = "Sun, 06 Nov 1994 08:49:38 GMT";

fn version(is_weak: bool) -> Version {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let flags = rustix::fs::StatxFlags::BASIC_STATS;
    let mut about = rustix::fs::statx(&file, "", rustix::fs::AtFlags::EMPTY_PATH, flags).expect("a file");
    about.stx_mtime.tv_sec = 784_111_777;
    let now = SystemTime::now() + Duration::from_secs(if is_weak { 0 } else { 60 });
    let mut version = Version::of(&about, now);
    assert_eq!(version.modified, Some(UNIX_EPOCH + Duration::from_secs(784_111_777)));
    assert_eq!(version.tag.is_weak, is_weak);
    version.tag.opaque = "\"a\"".into();
    version
}

fn headers(lines: &[(HeaderName, &str)]) -> HeaderMap {
    let line = |(name, value): &(HeaderName, &str)| (name.clone(), HeaderValue::from_str(value).expect("a value"));
    let mut headers = HeaderMap::new();
    for (name, value) in lines.iter().map(line) {
        headers.append(name, value);
    }
    headers
}

#[test]
fn preconditions_are_evaluated_in_order() {
    use Outcome::{Failed, NotModified, Proceed};
    let table: &[(&[(HeaderName, &str)], Outcome)] = &[
        (&[], Proceed),
        (&[(IF_MATCH, "\"a\"")], Proceed),
        (&[(IF_MATCH, "*")], Proceed),
        (&[(IF_MATCH, "\"b\", \"a\"")], Proceed),
        (&[(IF_MATCH, "\"b\""), (IF_MATCH, "\"a\"")], Proceed),
        (&[(IF_MATCH, "W/\"a\"")], Failed),
        (&[(IF_MATCH, "\"b\"")], Failed),
        (&[(IF_MATCH, "a")], Failed),
        (&[(IF_MATCH, "\"b\" \"a\"")], Failed),
        // It makes If-Unmodified-Since irrelevant.
        (&[(IF_MATCH, "\"a\""), (IF_UNMODIFIED_SINCE, BEFORE)], Proceed),
        (&[(IF_UNMODIFIED_SINCE, BEFORE)], Failed),
        (&[(IF_UNMODIFIED_SINCE, MODIFIED)], Proceed),
        (&[(IF_UNMODIFIED_SINCE, "yesterday")], Proceed),
        (&[(IF_NONE_MATCH, "\"a\"")], NotModified),
        (&[(IF_NONE_MATCH, "W/\"a\"")], NotModified),
        (&[(IF_NONE_MATCH, "w/\"a\"")], Proceed),
        (&[(IF_NONE_MATCH, "*")], NotModified),
        (&[(IF_NONE_MATCH, ", ,\"b\" ,\t\"a\"")], NotModified),
        (&[(IF_NONE_MATCH, "\"b,\\\"a\"")], Proceed),
        (&[(IF_NONE_MATCH, "\"b\""), (IF_MODIFIED_SINCE, AFTER)], Proceed),
        (&[(IF_MODIFIED_SINCE, BEFORE)], Proceed),
        (&[(IF_MODIFIED_SINCE, MODIFIED)], NotModified),
        (&[(IF_MODIFIED_SINCE, AFTER)], NotModified),
        // The obsolete formats (RFC 9110 §5.6.7).
        (&[(IF_MODIFIED_SINCE, "Sunday, 06-Nov-94 08:49:37 GMT")], NotModified),
        (&[(IF_MODIFIED_SINCE, "Sun Nov  6 08:49:37 1994")], NotModified),
        (&[(IF_MODIFIED_SINCE, "")], Proceed),
        (&[(IF_MODIFIED_SINCE, AFTER), (IF_MODIFIED_SINCE, AFTER)], Proceed),
        (&[(IF_MATCH, "\"a\""), (IF_NONE_MATCH, "\"a\"")], NotModified),
        (&[(IF_UNMODIFIED_SINCE, AFTER), (IF_MODIFIED_SINCE, AFTER)], NotModified),
    ];
    for (lines, outcome) in table {
        let headers = headers(lines);
        let current = version(false);
        assert_eq!(evaluate(&headers, Some(&current), true), *outcome, "{lines:?}");
        let is_date_alone = headers.contains_key(IF_MODIFIED_SINCE) && !headers.contains_key(IF_NONE_MATCH);
        let written = match outcome {
            NotModified if is_date_alone => Proceed,
            NotModified => Failed,
            outcome => *outcome,
        };
        assert_eq!(evaluate(&headers, Some(&current), false), written, "PUT with {lines:?}");
    }
}

#[test]
fn a_missing_file_matches_nothing() {
    for (name, value, outcome) in [
        (IF_MATCH, "*", Outcome::Failed),
        (IF_MATCH, "\"a\"", Outcome::Failed),
        (IF_NONE_MATCH, "*", Outcome::Proceed),
        (IF_UNMODIFIED_SINCE, BEFORE, Outcome::Proceed),
    ] {
        assert_eq!(evaluate(&headers(&[(name.clone(), value)]), None, false), outcome, "{name}: {value}");
    }
}

#[test]
fn a_weak_tag_is_no_strong_one() {
    let current = version(true);
    assert_eq!(evaluate(&headers(&[(IF_MATCH, "\"a\"")]), Some(&current), true), Outcome::Failed);
    assert_eq!(evaluate(&headers(&[(IF_NONE_MATCH, "\"a\"")]), Some(&current), true), Outcome::NotModified);
    assert!(!takes_range(&headers(&[(IF_RANGE, "\"a\"")]), &current));
    assert!(!takes_range(&headers(&[(IF_RANGE, MODIFIED)]), &current));
}

#[test]
fn ranges_need_a_strong_validator() {
    let current = version(false);
    assert!(takes_range(&HeaderMap::new(), &current));
    for (value, takes) in [
        ("\"a\"", true),
        ("W/\"a\"", false),
        ("\"b\"", false),
        ("\"a\", \"a\"", false),
        (MODIFIED, true),
        (BEFORE, false),
        (AFTER, false),
        ("*", false),
        ("", false),
    ] {
        assert_eq!(takes_range(&headers(&[(IF_RANGE, value)]), &current), takes, "{value}");
    }
}

proptest! {
    #[test]
    fn any_list_of_tags_is_read(value in "([W/\"ab, *\t]|\\PC){0,24}") {
        let Ok(value) = HeaderValue::from_str(&value) else { return Ok(()) };
        for name in [IF_MATCH, IF_NONE_MATCH, IF_RANGE, IF_MODIFIED_SINCE, IF_UNMODIFIED_SINCE] {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.clone());
            evaluate(&headers, Some(&version(false)), true);
            takes_range(&headers, &version(false));
        }
        let tags: Vec<_> = Tags(value.as_bytes()).collect();
        prop_assert!(tags.iter().all(|(_, opaque)| opaque.len() >= 2 && opaque.starts_with(b"\"") && opaque.ends_with(b"\"")));
    }
}
