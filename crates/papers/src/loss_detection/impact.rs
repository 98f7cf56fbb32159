//! Figures 4 and 5 (§V-B): what other parameters would have saved the senders of simulated populations.
//!
//! | figure | shows |
//! | --- | --- |
//! | fig4 | k = 2, 3 and 6 for Linux |
//! | fig5a | the minimum RTO: 100 ms for Solaris, 400 ms for Linux |
//! | fig5b | a and b for Windows |
//!
//! The captures of the populations go through the study of `recoup whatif --study`, with each value by itself and
//! the model of the paper's equations.
//!
//! Deviations besides those of the populations:
//!
//! - The caption of Figure 5b is cut off. §V-B3 says that a and b matter for systems other than Linux; the
//!   figure shows Windows with the largest and the smallest weights.
//! - The paper calls changes significant, slight or negligible, and gives no bounds. Ours are in the checks.

mod claims;

use super::NAME;
use crate::population::{InMemory, Population};
use crate::{Figure, Picture, Sheet, columns_of_figure};
use recoup_draw::chart::PointPanel;
use recoup_lab::parameters::{
    Grid, ParameterStudy, Request, SenderRow, Totals, chart, instance_text, panel, study_capture,
};
use recoup_lab::settings::SettingsError;
use recoup_lab::whatif::Watch;
use recoup_recovery::Profile;
use recoup_recovery::parameters::Parameters;
use recoup_recovery::rtt::Factor;
use recoup_table::Columns;
use recoup_trace::analyze::Settings;
use recoup_trace::study::Model;
use recoup_trace::study::published::System;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The flows of each system's population.
const FLOWS: u64 = 4000;

/// A figure of §V-B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Id {
    /// k.
    Fig4,
    /// The minimum RTO.
    Fig5a,
    /// a and b.
    Fig5b,
}

impl Id {
    /// Every figure regenerated.
    pub const ALL: [Self; 3] = [Self::Fig4, Self::Fig5a, Self::Fig5b];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fig4 => "fig4",
            Self::Fig5a => "fig5a",
            Self::Fig5b => "fig5b",
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::Fig4 => {
                "Reduction of the connection duration with other k (simulated populations)"
            }
            Self::Fig5a => {
                "Reduction of the connection duration with another minimum RTO (simulated populations)"
            }
            Self::Fig5b => {
                "Reduction of the connection duration with other a and b (simulated populations)"
            }
        }
    }
}

/// The positions of the systems in [`System::ALL`].
const WINDOWS: usize = 0;
const LINUX: usize = 1;
const SOLARIS: usize = 2;

/// The studies of the four systems, in the order of [`System::ALL`].
pub(super) struct Impact(Vec<Studied>);

struct Studied {
    study: ParameterStudy,
    /// Senders that k = 2 makes slower: the best case and by how much, in RTTs.
    slower_by_k_2: Vec<[f64; 2]>,
}

/// A parameter replaced by itself.
#[derive(Clone, Copy)]
enum Replaced {
    K(u32),
    MinRto(u64),
    A(u32),
    B(u32),
    /// In hundredths.
    M(u32),
}

impl Replaced {
    fn parameters(self) -> Parameters {
        let mut parameters = Parameters::default();
        match self {
            Self::K(k) => parameters.rttvar_factor = Some(Factor::whole(k)),
            Self::MinRto(ms) => parameters.min_rto = Some(Duration::from_millis(ms)),
            Self::A(divisor) => parameters.rttvar_weight = Some(Factor::one_over(divisor)),
            Self::B(divisor) => parameters.srtt_weight = Some(Factor::one_over(divisor)),
            Self::M(hundredths) => parameters.srtt_factor = Some(Factor(hundredths * 10_000)),
        }
        parameters
    }

    fn text(self) -> String {
        instance_text(&self.parameters())
    }
}

/// The values that the paper plots, and those of its grid.
fn grid() -> Grid {
    Grid {
        rttvar_factors: [2, 3, 4, 6, 8].map(Factor::whole).into(),
        srtt_factors: M.map(|hundredths| Factor(hundredths * 10_000)).into(),
        alone: true,
        ..Grid::study()
    }
}

/// m, in hundredths.
const M: [u32; 5] = [50, 100, 125, 150, 200];

impl Impact {
    /// Simulates and studies populations of `flows` flows for each system.
    fn simulate(flows: u64, seed: u64) -> Result<Self, SettingsError> {
        let population = Population::web(flows, seed);
        let of = |system: &System| study(&population, system);
        System::ALL
            .iter()
            .map(of)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// The last result is kept, because every figure needs it.
    fn of_seed(seed: u64) -> Result<Arc<Self>, SettingsError> {
        static LAST: Mutex<Option<(u64, Arc<Impact>)>> = Mutex::new(None);
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some((of, impact)) if *of == seed => Ok(Arc::clone(impact)),
            _ => {
                let impact = Arc::new(Self::simulate(FLOWS, seed)?);
                *last = Some((seed, Arc::clone(&impact)));
                Ok(impact)
            }
        }
    }

    fn totals(&self, system: usize) -> &Totals {
        &self.0[system].study.all
    }

    fn number(&self, system: usize, replaced: Replaced) -> usize {
        let wanted = replaced.parameters();
        let mut singles = self.0[system].study.instances.singles().iter();
        // The grid has every value that is asked for.
        singles.position(|one| *one == wanted).unwrap_or_default()
    }

    fn row(&self, system: usize, replaced: Replaced) -> Row {
        let (totals, number) = (self.totals(system), self.number(system, replaced));
        let of = &totals.instances[number];
        let model = Model::Forms as usize;
        let senders = totals.senders.max(1) as f64;
        Row {
            system: System::ALL[system].name,
            replaced: replaced.text(),
            senders: totals.senders,
            best_case_rtts: totals.mean_rtts(totals.best_case_rtts).unwrap_or(f64::NAN),
            saved_rtts: totals.mean_rtts(of.saved_rtts[model]).unwrap_or(f64::NAN),
            saved_ms: totals.mean_ms(of.saved(Model::Forms)).unwrap_or(f64::NAN),
            faster_percent: 100.0 * of.faster[model] as f64 / senders,
            slower_percent: 100.0 * of.slower[model] as f64 / senders,
        }
    }

    fn panel(&self, system: usize, replaced: Replaced) -> PointPanel {
        let bins = &self.totals(system).bins[self.number(system, replaced)];
        panel(
            format!("{}: {}", System::ALL[system].name, replaced.text()),
            bins,
        )
    }
}

/// The servers of a population, captured and studied.
fn study(population: &Population, system: &System) -> Result<Studied, SettingsError> {
    let profile: Profile = system.profile.parse().unwrap_or_default();
    let packets = InMemory::new(population.capture(&profile, 0..population.flows)?);
    let request = Request {
        grid: grid(),
        model: Model::Forms,
        lists_events: false,
    };
    let settings = Settings {
        profile: Some(profile),
        ..Settings::default()
    };
    let watch = Watch {
        bytes: &|_| true,
        reruns: &|_, _| true,
    };
    let again = packets.clone();
    let mut slower = Vec::new();
    let studied = study_capture(
        system.name,
        packets,
        |_| Ok(again),
        &request,
        &settings,
        watch,
        &mut |sender| slower.extend(slower_by(Replaced::K(2), sender)),
    );
    // Reading from memory does not fail.
    let studied = studied.map_err(|e| SettingsError::Path(e.to_string()))?;
    Ok(Studied {
        study: studied.findings,
        slower_by_k_2: slower,
    })
}

/// The best case of a sender that a value makes slower, and by how much, in RTTs.
fn slower_by(replaced: Replaced, sender: &SenderRow<'_>) -> Option<[f64; 2]> {
    let wanted = replaced.parameters();
    let number = sender
        .instances
        .singles()
        .iter()
        .position(|one| *one == wanted)?;
    let saved = sender.studied.changes.get(number)?.saved(Model::Forms);
    let rtt = sender.studied.mean_rtt.as_nanos() as f64;
    let best_case = sender.best_case.as_nanos() as f64;
    (saved < 0 && rtt > 0.0).then(|| [best_case / rtt, -saved as f64 / rtt])
}

/// What a value changes for a system.
#[derive(Clone, Debug)]
pub struct Row {
    system: &'static str,
    replaced: String,
    senders: u64,
    best_case_rtts: f64,
    saved_rtts: f64,
    saved_ms: f64,
    faster_percent: f64,
    slower_percent: f64,
}

fn columns(figure: &'static str) -> Columns<Row> {
    columns_of_figure::<Row>(figure)
        .text(("system", "", "the system of the servers"), |row| {
            Some(row.system.into())
        })
        .text(("replaced", "", "the parameter and its value"), |row| {
            Some(row.replaced.clone().into())
        })
        .integer(
            ("senders", "senders", "servers with a needed loss"),
            |row| Some(row.senders),
        )
        .real(
            (
                "best_case_rtts",
                "RTTs",
                "mean of what ideal loss detection saves",
            ),
            |row| Some(row.best_case_rtts),
        )
        .real(
            ("saved_rtts", "RTTs", "mean reduction; negative: longer"),
            |row| Some(row.saved_rtts),
        )
        .real(
            ("saved_ms", "ms", "mean reduction; negative: longer"),
            |row| Some(row.saved_ms),
        )
        .real(
            ("faster_percent", "%", "senders whose connection is shorter"),
            |row| Some(row.faster_percent),
        )
        .real(
            ("slower_percent", "%", "senders whose connection is longer"),
            |row| Some(row.slower_percent),
        )
}

/// The values in the table of a figure.
fn replaced(id: Id) -> Vec<Replaced> {
    let weights = || (0..=5).map(|n| 1 << n);
    match id {
        Id::Fig4 => {
            let k = [2, 3, 4, 6, 8].map(Replaced::K).into_iter();
            k.chain(M.map(Replaced::M)).collect()
        }
        Id::Fig5a => [100, 200, 400, 800, 1000].map(Replaced::MinRto).into(),
        Id::Fig5b => weights()
            .map(Replaced::A)
            .chain(weights().map(Replaced::B))
            .collect(),
    }
}

/// The table of a figure: all systems, all values.
fn rows(id: Id, impact: &Impact) -> Vec<Row> {
    let systems = 0..System::ALL.len();
    let of = |system| {
        replaced(id)
            .into_iter()
            .map(move |one| impact.row(system, one))
    };
    systems.flat_map(of).collect()
}

fn panels(id: Id, impact: &Impact) -> Vec<PointPanel> {
    let of = |(system, replaced)| impact.panel(system, replaced);
    match id {
        Id::Fig4 => [2, 3, 6].map(|k| of((LINUX, Replaced::K(k)))).into(),
        Id::Fig5a => [
            (SOLARIS, Replaced::MinRto(100)),
            (LINUX, Replaced::MinRto(400)),
        ]
        .map(of)
        .into(),
        Id::Fig5b => [
            Replaced::A(1),
            Replaced::A(32),
            Replaced::B(1),
            Replaced::B(32),
        ]
        .map(|one| of((WINDOWS, one)))
        .into(),
    }
}

/// Regenerates a figure in every format. `seed` decides everything random.
///
/// # Errors
/// Never with the population of web traffic.
pub fn sheet(id: Id, seed: u64) -> Result<Sheet, SettingsError> {
    Ok(sheet_of(id, &*Impact::of_seed(seed)?))
}

fn sheet_of(id: Id, impact: &Impact) -> Sheet {
    let x_label = "best case: what ideal loss detection saves (RTTs)";
    let columns = columns(id.name());
    let cells = rows(id, impact);
    let shown = [
        "system",
        "replaced",
        "senders",
        "best_case_rtts",
        "saved_rtts",
        "saved_ms",
        "faster_percent",
        "slower_percent",
    ];
    let text = format!(
        "Simulated: the servers of each system sent the same flows. Those with a needed loss are studied.\n\n{}",
        columns.to_text(&cells, &shown)
    );
    let figure = Figure {
        paper: NAME,
        figure: id.name(),
        title: id.title().into(),
        claims: claims::of(id, impact),
        picture: Picture::Points(chart(id.title().into(), x_label.into(), panels(id, impact))),
        cells,
    };
    figure.into_sheet(&text, &columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_as_expected() {
        let impact = Impact::of_seed(1).unwrap();
        for id in Id::ALL {
            let sheet = sheet_of(id, &impact);
            println!("{}", sheet.table);
            crate::claims::assert_known(
                NAME,
                id.name(),
                crate::experiment::Effort::Full,
                &sheet.claims,
            );
            crate::assert_fits_a_terminal(&sheet.table);
            assert!(sheet.csv.starts_with("figure,system,replaced,senders,"));
        }
        for (study, system) in impact.0.iter().zip(&System::ALL) {
            let refused = study.study.refused.by_count();
            assert!(
                study.study.all.senders > 200,
                "{}: {refused:?}",
                system.name
            );
        }
    }
}
