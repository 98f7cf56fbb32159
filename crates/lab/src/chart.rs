//! Grouped bar charts as SVG, in the style of the papers' figures: panels one above the other with
//! one scale, in each panel groups of bars, in each group one bar per series (mechanism).
//!
//! The picture is 900 px wide and as high as its panels need. It depends on nothing but the data:
//! no date, no random id, so that it can be kept and compared byte for byte. Text is set in the
//! viewer's sans-serif font; its width is estimated, on the wide side, so that labels stay apart.
//!
//! Colours are taken from viridis (van der Walt and Smith, 2015), whose lightness rises steadily:
//! told apart with any colour vision, and in grey print too. Beyond eight series they come close.
//!
//! ```
//! use recoup_lab::chart::{BarChart, Group, Panel};
//!
//! let chart = BarChart {
//!     title: "A single tail loss".into(),
//!     x_label: "RTT (ms)".into(),
//!     y_label: "Normalised FCT".into(),
//!     series: vec!["linux-3.17".into(), "linux-3.17+rtor".into()],
//!     panels: vec![Panel {
//!         title: "Quick ACKs".into(),
//!         groups: vec![Group {
//!             label: "80".into(),
//!             values: vec![Some(1.0), Some(0.846)],
//!         }],
//!     }],
//! };
//! assert!(chart.to_svg().starts_with("<svg "));
//! ```

pub(crate) mod canvas;
mod layout;
pub(crate) mod text;

use canvas::{Align, Canvas, Colour, Style};
use layout::{Axis, Bars, Frame, Groups, Labels, Layout};

/// A chart of grouped bars.
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

pub(crate) const INK: Colour = Colour(0x22, 0x22, 0x22);
pub(crate) const FAINT: Colour = Colour(0xdd, 0xdd, 0xdd);
pub(crate) const WHITE: Colour = Colour(0xff, 0xff, 0xff);

impl BarChart {
    /// The chart as an SVG document, 900 px wide.
    ///
    /// All panels share one scale, from 0 to 1 or, if a value is larger, beyond.
    pub fn to_svg(&self) -> String {
        let layout = Layout::of(self);
        let mut svg = String::new();
        let canvas = Canvas::new(&mut svg, layout.width, layout.height);
        canvas.fill((0, 0), (layout.width, layout.height), WHITE);
        for (line, y) in &layout.title {
            canvas.text(line, (layout.width / 2, *y), layout::TITLE, INK);
        }
        self.draw_legend(&canvas, &layout);
        for (panel, frame) in self.panels.iter().zip(&layout.frames) {
            self.draw_panel(&canvas, panel, frame, &layout);
        }
        if let Some((text, at)) = &layout.x_label {
            canvas.text(text, *at, layout::AXIS_LABEL, INK);
        }
        drop(canvas);
        svg
    }

    fn draw_legend(&self, canvas: &Canvas<'_>, layout: &Layout) {
        let side = layout::SWATCH;
        for (i, (name, (x, y))) in layout.legend.iter().enumerate() {
            let corner = (x + side, y + side);
            draw_box(
                canvas,
                (*x, *y),
                corner,
                Colour::of_series(i, self.series.len()),
            );
            let at = (x + side + layout::SWATCH_GAP, y + side / 2);
            canvas.text(name, at, layout::LEGEND, INK);
        }
    }

    fn draw_panel(&self, canvas: &Canvas<'_>, panel: &Panel, frame: &Frame, layout: &Layout) {
        for (line, y) in &frame.title {
            canvas.text(line, (frame.left, *y), layout::PANEL_TITLE, INK);
        }
        let middle = (frame.top + frame.bottom) / 2;
        for (line, x) in &layout.y_label {
            canvas.text(line, (*x, middle), layout::Y_LABEL, INK);
        }
        draw_axis(canvas, &layout.axis, frame);
        let groups = Groups::of(frame, panel.groups.len());
        for (i, group) in panel.groups.iter().enumerate() {
            if layout.labels.shows(i) {
                draw_group_label(canvas, &group.label, groups.centre(i), frame, layout.labels);
            }
            let bars = groups.bars(i, self.series.len());
            self.draw_bars(canvas, group, &bars, frame, layout);
        }
        // Over the bars' feet.
        canvas.fill(
            (frame.left, frame.bottom),
            (frame.right, frame.bottom + 1),
            INK,
        );
    }

    fn draw_bars(
        &self,
        canvas: &Canvas<'_>,
        group: &Group,
        bars: &Bars,
        frame: &Frame,
        layout: &Layout,
    ) {
        for series in 0..self.series.len() {
            let (left, right) = bars.edges(series);
            let centre = (left + right) / 2;
            let Some(value) = group.value(series) else {
                canvas.text("–", (centre, frame.bottom - 6), layout::DASH, INK);
                continue;
            };
            let top = frame.bottom - layout.axis.height(value, frame);
            let colour = Colour::of_series(series, self.series.len());
            draw_box(canvas, (left, top), (right, frame.bottom), colour);
            if let Some(style) = layout.value_labels {
                draw_number(canvas, &layout::value_text(value), (centre, top), style);
            }
        }
    }
}

/// The vertical axis with its numbers, and a faint line across at each.
fn draw_axis(canvas: &Canvas<'_>, axis: &Axis, frame: &Frame) {
    for (value, text) in axis.ticks() {
        let y = frame.bottom - axis.height(value, frame);
        if value > 0.0 {
            canvas.fill((frame.left, y), (frame.right, y + 1), FAINT);
        }
        canvas.fill((frame.left - 4, y), (frame.left, y + 1), INK);
        canvas.text(&text, (frame.left - 7, y), layout::TICK, INK);
    }
    canvas.fill(
        (frame.left - 1, frame.top),
        (frame.left, frame.bottom + 1),
        INK,
    );
}

fn draw_group_label(canvas: &Canvas<'_>, text: &str, x: i32, frame: &Frame, labels: Labels) {
    let style = Style {
        align: if labels.upright {
            Align::Right
        } else {
            Align::Centre
        },
        upright: labels.upright,
        ..layout::GROUP
    };
    let y = frame.bottom + if labels.upright { 6 } else { 12 };
    canvas.text(&labels.fitted(text), (x, y), style, INK);
}

/// A number above a bar whose top is at `top`; the lines of the axis do not run through it.
fn draw_number(canvas: &Canvas<'_>, number: &str, (x, top): (i32, i32), style: Style) {
    let y = top - layout::VALUE_GAP;
    let (along, across) = (text::width(number, style.size), style.size);
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

#[cfg(test)]
mod tests;
