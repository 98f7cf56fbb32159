//! A panel as a file for xplot and xplot.org (Shepard 1991), in the form tcptrace writes.
//!
//! The first line names the types of the axes: `timeval unsigned`, or `timeval double` when sequence
//! numbers exceed the 32 bits of xplot's `unsigned`. Title, labels and marks follow. An arrow is a
//! `darrow` at its foot, a `uarrow` at its head and a `line` between. A colour's name holds until the
//! next colour's name.

use super::{Mark, MarkKind, Necessity, position, stairs, una, window};
use recoup_units::{Instant, Span};
use std::fmt::{self, Write};

/// A time with the microsecond resolution of a timeval.
struct Seconds(Instant);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.0.as_nanos() / 1000;
        write!(f, "{}.{:06}", micros / 1_000_000, micros % 1_000_000)
    }
}

// Writing to a string cannot fail, so results are ignored.
struct XplotFile(String);

impl XplotFile {
    fn line(&mut self, line: fmt::Arguments<'_>) {
        self.0.write_fmt(line).ok();
        self.0.push('\n');
    }

    /// Writes a line of text, in ASCII because xplot knows nothing else.
    fn text(&mut self, text: &str) {
        let plain = |c: char| match c {
            '–' | '—' | '−' => '-',
            c if c.is_ascii_graphic() || c == ' ' => c,
            c if c.is_whitespace() => ' ',
            _ => '?',
        };
        self.0.extend(text.chars().map(plain));
        self.0.push('\n');
    }

    fn arrow(&mut self, at: Instant, span: Span, colour: &str) {
        let (at, low, high) = (Seconds(at), position(span.start), position(span.end));
        self.line(format_args!("{colour}\ndarrow {at} {low}\nuarrow {at} {high}"));
        self.line(format_args!("line {at} {low} {at} {high}"));
    }

    /// Writes the steps that are not above `limit`.
    fn stairs(&mut self, steps: &[super::Step], limit: u64, colour: &str) {
        let shown = |step: &&super::Step| step.level <= limit;
        for (i, step) in steps.iter().enumerate().filter(|(_, step)| shown(step)) {
            let (from, to, level) = (Seconds(step.from), Seconds(step.to), step.level);
            self.line(format_args!("{colour}\nline {from} {level} {to} {level}"));
            if let Some(next) = steps.get(i + 1).filter(shown) {
                self.line(format_args!("line {to} {level} {to} {}", next.level));
            }
        }
    }
}

pub(super) fn write(title: &str, panel: &str, marks: &[Mark]) -> String {
    let highest = marks.iter().filter(|mark| mark.kind.is_on_axis()).map(|mark| mark.kind.range().1).max();
    // xplot first shows everything: a window far above the data would flatten the data.
    let limit = highest.map_or(0, position).saturating_mul(2);
    let exceeds_u32 = limit > u32::MAX.into();
    let mut file = XplotFile(String::new());
    file.text(if exceeds_u32 { "timeval double" } else { "timeval unsigned" });
    file.text("title");
    let both = [title, panel].map(str::trim);
    let both: Vec<&str> = both.into_iter().filter(|text| !text.is_empty()).collect();
    file.text(&both.join(": "));
    file.text("xlabel");
    file.text("time");
    file.text("ylabel");
    file.text("sequence number");
    let end = marks.iter().map(|mark| mark.at).max().unwrap_or_default();
    file.stairs(&stairs(marks, end, window), limit, "yellow");
    file.stairs(&stairs(marks, end, una), limit, "green");
    for mark in marks {
        draw(&mut file, mark);
    }
    file.text("go");
    file.0
}

/// The colour of a retransmission, and the symbol on its line.
fn colour_and_symbol(necessity: Necessity) -> (&'static str, Option<&'static str>) {
    match necessity {
        Necessity::Needed => ("red", None),
        Necessity::Spurious => ("blue", Some("plus")),
        Necessity::Unknowable => ("orange", Some("diamond")),
    }
}

fn draw(file: &mut XplotFile, mark: &Mark) {
    let at = Seconds(mark.at);
    match &mark.kind {
        MarkKind::Sent(span) => file.arrow(mark.at, *span, "white"),
        MarkKind::Retransmitted(span, trigger) => {
            file.arrow(mark.at, *span, "red");
            file.line(format_args!("atext {at} {}", position(span.end)));
            file.text(trigger.unwrap_or("R"));
        }
        MarkKind::Explained { span, trigger, necessity, .. } => {
            let (colour, symbol) = colour_and_symbol(*necessity);
            file.arrow(mark.at, *span, colour);
            let (low, high) = (position(span.start), position(span.end));
            if let Some(symbol) = symbol {
                file.line(format_args!("{symbol} {at} {}", low.midpoint(high)));
            }
            file.line(format_args!("atext {at} {high}"));
            file.text(&format!("{trigger} {}", necessity.name()));
        }
        MarkKind::ExtraCopy(span) => {
            file.arrow(mark.at, *span, "magenta");
            file.line(format_args!("atext {at} {}", position(span.end)));
            file.text("copy");
        }
        MarkKind::Sacked(span) => {
            let (low, high) = (position(span.start), position(span.end));
            file.line(format_args!("purple\nline {at} {low} {at} {high}"));
            file.line(format_args!("htick {at} {low}\nhtick {at} {high}"));
        }
        MarkKind::DuplicateAck(una) => {
            file.line(format_args!("green\ndtick {at} {}", position(*una)));
        }
        MarkKind::Control(flag, offset) => {
            file.line(format_args!("white\natext {at} {}", position(*offset)));
            file.text(flag.name());
        }
        MarkKind::Note(offset, text) => {
            file.line(format_args!("blue\natext {at} {}", position(*offset)));
            file.text(text);
        }
        // `write` draws these as stairs.
        MarkKind::Acked(_) | MarkKind::ReceiveWindow(_) => {}
    }
}
