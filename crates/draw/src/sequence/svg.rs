//! A diagram as SVG.

use super::{
    Diagram, Mark, SequenceScale,
    axis::{PixelAxis, Quantity},
    mark_style::MarkStyle,
    panel_painter::{PanelPainter, Plot},
    position, window, zero_windows,
};
use crate::{
    canvas::{Align, Canvas, FOREGROUND, GRID, Lines, Style, lines, style},
    look::Look,
    text::{cut, layout_rows, width},
};

const MARGIN: i32 = 14;
/// The left end of the x axis; label, numbers and ticks of the y axis stand left of it.
const LEFT: i32 = 72;
/// The space right of the x axis.
const RIGHT_MARGIN: i32 = 18;
/// The height of a diagram's only panel, per 100 px of the diagram's width.
const SINGLE_PANEL_HEIGHT: i32 = 51;
/// The height of each of several panels.
const PANEL_HEIGHT: i32 = 34;
/// The height of a panel with few marks beside one with many.
const SMALL_PANEL_HEIGHT: i32 = 18;
/// The least height of a panel in pixels.
const MIN_PANEL_HEIGHT: i32 = 120;
/// The space on the x axis for one number, in pixels.
const X_TICK_ROOM: i32 = 68;
/// The space on the y axis for one number, in pixels.
const Y_TICK_ROOM: i32 = 38;
/// Empty space beyond the first and last mark, so that none lies on an axis.
const PAD: i32 = 10;

const TITLE: Style = style(17, true, Align::Centre, false);
const PANEL_TITLE: Style = style(13, true, Align::Left, false);
const LEGEND: Style = style(13, false, Align::Left, false);
const X_TICK: Style = style(12, false, Align::Centre, false);
const Y_TICK: Style = style(12, false, Align::Right, false);
const X_LABEL: Style = style(13, false, Align::Centre, false);
const Y_LABEL: Style = style(13, false, Align::Centre, true);

pub(super) fn draw(diagram: &Diagram, look: &Look) -> String {
    let visible = diagram.visible();
    let layout = DiagramLayout::of(diagram, &visible, look);
    let mut svg = String::new();
    let canvas = Canvas::new(&mut svg, layout.height, look);
    for (line, y) in &layout.title {
        canvas.text(line, (layout.width / 2, *y), TITLE, FOREGROUND);
    }
    for (style, x, y) in &layout.legend {
        style.swatch(&canvas, (f64::from(*x), f64::from(*y)));
        let place = (x + MarkStyle::SWATCH + 6, *y);
        canvas.text(style.name(), place, LEGEND, FOREGROUND);
    }
    for (frame, marks) in layout.frames.iter().zip(&visible) {
        for (line, y) in &frame.title {
            canvas.text(line, (LEFT, *y), PANEL_TITLE, FOREGROUND);
        }
        let painter = PanelPainter::new(&canvas, &frame.plot);
        painter.paint_bands(marks);
        draw_axes(&canvas, &frame.plot);
        let title: Vec<&str> = frame.title.iter().map(|(line, _)| line.as_str()).collect();
        let (time, sequence) = (&frame.plot.time, &frame.plot.sequence);
        let about = [
            ("panel", &*title.join(" ")),
            ("x", &time.label()),
            ("y", &sequence.label()),
            ("time-scale", &time.scale()),
            ("sequence-scale", &sequence.scale()),
        ];
        canvas.panel(&about, || painter.paint(marks));
    }
    let middle = (LEFT + layout.width - RIGHT_MARGIN) / 2;
    let place = (middle, layout.height - MARGIN - 10);
    canvas.text(&layout.x_label, place, X_LABEL, FOREGROUND);
    drop(canvas);
    svg
}

fn draw_axes(canvas: &Canvas<'_>, plot: &Plot) {
    let (left, right) = (f64::from(plot.left), f64::from(plot.right));
    let (top, bottom) = (f64::from(plot.top), f64::from(plot.bottom));
    for (x, text) in plot.time.ticks() {
        canvas.fill((x - 0.5, top), (x + 0.5, bottom), GRID);
        canvas.fill((x - 0.5, bottom), (x + 0.5, bottom + 4.0), FOREGROUND);
        canvas.text(&text, (x, bottom + 13.0), X_TICK, FOREGROUND);
    }
    for (y, text) in plot.sequence.ticks() {
        canvas.fill((left, y - 0.5), (right, y + 0.5), GRID);
        canvas.fill((left - 4.0, y - 0.5), (left, y + 0.5), FOREGROUND);
        canvas.text(&text, (left - 7.0, y), Y_TICK, FOREGROUND);
    }
    canvas.fill((left - 1.0, top), (left, bottom + 1.0), FOREGROUND);
    canvas.fill((left - 1.0, bottom), (right, bottom + 1.0), FOREGROUND);
    let label = plot.sequence.label();
    let label = cut(&label, Y_LABEL.size, plot.bottom - plot.top);
    canvas.text(&label, (18.0, (top + bottom) / 2.0), Y_LABEL, FOREGROUND);
}

struct PanelFrame {
    title: Lines,
    plot: Plot,
}

/// The positions of everything in the picture.
struct DiagramLayout {
    width: i32,
    height: i32,
    title: Lines,
    /// Each style, with the left end and the vertical middle of its sample.
    legend: Vec<(MarkStyle, i32, i32)>,
    frames: Vec<PanelFrame>,
    x_label: String,
}

impl DiagramLayout {
    fn of(diagram: &Diagram, visible: &[Vec<Mark>], look: &Look) -> Self {
        let whole = look.width.pixels().floor() as i32;
        let right = whole - RIGHT_MARGIN;
        let mut y = MARGIN;
        let title = lines(&diagram.title, TITLE, right - LEFT, 22, &mut y);
        let scales: Vec<(u64, u64)> = match diagram.scale {
            SequenceScale::Shared => vec![sequences(visible); visible.len()],
            SequenceScale::OnePerPanel => visible.chunks(1).map(sequences).collect(),
        };
        let legend = legend(&used_styles(visible, &scales), whole, &mut y);
        let time = times(diagram, visible);
        let ends = (f64::from(LEFT + PAD), f64::from(right - PAD));
        let ticks = ((right - LEFT) / X_TICK_ROOM).clamp(2, 20) as u64;
        let x_axis = PixelAxis::new(Quantity::Time, time.0, time.1, ends, ticks);
        let most = visible.iter().map(Vec::len).max().unwrap_or(0);
        let mut frames = Vec::with_capacity(visible.len());
        for ((panel, marks), scale) in diagram.panels.iter().zip(visible).zip(scales) {
            y += 10;
            let title = lines(&panel.title, PANEL_TITLE, right - LEFT, 20, &mut y);
            let part = match (visible.len(), diagram.scale) {
                (0 | 1, _) => SINGLE_PANEL_HEIGHT,
                (_, SequenceScale::OnePerPanel) if marks.len() < most / 4 => SMALL_PANEL_HEIGHT,
                _ => PANEL_HEIGHT,
            };
            let height = (whole * part / 100).max(MIN_PANEL_HEIGHT);
            let (top, bottom) = (y, y + height);
            let ends = (f64::from(bottom - 1 - PAD), f64::from(top + PAD));
            let ticks = (height / Y_TICK_ROOM).clamp(2, 12) as u64;
            let plot = Plot {
                left: LEFT,
                right,
                top,
                bottom,
                time: x_axis,
                sequence: PixelAxis::new(Quantity::Sequence, scale.0, scale.1, ends, ticks),
            };
            frames.push(PanelFrame { title, plot });
            y = bottom + 22;
        }
        Self { width: whole, height: y + 24 + MARGIN, title, legend, frames, x_label: x_axis.label() }
    }
}

/// The styles that occur in the picture.
fn used_styles(visible: &[Vec<Mark>], scales: &[(u64, u64)]) -> Vec<MarkStyle> {
    let used = |style: &MarkStyle| {
        visible.iter().zip(scales).any(|(marks, (_, highest))| {
            let shows = |mark: &Mark| window(&mark.kind).is_none_or(|edge| position(edge) <= *highest);
            match style {
                MarkStyle::ZeroWindow => !zero_windows(marks).is_empty(),
                _ => marks.iter().any(|mark| MarkStyle::of(mark) == Some(*style) && shows(mark)),
            }
        })
    };
    MarkStyle::ALL.into_iter().filter(used).collect()
}

/// The first and the last instant shown, in nanoseconds.
fn times(diagram: &Diagram, visible: &[Vec<Mark>]) -> (u64, u64) {
    let times = || visible.iter().flatten().map(|mark| mark.at.as_nanos());
    let (low, high) = (times().min().unwrap_or(0), times().max().unwrap_or(0));
    // The axis begins at 0 unless that wastes much of the width.
    let low = if low <= high / 4 { 0 } else { low };
    (diagram.from.map_or(low, |from| from.as_nanos()), diagram.to.map_or(high, |to| to.as_nanos()))
}

/// The lowest and the highest position shown.
fn sequences(visible: &[Vec<Mark>]) -> (u64, u64) {
    let marks = visible.iter().flatten().filter(|mark| mark.kind.is_on_axis());
    let ranges = || marks.clone().map(|mark| mark.kind.range());
    let low = ranges().map(|(low, _)| position(low)).min().unwrap_or(0);
    let high = ranges().map(|(_, high)| position(high)).max().unwrap_or(0);
    (if low <= high / 4 { 0 } else { low }, high)
}

/// Places samples and names in rows, each row centred.
fn legend(styles: &[MarkStyle], whole: i32, y: &mut i32) -> Vec<(MarkStyle, i32, i32)> {
    const GAP: i32 = 22;
    let room = whole - 2 * MARGIN;
    let entries = styles.iter().map(|&style| {
        let name = cut(style.name(), LEGEND.size, room);
        (style, MarkStyle::SWATCH + 6 + width(&name, LEGEND.size))
    });
    let rows = layout_rows(entries, GAP, room);
    let mut placed = Vec::with_capacity(styles.len());
    for (used, row) in rows {
        *y += 22;
        let left = (whole - used) / 2;
        placed.extend(row.into_iter().map(|(style, x)| (style, left + x, *y - 9)));
    }
    placed
}
