//! Parses scripts.
//!
//! ```text
//! script  = option* [`commands`] event+ [`commands`]    option: --name=value
//! event   = time (packet | call | `commands` | %{ code }%)
//! time    = 0.1 | +0.1 | 0.1~0.2 | +0.1~+0.2 | +1.8x~+2.2x | *
//! packet  = < packet | > packet [or packet]… | > optional packet
//! ```
//! The language is packetdrill's (github.com/google/packetdrill), as far as its TCP scripts use it. Parts
//! that cannot have an effect here give notes. Unsupported parts that would change the meaning are errors.

mod call;
mod head;
pub(crate) use head::LEAST_MSS;
mod packet;

use crate::{
    code,
    error::{Place, ScriptError, Wrong, wrong},
    lex::{Kind, Language, Lexed, Token, lex},
    script::{Action, Event, Head, Note, Script, Time},
    shell,
};
use std::{collections::HashSet, time::Duration};

/// The latest time accepted in a script.
const LONGEST: Duration = Duration::from_secs(1_000_000);

impl Script {
    /// Parses a script; messages call it `name`.
    ///
    /// # Errors
    /// When the text is not valid, or asks for something that is not supported. The error has the place,
    /// and what was expected.
    pub fn parse(name: &str, text: &str) -> Result<Self, ScriptError> {
        parse(text)
            .map(|parsed| Self { name: name.into(), lines: text.lines().map(Into::into).collect(), ..parsed })
            .map_err(|wrong| wrong.in_script(name))
    }
}

fn parse(text: &str) -> Result<Script, Wrong> {
    let Lexed { tokens, comments } = lex(text, Language::Script, Place { line: 1, column: 1 })?;
    let mut parser = Parser { tokens, at: 0, head: Head::default(), notes: Vec::new(), assigned: HashSet::new() };
    parser.comments(&comments)?;
    parser.settings()?;
    let mut events = Vec::new();
    if let Some(event) = parser.untimed_command() {
        events.push(event);
    }
    let mut has_event = false;
    while parser.kind() != &Kind::End {
        match parser.untimed_command() {
            // Commands that clean up are at the very end, without a time.
            Some(event) if parser.kind() == &Kind::End => events.push(event),
            Some(event) => {
                return wrong(
                    event.place,
                    "expected a time before this command (`+0`, `0.100`, `*`): only the \
                               first and the last need none",
                );
            }
            None => {
                events.push(parser.event()?);
                has_event = true;
            }
        }
    }
    // Commands without events test nothing.
    if !has_event {
        return wrong(
            parser.place(),
            "the script has no event, expected at least one, \
                       such as `0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3`",
        );
    }
    Ok(Script { name: String::new(), lines: Vec::new(), head: parser.head, events, notes: parser.notes })
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    head: Head,
    notes: Vec<Note>,
    /// The names that code has assigned so far.
    assigned: HashSet<String>,
}

impl Parser {
    fn token(&self) -> &Token {
        // The last token is the end, which is never consumed.
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn kind(&self) -> &Kind {
        &self.token().kind
    }

    fn place(&self) -> Place {
        self.token().place
    }

    fn advance(&mut self) -> Token {
        let token = self.token().clone();
        if token.kind != Kind::End {
            self.at += 1;
        }
        token
    }

    /// Consumes the next token if it is this sign.
    fn take(&mut self, sign: char) -> bool {
        let is = self.kind() == &Kind::Sign(sign);
        if is {
            self.at += 1;
        }
        is
    }

    /// Consumes the next token if it is this word.
    fn take_word(&mut self, word: &str) -> bool {
        let is = matches!(self.kind(), Kind::Word(w) if w == word);
        if is {
            self.at += 1;
        }
        is
    }

    fn expect(&mut self, sign: char, after: &str) -> Result<(), Wrong> {
        if self.take(sign) {
            return Ok(());
        }
        Err(self.expected(&format!("`{sign}` after {after}")))
    }

    /// An error at the next token, or at the end of the last token's line if the next is on another line.
    fn expected(&self, what: &str) -> Wrong {
        let token = self.token();
        let before = self.at.checked_sub(1).and_then(|i| self.tokens.get(i));
        match before {
            Some(before) if before.end.line < token.place.line || token.kind == Kind::End => {
                Wrong::new(before.end, format!("expected {what}, found the end of the line"))
            }
            _ => Wrong::new(token.place, format!("expected {what}, found {}", token.kind)),
        }
    }

    /// Whether this token follows the last without white space.
    fn adjacent(&self) -> bool {
        let before = self.at.checked_sub(1).and_then(|i| self.tokens.get(i));
        before.is_some_and(|before| before.end == self.place())
    }

    fn note(&mut self, place: Place, text: impl Into<String>) {
        self.notes.push(Note::without_effect(place.line, text));
    }

    /// An unsigned number of at most `most`.
    fn number(&mut self, what: &str, most: u64) -> Result<u64, Wrong> {
        let Kind::Number(text) = self.kind() else {
            return Err(self.expected(what));
        };
        match integer(text).and_then(|n| u64::try_from(n).ok()) {
            Some(n) if n <= most => {
                self.at += 1;
                Ok(n)
            }
            _ => wrong(self.place(), format!("expected {what}, a whole number up to {most}, found {}", self.kind())),
        }
    }

    fn number_u32(&mut self, what: &str) -> Result<u32, Wrong> {
        let n = self.number(what, u64::from(u32::MAX))?;
        Ok(n as u32)
    }

    fn number_u16(&mut self, what: &str) -> Result<u16, Wrong> {
        let n = self.number(what, u64::from(u16::MAX))?;
        Ok(n as u16)
    }

    /// Commands without a time.
    fn untimed_command(&mut self) -> Option<Event> {
        let Kind::Command(text) = self.kind().clone() else {
            return None;
        };
        let place = self.advance().place;
        let action = Action::Shell(shell::split(&text, place));
        let time = Time::After(Duration::ZERO);
        Some(Event { place, time, action })
    }

    fn event(&mut self) -> Result<Event, Wrong> {
        let place = self.place();
        let time = self.time()?;
        let action = match self.kind().clone() {
            Kind::Sign('<') => {
                self.at += 1;
                Action::Receive(self.packet(packet::Direction::In)?)
            }
            Kind::Sign('>') => {
                self.at += 1;
                self.outgoing()?
            }
            Kind::Command(text) => Action::Shell(shell::split(&text, self.advance().place)),
            Kind::Code(text) => {
                let at = self.advance().place;
                let statements = code::parse(&text, at)?;
                code::check(&statements, &mut self.assigned)?;
                Action::Code(statements)
            }
            Kind::Word(_) | Kind::Ellipsis => Action::Call(self.call(time)?),
            _ => {
                let what = "a packet (`<` in, `>` out), a system call, `commands` or %{ code }%";
                return Err(self.expected(what));
            }
        };
        Ok(Event { place, time, action })
    }

    /// What stands behind `>`.
    fn outgoing(&mut self) -> Result<Action, Wrong> {
        if self.take_word("optional") {
            return Ok(Action::Allow(self.packet(packet::Direction::Out)?));
        }
        let first = self.packet(packet::Direction::Out)?;
        let mut packets = vec![first];
        while self.take_word("or") {
            packets.push(self.packet(packet::Direction::Out)?);
        }
        Ok(match <[_; 1]>::try_from(packets) {
            Ok([packet]) => Action::Send(packet),
            Err(packets) => Action::SendOneOf(packets),
        })
    }

    fn time(&mut self) -> Result<Time, Wrong> {
        if self.take('*') {
            return Ok(Time::Any);
        }
        let relative = self.take('+');
        let from = self.duration("a time (`+0.1`, `0.100`, `0.1~0.2`, `*`)")?;
        let multiple = relative && self.adjacent() && self.take_word("x");
        if !self.take('~') {
            if multiple {
                return Err(self.expected("`~` and the end of the range, as in `+1.8x~+2.2x`"));
            }
            return Ok(if relative { Time::After(from) } else { Time::At(from) });
        }
        let place = self.place();
        let also_relative = self.take('+');
        if also_relative != relative {
            let message = if relative {
                "expected `+` before the end of a relative range, as in `+0~+0.1`"
            } else {
                "expected the end of the range without `+`, as in `0.1~0.2`"
            };
            return wrong(place, message);
        }
        let to = self.duration("the end of the range of times")?;
        if to < from {
            return wrong(place, "a range of times ends before it begins");
        }
        if multiple {
            let millionths = |factor: Duration| u64::try_from(factor.as_micros()).unwrap_or(u64::MAX);
            return match self.adjacent() && self.take_word("x") {
                true => Ok(Time::Multiples(millionths(from), millionths(to))),
                false => Err(self.expected("`x` after the end of a range of multiples, as in `+1.8x~+2.2x`")),
            };
        }
        Ok(if relative { Time::AfterBetween(from, to) } else { Time::Between(from, to) })
    }

    /// Seconds, with at most six decimals.
    fn duration(&mut self, what: &str) -> Result<Duration, Wrong> {
        let Kind::Number(text) = self.kind() else {
            return Err(self.expected(what));
        };
        let micros = micros(text).filter(|&n| Duration::from_micros(n) <= LONGEST);
        let Some(micros) = micros else {
            return wrong(
                self.place(),
                format!(
                    "expected seconds with at most six decimals, up to {}, found {}",
                    LONGEST.as_secs(),
                    self.kind()
                ),
            );
        };
        self.at += 1;
        Ok(Duration::from_micros(micros))
    }
}

/// A whole number, decimal or hexadecimal.
pub(crate) fn integer(text: &str) -> Option<i64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => i64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

fn micros(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.len() > 6 {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let fraction: u64 = format!("{fraction:0<6}").parse().ok()?;
    whole.checked_mul(1_000_000)?.checked_add(fraction)
}

#[cfg(test)]
mod tests;
