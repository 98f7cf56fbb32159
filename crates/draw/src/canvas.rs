//! A canvas for boxes, polygons, lines and text, which becomes an SVG document.
//!
//! Coordinates are in pixels, and are written with two decimals. The document names fonts but holds none:
//! a viewer without the first one takes the next.
//!
//! Marks carry their values: a title, which browsers show when readers point at the mark, or the values of a line's
//! points in `data-points`. The group around the marks of a panel names the panel and its quantities.

use crate::{
    look::{Look, Theme},
    text::{printable, printable_lines, wrap},
};
use std::{
    cell::RefCell,
    fmt::{self, Write},
};

/// The fonts of text, the best first. The first is that of PNG and PDF.
const FONTS: &str = "Roboto, 'Helvetica Neue', Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif";

/// A colour as red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Colour(pub u8, pub u8, pub u8);

impl fmt::Display for Colour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:02X}{:02X}{:02X}", self.0, self.1, self.2)
    }
}

/// A colour in each theme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Paint {
    pub light: Colour,
    pub dark: Colour,
}

impl Paint {
    pub const fn new(light: Colour, dark: Colour) -> Self {
        Self { light, dark }
    }

    pub const fn of(self, theme: Theme) -> Colour {
        match theme {
            Theme::Light => self.light,
            Theme::Dark => self.dark,
        }
    }
}

impl From<Colour> for Paint {
    fn from(colour: Colour) -> Self {
        Self::new(colour, colour)
    }
}

pub(crate) const BACKGROUND: Paint = Paint::new(Colour(0xff, 0xff, 0xff), Colour(0x15, 0x18, 0x1c));
pub(crate) const FOREGROUND: Paint = Paint::new(Colour(0x22, 0x22, 0x22), Colour(0xe4, 0xe6, 0xe8));
pub(crate) const GRID: Paint = Paint::new(Colour(0xdd, 0xdd, 0xdd), Colour(0x34, 0x3a, 0x41));

/// The colours of what is the same in all pictures.
pub(crate) const PAINTS: &[Paint] = &[BACKGROUND, FOREGROUND, GRID];

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

    /// The colour that `digits` name: six hexadecimal ones.
    pub fn from_hex(digits: &str) -> Option<Self> {
        let number = u32::from_str_radix(digits, 16).ok()?;
        let [high, red, green, blue] = number.to_be_bytes();
        (digits.len() == 6 && high == 0).then_some(Self(red, green, blue))
    }

    /// The counterpart on a dark ground of a series's colour: viridis without its dark part. Other colours stay.
    pub fn of_series_on_dark(self) -> Self {
        const STEPS: u32 = 250;
        const DARKEST: f64 = 0.42;
        // Rounding may shift a colour by one.
        const MARGIN: u32 = 9;
        let distance = |Self(r, g, b): Self| {
            let square = |a: u8, b: u8| u32::from(a.abs_diff(b)).pow(2);
            square(r, self.0) + square(g, self.1) + square(b, self.2)
        };
        let steps = (0..=STEPS).map(|i| f64::from(i) / f64::from(STEPS));
        let nearest = steps.min_by_key(|lightness| distance(Self::at(*lightness)));
        match nearest {
            Some(lightness) if distance(Self::at(lightness)) <= MARGIN => {
                Self::at(DARKEST + (1.0 - DARKEST) * lightness)
            }
            _ => self,
        }
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

/// A point: right and down from the top left corner, in pixels.
pub(crate) const fn style(size: i32, bold: bool, align: Align, upright: bool) -> Style {
    Style { size, bold, align, upright }
}

/// Lines of text, each with its middle across its direction.
pub(crate) type Lines = Vec<(String, i32)>;

/// Breaks `text` into lines of at most `room` pixels, `pitch` pixels apart, from `y` on, and moves `y` below them.
pub(crate) fn lines(text: &str, style: Style, room: i32, pitch: i32, y: &mut i32) -> Lines {
    let place = |line| {
        *y += pitch;
        (line, *y - pitch / 2)
    };
    wrap(text, style.size, room).into_iter().map(place).collect()
}

pub(crate) type Point = (f64, f64);

/// A coordinate as SVG writes it.
struct Number(f64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hundredths = (self.0 * 100.0).round() as i64;
        let (sign, size) = (if hundredths < 0 { "-" } else { "" }, hundredths.unsigned_abs());
        match (size / 100, size % 100) {
            (whole, 0) => write!(f, "{sign}{whole}"),
            (whole, part) if part % 10 == 0 => write!(f, "{sign}{whole}.{}", part / 10),
            (whole, part) => write!(f, "{sign}{whole}.{part:02}"),
        }
    }
}

/// A text or an attribute as XML writes it.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match c {
            '&' => f.write_str("&amp;"),
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '"' => f.write_str("&quot;"),
            c => f.write_char(c),
        })
    }
}

/// An SVG document in the making; it is complete when the canvas is dropped.
pub(crate) struct Canvas<'a> {
    svg: RefCell<&'a mut String>,
    theme: Theme,
}

// Writing to a string cannot fail, so results are ignored.
impl<'a> Canvas<'a> {
    /// A document as wide as `look` says and `height` pixels high, written to `svg`.
    pub fn new(svg: &'a mut String, height: i32, look: &Look) -> Self {
        let (width, height) = (look.width.pixels(), f64::from(height));
        let canvas = Self { svg: RefCell::new(svg), theme: look.theme };
        canvas.write(format_args!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="{}" height="{}" viewBox="0 0 {} {}" font-family="{FONTS}">"#,
            look.width.length(width),
            look.width.length(height),
            Number(width),
            Number(height),
        ));
        canvas.fill((0.0, 0.0), (width.ceil(), height), BACKGROUND);
        canvas
    }

    fn write(&self, line: fmt::Arguments<'_>) {
        let mut svg = self.svg.borrow_mut();
        svg.write_fmt(line).ok();
        svg.push('\n');
    }

    fn colour(&self, paint: impl Into<Paint>) -> Colour {
        paint.into().of(self.theme)
    }

    /// Fills the box from `from` to `to`, which lies outside it.
    pub fn fill<N: Into<f64>>(&self, from: (N, N), to: (N, N), paint: impl Into<Paint>) {
        let ((left, top), (right, bottom)) = (point(from), point(to));
        self.write(format_args!(
            r#"<rect x="{}" y="{}" width="{}" height="{}" fill="{}"/>"#,
            Number(left),
            Number(top),
            Number((right - left).max(0.0)),
            Number((bottom - top).max(0.0)),
            self.colour(paint),
        ));
    }

    /// Draws a line through these points.
    pub fn line<N: Into<f64>>(
        &self,
        points: impl IntoIterator<Item = (N, N)>,
        thickness: f64,
        paint: impl Into<Paint>,
    ) {
        let mut list = String::new();
        for (x, y) in points.into_iter().map(point) {
            let gap = if list.is_empty() { "" } else { " " };
            write!(list, "{gap}{},{}", Number(x), Number(y)).ok();
        }
        self.write(format_args!(
            r#"<polyline points="{list}" fill="none" stroke="{}" stroke-width="{}"/>"#,
            self.colour(paint),
            Number(thickness),
        ));
    }

    /// Draws a line of dashes through these points. `dashes` holds the lengths of dashes and gaps in turn, in
    /// pixels; empty: one dash.
    pub fn dashed_line(&self, points: &[Point], thickness: f64, dashes: &[f64], paint: impl Into<Paint>) {
        self.write(format_args!("{}/>", self.polyline(points, thickness, dashes, paint.into())));
    }

    /// Draws a line of dashes like [`dashed_line`](Self::dashed_line) with its name and its values. `values` has a
    /// pair for each point, or for every second one from the first on.
    pub fn data_line(
        &self,
        points: &[Point],
        thickness: f64,
        dashes: &[f64],
        paint: impl Into<Paint>,
        (name, values): (&str, &str),
    ) {
        self.write(format_args!(
            r#"{} data-points="{}"><title>{}</title></polyline>"#,
            self.polyline(points, thickness, dashes, paint.into()),
            Escaped(values),
            Escaped(&printable_lines(name)),
        ));
    }

    /// A polyline without its end.
    fn polyline(&self, points: &[Point], thickness: f64, dashes: &[f64], paint: Paint) -> String {
        let list = |pairs: &mut dyn Iterator<Item = String>, gap| {
            let pairs: Vec<String> = pairs.collect();
            pairs.join(gap)
        };
        let places = points.iter();
        let places = &mut places.map(|(x, y)| format!("{},{}", Number(*x), Number(*y)));
        let lengths = &mut dashes.iter().map(|length| Number(*length).to_string());
        let pattern = match dashes {
            [] => String::new(),
            _ => format!(r#" stroke-dasharray="{}""#, list(lengths, " ")),
        };
        format!(
            r#"<polyline points="{}" fill="none" stroke="{}" stroke-width="{}"{pattern}"#,
            list(places, " "),
            self.colour(paint),
            Number(thickness),
        )
    }

    /// Draws a mark with the text that readers get when they point at it.
    pub fn described(&self, text: &str, draw: impl FnOnce()) {
        let title = printable_lines(text);
        self.write(format_args!("<g><title>{}</title>", Escaped(&title)));
        draw();
        self.write(format_args!("</g>"));
    }

    /// Draws the marks of a panel. `about` names the panel and its quantities, as `data-…` attributes.
    pub fn panel(&self, about: &[(&str, &str)], draw: impl FnOnce()) {
        let mut attributes = String::new();
        for (name, value) in about {
            write!(attributes, r#" data-{name}="{}""#, Escaped(&printable(value))).ok();
        }
        self.write(format_args!("<g{attributes}>"));
        draw();
        self.write(format_args!("</g>"));
    }

    /// Fills areas.
    pub fn fill_path(&self, path: &Path, paint: Paint) {
        if !path.0.is_empty() {
            let (areas, colour) = (&path.0, self.colour(paint));
            self.write(format_args!(r#"<path d="{areas}" fill="{colour}"/>"#));
        }
    }

    /// Draws lines.
    pub fn stroke_path(&self, path: &Path, thickness: f64, paint: Paint) {
        if !path.0.is_empty() {
            self.write(format_args!(
                r#"<path d="{}" fill="none" stroke="{}" stroke-width="{}"/>"#,
                path.0,
                self.colour(paint),
                Number(thickness),
            ));
        }
    }

    /// Writes one line of text.
    pub fn text<N: Into<f64>>(&self, text: &str, at: (N, N), style: Style, paint: impl Into<Paint>) {
        let (x, y) = point(at);
        // Half the height of capitals and figures: text is centred on them.
        let below = 0.36 * f64::from(style.size);
        let (at, turn) = if style.upright {
            ((x + below, y), format!(r#" transform="rotate(-90 {} {})""#, Number(x + below), Number(y)))
        } else {
            ((x, y + below), String::new())
        };
        let anchor = match style.align {
            Align::Left => "",
            Align::Centre => r#" text-anchor="middle""#,
            Align::Right => r#" text-anchor="end""#,
        };
        let weight = if style.bold { r#" font-weight="bold""# } else { "" };
        self.write(format_args!(
            r#"<text x="{}" y="{}" font-size="{}"{anchor}{weight}{turn} fill="{}">{}</text>"#,
            Number(at.0),
            Number(at.1),
            style.size,
            self.colour(paint),
            Escaped(&printable(text)),
        ));
    }
}

impl Drop for Canvas<'_> {
    fn drop(&mut self) {
        self.write(format_args!("</svg>"));
    }
}

fn point<N: Into<f64>>((x, y): (N, N)) -> Point {
    (x.into(), y.into())
}

/// Lines or areas that have one colour, as the data of one SVG path (SVG 2 §9.3).
#[derive(Clone, Debug)]
pub(crate) struct Path(String);

impl Path {
    pub const fn new() -> Self {
        Self(String::new())
    }

    /// Whether there are no lines or areas.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a line through these points.
    pub fn line(&mut self, points: impl IntoIterator<Item = Point>) {
        let mut last: Option<Point> = None;
        for (x, y) in points {
            let (to_x, to_y) = (Number(x), Number(y));
            match last {
                None => write!(self.0, "M{to_x} {to_y}"),
                Some((_, before)) if before == y => write!(self.0, "H{to_x}"),
                Some((before, _)) if before == x => write!(self.0, "V{to_y}"),
                Some(_) => write!(self.0, "L{to_x} {to_y}"),
            }
            .ok();
            last = Some((x, y));
        }
    }

    /// Adds the area with these corners. All areas turn the same way, so that those that overlap leave no
    /// hole (SVG 2 §13.4.2, nonzero).
    pub fn area(&mut self, corners: &[Point]) {
        let next = corners.iter().cycle().skip(1);
        let doubled: f64 = corners.iter().zip(next).map(|(a, b)| a.0 * b.1 - b.0 * a.1).sum();
        if doubled < 0.0 {
            self.line(corners.iter().rev().copied())
        } else {
            self.line(corners.iter().copied())
        }
        self.0.push('Z');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_two_decimals_at_most() {
        for (number, text) in [
            (0.0, "0"),
            (-0.001, "0"),
            (12.0, "12"),
            (12.5, "12.5"),
            (12.346, "12.35"),
            (12.05, "12.05"),
            (-0.5, "-0.5"),
        ] {
            assert_eq!(Number(number).to_string(), text);
        }
    }

    #[test]
    fn overlapping_areas_turn_the_same_way() {
        let mut path = Path::new();
        path.area(&[(0.0, 0.0), (4.0, 0.0), (4.0, 4.0)]);
        path.area(&[(4.0, 4.0), (4.0, 0.0), (0.0, 0.0)]);
        assert_eq!(path.0, "M0 0H4V4ZM0 0H4V4Z");
    }

    #[test]
    fn text_is_escaped() {
        let mut svg = String::new();
        let style = Style { size: 10, bold: true, align: Align::Right, upright: false };
        Canvas::new(&mut svg, 20, &Look::default()).text("<a & \"b\">", (1, 2), style, GRID);
        let expected = r##"<text x="1" y="5.6" font-size="10" text-anchor="end" font-weight="bold" fill="#DDDDDD">&lt;a &amp; &quot;b&quot;&gt;</text>"##;
        assert_eq!(svg.lines().nth(2), Some(expected), "{svg}");
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    }
}
