use alloc::borrow::Cow;
use alloc::string::String;

/// The text with escapes such as `\u{1b}` for characters that act where they are shown: control characters (C0, DEL and
/// C1), line and paragraph separators, and marks that change the direction of text (Unicode Standard Annex #9, section
/// 2). Names of files and captures may hold any of them, and a terminal, a line of a file or a page obeys them.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match acts(c) {
            true => shown.extend(c.escape_unicode()),
            false => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_act_are_escaped() {
        for (text, shown) in [
            ("server-1.pcap", "server-1.pcap"),
            ("Übertragung größer.pcap", "Übertragung größer.pcap"),
            ("a\u{1b}[31mb", "a\\u{1b}[31mb"),
            ("a\nb\r\t", "a\\u{a}b\\u{d}\\u{9}"),
            ("\u{9b}2J\u{7f}", "\\u{9b}2J\\u{7f}"),
            ("gpj.\u{202e}pacp\u{2066}\u{2028}", "gpj.\\u{202e}pacp\\u{2066}\\u{2028}"),
        ] {
            assert_eq!(visible(text), shown);
        }
    }
}
