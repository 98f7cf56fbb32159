//! Bar charts: each panel has groups of bars, and each group has one bar per series (mechanism).

use super::{
    ChartPainter,
    axis::{Axis, LinearAxis},
    describe,
    layout::{ChartLayout, Content, LEFT, PanelFrame, RIGHT, SWATCH},
    to_svg,
};
use crate::{
    canvas::{Align, BACKGROUND, Canvas, Colour, FOREGROUND, Style, style},
    text::{cut, four_digits, width},
};

/// The height from a panel's x axis to the largest number on its y axis.
const PLOT_HEIGHT: i32 = 190;
/// The part of a group's width that its bars fill.
const FILLED: f64 = 0.82;
const WIDEST_BAR: f64 = 64.0;
/// The height of the longest upright group label; longer ones are cut.
const LABEL_HEIGHT: i32 = 130;
/// The distance from a bar's top to the middle of a level number above it, or to the foot of an
/// upright number.
const VALUE_GAP: i32 = 6;

const GROUP: Style = style(12, false, Align::Centre, false);
const DASH: Style = style(12, false, Align::Centre, false);
const VALUE: Style = style(10, false, Align::Centre, false);
const UPRIGHT_VALUE: Style = style(10, false, Align::Left, true);

/// A chart of grouped bars.
///
/// ```
/// use recoup_draw::chart::{BarChart, BarGroup, BarPanel};
///
/// let chart = BarChart {
///     title: "A single tail loss".into(),
///     x_label: "RTT (ms)".into(),
///     y_label: "Normalised FCT".into(),
///     series: vec!["linux-3.17".into(), "linux-3.17+rtor".into()],
///     panels: vec![BarPanel {
///         title: "Quick ACKs".into(),
///         groups: vec![BarGroup {
///             label: "80".into(),
///             values: vec![Some(1.0), Some(0.846)],
///         }],
///     }],
/// };
/// assert!(chart.to_svg().starts_with("<svg "));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BarChart {
    /// Title above all panels; empty: no title.
    pub title: String,
    /// The quantity that distinguishes the groups, with its unit, below the last panel.
    pub x_label: String,
    /// The quantity of the values with its unit, beside each panel.
    pub y_label: String,
    /// The names of the bars in each group, for the legend. A chart with one series has no legend.
    pub series: Vec<String>,
    /// From top to bottom.
    pub panels: Vec<BarPanel>,
}

/// One set of axes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BarPanel {
    /// Title above the axes; empty: no title.
    pub title: String,
    /// From left to right.
    pub groups: Vec<BarGroup>,
}

/// Adjacent bars with a common label, one per series.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BarGroup {
    /// Label below the bars.
    pub label: String,
    /// One value per series, 0 or more, in the chart's unit. A value that is `None`, missing, negative
    /// or not finite is drawn as a dash in place of the bar. Values beyond the number of series are
    /// ignored.
    pub values: Vec<Option<f64>>,
}

impl BarChart {
    /// A chart without panels: its title, the labels of its axes, and the names of its series.
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
            panels: Vec::new(),
        }
    }

    /// Adds a panel: its title, and its groups, each with a label and a value per series.
    pub fn panel<L: Into<String>, V: IntoIterator<Item = Option<f64>>>(
        mut self,
        title: impl Into<String>,
        groups: impl IntoIterator<Item = (L, V)>,
    ) -> Self {
        let group = |(label, values): (L, V)| BarGroup { label: label.into(), values: values.into_iter().collect() };
        let groups = groups.into_iter().map(group).collect();
        self.panels.push(BarPanel { title: title.into(), groups });
        self
    }
}

impl BarGroup {
    /// The value of a series, if it can be drawn.
    fn value(&self, series: usize) -> Option<f64> {
        let value = self.values.get(series).copied().flatten();
        value.filter(|v| v.is_finite() && *v >= 0.0)
    }
}

impl BarChart {
    /// The chart as an SVG document, 900 px wide.
    ///
    /// All panels share one scale, from 0 to 1, or further if a value is larger.
    pub fn to_svg(&self) -> String {
        let value_labels = self.value_labels();
        let labels = GroupLabels::of(self.panels.iter().map(|panel| {
            let labels = panel.groups.iter().map(|group| group.label.as_str());
            labels.collect()
        }));
        let layout = ChartLayout::of(Content {
            title: &self.title,
            x_label: &self.x_label,
            y_label: &self.y_label,
            series: &self.series,
            swatch: SWATCH,
            panels: self.panels.iter().map(|panel| &*panel.title).collect(),
            axis: Axis::Linear(LinearAxis::up_to(self.values().fold(0.0, f64::max))),
            plot_height: PLOT_HEIGHT,
            headroom: match value_labels {
                None => 6,
                Some(style) if style.upright => self.widest_number() + VALUE_GAP + 4,
                Some(_) => 16,
            },
            foot: labels.height,
        });
        let painter = BarPainter { chart: self, labels, value_labels };
        to_svg(&layout, &painter)
    }

    /// The values drawn.
    fn values(&self) -> impl Iterator<Item = f64> {
        let groups = self.panels.iter().flat_map(|panel| &panel.groups);
        groups.flat_map(|group| (0..self.series.len()).filter_map(|i| group.value(i)))
    }

    fn widest_number(&self) -> i32 {
        let height = |value| width(&value_text(value), VALUE.size);
        self.values().map(height).max().unwrap_or(0)
    }

    /// The style of the numbers above the bars in which neighbours do not touch in any panel; `None`
    /// when there is none.
    fn value_labels(&self) -> Option<Style> {
        const MIN_GAP: f64 = 4.0;
        let groups = self.panels.iter().map(|panel| panel.groups.len()).max()?;
        let pitch = GroupColumns::pitch(groups, self.series.len());
        let widest = f64::from(self.widest_number());
        [(VALUE, widest), (UPRIGHT_VALUE, f64::from(VALUE.size))]
            .into_iter()
            .find(|(_, across)| across + MIN_GAP <= pitch)
            .map(|(style, _)| style)
    }
}

/// The number above a bar.
fn value_text(value: f64) -> String {
    match value {
        v if v < 1000.0 => format!("{v:.2}"),
        v => format!("{v:.1e}"),
    }
}

/// A chart with the placement of its texts.
struct BarPainter<'a> {
    chart: &'a BarChart,
    labels: GroupLabels,
    /// The style of the numbers above the bars; `None`: they do not fit.
    value_labels: Option<Style>,
}

impl ChartPainter for BarPainter<'_> {
    fn draw_legend_sample(&self, canvas: &Canvas<'_>, i: usize, (x, y): (i32, i32)) {
        let colour = Colour::of_series(i, self.chart.series.len());
        draw_box(canvas, (x, y), (x + SWATCH, y + SWATCH), colour);
    }

    fn draw_panel(&self, canvas: &Canvas<'_>, i: usize, frame: &PanelFrame, axis: &Axis) {
        let panel = &self.chart.panels[i];
        let groups = GroupColumns::of(frame, panel.groups.len());
        for (i, group) in panel.groups.iter().enumerate() {
            if self.labels.shows(i) {
                self.labels.draw(canvas, &group.label, groups.centre(i), frame);
            }
            let bars = groups.bars(i, self.chart.series.len());
            self.draw_bars(canvas, group, &bars, frame, axis);
        }
    }
}

impl BarPainter<'_> {
    fn draw_bars(&self, canvas: &Canvas<'_>, group: &BarGroup, bars: &BarPositions, frame: &PanelFrame, axis: &Axis) {
        for series in 0..self.chart.series.len() {
            let (left, right) = bars.edges(series);
            let centre = (left + right) / 2;
            let Some(value) = group.value(series) else {
                draw_dash(canvas, centre, frame);
                continue;
            };
            let top = frame.y(axis.part(value));
            let colour = Colour::of_series(series, self.chart.series.len());
            let quantities = [(&*self.chart.x_label, &*group.label), (&*self.chart.y_label, &*four_digits(value))];
            let text = describe(&self.chart.series[series], &quantities);
            canvas.described(&text, || {
                draw_box(canvas, (left, top), (right, frame.bottom), colour);
            });
            if let Some(style) = self.value_labels {
                draw_number(canvas, &value_text(value), (centre, top), style);
            }
        }
    }
}

/// Draws a number above a bar whose top is at `top`, on a clear ground so that no grid line crosses it.
fn draw_number(canvas: &Canvas<'_>, number: &str, (x, top): (i32, i32), style: Style) {
    let y = top - VALUE_GAP;
    let (along, across) = (width(number, style.size), style.size);
    let (from, to) = if style.upright {
        ((x - across / 2, y - along), (x + across / 2, y + 2))
    } else {
        ((x - along / 2, y - across / 2), (x + along / 2, y + across / 2))
    };
    canvas.fill(from, to, BACKGROUND);
    canvas.text(number, (x, y), style, FOREGROUND);
}

/// Draws a dash in place of a value that is unknown.
pub(super) fn draw_dash(canvas: &Canvas<'_>, x: i32, frame: &PanelFrame) {
    canvas.text("–", (x, frame.bottom - 6), DASH, FOREGROUND);
}

/// Draws a box of `colour` with a dark edge inside its bounds.
pub(super) fn draw_box(canvas: &Canvas<'_>, (x0, y0): (i32, i32), (x1, y1): (i32, i32), colour: Colour) {
    if x1 - x0 < 4 {
        return canvas.fill((x0, y0), (x1, y1), colour);
    }
    canvas.fill((x0, y0), (x1, y1), FOREGROUND);
    if y1 - y0 > 2 {
        canvas.fill((x0 + 1, y0 + 1), (x1 - 1, y1 - 1), colour);
    }
}

/// The division of a panel's width among its groups.
pub(super) struct GroupColumns {
    left: f64,
    /// The width of each group.
    pub each: f64,
}

impl GroupColumns {
    pub fn of(frame: &PanelFrame, count: usize) -> Self {
        Self { left: f64::from(frame.left), each: f64::from(frame.right - frame.left) / count.max(1) as f64 }
    }

    /// The distance from one bar to the next, for the numbers of groups in a panel and of series.
    fn pitch(groups: usize, series: usize) -> f64 {
        let each = f64::from(RIGHT - LEFT) / groups.max(1) as f64;
        (each * FILLED / series.max(1) as f64).min(WIDEST_BAR)
    }

    /// The middle of group `i`.
    pub fn centre(&self, i: usize) -> i32 {
        (self.left + self.each * (i as f64 + 0.5)).round() as i32
    }

    /// The bars of group `i`.
    fn bars(&self, i: usize, series: usize) -> BarPositions {
        let pitch = (self.each * FILLED / series.max(1) as f64).min(WIDEST_BAR);
        let centre = self.left + self.each * (i as f64 + 0.5);
        BarPositions { left: centre - pitch * series as f64 / 2.0, pitch }
    }
}

/// The bars of one group.
struct BarPositions {
    left: f64,
    pitch: f64,
}

impl BarPositions {
    /// Left and right edge of a series's bar. A bar is at least a pixel wide; where there is room, bars
    /// are two pixels apart.
    fn edges(&self, series: usize) -> (i32, i32) {
        let gap = if self.pitch >= 8.0 { 2 } else { 0 };
        let left = (self.left + self.pitch * series as f64).round() as i32;
        let right = (self.left + self.pitch * (series + 1) as f64).round() as i32 - gap;
        (left, right.max(left + 1))
    }
}

/// The placement of the labels below the groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GroupLabels {
    /// The height they need below the axis.
    pub height: i32,
    upright: bool,
    /// Every `every`th group is labelled.
    every: usize,
}

impl GroupLabels {
    /// Labels are level if each fits below its group. Otherwise they are upright, and fewer groups are
    /// labelled if upright labels would touch.
    pub fn of<'a>(panels: impl Iterator<Item = Vec<&'a str>>) -> Self {
        const LINE: i32 = 15;
        let panels: Vec<Vec<&str>> = panels.collect();
        let groups = panels.iter().map(Vec::len).max();
        let each = (RIGHT - LEFT) / i32::try_from(groups.unwrap_or(0).max(1)).unwrap_or(i32::MAX);
        let labels = panels.iter().flatten();
        let longest = labels.map(|label| width(label, GROUP.size)).max();
        let longest = longest.unwrap_or(0);
        if longest + 4 <= each {
            return Self { height: if longest == 0 { 8 } else { 22 }, upright: false, every: 1 };
        }
        Self {
            height: longest.min(LABEL_HEIGHT) + 12,
            upright: true,
            every: (LINE as usize).div_ceil(each.max(1) as usize),
        }
    }

    /// The width of a level label.
    pub fn width(text: &str) -> i32 {
        width(text, GROUP.size)
    }

    /// Whether group `i` is labelled.
    pub fn shows(self, i: usize) -> bool {
        i.is_multiple_of(self.every)
    }

    /// Draws a label with its middle at `x`.
    pub fn draw(self, canvas: &Canvas<'_>, text: &str, x: i32, frame: &PanelFrame) {
        let upright = self.upright;
        let style = Style { align: if upright { Align::Right } else { Align::Centre }, upright, ..GROUP };
        let y = frame.bottom + if upright { 6 } else { 12 };
        canvas.text(&self.fitted(text), (x, y), style, FOREGROUND);
    }

    /// A label, cut where there is no room.
    fn fitted(self, text: &str) -> String {
        if self.upright { cut(text, GROUP.size, LABEL_HEIGHT) } else { text.to_string() }
    }
}

#[cfg(test)]
mod tests;
