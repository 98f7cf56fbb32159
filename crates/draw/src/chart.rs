//! Charts as SVG, in the style of the papers' figures: [`BarChart`] and [`LineChart`], panels one
//! above the other with one scale.
//!
//! The picture is 900 px wide and as high as its panels need. It depends on nothing but the data:
//! no date, no random id, so that it can be kept and compared byte for byte. Text is set in the
//! viewer's sans-serif font; its width is estimated, on the wide side, so that labels stay apart.
//!
//! Colours are taken from viridis (van der Walt and Smith, 2015), whose lightness rises steadily:
//! told apart with any colour vision, and in grey print too. Beyond eight series they come close.

mod axis;
mod bars;
mod layout;
mod lines;

pub use bars::{BarChart, Group, Panel};
pub use lines::{Drawn, LineChart, LinePanel, Scale};

use crate::canvas::{Canvas, FAINT, INK, WHITE};
use axis::Axis;
use layout::{Frame, Layout};

/// What is different from one kind of chart to another.
trait Draw {
    /// The sample of series `i` in the legend, from its top left corner.
    fn sample(&self, canvas: &Canvas<'_>, i: usize, corner: (i32, i32));

    /// What stands between the axes of panel `i`, and below them.
    fn panel(&self, canvas: &Canvas<'_>, i: usize, frame: &Frame, axis: &Axis);
}

/// A chart as an SVG document.
fn to_svg(layout: &Layout, chart: &impl Draw) -> String {
    let mut svg = String::new();
    let canvas = Canvas::new(&mut svg, layout.width, layout.height);
    canvas.fill((0, 0), (layout.width, layout.height), WHITE);
    for (line, y) in &layout.title {
        canvas.text(line, (layout.width / 2, *y), layout::TITLE, INK);
    }
    for (i, entry) in layout.legend.iter().enumerate() {
        chart.sample(&canvas, i, entry.swatch);
        canvas.text(&entry.name, entry.text, layout::LEGEND, INK);
    }
    for (i, frame) in layout.frames.iter().enumerate() {
        draw_frame(&canvas, frame, layout);
        chart.panel(&canvas, i, frame, &layout.axis);
        // Over the feet of what stands there.
        let foot = frame.bottom;
        canvas.fill((frame.left, foot), (frame.right, foot + 1), INK);
    }
    if let Some((text, at)) = &layout.x_label {
        canvas.text(text, *at, layout::AXIS_LABEL, INK);
    }
    drop(canvas);
    svg
}

/// A panel's title, and its vertical axis with label, numbers and a faint line across at each.
fn draw_frame(canvas: &Canvas<'_>, frame: &Frame, layout: &Layout) {
    for (line, y) in &frame.title {
        canvas.text(line, (frame.left, *y), layout::PANEL_TITLE, INK);
    }
    let middle = (frame.top + frame.bottom) / 2;
    for (line, x) in &layout.y_label {
        canvas.text(line, (*x, middle), layout::Y_LABEL, INK);
    }
    for (value, text) in layout.axis.ticks() {
        let y = frame.y(layout.axis.part(value));
        if value > 0.0 {
            canvas.fill((frame.left, y), (frame.right, y + 1), FAINT);
        }
        canvas.fill((frame.left - 4, y), (frame.left, y + 1), INK);
        canvas.text(&text, (frame.left - 7, y), layout::TICK, INK);
    }
    let (left, foot) = (frame.left, frame.bottom + 1);
    canvas.fill((left - 1, frame.top), (left, foot), INK);
}

#[cfg(test)]
mod tests;
