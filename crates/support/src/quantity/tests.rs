use super::*;

#[test]
fn durations_are_parsed_and_formatted() {
    for (text, nanos, printed) in [
        ("80ms", 80_000_000, "80ms"),
        ("1.5s", 1_500_000_000, "1500ms"),
        ("0.5 ms", 500_000, "500us"),
        ("1s 500ms", 1_500_000_000, "1500ms"),
        ("2min", 120_000_000_000, "120s"),
        ("0", 0, "0ms"),
        ("7ns", 7, "7ns"),
    ] {
        let d = parse_duration(text).unwrap();
        assert_eq!(d, Duration::from_nanos(nanos), "{text}");
        assert_eq!(format_duration(d), printed);
        assert_eq!(parse_duration(printed), Ok(d));
    }
    for text in
        ["", "80", "-5ms", "ms", "1.2.3ms", "5 parsecs", "10:00:00", "nan s", "1e400s", "018446744073709551615.7s0.3s0"]
    {
        let error = parse_duration(text).unwrap_err();
        assert!(error.contains(&format!("`{text}` is not a duration")), "{error}");
    }
    assert!(parse_duration("-5ms").unwrap_err().contains("not negative"));
}

#[test]
fn durations_are_at_most_a_day() {
    assert!(parse_duration("86400s").is_ok());
    for text in ["86401s", "1000000h", "07370955161508.80s"] {
        let error = parse_duration(text).unwrap_err();
        assert!(error.contains("at most a day"), "{error}");
    }
}

#[test]
fn rates_are_parsed() {
    for (text, bits) in [
        ("10Mbit", 10_000_000),
        ("1.2Mbit/s", 1_200_000),
        ("64kbit", 64_000),
        ("1Gbit", 1_000_000_000),
        ("9600 bit", 9600),
    ] {
        assert_eq!(parse_rate(text).unwrap().bits_per_second(), bits, "{text}");
    }
    for text in ["", "0", "0Mbit", "-1Mbit", "10", "10MB", "Mbit", "1e3Mbit", "99999999Gbit"] {
        assert!(parse_rate(text).is_err(), "{text}");
    }
    assert!(parse_rate("0").unwrap_err().contains("above zero"));
}

const ANY: RangeInclusive<Factor> = Factor(0)..=Factor::MAX;

#[test]
fn factors_are_exact_in_millionths() {
    for (text, millionths, printed) in [
        ("0", 0, "0"),
        ("2", 2_000_000, "2"),
        ("1.50", 1_500_000, "1.5"),
        (" .5", 500_000, "0.5"),
        ("1/8", 125_000, "0.125"),
        ("5/4", 1_250_000, "1.25"),
        ("3/3", 1_000_000, "1"),
        ("0.000001", 1, "0.000001"),
        ("0.1250000000", 125_000, "0.125"),
        ("1000", 1_000_000_000, "1000"),
        ("999.999999", 999_999_999, "999.999999"),
    ] {
        let factor = parse_factor(text, ANY).unwrap();
        assert_eq!(factor.0, millionths, "{text}");
        assert_eq!(factor.to_string(), printed);
        assert_eq!(parse_factor(printed, ANY), Ok(factor));
    }
    for text in [
        "",
        "-1",
        "+1",
        "1e3",
        "1.",
        ".",
        "1/0",
        "/8",
        "1/",
        "1/-8",
        "0.5/2",
        "1/8/2",
        "1.2.3",
        "1000.000001",
        "1001",
        "2000/1",
        "4x",
        "NaN",
        "inf",
        "٣",
        "1 / 8",
        "99999999999999999999999999",
    ] {
        let error = parse_factor(text, ANY).unwrap_err();
        let expected = format!("`{text}`: expected a number from 0 to 1000, such as 0.5 or 1/8");
        assert_eq!(error, expected);
    }
    let weight = |text| parse_factor(text, Factor(1)..=Factor::ONE);
    assert_eq!(weight("1"), Ok(Factor::ONE));
    for text in ["0", "1/2000000", "1.000001", "2"] {
        assert!(weight(text).unwrap_err().contains(" from 0.000001 to 1,"));
    }
    for (text, near) in [("1/3", "0.333333"), ("0.1234567", "0.123456")] {
        let expected = format!("`{text}` is not exact in millionths: expected a number such as {near}");
        assert_eq!(parse_factor(text, ANY), Err(expected));
    }
}

#[test]
fn every_factor_reads_what_it_writes() {
    for millionths in (0..=Factor::MAX.0).step_by(99_991) {
        let factor = Factor(millionths);
        assert_eq!(parse_factor(&factor.to_string(), ANY), Ok(factor));
    }
}
