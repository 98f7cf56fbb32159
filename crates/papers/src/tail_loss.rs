//! "An Evaluation of Tail Loss Recovery Mechanisms for TCP" (Rajiullah, Hurtig, Brunstrom, Petlund,
//! Welzl; ACM SIGCOMM CCR 2015): §3.1, controlled tail loss.
//!
//! Flows of ten segments, one initial window, lose exactly their last n segments once. Figure 1: one
//! lost, RTT 10 to 640 ms; figure 2: one to five lost at 80 ms; each with delayed ACKs (200 ms) and
//! with an ACK a segment, and each normalised to Linux recovery without tail loss probes.
//!
//! The paper's figures print bars, not numbers, so claims are checked against its text.

mod cell;
mod claims;
#[cfg(target_os = "linux")]
pub mod stages;

pub use cell::{Acks, Cell, First, MECHANISMS, Mechanism};

use super::{Figure, Picture, Sheet};
use cell::run_cell;
use recoup_draw::chart::{BarChart, BarGroup, BarPanel};
use recoup_lab::scenario::Scenario;
use recoup_lab::settings::SettingsError;
use recoup_recovery::Trigger;
use recoup_table::{csv, millis, plain_table};

/// The paper's name on the command line.
pub const NAME: &str = "tail-loss";

/// The RTTs of figure 1, in ms.
pub const RTTS: [u64; 7] = [10, 20, 40, 80, 160, 320, 640];

/// The degrees of loss of figure 2.
pub const DEGREES: [u64; 5] = [1, 2, 3, 4, 5];

/// The RTT of figure 2, in ms.
pub const FIG2_RTT: u64 = 80;

/// The settings each cell sets for itself.
pub const OWN_SETTINGS: [&str; 3] = ["rtt", "drop", "ack"];

/// A figure of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Id {
    /// One tail segment lost, by RTT.
    Fig1,
    /// One to five lost, at 80 ms.
    Fig2,
}

impl Id {
    /// Every figure regenerated.
    pub const ALL: [Self; 2] = [Self::Fig1, Self::Fig2];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fig1 => "fig1",
            Self::Fig2 => "fig2",
        }
    }

    /// What it shows.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Fig1 => "Normalised FCT of 10-segment flows that lose their last segment",
            Self::Fig2 => {
                "Normalised FCT of 10-segment flows that lose their last n segments, RTT 80 ms"
            }
        }
    }

    const fn x_label(self) -> &'static str {
        match self {
            Self::Fig1 => "RTT (ms)",
            Self::Fig2 => "segments lost at the tail",
        }
    }

    /// RTT in ms and degree of loss of each group of bars.
    fn groups(self) -> Vec<(u64, u64)> {
        match self {
            Self::Fig1 => RTTS.map(|rtt| (rtt, 1)).to_vec(),
            Self::Fig2 => DEGREES.map(|lost| (FIG2_RTT, lost)).to_vec(),
        }
    }
}

/// Regenerates a figure; `base` is the scenario each cell varies.
///
/// # Errors
/// Settings that do not fit together.
pub fn figure(id: Id, base: &Scenario) -> Result<Figure<Cell>, SettingsError> {
    let mut cells = Vec::new();
    for acks in Acks::ALL {
        for (rtt, lost) in id.groups() {
            for mechanism in MECHANISMS {
                cells.push(run_cell(base, acks, rtt, lost, mechanism, &[])?);
            }
        }
    }
    for i in 0..cells.len() {
        let baseline = cells[i - i % MECHANISMS.len()].fct_ms;
        cells[i].fct_normalised = cells[i]
            .fct_ms
            .zip(baseline)
            .map(|(ours, first)| ours / first);
    }
    let claims = match id {
        Id::Fig1 => claims::fig1(&cells, base)?,
        Id::Fig2 => claims::fig2(&cells, base)?,
    };
    let picture = Picture::Bars(chart(id, &cells));
    Ok(Figure {
        paper: NAME,
        figure: id.name(),
        title: id.title().into(),
        cells,
        claims,
        picture,
    })
}

fn chart(id: Id, cells: &[Cell]) -> BarChart {
    let panel = |acks: Acks| {
        let here: Vec<&Cell> = cells.iter().filter(|c| c.ack == acks.name()).collect();
        let groups = here.chunks(MECHANISMS.len()).map(|bars| BarGroup {
            label: match id {
                Id::Fig1 => bars[0].rtt_ms.to_string(),
                Id::Fig2 => bars[0].lost.to_string(),
            },
            values: bars.iter().map(|c| c.fct_normalised).collect(),
        });
        BarPanel {
            title: acks.title().into(),
            groups: groups.collect(),
        }
    };
    BarChart {
        title: id.title().into(),
        x_label: id.x_label().into(),
        y_label: "normalised FCT".into(),
        series: MECHANISMS.map(|m| m.name().to_string()).to_vec(),
        panels: Acks::ALL.map(panel).to_vec(),
    }
}

/// A figure as [`figure`] regenerates it, in all its forms.
///
/// # Errors
/// As [`figure`].
pub fn sheet(id: Id, base: &Scenario) -> Result<Sheet, SettingsError> {
    let figure = figure(id, base)?;
    let (table, csv) = (to_table(&figure), to_csv(&figure));
    Ok(figure.into_sheet(table, csv))
}

/// A figure's numbers as a table with a column a mechanism, then its claims.
pub fn to_table(figure: &Figure<Cell>) -> String {
    let mut table = plain_table();
    let names = MECHANISMS.map(Mechanism::name);
    let mut header = vec!["ack".into(), "RTT (ms)".into(), "lost".into()];
    header.extend(names.map(|name| format!("{name} FCT (ms)")));
    header.extend(names.map(|name| format!("{name} norm.")));
    table.set_header(header);
    for bars in figure.cells.chunks(MECHANISMS.len()) {
        let mut row = vec![
            bars[0].ack.into(),
            bars[0].rtt_ms.to_string(),
            bars[0].lost.to_string(),
        ];
        row.extend(bars.iter().map(|c| millis(c.fct_ms)));
        row.extend(bars.iter().map(|c| millis(c.fct_normalised)));
        table.add_row(row);
    }
    figure.with_table(&table)
}

/// A figure's numbers as CSV, a line a bar.
pub fn to_csv(figure: &Figure<Cell>) -> String {
    let columns = [
        "figure",
        "ack",
        "rtt_ms",
        "lost",
        "mechanism",
        "fct_ms",
        "fct_normalised",
    ];
    let counts = Trigger::ALL.map(Trigger::name);
    let number = |n: Option<f64>| n.map_or(String::new(), |n| n.to_string());
    let header = columns.iter().chain(&counts).chain(&["spurious"]);
    let row = |c: &Cell| {
        let mut row = vec![
            figure.figure.into(),
            c.ack.into(),
            c.rtt_ms.to_string(),
            c.lost.to_string(),
        ];
        row.extend([
            c.mechanism.name().into(),
            number(c.fct_ms),
            number(c.fct_normalised),
        ]);
        row.extend(Trigger::ALL.map(|t| c.count(t).to_string()));
        row.push(c.spurious.to_string());
        row
    };
    csv(header, figure.cells.iter().map(row))
}

#[cfg(test)]
mod tests;
