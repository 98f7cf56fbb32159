//! The figures measured over real packets and compared with the simulator.
//!
//! On the stage `net`, Recoup's endpoints are compared with the same endpoints in the simulator. On the
//! stage `kernel`, the kernel with and without tail loss probes is compared with `linux-6` and the
//! kernel's timer wheel.
//!
//! Cells are medians of [`RUNS`] flows. Several cells run at once, each on its own path.

use super::{Acks, Id, MECHANISMS, Mechanism, NAME};
use crate::prelude::*;
use crate::to_value;
use comfy_table::Table;
use recoup_lab::run::{self, ProfileResult};
use recoup_lab::stage::{Ends, KernelFacts, Outputs, RealStage, Stage, StageError};
use recoup_support::stats::Summary;

/// Flows per cell.
pub const RUNS: u64 = 9;

/// Cells that run at once.
const AT_ONCE: usize = 16;

/// Simulated flows that predict the kernel, spread over the phases of its timer wheel.
const PREDICTING: u64 = 101;

/// The path's rate if the settings give none. On a path of pure delay, Linux's RACK sometimes ignores a
/// probe's SACK, because its RTT is just below the smallest sample.
const RATE: &str = "100Mbit";

/// The largest difference that counts as near, in percent.
const NEAR: f64 = 3.0;

/// A sender that is compared on a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variant {
    Mechanism(Mechanism),
    Kernel { tlp: bool },
}

impl Variant {
    fn of(stage: Stage) -> Vec<Self> {
        match stage {
            Stage::Kernel => [false, true].map(|tlp| Self::Kernel { tlp }).to_vec(),
            Stage::Sim | Stage::Net => MECHANISMS.map(Self::Mechanism).to_vec(),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Mechanism(mechanism) => mechanism.name(),
            Self::Kernel { tlp: false } => "no TLP",
            Self::Kernel { tlp: true } => "TLP",
        }
    }

    /// The name of the simulator's profile for it.
    const fn profile(self) -> &'static str {
        match self {
            Self::Mechanism(mechanism) => mechanism.profile(),
            Self::Kernel { tlp: false } => "linux-6+notlp",
            Self::Kernel { tlp: true } => "linux-6",
        }
    }
}

/// The flows of one variant in one cell.
#[derive(Clone, Debug)]
pub struct RealCell {
    /// The `ack` setting.
    pub ack: &'static str,
    /// The RTT in ms.
    pub rtt_ms: u64,
    /// Segments lost at the tail.
    pub lost: u64,
    /// The mechanism, or whether the kernel sends tail loss probes.
    pub mechanism: &'static str,
    /// Measured flow completion times in ms; `None` if no flow completed.
    pub fct_ms: Option<Summary>,
    /// The simulator's median FCT in ms.
    pub simulated_ms: Option<f64>,
    /// The measured median FCT from establishment, in ms.
    pub fct_established_ms: Option<f64>,
    /// The simulator's median FCT from establishment, in ms.
    pub simulated_established_ms: Option<f64>,
    /// How much the measured median FCT exceeds the simulator's, in percent.
    pub difference_percent: Option<f64>,
    /// Flows whose times the emulator's lateness blurs by more than a hundredth.
    pub blurred_flows: u64,
    /// The emulator's delivery error at p99.9, in ms.
    pub delivery_error_ms: Option<f64>,
    /// The kernel's TCP.
    kernel: Option<KernelFacts>,
}

/// Measures a figure on a stage with real packets. Calls `done` with the number of flows that finished
/// since the last call.
///
/// # Errors
/// When settings contradict each other, or the system does not permit real packets.
pub fn sheet(
    id: Id,
    base: &Scenario,
    stage: Stage,
    on: &dyn RealStage,
    done: &(dyn Fn(u64) + Sync),
) -> Result<Option<Sheet>, StageError> {
    let Some(ends) = Ends::new(stage, None, None) else {
        return Ok(None);
    };
    let mut cells = vec![];
    for acks in Acks::ALL {
        for (rtt_ms, lost) in id.groups() {
            cells.extend(Variant::of(stage).into_iter().map(|variant| (acks, rtt_ms, lost, variant)));
        }
    }
    let cell = |i: usize| {
        let (acks, rtt_ms, lost, variant) = cells[i];
        let scenario = scenario(base, acks, rtt_ms, lost, variant)?;
        measure(&scenario, ends, variant, on, done).map(|measured| RealCell {
            ack: acks.name(),
            rtt_ms,
            lost,
            ..measured
        })
    };
    let cells = in_parallel(cells.len(), AT_ONCE, cell)?;
    Ok(Some(to_sheet(id, stage, cells)))
}

/// The number of flows that [`sheet`] runs.
pub fn flows(id: Id, stage: Stage) -> u64 {
    RUNS * (Acks::ALL.len() * id.groups().len() * Variant::of(stage).len()) as u64
}

fn scenario(base: &Scenario, acks: Acks, rtt_ms: u64, lost: u64, variant: Variant) -> Result<Scenario, SettingsError> {
    let mut scenario = base.clone();
    let (rtt, drop) = (format!("{rtt_ms}ms"), format!("tail:{lost}"));
    for (key, value) in [("rtt", &*rtt), ("drop", &drop), ("ack", acks.name())] {
        scenario.settings.set(key, value, Path::new(""))?;
    }
    let (link, rate) = (&scenario.settings.link.down, scenario.settings.rate.down);
    if link.is_none() && rate.is_none() {
        scenario.settings.set("rate", RATE, Path::new(""))?;
    }
    if let Variant::Kernel { tlp } = variant {
        let tlp = if tlp { "on" } else { "off" };
        scenario.settings.set("kernel.tlp", tlp, Path::new(""))?;
    }
    let profile: Profile = variant.profile().parse().expect("a profile that exists");
    scenario.profiles = vec![profile];
    scenario.flows = RUNS;
    Ok(scenario)
}

/// Measures a cell on the stage and simulates it.
fn measure(
    scenario: &Scenario,
    ends: Ends,
    variant: Variant,
    on: &dyn RealStage,
    done: &(dyn Fn(u64) + Sync),
) -> Result<RealCell, StageError> {
    let results = on.run(scenario, ends, 1, Outputs::default(), done)?;
    let result = results.first();
    let live = result.and_then(|result| result.live.as_ref());
    let kernel = live.and_then(|live| live.kernel.clone());
    let mut simulated = scenario.clone();
    if let Some(kernel) = kernel.as_ref().filter(|kernel| kernel.hz > 0) {
        let wheel = format!("linux-wheel:{}", kernel.hz);
        simulated.settings.set("timers", &wheel, Path::new(""))?;
        simulated.flows = PREDICTING;
    }
    let simulated = run::run(&simulated, 1, |_| ())?;
    let simulated = simulated.first();
    let median = |summary: Option<Summary>| summary.map(|summary| summary.p50);
    let established =
        |result: Option<&ProfileResult>| median(result.and_then(|result| result.cost.fct_established.summary()));
    let fct_ms = result.and_then(|result| result.cost.fct.summary());
    let simulated_ms = median(simulated.and_then(|result| result.cost.fct.summary()));
    let both = median(fct_ms).zip(simulated_ms);
    Ok(RealCell {
        ack: "",
        rtt_ms: 0,
        lost: 0,
        mechanism: variant.name(),
        fct_ms,
        simulated_ms,
        fct_established_ms: established(result),
        simulated_established_ms: established(simulated),
        difference_percent: both.map(|(real, simulated)| 100.0 * (real / simulated - 1.0)),
        blurred_flows: live.map_or(0, |live| live.blurred_flows),
        delivery_error_ms: live.and_then(|live| Some(live.delivery_error_ms?.p999)),
        kernel,
    })
}

fn to_sheet(id: Id, stage: Stage, cells: Vec<RealCell>) -> Sheet {
    let kernel = cells.iter().find_map(|cell| cell.kernel.clone());
    let name = match (id, stage) {
        (Id::Fig1, Stage::Kernel) => "fig1-kernel",
        (Id::Fig1, _) => "fig1-net",
        (Id::Fig2, Stage::Kernel) => "fig2-kernel",
        (Id::Fig2, _) => "fig2-net",
    };
    let stack = match &kernel {
        Some(kernel) => format!("kernel-{}, HZ={}", kernel.version, kernel.hz),
        None => "Recoup over real packets".into(),
    };
    let (rows, title) = (cells.clone(), format!("{}: {stack}", id.title()));
    let mut sheet = Figure::new(NAME, name, title, vec![], chart(id, &stack, stage, &cells), cells)
        .sheet(|cells| text(stage, cells), &columns(name))
        .with_rows("delivery_errors", &delivery_errors(name), &rows);
    sheet.json["stage"] = to_value(&stage);
    sheet.json["kernel"] = to_value(&kernel);
    sheet
}

/// The columns that identify a cell.
fn key_columns(figure: &'static str) -> Columns<RealCell> {
    columns!(columns_of_figure::<RealCell>(figure), c;
        ack, "", "the receiver's `ack` setting";
        rtt_ms, "ms", "round-trip time";
        lost, "segments", "segments lost at the tail";
        mechanism, "", "the sender's mechanism; for the kernel, with or without tail loss probes";
    )
}

/// A row per cell: the emulator's delivery error.
fn delivery_errors(figure: &'static str) -> Columns<RealCell> {
    let about = "how much later than on the ideal path packets were delivered: p99.9";
    key_columns(figure).column("delivery_error_ms", "ms", about, |c| c.delivery_error_ms)
}

/// A row per cell: measured and simulated FCTs.
fn columns(figure: &'static str) -> Columns<RealCell> {
    columns!(key_columns(figure), c;
        fct_p50_ms, "ms", "measured flow completion time: median" => c.fct_ms.map(|s| s.p50);
        fct_min_ms, "ms", "measured flow completion time: smallest" => c.fct_ms.map(|s| s.min);
        fct_max_ms, "ms", "measured flow completion time: largest" => c.fct_ms.map(|s| s.max);
        simulated_ms, "ms", "flow completion time in the simulator: median";
        fct_established_p50_ms, "ms", "measured flow completion time from establishment: median" => c.fct_established_ms;
        simulated_established_ms, "ms", "flow completion time from establishment in the simulator: median";
        difference_percent, "%", "how much the measured median exceeds the simulated one";
        blurred_flows, "flows", "flows whose times the emulator's lateness blurs by more than a hundredth";
    )
}

/// A table with a row per receiver, RTT and degree of loss, then what qualifies the numbers.
fn text(stage: Stage, cells: &[RealCell]) -> String {
    let table = table(stage, cells);
    let near = |cell: &&RealCell| cell.difference_percent.is_some_and(|d| d.abs() <= NEAR);
    let (count, all) = (cells.iter().filter(near).count(), cells.len());
    let late = cells.iter().filter_map(|cell| cell.delivery_error_ms).fold(0.0, f64::max);
    let mut text = format!(
        "{table}\n\nMedians of {RUNS} flows (smallest-largest where they differ by over 2 %); {count} of {all} medians are within {NEAR} % of the simulator's.\n\
         The path has a rate of {RATE} unless the settings give one. Delivery error: {late:.3} ms at p99.9 in the worst cell.\n"
    );
    if cells.iter().any(|cell| cell.blurred_flows > 0) {
        text += "* Packets were late by more than a hundredth of the flow's FCT, or lost outside the path.\n";
    }
    if stage == Stage::Kernel {
        text += "The simulator's timers are linux-wheel at the kernel's HZ. For delayed ACKs the kernel acknowledges every segment. The emulator passes every second ACK, delays the others by 200 ms, and passes ACKs with SACK blocks at once.\n";
    }
    text
}

fn table(stage: Stage, cells: &[RealCell]) -> Table {
    let variants = Variant::of(stage);
    let mut table = plain_table();
    let mut header: Vec<String> = ["ack", "RTT (ms)", "segments lost"].map(Into::into).to_vec();
    header.extend(variants.iter().flat_map(|variant| {
        let name = variant.name();
        let simulated = match variant {
            Variant::Mechanism(_) => "sim",
            Variant::Kernel { .. } => variant.profile(),
        };
        [format!("{name} FCT (ms)"), format!("above {simulated} (%)")]
    }));
    table.set_header(header);
    for group in cells.chunks(variants.len()) {
        let mut row = vec![group[0].ack.into(), group[0].rtt_ms.to_string(), group[0].lost.to_string()];
        for cell in group {
            let spread = |s: &Summary| {
                if s.max - s.min > 0.02 * s.p50 {
                    format!("{:.1} ({:.0}-{:.0})", s.p50, s.min, s.max)
                } else {
                    format!("{:.1}", s.p50)
                }
            };
            let blurred = if cell.blurred_flows > 0 { " *" } else { "" };
            let difference = cell.difference_percent.map(|d| format!("{d:+.1}"));
            row.push(cell.fct_ms.as_ref().map_or("-".into(), spread) + blurred);
            row.push(difference.unwrap_or_else(|| "-".into()));
        }
        table.add_row(row);
    }
    table
}

/// Measured and simulated FCTs from establishment side by side, both divided by the first variant's measured one.
fn chart(id: Id, stack: &str, stage: Stage, cells: &[RealCell]) -> BarChart {
    let variants = Variant::of(stage);
    let series = variants.iter().flat_map(|variant| [variant.name().into(), format!("{}, simulated", variant.name())]);
    let chart = BarChart::new(format!("{}: {stack}", id.title()), id.x_label(), "normalised FCT", series);
    Acks::ALL.into_iter().fold(chart, |chart, acks| {
        let here: Vec<&RealCell> = cells.iter().filter(|cell| cell.ack == acks.name()).collect();
        let bars = here.chunks(variants.len()).map(|bars| {
            let base = bars[0].fct_established_ms;
            let both = |cell: &&RealCell| [cell.fct_established_ms, cell.simulated_established_ms];
            let over = move |ms: Option<f64>| ms.zip(base).map(|(ms, base)| ms / base);
            (id.label(bars[0].rtt_ms, bars[0].lost), bars.iter().flat_map(both).map(over))
        });
        chart.panel(acks.title(), bars)
    })
}
