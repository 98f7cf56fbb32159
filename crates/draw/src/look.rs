//! How pictures look: their width and their theme.

use std::{fmt, str::FromStr};

/// How many dots of a raster picture on paper make up a pixel: 300 dots and 96 pixels an inch.
pub const PRINT_DOTS_PER_PIXEL: f64 = 300.0 / 96.0;

/// How a picture looks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Look {
    /// The width of the picture. Text keeps its size at any width: most of it is 12 or 13 px, which is
    /// 9 to 10 pt.
    pub width: Width,
    /// The colours.
    pub theme: Theme,
}

/// The colours of a picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Dark on white.
    #[default]
    Light,
    /// Light on near black.
    Dark,
}

/// The width of a picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Width {
    value: f64,
    unit: Unit,
}

recoup_units::named! {
    /// A unit of length (CSS Values and Units §6.2: an inch has 96 px).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Unit {
        Pixel = "px",
        Millimetre = "mm",
        Centimetre = "cm",
        Inch = "in",
        Point = "pt",
    }
}

impl Unit {
    const fn pixels(self) -> f64 {
        match self {
            Self::Pixel => 1.0,
            Self::Millimetre => 96.0 / 25.4,
            Self::Centimetre => 96.0 / 2.54,
            Self::Inch => 96.0,
            Self::Point => 96.0 / 72.0,
        }
    }
}

impl Width {
    /// The narrowest and the widest picture, in pixels.
    const RANGE: std::ops::RangeInclusive<f64> = 300.0..=8000.0;

    /// The width in pixels, of which an inch has 96.
    pub fn pixels(self) -> f64 {
        self.value * self.unit.pixels()
    }

    /// A length of this many pixels in the width's unit, as SVG writes it.
    pub(crate) fn length(self, pixels: f64) -> String {
        let value = pixels / self.unit.pixels();
        let text = format!("{value:.3}");
        let text = text.trim_end_matches('0').trim_end_matches('.');
        format!("{text}{}", self.unit.name())
    }

    /// How many dots of a raster picture make up a pixel. A width in pixels means dots. On paper an inch
    /// has 300 dots.
    pub fn dots_per_pixel(self) -> f64 {
        match self.unit {
            Unit::Pixel => 1.0,
            _ => PRINT_DOTS_PER_PIXEL,
        }
    }
}

impl Default for Width {
    /// 900 px.
    fn default() -> Self {
        Self { value: 900.0, unit: Unit::Pixel }
    }
}

/// A text is not a width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoWidth;

impl fmt::Display for NoWidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected a width from 300px to 8000px, such as 900px, 84mm, 8.4cm, 3.3in or 240pt")
    }
}

impl std::error::Error for NoWidth {}

impl FromStr for Width {
    type Err = NoWidth;

    /// Reads a number with a unit: px (also without a unit), mm, cm, in or pt.
    fn from_str(text: &str) -> Result<Self, NoWidth> {
        let text = text.trim();
        let with_unit = Unit::ALL.into_iter().find_map(|unit| Some((text.strip_suffix(unit.name())?, unit)));
        let (number, unit) = with_unit.unwrap_or((text, Unit::Pixel));
        let value = number.trim().parse().map_err(|_| NoWidth)?;
        let width = Self { value, unit };
        if Self::RANGE.contains(&width.pixels()) { Ok(width) } else { Err(NoWidth) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_numbers_with_a_unit() {
        for (text, pixels, dots) in [
            ("900", 900.0, 900.0),
            ("900px", 900.0, 900.0),
            ("84mm", 317.48, 992.13),
            ("8.4 cm", 317.48, 992.13),
            ("3.5in", 336.0, 1050.0),
            ("240pt", 320.0, 1000.0),
        ] {
            let width: Width = text.parse().expect(text);
            assert!((width.pixels() - pixels).abs() < 0.01, "{text}");
            let found = width.pixels() * width.dots_per_pixel();
            assert!((found - dots).abs() < 0.01, "{text}: {found}");
        }
        for text in ["", "px", "wide", "-900", "0", "299", "9000", "1e9in", "NaN", "inf"] {
            assert_eq!(text.parse::<Width>(), Err(NoWidth), "{text}");
        }
        let width: Width = "84mm".parse().expect("a width");
        assert_eq!(width.length(width.pixels()), "84mm");
        assert_eq!(width.length(96.0), "25.4mm");
    }
}
