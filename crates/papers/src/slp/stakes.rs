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

use super::micro::{fct_ms, plain};
use super::{NAME, records};
use crate::prelude::*;

/// The name on the command line.
pub const ID: &str = "stakes";

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
    /// Mean completion time that the second arm adds to the first, in ms.
    pub longer_ms: Estimate,
    /// The arbitrator's estimate of it, in ms.
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
pub fn sheet(setup: &Setup) -> Result<Sheet> {
    let cells = cells(setup)?;
    let title = "What losses and copies cost on average, and what the arbitrator estimates";
    let claims = claims::all(&cells, learned(setup)?);
    Ok(Figure::new(NAME, ID, title, claims, chart(&cells), cells).sheet(text, &columns()))
}

/// The settings of a request that is answered with one segment.
const REQUEST: &str = "rtt=40ms request=300B segments=1";

fn cells(setup: &Setup) -> Result<Vec<StakeCell>> {
    let up = match setup.mutation.map(|mutation| mutation.name.as_str()) {
        Some("no-loss") => "none",
        Some("fewer-losses") => "up:bernoulli:0.01",
        _ => "up:bernoulli:0.02",
    };
    let many = setup.effort.of(200_000, 40_000);
    let some = setup.effort.of(60_000, 12_000);
    let t1: f64 = RTOS_MS.iter().map(|rto| LOSS * rto).sum();
    let t2 = |bytes: f64, kbps: f64| (1.0 - LOSS) * bytes * 8.0 / kbps;
    // SYN and request with their headers.
    let (syn, request) = (60.0, 352.0);
    let cell = |row, rate_kbps, predicted_ms, flows, arms: [(&str, &str); 2]| -> Result<_> {
        let [one, other] = arms.map(|(profile, settings)| times(setup, profile, settings, flows));
        let longer = one?.into_iter().zip(other?).map(|(one, other)| other - one);
        Ok(StakeCell { row, rate_kbps, flows, longer_ms: Estimate::of(longer), predicted_ms })
    };
    let [plain, lossy]: [&str; 2] = ["rate=20Mbit", &format!("rate=20Mbit drop={up}")];
    let busy = "rate=1Mbit segments=100 slp.p=0.5 slp.q=first:1";
    let above = &format!("rate=1Mbit drop={up} slp.q=syn:1");
    let below = &format!("rate=16kbit drop={up} slp.q=syn:1");
    let copied = |settings| [(WITHOUT, settings), (WITH, settings)];
    Ok(vec![
        cell("loss", 20_000, t1, many, [(WITHOUT, plain), (WITHOUT, lossy)])?,
        cell("copies", 20_000, t2(syn + request, 20_000.0), 100, copied(plain))?,
        cell("busy", 1000, t2(1500.0, 1000.0) / (1.0 - LOSS), 1, copied(busy))?,
        cell("above", 1000, t2(syn, 1000.0) - LOSS * RTOS_MS[0], some, copied(above))?,
        cell("below", 16, t2(syn, 16.0) - LOSS * RTOS_MS[0], some, copied(below))?,
    ])
}

/// The completion times of these flows in ms.
fn times(setup: &Setup, profile: &str, more: &str, flows: u64) -> Result<Vec<f64>> {
    records(setup, profile, &plain(&format!("{REQUEST} {more}")), flows, fct_ms)
}

/// Runs connections whose tails may be copied: thirty responses of ten segments each, 400 segments on a lossy path, and
/// 400 segments that are followed by eight a few seconds later.
fn learned(setup: &Setup) -> Result<Learned> {
    let exchanges = ["300B>14kB"; 30].join(",10ms,");
    let copies = |more: &str| -> Result<u64> {
        Ok(super::micro::run(setup, WITH, &format!("rtt=40ms rate=20Mbit {more}"))?.record.counters.copies)
    };
    let learned = if setup.is_mutated("configured") { "0.02" } else { "learned" };
    let lossless = |p| copies(&format!("exchanges={exchanges} slp.q=tail:1 slp.p={p}"));
    let lossy =
        |p| copies(&format!("segments=400 drop=down:bernoulli:0.2 slp.q=first:1,psh:1,tail:1,other:1 slp.p={p}"));
    let of_bandwidth = |q, assumed| copies(&format!("writes=580kB@0,11kB@9s slp.q={q} slp.bw={assumed}"));
    Ok(Learned {
        lossless: [lossless("0.02")?, lossless(learned)?],
        lossy: [lossy("0.02")?, lossy(learned)?],
        syns: [of_bandwidth("syn:1", "10Mbit")?, of_bandwidth("syn:1", "10kbit")?],
        tails: of_bandwidth("tail:1", "10kbit")?,
    })
}

/// Draws what losses and copies add, and what duplicated SYNs save. A negative estimate has no bar.
fn chart(cells: &[StakeCell]) -> BarChart {
    let groups = |rows: &'static [&str], sign: f64| {
        cells.iter().filter(move |cell| rows.contains(&cell.row)).map(move |cell| {
            let values = [cell.longer_ms.mean, cell.predicted_ms];
            let label = format!("{}, {} kbit/s", cell.row, cell.rate_kbps);
            (label, values.map(|ms| Some(sign * ms).filter(|ms| *ms >= 0.0)))
        })
    };
    BarChart::new(
        "What losses and copies cost on average",
        "comparison",
        "completion time (ms)",
        ["measured", "the arbitrator's estimate"],
    )
    .panel("Added by losses, and by copies", groups(&["loss", "copies", "busy"], 1.0))
    .panel(
        "Saved by duplicated SYNs above and below the threshold (no bar: the estimate is a loss)",
        groups(&["above", "below"], -1.0),
    )
}

fn columns() -> Columns<StakeCell> {
    columns!(columns_of_figure::<StakeCell>(ID), c;
        row, "", "the comparison";
        rate_kbps, "kbit/s", "rate of the link";
        flows, "", "flows of each arm";
        longer_ms, "ms", "completion time added, mean" => c.longer_ms.mean;
        longer_half_ms, "ms", "half of its interval of 95 % confidence" => c.longer_ms.half;
        predicted_ms, "ms", "the arbitrator's estimate";
    )
}

fn text(cells: &[StakeCell]) -> String {
    columns!(Columns::<StakeCell>::new(), c;
        "comparison" => c.row;
        "rate (kbit/s)" => c.rate_kbps;
        "flows" => c.flows;
        "added (ms)" => c.longer_ms;
        "estimate (ms)" => format!("{:.2}", c.predicted_ms);
    )
    .to_table(cells)
}

#[cfg(test)]
mod tests;
