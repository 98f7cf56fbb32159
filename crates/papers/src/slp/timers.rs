//! §I and §II-B4: why timeouts cost time, and when a loss causes one, in single flows.
//!
//! A flow of ten segments loses one of them, over paths of several RTTs, with `linux-3.17`, whose smallest RTO is 200 ms.
//! What a loss costs is the completion time less that of the same flow without loss. Finer timers
//! have a smallest RTO of 1 ms. As in the kernel, the smallest RTO bounds the term 4·RTTVAR.
//!
//! ```text
//! fast retransmission   needs later segments that arrive: costs about one RTT
//! timeout               costs an RTO = SRTT + 4·RTTVAR, which is about 3·RTT after the handshake alone
//! ```
//!
//! Inputs: the RTTs, the sizes and the delayed packet (600 ms) are ours.

mod cells;
mod claims;

use super::NAME;
use crate::experiment::{ExperimentError, Setup};
use crate::{Figure, Picture, Sheet, columns_of_figure};
use cells::{Cells, LEAST_RTOS};
use recoup_draw::chart::{BarChart, BarGroup, BarPanel};
use recoup_table::{Columns, millis, plain_table};

/// The name on the command line.
pub const ID: &str = "timers";

/// What the loss of a segment costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossCell {
    /// The RTT in ms.
    pub rtt_ms: u64,
    /// The smallest RTO in ms.
    pub least_rto_ms: u64,
    /// Which segment is lost.
    pub lost: &'static str,
    /// What it costs, in ms.
    pub cost_ms: f64,
    /// Retransmissions by a timer.
    pub timeouts: u64,
}

/// Runs all flows and checks the claims.
///
/// # Errors
/// Settings that do not fit together.
pub fn sheet(setup: &Setup) -> Result<Sheet, ExperimentError> {
    let cells = Cells::run(setup)?;
    let figure = Figure {
        paper: NAME,
        figure: ID,
        title: "What a lost segment costs, by timer".into(),
        claims: claims::all(&cells),
        picture: Picture::Bars(chart(&cells.losses)),
        cells: cells.losses,
    };
    let text = text(&figure.cells);
    Ok(figure.into_sheet(&text, &columns()))
}

fn chart(cells: &[LossCell]) -> BarChart {
    // The loss of the first segment costs the same with any smallest RTO.
    let is_drawn = |arm: &(u64, &str)| arm.1 == "last" || arm.0 == LEAST_RTOS[1];
    let arms: Vec<(u64, &str)> = arms(cells).into_iter().filter(is_drawn).collect();
    let rtts = cells.iter().map(|cell| cell.rtt_ms);
    let mut rtts: Vec<u64> = rtts.collect();
    rtts.dedup();
    let group = |rtt_ms: &u64| BarGroup {
        label: rtt_ms.to_string(),
        values: arms
            .iter()
            .map(|arm| {
                let is_it = |c: &&LossCell| c.rtt_ms == *rtt_ms && (c.least_rto_ms, c.lost) == *arm;
                cells.iter().find(is_it).map(|cell| cell.cost_ms)
            })
            .collect(),
    };
    BarChart {
        title: "What the loss of one of ten segments costs".into(),
        x_label: "RTT (ms)".into(),
        y_label: "completion time added (ms)".into(),
        series: arms.iter().map(|(least, lost)| format!("{lost} lost, smallest RTO {least} ms")).collect(),
        panels: vec![BarPanel { title: String::new(), groups: rtts.iter().map(group).collect() }],
    }
}

fn arms(cells: &[LossCell]) -> Vec<(u64, &'static str)> {
    let mut arms: Vec<(u64, &'static str)> = Vec::new();
    for cell in cells {
        let arm = (cell.least_rto_ms, cell.lost);
        if !arms.contains(&arm) {
            arms.push(arm);
        }
    }
    arms
}

fn columns() -> Columns<LossCell> {
    columns_of_figure::<LossCell>(ID)
        .integer(("rtt_ms", "ms", "round-trip time"), |c| Some(c.rtt_ms))
        .integer(("least_rto_ms", "ms", "smallest RTO"), |c| Some(c.least_rto_ms))
        .text(("lost", "", "the lost segment"), |c| Some(c.lost.into()))
        .real(("cost_ms", "ms", "completion time added"), |c| Some(c.cost_ms))
        .integer(("timeouts", "", "retransmissions by a timer"), |c| Some(c.timeouts))
}

fn text(cells: &[LossCell]) -> String {
    let mut table = plain_table();
    table.set_header(["RTT (ms)", "smallest RTO (ms)", "lost", "costs (ms)", "timeouts"]);
    for cell in cells {
        table.add_row([
            cell.rtt_ms.to_string(),
            cell.least_rto_ms.to_string(),
            cell.lost.into(),
            millis(Some(cell.cost_ms)),
            cell.timeouts.to_string(),
        ]);
    }
    table.to_string()
}

#[cfg(test)]
mod tests;
