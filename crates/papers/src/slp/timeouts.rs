//! §II-B and §III-A: which losses cause timeouts, and what duplicated SYNs save, in a simulated population.
//!
//! | figure | shows | analysis (`recoup_trace::study::slp`) |
//! | --- | --- | --- |
//! | fig1 | timeouts by position of the lost packet | the paper's, on captures of the population |
//! | fig3 | timeouts by flags of the lost packet | the same |
//! | table1 | completion times of flows with SYN loss | the paper's, and reruns with duplicated SYNs |
//!
//! The paper analyzed captures of data centers and of a backbone, which we do not have. A simulated
//! population of web traffic stands in for them: its paths and its traffic are our choice. So shares that
//! describe the paper's networks need not agree; statements about which losses cause more timeouts should.
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
mod population;

pub use population::{RerunFlow, Studied};

use super::NAME;
use crate::{Figure, Picture, Sheet};
use columns::{FlagCell, PositionCell};
use recoup_draw::chart::{Interpolation, LineChart, LinePanel, Scale};
use recoup_lab::settings::SettingsError;
use recoup_lab::study::slp::{flag_chart, position_chart};

/// The names on the command line.
pub const POSITIONS: &str = "fig1";
/// See [`POSITIONS`].
pub const FLAGS: &str = "fig3";
/// See [`POSITIONS`].
pub const TABLE: &str = "table1";

/// Flows of the population.
pub const FLOWS: u64 = 2500;

/// The profile of both hosts: the paper's baseline, of the kernels of its time.
pub const SENDER: &str = "linux-3.17";

fn title(what: &str, studied: &Studied) -> String {
    format!(
        "{what}; {} simulated flows of {SENDER}, seed {}",
        studied.flows, studied.seed
    )
}

/// Timeouts by position: Figure 1.
///
/// # Errors
/// Never with the population of the figure.
pub fn positions(seed: u64) -> Result<Sheet, SettingsError> {
    Ok(positions_of(&population::study(FLOWS, seed)?))
}

/// Timeouts by flags: Figure 3.
///
/// # Errors
/// As [`positions`].
pub fn flags(seed: u64) -> Result<Sheet, SettingsError> {
    Ok(flags_of(&population::study(FLOWS, seed)?))
}

/// Completion times of flows with SYN loss: Table I.
///
/// # Errors
/// As [`positions`].
pub fn table(seed: u64) -> Result<Sheet, SettingsError> {
    Ok(table_of(&population::study(FLOWS, seed)?))
}

fn positions_of(studied: &Studied) -> Sheet {
    let report = &studied.report;
    let panels = report.positions.iter();
    let cells = panels.flat_map(|panel| {
        panel.positions.iter().map(|place| PositionCell {
            sender: panel.sender,
            half: panel.half.name(),
            position: place.position,
            shares: place.shares,
        })
    });
    let figure = Figure {
        paper: NAME,
        figure: POSITIONS,
        title: title("Timeouts by position of the lost packet", studied),
        cells: cells.collect(),
        claims: claims::positions(report),
        picture: Picture::Lines(position_chart(report)),
    };
    figure.into_sheet(&columns::positions_text(report), &columns::positions())
}

fn flags_of(studied: &Studied) -> Sheet {
    let report = &studied.report;
    let panels = report.flags.iter();
    let cells = panels.flat_map(|panel| {
        panel.categories.iter().map(|category| FlagCell {
            sender: panel.sender,
            category: category.clone(),
        })
    });
    let figure = Figure {
        paper: NAME,
        figure: FLAGS,
        title: title("Timeouts by flags of the lost packet", studied),
        cells: cells.collect(),
        claims: claims::flags(report),
        picture: Picture::Bars(flag_chart(report)),
    };
    figure.into_sheet(&columns::flags_text(report), &columns::flags())
}

fn table_of(studied: &Studied) -> Sheet {
    let cells = columns::table_cells(studied);
    let figure = Figure {
        paper: NAME,
        figure: TABLE,
        title: title("Completion times of flows with SYN loss", studied),
        claims: claims::table(studied, &cells),
        picture: Picture::Lines(completion_chart(studied)),
        cells,
    };
    figure.into_sheet(&columns::table_text(studied), &columns::table())
}

/// The distribution functions of the completion times.
fn completion_chart(studied: &Studied) -> LineChart {
    let line = |of: fn(&RerunFlow) -> Option<f64>| {
        let mut values: Vec<f64> = studied.reruns.iter().filter_map(of).collect();
        values.sort_unstable_by(f64::total_cmp);
        let all = values.len() as f64;
        let first = values.first().map(|first| (*first, 0.0));
        let steps = (1..)
            .zip(&values)
            .map(|(n, value)| (*value, f64::from(n) / all));
        first.into_iter().chain(steps).collect()
    };
    LineChart {
        title: "Completion times of flows with SYN loss".into(),
        x_label: "first SYN to last packet with data or FIN (s)".into(),
        y_label: "share of the flows".into(),
        scale: Scale::Logarithmic,
        largest: Some(1.0),
        interpolation: Interpolation::Steps,
        series: vec![
            "without SLP".into(),
            "with SLP, computed".into(),
            "SYNs duplicated, rerun".into(),
        ],
        panels: vec![LinePanel {
            title: String::new(),
            lines: vec![
                line(|flow| Some(flow.without_s)),
                line(|flow| Some(flow.computed_s)),
                line(|flow| flow.rerun_s),
            ],
        }],
        ..LineChart::default()
    }
}

#[cfg(test)]
mod tests;
