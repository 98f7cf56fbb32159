//! The drawing for eyes: SVG, 900 px wide, through the charts' canvas.

use super::axis::{Axis, Quantity};
use super::ink::Ink;
use super::paint::{Painter, Plot};
use super::{Diagram, Mark, What, position, window};
use crate::canvas::{Align, Canvas, Style};
use crate::canvas::{FAINT, INK, WHITE};
use crate::text::{cut, rows, width, wrap};

const WIDTH: i32 = 900;
const MARGIN: i32 = 14;
/// From the left edge to the axes: label, numbers and ticks.
const LEFT: i32 = 72;
const RIGHT: i32 = WIDTH - 18;
/// How high a panel is alone, and beside others.
const ALONE: i32 = 460;
const TOGETHER: i32 = 300;
/// Beyond the first and last mark, so that none lies on the frame.
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

/// Draws the whole diagram.
pub(super) fn draw(diagram: &Diagram) -> String {
    let visible = diagram.visible();
    let (_, highest) = sequences(&visible);
    let shown = |mark: &&Mark| window(&mark.what).is_none_or(|edge| position(edge) <= highest);
    let marks = || visible.iter().flatten().filter(shown);
    let used = |ink: &Ink| marks().any(|mark| ink.of(mark));
    let inks: Vec<Ink> = Ink::ALL.into_iter().filter(used).collect();
    let layout = Layout::of(diagram, &visible, &inks);
    let mut svg = String::new();
    let canvas = Canvas::new(&mut svg, WIDTH, layout.height);
    canvas.fill((0, 0), (WIDTH, layout.height), WHITE);
    for (line, y) in &layout.title {
        canvas.text(line, (WIDTH / 2, *y), TITLE, INK);
    }
    for (ink, x, y) in &layout.legend {
        ink.swatch(&canvas, (*x, *y));
        canvas.text(ink.name(), (x + Ink::SWATCH + 6, *y), LEGEND, INK);
    }
    for (frame, marks) in layout.frames.iter().zip(&visible) {
        for (line, y) in &frame.title {
            canvas.text(line, (LEFT, *y), PANEL_TITLE, INK);
        }
        draw_axes(&canvas, &frame.plot);
        Painter::new(&canvas, &frame.plot).paint(marks);
    }
    let middle = ((LEFT + RIGHT) / 2, layout.height - MARGIN - 10);
    canvas.text(&layout.x_label, middle, X_LABEL, INK);
    drop(canvas);
    svg
}

fn draw_axes(canvas: &Canvas<'_>, plot: &Plot) {
    let Plot { top, bottom, .. } = *plot;
    for (x, text) in plot.time.ticks() {
        canvas.fill((x, top), (x + 1, bottom), FAINT);
        canvas.fill((x, bottom), (x + 1, bottom + 4), INK);
        canvas.text(&text, (x, bottom + 13), X_TICK, INK);
    }
    for (y, text) in plot.sequence.ticks() {
        canvas.fill((LEFT, y), (RIGHT, y + 1), FAINT);
        canvas.fill((LEFT - 4, y), (LEFT, y + 1), INK);
        canvas.text(&text, (LEFT - 7, y), Y_TICK, INK);
    }
    canvas.fill((LEFT - 1, top), (LEFT, bottom + 1), INK);
    canvas.fill((LEFT - 1, bottom), (RIGHT, bottom + 1), INK);
    let label = plot.sequence.label();
    canvas.text(&label, (18, (top + bottom) / 2), Y_LABEL, INK);
}

/// Lines of text and where the middle of each is.
type Lines = Vec<(String, i32)>;

struct Frame {
    title: Lines,
    plot: Plot,
}

/// Where everything goes.
struct Layout {
    height: i32,
    title: Lines,
    /// Each kind of mark, with the left end and the middle of its swatch.
    legend: Vec<(Ink, i32, i32)>,
    frames: Vec<Frame>,
    x_label: String,
}

impl Layout {
    fn of(diagram: &Diagram, visible: &[Vec<Mark>], inks: &[Ink]) -> Self {
        let mut y = MARGIN;
        let title = lines(&diagram.title, TITLE, 22, &mut y);
        let legend = legend(inks, &mut y);
        let (time, sequence) = (times(diagram, visible), sequences(visible));
        let x_axis = |ends| Axis::new(Quantity::Time, time.0, time.1, ends, 12);
        let height = if visible.len() > 1 { TOGETHER } else { ALONE };
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
                sequence: Axis::new(Quantity::Sequence, sequence.0, sequence.1, ends, 8),
            };
            frames.push(Frame { title, plot });
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
    // A little empty time at the start is kept, so that the axis begins at 0.
    let low = if low <= high / 4 { 0 } else { low };
    (
        diagram.from.map_or(low, |from| from.as_nanos()),
        diagram.to.map_or(high, |to| to.as_nanos()),
    )
}

/// The lowest and the highest position shown.
fn sequences(visible: &[Vec<Mark>]) -> (u64, u64) {
    let marks = || visible.iter().flatten().map(|mark| &mark.what);
    let low = marks()
        .filter_map(What::lowest)
        .map(position)
        .min()
        .unwrap_or(0);
    let high = marks()
        .filter_map(What::highest)
        .map(position)
        .max()
        .unwrap_or(0);
    (if low <= high / 4 { 0 } else { low }, high)
}

/// Breaks `text` into lines `pitch` apart from `y` on, and moves `y` below them.
fn lines(text: &str, style: Style, pitch: i32, y: &mut i32) -> Lines {
    let place = |line| {
        *y += pitch;
        (line, *y - pitch / 2)
    };
    let lines = wrap(text, style.size, RIGHT - LEFT);
    lines.into_iter().map(place).collect()
}

/// Rows of swatches and names, each row centred.
fn legend(inks: &[Ink], y: &mut i32) -> Vec<(Ink, i32, i32)> {
    const GAP: i32 = 22;
    let room = WIDTH - 2 * MARGIN;
    let entries = inks.iter().map(|&ink| {
        let name = cut(ink.name(), LEGEND.size, room);
        (ink, Ink::SWATCH + 6 + width(&name, LEGEND.size))
    });
    let rows = rows(entries, GAP, room);
    let mut placed = Vec::with_capacity(inks.len());
    for (used, row) in rows {
        *y += 22;
        let left = (WIDTH - used) / 2;
        placed.extend(row.into_iter().map(|(ink, x)| (ink, left + x, *y - 9)));
    }
    placed
}
