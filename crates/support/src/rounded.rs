//! Numbers as text, rounded once: `1.89`, never `1.8900000000000001`; `0.0`, never `-0.0`.

/// A number with so many decimals: `0.50`. What rounds to zero has no sign.
pub fn decimals(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(zero) if zero.chars().all(|c| matches!(c, '0' | '.')) => zero.into(),
        _ => text,
    }
}

/// A change with its sign and so many decimals: `+0.50`, `-1.00`. What rounds to zero has no sign.
pub fn change(value: f64, places: usize) -> String {
    let text = decimals(value, places);
    let is_zero = text.chars().all(|c| matches!(c, '0' | '.'));
    match value > 0.0 && !is_zero {
        true => format!("+{text}"),
        false => text,
    }
}

/// A number with at most so many significant digits, and no zeros at its end: `1.89`, `0.000123`, `20`. Digits before the
/// point all stay.
pub fn significant(value: f64, digits: u32) -> String {
    if value == 0.0 || !value.is_finite() {
        return decimals(value, 0);
    }
    let magnitude = value.abs().log10().floor() as i32;
    let places = (digits as i32 - 1 - magnitude).clamp(0, 17) as usize;
    let text = decimals(value, places);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').into(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rounds_to_zero_has_no_sign() {
        let cases = [(-0.04, "0.0"), (-0.0, "0.0"), (0.04, "0.0"), (-0.06, "-0.1"), (12.25, "12.2"), (f64::NAN, "NaN")];
        for (value, text) in cases {
            assert_eq!(decimals(value, 1), text, "{value}");
        }
        for (value, text) in [(-0.004, "0.00"), (0.004, "0.00"), (0.006, "+0.01"), (-0.006, "-0.01"), (0.0, "0.00")] {
            assert_eq!(change(value, 2), text, "{value}");
        }
        assert_eq!(decimals(-0.4, 0), "0");
    }

    #[test]
    fn significant_digits_are_rounded_once() {
        let cases = [
            (100.0 * 0.0189, "1.89"),
            (0.1 + 0.2, "0.3"),
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (20.0, "20"),
            (0.019_683, "0.0197"),
            (0.000_123_4, "0.000123"),
            (0.999_9, "1"),
            (9.999, "10"),
            (12_345.6, "12346"),
            (-2.5, "-2.5"),
            (f64::INFINITY, "inf"),
        ];
        for (value, text) in cases {
            assert_eq!(significant(value, 3), text, "{value}");
        }
    }
}
