//! Files for xplot and xplot.org (Shepard 1991), as tcptrace writes them.
//!
//! A line names the axes' types, `timeval unsigned` (`double` where sequence numbers outgrow the 32
//! bits of xplot's `unsigned`), then come title, labels and marks: an arrow is `darrow` at its foot,
//! `uarrow` at its head and a `line` between, and a colour's name holds until the next.

use super::{Mark, Necessity, What, position, stairs, una, window};
use recoup_units::{Instant, Span};
use std::fmt::{self, Write};

/// A time as seconds and microseconds, which is all a timeval holds.
struct Time(Instant);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.0.as_nanos() / 1000;
        write!(f, "{}.{:06}", micros / 1_000_000, micros % 1_000_000)
    }
}

// Writing to a string cannot fail: results are dropped.
struct File(String);

impl File {
    fn line(&mut self, line: fmt::Arguments<'_>) {
        self.0.write_fmt(line).ok();
        self.0.push('\n');
    }

    /// A word or line of the file's own: xplot knows ASCII alone.
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
        let (at, low, high) = (Time(at), position(span.start), position(span.end));
        self.line(format_args!(
            "{colour}\ndarrow {at} {low}\nuarrow {at} {high}"
        ));
        self.line(format_args!("line {at} {low} {at} {high}"));
    }

    /// Stairs, as far as they are not above `limit`.
    fn stairs(&mut self, steps: &[super::Step], limit: u64, colour: &str) {
        let shown = |step: &&super::Step| step.level <= limit;
        for (i, step) in steps.iter().enumerate().filter(|(_, step)| shown(step)) {
            let (from, to, level) = (Time(step.from), Time(step.to), step.level);
            self.line(format_args!("{colour}\nline {from} {level} {to} {level}"));
            if let Some(next) = steps.get(i + 1).filter(shown) {
                self.line(format_args!("line {to} {level} {to} {}", next.level));
            }
        }
    }
}

/// One panel's marks as a file.
pub(super) fn write(title: &str, panel: &str, marks: &[Mark]) -> String {
    let highest = marks.iter().filter_map(|mark| mark.what.highest()).max();
    // A window far above everything sent would press that flat: xplot shows all there is at first.
    let limit = highest.map_or(0, position).saturating_mul(2);
    let wide = limit > u32::MAX.into();
    let mut file = File(String::new());
    file.text(if wide {
        "timeval double"
    } else {
        "timeval unsigned"
    });
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

/// The colour of a retransmission, and the shape on its line.
fn judged(necessity: Necessity) -> (&'static str, Option<&'static str>) {
    match necessity {
        Necessity::Needed => ("red", None),
        Necessity::Spurious => ("blue", Some("plus")),
        Necessity::Unknowable => ("orange", Some("diamond")),
    }
}

fn draw(file: &mut File, mark: &Mark) {
    let at = Time(mark.at);
    match &mark.what {
        What::Sent(span) => file.arrow(mark.at, *span, "white"),
        What::Again(span, trigger) => {
            file.arrow(mark.at, *span, "red");
            file.line(format_args!("atext {at} {}", position(span.end)));
            file.text(trigger.map_or("R", |trigger| trigger.name()));
        }
        What::Judged {
            span,
            trigger,
            necessity,
        } => {
            let (colour, shape) = judged(*necessity);
            file.arrow(mark.at, *span, colour);
            let (low, high) = (position(span.start), position(span.end));
            if let Some(shape) = shape {
                file.line(format_args!("{shape} {at} {}", low.midpoint(high)));
            }
            file.line(format_args!("atext {at} {high}"));
            file.text(&format!("{trigger} {}", necessity.name()));
        }
        What::Copy(span) => {
            file.arrow(mark.at, *span, "magenta");
            file.line(format_args!("atext {at} {}", position(span.end)));
            file.text("copy");
        }
        What::Sacked(span) => {
            let (low, high) = (position(span.start), position(span.end));
            file.line(format_args!("purple\nline {at} {low} {at} {high}"));
            file.line(format_args!("htick {at} {low}\nhtick {at} {high}"));
        }
        What::Duplicate(una) => {
            file.line(format_args!("green\ndtick {at} {}", position(*una)));
        }
        What::Note(offset, text) => {
            file.line(format_args!("blue\natext {at} {}", position(*offset)));
            file.text(text);
        }
        // Drawn as stairs.
        What::Acked(_) | What::Window(_) => {}
    }
}
