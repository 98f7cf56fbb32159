//! The colour and the shape of each kind of mark.

use super::{Mark, MarkKind, Necessity};
use crate::canvas::{Canvas, Colour};
use crate::canvas::{FOREGROUND, WHITE};

const RED: Colour = Colour(0xd4, 0x00, 0x00);
const GREEN: Colour = Colour(0x0a, 0x9a, 0x2f);
const PURPLE: Colour = Colour(0x98, 0x3f, 0xc4);
const OCHRE: Colour = Colour(0xc9, 0x9a, 0x00);
pub(super) const BLUE: Colour = Colour(0x1f, 0x4f, 0xb4);
const TEAL: Colour = Colour(0x00, 0x8b, 0x9a);
const GREY: Colour = Colour(0x70, 0x70, 0x70);

/// Half the width of the cross or diamond on a retransmission's line, in pixels.
const SYMBOL_REACH: i32 = 5;

/// How a mark is drawn, in the order of the legend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum MarkStyle {
    Data,
    Retransmission,
    Explained(Necessity),
    ExtraCopy,
    SndUna,
    DuplicateAck,
    SackBlock,
    ReceiveWindow,
}

impl MarkStyle {
    pub const ALL: [Self; 10] = [
        Self::Data,
        Self::Retransmission,
        Self::Explained(Necessity::Needed),
        Self::Explained(Necessity::Spurious),
        Self::Explained(Necessity::Unknowable),
        Self::ExtraCopy,
        Self::SndUna,
        Self::DuplicateAck,
        Self::SackBlock,
        Self::ReceiveWindow,
    ];

    /// The width of a sample in the legend, in pixels.
    pub const SWATCH: i32 = 16;

    /// Whether `mark` is drawn in this style.
    pub fn applies_to(self, mark: &Mark) -> bool {
        let style = match mark.kind {
            MarkKind::Sent(_) => Self::Data,
            MarkKind::Retransmitted(..) => Self::Retransmission,
            MarkKind::Explained { necessity, .. } => Self::Explained(necessity),
            MarkKind::ExtraCopy(_) => Self::ExtraCopy,
            MarkKind::Acked(_) => Self::SndUna,
            MarkKind::DuplicateAck(_) => Self::DuplicateAck,
            MarkKind::Sacked(_) => Self::SackBlock,
            MarkKind::ReceiveWindow(_) => Self::ReceiveWindow,
            MarkKind::Control(..) | MarkKind::Note(..) => return false,
        };
        style == self
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Retransmission => "retransmission",
            Self::Explained(Necessity::Needed) => "needed retransmission",
            Self::Explained(Necessity::Spurious) => "spurious retransmission",
            Self::Explained(Necessity::Unknowable) => "retransmission, unknown if needed",
            Self::ExtraCopy => "copy",
            Self::SndUna => "snd_una",
            Self::DuplicateAck => "duplicate ACK",
            Self::SackBlock => "SACK block",
            Self::ReceiveWindow => "receive window",
        }
    }

    /// Half the width of the style's arrow, in pixels.
    pub fn reach(self) -> i32 {
        match self {
            Self::Explained(Necessity::Spurious | Necessity::Unknowable) => SYMBOL_REACH,
            _ => 3,
        }
    }

    pub fn colour(self) -> Colour {
        match self {
            Self::Data => FOREGROUND,
            Self::Retransmission | Self::Explained(Necessity::Needed) => RED,
            Self::Explained(Necessity::Spurious) => BLUE,
            Self::Explained(Necessity::Unknowable) => GREY,
            Self::ExtraCopy => TEAL,
            Self::SndUna | Self::DuplicateAck => GREEN,
            Self::SackBlock => PURPLE,
            Self::ReceiveWindow => OCHRE,
        }
    }

    /// Draws a sample for the legend: its left end at `x`, its vertical middle at `y`.
    pub fn swatch(self, canvas: &Canvas<'_>, (x, y): (i32, i32)) {
        let middle = x + Self::SWATCH / 2;
        let colour = self.colour();
        let shape = match self {
            Self::Data | Self::Retransmission | Self::Explained(_) | Self::ExtraCopy => {
                return self.arrow(canvas, middle, y - 7, y + 7);
            }
            Self::DuplicateAck => {
                Shape::level(self, x, x + Self::SWATCH, y - 3).draw(canvas);
                return tick(canvas, middle, y - 3, colour);
            }
            Self::SackBlock => Shape::upright(self, middle, y - 7, y + 7),
            Self::SndUna | Self::ReceiveWindow => {
                Shape::level(self, x, middle, y + 4).draw(canvas);
                Shape::level(self, middle, x + Self::SWATCH, y - 4).draw(canvas);
                Shape::upright(self, middle, y - 4, y + 5)
            }
        };
        shape.draw(canvas);
    }

    /// Draws data at `x` between two heights. Spurious and unknowable retransmissions get a symbol
    /// instead of arrow heads, so that they differ in more than their colour.
    pub fn arrow(self, canvas: &Canvas<'_>, x: i32, top: i32, bottom: i32) {
        let colour = self.colour();
        let middle = (x, (top + bottom) / 2);
        match self {
            Self::Explained(Necessity::Spurious) => {
                line(canvas, x, top, bottom, colour);
                cross(canvas, middle, colour);
            }
            Self::Explained(Necessity::Unknowable) => {
                line(canvas, x, top, bottom, colour);
                diamond(canvas, middle, SYMBOL_REACH, colour);
                diamond(canvas, middle, SYMBOL_REACH - 2, WHITE);
            }
            _ => arrow(canvas, x, top, bottom, colour),
        }
    }
}

/// A filled rectangle from `from` to `to`, which lies outside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    pub style: MarkStyle,
    pub from: (i32, i32),
    pub to: (i32, i32),
}

impl Shape {
    /// A vertical line. SACK blocks are two pixels wide, because they have no arrow heads.
    pub fn upright(style: MarkStyle, x: i32, top: i32, bottom: i32) -> Self {
        let wide = if style == MarkStyle::SackBlock { 2 } else { 1 };
        Self {
            style,
            from: (x, top),
            to: (x + wide, bottom.max(top + 1)),
        }
    }

    pub fn level(style: MarkStyle, left: i32, right: i32, y: i32) -> Self {
        Self {
            style,
            from: (left, y),
            to: (right + 1, y + 1),
        }
    }

    pub fn draw(self, canvas: &Canvas<'_>) {
        canvas.fill(self.from, self.to, self.style.colour());
    }
}

/// A double-ended arrow between two heights, without heads where these do not fit.
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

/// Two diagonal strokes through a point.
fn cross(canvas: &Canvas<'_>, (x, y): (i32, i32), colour: Colour) {
    for rise in [-SYMBOL_REACH, SYMBOL_REACH] {
        canvas.line(
            vec![(x - SYMBOL_REACH, y - rise), (x + SYMBOL_REACH, y + rise)],
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

/// The tick of a duplicate ACK, below the line of `snd_una`.
pub(super) fn tick(canvas: &Canvas<'_>, x: i32, y: i32, colour: Colour) {
    canvas.fill((x, y), (x + 1, y + 6), colour);
}
