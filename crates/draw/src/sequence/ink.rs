//! The kinds of marks: how each is coloured and shaped, in whole pixels.

use super::{Mark, Necessity, What};
use crate::canvas::{Canvas, Colour};
use crate::canvas::{INK, WHITE};

const RED: Colour = Colour(0xd4, 0x00, 0x00);
const GREEN: Colour = Colour(0x0a, 0x9a, 0x2f);
const PURPLE: Colour = Colour(0x98, 0x3f, 0xc4);
const OCHRE: Colour = Colour(0xc9, 0x9a, 0x00);
pub(super) const BLUE: Colour = Colour(0x1f, 0x4f, 0xb4);
const TEAL: Colour = Colour(0x00, 0x8b, 0x9a);
const GREY: Colour = Colour(0x70, 0x70, 0x70);

/// The shape on a retransmission's line reaches so far from its middle, in pixels.
const REACH: i32 = 5;

/// The kinds of marks, in the order of the legend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Ink {
    Data,
    Again,
    Judged(Necessity),
    Copy,
    Una,
    Duplicate,
    Sack,
    Window,
}

impl Ink {
    pub const ALL: [Self; 10] = [
        Self::Data,
        Self::Again,
        Self::Judged(Necessity::Needed),
        Self::Judged(Necessity::Spurious),
        Self::Judged(Necessity::Unknowable),
        Self::Copy,
        Self::Una,
        Self::Duplicate,
        Self::Sack,
        Self::Window,
    ];

    /// The width of its sample in the legend.
    pub const SWATCH: i32 = 16;

    /// Whether it is what `mark` is drawn in.
    pub fn of(self, mark: &Mark) -> bool {
        let ink = match mark.what {
            What::Sent(_) => Self::Data,
            What::Again(..) => Self::Again,
            What::Judged { necessity, .. } => Self::Judged(necessity),
            What::Copy(_) => Self::Copy,
            What::Acked(_) => Self::Una,
            What::Duplicate(_) => Self::Duplicate,
            What::Sacked(_) => Self::Sack,
            What::Window(_) => Self::Window,
            What::Note(..) => return false,
        };
        ink == self
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Again => "retransmission",
            Self::Judged(Necessity::Needed) => "needed retransmission",
            Self::Judged(Necessity::Spurious) => "spurious retransmission",
            Self::Judged(Necessity::Unknowable) => "retransmission, unknown if needed",
            Self::Copy => "copy",
            Self::Una => "snd_una",
            Self::Duplicate => "duplicate ACK",
            Self::Sack => "SACK block",
            Self::Window => "receive window",
        }
    }

    /// How far its arrow reaches to either side, in pixels.
    pub fn reach(self) -> i32 {
        match self {
            Self::Judged(Necessity::Spurious | Necessity::Unknowable) => REACH,
            _ => 3,
        }
    }

    pub fn colour(self) -> Colour {
        match self {
            Self::Data => INK,
            Self::Again | Self::Judged(Necessity::Needed) => RED,
            Self::Judged(Necessity::Spurious) => BLUE,
            Self::Judged(Necessity::Unknowable) => GREY,
            Self::Copy => TEAL,
            Self::Una | Self::Duplicate => GREEN,
            Self::Sack => PURPLE,
            Self::Window => OCHRE,
        }
    }

    /// Draws a sample from `x` on, around the height `y`.
    pub fn swatch(self, canvas: &Canvas<'_>, (x, y): (i32, i32)) {
        let middle = x + Self::SWATCH / 2;
        let colour = self.colour();
        let shape = match self {
            Self::Data | Self::Again | Self::Judged(_) | Self::Copy => {
                return self.arrow(canvas, middle, y - 7, y + 7);
            }
            Self::Duplicate => {
                Shape::level(self, x, x + Self::SWATCH, y - 3).draw(canvas);
                return tick(canvas, middle, y - 3, colour);
            }
            Self::Sack => Shape::upright(self, middle, y - 7, y + 7),
            Self::Una | Self::Window => {
                Shape::level(self, x, middle, y + 4).draw(canvas);
                Shape::level(self, middle, x + Self::SWATCH, y - 4).draw(canvas);
                Shape::upright(self, middle, y - 4, y + 5)
            }
        };
        shape.draw(canvas);
    }

    /// Draws data at `x`, between two heights: an arrow, or what is not to be taken for one whatever
    /// its colour, a line with a cross or with a hollow diamond.
    pub fn arrow(self, canvas: &Canvas<'_>, x: i32, top: i32, bottom: i32) {
        let colour = self.colour();
        let middle = (x, (top + bottom) / 2);
        match self {
            Self::Judged(Necessity::Spurious) => {
                line(canvas, x, top, bottom, colour);
                cross(canvas, middle, colour);
            }
            Self::Judged(Necessity::Unknowable) => {
                line(canvas, x, top, bottom, colour);
                diamond(canvas, middle, REACH, colour);
                diamond(canvas, middle, REACH - 2, WHITE);
            }
            _ => arrow(canvas, x, top, bottom, colour),
        }
    }
}

/// A box of one colour; `to` lies outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    pub ink: Ink,
    pub from: (i32, i32),
    pub to: (i32, i32),
}

impl Shape {
    /// A vertical line, two pixels wide where lines are all there is to see of a mark.
    pub fn upright(ink: Ink, x: i32, top: i32, bottom: i32) -> Self {
        let wide = if ink == Ink::Sack { 2 } else { 1 };
        Self {
            ink,
            from: (x, top),
            to: (x + wide, bottom.max(top + 1)),
        }
    }

    pub fn level(ink: Ink, left: i32, right: i32, y: i32) -> Self {
        Self {
            ink,
            from: (left, y),
            to: (right + 1, y + 1),
        }
    }

    pub fn draw(self, canvas: &Canvas<'_>) {
        canvas.fill(self.from, self.to, self.ink.colour());
    }
}

/// A double-ended arrow between two heights, as large as there is room.
fn arrow(canvas: &Canvas<'_>, x: i32, top: i32, bottom: i32, colour: Colour) {
    line(canvas, x, top, bottom, colour);
    let length = ((bottom - top) / 3).min(4);
    if length < 2 {
        return;
    }
    for (tip, foot) in [(top, top + length), (bottom, bottom - length)] {
        let half = length / 2 + 1;
        let corners = [
            (x, tip),
            (x + 1, tip),
            (x + 1 + half, foot),
            (x - half, foot),
        ];
        canvas.polygon(&corners, colour);
    }
}

fn line(canvas: &Canvas<'_>, x: i32, top: i32, bottom: i32, colour: Colour) {
    canvas.fill((x, top), (x + 1, bottom.max(top + 2)), colour);
}

/// Two strokes through a point.
fn cross(canvas: &Canvas<'_>, (x, y): (i32, i32), colour: Colour) {
    for rise in [-REACH, REACH] {
        canvas.line(
            vec![(x - REACH, y - rise), (x + REACH, y + rise)],
            2,
            colour,
        );
    }
}

fn diamond(canvas: &Canvas<'_>, (x, y): (i32, i32), reach: i32, colour: Colour) {
    let corners = [
        (x, y - reach),
        (x + reach, y),
        (x, y + reach),
        (x - reach, y),
    ];
    canvas.polygon(&corners, colour);
}

/// The tick of an ACK that advances nothing, below its line.
pub(super) fn tick(canvas: &Canvas<'_>, x: i32, y: i32, colour: Colour) {
    canvas.fill((x, y), (x + 1, y + 6), colour);
}
