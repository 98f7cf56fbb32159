//! A canvas for boxes, polygons, lines and text in whole pixels, through plotters' SVG backend.

use crate::text::printable;
use plotters::backend::SVGBackend;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::element::{PathElement, Polygon, Rectangle};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontDesc, FontFamily, FontStyle, FontTransform, RGBColor, TextStyle};

/// plotters divides font sizes by this before it writes them.
const FONT_SCALE: f64 = 1.24;

/// A colour as red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Colour(pub u8, pub u8, pub u8);

pub(crate) const FOREGROUND: Colour = Colour(0x22, 0x22, 0x22);
pub(crate) const GRID: Colour = Colour(0xdd, 0xdd, 0xdd);
pub(crate) const WHITE: Colour = Colour(0xff, 0xff, 0xff);

/// Viridis in even steps, from dark to light.
const VIRIDIS: [Colour; 8] = [
    Colour(0x44, 0x01, 0x54),
    Colour(0x46, 0x32, 0x7e),
    Colour(0x36, 0x5c, 0x8d),
    Colour(0x27, 0x7f, 0x8e),
    Colour(0x1f, 0xa1, 0x87),
    Colour(0x4a, 0xc1, 0x6d),
    Colour(0xa0, 0xda, 0x39),
    Colour(0xfd, 0xe7, 0x25),
];

impl Colour {
    /// The fill colour of series `i` of `n`.
    pub fn of_series(i: usize, n: usize) -> Self {
        Self::at(match n {
            0 | 1 => 0.3,
            _ => i.min(n - 1) as f64 / (n - 1) as f64,
        })
    }

    /// The line colour of series `i` of `n`, without the colours too light for a line on white.
    pub fn of_line(i: usize, n: usize) -> Self {
        Self::at(0.8 * i.min(n.max(1) - 1) as f64 / (n.max(2) - 1) as f64)
    }

    /// The viridis colour at `lightness`, from 0 (dark) to 1 (light).
    fn at(lightness: f64) -> Self {
        let last = VIRIDIS.len() - 1;
        let position = lightness * last as f64;
        let low = (position as usize).min(last);
        let (a, b) = (VIRIDIS[low], VIRIDIS[(low + 1).min(last)]);
        let mix = |a: u8, b: u8| {
            let part = position - low as f64;
            (f64::from(a) + (f64::from(b) - f64::from(a)) * part).round() as u8
        };
        Self(mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
    }
}

/// Which point of a text its position names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Centre,
    Right,
}

/// The size and placement of text. Text is always centred across its direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Style {
    /// Size in pixels.
    pub size: i32,
    pub bold: bool,
    pub align: Align,
    /// The text runs upwards instead of to the right.
    pub upright: bool,
}

/// An SVG document in the making; it is complete when the canvas is dropped.
pub(crate) struct Canvas<'a>(DrawingArea<SVGBackend<'a>, Shift>);

// Results are ignored: drawing into a string cannot fail, and plotters opens no fonts for SVG.
impl<'a> Canvas<'a> {
    /// A document of `width` by `height` pixels, written to `svg`.
    pub fn new(svg: &'a mut String, width: i32, height: i32) -> Self {
        let size = (width.unsigned_abs(), height.unsigned_abs());
        Self(SVGBackend::with_string(svg, size).into_drawing_area())
    }

    /// Fills the box from `from` to `to`, which lies outside it.
    pub fn fill(&self, from: (i32, i32), to: (i32, i32), colour: Colour) {
        let style = RGBColor(colour.0, colour.1, colour.2).filled();
        self.0.draw(&Rectangle::new([from, to], style)).ok();
    }

    /// Fills the polygon with these corners.
    pub fn polygon(&self, corners: &[(i32, i32)], colour: Colour) {
        let style = RGBColor(colour.0, colour.1, colour.2).filled();
        self.0.draw(&Polygon::new(corners.to_vec(), style)).ok();
    }

    /// Draws a line through these points.
    pub fn line(&self, points: Vec<(i32, i32)>, thickness: u32, colour: Colour) {
        let style = RGBColor(colour.0, colour.1, colour.2).stroke_width(thickness);
        self.0.draw(&PathElement::new(points, style)).ok();
    }

    /// Writes one line of text.
    pub fn text(&self, text: &str, at: (i32, i32), style: Style, colour: Colour) {
        let weight = if style.bold {
            FontStyle::Bold
        } else {
            FontStyle::Normal
        };
        let turn = match style.upright {
            true => FontTransform::Rotate270,
            false => FontTransform::None,
        };
        let along = match style.align {
            Align::Left => HPos::Left,
            Align::Centre => HPos::Center,
            Align::Right => HPos::Right,
        };
        let size = f64::from(style.size) * FONT_SCALE;
        let font = FontDesc::new(FontFamily::SansSerif, size, weight).transform(turn);
        let colour = RGBColor(colour.0, colour.1, colour.2);
        let style = TextStyle::from(font)
            .color(&colour)
            .pos(Pos::new(along, VPos::Center));
        self.0.draw_text(&printable(text), &style, at).ok();
    }
}
