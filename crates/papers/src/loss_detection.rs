//! "A Performance Study of Loss Detection/Recovery in Real-world TCP Implementations" (Rewaskar, Kaur and
//! Smith; IEEE ICNP 2007).
//!
//! The study analyzed 2.8 million connections of four systems in four traces. Here servers of each system send over simulated
//! populations that stand for the traces (module `captures`): each system in the traces where the study saw it, in the
//! proportions of Table III. The populations are fitted to what the study prints of these senders as they are (module
//! `baseline`). Their captures go through the analysis of `recoup analyze --study`.
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
//! - The populations are simulated. The study gives no RTTs, rates, losses or receivers. What Table IV prints of the senders
//!   as they are is fitted, and is no result. Figures 2 to 5 are not fitted.
//! - The captured Linux is the kernel of the traces, with its minimum of 200 ms on 4·RTTVAR (`linux-2.4+minrttvar`). §II and
//!   Table I have the minimum on the RTO; single flows (`senders`, `reactions`) have it there, and so has the minimum RTO
//!   that figure 5 varies.
//! - Windows measures the RTT in the handshake, as the others do. Neither the study nor Microsoft says whether it does.
//! - Tables III and IV together give 0.48, 2.0, 0.12 and 0.02 retransmissions per explained lossy connection of Windows,
//!   Linux, Solaris and FreeBSD. A lossy connection has one at least, so that only Linux's can be had.
//! - The captures do not show all verdicts: a receiver without SACK reports no duplicates. As in any capture,
//!   retransmissions with an unknowable verdict are left out of shares. FreeBSD 5.2 has no SACK, so this concerns
//!   it most.
//! - The study's equations (1) to (3) are read as far as they are legible, and clamped at 0 for small flights
//!   (`recoup_whatif::detection_cost`).

mod baseline;
mod captures;
mod causes;
mod claims;
mod columns;
mod equations;
mod experiments;
pub mod impact;
mod micro;
mod populations;
mod published;
mod reactions;
mod senders;
mod tool;
mod watch;

use crate::prelude::*;
use crate::to_value;
pub use experiments::RUNS;
use populations::Populations;
use recoup_captures::analysis::StudyTable;
use recoup_captures::study::{Cdf, SenderReport, Shares, bytes_chart, detection_chart, reduction_chart};
use recoup_trace::systems::systems_like;

/// The paper's name on the command line.
pub const NAME: &str = "loss-detection";

/// Its populations that are fitted to a baseline.
pub const FITS: &[Fitted] = &[baseline::FITTED];

choices! {
    /// A figure of the paper.
    pub enum Id {
        /// Tables I, III and IV, and the recoveries.
        Tables = "tables",
        /// Bytes per connection.
        Fig1 = "fig1",
        /// Detection durations.
        Fig2 = "fig2",
        /// Best-case reduction.
        Fig3 = "fig3",
    }
}

impl Id {
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
pub fn sheet(id: Id, setup: &Setup) -> Result<Sheet> {
    Ok(sheet_of(id, &*Populations::of(setup)?))
}

fn sheet_of(id: Id, populations: &Populations) -> Sheet {
    let report = &populations.all.report;
    let picture = picture(id, populations);
    let points = columns::points_of(&picture);
    let connections = report.capture.connections;
    let tables = id.tables().iter().map(|table| table.of(report));
    let text = format!(
        "Simulated: {connections} lossy connections, of each system as many in each trace as Table III has.\n{}",
        tables.collect::<String>()
    );
    let claims = claims::of(id, populations);
    let mut sheet = Figure::new(NAME, id.name(), id.title(), claims, picture, report.senders.clone())
        .into_sheet(&text, &columns::senders(id.name()));
    sheet.json["study"] = to_value(report);
    sheet.json["captures"] = to_value(&populations.captures);
    if id == Id::Fig2 {
        sheet = sheet.with_picture("tail", detection_chart(&report.senders).into());
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
    let of = |detection: fn(&SenderReport) -> &Cdf| senders.iter().map(move |sender| detection(sender).points.clone());
    LineChart::new(
        "",
        "from the original to its retransmission (RTTs)",
        "share of the retransmissions",
        senders.iter().map(|sender| systems_like(&sender.sender).unwrap_or(&sender.sender)),
    )
    .logarithmic()
    .up_to(1.0)
    .steps()
    .panel("FR/R", of(|sender| &sender.detection.fast_retransmit))
    .panel("RTO", of(|sender| &sender.detection.rto))
}

/// Table IV in %, with a panel for the simulated populations and one for the study's.
fn table_iv(populations: &Populations) -> BarChart {
    let group = |system: &System, shares: Shares| {
        let Shares { rto_needed, rto_spurious, fast_retransmit_needed, fast_retransmit_spurious, .. } = shares;
        (system.name, [rto_needed, rto_spurious, fast_retransmit_needed, fast_retransmit_spurious])
    };
    let simulated = |system: &System| {
        let shares = populations.all.system(system).map(|sender| sender.retransmissions_percent);
        group(system, shares.unwrap_or_default())
    };
    BarChart::new(
        "Retransmissions by trigger and verdict (Table IV)",
        "system of the sender",
        "% of the retransmissions",
        ["RTO, needed", "RTO, spurious", "FR/R, needed", "FR/R, spurious"],
    )
    .panel("Simulated", System::ALL.iter().map(simulated))
    .panel("The study", System::ALL.iter().map(|s| group(s, s.shares())))
}

#[cfg(test)]
mod tests;
