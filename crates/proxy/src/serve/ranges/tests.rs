use super::*;
use hyper::header::HeaderValue;
use proptest::prelude::*;

fn of(text: &str, length: u64) -> Selection {
    let mut headers = HeaderMap::new();
    headers.insert(RANGE, HeaderValue::from_str(text).expect("a value"));
    select(&headers, length)
}

#[test]
#[expect(clippy::single_range_in_vec_init, reason = "one range is meant")]
fn ranges_of_ten_bytes() {
    let parts = |ranges: &[Range<u64>]| Selection::Parts(ranges.to_vec());
    for (text, selection) in [
        ("bytes=0-0", parts(&[0..1])),
        ("bytes=0-9", parts(&[0..10])),
        ("bytes=9-", parts(&[9..10])),
        ("bytes=2-100", parts(&[2..10])),
        ("bytes=-3", parts(&[7..10])),
        ("bytes=-100", parts(&[0..10])),
        ("bytes=0-99999999999999999999999999", parts(&[0..10])),
        ("BYTES=1-2", parts(&[1..3])),
        ("bytes=1-2, 4-4,-1", parts(&[1..3, 4..5, 9..10])),
        ("bytes= ,1-2\t,,4-4", parts(&[1..3, 4..5])),
        ("bytes=1-2,50-60", parts(&[1..3])),
        ("bytes=5-6,1-2", parts(&[5..7, 1..3])),
        ("bytes=10-", Selection::Nothing),
        ("bytes=10-11,20-", Selection::Nothing),
        ("bytes=-0", Selection::Nothing),
        ("bytes=99999999999999999999999999-", Selection::Nothing),
        ("bytes=0-9,0-9", Selection::Whole),
        ("bytes=", Selection::Whole),
        ("bytes=,", Selection::Whole),
        ("bytes=-", Selection::Whole),
        ("bytes=2-1", Selection::Whole),
        ("bytes=1-2,x", Selection::Whole),
        ("bytes=+1-2", Selection::Whole),
        ("bytes=1 - 2", Selection::Whole),
        ("bytes=1-2-3", Selection::Whole),
        ("bytes 1-2", Selection::Whole),
        ("lines=1-2", Selection::Whole),
    ] {
        assert_eq!(of(text, 10), selection, "{text}");
    }
}

#[test]
fn an_empty_file_has_no_ranges() {
    for (text, selection) in
        [("bytes=0-", Selection::Nothing), ("bytes=-0", Selection::Nothing), ("bytes=-1", Selection::Whole)]
    {
        assert_eq!(of(text, 0), selection, "{text}");
    }
}

#[test]
fn many_ranges_are_not_sent() {
    let ranges = |count: usize| format!("bytes={}", vec!["0-0"; count].join(","));
    assert!(matches!(of(&ranges(100), 1000), Selection::Parts(parts) if parts.len() == 100));
    assert_eq!(of(&ranges(101), 1000), Selection::Whole);
}

#[test]
fn two_headers_are_none() {
    let mut headers = HeaderMap::new();
    headers.append(RANGE, HeaderValue::from_static("bytes=0-0"));
    headers.append(RANGE, HeaderValue::from_static("bytes=1-1"));
    assert_eq!(select(&headers, 10), Selection::Whole);
}

/// Bytes that any selection sends are bytes of the file.
fn check(text: &str, length: u64) -> Result<(), TestCaseError> {
    let Ok(value) = HeaderValue::from_str(text) else { return Ok(()) };
    let mut headers = HeaderMap::new();
    headers.insert(RANGE, value);
    if let Selection::Parts(parts) = select(&headers, length) {
        prop_assert!(!parts.is_empty() && parts.len() <= MOST_RANGES);
        prop_assert!(parts.iter().all(|part| part.start < part.end && part.end <= length), "{parts:?}");
        let bytes: u128 = parts.iter().map(|part| u128::from(part.end - part.start)).sum();
        prop_assert!(bytes <= length.into());
    }
    Ok(())
}

proptest! {
    #[test]
    fn ranges_are_within_the_file(text in "bytes=([0-9]{0,20}-[0-9]{0,20}[, ]{0,2}){0,6}", length: u64, small in 0_u64..30) {
        check(&text, length)?;
        check(&text, small)?;
    }

    #[test]
    fn any_text_is_read(text in "([bytes=,0-9 -]|\\PC){0,30}", length in 0_u64..200) {
        check(&text, length)?;
    }

    #[test]
    fn a_written_range_is_read(first in 0_u64..1000, more in 0_u64..1000, length in 1_u64..2000) {
        let expected = match first < length {
            true => Selection::Parts(std::iter::once(first..(first + more + 1).min(length)).collect()),
            false => Selection::Nothing,
        };
        prop_assert_eq!(of(&format!("bytes={first}-{}", first + more), length), expected);
    }
}
