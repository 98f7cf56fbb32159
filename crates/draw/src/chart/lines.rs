//! Line charts: each panel has one line per series, through its points or as steps.
//!
//! Each series has its own colour and dash pattern, so readers can distinguish them in black and white
//! too.

use super::{
    ChartPainter,
    axis::{Axis, LinearAxis, LogAxis},
    describe,
    horizontal_axis::HorizontalAxis,
    layout::{ChartLayout, Content, PanelFrame, SWATCH},
    to_svg,
};
use crate::{
    canvas::{Canvas, Colour, Point},
    text::four_digits,
};

/// The height from a panel's x axis to the largest number on its y axis.
pub(super) const PLOT_HEIGHT: i32 = 260;
pub(super) const THICKNESS: f64 = 2.0;
/// Points that are nearer than this to each other in both directions are one, in pixels.
const NEAR: f64 = 0.1;
/// The width of a sample in the legend: one period of the longest dash pattern.
pub(super) const SAMPLE: i32 = 36;

/// The dash pattern of each series: lengths of dashes and gaps in turn, in pixels.
pub(super) const DASHES: [&[f64]; 8] = [
    &[],
    &[10.0, 4.0],
    &[3.0, 3.0],
    &[10.0, 3.0, 3.0, 3.0],
    &[18.0, 4.0],
    &[18.0, 3.0, 3.0, 3.0],
    &[6.0, 6.0],
    &[18.0, 3.0, 3.0, 3.0, 3.0, 3.0],
];

/// A line chart.
///
/// ```
/// use recoup_draw::chart::{Interpolation, LineChart, LinePanel, Scale};
///
/// let chart = LineChart {
///     title: "Half of the flows take 80 ms, half 280 ms".into(),
///     x_label: "FCT (ms)".into(),
///     y_label: "share of the flows".into(),
///     scale: Scale::Linear,
///     y_scale: Scale::Linear,
///     largest: Some(1.0),
///     interpolation: Interpolation::Steps,
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
    /// Title above all panels; empty: no title.
    pub title: String,
    /// The quantity on the x axis with its unit, below the last panel.
    pub x_label: String,
    /// The quantity on the y axis with its unit, beside each panel.
    pub y_label: String,
    /// The scale of the x axis.
    pub scale: Scale,
    /// The scale of the y axis.
    pub y_scale: Scale,
    /// A value that the y axis reaches at least; `None`: the largest y drawn.
    pub largest: Option<f64>,
    /// How points are joined.
    pub interpolation: Interpolation,
    /// The names of the lines in each panel, for the legend. A chart with one series has no legend.
    pub series: Vec<String>,
    /// From top to bottom.
    pub panels: Vec<LinePanel>,
}

/// One set of axes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinePanel {
    /// Title above the axes; empty: no title.
    pub title: String,
    /// The points (x, y) of each series from left to right. Lines beyond the number of series are
    /// ignored. A point with a negative or non-finite coordinate interrupts the line, and so does 0 on a
    /// logarithmic scale.
    pub lines: Vec<Vec<(f64, f64)>>,
}

impl LineChart {
    /// A chart without panels: its title, the labels of its axes, and the names of its series. Both axes are linear.
    pub fn new(
        title: impl Into<String>,
        x_label: impl Into<String>,
        y_label: impl Into<String>,
        series: impl IntoIterator<Item: Into<String>>,
    ) -> Self {
        Self {
            title: title.into(),
            x_label: x_label.into(),
            y_label: y_label.into(),
            series: series.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// Adds a panel: its title, and the points of each series.
    pub fn panel(
        mut self,
        title: impl Into<String>,
        lines: impl IntoIterator<Item: IntoIterator<Item = (f64, f64)>>,
    ) -> Self {
        let lines = lines.into_iter().map(|line| line.into_iter().collect()).collect();
        self.panels.push(LinePanel { title: title.into(), lines });
        self
    }

    /// Makes the x axis logarithmic.
    pub fn logarithmic(self) -> Self {
        Self { scale: Scale::Logarithmic, ..self }
    }

    /// Makes the y axis reach this value at least.
    pub fn up_to(self, largest: f64) -> Self {
        Self { largest: Some(largest), ..self }
    }

    /// Draws steps, as of a distribution function.
    pub fn steps(self) -> Self {
        Self { interpolation: Interpolation::Steps, ..self }
    }
}

/// The scale of an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Linear, from 0.
    #[default]
    Linear,
    /// Logarithmic, from the smallest value.
    Logarithmic,
}

impl Scale {
    pub(super) fn shows(self, value: f64) -> bool {
        let from = match self {
            Self::Linear => value >= 0.0,
            Self::Logarithmic => value > 0.0,
        };
        from && value.is_finite()
    }

    /// The axis that shows these values.
    pub(super) fn axis(self, values: impl Iterator<Item = f64>) -> Axis {
        let (low, high) =
            values.fold((f64::MAX, 0.0), |(low, high): (f64, f64), value| (value.min(low), value.max(high)));
        match self {
            Self::Linear => Axis::Linear(LinearAxis::covering(high)),
            Self::Logarithmic if low <= high => Axis::Log(LogAxis::between(low, high)),
            Self::Logarithmic => Axis::Log(LogAxis::between(1.0, 1.0)),
        }
    }
}

/// How points are joined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interpolation {
    /// A straight line from each point to the next.
    #[default]
    Linear,
    /// Each y holds until the next x, as in a distribution function.
    Steps,
}

impl LineChart {
    /// The chart as an SVG document, 900 px wide. All panels share their scales.
    pub fn to_svg(&self) -> String {
        let given = self.largest.filter(|value| self.y_scale.shows(*value));
        // A logarithmic axis has at least a decade, which lies below that value.
        let decade = given.filter(|_| self.y_scale == Scale::Logarithmic);
        let given = given.into_iter().chain(decade.map(|value| value / 10.0));
        let layout = ChartLayout::of(Content {
            title: &self.title,
            x_label: &self.x_label,
            y_label: &self.y_label,
            series: &self.series,
            swatch: SAMPLE,
            panels: self.panels.iter().map(|panel| &*panel.title).collect(),
            axis: self.y_scale.axis(self.points().map(|(_, y)| y).chain(given)),
            plot_height: PLOT_HEIGHT,
            headroom: 8,
            foot: 22,
        });
        let painter = LinePainter { chart: self, x_axis: self.x_axis() };
        to_svg(&layout, &painter)
    }

    fn x_axis(&self) -> HorizontalAxis {
        HorizontalAxis(self.scale.axis(self.points().map(|(x, _)| x)))
    }

    /// Whether a point can be drawn.
    fn shows(&self, (x, y): (f64, f64)) -> bool {
        self.scale.shows(x) && self.y_scale.shows(y)
    }

    /// All points drawn.
    fn points<'a>(&'a self) -> impl Iterator<Item = (f64, f64)> + 'a {
        let lines = |panel: &'a LinePanel| panel.lines.iter().take(self.series.len());
        let points = self.panels.iter().flat_map(lines).flatten().copied();
        points.filter(|point| self.shows(*point))
    }
}

struct LinePainter<'a> {
    chart: &'a LineChart,
    x_axis: HorizontalAxis,
}

impl ChartPainter for LinePainter<'_> {
    fn draw_legend_sample(&self, canvas: &Canvas<'_>, i: usize, (x, y): (i32, i32)) {
        let (left, y) = (f64::from(x), f64::from(y + SWATCH / 2));
        let ends = [(left, y), (left + f64::from(SAMPLE), y)];
        canvas.dashed_line(&ends, THICKNESS, self.dashes(i), self.colour(i));
    }

    fn draw_panel(&self, canvas: &Canvas<'_>, i: usize, frame: &PanelFrame, axis: &Axis) {
        self.x_axis.draw_numbers(canvas, frame);
        let lines = self.chart.panels[i].lines.iter().enumerate();
        for (series, points) in lines.take(self.chart.series.len()) {
            for part in points.split(|point| !self.chart.shows(*point)) {
                let place = |(x, y): &(f64, f64)| (self.x_axis.pixel(*x), frame.exact_y(axis.part(*y)));
                let points: Vec<_> = part.iter().map(|point| (*point, place(point))).collect();
                self.draw_line(canvas, series, &distinct(&points));
            }
        }
    }
}

/// A point of a line: its values and its place.
type Vertex = ((f64, f64), Point);

impl LinePainter<'_> {
    fn colour(&self, series: usize) -> Colour {
        Colour::of_line(series, self.chart.series.len())
    }

    fn dashes(&self, series: usize) -> &'static [f64] {
        DASHES[series % DASHES.len()]
    }

    /// Draws a line in the colour and dash pattern of its series, or a dot for a single point.
    fn draw_line(&self, canvas: &Canvas<'_>, series: usize, points: &[Vertex]) {
        let (name, colour) = (&self.chart.series[series], self.colour(series));
        if let [((x, y), place)] = points {
            let quantities = [(&*self.chart.x_label, &*four_digits(*x)), (&self.chart.y_label, &four_digits(*y))];
            return canvas.described(&describe(name, &quantities), || {
                let (left, top) = (place.0 - 2.5, place.1 - 2.5);
                canvas.fill((left, top), (left + 5.0, top + 5.0), colour);
            });
        }
        let places = points.iter().map(|(_, place)| *place);
        let corners = match self.chart.interpolation {
            Interpolation::Linear => places.collect(),
            Interpolation::Steps => steps(places),
        };
        let values = points.iter();
        let values = values.map(|((x, y), _)| format!("{},{}", four_digits(*x), four_digits(*y)));
        let values = values.collect::<Vec<_>>().join(" ");
        if corners.len() > 1 {
            let dashes = self.dashes(series);
            canvas.data_line(&corners, THICKNESS, dashes, colour, (name, &values));
        }
    }
}

/// The points without those that lie where the one before lies.
fn distinct(points: &[Vertex]) -> Vec<Vertex> {
    let mut kept: Vec<Vertex> = Vec::new();
    for (i, point) in points.iter().enumerate() {
        let is_near = |last: &Vertex| {
            let ((x, y), (left, top)) = (point.1, last.1);
            (x - left).abs() < NEAR && (y - top).abs() < NEAR
        };
        let is_last = i + 1 == points.len();
        if is_last || !kept.last().is_some_and(is_near) {
            kept.push(*point);
        }
    }
    kept
}

/// The corners of a line that stays level until the next point.
fn steps(points: impl Iterator<Item = Point>) -> Vec<Point> {
    let mut corners: Vec<Point> = Vec::new();
    for (x, y) in points {
        if let Some((_, before)) = corners.last() {
            corners.push((x, *before));
        }
        corners.push((x, y));
    }
    corners
}

#[cfg(test)]
mod tests;
