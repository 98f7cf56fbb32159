//! Computes all positions of a chart, in whole pixels, before anything is drawn.

use super::axis::Axis;
use crate::{
    canvas::{Align, Lines, Style, lines, style},
    text::{cut, layout_rows, width, wrap},
};

pub(super) const WIDTH: i32 = 900;
const MARGIN: i32 = 14;
/// The left end of the x axis; label, numbers and ticks of the y axis stand left of it.
pub(super) const LEFT: i32 = 72;
pub(super) const RIGHT: i32 = WIDTH - 18;
/// The height of a sample in the legend.
pub(super) const SWATCH: i32 = 13;
const SWATCH_GAP: i32 = 6;

pub(super) const TITLE: Style = style(17, true, Align::Centre, false);
pub(super) const LEGEND: Style = style(13, false, Align::Left, false);
pub(super) const PANEL_TITLE: Style = style(13, true, Align::Left, false);
pub(super) const AXIS_LABEL: Style = style(13, false, Align::Centre, false);
pub(super) const Y_LABEL: Style = style(13, false, Align::Centre, true);
pub(super) const TICK: Style = style(12, false, Align::Right, false);

/// The content of a chart, as far as positions depend on it.
pub(super) struct Content<'a> {
    pub title: &'a str,
    pub x_label: &'a str,
    pub y_label: &'a str,
    /// The names of the series, for the legend.
    pub series: &'a [String],
    /// The width of a sample in the legend.
    pub swatch: i32,
    /// The title of each panel.
    pub panels: Vec<&'a str>,
    /// The y axis of all panels.
    pub axis: Axis,
    /// The height from a panel's x axis to the largest number on its y axis.
    pub plot_height: i32,
    /// The height of a panel above that number.
    pub headroom: i32,
    /// The height between a panel's x axis and the next panel.
    pub foot: i32,
}

/// The positions of everything in a chart.
pub(super) struct ChartLayout {
    pub width: i32,
    pub height: i32,
    pub title: Lines,
    pub legend: Vec<LegendEntry>,
    pub y_label: Lines,
    pub x_label: Option<(String, (i32, i32))>,
    pub axis: Axis,
    pub frames: Vec<PanelFrame>,
}

/// A series in the legend.
pub(super) struct LegendEntry {
    /// The name, cut where it does not fit.
    pub name: String,
    /// The top left corner of its sample.
    pub swatch: (i32, i32),
    /// The left end of the name, at half its height.
    pub text: (i32, i32),
}

/// The positions of a panel's axes.
pub(super) struct PanelFrame {
    pub title: Lines,
    pub left: i32,
    pub right: i32,
    /// The top of the y axis, headroom included.
    pub top: i32,
    pub bottom: i32,
    /// The height from the bottom to the largest number on the y axis.
    pub height: i32,
}

impl PanelFrame {
    /// The pixel of a y value, given as its part, 0 to 1, of the largest number on the axis.
    pub fn y(&self, part: f64) -> i32 {
        self.bottom - (part * f64::from(self.height)).round() as i32
    }

    /// The height of a value, not rounded to a pixel.
    pub fn exact_y(&self, part: f64) -> f64 {
        f64::from(self.bottom) - part * f64::from(self.height)
    }
}

impl ChartLayout {
    pub fn of(content: Content<'_>) -> Self {
        let mut y = MARGIN;
        let title = lines(content.title, TITLE, WIDTH - 2 * MARGIN, 22, &mut y);
        let legend = legend(content.series, content.swatch, &mut y);
        let mut frames = Vec::with_capacity(content.panels.len());
        for panel in content.panels {
            y += 12;
            let title = lines(panel, PANEL_TITLE, RIGHT - LEFT, 20, &mut y);
            let top = y;
            y += content.headroom + content.plot_height;
            frames.push(PanelFrame { title, left: LEFT, right: RIGHT, top, bottom: y, height: content.plot_height });
            y += content.foot;
        }
        let x_label = (!content.x_label.is_empty()).then(|| {
            y += 24;
            let text = cut(content.x_label, AXIS_LABEL.size, RIGHT - LEFT);
            (text, ((LEFT + RIGHT) / 2, y - 12))
        });
        Self {
            width: WIDTH,
            height: y + MARGIN,
            title,
            legend,
            y_label: y_label(content.y_label, content.plot_height),
            x_label,
            axis: content.axis,
            frames,
        }
    }
}

/// The label of the y axis, in two lines at most: no more fit beside the numbers.
fn y_label(text: &str, room: i32) -> Lines {
    let mut lines = wrap(text, Y_LABEL.size, room);
    lines.truncate(2);
    let first = if lines.len() == 2 { 11 } else { 18 };
    lines.into_iter().zip([first, first + 16]).collect()
}

/// Places samples and names in rows, each row centred. A single series needs no legend.
fn legend(series: &[String], swatch: i32, y: &mut i32) -> Vec<LegendEntry> {
    const GAP: i32 = 24;
    let room = WIDTH - 2 * MARGIN;
    if series.len() < 2 {
        return Vec::new();
    }
    let before = swatch + SWATCH_GAP;
    let entry = |name: &String| {
        let name = cut(name, LEGEND.size, room - before);
        let width = before + width(&name, LEGEND.size);
        (name, width)
    };
    let rows = layout_rows(series.iter().map(entry), GAP, room);
    let mut placed = Vec::with_capacity(series.len());
    *y += 4;
    for (used, row) in rows {
        let (left, top) = ((WIDTH - used) / 2, *y + 4);
        placed.extend(row.into_iter().map(|(name, x)| LegendEntry {
            name,
            swatch: (left + x, top),
            text: (left + x + before, top + SWATCH / 2),
        }));
        *y += 21;
    }
    placed
}
