//! Draws the marks of one panel.
//!
//! A shape that would cover another of its style to a tenth of a pixel is not drawn again, so the size of
//! a picture depends on its area, not on the number of packets.

use super::{
    Mark, MarkKind,
    axis::PixelAxis,
    mark_style::{BLUE, MarkStyle, Shapes},
    position, stairs, una, window, zero_windows,
};
use crate::{
    canvas::{Align, Canvas, Paint, Point, Style},
    text::{cut, width},
};
use recoup_units::{Instant, Offset, Span};
use std::{collections::HashSet, ops::Range};

/// The style of text beside a mark.
const NOTE: Style = Style { size: 11, bold: false, align: Align::Right, upright: false };
/// The least height of a retransmission's arrow that is drawn to scale, in pixels.
const MIN_SCALED_HEIGHT: f64 = 8.0;
/// The height of a retransmission's arrow that would be smaller to scale, in pixels.
const ENLARGED_HEIGHT: f64 = 12.0;
/// Retransmissions within this distance of a label, in pixels, with the same trigger and necessity
/// get no label of their own.
const LABEL_HOLDS: f64 = 60.0;
/// Points of a line that are nearer than this to each other are one, in pixels.
const NEAR: f64 = 0.1;
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
    fn x(&self, at: Instant) -> f64 {
        self.time.place(at.as_nanos())
    }

    fn y(&self, offset: Offset) -> f64 {
        self.sequence.place(position(offset))
    }
}

/// Draws the marks of one panel.
pub(super) struct PanelPainter<'a, 'c> {
    canvas: &'a Canvas<'c>,
    plot: &'a Plot,
    occupied: OccupiedPixels,
}

/// The colour of a text beside a mark, and its distance from the mark.
#[derive(Clone, Copy, Debug)]
struct LabelStyle {
    paint: Paint,
    /// From the middle of the mark, in pixels.
    distance: f64,
}

impl LabelStyle {
    const NOTE: Self = Self { paint: BLUE, distance: 4.0 };

    fn of(style: MarkStyle) -> Self {
        Self { paint: style.paint(), distance: style.reach() + 1.0 }
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
        Self { corner: (plot.left, plot.top), width, height, pixels: vec![false; width * height] }
    }

    /// The columns and rows of the part of a box that lies inside the plot.
    fn clip(&self, from: (i32, i32), to: (i32, i32)) -> (Range<usize>, Range<usize>) {
        let within = |at: i32, zero: i32, size: usize| usize::try_from(at - zero).unwrap_or(0).min(size);
        let columns = |at: (i32, i32)| within(at.0, self.corner.0, self.width);
        let rows = |at: (i32, i32)| within(at.1, self.corner.1, self.height);
        (columns(from)..columns(to), rows(from)..rows(to))
    }

    /// The pixels that a box touches.
    fn take_around(&mut self, from: Point, to: Point) {
        let (low, high) = (|at: f64| at.floor() as i32, |at: f64| at.ceil() as i32);
        self.take((low(from.0), low(from.1)), (high(to.0), high(to.1)));
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
        Self { canvas, plot, occupied: OccupiedPixels::none_of(plot) }
    }

    /// Draws the times of zero windows as bands, which belong below the grid.
    pub fn paint_bands(&self, marks: &[Mark]) {
        let (top, bottom) = (f64::from(self.plot.top), f64::from(self.plot.bottom));
        let mut bands = Shapes::new(MarkStyle::ZeroWindow);
        let mut drawn_until = f64::MIN;
        for (from, to) in zero_windows(marks) {
            let left = self.plot.x(from);
            let right = self.plot.x(to).max(left + 1.0);
            if right > drawn_until + NEAR {
                bands.band((left.max(drawn_until), top), (right, bottom));
                drawn_until = right;
            }
        }
        bands.draw(self.canvas);
    }

    /// Draws all marks: windows, SACK blocks and ACKs first, data and flags over them, retransmissions
    /// over all, text last.
    pub fn paint(mut self, marks: &[Mark]) {
        let end = marks.iter().map(|mark| mark.at).max().unwrap_or_default();
        self.stairs(MarkStyle::ReceiveWindow, &stairs(marks, end, window));
        self.all(MarkStyle::SackBlock, marks);
        self.stairs(MarkStyle::SndUna, &stairs(marks, end, una));
        let after = MarkStyle::ALL.into_iter().filter(|style| {
            !matches!(
                style,
                MarkStyle::ReceiveWindow | MarkStyle::SackBlock | MarkStyle::SndUna | MarkStyle::ZeroWindow
            )
        });
        // Duplicate ACKs have lines as thin as data.
        self.all(MarkStyle::DuplicateAck, marks);
        for style in after.filter(|style| *style != MarkStyle::DuplicateAck) {
            self.all(style, marks);
        }
        self.texts(marks);
    }

    fn place(&self, at: Instant, span: Span) -> (f64, f64, f64) {
        let x = self.plot.x(at);
        (x, self.plot.y(span.end), self.plot.y(span.start))
    }

    /// Draws all marks of a style, each once.
    fn all(&mut self, style: MarkStyle, marks: &[Mark]) {
        let mut shapes = Shapes::new(style);
        let mut drawn = HashSet::new();
        for mark in marks {
            if MarkStyle::of(mark) != Some(style) {
                continue;
            }
            let Some(span) = drawn_span(&mark.kind) else {
                continue;
            };
            let (x, mut top, mut bottom) = self.place(mark.at, span);
            let is_arrow = !matches!(style, MarkStyle::SackBlock | MarkStyle::DuplicateAck | MarkStyle::Control(_));
            if is_arrow && style != MarkStyle::Data && bottom - top < MIN_SCALED_HEIGHT {
                top = (top + bottom - ENLARGED_HEIGHT) / 2.0;
                bottom = top + ENLARGED_HEIGHT;
            }
            let tenth = |place: f64| (place / NEAR).round() as i32;
            if !drawn.insert((tenth(x), tenth(top), tenth(bottom))) {
                continue;
            }
            let reach = style.reach();
            let (left, right) = (x - reach, x + reach);
            let covered = match style {
                MarkStyle::SackBlock => {
                    shapes.line(&[(x, top), (x, bottom.max(top + 1.0))]);
                    ((x - 1.0, top), (x + 1.0, bottom))
                }
                MarkStyle::DuplicateAck => {
                    shapes.tick(x, top);
                    ((x, top), (x + 1.0, top + 6.0))
                }
                MarkStyle::Control(_) => {
                    shapes.symbol((x, top));
                    ((left, top - reach), (right, top + reach))
                }
                _ => {
                    shapes.arrow(x, top, bottom);
                    ((left, top), (right, bottom.max(top + 2.0)))
                }
            };
            self.occupied.take_around(covered.0, covered.1);
        }
        shapes.draw_described(self.canvas);
    }

    fn stairs(&mut self, style: MarkStyle, steps: &[super::Step]) {
        let mut shapes = Shapes::new(style);
        let mut line: Vec<Point> = Vec::new();
        for step in steps {
            if !self.plot.sequence.shows(step.level) {
                shapes.line(&line);
                line.clear();
                continue;
            }
            let (left, right) = (self.plot.x(step.from), self.plot.x(step.to));
            let y = self.plot.sequence.place(step.level);
            if let Some((_, before)) = line.last() {
                let (top, bottom) = (before.min(y), before.max(y));
                self.occupied.take_around((left, top), (left + 1.0, bottom));
            }
            self.occupied.take_around((left, y), (right, y + 1.0));
            for point in [(left, y), (right, y)] {
                let near = |last: &Point| (last.0 - point.0).hypot(last.1 - point.1) < NEAR;
                if !line.last().is_some_and(near) {
                    line.push(point);
                }
            }
        }
        shapes.line(&line);
        shapes.draw_described(self.canvas);
    }

    /// Writes the notes, and triggers beside retransmissions. A retransmission gets no label when the
    /// one before had the same trigger, or when a label of its trigger and necessity is near.
    fn texts(&mut self, marks: &[Mark]) {
        let mut last = None;
        let mut labelled = None;
        for (i, mark) in marks.iter().enumerate() {
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
                MarkKind::Explained { span, trigger, necessity, .. } => {
                    let x = self.plot.x(mark.at);
                    let near = |&(of, place): &(_, f64)| of == (trigger, *necessity) && x - place < LABEL_HOLDS;
                    if labelled.as_ref().is_none_or(|label| !near(label)) {
                        let label = LabelStyle::of(MarkStyle::Explained(*necessity));
                        let written = self.text(trigger, mark.at, *span, label);
                        labelled = written.then_some(((trigger, *necessity), x));
                    }
                }
                MarkKind::Control(flag, offset) if !is_of_retransmission(marks, i) => {
                    let span = Span::new(*offset, *offset);
                    let label = LabelStyle::of(MarkStyle::Control(*flag));
                    self.text(flag.name(), mark.at, span, label);
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
        let left = (x - label.distance).floor() as i32;
        let right = (x + label.distance).ceil() as i32 + 2 + length;
        let [top, middle, bottom] = [top, (top + bottom) / 2.0, bottom].map(|y| y.round() as i32);
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
        self.canvas.text(&text, place, NOTE, label.paint);
        true
    }
}

/// The sequence space in which a mark is drawn; `None` if others show it. A SYN without data has its
/// symbol only.
fn drawn_span(kind: &MarkKind) -> Option<Span> {
    let (start, end) = kind.range();
    let is_drawn = match kind {
        MarkKind::Sent(_) | MarkKind::ExtraCopy(_) => end > Offset::DATA,
        MarkKind::Acked(_) | MarkKind::ReceiveWindow(_) | MarkKind::Note(..) => false,
        _ => true,
    };
    is_drawn.then(|| Span::new(start, end))
}

/// Whether the flag of mark `i` was retransmitted, so that a trigger stands beside it.
fn is_of_retransmission(marks: &[Mark], i: usize) -> bool {
    let beside = marks[i + 1..].iter().take_while(|next| next.at == marks[i].at);
    let mut of_segment = beside.take(2).filter(|next| next.frame == marks[i].frame);
    of_segment.any(|next| matches!(next.kind, MarkKind::Retransmitted(..) | MarkKind::Explained { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_is_free_if_it_is_inside_the_plot_and_covers_nothing() {
        let axis = PixelAxis::new(super::super::axis::Quantity::Time, 0, 1, (0.0, 1.0), 2);
        let mut occupied =
            OccupiedPixels::none_of(&Plot { left: 10, right: 110, top: 20, bottom: 70, time: axis, sequence: axis });
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
