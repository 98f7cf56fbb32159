//! Text whose font is not known: how wide it will be at most, and where to break it.

/// `text` without the characters XML 1.0 §2.2 forbids, each of which becomes U+FFFD; line breaks
/// and tabs become spaces.
pub(crate) fn printable(text: &str) -> String {
    let fit = |c: char| match c {
        '\t' | '\n' | '\r' => ' ',
        '\0'..='\x1f' | '\u{fffe}' | '\u{ffff}' => char::REPLACEMENT_CHARACTER,
        c => c,
    };
    text.chars().map(fit).collect()
}

/// The width of `text` in pixels at a font size of `size` pixels, in a wide sans-serif (DejaVu).
pub(crate) fn width(text: &str, size: i32) -> i32 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | ' ' | '(' | ')' => 0.39,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 1.0,
        '+' | '=' | '<' | '>' | '~' => 0.84,
        'A'..='Z' => 0.78,
        '\0'..='\u{24f}' => 0.64,
        // CJK and the like fill the em.
        _ => 1.0,
    };
    (text.chars().map(em).sum::<f64>() * f64::from(size)).ceil() as i32
}

/// Breaks `text` at spaces into lines of at most `room` pixels. A word that is longer stands alone
/// in its line, cut.
pub(crate) fn wrap(text: &str, size: i32, room: i32) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in printable(text).split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line, size) + width(" ", size) + width(word, size) <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(cut(word, size, room)),
        }
    }
    lines
}

/// `text`, or as much of its beginning as fits into `room` pixels with an ellipsis.
pub(crate) fn cut(text: &str, size: i32, room: i32) -> String {
    if width(text, size) <= room {
        return text.to_string();
    }
    let mut short = text.to_string();
    while short.pop().is_some() && width(&short, size) + width("…", size) > room {}
    short.push('…');
    short
}

/// Lays things of known widths out in rows no wider than `room`, `gap` apart: each row's width, and
/// what it holds with its place from the row's left.
pub(crate) fn rows<T>(
    things: impl IntoIterator<Item = (T, i32)>,
    gap: i32,
    room: i32,
) -> Vec<(i32, Vec<(T, i32)>)> {
    let mut rows: Vec<(i32, Vec<(T, i32)>)> = Vec::new();
    for (thing, width) in things {
        match rows.last_mut() {
            Some((used, row)) if *used + gap + width <= room => {
                row.push((thing, *used + gap));
                *used += gap + width;
            }
            _ => rows.push((width, vec![(thing, 0)])),
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_at_spaces_and_words_cut() {
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
    }

    #[test]
    fn what_xml_forbids_is_replaced() {
        assert_eq!(printable("a\u{1}b\u{b}\n<"), "a\u{fffd}b\u{fffd} <");
    }
}
