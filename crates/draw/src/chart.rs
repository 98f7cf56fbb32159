//! Charts as SVG, in the style of the papers' figures: [`BarChart`], [`BoxChart`], [`IntervalChart`],
//! [`LineChart`] and [`PointChart`]. The panels of a chart stand one above the other and share their scales.
//!
//! A picture is 900 px wide and as high as its panels need. It depends on nothing but its data (no
//! date, no random id), so two pictures can be compared byte for byte. The viewer's sans-serif font
//! sets the text. Its width is not known and is estimated generously, so that labels do not overlap.
//!
//! Colours come from viridis (van der Walt and Smith, 2015), whose lightness rises steadily. Readers
//! can distinguish them with any colour vision, and in grey print. Beyond eight series they become
//! similar.

mod axis;
mod bars;
mod boxes;
mod horizontal_axis;
mod intervals;
mod layout;
mod lines;
mod points;
mod symmetric_axis;

pub use bars::{BarChart, BarGroup, BarPanel};
pub use boxes::{BoxChart, BoxPanel, Quantiles};
pub use intervals::{IntervalChart, IntervalPanel, IntervalValue};
pub use lines::{Interpolation, LineChart, LinePanel, Scale};
pub use points::{PointChart, PointPanel, RangePoint};

use crate::{
    canvas::{Canvas, FOREGROUND, GRID},
    look::Look,
};
use axis::Axis;
use layout::{ChartLayout, PanelFrame};

/// Draws the parts in which kinds of charts differ.
trait ChartPainter {
    /// Draws the sample of series `i` in the legend, from its top left corner.
    fn draw_legend_sample(&self, canvas: &Canvas<'_>, i: usize, corner: (i32, i32));

    /// Draws what stands between the axes of panel `i`, and below them.
    fn draw_panel(&self, canvas: &Canvas<'_>, i: usize, frame: &PanelFrame, axis: &Axis);
}

/// A chart as an SVG document.
fn to_svg(layout: &ChartLayout, chart: &impl ChartPainter) -> String {
    let mut svg = String::new();
    let canvas = Canvas::new(&mut svg, layout.height, &Look::default());
    for (line, y) in &layout.title {
        canvas.text(line, (layout.width / 2, *y), layout::TITLE, FOREGROUND);
    }
    for (i, entry) in layout.legend.iter().enumerate() {
        chart.draw_legend_sample(&canvas, i, entry.swatch);
        canvas.text(&entry.name, entry.text, layout::LEGEND, FOREGROUND);
    }
    for (i, frame) in layout.frames.iter().enumerate() {
        draw_frame(&canvas, frame, layout);
        let lines = |lines: &[(String, i32)]| {
            let lines: Vec<&str> = lines.iter().map(|(line, _)| line.as_str()).collect();
            lines.join(" ")
        };
        let about = [
            ("panel", &*lines(&frame.title)),
            ("x", layout.x_label.as_ref().map_or("", |(text, _)| text)),
            ("y", &lines(&layout.y_label)),
        ];
        canvas.panel(&about, || chart.draw_panel(&canvas, i, frame, &layout.axis));
        // The x axis covers the lower ends of bars and lines.
        let foot = frame.bottom;
        canvas.fill((frame.left, foot), (frame.right, foot + 1), FOREGROUND);
    }
    if let Some((text, at)) = &layout.x_label {
        canvas.text(text, *at, layout::AXIS_LABEL, FOREGROUND);
    }
    drop(canvas);
    svg
}

/// Draws a panel's title, and its y axis with label, numbers and a grid line at each number.
fn draw_frame(canvas: &Canvas<'_>, frame: &PanelFrame, layout: &ChartLayout) {
    for (line, y) in &frame.title {
        canvas.text(line, (frame.left, *y), layout::PANEL_TITLE, FOREGROUND);
    }
    let middle = (frame.top + frame.bottom) / 2;
    for (line, x) in &layout.y_label {
        canvas.text(line, (*x, middle), layout::Y_LABEL, FOREGROUND);
    }
    let y = |value: f64| frame.y(layout.axis.part(value));
    let have_room = |ticks: &[(f64, String)]| {
        let mut pairs = ticks.windows(2);
        pairs.all(|pair| y(pair[0].0) - y(pair[1].0) >= layout::TICK.size + 4)
    };
    for (value, text) in layout.axis.ticks(have_room) {
        let y = y(value);
        if y < frame.bottom {
            canvas.fill((frame.left, y), (frame.right, y + 1), GRID);
        }
        canvas.fill((frame.left - 4, y), (frame.left, y + 1), FOREGROUND);
        canvas.text(&text, (frame.left - 7, y), layout::TICK, FOREGROUND);
    }
    let (left, foot) = (frame.left, frame.bottom + 1);
    canvas.fill((left - 1, frame.top), (left, foot), FOREGROUND);
}

/// The text of a mark: its name, then its quantities, a line each.
fn describe(name: &str, quantities: &[(&str, &str)]) -> String {
    let mut text = name.to_string();
    for (label, value) in quantities {
        text.push('\n');
        if !label.is_empty() {
            text.push_str(label);
            text.push_str(": ");
        }
        text.push_str(value);
    }
    text
}

#[cfg(test)]
mod tests;
