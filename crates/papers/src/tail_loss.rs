//! "An Evaluation of Tail Loss Recovery Mechanisms for TCP" (Rajiullah, Hurtig, Brunstrom, Petlund,
//! Welzl; ACM SIGCOMM CCR 2015): §3.1, controlled tail loss.
//!
//! Flows of ten segments (one initial window) lose exactly their last n segments once.
//!
//! - Figure 1: one segment lost, RTT 10 to 640 ms.
//! - Figure 2: one to five segments lost, RTT 80 ms.
//!
//! Each figure has a receiver that delays ACKs (200 ms) and one that acknowledges every segment. FCTs
//! are normalised to Linux recovery without tail loss probes. They are "the elapsed time from connection
//! establishment to the successful reception of the last data segment" (§3.1).
//!
//! The paper's figures show bars without numbers, so we check claims of its text.

mod cell;
mod claims;
pub mod detection;
pub mod dumbbell;
mod experiments;
mod single_flow;
#[cfg(target_os = "linux")]
pub mod stages;
mod tampered;
pub mod timers;
pub mod web;

pub use cell::{Acks, First, MECHANISMS, Mechanism, TailLossCell};

use super::{Figure, Sheet, columns_of_figure};
use crate::prelude::*;
use cell::run_cell;

pub use experiments::RUNS;

/// The paper's name on the command line.
pub const NAME: &str = "tail-loss";

/// Its populations that are fitted to a baseline.
pub const FITS: &[Fitted] = &[dumbbell::FIT, web::FIT];

/// The RTTs of figure 1, in ms.
pub const RTTS: [u64; 7] = [10, 20, 40, 80, 160, 320, 640];

/// The numbers of segments lost in figure 2.
pub const DEGREES: [u64; 5] = [1, 2, 3, 4, 5];

/// The RTT of figure 2, in ms.
pub const FIG2_RTT: u64 = 80;

/// The settings that each cell sets itself.
pub const OWN_SETTINGS: [&str; 3] = ["rtt", "drop", "ack"];

choices! {
    /// A figure of the paper.
    pub enum Id {
        /// The last segment lost, by RTT.
        Fig1 = "fig1",
        /// The last one to five segments lost, at 80 ms.
        Fig2 = "fig2",
    }
}

impl Id {
    /// A line that describes the figure.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Fig1 => "Normalised FCT of 10-segment flows that lose their last segment",
            Self::Fig2 => "Normalised FCT of 10-segment flows that lose their last n segments, RTT 80 ms",
        }
    }

    const fn x_label(self) -> &'static str {
        match self {
            Self::Fig1 => "RTT (ms)",
            Self::Fig2 => "segments lost at the tail",
        }
    }

    /// The label of a group of bars.
    fn label(self, rtt_ms: u64, lost: u64) -> String {
        match self {
            Self::Fig1 => rtt_ms.to_string(),
            Self::Fig2 => lost.to_string(),
        }
    }

    /// RTT in ms and number of lost segments of each group of bars.
    fn groups(self) -> Vec<(u64, u64)> {
        match self {
            Self::Fig1 => RTTS.map(|rtt| (rtt, 1)).to_vec(),
            Self::Fig2 => DEGREES.map(|lost| (FIG2_RTT, lost)).to_vec(),
        }
    }
}

/// Regenerates a figure.
///
/// # Errors
/// When settings contradict each other.
pub fn figure(id: Id, setup: &Setup) -> Result<Figure<TailLossCell>> {
    let cells = cells(id, setup)?;
    let claims = match id {
        Id::Fig1 => claims::fig1(&cells, setup)?,
        Id::Fig2 => claims::fig2(&cells, setup)?,
    };
    Ok(Figure::new(NAME, id.name(), id.title(), claims, chart(id, &cells), cells))
}

/// The bars of a figure, the baseline first in each group.
fn cells(id: Id, setup: &Setup) -> Result<Vec<TailLossCell>> {
    let mut cells = vec![];
    for acks in Acks::ALL {
        for (rtt, lost) in id.groups() {
            for mechanism in MECHANISMS {
                cells.push(run_cell(setup, acks, rtt, lost, mechanism, "")?);
            }
        }
    }
    for i in 0..cells.len() {
        let baseline = i - i % MECHANISMS.len();
        let over_baseline = |fct: fn(&TailLossCell) -> Option<f64>| {
            fct(&cells[i]).zip(fct(&cells[baseline])).map(|(ours, first)| ours / first)
        };
        let (normalised, established) =
            (over_baseline(|cell| cell.fct_ms), over_baseline(|cell| cell.fct_established_ms));
        cells[i].fct_normalised = normalised;
        cells[i].fct_established_normalised = established;
    }
    Ok(cells)
}

fn chart(id: Id, cells: &[TailLossCell]) -> BarChart {
    let chart = BarChart::new(id.title(), id.x_label(), "normalised FCT", MECHANISMS.map(Mechanism::name));
    Acks::ALL.into_iter().fold(chart, |chart, acks| {
        let here: Vec<&TailLossCell> = cells.iter().filter(|c| c.ack == acks.name()).collect();
        let bars = here.chunks(MECHANISMS.len()).map(|bars| {
            let label = id.label(bars[0].rtt_ms, bars[0].lost);
            (label, bars.iter().map(|c| c.fct_established_normalised))
        });
        chart.panel(acks.title(), bars)
    })
}

/// A figure as [`figure`] regenerates it, in every format.
///
/// # Errors
/// As [`figure`].
pub fn sheet(id: Id, setup: &Setup) -> Result<Sheet> {
    let figure = figure(id, setup)?;
    let (name, cells) = (figure.figure, figure.cells.clone());
    Ok(figure.sheet(text, &columns(name)).with_rows("first_retransmissions", &first_retransmissions(name), &cells))
}

/// The columns that identify a cell.
fn key_columns(figure: &'static str) -> Columns<TailLossCell> {
    columns!(columns_of_figure::<TailLossCell>(figure), c;
        ack, "", "the receiver's `ack` setting";
        rtt_ms, "ms", "round-trip time";
        lost, "segments", "segments lost at the tail";
        mechanism, "", "the sender's mechanism" => c.mechanism.name();
    )
}

/// A row per bar.
fn columns(figure: &'static str) -> Columns<TailLossCell> {
    let mut columns = columns!(key_columns(figure), c;
        fct_ms, "ms", "flow completion time from the client's SYN; unknown if the flow did not complete";
        fct_normalised, "", "FCT divided by the baseline's FCT";
        fct_established_ms, "ms", "flow completion time from the establishment of the sender, as the paper measures it";
        fct_established_normalised, "", "FCT from establishment divided by the baseline's";
    );
    for trigger in Trigger::ALL {
        let name = trigger.name();
        let about = format!("retransmissions per flow with the trigger {name}");
        columns = columns.column(name, "segments", about, move |c| c.count(trigger));
    }
    columns.column("spurious", "segments", "spurious retransmissions of data", |c| c.spurious)
}

/// A row per bar: the first retransmission of its flow.
fn first_retransmissions(figure: &'static str) -> Columns<TailLossCell> {
    let first = columns!(Columns::<First>::new(), f;
        trigger, "", "the retransmission's trigger";
        since_last_ack_ms, "ms", "time since the last ACK";
        since_earliest_ms, "ms", "time since the earliest unacknowledged segment was sent";
        srtt_ms, "ms", "smoothed RTT at that moment";
        rto_ms, "ms", "RTO at that moment";
    );
    key_columns(figure).all_of(first, |c| c.first.as_ref())
}

/// A table with a row per receiver, RTT and degree of loss, and columns per mechanism.
fn text(cells: &[TailLossCell]) -> String {
    let table = pivot(
        cells,
        &[
            ("ack", &|c| c.ack.into()),
            ("RTT (ms)", &|c| c.rtt_ms.to_string()),
            ("segments lost", &|c| c.lost.to_string()),
        ],
        &MECHANISMS.map(Mechanism::name),
        &[(" FCT (ms)", &|c| millis(c.fct_established_ms)), (" ratio", &|c| millis(c.fct_established_normalised))],
    );
    format!("FCT: from establishment, as the paper measures it. Ratio: FCT divided by the baseline's FCT.\n\n{table}")
}

#[cfg(test)]
mod tests;
