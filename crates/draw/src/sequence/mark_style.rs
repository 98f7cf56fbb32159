//! The colour and the shape of each kind of mark.
//!
//! The colours are Okabe and Ito's (Color Universal Design, 2008), which readers can distinguish with any
//! colour vision. On a dark ground they are lighter. Verdicts differ in shape, too.

use super::{Control, Mark, MarkKind, Necessity};
use crate::canvas::{BACKGROUND, Canvas, Colour, FOREGROUND, Paint, Path, Point};

const VERMILLION: Paint = Paint::new(Colour(0xd5, 0x5e, 0x00), Colour(0xff, 0x7f, 0x2e));
const BLUISH_GREEN: Paint = Paint::new(Colour(0x00, 0x9e, 0x73), Colour(0x1f, 0xc4, 0x97));
const REDDISH_PURPLE: Paint = Paint::new(Colour(0xcc, 0x79, 0xa7), Colour(0xdd, 0x92, 0xbb));
const ORANGE: Paint = Paint::new(Colour(0xe6, 0x9f, 0x00), Colour(0xe6, 0x9f, 0x00));
pub(super) const BLUE: Paint = Paint::new(Colour(0x00, 0x72, 0xb2), Colour(0x56, 0xb4, 0xe9));
/// Sky blue, and yellow on a dark ground, where sky blue stands for blue.
const LIGHT: Paint = Paint::new(Colour(0x56, 0xb4, 0xe9), Colour(0xf0, 0xe4, 0x42));
const GREY: Paint = Paint::new(Colour(0x76, 0x76, 0x76), Colour(0xa8, 0xa8, 0xa8));
/// Faint orange.
const BAND: Paint = Paint::new(Colour(0xfb, 0xe7, 0xbf), Colour(0x46, 0x35, 0x0c));

/// The colours of all styles that [`canvas::PAINTS`](crate::canvas::PAINTS) lacks.
pub(crate) const PAINTS: &[Paint] = &[VERMILLION, BLUISH_GREEN, REDDISH_PURPLE, ORANGE, BLUE, LIGHT, GREY, BAND];

/// Half the width of the symbol on a retransmission's line, in pixels.
const SYMBOL_REACH: f64 = 5.0;

/// How a mark is drawn, in the order of the legend. Retransmissions lie above flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum MarkStyle {
    Data,
    Retransmission,
    Explained(Necessity),
    ExtraCopy,
    Control(Control),
    SndUna,
    DuplicateAck,
    SackBlock,
    ReceiveWindow,
    ZeroWindow,
}

impl MarkStyle {
    pub const ALL: [Self; 14] = [
        Self::Data,
        Self::Control(Control::Syn),
        Self::Control(Control::Fin),
        Self::Control(Control::Reset),
        Self::Retransmission,
        Self::Explained(Necessity::Needed),
        Self::Explained(Necessity::Spurious),
        Self::Explained(Necessity::Unknowable),
        Self::ExtraCopy,
        Self::SndUna,
        Self::DuplicateAck,
        Self::SackBlock,
        Self::ReceiveWindow,
        Self::ZeroWindow,
    ];

    /// The width of a sample in the legend, in pixels.
    pub const SWATCH: i32 = 16;

    /// The style in which `mark` is drawn; `None` for text. Zero windows have no mark of their own.
    pub fn of(mark: &Mark) -> Option<Self> {
        Some(match mark.kind {
            MarkKind::Sent(_) => Self::Data,
            MarkKind::Retransmitted(..) => Self::Retransmission,
            MarkKind::Explained { necessity, .. } => Self::Explained(necessity),
            MarkKind::ExtraCopy(_) => Self::ExtraCopy,
            MarkKind::Acked(_) => Self::SndUna,
            MarkKind::DuplicateAck(_) => Self::DuplicateAck,
            MarkKind::Sacked(_) => Self::SackBlock,
            MarkKind::ReceiveWindow(_) => Self::ReceiveWindow,
            MarkKind::Control(flag, _) => Self::Control(flag),
            MarkKind::Note(..) => return None,
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Retransmission => "retransmission",
            Self::Explained(Necessity::Needed) => "needed retransmission",
            Self::Explained(Necessity::Spurious) => "spurious retransmission",
            Self::Explained(Necessity::Unknowable) => "retransmission, unknown if needed",
            Self::ExtraCopy => "copy",
            Self::Control(flag) => flag.name(),
            Self::SndUna => "snd_una",
            Self::DuplicateAck => "duplicate ACK",
            Self::SackBlock => "SACK block",
            Self::ReceiveWindow => "receive window",
            Self::ZeroWindow => "zero window",
        }
    }

    /// Half the width of the style's symbol, in pixels.
    pub fn reach(self) -> f64 {
        match self {
            Self::Explained(Necessity::Spurious | Necessity::Unknowable) => SYMBOL_REACH,
            Self::Control(_) => 4.0,
            _ => 3.0,
        }
    }

    pub fn paint(self) -> Paint {
        match self {
            Self::Data | Self::Control(_) => FOREGROUND,
            Self::Retransmission | Self::Explained(Necessity::Needed) => VERMILLION,
            Self::Explained(Necessity::Spurious) => BLUE,
            Self::Explained(Necessity::Unknowable) => GREY,
            Self::ExtraCopy => LIGHT,
            Self::SndUna | Self::DuplicateAck => BLUISH_GREEN,
            Self::SackBlock => REDDISH_PURPLE,
            Self::ReceiveWindow => ORANGE,
            Self::ZeroWindow => BAND,
        }
    }

    fn thickness(self) -> f64 {
        match self {
            // SACK blocks have no arrow heads.
            Self::SackBlock => 2.0,
            Self::Retransmission | Self::Explained(_) => 1.5,
            _ => 1.0,
        }
    }

    /// Draws a sample for the legend: its left end at `x`, its vertical middle at `y`.
    pub fn swatch(self, canvas: &Canvas<'_>, (x, y): Point) {
        let right = x + f64::from(Self::SWATCH);
        let middle = (x + right) / 2.0;
        let mut shapes = Shapes::new(self);
        match self {
            Self::Data | Self::Retransmission | Self::Explained(_) | Self::ExtraCopy => {
                shapes.arrow(middle, y - 7.0, y + 7.0);
            }
            Self::Control(_) => shapes.symbol((middle, y)),
            Self::DuplicateAck => {
                shapes.line(&[(x, y - 3.0), (right, y - 3.0)]);
                shapes.tick(middle, y - 3.0);
            }
            Self::SackBlock => shapes.line(&[(middle, y - 7.0), (middle, y + 7.0)]),
            Self::SndUna | Self::ReceiveWindow => {
                shapes.line(&[(x, y + 4.0), (middle, y + 4.0), (middle, y - 4.0), (right, y - 4.0)])
            }
            Self::ZeroWindow => shapes.band((x, y - 7.0), (right, y + 7.0)),
        }
        shapes.draw(canvas);
    }
}

/// Shapes of one style.
pub(super) struct Shapes {
    style: MarkStyle,
    lines: Path,
    areas: Path,
    /// Areas in the colour of the ground, above the others.
    holes: Path,
}

impl Shapes {
    pub fn new(style: MarkStyle) -> Self {
        let [lines, areas, holes] = [const { Path::new() }; 3];
        Self { style, lines, areas, holes }
    }

    pub fn draw(&self, canvas: &Canvas<'_>) {
        let paint = self.style.paint();
        canvas.stroke_path(&self.lines, self.style.thickness(), paint);
        canvas.fill_path(&self.areas, paint);
        canvas.fill_path(&self.holes, BACKGROUND);
    }

    /// Draws the shapes with the name of their style.
    pub fn draw_described(&self, canvas: &Canvas<'_>) {
        if !(self.lines.is_empty() && self.areas.is_empty()) {
            canvas.described(self.style.name(), || self.draw(canvas));
        }
    }

    pub fn line(&mut self, points: &[Point]) {
        self.lines.line(points.iter().copied());
    }

    /// Data at `x` between two heights, as a double-ended arrow. Spurious and unknowable retransmissions
    /// get a symbol instead of arrow heads, so that they differ in more than their colour.
    pub fn arrow(&mut self, x: f64, top: f64, bottom: f64) {
        self.line(&[(x, top), (x, bottom.max(top + 1.5))]);
        let middle = (x, (top + bottom) / 2.0);
        match self.style {
            MarkStyle::Explained(Necessity::Spurious) => self.cross(middle, SYMBOL_REACH),
            MarkStyle::Explained(Necessity::Unknowable) => {
                self.areas.area(&diamond(middle, SYMBOL_REACH));
                self.holes.area(&diamond(middle, SYMBOL_REACH - 2.0));
            }
            _ => self.heads(x, top, bottom),
        }
    }

    /// The heads of an arrow, if they fit.
    fn heads(&mut self, x: f64, top: f64, bottom: f64) {
        let length = ((bottom - top) / 3.0).min(4.5);
        if length < 2.0 {
            return;
        }
        let half = length / 2.0 + 0.75;
        for (tip, foot) in [(top, top + length), (bottom, bottom - length)] {
            self.areas.area(&[(x, tip), (x + half, foot), (x - half, foot)]);
        }
    }

    /// The symbol of a flag: a triangle upwards for a SYN, downwards for a FIN, a cross for a reset.
    pub fn symbol(&mut self, (x, y): Point) {
        let reach = self.style.reach();
        let triangle = |tip: f64| [(x, y - tip), (x + reach, y + tip), (x - reach, y + tip)];
        match self.style {
            MarkStyle::Control(Control::Fin) => self.areas.area(&triangle(-reach)),
            MarkStyle::Control(Control::Reset) => self.cross((x, y), reach),
            _ => self.areas.area(&triangle(reach)),
        }
    }

    /// The tick of a duplicate ACK, below the line of `snd_una`.
    pub fn tick(&mut self, x: f64, y: f64) {
        self.line(&[(x, y), (x, y + 6.0)]);
    }

    pub fn band(&mut self, from: Point, to: Point) {
        self.areas.area(&[from, (to.0, from.1), to, (from.0, to.1)]);
    }

    /// Two diagonal bars through a point.
    fn cross(&mut self, (x, y): Point, reach: f64) {
        const HALF: f64 = 0.75;
        for rise in [-1.0, 1.0] {
            self.areas.area(&[
                (x - reach - HALF, y - rise * (reach - HALF)),
                (x - reach + HALF, y - rise * (reach + HALF)),
                (x + reach + HALF, y + rise * (reach - HALF)),
                (x + reach - HALF, y + rise * (reach + HALF)),
            ]);
        }
    }
}

fn diamond((x, y): Point, reach: f64) -> [Point; 4] {
    [(x, y - reach), (x + reach, y), (x, y + reach), (x - reach, y)]
}
