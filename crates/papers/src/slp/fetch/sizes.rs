//! §III-B, the last paragraph: files of 2⁻² to 2¹³ kB, the size doubling, with and without SLP.
//!
//! A kB is 1,000 bytes. Each file is fetched as often with as without, by the flows of one seed: as often
//! as makes 400 MB, but 4,000 times at most and 400 at least.
//!
//! What is short, long, visible and negligible the paper leaves to the reader. Here a file is *short* if
//! its fastest fetch takes less than twice what that of the shortest file does, and *long* if it takes
//! ten times that or more ("dominated by the file size"); a gain is *visible* if it is 5 % of the mean
//! completion time, and an overhead *negligible* below 5 % of the bytes.

mod claims;

use super::profile;
use crate::slp::NAME;
use crate::{Figure, Picture, Sheet};
use recoup_draw::chart::{Interpolation, LineChart, LinePanel, Scale};
use recoup_lab::run::{Cost, cores, run};
use recoup_lab::scenario::Scenario;
use recoup_lab::settings::SettingsError;
use recoup_lab::stats::Summary;
use recoup_recovery::Trigger;
use recoup_table::{csv, millis, plain_table};
use serde::Serialize;
use std::path::Path;

/// The name on the command line.
pub const ID: &str = "sizes";

/// The setting each cell sets for itself.
pub const OWN_SETTINGS: [&str; 1] = ["writes"];

/// Files from 250 bytes to 8.192 MB.
const SIZES: u32 = 16;

/// Without and with SLP.
const PROFILES: [&str; 2] = ["linux-3.17", "linux-3.17+slp"];

/// A figure of completion times, in ms.
type Of = fn(&Summary) -> f64;

/// How often a file is fetched.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Until so many bytes are,
    pub bytes: u64,
    /// but so often at least
    pub least: u64,
    /// and so often at most.
    pub most: u64,
}

impl Effort {
    /// That of the figure.
    pub const FULL: Self = Self {
        bytes: 400_000_000,
        least: 400,
        most: 4000,
    };

    fn fetches(self, size: u64) -> u64 {
        (self.bytes / size).min(self.most).max(self.least)
    }
}

/// Fetches of a file by a profile.
#[derive(Clone, Debug, Serialize)]
pub struct Side {
    /// The profile of both hosts.
    pub profile: &'static str,
    /// Those that completed.
    pub completed: u64,
    /// How long they took, in ms.
    pub fct_ms: Option<Summary>,
    /// IP bytes a fetch, both ways.
    pub bytes: f64,
    /// SYNs sent again for a timeout.
    pub syn_timeouts: u64,
    /// Copies a fetch.
    pub copies: f64,
    /// Copies there was no room for in the window, a fetch.
    pub withheld: f64,
}

impl Side {
    fn new(profile: &'static str, cost: &Cost) -> Self {
        let a_fetch = |n: u64| n as f64 / cost.flows as f64;
        Self {
            profile,
            completed: cost.completed,
            fct_ms: cost.fct.summary(),
            bytes: a_fetch(cost.bytes_sent),
            syn_timeouts: cost.counters.retransmissions.of(Trigger::Syn),
            copies: a_fetch(cost.counters.copies),
            withheld: a_fetch(cost.counters.copies_withheld),
        }
    }

    /// A figure of the completion times; not a number if there is none.
    fn fct(&self, figure: Of) -> f64 {
        self.fct_ms.as_ref().map_or(f64::NAN, figure)
    }
}

/// A file.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    /// Its length in bytes.
    pub size: u64,
    /// How often each profile fetched it.
    pub fetches: u64,
    /// Without SLP.
    pub without: Side,
    /// With it.
    pub with: Side,
}

impl Cell {
    /// What SLP takes off a figure of the completion times, in percent of it.
    fn saved(&self, figure: Of) -> f64 {
        100.0 * (1.0 - self.with.fct(figure) / self.without.fct(figure))
    }

    /// What SLP takes off the mean completion time, in ms.
    fn saved_ms(&self) -> f64 {
        self.without.fct(|s| s.mean) - self.with.fct(|s| s.mean)
    }

    /// Bytes SLP adds, in percent.
    fn added(&self) -> f64 {
        100.0 * (self.with.bytes / self.without.bytes - 1.0)
    }

    /// The file's length, in kB.
    fn kilobytes(&self) -> f64 {
        self.size as f64 / 1e3
    }
}

/// Fetches all files and checks the claims; `base` is the scenario each cell varies.
///
/// # Errors
/// Settings that do not fit together.
pub fn figure(base: &Scenario, effort: Effort) -> Result<Figure<Cell>, SettingsError> {
    let cells = (0..SIZES).map(|i| run_cell(base, 250 << i, effort));
    let cells = cells.collect::<Result<Vec<_>, _>>()?;
    Ok(Figure {
        paper: NAME,
        figure: ID,
        title: format!(
            "Completion times (FCT) of fetches of 0.25 kB to 8 MB, seed {}",
            base.seed
        ),
        claims: claims::all(&cells),
        picture: Picture::Lines(chart(&cells)),
        cells,
    })
}

fn run_cell(base: &Scenario, size: u64, effort: Effort) -> Result<Cell, SettingsError> {
    let mut scenario = base.clone();
    scenario.profiles = PROFILES.map(profile).to_vec();
    scenario.flows = effort.fetches(size);
    scenario
        .settings
        .set("writes", &format!("{size}B@0"), Path::new(""))?;
    let results = run(&scenario, cores(), |_| ())?;
    let side = |i: usize| Side::new(PROFILES[i], &results[i].cost);
    Ok(Cell {
        size,
        fetches: scenario.flows,
        without: side(0),
        with: side(1),
    })
}

fn chart(cells: &[Cell]) -> LineChart {
    let line = |y: fn(&Cell) -> f64| cells.iter().map(|c| (c.kilobytes(), y(c))).collect();
    LineChart {
        title: "What SLP saves and what it adds, by the length of the file".into(),
        x_label: "file (kB)".into(),
        y_label: "% of what it is without SLP".into(),
        scale: Scale::Logarithmic,
        largest: None,
        interpolation: Interpolation::Linear,
        series: [
            "mean completion time saved",
            "99th percentile saved",
            "bytes added",
        ]
        .map(String::from)
        .to_vec(),
        panels: vec![LinePanel {
            title: String::new(),
            lines: vec![
                line(|c| c.saved(|s| s.mean)),
                line(|c| c.saved(|s| s.p99)),
                line(Cell::added),
            ],
        }],
    }
}

/// The figure as [`figure`] gives it with [`Effort::FULL`], in all its forms.
///
/// # Errors
/// As [`figure`].
pub fn sheet(base: &Scenario) -> Result<Sheet, SettingsError> {
    let figure = figure(base, Effort::FULL)?;
    let (table, csv) = (to_table(&figure), to_csv(&figure));
    Ok(figure.into_sheet(table, csv))
}

/// A table with a row a file, then the claims.
pub fn to_table(figure: &Figure<Cell>) -> String {
    let mut table = plain_table();
    table.set_header([
        "file (kB)",
        "fetches",
        "mean (ms)",
        "with SLP",
        "saved (ms)",
        "saved (%)",
        "p99 (ms)",
        "with SLP",
        "SYN RTOs",
        "with SLP",
        "IP bytes",
        "added",
        "added (%)",
        "copies",
    ]);
    for cell in &figure.cells {
        let (without, with) = (&cell.without, &cell.with);
        let [mean, p99]: [Of; 2] = [|s| s.mean, |s| s.p99];
        let time = |side: &Side, figure: Of| millis(side.fct_ms.as_ref().map(figure));
        table.add_row([
            cell.kilobytes().to_string(),
            cell.fetches.to_string(),
            time(without, mean),
            time(with, mean),
            format!("{:.2}", cell.saved_ms()),
            format!("{:.2}", cell.saved(mean)),
            time(without, p99),
            time(with, p99),
            without.syn_timeouts.to_string(),
            with.syn_timeouts.to_string(),
            format!("{:.0}", without.bytes),
            format!("{:.0}", with.bytes - without.bytes),
            format!("{:.2}", cell.added()),
            format!("{:.2}", with.copies),
        ]);
    }
    figure.with_table(&table)
}

/// The figures of completion times that spreadsheets have.
const FIGURES: [(&str, Of); 4] = [
    ("mean", |s| s.mean),
    ("p50", |s| s.p50),
    ("p99", |s| s.p99),
    ("max", |s| s.max),
];

/// The fetches as CSV, a line for each file and profile.
pub fn to_csv(figure: &Figure<Cell>) -> String {
    let columns = ["figure", "size", "profile", "fetches", "completed"].map(String::from);
    let times = FIGURES.map(|(name, _)| format!("fct_ms_{name}"));
    let costs = ["bytes", "syn_timeouts", "copies", "withheld"].map(String::from);
    let row = |cell: &Cell, side: &Side| {
        let time = |(_, figure): (_, Of)| {
            let time = side.fct_ms.as_ref().map(figure);
            time.map_or(String::new(), |time| time.to_string())
        };
        let mut row = vec![
            figure.figure.to_string(),
            cell.size.to_string(),
            side.profile.into(),
            cell.fetches.to_string(),
            side.completed.to_string(),
        ];
        row.extend(FIGURES.map(time));
        row.push(side.bytes.to_string());
        row.push(side.syn_timeouts.to_string());
        row.extend([side.copies, side.withheld].map(|n| n.to_string()));
        row
    };
    let header = columns.iter().chain(&times).chain(&costs);
    let sides = |cell: &Cell| [row(cell, &cell.without), row(cell, &cell.with)];
    csv(header, figure.cells.iter().flat_map(sides))
}

#[cfg(test)]
mod tests;
