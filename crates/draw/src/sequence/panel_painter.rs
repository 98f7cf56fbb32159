//! Draws the marks of one panel as shapes in whole pixels.
//!
//! A shape that would exactly cover another of its style is not drawn again, so the size of a picture
//! depends on its pixels, not on the number of packets.

use super::axis::PixelAxis;
use super::mark_style::{BLUE, MarkStyle, Shape, tick};
use super::{Mark, MarkKind, position, stairs, una, window};
use crate::canvas::{Align, Canvas, Colour, Style};
use crate::text::{cut, width};
use recoup_units::{Instant, Offset, Span};
use std::collections::HashSet;
use std::ops::Range;

/// The style of text beside a mark.
const NOTE: Style = Style {
    size: 11,
    bold: false,
    align: Align::Right,
    upright: false,
};
/// The least height of a retransmission's arrow that is drawn to scale, in pixels.
const MIN_SCALED_HEIGHT: i32 = 8;
/// The height of a retransmission's arrow that would be smaller to scale, in pixels.
const ENLARGED_HEIGHT: i32 = 12;
/// Retransmissions within this distance of a label, in pixels, with the same trigger and necessity
/// get no label of their own.
const LABEL_HOLDS: i32 = 60;
/// The greatest width of a text beside a mark, in pixels.
const NOTE_WIDTH: i32 = 220;

/// The rectangle between a panel's axes, and the axes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plot {
    pub left: i32,
    pub right: i32,
    pub top: i32,
    pub bottom: i32,
    pub time: PixelAxis,
    pub sequence: PixelAxis,
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
pub(super) struct PanelPainter<'a, 'c> {
    canvas: &'a Canvas<'c>,
    plot: &'a Plot,
    drawn: HashSet<Shape>,
    occupied: OccupiedPixels,
}

/// The colour of a text beside a mark, and its distance from the mark.
#[derive(Clone, Copy, Debug)]
struct LabelStyle {
    colour: Colour,
    /// From the middle of the mark, in pixels.
    distance: i32,
}

impl LabelStyle {
    const NOTE: Self = Self {
        colour: BLUE,
        distance: 4,
    };

    fn of(style: MarkStyle) -> Self {
        Self {
            colour: style.colour(),
            distance: style.reach() + 1,
        }
    }
}

/// The pixels of a plot that shapes or texts cover. Text is placed on free pixels only.
struct OccupiedPixels {
    corner: (i32, i32),
    width: usize,
    height: usize,
    pixels: Vec<bool>,
}

impl OccupiedPixels {
    fn none_of(plot: &Plot) -> Self {
        let side = |low: i32, high: i32| usize::try_from(high - low).unwrap_or(0);
        let (width, height) = (side(plot.left, plot.right), side(plot.top, plot.bottom));
        Self {
            corner: (plot.left, plot.top),
            width,
            height,
            pixels: vec![false; width * height],
        }
    }

    /// The columns and rows of the part of a box that lies inside the plot.
    fn clip(&self, from: (i32, i32), to: (i32, i32)) -> (Range<usize>, Range<usize>) {
        let within =
            |at: i32, zero: i32, size: usize| usize::try_from(at - zero).unwrap_or(0).min(size);
        let columns = |at: (i32, i32)| within(at.0, self.corner.0, self.width);
        let rows = |at: (i32, i32)| within(at.1, self.corner.1, self.height);
        (columns(from)..columns(to), rows(from)..rows(to))
    }

    fn take(&mut self, from: (i32, i32), to: (i32, i32)) {
        let (columns, rows) = self.clip(from, to);
        for row in rows {
            let row = row * self.width;
            self.pixels[row + columns.start..row + columns.end].fill(true);
        }
    }

    /// Whether a box lies wholly inside the plot and covers no occupied pixel.
    fn is_free(&self, from: (i32, i32), to: (i32, i32)) -> bool {
        let (columns, rows) = self.clip(from, to);
        let size = |low: i32, high: i32| usize::try_from(high - low).unwrap_or(0);
        columns.len() == size(from.0, to.0)
            && rows.len() == size(from.1, to.1)
            && rows.into_iter().all(|row| {
                let row = row * self.width;
                !self.pixels[row + columns.start..row + columns.end].contains(&true)
            })
    }
}

impl<'a, 'c> PanelPainter<'a, 'c> {
    pub fn new(canvas: &'a Canvas<'c>, plot: &'a Plot) -> Self {
        Self {
            canvas,
            plot,
            drawn: HashSet::new(),
            occupied: OccupiedPixels::none_of(plot),
        }
    }

    /// Draws all marks: windows, SACK blocks and ACKs first, data over them, retransmissions over
    /// both, text last.
    pub fn paint(mut self, marks: &[Mark]) {
        let end = marks.iter().map(|mark| mark.at).max().unwrap_or_default();
        self.stairs(MarkStyle::ReceiveWindow, &stairs(marks, end, window));
        for mark in marks {
            if let MarkKind::Sacked(span) = mark.kind {
                let (x, top, bottom) = self.place(mark.at, span);
                self.draw(Shape::upright(MarkStyle::SackBlock, x, top, bottom));
            }
        }
        self.stairs(MarkStyle::SndUna, &stairs(marks, end, una));
        for mark in marks {
            match mark.kind {
                MarkKind::DuplicateAck(una) => self.tick(mark.at, una),
                // A SYN would be too small to see.
                MarkKind::Sent(span) if span.end > Offset::DATA => {
                    self.arrow(MarkStyle::Data, mark.at, span)
                }
                _ => {}
            }
        }
        for mark in marks {
            match mark.kind {
                MarkKind::Retransmitted(span, _) => {
                    self.arrow(MarkStyle::Retransmission, mark.at, span)
                }
                MarkKind::Explained {
                    span, necessity, ..
                } => {
                    self.arrow(MarkStyle::Explained(necessity), mark.at, span);
                }
                MarkKind::ExtraCopy(span) if span.end > Offset::DATA => {
                    self.arrow(MarkStyle::ExtraCopy, mark.at, span);
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

    /// Draws a shape unless it was drawn before.
    fn draw(&mut self, shape: Shape) {
        if self.drawn.insert(shape) {
            self.occupied.take(shape.from, shape.to);
            shape.draw(self.canvas);
        }
    }

    fn stairs(&mut self, style: MarkStyle, steps: &[super::Step]) {
        for (i, step) in steps.iter().enumerate() {
            if !self.plot.sequence.shows(step.level) {
                continue;
            }
            let (left, right) = (self.plot.x(step.from), self.plot.x(step.to));
            let y = self.plot.sequence.pixel(step.level);
            self.draw(Shape::level(style, left, right, y));
            let next = steps.get(i + 1);
            if let Some(next) = next.filter(|next| self.plot.sequence.shows(next.level)) {
                let next = self.plot.sequence.pixel(next.level);
                self.draw(Shape::upright(style, right, y.min(next), y.max(next) + 1));
            }
        }
    }

    fn tick(&mut self, at: Instant, una: Offset) {
        let (x, y) = (self.plot.x(at), self.plot.y(una));
        let shape = Shape {
            style: MarkStyle::DuplicateAck,
            from: (x, y),
            to: (x + 1, y + 6),
        };
        if self.drawn.insert(shape) {
            self.occupied.take(shape.from, shape.to);
            tick(self.canvas, x, y, MarkStyle::DuplicateAck.colour());
        }
    }

    fn arrow(&mut self, style: MarkStyle, at: Instant, span: Span) {
        let (x, mut top, mut bottom) = self.place(at, span);
        if style != MarkStyle::Data && bottom - top < MIN_SCALED_HEIGHT {
            top = (top + bottom - ENLARGED_HEIGHT) / 2;
            bottom = top + ENLARGED_HEIGHT;
        }
        if self.drawn.insert(Shape::upright(style, x, top, bottom)) {
            let reach = style.reach();
            let foot = bottom.max(top + 2);
            self.occupied.take((x - reach, top), (x + reach + 1, foot));
            style.arrow(self.canvas, x, top, bottom);
        }
    }

    /// Writes the notes, and triggers beside retransmissions. A retransmission gets no label when the
    /// one before had the same trigger, or when a label of its trigger and necessity is near.
    fn texts(&mut self, marks: &[Mark]) {
        let mut last = None;
        let mut labelled = None;
        for mark in marks {
            match &mark.kind {
                MarkKind::Retransmitted(span, trigger) => {
                    if *trigger != last
                        && let Some(trigger) = trigger
                    {
                        let label = LabelStyle::of(MarkStyle::Retransmission);
                        self.text(trigger, mark.at, *span, label);
                    }
                    last = *trigger;
                }
                MarkKind::Explained {
                    span,
                    trigger,
                    necessity,
                    ..
                } => {
                    let x = self.plot.x(mark.at);
                    let near = |&(of, place): &(_, i32)| {
                        of == (trigger, *necessity) && x - place < LABEL_HOLDS
                    };
                    if labelled.as_ref().is_none_or(|label| !near(label)) {
                        let label = LabelStyle::of(MarkStyle::Explained(*necessity));
                        let written = self.text(trigger, mark.at, *span, label);
                        labelled = written.then_some(((trigger, *necessity), x));
                    }
                }
                MarkKind::Note(offset, text) => {
                    let span = Span::new(*offset, *offset);
                    self.text(text, mark.at, span, LabelStyle::NOTE);
                }
                _ => {}
            }
        }
    }

    /// Writes a text beside a mark on free pixels, and returns whether there was room. The left side
    /// comes first, because it is usually emptier than the right.
    fn text(&mut self, text: &str, at: Instant, span: Span, label: LabelStyle) -> bool {
        const HALF: i32 = NOTE.size / 2 + 1;
        let text = cut(text, NOTE.size, NOTE_WIDTH);
        let length = width(&text, NOTE.size);
        let (x, top, bottom) = self.place(at, span);
        let (left, right) = (x - label.distance, x + label.distance + 2 + length);
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
            self.occupied.is_free(from, to)
        };
        let Some(place) = places.into_iter().find(free) else {
            return false;
        };
        let (from, to) = extent(place);
        self.occupied.take(from, to);
        self.canvas.text(&text, place, NOTE, label.colour);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_is_free_if_it_is_inside_the_plot_and_covers_nothing() {
        let axis = PixelAxis::new(super::super::axis::Quantity::Time, 0, 1, (0, 1), 2);
        let mut occupied = OccupiedPixels::none_of(&Plot {
            left: 10,
            right: 110,
            top: 20,
            bottom: 70,
            time: axis,
            sequence: axis,
        });
        let whole = ((10, 20), (110, 70));
        assert!(occupied.is_free(whole.0, whole.1));
        occupied.take((50, 0), (52, 30));
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
            assert_eq!(occupied.is_free(from, to), free, "{from:?} to {to:?}");
        }
        // Boxes are clipped at the edges.
        occupied.take((-100, -100), (1000, 1000));
        assert!(!occupied.is_free((20, 30), (21, 31)));
    }
}
