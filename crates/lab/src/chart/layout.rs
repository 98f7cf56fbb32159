//! Where everything goes: all positions of a chart, in whole pixels, before anything is drawn.

use super::canvas::{Align, Style};
use super::text::{cut, rows, width, wrap};
use super::{BarChart, Panel};

const WIDTH: i32 = 900;
const MARGIN: i32 = 14;
/// From the left edge to the axes: label, numbers and ticks.
const LEFT: i32 = 72;
const RIGHT: i32 = WIDTH - 18;
/// From the foot of the bars to the largest number on the axis.
const PLOT_HEIGHT: i32 = 190;
/// The part of a group's width its bars fill.
const FILLED: f64 = 0.82;
const WIDEST_BAR: f64 = 64.0;
/// The highest upright group label; what is longer is cut.
const LABEL_HEIGHT: i32 = 130;

pub(super) const SWATCH: i32 = 13;
pub(super) const SWATCH_GAP: i32 = 6;
/// From a bar's top to the middle of the number above it, or to the foot of an upright one.
pub(super) const VALUE_GAP: i32 = 6;

const fn style(size: i32, bold: bool, align: Align, upright: bool) -> Style {
    Style {
        size,
        bold,
        align,
        upright,
    }
}

pub(super) const TITLE: Style = style(17, true, Align::Centre, false);
pub(super) const LEGEND: Style = style(13, false, Align::Left, false);
pub(super) const PANEL_TITLE: Style = style(13, true, Align::Left, false);
pub(super) const AXIS_LABEL: Style = style(13, false, Align::Centre, false);
pub(super) const Y_LABEL: Style = style(13, false, Align::Centre, true);
pub(super) const TICK: Style = style(12, false, Align::Right, false);
pub(super) const GROUP: Style = style(12, false, Align::Centre, false);
pub(super) const DASH: Style = style(12, false, Align::Centre, false);
const VALUE: Style = style(10, false, Align::Centre, false);
const UPRIGHT_VALUE: Style = style(10, false, Align::Left, true);

/// The number above a bar.
pub(super) fn value_text(value: f64) -> String {
    match value {
        v if v < 1000.0 => format!("{v:.2}"),
        v => format!("{v:.1e}"),
    }
}

/// Lines of text and where each is: its middle, across its direction.
type Lines = Vec<(String, i32)>;

/// A chart's geometry.
pub(super) struct Layout {
    pub width: i32,
    pub height: i32,
    pub title: Lines,
    /// Each series, as far as it fits, and the top left corner of its swatch.
    pub legend: Vec<(String, (i32, i32))>,
    pub y_label: Lines,
    pub x_label: Option<(String, (i32, i32))>,
    pub axis: Axis,
    pub frames: Vec<Frame>,
    pub labels: Labels,
    /// How the numbers above the bars are set, if they fit at all.
    pub value_labels: Option<Style>,
}

/// Where a panel's bars stand.
pub(super) struct Frame {
    pub title: Lines,
    pub left: i32,
    pub right: i32,
    /// Of the axis, above the numbers of the highest bars.
    pub top: i32,
    pub bottom: i32,
}

impl Layout {
    pub fn of(chart: &BarChart) -> Self {
        let axis = Axis::up_to(largest(chart));
        let value_labels = value_labels(chart);
        let labels = Labels::of(&chart.panels);
        let headroom = match value_labels {
            None => 6,
            Some(style) if style.upright => widest_number(chart) + VALUE_GAP + 4,
            Some(_) => 16,
        };
        let mut y = MARGIN;
        let title = lines(&chart.title, TITLE, WIDTH - 2 * MARGIN, 22, &mut y);
        let legend = legend(&chart.series, &mut y);
        let mut frames = Vec::with_capacity(chart.panels.len());
        for panel in &chart.panels {
            y += 12;
            let title = lines(&panel.title, PANEL_TITLE, RIGHT - LEFT, 20, &mut y);
            let top = y;
            y += headroom + PLOT_HEIGHT;
            frames.push(Frame {
                title,
                left: LEFT,
                right: RIGHT,
                top,
                bottom: y,
            });
            y += labels.height;
        }
        let x_label = (!chart.x_label.is_empty()).then(|| {
            y += 24;
            let text = cut(&chart.x_label, AXIS_LABEL.size, RIGHT - LEFT);
            (text, ((LEFT + RIGHT) / 2, y - 12))
        });
        Self {
            width: WIDTH,
            height: y + MARGIN,
            title,
            legend,
            y_label: y_label(&chart.y_label),
            x_label,
            axis,
            frames,
            labels,
            value_labels,
        }
    }
}

/// Breaks `text` into lines `pitch` apart from `y` on, and moves `y` below them.
fn lines(text: &str, style: Style, room: i32, pitch: i32, y: &mut i32) -> Lines {
    let place = |line| {
        *y += pitch;
        (line, *y - pitch / 2)
    };
    wrap(text, style.size, room)
        .into_iter()
        .map(place)
        .collect()
}

/// Two lines at most have room beside the numbers.
fn y_label(text: &str) -> Lines {
    let mut lines = wrap(text, Y_LABEL.size, PLOT_HEIGHT);
    lines.truncate(2);
    let first = if lines.len() == 2 { 11 } else { 18 };
    lines.into_iter().zip([first, first + 16]).collect()
}

/// Rows of swatches and names, each row centred.
fn legend(series: &[String], y: &mut i32) -> Vec<(String, (i32, i32))> {
    const GAP: i32 = 24;
    let room = WIDTH - 2 * MARGIN;
    if series.len() < 2 {
        return Vec::new();
    }
    let entry = |name: &String| {
        let name = cut(name, LEGEND.size, room - SWATCH - SWATCH_GAP);
        let width = SWATCH + SWATCH_GAP + width(&name, LEGEND.size);
        (name, width)
    };
    let rows = rows(series.iter().map(entry), GAP, room);
    let mut placed = Vec::with_capacity(series.len());
    *y += 4;
    for (used, row) in rows {
        let left = (WIDTH - used) / 2;
        placed.extend(row.into_iter().map(|(name, x)| (name, (left + x, *y + 4))));
        *y += 21;
    }
    placed
}

/// The values drawn.
fn values(chart: &BarChart) -> impl Iterator<Item = f64> {
    let groups = chart.panels.iter().flat_map(|panel| &panel.groups);
    groups.flat_map(|group| (0..chart.series.len()).filter_map(|i| group.value(i)))
}

fn largest(chart: &BarChart) -> f64 {
    values(chart).fold(0.0, f64::max)
}

fn widest_number(chart: &BarChart) -> i32 {
    let height = |value| width(&value_text(value), VALUE.size);
    values(chart).map(height).max().unwrap_or(0)
}

/// How numbers are set above the bars so that neighbours stay apart in every panel.
fn value_labels(chart: &BarChart) -> Option<Style> {
    const APART: f64 = 4.0;
    let groups = chart.panels.iter().map(|panel| panel.groups.len()).max()?;
    let pitch = Groups::pitch(groups, chart.series.len());
    let widest = f64::from(widest_number(chart));
    [(VALUE, widest), (UPRIGHT_VALUE, f64::from(VALUE.size))]
        .into_iter()
        .find(|(_, across)| across + APART <= pitch)
        .map(|(style, _)| style)
}

/// The scale of the values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Axis {
    step: f64,
    steps: u32,
}

impl Axis {
    /// From 0 to at least `largest` and 1, in 3 to 7 steps of 1, 2 or 5 times a power of ten.
    pub fn up_to(largest: f64) -> Self {
        // Far from where arithmetic on it would overflow.
        let top = largest.clamp(1.0, 1e300);
        let power = 10f64.powf((top / 7.0).log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .map(|n| n * power)
            .into_iter()
            .find(|step| step * 7.0 >= top)
            .unwrap_or(10.0 * power);
        // With a margin, lest 0.6 make a fourth step of 0.2.
        let steps = (top / step - 1e-6).ceil() as u32;
        Self { step, steps }
    }

    /// The numbers on the axis, and their text.
    pub fn ticks(self) -> impl Iterator<Item = (f64, String)> {
        (0..=self.steps).map(move |i| {
            let value = f64::from(i) * self.step;
            let text = match self.step {
                step if step >= 1e4 && value > 0.0 => format!("{value:.1e}"),
                step if step >= 1.0 => format!("{value:.0}"),
                _ => format!("{value:.1}"),
            };
            (value, text)
        })
    }

    /// How far above the foot `value` is, at most the axis's height.
    pub fn height(self, value: f64, frame: &Frame) -> i32 {
        let part = value / (f64::from(self.steps) * self.step);
        let height = PLOT_HEIGHT.min(frame.bottom - frame.top);
        (part.clamp(0.0, 1.0) * f64::from(height)).round() as i32
    }
}

/// How a panel's width is shared among its groups.
pub(super) struct Groups {
    left: f64,
    each: f64,
}

impl Groups {
    pub fn of(frame: &Frame, count: usize) -> Self {
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
    pub fn centre(&self, i: usize) -> i32 {
        (self.left + self.each * (i as f64 + 0.5)).round() as i32
    }

    /// The bars of group `i`.
    pub fn bars(&self, i: usize, series: usize) -> Bars {
        let pitch = (self.each * FILLED / series.max(1) as f64).min(WIDEST_BAR);
        let centre = self.left + self.each * (i as f64 + 0.5);
        Bars {
            left: centre - pitch * series as f64 / 2.0,
            pitch,
        }
    }
}

/// The bars of one group.
pub(super) struct Bars {
    left: f64,
    pitch: f64,
}

impl Bars {
    /// Left and right edge of a series's bar, at least a pixel wide, two apart where there is room.
    pub fn edges(&self, series: usize) -> (i32, i32) {
        let gap = if self.pitch >= 8.0 { 2 } else { 0 };
        let left = (self.left + self.pitch * series as f64).round() as i32;
        let right = (self.left + self.pitch * (series + 1) as f64).round() as i32 - gap;
        (left, right.max(left + 1))
    }
}

/// How the labels below the groups are set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Labels {
    /// Room below the axis.
    pub height: i32,
    pub upright: bool,
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
    pub fn shows(self, i: usize) -> bool {
        i.is_multiple_of(self.every)
    }

    /// As much of a label as there is room for.
    pub fn fitted(self, text: &str) -> String {
        match self.upright {
            true => cut(text, GROUP.size, LABEL_HEIGHT),
            false => text.to_string(),
        }
    }
}
