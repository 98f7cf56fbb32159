//! §II-C1: what a timeout and a copy cost on average, and whether the arbitrator's decision pays, measured.
//!
//! ```text
//! t1 = p·q·RTO               what a flow takes longer on average if the packet is not duplicated
//! t2 = (1 − p)·pkt_size/bw   what it takes longer if it is
//! ```
//!
//! A client sends a request of 300 bytes and gets one segment, over 40 ms. Its packets are lost with p = 2 %. Each row
//! compares two arms flow by flow: the same draws, with and without losses or copies. Intervals are of 95 % confidence.
//!
//! | row | arms | rate |
//! | --- | --- | --- |
//! | loss | with and without losses, no copies | 20 Mbit/s |
//! | copies | with and without copies, no losses | 20 Mbit/s |
//! | busy | the same with 100 segments of data, all worth a copy | 1 Mbit/s |
//! | above, below | the SYN duplicated or not, with losses | 1 Mbit/s; 16 kbit/s, below the SYN's threshold |
//!
//! In the last two rows the arbitrator assumes 10 Mbit/s, so that it copies the SYN in both.

mod claims;

use super::NAME;
use super::micro::{Keys, fct_ms, plain};
use crate::experiment::{Change, ExperimentError, Mutation, Setup};
use crate::{Figure, Picture, Sheet, columns_of_figure};
use recoup_draw::chart::{BarChart, BarGroup, BarPanel};
use recoup_lab::run::simulation;
use recoup_lab::settings::SettingsError;
use recoup_sim::NoObserver;
use recoup_support::stats::Estimate;
use recoup_support::threads::{cores, in_parallel};
use recoup_table::{Columns, plain_table};
use recoup_units::FlowId;

/// The name on the command line.
pub const ID: &str = "stakes";

/// What turns the claims.
pub const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "no-loss",
        about: "nothing is lost",
        change: Change::Own,
        turns: &["timeout-costs-t1", "advantage-above"],
    },
    Mutation {
        name: "configured",
        about: "p is configured where it should be learned",
        change: Change::Own,
        turns: &["parameters-are-learned"],
    },
];

/// p.
pub const LOSS: f64 = 0.02;

/// The initial RTO, and the RTO of the request: after one RTT sample of 40 ms. In ms.
pub const RTOS_MS: [f64; 2] = [1000.0, 240.0];

const WITHOUT: &str = "linux-3.17";
const WITH: &str = "linux-3.17+slp";

/// A comparison of two arms.
#[derive(Clone, Debug, PartialEq)]
pub struct StakeCell {
    /// Its name.
    pub row: &'static str,
    /// The rate in kbit/s.
    pub rate_kbps: u64,
    /// Flows of each arm.
    pub flows: u64,
    /// What the flows of the second arm take longer on average, in ms.
    pub longer_ms: Estimate,
    /// What the paper's estimate gives, in ms.
    pub predicted_ms: f64,
}

/// Copies of a connection, with a fixed p and with a learned one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Learned {
    /// Nothing is lost.
    pub lossless: [u64; 2],
    /// A fifth of the data is lost.
    pub lossy: [u64; 2],
    /// Copies of the SYN where 10 Mbit/s are configured, and where 10 kbit/s are.
    pub syns: [u64; 2],
    /// Copies of tails where 10 kbit/s are configured, and more is measured.
    pub tails: u64,
}

/// Runs all flows and checks the claims.
///
/// # Errors
/// Settings that do not fit together.
pub fn sheet(setup: &Setup) -> Result<Sheet, ExperimentError> {
    let cells = cells(setup)?;
    let figure = Figure {
        paper: NAME,
        figure: ID,
        title: "What losses and copies cost on average, and what the arbitrator estimates".into(),
        claims: claims::all(&cells, learned(setup)?),
        picture: Picture::Bars(chart(&cells)),
        cells,
    };
    let text = text(&figure.cells);
    Ok(figure.into_sheet(&text, &columns()))
}

/// The settings of a request that is answered with one segment.
const REQUEST: Keys<'static> = &[("rtt", "40ms"), ("request", "300B"), ("segments", "1")];

fn cells(setup: &Setup) -> Result<Vec<StakeCell>, SettingsError> {
    let up = if setup.is_mutated("no-loss") { "none" } else { "up:bernoulli:0.02" };
    let many = setup.effort.of(200_000, 40_000);
    let some = setup.effort.of(60_000, 12_000);
    let t1: f64 = RTOS_MS.iter().map(|rto| LOSS * rto).sum();
    let t2 = |bytes: f64, kbps: f64| (1.0 - LOSS) * bytes * 8.0 / kbps;
    // SYN and request with their headers.
    let (syn, request) = (60.0, 352.0);
    let arm = |profile, more: Keys<'static>, flows| times(setup, profile, more, flows);
    let cell = |row, rate_kbps, predicted_ms, [one, other]: [Vec<f64>; 2]| StakeCell {
        row,
        rate_kbps,
        flows: one.len() as u64,
        longer_ms: Estimate::of(one.iter().zip(&other).map(|(one, other)| other - one)),
        predicted_ms,
    };
    let lost = |rate: &'static str, profile| {
        let settings = [("rate", rate), ("drop", up), ("slp.q", "syn:1")];
        times(setup, profile, &settings, some)
    };
    let fast: Keys<'static> = &[("rate", "20Mbit")];
    let busy: Keys<'static> = &[("rate", "1Mbit"), ("segments", "100"), ("slp.p", "0.5"), ("slp.q", "first:1")];
    let lossy = [("rate", "20Mbit"), ("drop", up)];
    Ok(vec![
        cell("loss", 20_000, t1, [arm(WITHOUT, fast, many)?, times(setup, WITHOUT, &lossy, many)?]),
        cell("copies", 20_000, t2(syn + request, 20_000.0), [arm(WITHOUT, fast, 100)?, arm(WITH, fast, 100)?]),
        cell("busy", 1000, t2(1500.0, 1000.0) / (1.0 - LOSS), [arm(WITHOUT, busy, 1)?, arm(WITH, busy, 1)?]),
        cell("above", 1000, t2(syn, 1000.0) - LOSS * RTOS_MS[0], [lost("1Mbit", WITHOUT)?, lost("1Mbit", WITH)?]),
        cell("below", 16, t2(syn, 16.0) - LOSS * RTOS_MS[0], [lost("16kbit", WITHOUT)?, lost("16kbit", WITH)?]),
    ])
}

/// The completion times of these flows in ms.
fn times(setup: &Setup, profile: &str, more: Keys<'_>, flows: u64) -> Result<Vec<f64>, SettingsError> {
    const TOGETHER: u64 = 1000;
    let settings: Vec<(&str, &str)> = REQUEST.iter().chain(more).copied().collect();
    let base = plain(setup, &settings)?;
    let (path, spec) = (base.settings.path()?, base.settings.flow(&setup.profile(profile)));
    let parts = flows.div_ceil(TOGETHER) as usize;
    let times = in_parallel(parts, cores(), |part| {
        let mut simulation = simulation(&path)?;
        let first = part as u64 * TOGETHER;
        let numbers = first..(first + TOGETHER).min(flows);
        let time = |n| fct_ms(&simulation.run(&spec, base.seed, FlowId(n), &mut NoObserver));
        Ok::<Vec<f64>, SettingsError>(numbers.map(time).collect())
    })?;
    Ok(times.concat())
}

/// Runs connections whose tails may be copied: thirty responses of ten segments each, 400 segments on a lossy path, and
/// 400 segments that are followed by eight a few seconds later.
fn learned(setup: &Setup) -> Result<Learned, SettingsError> {
    let exchanges = ["300B>14kB"; 30].join(",10ms,");
    let copies = |more: Keys<'_>| -> Result<u64, SettingsError> {
        let settings: Vec<_> = [("rtt", "40ms"), ("rate", "20Mbit")].into_iter().chain(more.iter().copied()).collect();
        let (record, _) = super::micro::run(setup, WITH, &settings)?;
        Ok(record.counters.copies)
    };
    let learned = match setup.is_mutated("configured") {
        true => "0.02",
        false => "learned",
    };
    let lossless = |p| copies(&[("exchanges", &exchanges), ("slp.q", "tail:1"), ("slp.p", p)]);
    let lossy = |p| {
        copies(&[
            ("segments", "400"),
            ("drop", "down:bernoulli:0.2"),
            ("slp.q", "first:1,psh:1,tail:1,other:1"),
            ("slp.p", p),
        ])
    };
    let of_bandwidth = |q, assumed| copies(&[("writes", "580kB@0,11kB@9s"), ("slp.q", q), ("slp.bw", assumed)]);
    Ok(Learned {
        lossless: [lossless("0.02")?, lossless(learned)?],
        lossy: [lossy("0.02")?, lossy(learned)?],
        syns: [of_bandwidth("syn:1", "10Mbit")?, of_bandwidth("syn:1", "10kbit")?],
        tails: of_bandwidth("tail:1", "10kbit")?,
    })
}

/// Draws what losses and copies add, and what duplicated SYNs save. A negative estimate has no bar.
fn chart(cells: &[StakeCell]) -> BarChart {
    let panel = |title: &str, rows: &[&str], sign: f64| BarPanel {
        title: title.into(),
        groups: cells
            .iter()
            .filter(|cell| rows.contains(&cell.row))
            .map(|cell| BarGroup {
                label: format!("{}, {} kbit/s", cell.row, cell.rate_kbps),
                values: [cell.longer_ms.mean, cell.predicted_ms]
                    .map(|ms| Some(sign * ms).filter(|ms| *ms >= 0.0))
                    .to_vec(),
            })
            .collect(),
    };
    BarChart {
        title: "What losses and copies cost on average".into(),
        x_label: "comparison".into(),
        y_label: "completion time (ms)".into(),
        series: vec!["measured".into(), "the arbitrator's estimate".into()],
        panels: vec![
            panel("Added by losses, and by copies", &["loss", "copies", "busy"], 1.0),
            panel(
                "Saved by duplicated SYNs above and below the threshold (no bar: the estimate is a loss)",
                &["above", "below"],
                -1.0,
            ),
        ],
    }
}

fn columns() -> Columns<StakeCell> {
    columns_of_figure::<StakeCell>(ID)
        .text(("row", "", "the comparison"), |c| Some(c.row.into()))
        .integer(("rate_kbps", "kbit/s", "rate of the link"), |c| Some(c.rate_kbps))
        .integer(("flows", "", "flows of each arm"), |c| Some(c.flows))
        .real(("longer_ms", "ms", "completion time added, mean"), |c| Some(c.longer_ms.mean))
        .real(("longer_half_ms", "ms", "half of its interval of 95 % confidence"), |c| Some(c.longer_ms.half))
        .real(("predicted_ms", "ms", "the arbitrator's estimate"), |c| Some(c.predicted_ms))
}

fn text(cells: &[StakeCell]) -> String {
    let mut table = plain_table();
    table.set_header(["comparison", "rate (kbit/s)", "flows", "added (ms)", "estimate (ms)"]);
    for cell in cells {
        table.add_row([
            cell.row.into(),
            cell.rate_kbps.to_string(),
            cell.flows.to_string(),
            cell.longer_ms.to_string(),
            format!("{:.2}", cell.predicted_ms),
        ]);
    }
    table.to_string()
}

#[cfg(test)]
mod tests;
