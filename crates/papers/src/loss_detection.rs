//! "A Performance Study of Loss Detection/Recovery in Real-world TCP Implementations" (Rewaskar, Kaur and
//! Smith; IEEE ICNP 2007).
//!
//! The study analyzed 2.8 million connections of four systems. Here each system serves the same four populations
//! of simulated flows (module `captures`), and the captures of its servers go through the analysis of
//! `recoup analyze --study`.
//!
//! | experiment | shows                                                                       |
//! |------------|-----------------------------------------------------------------------------|
//! | tables     | Tables I to IV; the recoveries by segments lost in a flight (§V-A2b)        |
//! | fig1       | bytes per connection, in the four captures                                  |
//! | fig2       | detection durations                                                         |
//! | fig3       | best-case reduction of connection durations                                 |
//! | fig4 to 5b | what other parameters would have saved ([`impact`])                         |
//! | senders    | Table I, measured from outside                                              |
//! | reactions  | what senders do about losses, reordering and duplicate ACKs (§I, §II)       |
//! | equations  | the duration model of §IV-D beside transfers                                |
//! | tool       | whether the analysis finds what happened (§IV-A)                            |
//! | causes     | populations rerun with one thing changed                                    |
//! | published  | the study's own tables: do they agree with its text?                        |
//!
//! Deviations:
//!
//! - The populations are simulated. The study's systems served different users over different networks; here
//!   all four meet the same. So differences between systems come from the systems, which the study could not
//!   separate from their networks. A claim that the study's networks explain can fail here.
//! - The senders follow the study's §II and Table I. In the kernel of Linux 2.4 the minimum applies to
//!   4·RTTVAR (`linux-2.4+minrttvar`).
//! - The paths, sizes and receivers are our choice: the study gives no distributions. So shares of the population
//!   (45-75 %, 60-88 %, …) stand beside the study's and are not judged. Claims are orderings between systems,
//!   mechanisms and losses.
//! - The captures do not show all verdicts: a receiver without SACK reports no duplicates. As in any capture,
//!   retransmissions with an unknowable verdict are left out of shares. FreeBSD 5.2 has no SACK, so this concerns
//!   it most.

mod captures;
mod causes;
mod claims;
mod columns;
mod equations;
mod experiments;
pub mod impact;
mod micro;
mod mutations;
mod populations;
mod published;
mod reactions;
mod senders;
mod tool;
mod watch;

use crate::experiment::{ExperimentError, Setup};
use crate::{Figure, Picture, Sheet, to_value};
pub use experiments::EXPERIMENTS;
use populations::Populations;
use recoup_captures::analysis::StudyTable;
use recoup_captures::study::published::System;
use recoup_captures::study::{Cdf, SenderReport, Shares};
use recoup_captures::study::{bytes_chart, detection_chart, reduction_chart};
use recoup_draw::chart::{BarChart, BarGroup, BarPanel, LineChart, LinePanel, Scale};
use recoup_trace::systems::systems_like;

/// The paper's name on the command line.
pub const NAME: &str = "loss-detection";

/// A figure of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Id {
    /// Tables I, III and IV, and the recoveries.
    Tables,
    /// Bytes per connection.
    Fig1,
    /// Detection durations.
    Fig2,
    /// Best-case reduction.
    Fig3,
}

impl Id {
    /// Every figure regenerated.
    pub const ALL: [Self; 4] = [Self::Tables, Self::Fig1, Self::Fig2, Self::Fig3];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tables => "tables",
            Self::Fig1 => "fig1",
            Self::Fig2 => "fig2",
            Self::Fig3 => "fig3",
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::Tables => "Retransmissions and recoveries of four systems (simulated populations)",
            Self::Fig1 => "Bytes transmitted in each connection (four simulated captures)",
            Self::Fig2 => "Detection duration (simulated populations)",
            Self::Fig3 => "Best-case reduction in connection duration (simulated populations)",
        }
    }

    /// The tables of its text.
    const fn tables(self) -> &'static [StudyTable] {
        match self {
            Self::Tables => &[
                StudyTable::Parameters,
                StudyTable::Connections,
                StudyTable::Profiles,
                StudyTable::Classification,
                StudyTable::Shares,
                StudyTable::Recoveries,
            ],
            Self::Fig1 => &[StudyTable::Bytes],
            Self::Fig2 => &[StudyTable::Detection],
            Self::Fig3 => &[StudyTable::Reduction, StudyTable::Claims],
        }
    }
}

/// Regenerates a figure in every format.
///
/// # Errors
/// Never with these populations.
pub fn sheet(id: Id, setup: &Setup) -> Result<Sheet, ExperimentError> {
    Ok(sheet_of(id, &*Populations::of(setup)?))
}

fn sheet_of(id: Id, populations: &Populations) -> Sheet {
    let report = &populations.all.report;
    let picture = picture(id, populations);
    let points = columns::points_of(&picture);
    let figure = Figure {
        paper: NAME,
        figure: id.name(),
        title: id.title().into(),
        cells: report.senders.clone(),
        claims: claims::of(id, populations),
        picture,
    };
    let flows = report.capture.connections / System::ALL.len() as u64;
    let tables = id.tables().iter().map(|table| table.of(report));
    let text = format!(
        "Simulated: the servers of each system sent the same {flows} flows, a fourth in each capture.\n{}",
        tables.collect::<String>()
    );
    let mut sheet = figure.into_sheet(&text, &columns::senders(id.name()));
    sheet.json["study"] = to_value(report);
    sheet.json["captures"] = to_value(&populations.captures);
    if id == Id::Fig2 {
        let tail = Picture::Lines(detection_chart(&report.senders));
        sheet = sheet.with_picture("tail", tail);
    }
    match id {
        Id::Tables => sheet,
        _ => sheet.with_csv_rows("points", &columns::points(id.name()), &points),
    }
}

fn picture(id: Id, populations: &Populations) -> Picture {
    let senders = &populations.all.report.senders;
    let mut chart = match id {
        Id::Tables => return Picture::Bars(table_iv(populations)),
        Id::Fig1 => bytes_chart(&populations.bytes),
        Id::Fig2 => detection_cdf(senders),
        Id::Fig3 => reduction_chart(senders),
    };
    chart.title = id.title().into();
    Picture::Lines(chart)
}

/// Figure 2 as a distribution function, as in the study.
fn detection_cdf(senders: &[SenderReport]) -> LineChart {
    let of = |detection: fn(&SenderReport) -> &Cdf| {
        let lines = senders.iter().map(|sender| detection(sender).points.clone());
        lines.collect()
    };
    let panel = |title: &str, lines| LinePanel { title: title.into(), lines };
    let name = |sender: &SenderReport| {
        let name = systems_like(&sender.sender).unwrap_or(&sender.sender);
        name.to_owned()
    };
    LineChart {
        series: senders.iter().map(name).collect(),
        y_label: "share of the retransmissions".into(),
        y_scale: Scale::Linear,
        largest: Some(1.0),
        panels: vec![
            panel("FR/R", of(|sender| &sender.detection.fast_retransmit)),
            panel("RTO", of(|sender| &sender.detection.rto)),
        ],
        ..detection_chart(senders)
    }
}

/// Table IV in %, with a panel for the simulated populations and one for the study's.
fn table_iv(populations: &Populations) -> BarChart {
    let group = |system: &System, shares: Shares| BarGroup {
        label: system.name.into(),
        values: vec![
            shares.rto_needed,
            shares.rto_spurious,
            shares.fast_retransmit_needed,
            shares.fast_retransmit_spurious,
        ],
    };
    let simulated = |system: &System| {
        let sender = populations.all.system(system);
        let shares = sender.map(|sender| sender.retransmissions_percent);
        group(system, shares.unwrap_or_default())
    };
    BarChart {
        title: "Retransmissions by trigger and verdict (Table IV)".into(),
        x_label: "system of the sender".into(),
        y_label: "% of the retransmissions".into(),
        series: ["RTO, needed", "RTO, spurious", "FR/R, needed", "FR/R, spurious"].map(String::from).to_vec(),
        panels: vec![
            BarPanel {
                title: "Simulated: all systems over the same networks".into(),
                groups: System::ALL.iter().map(simulated).collect(),
            },
            BarPanel {
                title: "The study: each system over its own networks".into(),
                groups: System::ALL.iter().map(|s| group(s, s.shares())).collect(),
            },
        ],
    }
}

#[cfg(test)]
mod tests;
