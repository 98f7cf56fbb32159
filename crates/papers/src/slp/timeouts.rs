//! §I, §II-B and §III-A: which losses cause timeouts, and what duplicated SYNs save, in simulated populations.
//!
//! | figure | population | shows | analysis (`recoup_captures::study::slp`) |
//! | --- | --- | --- | --- |
//! | fig1, fig3 | data center | timeouts by position and by flags of the lost packet | the paper's, clients and servers apart |
//! | fig2, fig4 | backbone | the same | the paper's, both directions together |
//! | table1 | backbone | completion times of flows with SYN loss | the paper's, and reruns with duplicated SYNs |
//!
//! The paper analyzed captures of data centers and of a backbone, which we do not have. Simulated populations stand in
//! for them (`world`). They are fitted to what the paper prints of its captures as a whole; all else about their paths and
//! traffic is our choice. Users give up, and captures end while flows last.
//!
//! The flows are captured at both ends. A lost packet is seen where its sender is: what clients sent comes
//! from the capture at the clients, what servers sent from the capture at the servers.
//!
//! # Table I, rerun
//! The paper computes the completion time with SLP. We also run each flow with SYN loss again, with the same
//! draws, whose client duplicates its SYN and nothing else. The duplicate may be lost too, and the saving
//! then is none.

mod claims;
mod columns;
mod contrast;
mod population;
mod world;

use crate::prelude::*;
pub use population::{RerunFlow, Studied, Traces};
pub use world::FITS;

use super::NAME;
use crate::distribution;
use columns::{FlagCell, PositionCell};
use recoup_captures::study::slp::{flag_chart, position_chart};

/// The names on the command line: positions and flags in data centers, then on the backbone.
pub const POSITIONS: [&str; 2] = ["fig1", "fig2"];
/// See [`POSITIONS`].
pub const FLAGS: [&str; 2] = ["fig3", "fig4"];
/// Table I.
pub const TABLE: &str = "table1";

/// The profile of both hosts: the paper's baseline, of the kernels of its time.
pub const SENDER: &str = "linux-3.17";

/// Flows of a population.
fn flows(setup: &Setup) -> u64 {
    setup.effort.of(16_000, 2400)
}

fn title(what: &str, studied: &Studied) -> String {
    format!("{what}; {} simulated flows of {SENDER}, {}, seed {}", studied.flows, studied.traces.name(), studied.seed)
}

/// Timeouts by position: Figure 1 or 2.
///
/// # Errors
/// Never with the populations of the figures.
pub fn positions(setup: &Setup, traces: Traces) -> Result<Sheet> {
    Ok(positions_of(&*population::study(setup, traces, flows(setup))?))
}

/// Timeouts by flags: Figure 3 or 4.
///
/// # Errors
/// As [`positions`].
pub fn flags(setup: &Setup, traces: Traces) -> Result<Sheet> {
    Ok(flags_of(&*population::study(setup, traces, flows(setup))?))
}

/// Completion times of flows with SYN loss: Table I.
///
/// # Errors
/// As [`positions`].
pub fn table(setup: &Setup) -> Result<Sheet> {
    Ok(table_of(&*population::study(setup, Traces::Backbone, flows(setup))?))
}

fn positions_of(studied: &Studied) -> Sheet {
    let (report, id) = (&studied.report, POSITIONS[studied.traces as usize]);
    let cells = report.positions.iter().flat_map(|panel| {
        panel.positions.iter().map(|place| PositionCell {
            sender: panel.sender,
            half: panel.half.name(),
            position: place.position,
            shares: place.shares,
        })
    });
    let title = title("Timeouts by position of the lost packet", studied);
    Figure::new(NAME, id, title, claims::positions(studied), position_chart(report), cells.collect())
        .into_sheet(&columns::positions_text(report), &columns::positions(id))
}

fn flags_of(studied: &Studied) -> Sheet {
    let (report, id) = (&studied.report, FLAGS[studied.traces as usize]);
    let cells = report.flags.iter().flat_map(|panel| {
        panel.categories.iter().map(|category| FlagCell { sender: panel.sender, category: category.clone() })
    });
    let title = title("Timeouts by flags of the lost packet", studied);
    Figure::new(NAME, id, title, claims::flags(studied), flag_chart(report), cells.collect())
        .sheet(columns::flags_text, &columns::flags(id))
}

fn table_of(studied: &Studied) -> Sheet {
    let cells = columns::table_cells(studied);
    let title = title("Completion times of flows with SYN loss", studied);
    Figure::new(NAME, TABLE, title, claims::table(studied, &cells), completion_chart(studied), cells)
        .sheet(|cells| columns::table_text(studied, cells), &columns::table())
}

/// The distribution functions of the completion times.
fn completion_chart(studied: &Studied) -> LineChart {
    let line = |of: fn(&RerunFlow) -> Option<f64>| {
        let mut values: Vec<f64> = studied.reruns.iter().filter_map(of).collect();
        values.sort_unstable_by(f64::total_cmp);
        distribution::steps(&values)
    };
    LineChart::new(
        "Completion times of flows with SYN loss",
        "first SYN to last packet with data or FIN (s)",
        "share of the flows",
        ["without SLP", "with SLP, computed", "SYNs duplicated, rerun"],
    )
    .logarithmic()
    .up_to(1.0)
    .steps()
    .panel("", [line(|flow| Some(flow.without_s)), line(|flow| Some(flow.computed_s)), line(|flow| flow.rerun_s)])
}

#[cfg(test)]
mod tests;
