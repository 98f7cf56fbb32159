//! Where everything goes: all positions of a chart, in whole pixels, before anything is drawn.

use super::axis::Axis;
use crate::canvas::{Align, Style};
use crate::text::{cut, rows, width, wrap};

pub(super) const WIDTH: i32 = 900;
const MARGIN: i32 = 14;
/// From the left edge to the axes: label, numbers and ticks.
pub(super) const LEFT: i32 = 72;
pub(super) const RIGHT: i32 = WIDTH - 18;
/// The height of a series's sample in the legend.
pub(super) const SWATCH: i32 = 13;
const SWATCH_GAP: i32 = 6;

pub(super) const fn style(size: i32, bold: bool, align: Align, upright: bool) -> Style {
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

/// Lines of text and where each is: its middle, across its direction.
type Lines = Vec<(String, i32)>;

/// What a chart has to find room for.
pub(super) struct Content<'a> {
    pub title: &'a str,
    pub x_label: &'a str,
    pub y_label: &'a str,
    /// Named in the legend.
    pub series: &'a [String],
    /// The width of a series's sample there.
    pub swatch: i32,
    /// The title of each panel.
    pub panels: Vec<&'a str>,
    /// The scale of the values, all panels'.
    pub axis: Axis,
    /// From the foot of a panel to the largest number on the axis.
    pub plot_height: i32,
    /// Above that.
    pub headroom: i32,
    /// Room below a panel.
    pub foot: i32,
}

/// A chart's geometry.
pub(super) struct Layout {
    pub width: i32,
    pub height: i32,
    pub title: Lines,
    pub legend: Vec<Entry>,
    pub y_label: Lines,
    pub x_label: Option<(String, (i32, i32))>,
    pub axis: Axis,
    pub frames: Vec<Frame>,
}

/// A series in the legend: its name, as far as it fits.
pub(super) struct Entry {
    pub name: String,
    /// The top left corner of its sample.
    pub swatch: (i32, i32),
    /// Left of the name, half way up.
    pub text: (i32, i32),
}

/// Where a panel's axes stand.
pub(super) struct Frame {
    pub title: Lines,
    pub left: i32,
    pub right: i32,
    /// Of the vertical axis, headroom included.
    pub top: i32,
    pub bottom: i32,
    /// From the bottom to the largest number on the axis.
    pub height: i32,
}

impl Frame {
    /// The height of what is this part, 0 to 1, of the way from the foot to the largest number.
    pub fn y(&self, part: f64) -> i32 {
        self.bottom - (part * f64::from(self.height)).round() as i32
    }
}

impl Layout {
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
            frames.push(Frame {
                title,
                left: LEFT,
                right: RIGHT,
                top,
                bottom: y,
                height: content.plot_height,
            });
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
fn y_label(text: &str, room: i32) -> Lines {
    let mut lines = wrap(text, Y_LABEL.size, room);
    lines.truncate(2);
    let first = if lines.len() == 2 { 11 } else { 18 };
    lines.into_iter().zip([first, first + 16]).collect()
}

/// Rows of swatches and names, each row centred; none for a single series.
fn legend(series: &[String], swatch: i32, y: &mut i32) -> Vec<Entry> {
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
    let rows = rows(series.iter().map(entry), GAP, room);
    let mut placed = Vec::with_capacity(series.len());
    *y += 4;
    for (used, row) in rows {
        let (left, top) = ((WIDTH - used) / 2, *y + 4);
        placed.extend(row.into_iter().map(|(name, x)| Entry {
            name,
            swatch: (left + x, top),
            text: (left + x + before, top + SWATCH / 2),
        }));
        *y += 21;
    }
    placed
}
