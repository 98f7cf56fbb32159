//! Estimates the width of text in an unknown font, and breaks text into lines.

/// `text` with U+FFFD for each character that XML 1.0 §2.2 forbids, and spaces for line breaks and
/// tabs.
pub(crate) fn printable(text: &str) -> String {
    let fit = |c: char| match c {
        '\t' | '\n' | '\r' => ' ',
        '\0'..='\x1f' | '\u{fffe}' | '\u{ffff}' => char::REPLACEMENT_CHARACTER,
        c => c,
    };
    text.chars().map(fit).collect()
}

/// `text` as [`printable`] makes it, but with its line breaks.
pub(crate) fn printable_lines(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(printable).collect();
    lines.join("\n")
}

/// A number with four significant digits, or all digits before the point.
pub(crate) fn four_digits(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        size if (1000.0..1e12).contains(&size) => format!("{value:.0}"),
        size if (1e-4..1000.0).contains(&size) => {
            let rounded: f64 = format!("{value:.3e}").parse().unwrap_or(value);
            rounded.to_string()
        }
        _ => format!("{value:.3e}"),
    }
}

/// The width of `text` in pixels at a font size of `size` pixels. It is that of DejaVu Sans, which is
/// wider than most sans-serif fonts.
pub(crate) fn width(text: &str, size: i32) -> i32 {
    pixels(text.chars().map(em).sum(), size)
}

/// The width of a character in em.
const fn em(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | ' ' | '(' | ')' => 0.39,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 1.0,
        '+' | '=' | '<' | '>' | '~' => 0.84,
        'A'..='Z' => 0.78,
        '\0'..='\u{24f}' => 0.64,
        // CJK characters are one em wide.
        _ => 1.0,
    }
}

fn pixels(ems: f64, size: i32) -> i32 {
    (ems * f64::from(size)).ceil() as i32
}

/// Breaks `text` at spaces into lines of at most `max_width` pixels. A longer word gets a line of its
/// own and is cut.
pub(crate) fn wrap(text: &str, size: i32, max_width: i32) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in printable(text).split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line, size) + width(" ", size) + width(word, size) <= max_width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(cut(word, size, max_width)),
        }
    }
    lines
}

/// `text`, or as much of its beginning as fits into `max_width` pixels with an ellipsis.
pub(crate) fn cut(text: &str, size: i32, max_width: i32) -> String {
    if width(text, size) <= max_width {
        return text.to_string();
    }
    let room = max_width - width("…", size);
    let (mut ems, mut end) = (0.0, 0);
    for (at, c) in text.char_indices() {
        if pixels(ems, size) > room {
            break;
        }
        end = at;
        ems += em(c);
    }
    format!("{}…", &text[..end])
}

/// Lays items of known widths out in rows of at most `max_width` pixels, with `gap` pixels between
/// items. Returns each row's width, and its items with their distances from the row's left end.
pub(crate) fn layout_rows<T>(
    items: impl IntoIterator<Item = (T, i32)>,
    gap: i32,
    max_width: i32,
) -> Vec<(i32, Vec<(T, i32)>)> {
    let mut rows: Vec<(i32, Vec<(T, i32)>)> = Vec::new();
    for (item, width) in items {
        match rows.last_mut() {
            Some((used, row)) if *used + gap + width <= max_width => {
                row.push((item, *used + gap));
                *used += gap + width;
            }
            _ => rows.push((width, vec![(item, 0)])),
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces_and_long_words_are_cut() {
        let cases: [(&str, i32, &[&str]); 6] = [
            // At 10 px a letter such as `a` is 6.4 px wide, a space 3.9.
            ("", 100, &[]),
            ("aaa bbb", 100, &["aaa bbb"]),
            ("aaa bbb", 44, &["aaa bbb"]),
            ("aaa bbb", 43, &["aaa", "bbb"]),
            ("aaa\tb\nb", 100, &["aaa b b"]),
            ("aaaaaaaaaa b", 40, &["aaaa…", "b"]),
        ];
        for (text, room, lines) in cases {
            assert_eq!(wrap(text, 10, room), lines, "{text:?} in {room} px");
        }
        assert_eq!(wrap("aaa", 10, 5), ["…"]);
        // In a time that does not grow with the square of the length.
        assert_eq!(wrap(&"a".repeat(1 << 20), 10, 40), ["aaaa…"]);
    }

    #[test]
    fn values_have_four_digits() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (0.846_153, "0.8462"),
            (-0.25, "-0.25"),
            (123.456, "123.5"),
            (123_456.7, "123457"),
            (0.000_123_456, "0.0001235"),
            (1.5e-7, "1.500e-7"),
            (3e300, "3.000e300"),
        ] {
            assert_eq!(four_digits(value), text);
        }
    }

    #[test]
    fn characters_forbidden_in_xml_are_replaced() {
        assert_eq!(printable("a\u{1}b\u{b}\n<"), "a\u{fffd}b\u{fffd} <");
    }
}
