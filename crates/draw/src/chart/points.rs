//! Point charts: points with an error bar upwards, over a logarithmic x axis, beside the line y = x.
//!
//! The y axis takes both signs: it is linear from −1 to 1 and logarithmic beyond.

use super::{
    ChartPainter,
    axis::{Axis, LogAxis},
    describe,
    horizontal_axis::HorizontalAxis,
    layout::{ChartLayout, Content, PanelFrame, SWATCH},
    lines::{DASHES, PLOT_HEIGHT, SAMPLE, THICKNESS},
    symmetric_axis::SymmetricAxis,
    to_svg,
};
use crate::{
    canvas::{BACKGROUND, Canvas, Colour, FOREGROUND, Point},
    text::four_digits,
};

/// Half the side of a point's square.
const HALF: f64 = 4.0;
/// Half the width of the end of an error bar.
const CAP: f64 = 4.0;
/// The corners with which the line y = x is drawn. It bends at 1 because the y axis does.
const DIAGONAL_STEPS: u32 = 200;

/// A point chart.
///
/// ```
/// use recoup_draw::chart::{PointChart, PointPanel, RangePoint};
///
/// let chart = PointChart {
///     title: "k = 2".into(),
///     x_label: "best case (RTTs)".into(),
///     y_label: "reduction (RTTs)".into(),
///     legend: ["mean, up to the 95th percentile", "below 20 senders", "best case"].map(String::from),
///     panels: vec![PointPanel {
///         title: "linux-2.4".into(),
///         points: vec![RangePoint { x: 3.0, y: 1.5, top: 2.5, is_hollow: false }],
///     }],
/// };
/// assert!(chart.to_svg().starts_with("<svg "));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PointChart {
    /// Title above all panels; empty: no title.
    pub title: String,
    /// The quantity on the x axis with its unit, below the last panel.
    pub x_label: String,
    /// The quantity on the y axis with its unit, beside each panel.
    pub y_label: String,
    /// Names of the filled points, the hollow points and the line y = x.
    pub legend: [String; 3],
    /// From top to bottom.
    pub panels: Vec<PointPanel>,
}

/// One set of axes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PointPanel {
    /// Title above the axes; empty: no title.
    pub title: String,
    /// The points. Those with an x of 0 or less, or with a value that is not finite, are not drawn.
    pub points: Vec<RangePoint>,
}

/// A point with an error bar.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RangePoint {
    /// Its place on the x axis, above 0.
    pub x: f64,
    /// Its place on the y axis.
    pub y: f64,
    /// The other end of its error bar on the y axis.
    pub top: f64,
    /// Whether the point is hollow.
    pub is_hollow: bool,
}

impl RangePoint {
    fn is_shown(&self) -> bool {
        self.x > 0.0 && [self.x, self.y, self.top].iter().all(|v| v.is_finite())
    }
}

impl PointChart {
    /// The chart as an SVG document, 900 px wide. All panels share their scales.
    pub fn to_svg(&self) -> String {
        let points = || self.panels.iter().flat_map(PointPanel::shown);
        let xs = points().map(|point| point.x);
        let (low, high) = xs.fold((f64::MAX, 0.0), |(low, high): (f64, f64), x| (x.min(low), x.max(high)));
        let (low, high) = if low <= high { decades(low, high) } else { (0.1, 10.0) };
        let values = points().flat_map(|point| [point.y, point.top]);
        let layout = ChartLayout::of(Content {
            title: &self.title,
            x_label: &self.x_label,
            y_label: &self.y_label,
            series: &self.legend,
            swatch: SAMPLE,
            panels: self.panels.iter().map(|panel| &*panel.title).collect(),
            axis: Axis::Symmetric(SymmetricAxis::covering(values)),
            plot_height: PLOT_HEIGHT,
            headroom: 8,
            foot: 22,
        });
        let painter = PointPainter {
            chart: self,
            x_axis: HorizontalAxis(Axis::Log(LogAxis::between(low, high))),
            ends: (low, high),
        };
        to_svg(&layout, &painter)
    }
}

impl PointPanel {
    fn shown(&self) -> impl Iterator<Item = &RangePoint> {
        self.points.iter().filter(|point| point.is_shown())
    }
}

struct PointPainter<'a> {
    chart: &'a PointChart,
    x_axis: HorizontalAxis,
    /// The ends of the x axis.
    ends: (f64, f64),
}

impl ChartPainter for PointPainter<'_> {
    fn draw_legend_sample(&self, canvas: &Canvas<'_>, i: usize, (x, y): (i32, i32)) {
        let (left, y) = (f64::from(x), f64::from(y + SWATCH / 2));
        match i {
            0 | 1 => draw_point(canvas, (left + f64::from(SAMPLE) / 2.0, y), i == 1),
            _ => draw_dashed(canvas, &[(left, y), (left + f64::from(SAMPLE), y)]),
        }
    }

    fn draw_panel(&self, canvas: &Canvas<'_>, i: usize, frame: &PanelFrame, axis: &Axis) {
        self.x_axis.draw_numbers(canvas, frame);
        let zero = frame.exact_y(axis.part(0.0));
        let (left, right) = (f64::from(frame.left), f64::from(frame.right));
        canvas.fill((left, zero), (right, zero + 1.0), FOREGROUND);
        self.draw_diagonal(canvas, frame, axis);
        for point in self.chart.panels[i].shown() {
            let at = |y| (self.x_axis.pixel(point.x), frame.exact_y(axis.part(y)));
            let ((x, y), (_, top)) = (at(point.y), at(point.top));
            canvas.described(&self.text(point), || {
                canvas.line([(x, y), (x, top)], THICKNESS, point_colour());
                canvas.line([(x - CAP, top), (x + CAP, top)], THICKNESS, point_colour());
                draw_point(canvas, (x, y), point.is_hollow);
            });
        }
    }
}

impl PointPainter<'_> {
    fn text(&self, point: &RangePoint) -> String {
        let name = &self.chart.legend[usize::from(point.is_hollow)];
        let values = format!("{}, up to {}", four_digits(point.y), four_digits(point.top));
        let quantities = [(&*self.chart.x_label, &*four_digits(point.x)), (&self.chart.y_label, &values)];
        describe(name, &quantities)
    }

    /// Draws y = x from one end of the x axis to the other, as far as the y axis goes.
    fn draw_diagonal(&self, canvas: &Canvas<'_>, frame: &PanelFrame, axis: &Axis) {
        let (low, high) = self.ends;
        let step = |i: u32| low * (high / low).powf(f64::from(i) / f64::from(DIAGONAL_STEPS));
        let on_axis = (0..=DIAGONAL_STEPS).map(step).take_while(|x| axis.part(*x) < 1.0);
        let corners = on_axis.map(|x| (self.x_axis.pixel(x), frame.exact_y(axis.part(x))));
        draw_dashed(canvas, &corners.collect::<Vec<_>>());
    }
}

/// The powers of ten around two positive numbers.
fn decades(low: f64, high: f64) -> (f64, f64) {
    let (first, last) = (low.log10().floor(), high.log10().ceil());
    // Beyond these bounds, the axis ends.
    let [first, last] = [first, last.max(first + 1.0)].map(|power| power.clamp(-290.0, 290.0));
    (10f64.powf(first), 10f64.powf(last))
}

fn point_colour() -> Colour {
    Colour::of_line(0, 2)
}

fn draw_point(canvas: &Canvas<'_>, (x, y): Point, is_hollow: bool) {
    let square = |half: f64| ((x - half, y - half), (x + half, y + half));
    let (from, to) = square(HALF);
    canvas.fill(from, to, point_colour());
    if is_hollow {
        let (from, to) = square(HALF - THICKNESS);
        canvas.fill(from, to, BACKGROUND);
    }
}

fn draw_dashed(canvas: &Canvas<'_>, corners: &[Point]) {
    canvas.dashed_line(corners, THICKNESS, DASHES[1], Colour::of_line(1, 2));
}

#[cfg(test)]
mod tests;
