//! Parses any text as a drop list, a queue limit, a probability, a profile, a capture filter, a duration, a
//! time, a rate or a link trace. Nothing panics, errors are one line, and printed values parse to the same values.

#![no_main]

use libfuzzer_sys::fuzz_target;
use recoup_captures::filter::Filter;
use recoup_captures::time_window::{format_time, parse_time};
use recoup_path::{DataSegments, DropRules, LinkTrace, LossSpec, Probability, Queue};
use recoup_recovery::Profile;
use recoup_support::quantity::{format_duration, parse_duration, parse_rate};
use recoup_trace::analyze::TimeMark;
use std::{
    fmt::{Debug, Display},
    str::FromStr,
    time::Duration,
};

const CENTURY: Duration = Duration::from_secs(100 * 366 * 86_400);

/// Parses, prints, and parses the output.
fn there_and_back<T>(text: &str)
where
    T: FromStr<Err: Display + Debug> + Display + PartialEq + Debug,
{
    match text.parse::<T>() {
        Ok(value) => {
            let printed = value.to_string();
            let again = printed.parse::<T>().expect("what was printed");
            assert_eq!(again, value, "{text:?} printed as {printed:?}");
        }
        Err(error) => one_line(text, &error),
    }
}

/// An error is one line if the text is.
fn one_line(text: &str, error: &dyn Display) {
    assert!(text.contains('\n') || !error.to_string().contains('\n'));
}

fuzz_target!(|text: &str| {
    there_and_back::<DropRules>(text);
    there_and_back::<LossSpec>(text);
    there_and_back::<Queue>(text);
    there_and_back::<Probability>(text);
    there_and_back::<Profile>(text);
    there_and_back::<Filter>(text);
    match parse_time(text) {
        Ok(TimeMark::At(at)) => {
            let printed = format_time(TimeMark::At(at));
            assert_eq!(parse_time(&printed), Ok(TimeMark::At(at)));
        }
        Ok(TimeMark::AfterStart(_)) => {}
        Err(error) => one_line(text, &error),
    }
    if let Ok(rules) = text.parse::<DropRules>() {
        let lengths = DataSegments { up: Some(0), down: Some(10) };
        match rules.resolve(lengths) {
            Ok(resolved) => assert_eq!(resolved.resolve(lengths), Ok(resolved)),
            Err(error) => one_line(text, &error),
        }
    }
    match parse_duration(text) {
        // The text of times beyond a century has no nanoseconds.
        Ok(duration) if duration > CENTURY => {}
        Ok(duration) => assert_eq!(parse_duration(&format_duration(duration)), Ok(duration)),
        Err(error) => one_line(text, &error),
    }
    match parse_rate(text) {
        Ok(rate) => assert_eq!(parse_rate(&rate.to_string()), Ok(rate)),
        Err(error) => one_line(text, &error),
    }
    match LinkTrace::parse(text) {
        Ok(trace) => {
            let _ = trace.to_string();
            assert!(!trace.period().is_zero() && trace.opportunities() > 0);
        }
        Err(error) => one_line(text, &error),
    }
});
