//! Lines: in each panel one line per series, through its points or as steps.
//!
//! A series has a colour and a dash pattern of its own, so that print in one grey tells them apart.

use super::axis::{Axis, LogAxis};
use super::layout::{Content, Frame, LEFT, Layout, RIGHT, SWATCH, WIDTH, style};
use super::{Draw, to_svg};
use crate::canvas::{Align, Canvas, Colour, Style};
use crate::canvas::{FAINT, INK};
use crate::text::width;

/// From the foot of a panel to the largest number on the axis.
const PLOT_HEIGHT: i32 = 260;
const THICKNESS: u32 = 2;
/// The width of a sample in the legend: the longest pattern, once.
const SAMPLE: i32 = 36;
/// Between two numbers below the axis, at least.
const APART: i32 = 12;

const NUMBER: Style = style(12, false, Align::Centre, false);

/// What is drawn and left out by turns along a line, in pixels.
const DASHES: [&[f64]; 8] = [
    &[],
    &[10.0, 4.0],
    &[3.0, 3.0],
    &[10.0, 3.0, 3.0, 3.0],
    &[18.0, 4.0],
    &[18.0, 3.0, 3.0, 3.0],
    &[6.0, 6.0],
    &[18.0, 3.0, 3.0, 3.0, 3.0, 3.0],
];

/// A chart of lines.
///
/// ```
/// use recoup_draw::chart::{Drawn, LineChart, LinePanel, Scale};
///
/// let chart = LineChart {
///     title: "Half of the flows take 80 ms, half 280 ms".into(),
///     x_label: "FCT (ms)".into(),
///     y_label: "share of the flows".into(),
///     scale: Scale::Linear,
///     largest: Some(1.0),
///     drawn: Drawn::Steps,
///     series: vec!["linux-3.17".into()],
///     panels: vec![LinePanel {
///         title: String::new(),
///         lines: vec![vec![(80.0, 0.0), (80.0, 0.5), (280.0, 1.0)]],
///     }],
/// };
/// assert!(chart.to_svg().starts_with("<svg "));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LineChart {
    /// Above everything; none when empty.
    pub title: String,
    /// What x is, with its unit: below the last panel.
    pub x_label: String,
    /// What y is, with its unit: beside each panel.
    pub y_label: String,
    /// How x is spread.
    pub scale: Scale,
    /// What the y axis must reach, at least; `None`: the largest y drawn.
    pub largest: Option<f64>,
    /// How points are joined.
    pub drawn: Drawn,
    /// The lines of each panel, named in the legend. A chart with one series has no legend.
    pub series: Vec<String>,
    /// From top to bottom.
    pub panels: Vec<LinePanel>,
}

/// One set of axes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinePanel {
    /// Above the axes; none when empty.
    pub title: String,
    /// The points (x, y) of each series from left to right; what is beyond the series is ignored.
    /// Points that are not finite or negative, and with a logarithmic scale those with x = 0, are
    /// left out, and the line is broken there.
    pub lines: Vec<Vec<(f64, f64)>>,
}

/// How x is spread over the width.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// From 0, evenly.
    #[default]
    Linear,
    /// From the smallest x, evenly by its logarithm.
    Logarithmic,
}

/// How points are joined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Drawn {
    /// Each with the next by a straight line.
    #[default]
    Lines,
    /// Each y holds until the next x, as in a distribution function.
    Steps,
}

impl LineChart {
    /// The chart as an SVG document, 900 px wide. All panels share their scales.
    pub fn to_svg(&self) -> String {
        let largest = self.points().map(|(_, y)| y).fold(0.0, f64::max);
        let layout = Layout::of(Content {
            title: &self.title,
            x_label: &self.x_label,
            y_label: &self.y_label,
            series: &self.series,
            swatch: SAMPLE,
            panels: self.panels.iter().map(|panel| &*panel.title).collect(),
            axis: Axis::covering(self.largest.map_or(largest, |given| given.max(largest))),
            plot_height: PLOT_HEIGHT,
            headroom: 8,
            foot: 22,
        });
        let painter = Painter {
            chart: self,
            across: self.across(),
        };
        to_svg(&layout, &painter)
    }

    /// The horizontal axis.
    fn across(&self) -> Across {
        let (low, high) = self
            .points()
            .map(|(x, _)| x)
            .fold((f64::MAX, 0.0), |(low, high), x| (x.min(low), x.max(high)));
        match self.scale {
            Scale::Linear => Across::Linear(Axis::covering(high)),
            Scale::Logarithmic if low <= high => Across::Log(LogAxis::between(low, high)),
            Scale::Logarithmic => Across::Log(LogAxis::between(1.0, 1.0)),
        }
    }

    /// Whether a point has a place in the chart.
    fn shows(&self, (x, y): (f64, f64)) -> bool {
        let from = match self.scale {
            Scale::Linear => x >= 0.0,
            Scale::Logarithmic => x > 0.0,
        };
        from && x.is_finite() && y.is_finite() && y >= 0.0
    }

    /// All points drawn.
    fn points<'a>(&'a self) -> impl Iterator<Item = (f64, f64)> + 'a {
        let lines = |panel: &'a LinePanel| panel.lines.iter().take(self.series.len());
        let points = self.panels.iter().flat_map(lines).flatten().copied();
        points.filter(|point| self.shows(*point))
    }
}

/// A horizontal axis.
#[derive(Clone, Copy, Debug)]
enum Across {
    Linear(Axis),
    Log(LogAxis),
}

impl Across {
    fn part(self, x: f64) -> f64 {
        match self {
            Self::Linear(axis) => axis.part(x),
            Self::Log(axis) => axis.part(x),
        }
    }

    fn pixel(self, x: f64) -> i32 {
        LEFT + (self.part(x) * f64::from(RIGHT - LEFT)).round() as i32
    }

    fn ticks(self) -> Vec<(f64, String)> {
        match self {
            Self::Linear(axis) => axis.ticks().collect(),
            Self::Log(axis) => axis.ticks(|ticks| self.apart(ticks)),
        }
    }

    /// Whether no two neighbouring numbers touch.
    fn apart(self, ticks: &[(f64, String)]) -> bool {
        let half = |text: &str| width(text, NUMBER.size).div_euclid(2);
        ticks.windows(2).all(|pair| {
            let [(a, left), (b, right)] = pair else {
                return true;
            };
            self.pixel(*b) - self.pixel(*a) >= half(left) + half(right) + APART
        })
    }
}

struct Painter<'a> {
    chart: &'a LineChart,
    across: Across,
}

impl Draw for Painter<'_> {
    fn sample(&self, canvas: &Canvas<'_>, i: usize, (x, y): (i32, i32)) {
        let y = y + SWATCH / 2;
        self.draw_line(canvas, i, &[(x, y), (x + SAMPLE, y)]);
    }

    fn panel(&self, canvas: &Canvas<'_>, i: usize, frame: &Frame, axis: &Axis) {
        self.draw_numbers(canvas, frame);
        let lines = self.chart.panels[i].lines.iter().enumerate();
        for (series, points) in lines.take(self.chart.series.len()) {
            for part in points.split(|point| !self.chart.shows(*point)) {
                let place = |(x, y): &(f64, f64)| (self.across.pixel(*x), frame.y(axis.part(*y)));
                let corners = match self.chart.drawn {
                    Drawn::Lines => part.iter().map(place).collect(),
                    Drawn::Steps => steps(part.iter().map(place)),
                };
                self.draw_line(canvas, series, &corners);
            }
        }
    }
}

impl Painter<'_> {
    /// The numbers below a panel, and a faint line up from each.
    fn draw_numbers(&self, canvas: &Canvas<'_>, frame: &Frame) {
        for (value, text) in self.across.ticks() {
            let x = self.across.pixel(value);
            if x > frame.left {
                canvas.fill((x, frame.top), (x + 1, frame.bottom), FAINT);
            }
            canvas.fill((x, frame.bottom), (x + 1, frame.bottom + 5), INK);
            let inside = WIDTH - 2 - width(&text, NUMBER.size) / 2;
            canvas.text(&text, (x.min(inside), frame.bottom + 12), NUMBER, INK);
        }
    }

    /// A line in the colour and dashes of its series; a dot for a point alone.
    fn draw_line(&self, canvas: &Canvas<'_>, series: usize, corners: &[(i32, i32)]) {
        let colour = Colour::of_line(series, self.chart.series.len());
        if let [(x, y)] = corners {
            return canvas.fill((x - 2, y - 2), (x + 3, y + 3), colour);
        }
        for dash in dashes(corners, DASHES[series % DASHES.len()]) {
            canvas.line(dash, THICKNESS, colour);
        }
    }
}

/// The corners of a line that keeps its height until the next point.
fn steps(points: impl Iterator<Item = (i32, i32)>) -> Vec<(i32, i32)> {
    let mut corners: Vec<(i32, i32)> = Vec::new();
    for (x, y) in points {
        if let Some((_, before)) = corners.last() {
            corners.push((x, *before));
        }
        corners.push((x, y));
    }
    corners
}

/// The pieces of a line that are drawn: `pattern` is the length of a piece, of the gap after it,
/// and so on, repeated along the line. Without a pattern the line is one piece.
fn dashes(corners: &[(i32, i32)], pattern: &[f64]) -> Vec<Vec<(i32, i32)>> {
    let mut corners = corners.to_vec();
    corners.dedup();
    let Some((first, _)) = pattern.first().zip(corners.first()) else {
        return vec![corners];
    };
    // Pieces and gaps by turns.
    let (mut parts, mut part, mut left) = (Vec::new(), vec![corners[0]], *first);
    for ends in corners.windows(2) {
        let (from, to) = (ends[0], ends[1]);
        let (dx, dy) = (f64::from(to.0 - from.0), f64::from(to.1 - from.1));
        let length = dx.hypot(dy);
        let along = |gone: f64| {
            let [dx, dy] = [dx, dy].map(|d| (d * gone / length).round() as i32);
            (from.0 + dx, from.1 + dy)
        };
        let mut gone = 0.0;
        while length - gone >= left {
            gone += left;
            part.push(along(gone));
            parts.push(std::mem::replace(&mut part, vec![along(gone)]));
            left = pattern[parts.len() % pattern.len()];
        }
        left -= length - gone;
        part.push(to);
    }
    parts.push(part);
    let pieces = parts.into_iter().step_by(2).map(|mut piece| {
        piece.dedup();
        piece
    });
    pieces.filter(|piece| piece.len() > 1).collect()
}

#[cfg(test)]
mod tests;
