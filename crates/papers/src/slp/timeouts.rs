//! §I, §II-B and §III-A: which losses cause timeouts, and what duplicated SYNs save, in simulated populations.
//!
//! | figure | population | shows | analysis (`recoup_captures::study::slp`) |
//! | --- | --- | --- | --- |
//! | fig1, fig3 | data center | timeouts by position and by flags of the lost packet | the paper's, clients and servers apart |
//! | fig2, fig4 | backbone | the same | the paper's, both directions together |
//! | table1 | backbone | completion times of flows with SYN loss | the paper's, and reruns with duplicated SYNs |
//!
//! The paper analyzed captures of data centers and of a backbone, which we do not have. Simulated populations stand in
//! for them: their paths and their traffic are our choice. So shares that describe the paper's networks need not agree;
//! statements about which losses cause more timeouts should.
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

pub use population::{RerunFlow, Studied, Traces};

use super::NAME;
use crate::experiment::{Change, ExperimentError, Mutation, Setup};
use crate::{Figure, Picture, Sheet};
use columns::{FlagCell, PositionCell};
use recoup_captures::study::slp::{flag_chart, position_chart};
use recoup_draw::chart::{Interpolation, LineChart, LinePanel, Scale};

/// The names on the command line: positions and flags in data centers, then on the backbone.
pub const POSITIONS: [&str; 2] = ["fig1", "fig2"];
/// See [`POSITIONS`].
pub const FLAGS: [&str; 2] = ["fig3", "fig4"];
/// Table I.
pub const TABLE: &str = "table1";

/// The profile of both hosts: the paper's baseline, of the kernels of its time.
pub const SENDER: &str = "linux-3.17";

const DEALT: &str = "the triggers are dealt to the retransmissions at random";
const FAR_END: &str = "retransmissions are looked for at the receivers, where lost packets are not seen";
const PROBES: &str = "senders probe for lost tails (RACK-TLP)";

/// What turns the claims of positions in data centers.
pub const POSITION_MUTATIONS: &[Mutation] = &[
    Mutation { name: "dealt", about: DEALT, change: Change::Own, turns: &["head-more", "tail-more"] },
    Mutation {
        name: "probes",
        about: PROBES,
        change: Change::Swap(&[("linux-3.17", "linux-6")]),
        turns: &["tail-more"],
    },
    Mutation { name: "far-end", about: FAR_END, change: Change::Own, turns: &["duplicate-numbers"] },
];

/// What turns those on the backbone.
pub const BACKBONE_POSITION_MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "dealt",
        about: DEALT,
        change: Change::Own,
        turns: &["head-more", "tail-more", "timeouts-cost-most"],
    },
    Mutation {
        name: "probes",
        about: PROBES,
        change: Change::Swap(&[("linux-3.17", "linux-6")]),
        turns: &["timeouts-cost-most"],
    },
];

/// What turns the claims of flags, in either population.
pub const FLAG_MUTATIONS: &[Mutation] = &[
    Mutation { name: "dealt", about: DEALT, change: Change::Own, turns: &["syn-more", "fin-more", "psh-more"] },
    Mutation {
        name: "probes",
        about: PROBES,
        change: Change::Swap(&[("linux-3.17", "linux-6")]),
        turns: &["psh-more"],
    },
];

/// What turns the claims of Table I.
pub const TABLE_MUTATIONS: &[Mutation] = &[Mutation {
    name: "no-duplicate",
    about: "the flows that are run again duplicate nothing",
    change: Change::Own,
    turns: &["short-flows-gain-most"],
}];

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
pub fn positions(setup: &Setup, traces: Traces) -> Result<Sheet, ExperimentError> {
    let studied = population::study(setup, traces, flows(setup))?;
    Ok(positions_of(&studied))
}

/// Timeouts by flags: Figure 3 or 4.
///
/// # Errors
/// As [`positions`].
pub fn flags(setup: &Setup, traces: Traces) -> Result<Sheet, ExperimentError> {
    let studied = population::study(setup, traces, flows(setup))?;
    Ok(flags_of(&studied))
}

/// Completion times of flows with SYN loss: Table I.
///
/// # Errors
/// As [`positions`].
pub fn table(setup: &Setup) -> Result<Sheet, ExperimentError> {
    let studied = population::study(setup, Traces::Backbone, flows(setup))?;
    Ok(table_of(&studied))
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
        figure: POSITIONS[studied.traces as usize],
        title: title("Timeouts by position of the lost packet", studied),
        cells: cells.collect(),
        claims: claims::positions(studied),
        picture: Picture::Lines(position_chart(report)),
    };
    figure.into_sheet(&columns::positions_text(report), &columns::positions(POSITIONS[studied.traces as usize]))
}

fn flags_of(studied: &Studied) -> Sheet {
    let report = &studied.report;
    let panels = report.flags.iter();
    let cells = panels.flat_map(|panel| {
        panel.categories.iter().map(|category| FlagCell { sender: panel.sender, category: category.clone() })
    });
    let figure = Figure {
        paper: NAME,
        figure: FLAGS[studied.traces as usize],
        title: title("Timeouts by flags of the lost packet", studied),
        cells: cells.collect(),
        claims: claims::flags(studied),
        picture: Picture::Bars(flag_chart(report)),
    };
    figure.into_sheet(&columns::flags_text(report), &columns::flags(FLAGS[studied.traces as usize]))
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
        let steps = (1..).zip(&values).map(|(n, value)| (*value, f64::from(n) / all));
        first.into_iter().chain(steps).collect()
    };
    LineChart {
        title: "Completion times of flows with SYN loss".into(),
        x_label: "first SYN to last packet with data or FIN (s)".into(),
        y_label: "share of the flows".into(),
        scale: Scale::Logarithmic,
        largest: Some(1.0),
        interpolation: Interpolation::Steps,
        series: vec!["without SLP".into(), "with SLP, computed".into(), "SYNs duplicated, rerun".into()],
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
