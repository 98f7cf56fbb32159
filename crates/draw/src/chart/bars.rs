//! Grouped bars: in each panel groups of bars, in each group one bar per series (mechanism).

use super::axis::Axis;
use super::layout::{Content, Frame, LEFT, Layout, RIGHT, SWATCH, style};
use super::{Draw, to_svg};
use crate::canvas::{Align, Canvas, Colour, Style};
use crate::canvas::{INK, WHITE};
use crate::text::{cut, width};

/// From the foot of the bars to the largest number on the axis.
const PLOT_HEIGHT: i32 = 190;
/// The part of a group's width its bars fill.
const FILLED: f64 = 0.82;
const WIDEST_BAR: f64 = 64.0;
/// The highest upright group label; what is longer is cut.
const LABEL_HEIGHT: i32 = 130;
/// From a bar's top to the middle of the number above it, or to the foot of an upright one.
const VALUE_GAP: i32 = 6;

const GROUP: Style = style(12, false, Align::Centre, false);
const DASH: Style = style(12, false, Align::Centre, false);
const VALUE: Style = style(10, false, Align::Centre, false);
const UPRIGHT_VALUE: Style = style(10, false, Align::Left, true);

/// A chart of grouped bars.
///
/// ```
/// use recoup_draw::chart::{BarChart, Group, Panel};
///
/// let chart = BarChart {
///     title: "A single tail loss".into(),
///     x_label: "RTT (ms)".into(),
///     y_label: "Normalised FCT".into(),
///     series: vec!["linux-3.17".into(), "linux-3.17+rtor".into()],
///     panels: vec![Panel {
///         title: "Quick ACKs".into(),
///         groups: vec![Group {
///             label: "80".into(),
///             values: vec![Some(1.0), Some(0.846)],
///         }],
///     }],
/// };
/// assert!(chart.to_svg().starts_with("<svg "));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BarChart {
    /// Above everything; none when empty.
    pub title: String,
    /// What the groups are, with its unit: below the last panel.
    pub x_label: String,
    /// What the values are, with its unit: beside each panel.
    pub y_label: String,
    /// The bars of each group, named in the legend. A chart with one series has no legend.
    pub series: Vec<String>,
    /// From top to bottom.
    pub panels: Vec<Panel>,
}

/// One set of axes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Panel {
    /// Above the axes; none when empty.
    pub title: String,
    /// From left to right.
    pub groups: Vec<Group>,
}

/// Bars that stand together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// Below the bars.
    pub label: String,
    /// One value per series, 0 or more, in the chart's unit. What is `None`, absent, negative or
    /// not a finite number is drawn as a dash in place of the bar; what is beyond the series is
    /// ignored.
    pub values: Vec<Option<f64>>,
}

impl Group {
    /// The value of a series, if it can be drawn.
    fn value(&self, series: usize) -> Option<f64> {
        let value = self.values.get(series).copied().flatten();
        value.filter(|v| v.is_finite() && *v >= 0.0)
    }
}

impl BarChart {
    /// The chart as an SVG document, 900 px wide.
    ///
    /// All panels share one scale, from 0 to 1 or, if a value is larger, beyond.
    pub fn to_svg(&self) -> String {
        let value_labels = self.value_labels();
        let labels = Labels::of(&self.panels);
        let layout = Layout::of(Content {
            title: &self.title,
            x_label: &self.x_label,
            y_label: &self.y_label,
            series: &self.series,
            swatch: SWATCH,
            panels: self.panels.iter().map(|panel| &*panel.title).collect(),
            axis: Axis::up_to(self.values().fold(0.0, f64::max)),
            plot_height: PLOT_HEIGHT,
            headroom: match value_labels {
                None => 6,
                Some(style) if style.upright => self.widest_number() + VALUE_GAP + 4,
                Some(_) => 16,
            },
            foot: labels.height,
        });
        let painter = Painter {
            chart: self,
            labels,
            value_labels,
        };
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

    /// How numbers are set above the bars so that neighbours stay apart in every panel.
    fn value_labels(&self) -> Option<Style> {
        const APART: f64 = 4.0;
        let groups = self.panels.iter().map(|panel| panel.groups.len()).max()?;
        let pitch = Groups::pitch(groups, self.series.len());
        let widest = f64::from(self.widest_number());
        [(VALUE, widest), (UPRIGHT_VALUE, f64::from(VALUE.size))]
            .into_iter()
            .find(|(_, across)| across + APART <= pitch)
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

/// A chart and how its texts are set.
struct Painter<'a> {
    chart: &'a BarChart,
    labels: Labels,
    /// How the numbers above the bars are set, if they fit at all.
    value_labels: Option<Style>,
}

impl Draw for Painter<'_> {
    fn sample(&self, canvas: &Canvas<'_>, i: usize, (x, y): (i32, i32)) {
        let colour = Colour::of_series(i, self.chart.series.len());
        draw_box(canvas, (x, y), (x + SWATCH, y + SWATCH), colour);
    }

    fn panel(&self, canvas: &Canvas<'_>, i: usize, frame: &Frame, axis: &Axis) {
        let panel = &self.chart.panels[i];
        let groups = Groups::of(frame, panel.groups.len());
        for (i, group) in panel.groups.iter().enumerate() {
            if self.labels.shows(i) {
                self.draw_group_label(canvas, &group.label, groups.centre(i), frame);
            }
            let bars = groups.bars(i, self.chart.series.len());
            self.draw_bars(canvas, group, &bars, frame, axis);
        }
    }
}

impl Painter<'_> {
    fn draw_bars(
        &self,
        canvas: &Canvas<'_>,
        group: &Group,
        bars: &Bars,
        frame: &Frame,
        axis: &Axis,
    ) {
        for series in 0..self.chart.series.len() {
            let (left, right) = bars.edges(series);
            let centre = (left + right) / 2;
            let Some(value) = group.value(series) else {
                canvas.text("–", (centre, frame.bottom - 6), DASH, INK);
                continue;
            };
            let top = frame.y(axis.part(value));
            let colour = Colour::of_series(series, self.chart.series.len());
            draw_box(canvas, (left, top), (right, frame.bottom), colour);
            if let Some(style) = self.value_labels {
                draw_number(canvas, &value_text(value), (centre, top), style);
            }
        }
    }

    fn draw_group_label(&self, canvas: &Canvas<'_>, text: &str, x: i32, frame: &Frame) {
        let upright = self.labels.upright;
        let style = Style {
            align: if upright { Align::Right } else { Align::Centre },
            upright,
            ..GROUP
        };
        let y = frame.bottom + if upright { 6 } else { 12 };
        canvas.text(&self.labels.fitted(text), (x, y), style, INK);
    }
}

/// A number above a bar whose top is at `top`; the lines of the axis do not run through it.
fn draw_number(canvas: &Canvas<'_>, number: &str, (x, top): (i32, i32), style: Style) {
    let y = top - VALUE_GAP;
    let (along, across) = (width(number, style.size), style.size);
    let (from, to) = match style.upright {
        true => ((x - across / 2, y - along), (x + across / 2, y + 2)),
        false => (
            (x - along / 2, y - across / 2),
            (x + along / 2, y + across / 2),
        ),
    };
    canvas.fill(from, to, WHITE);
    canvas.text(number, (x, y), style, INK);
}

/// A box of `colour` with a dark edge inside its bounds.
fn draw_box(canvas: &Canvas<'_>, (x0, y0): (i32, i32), (x1, y1): (i32, i32), colour: Colour) {
    if x1 - x0 < 4 {
        return canvas.fill((x0, y0), (x1, y1), colour);
    }
    canvas.fill((x0, y0), (x1, y1), INK);
    if y1 - y0 > 2 {
        canvas.fill((x0 + 1, y0 + 1), (x1 - 1, y1 - 1), colour);
    }
}

/// How a panel's width is shared among its groups.
struct Groups {
    left: f64,
    each: f64,
}

impl Groups {
    fn of(frame: &Frame, count: usize) -> Self {
        Self {
            left: f64::from(frame.left),
            each: f64::from(frame.right - frame.left) / count.max(1) as f64,
        }
    }

    /// From one bar to the next, with so many groups in a panel and bars in a group.
    fn pitch(groups: usize, series: usize) -> f64 {
        let each = f64::from(RIGHT - LEFT) / groups.max(1) as f64;
        (each * FILLED / series.max(1) as f64).min(WIDEST_BAR)
    }

    /// The middle of group `i`.
    fn centre(&self, i: usize) -> i32 {
        (self.left + self.each * (i as f64 + 0.5)).round() as i32
    }

    /// The bars of group `i`.
    fn bars(&self, i: usize, series: usize) -> Bars {
        let pitch = (self.each * FILLED / series.max(1) as f64).min(WIDEST_BAR);
        let centre = self.left + self.each * (i as f64 + 0.5);
        Bars {
            left: centre - pitch * series as f64 / 2.0,
            pitch,
        }
    }
}

/// The bars of one group.
struct Bars {
    left: f64,
    pitch: f64,
}

impl Bars {
    /// Left and right edge of a series's bar, at least a pixel wide, two apart where there is room.
    fn edges(&self, series: usize) -> (i32, i32) {
        let gap = if self.pitch >= 8.0 { 2 } else { 0 };
        let left = (self.left + self.pitch * series as f64).round() as i32;
        let right = (self.left + self.pitch * (series + 1) as f64).round() as i32 - gap;
        (left, right.max(left + 1))
    }
}

/// How the labels below the groups are set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Labels {
    /// Room below the axis.
    height: i32,
    upright: bool,
    /// Every how many groups one is shown.
    every: usize,
}

impl Labels {
    /// Level if each fits below its group; otherwise upright, and thinned out if even so they
    /// would touch.
    fn of(panels: &[Panel]) -> Self {
        const LINE: i32 = 15;
        let groups = panels.iter().map(|panel| panel.groups.len()).max();
        let each = (RIGHT - LEFT) / i32::try_from(groups.unwrap_or(0).max(1)).unwrap_or(i32::MAX);
        let labels = panels.iter().flat_map(|panel| &panel.groups);
        let longest = labels.map(|group| width(&group.label, GROUP.size)).max();
        let longest = longest.unwrap_or(0);
        if longest + 4 <= each {
            return Self {
                height: if longest == 0 { 8 } else { 22 },
                upright: false,
                every: 1,
            };
        }
        Self {
            height: longest.min(LABEL_HEIGHT) + 12,
            upright: true,
            every: (LINE as usize).div_ceil(each.max(1) as usize),
        }
    }

    /// Whether group `i` is labelled.
    fn shows(self, i: usize) -> bool {
        i.is_multiple_of(self.every)
    }

    /// As much of a label as there is room for.
    fn fitted(self, text: &str) -> String {
        match self.upright {
            true => cut(text, GROUP.size, LABEL_HEIGHT),
            false => text.to_string(),
        }
    }
}

#[cfg(test)]
mod tests;
