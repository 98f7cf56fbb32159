//! §I and §IV: the simplest code for all packets, which sends each twice, beside SLP.
//!
//! ```text
//! a packet sent twice is lost with probability p²     each takes twice its bytes of the link
//! ```
//!
//! So "all duplicated" runs plain TCP over a path that loses p² of the packets and has half the rate, and counts twice
//! the bytes. The receiver's code discards second copies before TCP sees them. Losses are independent, in both
//! directions. A fetch is a request of 300 bytes and a file; the path has 40 ms and 20 Mbit/s.
//!
//! Goodput is the payload delivered once, divided by the IP bytes sent in both directions. A fetch that takes longer
//! than a minute counts as a minute. Differences are those of means of independent flows, with intervals of 95 %
//! confidence, because other packets are lost in another arm.

mod claims;

use super::NAME;
use super::micro::{Keys, plain};
use crate::experiment::{Change, ExperimentError, Mutation, Setup};
use crate::{Figure, Picture, Sheet, columns_of_figure};
use recoup_draw::chart::{BarChart, BarGroup, BarPanel};
use recoup_lab::run::simulation;
use recoup_lab::settings::SettingsError;
use recoup_sim::NoObserver;
use recoup_support::stats::Estimate;
use recoup_support::threads::{cores, in_parallel};
use recoup_table::{Columns, plain_table};
use recoup_units::FlowId;
use std::time::Duration;

/// The name on the command line.
pub const ID: &str = "duplication";

/// What turns the claims.
pub const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "no-slp",
        about: "no SLP: nothing is copied",
        change: Change::Swap(&[("slp", "")]),
        turns: &["slp-better-tradeoff"],
    },
    Mutation {
        name: "free-copies",
        about: "the second copies take neither bytes nor rate",
        change: Change::Own,
        turns: &["duplication-reduces-goodput"],
    },
];

/// The longest time that counts for a fetch.
const LONGEST: Duration = Duration::from_secs(60);

/// How packets are protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arm {
    /// Retransmissions alone.
    Arq,
    /// Every packet is sent twice.
    All,
    /// SLP.
    Slp,
}

impl Arm {
    /// In the order of reports.
    pub const ALL: [Self; 3] = [Self::Arq, Self::All, Self::Slp];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Arq => "none",
            Self::All => "all",
            Self::Slp => "SLP",
        }
    }
}

/// The files: bytes, and the settings that make them.
pub const FILES: [(u64, &str); 2] = [(34_000, "34kB@0"), (2_000_000, "2000kB@0")];

/// The fetches of a file in an arm.
#[derive(Clone, Debug, PartialEq)]
pub struct DuplicationCell {
    /// Bytes of the file.
    pub file: u64,
    /// What is duplicated.
    pub arm: Arm,
    /// Fetches.
    pub flows: u64,
    /// Completion times in ms, ascending.
    pub fct_ms: Vec<f64>,
    /// IP bytes per fetch, both directions.
    pub bytes: f64,
}

impl DuplicationCell {
    /// The mean completion time in ms.
    pub fn mean_ms(&self) -> Estimate {
        Estimate::of(self.fct_ms.iter().copied())
    }

    /// A quantile of the completion time in ms.
    pub fn quantile_ms(&self, q: f64) -> f64 {
        crate::distribution::quantile(&self.fct_ms, q).unwrap_or(f64::NAN)
    }

    /// Payload delivered once per IP byte sent.
    pub fn goodput(&self) -> f64 {
        self.file as f64 / self.bytes
    }
}

/// Runs all fetches and checks the claims.
///
/// # Errors
/// Settings that do not fit together.
pub fn sheet(setup: &Setup) -> Result<Sheet, ExperimentError> {
    let mut cells = Vec::new();
    for (file, writes) in FILES {
        let flows = match file {
            34_000 => setup.effort.of(12_000, 3_000),
            _ => setup.effort.of(1_000, 250),
        };
        for arm in Arm::ALL {
            cells.push(cell(setup, (file, writes), arm, flows)?);
        }
    }
    let figure = Figure {
        paper: NAME,
        figure: ID,
        title:
            "Fetches with nothing, with every packet, and with SLP's packets duplicated; 2 % lost in both directions"
                .into(),
        claims: claims::all(&cells),
        picture: Picture::Bars(chart(&cells)),
        cells,
    };
    let text = text(&figure.cells);
    Ok(figure.into_sheet(&text, &columns()))
}

fn cell(
    setup: &Setup,
    (file, writes): (u64, &'static str),
    arm: Arm,
    flows: u64,
) -> Result<DuplicationCell, SettingsError> {
    const TOGETHER: u64 = 25;
    let all = arm == Arm::All;
    let free = setup.is_mutated("free-copies");
    let drop = match all {
        true => "up:bernoulli:0.0004,down:bernoulli:0.0004",
        false => "up:bernoulli:0.02,down:bernoulli:0.02",
    };
    let settings: Keys<'_> = &[
        ("rtt", "40ms"),
        ("rate", if all && !free { "10Mbit" } else { "20Mbit" }),
        ("request", "300B"),
        ("writes", writes),
        ("ack", "linux"),
        ("drop", drop),
    ];
    let base = plain(setup, settings)?;
    let profile = match arm {
        Arm::Slp => "linux-3.17+slp",
        Arm::Arq | Arm::All => "linux-3.17",
    };
    let (path, spec) = (base.settings.path()?, base.settings.flow(&setup.profile(profile)));
    let parts = in_parallel(flows.div_ceil(TOGETHER) as usize, cores(), |part| {
        let mut simulation = simulation(&path)?;
        let first = part as u64 * TOGETHER;
        let one = |n| {
            let record = simulation.run(&spec, base.seed, FlowId(n), &mut NoObserver);
            let fct = record.fct.map_or(LONGEST, |fct| fct.min(LONGEST));
            (fct.as_secs_f64() * 1e3, record.bytes_sent)
        };
        Ok::<Vec<_>, SettingsError>((first..(first + TOGETHER).min(flows)).map(one).collect())
    })?;
    let parts = parts.concat();
    let mut fct_ms: Vec<f64> = parts.iter().map(|(fct, _)| *fct).collect();
    fct_ms.sort_unstable_by(f64::total_cmp);
    let bytes: u64 = parts.iter().map(|(_, bytes)| *bytes).sum();
    let copies = if all && !free { 2.0 } else { 1.0 };
    Ok(DuplicationCell { file, arm, flows, fct_ms, bytes: copies * bytes as f64 / flows as f64 })
}

fn chart(cells: &[DuplicationCell]) -> BarChart {
    let panel = |title: &str, number: &dyn Fn(&DuplicationCell) -> f64| BarPanel {
        title: title.into(),
        groups: FILES
            .iter()
            .map(|(file, _)| {
                let arms = cells.iter().filter(|cell| cell.file == *file);
                let arms: Vec<f64> = arms.map(number).collect();
                BarGroup {
                    label: format!("{} kB", file / 1000),
                    values: arms.iter().map(|value| Some(value / arms[0])).collect(),
                }
            })
            .collect(),
    };
    BarChart {
        title: "Every packet duplicated, and SLP, over neither".into(),
        x_label: "file".into(),
        y_label: "normalised".into(),
        series: Arm::ALL.map(|arm| format!("duplicated: {}", arm.name())).to_vec(),
        panels: vec![
            panel("Mean completion time", &|cell| cell.mean_ms().mean),
            panel("99th percentile", &|cell| cell.quantile_ms(0.99)),
            panel("IP bytes", &|cell| cell.bytes),
        ],
    }
}

fn columns() -> Columns<DuplicationCell> {
    columns_of_figure::<DuplicationCell>(ID)
        .integer(("file", "bytes", "length of the file"), |c| Some(c.file))
        .text(("duplicated", "", "which packets are sent twice"), |c| Some(c.arm.name().into()))
        .integer(("flows", "", "fetches"), |c| Some(c.flows))
        .real(("fct_ms_mean", "ms", "mean completion time"), |c| Some(c.mean_ms().mean))
        .real(("fct_ms_half", "ms", "half of its interval of 95 % confidence"), |c| Some(c.mean_ms().half))
        .real(("fct_ms_p50", "ms", "median"), |c| Some(c.quantile_ms(0.5)))
        .real(("fct_ms_p99", "ms", "99th percentile"), |c| Some(c.quantile_ms(0.99)))
        .real(("bytes", "bytes", "IP bytes per fetch"), |c| Some(c.bytes))
        .real(("goodput", "", "payload delivered once, of the IP bytes sent"), |c| Some(c.goodput()))
}

fn text(cells: &[DuplicationCell]) -> String {
    let mut table = plain_table();
    table.set_header([
        "file (kB)",
        "duplicated",
        "fetches",
        "mean (ms)",
        "median (ms)",
        "p99 (ms)",
        "IP bytes",
        "goodput (%)",
    ]);
    for cell in cells {
        table.add_row([
            (cell.file / 1000).to_string(),
            cell.arm.name().into(),
            cell.flows.to_string(),
            cell.mean_ms().to_string(),
            format!("{:.1}", cell.quantile_ms(0.5)),
            format!("{:.1}", cell.quantile_ms(0.99)),
            format!("{:.0}", cell.bytes),
            format!("{:.1}", 100.0 * cell.goodput()),
        ]);
    }
    table.to_string()
}

#[cfg(test)]
mod tests;
