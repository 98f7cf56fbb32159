//! "A Performance Study of Loss Detection/Recovery in Real-world TCP Implementations" (Rewaskar, Kaur and
//! Smith; IEEE ICNP 2007): §V-A, for simulated populations.
//!
//! The study analyzed 2.8 million connections of four systems. Here each system serves the same population
//! of simulated flows ([`Population::web`]), and the captures of its servers go through the analysis of
//! `recoup analyze --study`.
//!
//! | figure | shows                                                                             |
//! |--------|-----------------------------------------------------------------------------------|
//! | tables | Tables I, III and IV; the recoveries by segments lost in a flight (§V-A2b)        |
//! | fig1   | bytes per connection                                                              |
//! | fig2   | detection durations                                                               |
//! | fig3   | best-case reduction of connection durations                                       |
//!
//! Deviations:
//!
//! - The populations are simulated. The study's systems served different users over different networks; here
//!   all four meet the same. So differences between systems come from the systems, which the study could not
//!   separate from their networks. A claim that the study's networks explain can fail here.
//! - The senders follow the study's §II and Table I. In the kernel of Linux 2.4 the minimum applies to
//!   4·RTTVAR (`linux-2.4+minrttvar`). With it three more claims hold, as their notes say.
//! - The paths, sizes and receivers are our choice ([`Population`]): the study gives no distributions. They were
//!   chosen with results of earlier choices in sight. So
//!   shares of the population (45-75 %, 60-88 %, …) stand beside the study's and are not judged. Claims are
//!   orderings between systems, mechanisms and losses.
//! - The captures do not show all verdicts: a receiver without SACK reports no duplicates. As in any capture,
//!   retransmissions with an unknowable verdict are left out of shares. FreeBSD 5.2 has no SACK, so this concerns
//!   it most.
//! - Figure 1 of the study compares its four traces. Here it compares the systems, whose servers write the same
//!   responses: its lines differ by retransmissions alone.

mod claims;
mod columns;
mod experiments;
pub mod impact;

use crate::population::Population;
use crate::{Figure, Picture, Sheet, to_value};
use recoup_draw::chart::{BarChart, BarGroup, BarPanel};
use recoup_lab::analysis::{Collector, StudyTable, Summary};
use recoup_lab::settings::SettingsError;
use recoup_lab::study::{bytes_chart, detection_chart, reduction_chart};
use recoup_recovery::{Profile, Trigger};
use recoup_trace::analyze::Findings;
use recoup_trace::finding::{
    Connection, Explanation, Identification, Retransmission, Revision, Tally, Verdict, systems_like,
};
use recoup_trace::study::published::System;
use recoup_trace::study::{Cdf, Report, SenderReport, Shares, Study};
use std::sync::{Arc, Mutex, PoisonError};

pub use experiments::EXPERIMENTS;

/// The paper's name on the command line.
pub const NAME: &str = "loss-detection";

/// The flows of each system's population.
const FLOWS: u64 = 2000;

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
            Self::Tables => {
                "Retransmissions and recoveries of four systems (simulated populations)"
            }
            Self::Fig1 => "Bytes transmitted in each connection (simulated populations)",
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

/// The results of the four systems.
#[derive(Clone, Debug)]
pub struct Populations {
    /// Of all systems together; its senders are in the order of their profiles' names.
    report: Report,
    /// Of the systems that use SACK together.
    with_sack: SenderReport,
    /// The payload of each system's connections, by name.
    bytes: Vec<(String, Cdf)>,
    /// Needed timeouts with too few segments outstanding for FR/R, in % of all needed timeouts, in the order of
    /// [`System::ALL`]; NaN without timeouts.
    few_outstanding: [f64; System::ALL.len()],
}

impl Populations {
    /// Simulates and analyzes the populations of `flows` flows each.
    ///
    /// # Errors
    /// Never with the population of web traffic.
    pub fn simulate(flows: u64, seed: u64) -> Result<Self, SettingsError> {
        Self::of(Population::web(flows, seed))
    }

    fn of(population: Population) -> Result<Self, SettingsError> {
        let [mut all, mut with_sack] = [Study::default(), Study::default()];
        let mut bytes: Vec<(String, Cdf)> = Vec::new();
        let mut few_outstanding = [f64::NAN; System::ALL.len()];
        for (system, few) in System::ALL.iter().zip(&mut few_outstanding) {
            let servers = servers(&population, system)?;
            let study = servers.summary.study;
            *few = 100.0 * servers.few_outstanding as f64 / servers.timeouts as f64;
            let name = systems_like(system.profile).unwrap_or(system.name);
            bytes.push((name.into(), study.report().bytes));
            all.merge(&study);
            if servers.profile.mechanisms().sack {
                with_sack.merge(&study);
            }
        }
        // A system has the same colour in all figures.
        bytes.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(Self {
            report: all.report(),
            with_sack: with_sack.report().all,
            bytes,
            few_outstanding,
        })
    }

    /// The populations of [`FLOWS`] flows each. The last result is kept, because every figure needs it.
    fn of_seed(seed: u64) -> Result<Arc<Self>, SettingsError> {
        static LAST: Mutex<Option<(u64, Arc<Populations>)>> = Mutex::new(None);
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some((of, populations)) if *of == seed => Ok(Arc::clone(populations)),
            _ => {
                let populations = Arc::new(Self::simulate(FLOWS, seed)?);
                *last = Some((seed, Arc::clone(&populations)));
                Ok(populations)
            }
        }
    }

    /// The results of a system's servers.
    fn system(&self, system: &System) -> Option<&SenderReport> {
        let mut senders = self.report.senders.iter();
        senders.find(|sender| sender.sender == system.profile)
    }
}

/// What the servers of one system's population sent.
fn servers(population: &Population, system: &System) -> Result<Servers, SettingsError> {
    let profile: Profile = system.profile.parse().unwrap_or_default();
    let mut all = Servers::new(&profile);
    for mut part in population.analyze(&profile, || Servers::new(&profile))? {
        part.summary.order();
        all.summary.merge(part.summary);
        all.timeouts += part.timeouts;
        all.few_outstanding += part.few_outstanding;
    }
    Ok(all)
}

/// Collects what the servers retransmitted. What the clients retransmit, requests and SYNs, was not captured
/// at its sender and is left out.
struct Servers {
    summary: Summary,
    profile: Profile,
    /// Needed timeouts: first retransmissions by the timer.
    timeouts: u64,
    /// Those with no more segments outstanding than the duplicate ACK threshold. The first of them is the lost
    /// one, so the others cause fewer duplicate ACKs.
    few_outstanding: u64,
}

impl Servers {
    fn new(profile: &Profile) -> Self {
        Self {
            summary: Summary::default(),
            profile: profile.clone(),
            timeouts: 0,
            few_outstanding: 0,
        }
    }

    fn count(&mut self, row: &Retransmission) {
        let is_timeout = row.triggers.first() == Some(Trigger::Rto) && row.copy == 1;
        if is_timeout && row.verdict == Verdict::Needed {
            self.timeouts += 1;
            let threshold = self.profile.mechanisms().detection.dupthresh.0;
            self.few_outstanding += u64::from(row.flight <= threshold);
        }
    }
}

impl Findings for Servers {
    fn connection(&mut self, mut connection: Connection, retransmissions: &[Retransmission]) {
        let [client, server] = &mut connection.directions;
        client.retransmissions = Tally::default();
        let best = server.profile.best();
        // The servers have this profile, however little of them it explains.
        server.profile = Identification::Profile(Explanation {
            profile: self.profile.name().into(),
            explained: best.map_or(0, |best| best.explained),
            of: best.map_or(0, |best| best.of),
        });
        let own = |row: &&Retransmission| row.endpoints.src == connection.endpoints.dst;
        let own: Vec<Retransmission> = retransmissions.iter().filter(own).copied().collect();
        own.iter().for_each(|row| self.count(row));
        self.summary.connection(connection, &own);
    }

    fn revision(&mut self, revision: &Revision) {
        self.summary.revision(revision);
    }
}

/// Regenerates a figure in every format. `seed` decides everything random.
///
/// # Errors
/// Never with the population of web traffic.
pub fn sheet(id: Id, seed: u64) -> Result<Sheet, SettingsError> {
    Ok(sheet_of(id, &*Populations::of_seed(seed)?))
}

fn sheet_of(id: Id, populations: &Populations) -> Sheet {
    let Populations { report, .. } = populations;
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
        "Simulated: the servers of each system sent the same {flows} flows.\n{}",
        tables.collect::<String>()
    );
    let mut sheet = figure.into_sheet(&text, &columns::senders(id.name()));
    sheet.json["study"] = to_value(report);
    match id {
        Id::Tables => sheet,
        _ => sheet.with_csv_rows("points", &columns::points(id.name()), &points),
    }
}

fn picture(id: Id, populations: &Populations) -> Picture {
    let senders = &populations.report.senders;
    let mut chart = match id {
        Id::Tables => return Picture::Bars(table_iv(populations)),
        Id::Fig1 => bytes_chart(&populations.bytes),
        Id::Fig2 => detection_chart(senders),
        Id::Fig3 => reduction_chart(senders),
    };
    chart.title = id.title().into();
    Picture::Lines(chart)
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
        let sender = populations.system(system);
        let shares = sender.map(|sender| sender.retransmissions_percent);
        group(system, shares.unwrap_or_default())
    };
    BarChart {
        title: "Retransmissions by trigger and verdict (Table IV)".into(),
        x_label: "system of the sender".into(),
        y_label: "% of the retransmissions".into(),
        series: [
            "RTO, needed",
            "RTO, spurious",
            "FR/R, needed",
            "FR/R, spurious",
        ]
        .map(String::from)
        .to_vec(),
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
