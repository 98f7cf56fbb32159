//! The figures on stages with real packets: Recoup's endpoints against the simulator, and the kernel
//! with and without tail loss probes against `linux-6` with its timers.
//!
//! Cells are medians of [`RUNS`] flows. Several cells are on the stage at once, each with a path of its
//! own.

use super::{Acks, Id, MECHANISMS, Mechanism, NAME};
use crate::{Picture, Sheet};
use recoup_draw::chart::{BarChart, BarGroup, BarPanel};
use recoup_lab::run::{self, in_parallel};
use recoup_lab::scenario::Scenario;
use recoup_lab::settings::SettingsError;
use recoup_lab::stage::{Ends, KernelFacts, Outputs, RealStage, Stage, StageError};
use recoup_lab::stats::Summary;
use recoup_recovery::Profile;
use recoup_table::{csv, plain_table};
use serde::Serialize;
use serde_json::json;
use std::path::Path;

/// Flows a cell.
pub const RUNS: u64 = 9;

/// Cells on the stage at once.
const AT_ONCE: usize = 16;

/// Flows of the simulator that predict the kernel, over the phases of its timer wheel.
const PREDICTING: u64 = 101;

/// The path's rate where none is set: on a path of pure delay Linux's RACK sometimes takes no notice of
/// a probe's SACK, whose RTT is just below the smallest seen.
const RATE: &str = "100Mbit";

/// How near the kernel is to be predicted, in percent.
const NEAR: f64 = 3.0;

/// What is compared on a stage.
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

    /// The profile that stands for it in the simulator.
    const fn profile(self) -> &'static str {
        match self {
            Self::Mechanism(mechanism) => mechanism.profile(),
            Self::Kernel { tlp: false } => "linux-6+notlp",
            Self::Kernel { tlp: true } => "linux-6",
        }
    }
}

/// What one variant made of one cell.
#[derive(Clone, Debug, Serialize)]
pub struct RealCell {
    /// The `ack` setting.
    pub ack: &'static str,
    /// In ms.
    pub rtt_ms: u64,
    /// Segments lost at the tail.
    pub lost: u64,
    /// The mechanism, or whether the kernel had probes.
    pub mechanism: &'static str,
    /// Flow completion times in ms; `null` if no flow completed.
    pub fct_ms: Option<Summary>,
    /// The simulator's median in ms.
    pub simulated_ms: Option<f64>,
    /// How far the median is from it, in percent.
    pub difference_percent: Option<f64>,
    /// Flows blurred by the emulator's lateness.
    pub blurred_flows: u64,
    /// The emulator's delivery error at p99.9, in ms.
    pub delivery_error_ms: Option<f64>,
    /// The kernel's TCP.
    #[serde(skip)]
    kernel: Option<KernelFacts>,
}

/// A figure on a stage with real packets. `done` is called with the number of flows finished since it
/// was last called.
///
/// # Errors
/// Settings that do not fit together; a system that does not let it.
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
    let mut cells = Vec::new();
    for acks in Acks::ALL {
        for (rtt_ms, lost) in id.groups() {
            cells.extend(
                Variant::of(stage)
                    .into_iter()
                    .map(|variant| (acks, rtt_ms, lost, variant)),
            );
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
    Ok(Some(to_sheet(id, stage, &cells)))
}

/// How many flows [`sheet`] runs.
pub fn flows(id: Id, stage: Stage) -> u64 {
    RUNS * (Acks::ALL.len() * id.groups().len() * Variant::of(stage).len()) as u64
}

fn scenario(
    base: &Scenario,
    acks: Acks,
    rtt_ms: u64,
    lost: u64,
    variant: Variant,
) -> Result<Scenario, SettingsError> {
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

/// A cell on the stage, and as the simulator has it.
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
    let median = |summary: Option<Summary>| summary.map(|summary| summary.p50);
    let fct_ms = result.and_then(|result| result.cost.fct.summary());
    let simulated_ms = median(
        simulated
            .first()
            .and_then(|result| result.cost.fct.summary()),
    );
    let both = median(fct_ms).zip(simulated_ms);
    Ok(RealCell {
        ack: "",
        rtt_ms: 0,
        lost: 0,
        mechanism: variant.name(),
        fct_ms,
        simulated_ms,
        difference_percent: both.map(|(real, simulated)| 100.0 * (real / simulated - 1.0)),
        blurred_flows: live.map_or(0, |live| live.blurred_flows),
        delivery_error_ms: live.and_then(|live| Some(live.delivery_error_ms?.p999)),
        kernel,
    })
}

fn to_sheet(id: Id, stage: Stage, cells: &[RealCell]) -> Sheet {
    let kernel = cells.iter().find_map(|cell| cell.kernel.as_ref());
    let figure = match (id, stage) {
        (Id::Fig1, Stage::Kernel) => "fig1-kernel",
        (Id::Fig1, _) => "fig1-net",
        (Id::Fig2, Stage::Kernel) => "fig2-kernel",
        (Id::Fig2, _) => "fig2-net",
    };
    let whose = match kernel {
        Some(kernel) => format!("kernel-{}, HZ={}", kernel.version, kernel.hz),
        None => "Recoup over real packets".into(),
    };
    Sheet {
        paper: NAME,
        figure,
        table: to_table(id, figure, &whose, stage, cells),
        json: json!({
            "paper": NAME, "figure": figure, "title": id.title(), "stage": stage,
            "kernel": kernel, "cells": cells,
        }),
        csv: to_csv(figure, cells),
        claims: vec![],
        picture: Picture::Bars(chart(id, &whose, stage, cells)),
    }
}

fn to_table(id: Id, figure: &str, whose: &str, stage: Stage, cells: &[RealCell]) -> String {
    let variants = Variant::of(stage);
    let mut table = plain_table();
    let mut header: Vec<String> = ["ack", "RTT (ms)", "lost"].map(Into::into).to_vec();
    header.extend(variants.iter().flat_map(|variant| {
        let name = variant.name();
        let simulated = match variant {
            Variant::Mechanism(_) => "sim".into(),
            Variant::Kernel { .. } => variant.profile().to_owned(),
        };
        [format!("{name} FCT (ms)"), format!("to {simulated} (%)")]
    }));
    table.set_header(header);
    for group in cells.chunks(variants.len()) {
        let mut row = vec![
            group[0].ack.into(),
            group[0].rtt_ms.to_string(),
            group[0].lost.to_string(),
        ];
        for cell in group {
            let spread = |s: &Summary| match s.max - s.min > 0.02 * s.p50 {
                true => format!("{:.1} ({:.0}-{:.0})", s.p50, s.min, s.max),
                false => format!("{:.1}", s.p50),
            };
            let blurred = if cell.blurred_flows > 0 { " *" } else { "" };
            row.push(cell.fct_ms.as_ref().map_or("-".into(), spread) + blurred);
            row.push(
                cell.difference_percent
                    .map_or("-".into(), |d| format!("{d:+.1}")),
            );
        }
        table.add_row(row);
    }
    let near = |cell: &&RealCell| cell.difference_percent.is_some_and(|d| d.abs() <= NEAR);
    let count = cells.iter().filter(near).count();
    let (title, of) = (id.title(), cells.len());
    let mut text = format!(
        "{NAME} {figure}: {title}: {whose}\n\n{table}\n\nMedians of {RUNS} flows (smallest-largest where they differ by over 2 %); {count} of {of} are within {NEAR} % of the simulator's.\n"
    );
    let late = cells.iter().filter_map(|cell| cell.delivery_error_ms);
    let late = late.fold(0.0, f64::max);
    text += &format!(
        "The path has a rate of {RATE} where none is set. Delivery error: {late:.3} ms at p99.9 in the worst cell.\n"
    );
    if cells.iter().any(|cell| cell.blurred_flows > 0) {
        text += "* Packets were late by more than a hundredth of a flow's time, or lost outside the path.\n";
    }
    if stage == Stage::Kernel {
        text += "The simulator's timers are linux-wheel at the kernel's HZ. For delayed ACKs the kernel acknowledges every segment, and the emulator passes every second ACK, holds an odd one 200 ms, and passes ACKs with SACK blocks at once.\n";
    }
    text + "\n"
}

fn to_csv(figure: &str, cells: &[RealCell]) -> String {
    let header = [
        "figure",
        "ack",
        "rtt_ms",
        "lost",
        "mechanism",
        "fct_p50_ms",
        "fct_min_ms",
        "fct_max_ms",
        "simulated_ms",
        "difference_percent",
        "blurred_flows",
    ];
    let row = |cell: &RealCell| {
        let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        let of = |part: fn(&Summary) -> f64| number(cell.fct_ms.as_ref().map(part));
        [
            figure.to_owned(),
            cell.ack.into(),
            cell.rtt_ms.to_string(),
            cell.lost.to_string(),
            cell.mechanism.into(),
            of(|s| s.p50),
            of(|s| s.min),
            of(|s| s.max),
            number(cell.simulated_ms),
            number(cell.difference_percent),
            cell.blurred_flows.to_string(),
        ]
    };
    csv(header, cells.iter().map(row))
}

/// Measured and simulated side by side, each over the measured baseline.
fn chart(id: Id, whose: &str, stage: Stage, cells: &[RealCell]) -> BarChart {
    let variants = Variant::of(stage);
    let panel = |acks: Acks| {
        let here: Vec<&RealCell> = cells
            .iter()
            .filter(|cell| cell.ack == acks.name())
            .collect();
        let groups = here.chunks(variants.len()).map(|bars| {
            let base = bars[0].fct_ms.map(|s| s.p50);
            let over = |ms: Option<f64>| ms.zip(base).map(|(ms, base)| ms / base);
            let both =
                |cell: &&RealCell| [over(cell.fct_ms.map(|s| s.p50)), over(cell.simulated_ms)];
            BarGroup {
                label: match id {
                    Id::Fig1 => bars[0].rtt_ms.to_string(),
                    Id::Fig2 => bars[0].lost.to_string(),
                },
                values: bars.iter().flat_map(both).collect(),
            }
        });
        BarPanel {
            title: acks.title().into(),
            groups: groups.collect(),
        }
    };
    let names = variants.iter().map(|variant| variant.name());
    BarChart {
        title: format!("{}: {whose}", id.title()),
        x_label: id.x_label().into(),
        y_label: "normalised FCT".into(),
        series: names
            .flat_map(|name| [name.to_owned(), format!("{name}, simulated")])
            .collect(),
        panels: Acks::ALL.map(panel).to_vec(),
    }
}
