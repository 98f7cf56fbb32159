//! Marks as shapes in whole pixels. What would cover another shape of its kind exactly is left out,
//! so that a long capture's picture grows with the pixels, not with the packets.

use super::axis::Axis;
use super::ink::{BLUE, Ink, Shape, tick};
use super::{Mark, What, position, stairs, una, window};
use crate::canvas::{Align, Canvas, Colour, Style};
use crate::text::{cut, width};
use recoup_units::{Instant, Offset, Span};
use std::collections::HashSet;
use std::ops::Range;

/// The text beside a mark.
const NOTE: Style = Style {
    size: 11,
    bold: false,
    align: Align::Right,
    upright: false,
};
/// A retransmission's arrow is true to scale down to this height, in pixels. In a picture of more
/// data it would be a speck: there it has a height to be seen.
const LEGIBLE: i32 = 8;
const SEEN: i32 = 12;
/// A label of a trigger holds for retransmissions of the same within so many pixels.
const LABEL_HOLDS: i32 = 60;
/// The longest text beside a mark, in pixels.
const NOTE_ROOM: i32 = 220;

/// A panel's axes and frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plot {
    pub left: i32,
    pub right: i32,
    pub top: i32,
    pub bottom: i32,
    pub time: Axis,
    pub sequence: Axis,
}

impl Plot {
    fn x(&self, at: Instant) -> i32 {
        self.time.pixel(at.as_nanos())
    }

    fn y(&self, offset: Offset) -> i32 {
        self.sequence.pixel(position(offset))
    }
}

/// Draws the marks of one panel.
pub(super) struct Painter<'a, 'c> {
    canvas: &'a Canvas<'c>,
    plot: &'a Plot,
    drawn: HashSet<Shape>,
    taken: Taken,
}

/// How a text beside a mark is set.
#[derive(Clone, Copy, Debug)]
struct Label {
    colour: Colour,
    /// From the middle of the mark, in pixels.
    from: i32,
}

impl Label {
    const NOTE: Self = Self {
        colour: BLUE,
        from: 4,
    };

    fn of(ink: Ink) -> Self {
        Self {
            colour: ink.colour(),
            from: ink.reach() + 1,
        }
    }
}

/// The pixels of a plot that something is drawn on: text keeps off them.
struct Taken {
    corner: (i32, i32),
    width: usize,
    height: usize,
    pixels: Vec<bool>,
}

impl Taken {
    fn nothing_of(plot: &Plot) -> Self {
        let side = |low: i32, high: i32| usize::try_from(high - low).unwrap_or(0);
        let (width, height) = (side(plot.left, plot.right), side(plot.top, plot.bottom));
        Self {
            corner: (plot.left, plot.top),
            width,
            height,
            pixels: vec![false; width * height],
        }
    }

    /// The part of a box inside the plot, as columns and rows.
    fn inside(&self, from: (i32, i32), to: (i32, i32)) -> (Range<usize>, Range<usize>) {
        let within =
            |at: i32, zero: i32, size: usize| usize::try_from(at - zero).unwrap_or(0).min(size);
        let columns = |at: (i32, i32)| within(at.0, self.corner.0, self.width);
        let rows = |at: (i32, i32)| within(at.1, self.corner.1, self.height);
        (columns(from)..columns(to), rows(from)..rows(to))
    }

    fn take(&mut self, from: (i32, i32), to: (i32, i32)) {
        let (columns, rows) = self.inside(from, to);
        for row in rows {
            let row = row * self.width;
            self.pixels[row + columns.start..row + columns.end].fill(true);
        }
    }

    /// Whether a box lies inside the plot and on nothing.
    fn is_free(&self, from: (i32, i32), to: (i32, i32)) -> bool {
        let (columns, rows) = self.inside(from, to);
        let size = |low: i32, high: i32| usize::try_from(high - low).unwrap_or(0);
        columns.len() == size(from.0, to.0)
            && rows.len() == size(from.1, to.1)
            && rows.into_iter().all(|row| {
                let row = row * self.width;
                !self.pixels[row + columns.start..row + columns.end].contains(&true)
            })
    }
}

impl<'a, 'c> Painter<'a, 'c> {
    pub fn new(canvas: &'a Canvas<'c>, plot: &'a Plot) -> Self {
        Self {
            canvas,
            plot,
            drawn: HashSet::new(),
            taken: Taken::nothing_of(plot),
        }
    }

    /// All of them: what came back first, what was sent over it, text last.
    pub fn paint(mut self, marks: &[Mark]) {
        let end = marks.iter().map(|mark| mark.at).max().unwrap_or_default();
        self.stairs(Ink::Window, &stairs(marks, end, window));
        for mark in marks {
            if let What::Sacked(span) = mark.what {
                let (x, top, bottom) = self.place(mark.at, span);
                self.draw(Shape::upright(Ink::Sack, x, top, bottom));
            }
        }
        self.stairs(Ink::Una, &stairs(marks, end, una));
        for mark in marks {
            match mark.what {
                What::Duplicate(una) => self.tick(mark.at, una),
                // A SYN alone would be a speck.
                What::Sent(span) if span.end > Offset::DATA => self.arrow(Ink::Data, mark.at, span),
                _ => {}
            }
        }
        for mark in marks {
            match mark.what {
                What::Again(span, _) => self.arrow(Ink::Again, mark.at, span),
                What::Judged {
                    span, necessity, ..
                } => {
                    self.arrow(Ink::Judged(necessity), mark.at, span);
                }
                What::Copy(span) if span.end > Offset::DATA => {
                    self.arrow(Ink::Copy, mark.at, span);
                }
                _ => {}
            }
        }
        self.texts(marks);
    }

    fn place(&self, at: Instant, span: Span) -> (i32, i32, i32) {
        let x = self.plot.x(at);
        (x, self.plot.y(span.end), self.plot.y(span.start))
    }

    /// Draws a shape unless it is there.
    fn draw(&mut self, shape: Shape) {
        if self.drawn.insert(shape) {
            self.taken.take(shape.from, shape.to);
            shape.draw(self.canvas);
        }
    }

    fn stairs(&mut self, ink: Ink, steps: &[super::Step]) {
        for (i, step) in steps.iter().enumerate() {
            if !self.plot.sequence.shows(step.level) {
                continue;
            }
            let (left, right) = (self.plot.x(step.from), self.plot.x(step.to));
            let y = self.plot.sequence.pixel(step.level);
            self.draw(Shape::level(ink, left, right, y));
            let next = steps.get(i + 1);
            if let Some(next) = next.filter(|next| self.plot.sequence.shows(next.level)) {
                let next = self.plot.sequence.pixel(next.level);
                self.draw(Shape::upright(ink, right, y.min(next), y.max(next) + 1));
            }
        }
    }

    fn tick(&mut self, at: Instant, una: Offset) {
        let (x, y) = (self.plot.x(at), self.plot.y(una));
        let shape = Shape {
            ink: Ink::Duplicate,
            from: (x, y),
            to: (x + 1, y + 6),
        };
        if self.drawn.insert(shape) {
            self.taken.take(shape.from, shape.to);
            tick(self.canvas, x, y, Ink::Duplicate.colour());
        }
    }

    fn arrow(&mut self, ink: Ink, at: Instant, span: Span) {
        let (x, mut top, mut bottom) = self.place(at, span);
        if ink != Ink::Data && bottom - top < LEGIBLE {
            top = (top + bottom - SEEN) / 2;
            bottom = top + SEEN;
        }
        if self.drawn.insert(Shape::upright(ink, x, top, bottom)) {
            let reach = ink.reach();
            let foot = bottom.max(top + 2);
            self.taken.take((x - reach, top), (x + reach + 1, foot));
            ink.arrow(self.canvas, x, top, bottom);
        }
    }

    /// The trigger of each retransmission whose predecessor had another, or another verdict, or has no
    /// label near; and the notes.
    fn texts(&mut self, marks: &[Mark]) {
        let mut last = None;
        let mut labelled = None;
        for mark in marks {
            match &mark.what {
                What::Again(span, trigger) => {
                    if *trigger != last
                        && let Some(trigger) = trigger
                    {
                        self.text(trigger.name(), mark.at, *span, Label::of(Ink::Again));
                    }
                    last = *trigger;
                }
                What::Judged {
                    span,
                    trigger,
                    necessity,
                } => {
                    let x = self.plot.x(mark.at);
                    let near = |&(of, place): &(_, i32)| {
                        of == (trigger, *necessity) && x - place < LABEL_HOLDS
                    };
                    if labelled.as_ref().is_none_or(|label| !near(label)) {
                        let label = Label::of(Ink::Judged(*necessity));
                        let written = self.text(trigger, mark.at, *span, label);
                        labelled = written.then_some(((trigger, *necessity), x));
                    }
                }
                What::Note(offset, text) => {
                    let span = Span::new(*offset, *offset);
                    self.text(text, mark.at, span, Label::NOTE);
                }
                _ => {}
            }
        }
    }

    /// Writes beside a mark where nothing else is; on the left at best, where a sender has usually
    /// nothing under way. Where there is no room nothing is written, which is `false`.
    fn text(&mut self, text: &str, at: Instant, span: Span, label: Label) -> bool {
        const HALF: i32 = NOTE.size / 2 + 1;
        let text = cut(text, NOTE.size, NOTE_ROOM);
        let length = width(&text, NOTE.size);
        let (x, top, bottom) = self.place(at, span);
        let (left, right) = (x - label.from, x + label.from + 2 + length);
        let middle = (top + bottom) / 2;
        let places = [
            (left, middle),
            (left, top - 2),
            (left, top - HALF - 2),
            (right, middle),
            (right, top - HALF - 2),
            (left, top - 3 * HALF),
            (right, top - 3 * HALF),
            (left, bottom + 2 * HALF),
            (right, bottom + 2 * HALF),
        ];
        let extent = |(right, y): (i32, i32)| ((right - length, y - HALF), (right, y + HALF));
        let free = |place: &(i32, i32)| {
            let (from, to) = extent(*place);
            self.taken.is_free(from, to)
        };
        let Some(place) = places.into_iter().find(free) else {
            return false;
        };
        let (from, to) = extent(place);
        self.taken.take(from, to);
        self.canvas.text(&text, place, NOTE, label.colour);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_finds_what_is_taken() {
        let axis = Axis::new(super::super::axis::Quantity::Time, 0, 1, (0, 1), 2);
        let mut taken = Taken::nothing_of(&Plot {
            left: 10,
            right: 110,
            top: 20,
            bottom: 70,
            time: axis,
            sequence: axis,
        });
        let whole = ((10, 20), (110, 70));
        assert!(taken.is_free(whole.0, whole.1));
        taken.take((50, 0), (52, 30));
        for (from, to, free) in [
            (whole.0, whole.1, false),
            ((10, 20), (50, 70), true),
            ((10, 20), (51, 70), false),
            ((52, 20), (110, 70), true),
            ((10, 30), (110, 70), true),
            // Not wholly inside.
            ((9, 30), (20, 40), false),
            ((90, 60), (111, 70), false),
            ((90, 60), (100, 71), false),
        ] {
            assert_eq!(taken.is_free(from, to), free, "{from:?} to {to:?}");
        }
        // Beyond the edges nothing happens.
        taken.take((-100, -100), (1000, 1000));
        assert!(!taken.is_free((20, 30), (21, 31)));
    }
}
