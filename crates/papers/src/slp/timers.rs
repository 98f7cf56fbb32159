//! §I and §II-B4: why timeouts cost time, and when a loss causes one, in single flows.
//!
//! A flow of ten segments loses one of them, over paths of several RTTs, with `linux-3.17`, whose smallest RTO is 200 ms.
//! The cost of a loss is the completion time less that of the same flow without loss. Finer timers
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
use crate::prelude::*;
use cells::{Cells, LEAST_RTOS, RTTS};

/// The name on the command line.
pub const ID: &str = "timers";

/// The cost of losing a segment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossCell {
    /// The RTT in ms.
    pub rtt_ms: u64,
    /// The smallest RTO in ms.
    pub least_rto_ms: u64,
    /// Which segment is lost.
    pub lost: &'static str,
    /// Completion time added, in ms.
    pub cost_ms: f64,
    /// Retransmissions by a timer.
    pub timeouts: u64,
}

/// Runs all flows and checks the claims.
///
/// # Errors
/// Settings that do not fit together.
pub fn sheet(setup: &Setup) -> Result<Sheet> {
    let cells = Cells::run(setup)?;
    let (claims, chart) = (claims::all(&cells), chart(&cells.losses));
    let title = "What a lost segment costs, by timer";
    Ok(Figure::new(NAME, ID, title, claims, chart, cells.losses).sheet(text, &columns()))
}

fn chart(cells: &[LossCell]) -> BarChart {
    // The loss of the first segment costs the same with any smallest RTO: one is drawn.
    let arms: Vec<&LossCell> = cells[..2 * LEAST_RTOS.len()]
        .iter()
        .filter(|arm| arm.lost == "last" || arm.least_rto_ms == LEAST_RTOS[1])
        .collect();
    let cost = |rtt_ms, arm: &LossCell| {
        let is_it = |c: &&LossCell| (c.rtt_ms, c.least_rto_ms, c.lost) == (rtt_ms, arm.least_rto_ms, arm.lost);
        cells.iter().find(is_it).map(|cell| cell.cost_ms)
    };
    let series = arms.iter().map(|arm| format!("{} lost, smallest RTO {} ms", arm.lost, arm.least_rto_ms));
    BarChart::new("What the loss of one of ten segments costs", "RTT (ms)", "completion time added (ms)", series)
        .panel("", RTTS.map(|rtt_ms| (rtt_ms.to_string(), arms.iter().map(move |arm| cost(rtt_ms, arm)))))
}

fn columns() -> Columns<LossCell> {
    columns!(columns_of_figure::<LossCell>(ID), c;
        rtt_ms, "ms", "round-trip time";
        least_rto_ms, "ms", "smallest RTO";
        lost, "", "the lost segment";
        cost_ms, "ms", "completion time added";
        timeouts, "", "retransmissions by a timer";
    )
}

fn text(cells: &[LossCell]) -> String {
    columns!(Columns::<LossCell>::new(), c;
        "RTT (ms)" => c.rtt_ms;
        "smallest RTO (ms)" => c.least_rto_ms;
        "lost" => c.lost;
        "costs (ms)" => millis(Some(c.cost_ms));
        "timeouts" => c.timeouts;
    )
    .to_table(cells)
}

#[cfg(test)]
mod tests;
