//! Splits text into words, numbers, strings and signs, each with its place. Scripts and the code between
//! `%{` and `}%` share these tokens, but have different comments.

use crate::error::{Place, Wrong, wrong};
use std::fmt;

/// The language of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    /// Scripts. Comments are `// …`, `# …` and `/* … */`, commands are in backquotes, code is in `%{ }%`.
    Script,
    /// Python. Comments are `# …`.
    Code,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// A name.
    Word(String),
    /// A number as written: digits with at most one point, or `0x` and hexadecimal digits.
    Number(String),
    /// A text between quotes, with its escapes.
    Text(String),
    /// A command between backquotes.
    Command(String),
    /// Code between `%{` and `}%`.
    Code(String),
    /// `--name=value`, first on its line.
    Setting(String, String),
    /// `...`
    Ellipsis,
    /// Another sign.
    Sign(char),
    /// The end of the text.
    End,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(text) | Self::Number(text) => write!(f, "`{}`", short(text)),
            Self::Text(text) => write!(f, "\"{}\"", short(text)),
            Self::Command(_) => f.write_str("a command in backquotes"),
            Self::Code(_) => f.write_str("a `%{`"),
            Self::Setting(name, _) => write!(f, "`--{}`", short(name)),
            Self::Ellipsis => f.write_str("`...`"),
            Self::Sign(sign) => write!(f, "`{sign}`"),
            Self::End => f.write_str("the end of the script"),
        }
    }
}

/// A word, cut to the length that errors quote.
pub(crate) fn short(text: &str) -> String {
    const MOST: usize = 40;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    pub kind: Kind,
    pub place: Place,
    /// The place behind its last character.
    pub end: Place,
    /// Whether a backslash joins its line with the line before.
    pub joined: bool,
}

/// A `//` or `#` comment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Comment {
    pub text: String,
    pub place: Place,
    /// Whether it has its own line, before the first event.
    pub in_head: bool,
}

/// The tokens of a text, [`Kind::End`] last, and its comments.
pub(crate) struct Lexed {
    pub tokens: Vec<Token>,
    pub comments: Vec<Comment>,
}

struct Lexer<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    language: Language,
    place: Place,
    joined: bool,
    /// Whether no event has begun yet.
    in_head: bool,
    out: Lexed,
}

/// Splits `text`, whose first character is at `start`.
pub(crate) fn lex(text: &str, language: Language, start: Place) -> Result<Lexed, Wrong> {
    let mut lexer = Lexer {
        rest: text.chars().peekable(),
        language,
        place: start,
        joined: false,
        in_head: true,
        out: Lexed { tokens: Vec::new(), comments: Vec::new() },
    };
    while let Some(&c) = lexer.rest.peek() {
        lexer.token(c)?;
    }
    let place = lexer.place;
    lexer.push(Kind::End, place);
    Ok(lexer.out)
}

impl Lexer<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.next()?;
        if c == '\n' {
            self.place.line += 1;
            self.place.column = 1;
        } else {
            self.place.column += 1;
        }
        Some(c)
    }

    /// The character after the next one.
    fn second(&self) -> Option<char> {
        self.rest.clone().nth(1)
    }

    fn push(&mut self, kind: Kind, place: Place) {
        let end = self.place;
        let joined = std::mem::take(&mut self.joined);
        // An event begins with its time.
        self.in_head &= matches!(kind, Kind::Setting(..) | Kind::Command(_));
        self.out.tokens.push(Token { kind, place, end, joined });
    }

    fn take_while(&mut self, accept: impl Fn(char) -> bool) -> String {
        let mut text = String::new();
        while let Some(c) = self.rest.next_if(|&c| accept(c)) {
            self.place.column += 1;
            text.push(c);
        }
        text
    }

    fn token(&mut self, c: char) -> Result<(), Wrong> {
        let (place, second) = (self.place, self.second());
        let script = self.language == Language::Script;
        match c {
            _ if c.is_whitespace() => {
                self.next();
            }
            '\\' if !script && second == Some('\n') => {
                self.next();
                self.next();
                self.joined = true;
            }
            '#' => self.line_comment("#"),
            '/' if script && second == Some('/') => self.line_comment("//"),
            '/' if script && second == Some('*') => {
                let comment = self.until_pair('*', '/');
                comment.ok_or_else(|| Wrong::new(place, "a comment begins here and never ends, expected `*/`"))?;
            }
            '"' | '\'' if c == '"' || !script => {
                let text = self.until(c, true);
                let unended = format!("a text begins here and does not end on its line, expected `{c}`");
                self.push_text(Kind::Text, place, text, &unended)?;
            }
            '`' if script => {
                let text = self.until(c, false);
                self.push_text(
                    Kind::Command,
                    place,
                    text,
                    "a command begins here and never ends, expected a backquote",
                )?;
            }
            '%' if script && second == Some('{') => {
                let text = self.until_pair('}', '%');
                self.push_text(Kind::Code, place, text, "code begins here and never ends, expected `}%`")?;
            }
            '-' if script && second == Some('-') => self.setting(place)?,
            '.' if self.ellipsis() => {
                for _ in 0..3 {
                    self.next();
                }
                self.push(Kind::Ellipsis, place);
            }
            '.' if second.is_some_and(|c| c.is_ascii_digit()) => self.number(place),
            '0'..='9' => self.number(place),
            _ if c.is_alphabetic() || c == '_' => {
                let word = self.take_while(|c| c.is_alphanumeric() || c == '_');
                self.push(Kind::Word(word), place);
            }
            _ => {
                self.next();
                self.push(Kind::Sign(c), place);
            }
        }
        Ok(())
    }

    fn ellipsis(&self) -> bool {
        self.rest.clone().take(3).filter(|&c| c == '.').count() == 3
    }

    fn line_comment(&mut self, begin: &str) {
        let place = self.place;
        let text = self.take_while(|c| c != '\n');
        let text = text.strip_prefix(begin).unwrap_or(&text);
        let before = self.out.tokens.last();
        let own_line = before.is_none_or(|before| before.end.line < place.line);
        self.out.comments.push(Comment { text: text.trim().into(), place, in_head: self.in_head && own_line });
    }

    /// Text behind this character, up to the next `close` on the same line or on any; a backslash and the character
    /// behind it do not end it.
    fn until(&mut self, close: char, one_line: bool) -> Option<String> {
        self.next();
        let mut text = String::new();
        while let Some(c) = self.next() {
            match c {
                _ if c == close => return Some(text),
                '\n' if one_line => break,
                '\\' => {
                    text.push(c);
                    text.extend(self.next());
                }
                _ => text.push(c),
            }
        }
        None
    }

    /// Text behind the next two characters, up to `first` and `second` in a row.
    fn until_pair(&mut self, first: char, second: char) -> Option<String> {
        self.next();
        self.next();
        let mut text = String::new();
        while let Some(c) = self.next() {
            if c == first && self.rest.peek() == Some(&second) {
                self.next();
                return Some(text);
            }
            text.push(c);
        }
        None
    }

    fn push_text(
        &mut self,
        kind: fn(String) -> Kind,
        place: Place,
        text: Option<String>,
        unended: &str,
    ) -> Result<(), Wrong> {
        self.push(kind(text.ok_or_else(|| Wrong::new(place, unended))?), place);
        Ok(())
    }

    /// `--name` or `--name=value`; a value ends with white space unless it is quoted.
    fn setting(&mut self, place: Place) -> Result<(), Wrong> {
        self.next();
        self.next();
        let name = self.take_while(|c| c.is_alphanumeric() || c == '_' || c == '-');
        let mut value = String::new();
        if self.rest.peek() == Some(&'=') {
            self.next();
            value = self.take_while(|c| !c.is_whitespace());
        }
        if name.is_empty() {
            return wrong(place, "expected an option's name after `--`");
        }
        self.push(Kind::Setting(name, value), place);
        Ok(())
    }

    fn number(&mut self, place: Place) {
        let mut text = self.take_while(|c| c.is_ascii_digit());
        if text == "0" && matches!(self.rest.peek(), Some('x' | 'X')) {
            text.extend(self.next());
            text += &self.take_while(|c| c.is_ascii_alphanumeric());
        } else if self.rest.peek() == Some(&'.') && self.second().is_some_and(|c| c.is_ascii_digit()) {
            text.extend(self.next());
            text += &self.take_while(|c| c.is_ascii_digit());
        }
        self.push(Kind::Number(text), place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str, language: Language) -> Vec<String> {
        let start = Place { line: 1, column: 1 };
        let lexed = lex(text, language, start).expect("a text that can be split");
        lexed.tokens.iter().map(|t| format!("{}@{}", t.kind, t.place)).collect()
    }

    #[test]
    fn text_is_split_into_tokens_with_places() {
        let cases: [(&str, &[&str]); 7] = [
            ("0...0.2", &["`0`@1:1", "`...`@1:2", "`0.2`@1:5"]),
            ("+.1~ +0.25", &["`+`@1:1", "`.1`@1:2", "`~`@1:4", "`+`@1:6", "`0.25`@1:7"]),
            (
                "> P. 1:2(1)",
                &["`>`@1:1", "`P`@1:3", "`.`@1:4", "`1`@1:6", "`:`@1:7", "`2`@1:8", "`(`@1:9", "`1`@1:10", "`)`@1:11"],
            ),
            ("a // b\n # c\n/* d\n*/ e", &["`a`@1:1", "`e`@4:4"]),
            ("--mss=1000 // x\n0x1F", &["`--mss`@1:1", "`0x1F`@2:1"]),
            ("`ls\nls` %{ a } b }%", &["a command in backquotes@1:1", "a `%{`@2:5"]),
            ("\"a\\\"b\" 1", &["\"a\\\"b\"@1:1", "`1`@1:8"]),
        ];
        for (text, expected) in cases {
            let mut got = kinds(text, Language::Script);
            let end = got.pop();
            assert!(end.is_some_and(|end| end.starts_with("the end")), "{text}");
            assert_eq!(got, expected, "{text}");
        }
        assert_eq!(kinds("7 // 2 # c", Language::Code).len(), 5, "`//` divides in code");
    }

    #[test]
    fn an_unterminated_token_is_reported_at_its_start() {
        for (text, place) in [("a\n /* b", "2:2"), ("`x", "1:1"), ("\n%{ }", "2:1"), ("\"x\n\"", "1:1")] {
            let wrong = lex(text, Language::Script, Place { line: 1, column: 1 }).err();
            assert_eq!(wrong.expect("an error").place.to_string(), place, "{text}");
        }
    }
}
