//! Box plots: each panel has one box per distribution.
//!
//! A box reaches from the first to the third quartile, with a line at the median. Its whiskers end at the 5th and
//! the 95th percentile, and a dot is the mean.

use super::{
    ChartPainter, Scale,
    axis::Axis,
    bars::{GroupColumns, GroupLabels, draw_box},
    describe,
    layout::{ChartLayout, Content, PanelFrame, SWATCH},
    lines::{PLOT_HEIGHT, THICKNESS},
    to_svg,
};
use crate::{
    canvas::{BACKGROUND, Canvas, Colour, FOREGROUND},
    text::four_digits,
};

const WIDEST_BOX: f64 = 80.0;
/// The part of a group's width that its box fills.
const FILLED: f64 = 0.5;
/// Half the side of the dot at the mean.
const DOT: f64 = 3.5;

/// A chart of boxes.
///
/// ```
/// use recoup_draw::chart::{BoxChart, BoxPanel, Quantiles, Scale};
///
/// let chart = BoxChart {
///     title: "Flow completion times".into(),
///     x_label: "profile".into(),
///     y_label: "FCT (ms)".into(),
///     scale: Scale::Linear,
///     panels: vec![BoxPanel {
///         title: String::new(),
///         boxes: vec![(
///             "linux-6".into(),
///             Some(Quantiles { p5: 80.0, p25: 90.0, p50: 95.0, p75: 120.0, p95: 400.0, mean: 130.0 }),
///         )],
///     }],
/// };
/// assert!(chart.to_svg().starts_with("<svg "));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BoxChart {
    /// Title above all panels; empty: no title.
    pub title: String,
    /// The quantity that distinguishes the boxes, below the last panel.
    pub x_label: String,
    /// The quantity on the y axis with its unit, beside each panel.
    pub y_label: String,
    /// The scale of the y axis.
    pub scale: Scale,
    /// From top to bottom.
    pub panels: Vec<BoxPanel>,
}

/// One set of axes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BoxPanel {
    /// Title above the axes; empty: no title.
    pub title: String,
    /// Label and quantiles of each box, from left to right. A distribution that is `None`, or has a value that the
    /// scale does not show, is drawn as a dash.
    pub boxes: Vec<(String, Option<Quantiles>)>,
}

/// Quantiles and mean of a distribution, shown as one box.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Quantiles {
    /// The 5th percentile.
    pub p5: f64,
    /// The first quartile.
    pub p25: f64,
    /// The median.
    pub p50: f64,
    /// The third quartile.
    pub p75: f64,
    /// The 95th percentile.
    pub p95: f64,
    /// The mean.
    pub mean: f64,
}

impl Quantiles {
    fn values(&self) -> [f64; 6] {
        [self.p5, self.p25, self.p50, self.p75, self.p95, self.mean]
    }
}

impl BoxChart {
    /// The chart as an SVG document, 900 px wide. All panels share their scale.
    pub fn to_svg(&self) -> String {
        let shown = self.panels.iter().flat_map(|panel| &panel.boxes);
        let values = shown.filter_map(|one| self.shown(one));
        let values = values.flat_map(|quantiles| quantiles.values());
        let panels = self.panels.iter();
        let labels = GroupLabels::of(panels.map(|panel| {
            let labels = panel.boxes.iter().map(|(label, _)| label.as_str());
            labels.collect()
        }));
        let layout = ChartLayout::of(Content {
            title: &self.title,
            x_label: &self.x_label,
            y_label: &self.y_label,
            series: &[],
            swatch: SWATCH,
            panels: self.panels.iter().map(|panel| &*panel.title).collect(),
            axis: self.scale.axis(values),
            plot_height: PLOT_HEIGHT,
            headroom: 8,
            foot: labels.height,
        });
        to_svg(&layout, &BoxPainter { chart: self, labels })
    }

    /// The quantiles of a box, if they can be drawn.
    fn shown<'a>(&self, (_, quantiles): &'a (String, Option<Quantiles>)) -> Option<&'a Quantiles> {
        let quantiles = quantiles.as_ref()?;
        let can_show = |value: &f64| self.scale.shows(*value);
        quantiles.values().iter().all(can_show).then_some(quantiles)
    }
}

struct BoxPainter<'a> {
    chart: &'a BoxChart,
    labels: GroupLabels,
}

impl ChartPainter for BoxPainter<'_> {
    /// There is one kind of box, so the chart has no legend.
    fn draw_legend_sample(&self, _: &Canvas<'_>, _: usize, _: (i32, i32)) {}

    fn draw_panel(&self, canvas: &Canvas<'_>, i: usize, frame: &PanelFrame, axis: &Axis) {
        let boxes = &self.chart.panels[i].boxes;
        let columns = GroupColumns::of(frame, boxes.len());
        let half = (columns.each * FILLED).min(WIDEST_BOX) / 2.0;
        for (number, one) in boxes.iter().enumerate() {
            let centre = columns.centre(number);
            if self.labels.shows(number) {
                self.labels.draw(canvas, &one.0, centre, frame);
            }
            let Some(quantiles) = self.chart.shown(one) else {
                super::bars::draw_dash(canvas, centre, frame);
                continue;
            };
            let colour = Colour::of_series(number, boxes.len());
            canvas.described(&text(&one.0, quantiles), || {
                let place = (f64::from(centre), half);
                let y = |value| frame.exact_y(axis.part(value));
                draw_quantiles(canvas, quantiles, place, colour, y);
            });
        }
    }
}

/// The name of a box and its numbers.
fn text(label: &str, quantiles: &Quantiles) -> String {
    let [p5, p25, p50, p75, p95, mean] = quantiles.values().map(four_digits);
    let quantities = [
        ("5th percentile", &*p5),
        ("1st quartile", &p25),
        ("median", &p50),
        ("3rd quartile", &p75),
        ("95th percentile", &p95),
        ("mean", &mean),
    ];
    describe(label, &quantities)
}

/// Draws a box with its whiskers around `x`, `half` as wide to each side.
fn draw_quantiles(
    canvas: &Canvas<'_>,
    quantiles: &Quantiles,
    (x, half): (f64, f64),
    colour: Colour,
    y: impl Fn(f64) -> f64,
) {
    let [p5, p25, p50, p75, p95, mean] = quantiles.values().map(y);
    let cap = half / 2.0;
    for (from, to) in [(p25, p5), (p75, p95)] {
        canvas.line([(x, from), (x, to)], THICKNESS, FOREGROUND);
        canvas.line([(x - cap, to), (x + cap, to)], THICKNESS, FOREGROUND);
    }
    let whole = |value: f64| value.round() as i32;
    let (left, right) = (whole(x - half), whole(x + half));
    // A box of equal quartiles is a line.
    let (top, bottom) = (whole(p75), whole(p25).max(whole(p75) + 1));
    draw_box(canvas, (left, top), (right, bottom), colour);
    // The median is visible on every colour: dark with a light edge.
    let median = |thickness, paint| {
        let ends = [(x - half + 1.0, p50), (x + half - 1.0, p50)];
        canvas.line(ends, thickness, paint);
    };
    median(THICKNESS + 2.0, BACKGROUND);
    median(THICKNESS, FOREGROUND);
    let square = |half: f64, paint| {
        canvas.fill((x - half, mean - half), (x + half, mean + half), paint);
    };
    square(DOT, FOREGROUND);
    square(DOT - 1.5, BACKGROUND);
}

#[cfg(test)]
mod tests;
