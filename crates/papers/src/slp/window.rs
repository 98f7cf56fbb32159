//! §II-C and §II-C2: the window rule, the one copy per window, and the gap, checked in single flows.
//!
//! ```text
//! win = min(cwnd − dup_bytes, rwnd)
//! a copy of next is sent only if  next + 2·size < high_acked + cwnd  and  next + size < high_acked + rwnd
//! ```
//!
//! A flow sends n segments at once over a path of 80 ms; nothing is lost unless a cell says so. p is 0.5, so that the
//! arbitrator favours every copy whose kind has q = 1, and the windows alone decide. Each cell is one flow.
//!
//! Deviation: our windows count segments, as Linux's do, so `dup_bytes` is one segment until the copied segment is
//! acknowledged as a whole. The paper's partial acknowledgments of a copy do not show.

mod cells;
mod claims;

use super::NAME;
use crate::experiment::{ExperimentError, Setup};
use crate::{Figure, Picture, Sheet, columns_of_figure};
use cells::Cells;
use recoup_draw::chart::{Interpolation, LineChart, LinePanel, Scale};
use recoup_table::{Columns, plain_table};

/// The name on the command line.
pub const ID: &str = "window";

/// A flow: its windows, its length, and whether its last segment was copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowCell {
    /// The congestion window in segments.
    pub cwnd: u64,
    /// The window that the receiver offers, in segments; `None`: it is no limit.
    pub rwnd: Option<u64>,
    /// Segments of the flow.
    pub segments: u64,
    /// Whether the paper's rule permits a copy of the last one.
    pub permitted: bool,
    /// Copies sent.
    pub copies: u64,
    /// Copies withheld.
    pub withheld: u64,
}

/// Runs all flows and checks the claims.
///
/// # Errors
/// Settings that do not fit together.
pub fn sheet(setup: &Setup) -> Result<Sheet, ExperimentError> {
    let cells = Cells::run(setup)?;
    let claims = claims::all(&cells);
    let figure = Figure {
        paper: NAME,
        figure: ID,
        title: "The windows and the copy of a flow's last segment".into(),
        picture: Picture::Lines(chart(&cells.rule)),
        claims,
        cells: cells.rule,
    };
    let text = text(&figure.cells);
    Ok(figure.into_sheet(&text, &columns()))
}

/// The longest flow whose last segment is copied, by window.
fn chart(cells: &[WindowCell]) -> LineChart {
    let longest = |of: &dyn Fn(&WindowCell) -> Option<u64>, is: fn(&WindowCell) -> bool| {
        let mut points: Vec<(f64, f64)> = Vec::new();
        for cell in cells {
            let Some(window) = of(cell) else { continue };
            if points.last().is_none_or(|last| last.0 != window as f64) {
                points.push((window as f64, 0.0));
            }
            if is(cell)
                && let Some(last) = points.last_mut()
            {
                last.1 = last.1.max(cell.segments as f64);
            }
        }
        points
    };
    let panel = |title: &str, of: &dyn Fn(&WindowCell) -> Option<u64>| LinePanel {
        title: title.into(),
        lines: vec![longest(of, |cell| cell.permitted), longest(of, |cell| cell.copies > 0)],
    };
    LineChart {
        title: "The longest flow whose last segment is copied".into(),
        x_label: "window (segments)".into(),
        y_label: "segments of the flow".into(),
        scale: Scale::Linear,
        y_scale: Scale::Linear,
        largest: None,
        interpolation: Interpolation::Linear,
        series: vec!["the paper's rule".into(), "ours".into()],
        panels: vec![
            panel("The congestion window is the limit", &|cell| cell.rwnd.is_none().then_some(cell.cwnd)),
            panel("The receiver's window is the limit", &|cell| cell.rwnd),
        ],
    }
}

fn columns() -> Columns<WindowCell> {
    columns_of_figure::<WindowCell>(ID)
        .integer(("cwnd", "segments", "congestion window"), |c| Some(c.cwnd))
        .integer(("rwnd", "segments", "the receiver's window, where it is a limit"), |c| c.rwnd)
        .integer(("segments", "segments", "length of the flow"), |c| Some(c.segments))
        .flag(("permitted", "", "the paper's rule permits a copy of the last"), |c| c.permitted)
        .integer(("copies", "segments", "copies sent"), |c| Some(c.copies))
        .integer(("withheld", "segments", "copies withheld"), |c| Some(c.withheld))
}

/// A row per window: the longest flow whose last segment is copied.
fn text(cells: &[WindowCell]) -> String {
    let mut table = plain_table();
    table.set_header(["cwnd (segments)", "rwnd (segments)", "flows", "permitted", "copied", "withheld"]);
    for group in cells.chunk_by(|a, b| (a.cwnd, a.rwnd) == (b.cwnd, b.rwnd)) {
        let first = group[0];
        let count = |is: fn(&WindowCell) -> bool| group.iter().filter(|cell| is(cell)).count();
        table.add_row([
            first.cwnd.to_string(),
            first.rwnd.map_or("no limit".into(), |rwnd| rwnd.to_string()),
            format!("1 to {} segments", group.len()),
            count(|cell| cell.permitted).to_string(),
            count(|cell| cell.copies > 0).to_string(),
            count(|cell| cell.withheld > 0).to_string(),
        ]);
    }
    table.to_string()
}

#[cfg(test)]
mod tests;
