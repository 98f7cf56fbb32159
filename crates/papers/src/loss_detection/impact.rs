//! Figures 4 and 5 (§V-B): what other parameters would have saved the senders of simulated populations.
//!
//! | figure | shows |
//! | --- | --- |
//! | fig4 | k = 2, 3 and 6 for Linux |
//! | fig5a | the minimum RTO: 100 ms for Solaris, 400 ms for Linux |
//! | fig5b | a and b for Windows |
//! | tradeoff | accuracy against timeliness: what k, the minimum RTO and D change in both (§II, §V-B) |
//!
//! The captures of the populations' lossy connections go through the study of `recoup whatif --study`, with each value by
//! itself and the model of the paper's equations. As in §II, the minimum RTO that is varied bounds the RTO; the captured
//! Linux keeps its kernel's 200 ms on 4·RTTVAR beside it.
//!
//! Deviations besides those of the populations:
//!
//! - The caption of Figure 5b is cut off. §V-B3 says that a and b matter for systems other than Linux; the
//!   figure shows Windows with the largest and the smallest weights.
//! - The paper calls changes significant, slight or negligible, and gives no bounds. Ours are in the checks.

mod claims;
mod optimal;
mod tradeoff;

use super::NAME;
use super::captures::{CAPTURES, FIT, lossy_flows};
use super::claims::{LINUX, SOLARIS, WINDOWS};
use super::populations::population;
use super::published::seen_in;
use crate::last::Last;
use crate::prelude::*;
use recoup_captures::capture::{Capture, Unwatched};
use recoup_captures::parameters::{
    ChangeKind, Grid, ParameterStudy, Request, SenderRow, Totals, chart, instance_text, panel, study_capture,
};
use recoup_captures::study::Model;
use recoup_draw::chart::PointPanel;
use recoup_recovery::parameters::Parameters;
use recoup_recovery::rtt::Factor;
use recoup_trace::analyze::Settings;

/// The lossy connections of each system.
fn lossy(effort: Effort) -> u64 {
    effort.of(6000, 800)
}

/// Flows captured in one piece of work.
const TOGETHER: usize = 64;

/// The numbers of the flows of one capture begin this far above those of the capture before it.
const CAPTURE_BEGINS: u64 = 1 << 21;

choices! {
    /// A figure of §V-B.
    pub enum Id {
        /// k.
        Fig4 = "fig4",
        /// The minimum RTO.
        Fig5a = "fig5a",
        /// a and b.
        Fig5b = "fig5b",
        /// Accuracy and timeliness.
        Tradeoff = "tradeoff",
    }
}

impl Id {
    fn title(self) -> String {
        let other = match self {
            Self::Fig4 => "other k",
            Self::Fig5a => "another minimum RTO",
            Self::Fig5b => "other a and b",
            Self::Tradeoff => "other D",
        };
        format!("Reduction of the connection duration with {other} (simulated populations)")
    }
}

/// The studies of the four systems, in the order of [`System::ALL`].
pub struct Impact(Vec<Studied>);

struct Studied {
    study: ParameterStudy,
    senders: Vec<Sender>,
}

/// The effect of the values on one sender.
struct Sender {
    /// The best case in its RTTs.
    best_case: f64,
    /// By value, in the order of the study's singles: the reduction of the duration in RTTs; negative: longer.
    saved: Vec<f64>,
}

/// A parameter of loss detection with another value.
#[derive(Clone, Copy)]
pub enum Replaced {
    K(u32),
    /// In ms.
    MinRto(u64),
    /// One divided by this.
    A(u32),
    /// One divided by this.
    B(u32),
    /// In hundredths.
    M(u32),
    D(u32),
}

impl Replaced {
    /// All of these.
    pub fn all(of: &[Self]) -> Parameters {
        let mut parameters = Parameters::default();
        for one in of {
            match *one {
                Self::K(k) => parameters.rttvar_factor = Some(Factor::whole(k)),
                Self::MinRto(ms) => parameters.min_rto = Some(Duration::from_millis(ms)),
                Self::A(divisor) => parameters.rttvar_weight = Some(Factor::one_over(divisor)),
                Self::B(divisor) => parameters.srtt_weight = Some(Factor::one_over(divisor)),
                Self::M(hundredths) => parameters.srtt_factor = Some(Factor(hundredths * 10_000)),
                Self::D(segments) => parameters.dupthresh = Some(Segments(segments)),
            }
        }
        parameters
    }

    fn text(self) -> String {
        instance_text(&Self::all(&[self]))
    }
}

/// The values that the paper plots, and those of its grid.
fn grid() -> Grid {
    Grid {
        rttvar_factors: [2, 3, 4, 6, 8].map(Factor::whole).into(),
        srtt_factors: M.map(|hundredths| Factor(hundredths * 10_000)).into(),
        dupthreshs: D.map(Segments).into(),
        alone: true,
        ..Grid::study()
    }
}

/// m, in hundredths.
const M: [u32; 5] = [50, 100, 125, 150, 200];

/// D. The study's values are cut off.
const D: [u32; 6] = [1, 2, 3, 4, 5, 6];

impl Impact {
    /// Simulates and studies this many lossy connections of each system.
    fn simulate(setup: &Setup, lossy: u64) -> Result<Self> {
        (0..System::ALL.len()).map(|system| study(setup, lossy, system)).collect::<Result<_>>().map(Self)
    }

    /// The last result is kept, because every figure needs it.
    fn of(setup: &Setup) -> Result<Arc<Self>> {
        static LAST: Last<Impact> = Last::new();
        let lossy = lossy(setup.effort);
        LAST.or_make(setup, &lossy.to_string(), || Self::simulate(setup, lossy))
    }

    /// RTTs that a value saves each sender, behind the best case of the sender.
    fn saved(&self, system: usize, replaced: Replaced) -> impl Iterator<Item = [f64; 2]> {
        let number = self.number(system, replaced);
        self.0[system].senders.iter().map(move |sender| [sender.best_case, sender.saved[number]])
    }

    /// The mean of a quantity of senders.
    fn mean(&self, system: usize, of: impl Fn(&Sender) -> f64) -> Estimate {
        Estimate::of(self.0[system].senders.iter().map(&of))
    }

    /// Detections that a value changes in one of these ways.
    fn events(&self, system: usize, replaced: Replaced, kinds: &[ChangeKind]) -> u64 {
        let number = self.number(system, replaced);
        self.totals(system).instances[number].events_of(kinds)
    }

    /// Time that a value saves by changes of these kinds, in ms per sender.
    fn saved_ms(&self, system: usize, replaced: Replaced, kinds: &[ChangeKind]) -> f64 {
        let totals = self.totals(system);
        let of = &totals.instances[self.number(system, replaced)];
        let saved = kinds.iter().map(|kind| of.saved[Model::Forms as usize][*kind as usize]);
        totals.mean_ms(saved.sum()).unwrap_or(NAN)
    }

    fn totals(&self, system: usize) -> &Totals {
        &self.0[system].study.all
    }

    fn number(&self, system: usize, replaced: Replaced) -> usize {
        let wanted = Replaced::all(&[replaced]);
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
            best_case_rtts: totals.mean_rtts(totals.best_case_rtts).unwrap_or(NAN),
            saved_rtts: totals.mean_rtts(of.saved_rtts[model]).unwrap_or(NAN),
            saved_ms: totals.mean_ms(of.saved(Model::Forms)).unwrap_or(NAN),
            faster_percent: 100.0 * of.faster[model] as f64 / senders,
            slower_percent: 100.0 * of.slower[model] as f64 / senders,
        }
    }

    fn panel(&self, system: usize, replaced: Replaced) -> PointPanel {
        let bins = &self.totals(system).bins[self.number(system, replaced)];
        panel(format!("{}: {}", System::ALL[system].name, replaced.text()), bins)
    }
}

/// The servers of a system in the captures where the study saw it, studied.
fn study(setup: &Setup, lossy: u64, system: usize) -> Result<Studied> {
    let profile = setup.profile(System::ALL[system].captured);
    // Flows have their own addresses and times by their numbers.
    let mut packets = vec![];
    for ((i, capture), share) in (0..).zip(&CAPTURES).zip(seen_in(system)) {
        let wanted = (lossy as f64 * share).round() as u64;
        let population = population(setup, capture, &setup.fitted(FIT), wanted);
        let flows = lossy_flows(&population, &profile, i * CAPTURE_BEGINS, wanted)?;
        let parts: Vec<&[u64]> = flows.chunks(TOGETHER).collect();
        let parts =
            in_parallel(parts.len(), cores(), |part| population.capture(&profile, parts[part].iter().copied()))?;
        packets.extend(parts.into_iter().flatten());
    }
    packets.sort_by_key(|packet| packet.at);
    for (frame, packet) in (1..).zip(&mut packets) {
        packet.frame = frame;
    }
    let request = Request { grid: grid(), model: Model::Forms, counts_undo: false, lists_events: false };
    let settings = Settings { profile: Some(profile), ..Settings::default() };
    let mut senders = vec![];
    let capture = Capture::packets(System::ALL[system].name, &packets);
    let studied = study_capture(capture, &request, &settings, &Unwatched, &mut |row| senders.extend(sender(row)));
    // Reading from memory does not fail.
    let studied = studied.map_err(|e| SettingsError::Path(e.to_string()))?;
    Ok(Studied { study: studied.findings, senders })
}

/// A sender with an RTT, in its RTTs.
fn sender(row: &SenderRow<'_>) -> Option<Sender> {
    let rtt = row.studied.mean_rtt.as_nanos() as f64;
    let changes = &row.studied.changes[..row.instances.singles().len()];
    let saved = changes.iter().map(|change| change.saved(Model::Forms) as f64 / rtt);
    (rtt > 0.0).then(|| Sender { best_case: row.best_case.as_nanos() as f64 / rtt, saved: saved.collect() })
}

/// The effect of a value on a system.
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
    columns!(columns_of_figure::<Row>(figure), row;
        system, "", "the system of the servers";
        replaced, "", "the parameter and its value" => row.replaced.clone();
        senders, "senders", "servers with a needed loss";
        best_case_rtts, "RTTs", "mean of what ideal loss detection saves";
        saved_rtts, "RTTs", "mean reduction; negative: longer";
        saved_ms, "ms", "mean reduction; negative: longer";
        faster_percent, "%", "senders whose connection is shorter";
        slower_percent, "%", "senders whose connection is longer";
    )
}

/// The values in the table of a figure.
fn replaced(id: Id) -> Vec<Replaced> {
    let weights = || (0..=5).map(|n| 1 << n);
    match id {
        Id::Fig4 => [2, 3, 4, 6, 8].map(Replaced::K).into_iter().chain(M.map(Replaced::M)).collect(),
        Id::Fig5a => [100, 200, 400, 800, 1000].map(Replaced::MinRto).into(),
        Id::Fig5b => weights().map(Replaced::A).chain(weights().map(Replaced::B)).collect(),
        Id::Tradeoff => D.map(Replaced::D).into(),
    }
}

/// The table of a figure: all systems, all values.
fn rows(id: Id, impact: &Impact) -> Vec<Row> {
    let of = |system| replaced(id).into_iter().map(move |one| impact.row(system, one));
    (0..System::ALL.len()).flat_map(of).collect()
}

fn panels(id: Id, impact: &Impact) -> Vec<PointPanel> {
    let (system, values): (_, &[Replaced]) = match id {
        Id::Fig4 => (LINUX, &[2, 3, 6].map(Replaced::K)),
        Id::Fig5a => {
            return [(SOLARIS, 100), (LINUX, 400)]
                .map(|(system, ms)| impact.panel(system, Replaced::MinRto(ms)))
                .into();
        }
        Id::Fig5b => (WINDOWS, &[Replaced::A(1), Replaced::A(32), Replaced::B(1), Replaced::B(32)]),
        Id::Tradeoff => (LINUX, &[1, 2, 4].map(Replaced::D)),
    };
    values.iter().map(|one| impact.panel(system, *one)).collect()
}

/// Regenerates a figure in every format.
///
/// # Errors
/// Never with these populations.
pub fn sheet(id: Id, setup: &Setup) -> Result<Sheet> {
    Ok(sheet_of(id, &*Impact::of(setup)?))
}

fn sheet_of(id: Id, impact: &Impact) -> Sheet {
    let columns = columns(id.name());
    let x_label = "best case: what ideal loss detection saves (RTTs)";
    let chart = chart(id.title(), x_label.into(), panels(id, impact));
    // All columns but the figure's name.
    let names = columns.names();
    let shown: Vec<&str> = names[1..].iter().map(String::as_str).collect();
    Figure::new(NAME, id.name(), id.title(), claims::of(id, impact), chart, rows(id, impact)).sheet(
        |rows| {
            format!(
                "Simulated: lossy connections of each system, as many in each trace as Table III has. Those with a needed loss are \
                 studied.\n\n{}",
                columns.to_text(rows, &shown)
            )
        },
        &columns,
    )
}

#[cfg(test)]
mod tests;
