//! Times in a capture as people write them: `5s` after its first segment, or `2026-11-22T10:00:00Z`.

use jiff::Timestamp;
use recoup_support::quantity::{format_duration, parse_any_duration};
use recoup_trace::analyze::{TimeMark, TimeWindow};
use recoup_units::Instant;

/// Parses a time in a capture: a duration after its first segment, or a date and time with its offset from
/// UTC.
///
/// # Errors
/// One line that says what was expected.
pub fn parse_time(text: &str) -> Result<TimeMark, String> {
    let text = text.trim();
    if let Ok(at) = text.parse::<Timestamp>() {
        let nanos = u64::try_from(at.as_nanosecond());
        let at = nanos.map(Instant::from_nanos).map(TimeMark::At);
        return at.map_err(|_| format!("`{text}` is before 1970"));
    }
    let after = parse_any_duration(text).map(TimeMark::AfterStart);
    after.map_err(|_| {
        format!(
            "`{text}` is not a time: expected a duration after the first segment, such as 5s, or a time in UTC, such as 2026-11-22T10:00:00Z"
        )
    })
}

/// Formats a time for [`parse_time`].
pub fn format_time(time: TimeMark) -> String {
    match time {
        TimeMark::AfterStart(after) => format_duration(after),
        TimeMark::At(at) => {
            let timestamp = Timestamp::from_nanosecond(at.as_nanos().into());
            timestamp.map_or_else(|_| format!("{at:?}"), |timestamp| timestamp.to_string())
        }
    }
}

/// The arguments that choose this window; empty if it is the whole capture.
pub fn arguments(window: &TimeWindow) -> String {
    let times = [("--from", window.from), ("--to", window.to)];
    let given = times.into_iter().filter_map(|(argument, time)| {
        let time = format_time(time?);
        Some(format!("{argument} {time}"))
    });
    given.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn times_are_parsed_and_formatted() {
        let after = |nanos| TimeMark::AfterStart(Duration::from_nanos(nanos));
        let at = |nanos| TimeMark::At(Instant::from_nanos(nanos));
        for (text, time, printed) in [
            ("0", after(0), "0ms"),
            ("5s", after(5_000_000_000), "5s"),
            ("1.5min", after(90_000_000_000), "90s"),
            (" 48h ", after(172_800_000_000_000), "172800s"),
            ("1970-01-01T00:00:00Z", at(0), "1970-01-01T00:00:00Z"),
            ("2026-11-22T10:00:00.25Z", at(1_795_341_600_250_000_000), "2026-11-22T10:00:00.25Z"),
            ("2026-11-22 11:00+01:00", at(1_795_341_600_000_000_000), "2026-11-22T10:00:00Z"),
        ] {
            assert_eq!(parse_time(text), Ok(time), "{text}");
            assert_eq!(format_time(time), printed);
            assert_eq!(parse_time(printed), Ok(time));
        }
        for text in ["", "5", "-5s", "10:00:00", "2026-11-22T10:00:00", "2026-11-31T10:00:00Z", "soon"] {
            let error = parse_time(text).unwrap_err();
            assert!(error.starts_with(&format!("`{text}` is not a time")), "{error}");
        }
        assert_eq!(parse_time("1969-12-31T23:59:59Z").unwrap_err(), "`1969-12-31T23:59:59Z` is before 1970");
    }

    #[test]
    fn a_window_is_printed_as_arguments() {
        let mut window = TimeWindow::default();
        assert_eq!(arguments(&window), "");
        window.to = parse_time("90s").ok();
        assert_eq!(arguments(&window), "--to 90s");
        window.from = parse_time("1970-01-01T00:00:01Z").ok();
        assert_eq!(arguments(&window), "--from 1970-01-01T00:00:01Z --to 90s");
    }
}
