//! A diagram as SVG, 900 px wide.

use super::axis::{PixelAxis, Quantity};
use super::mark_style::MarkStyle;
use super::panel_painter::{PanelPainter, Plot};
use super::{Diagram, Mark, MarkKind, position, window};
use crate::canvas::{Align, Canvas, Style};
use crate::canvas::{FOREGROUND, GRID, WHITE};
use crate::text::{cut, layout_rows, width, wrap};

const WIDTH: i32 = 900;
const MARGIN: i32 = 14;
/// The left end of the x axis; label, numbers and ticks of the y axis stand left of it.
const LEFT: i32 = 72;
const RIGHT: i32 = WIDTH - 18;
/// The height of a diagram's only panel.
const SINGLE_PANEL_HEIGHT: i32 = 460;
/// The height of each of several panels.
const PANEL_HEIGHT: i32 = 300;
/// Empty space beyond the first and last mark, so that none lies on an axis.
const PAD: i32 = 10;

const fn style(size: i32, bold: bool, align: Align, upright: bool) -> Style {
    Style {
        size,
        bold,
        align,
        upright,
    }
}

const TITLE: Style = style(17, true, Align::Centre, false);
const PANEL_TITLE: Style = style(13, true, Align::Left, false);
const LEGEND: Style = style(13, false, Align::Left, false);
const X_TICK: Style = style(12, false, Align::Centre, false);
const Y_TICK: Style = style(12, false, Align::Right, false);
const X_LABEL: Style = style(13, false, Align::Centre, false);
const Y_LABEL: Style = style(13, false, Align::Centre, true);

pub(super) fn draw(diagram: &Diagram) -> String {
    let visible = diagram.visible();
    let (_, highest) = sequences(&visible);
    let shown = |mark: &&Mark| window(&mark.kind).is_none_or(|edge| position(edge) <= highest);
    let marks = || visible.iter().flatten().filter(shown);
    let used = |style: &MarkStyle| marks().any(|mark| style.applies_to(mark));
    let styles: Vec<MarkStyle> = MarkStyle::ALL.into_iter().filter(used).collect();
    let layout = DiagramLayout::of(diagram, &visible, &styles);
    let mut svg = String::new();
    let canvas = Canvas::new(&mut svg, WIDTH, layout.height);
    canvas.fill((0, 0), (WIDTH, layout.height), WHITE);
    for (line, y) in &layout.title {
        canvas.text(line, (WIDTH / 2, *y), TITLE, FOREGROUND);
    }
    for (style, x, y) in &layout.legend {
        style.swatch(&canvas, (*x, *y));
        canvas.text(
            style.name(),
            (x + MarkStyle::SWATCH + 6, *y),
            LEGEND,
            FOREGROUND,
        );
    }
    for (frame, marks) in layout.frames.iter().zip(&visible) {
        for (line, y) in &frame.title {
            canvas.text(line, (LEFT, *y), PANEL_TITLE, FOREGROUND);
        }
        draw_axes(&canvas, &frame.plot);
        PanelPainter::new(&canvas, &frame.plot).paint(marks);
    }
    let middle = ((LEFT + RIGHT) / 2, layout.height - MARGIN - 10);
    canvas.text(&layout.x_label, middle, X_LABEL, FOREGROUND);
    drop(canvas);
    svg
}

fn draw_axes(canvas: &Canvas<'_>, plot: &Plot) {
    let Plot { top, bottom, .. } = *plot;
    for (x, text) in plot.time.ticks() {
        canvas.fill((x, top), (x + 1, bottom), GRID);
        canvas.fill((x, bottom), (x + 1, bottom + 4), FOREGROUND);
        canvas.text(&text, (x, bottom + 13), X_TICK, FOREGROUND);
    }
    for (y, text) in plot.sequence.ticks() {
        canvas.fill((LEFT, y), (RIGHT, y + 1), GRID);
        canvas.fill((LEFT - 4, y), (LEFT, y + 1), FOREGROUND);
        canvas.text(&text, (LEFT - 7, y), Y_TICK, FOREGROUND);
    }
    canvas.fill((LEFT - 1, top), (LEFT, bottom + 1), FOREGROUND);
    canvas.fill((LEFT - 1, bottom), (RIGHT, bottom + 1), FOREGROUND);
    let label = plot.sequence.label();
    canvas.text(&label, (18, (top + bottom) / 2), Y_LABEL, FOREGROUND);
}

/// Lines of text, each with its vertical middle.
type Lines = Vec<(String, i32)>;

struct PanelFrame {
    title: Lines,
    plot: Plot,
}

/// The positions of everything in the picture.
struct DiagramLayout {
    height: i32,
    title: Lines,
    /// Each style, with the left end and the vertical middle of its sample.
    legend: Vec<(MarkStyle, i32, i32)>,
    frames: Vec<PanelFrame>,
    x_label: String,
}

impl DiagramLayout {
    fn of(diagram: &Diagram, visible: &[Vec<Mark>], styles: &[MarkStyle]) -> Self {
        let mut y = MARGIN;
        let title = lines(&diagram.title, TITLE, 22, &mut y);
        let legend = legend(styles, &mut y);
        let (time, sequence) = (times(diagram, visible), sequences(visible));
        let x_axis = |ends| PixelAxis::new(Quantity::Time, time.0, time.1, ends, 12);
        let height = match visible.len() {
            0 | 1 => SINGLE_PANEL_HEIGHT,
            _ => PANEL_HEIGHT,
        };
        let mut frames = Vec::with_capacity(visible.len());
        for panel in &diagram.panels {
            y += 10;
            let title = lines(&panel.title, PANEL_TITLE, 20, &mut y);
            let (top, bottom) = (y, y + height);
            let ends = (bottom - 1 - PAD, top + PAD);
            let plot = Plot {
                left: LEFT,
                right: RIGHT,
                top,
                bottom,
                time: x_axis((LEFT + PAD, RIGHT - PAD)),
                sequence: PixelAxis::new(Quantity::Sequence, sequence.0, sequence.1, ends, 8),
            };
            frames.push(PanelFrame { title, plot });
            y = bottom + 22;
        }
        Self {
            height: y + 24 + MARGIN,
            title,
            legend,
            frames,
            x_label: x_axis((LEFT + PAD, RIGHT - PAD)).label(),
        }
    }
}

/// The first and the last instant shown, in nanoseconds.
fn times(diagram: &Diagram, visible: &[Vec<Mark>]) -> (u64, u64) {
    let times = || visible.iter().flatten().map(|mark| mark.at.as_nanos());
    let (low, high) = (times().min().unwrap_or(0), times().max().unwrap_or(0));
    // The axis begins at 0 unless that wastes much of the width.
    let low = if low <= high / 4 { 0 } else { low };
    (
        diagram.from.map_or(low, |from| from.as_nanos()),
        diagram.to.map_or(high, |to| to.as_nanos()),
    )
}

/// The lowest and the highest position shown.
fn sequences(visible: &[Vec<Mark>]) -> (u64, u64) {
    let marks = || visible.iter().flatten().map(|mark| &mark.kind);
    let low = marks()
        .filter_map(MarkKind::lowest)
        .map(position)
        .min()
        .unwrap_or(0);
    let high = marks()
        .filter_map(MarkKind::highest)
        .map(position)
        .max()
        .unwrap_or(0);
    (if low <= high / 4 { 0 } else { low }, high)
}

/// Breaks `text` into lines, `pitch` pixels apart, from `y` on, and moves `y` below them.
fn lines(text: &str, style: Style, pitch: i32, y: &mut i32) -> Lines {
    let place = |line| {
        *y += pitch;
        (line, *y - pitch / 2)
    };
    let lines = wrap(text, style.size, RIGHT - LEFT);
    lines.into_iter().map(place).collect()
}

/// Places samples and names in rows, each row centred.
fn legend(styles: &[MarkStyle], y: &mut i32) -> Vec<(MarkStyle, i32, i32)> {
    const GAP: i32 = 22;
    let room = WIDTH - 2 * MARGIN;
    let entries = styles.iter().map(|&style| {
        let name = cut(style.name(), LEGEND.size, room);
        (style, MarkStyle::SWATCH + 6 + width(&name, LEGEND.size))
    });
    let rows = layout_rows(entries, GAP, room);
    let mut placed = Vec::with_capacity(styles.len());
    for (used, row) in rows {
        *y += 22;
        let left = (WIDTH - used) / 2;
        placed.extend(row.into_iter().map(|(style, x)| (style, left + x, *y - 9)));
    }
    placed
}
