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
use crate::prelude::*;
use cells::Cells;

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
pub fn sheet(setup: &Setup) -> Result<Sheet> {
    let cells = Cells::run(setup)?;
    let (claims, chart) = (claims::all(&cells), chart(&cells.rule));
    let title = "The windows and the copy of a flow's last segment";
    Ok(Figure::new(NAME, ID, title, claims, chart, cells.rule).sheet(text, &columns()))
}

/// The longest flow whose last segment is copied, by window.
fn chart(cells: &[WindowCell]) -> LineChart {
    let longest = |of: fn(&WindowCell) -> Option<u64>, is: fn(&WindowCell) -> bool| {
        let limited = cells.iter().filter(|cell| of(cell).is_some()).collect::<Vec<_>>();
        let point = |flows: &[&WindowCell]| {
            let copied = flows.iter().filter(|cell| is(cell)).map(|cell| cell.segments);
            (of(flows[0]).unwrap_or(0) as f64, copied.max().unwrap_or(0) as f64)
        };
        limited.chunk_by(|a, b| of(a) == of(b)).map(point).collect::<Vec<_>>()
    };
    let lines = |of| [longest(of, |cell| cell.permitted), longest(of, |cell| cell.copies > 0)];
    LineChart::new(
        "The longest flow whose last segment is copied",
        "window (segments)",
        "segments of the flow",
        ["the paper's rule", "ours"],
    )
    .panel("The congestion window is the limit", lines(|cell| cell.rwnd.is_none().then_some(cell.cwnd)))
    .panel("The receiver's window is the limit", lines(|cell| cell.rwnd))
}

fn columns() -> Columns<WindowCell> {
    columns!(columns_of_figure::<WindowCell>(ID), c;
        cwnd, "segments", "congestion window";
        rwnd, "segments", "the receiver's window, where it is a limit";
        segments, "segments", "length of the flow";
        permitted, "", "the paper's rule permits a copy of the last";
        copies, "segments", "copies sent";
        withheld, "segments", "copies withheld";
    )
}

/// A row per window: the longest flow whose last segment is copied.
fn text(cells: &[WindowCell]) -> String {
    type Flows = Vec<WindowCell>;
    let windows = cells.chunk_by(|a, b| (a.cwnd, a.rwnd) == (b.cwnd, b.rwnd));
    let count = |is: fn(&WindowCell) -> bool| move |flows: &Flows| flows.iter().filter(|cell| is(cell)).count();
    columns!(Columns::<Flows>::new(), flows;
        "cwnd (segments)" => flows[0].cwnd;
        "rwnd (segments)" => flows[0].rwnd.map_or("no limit".into(), |rwnd| rwnd.to_string());
        "flows" => format!("1 to {} segments", flows.len());
    )
    .shown("permitted", count(|cell| cell.permitted))
    .shown("copied", count(|cell| cell.copies > 0))
    .shown("withheld", count(|cell| cell.withheld > 0))
    .to_table(&windows.map(<[_]>::to_vec).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests;
