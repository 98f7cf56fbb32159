//! §I and §IV: the simplest code for all packets, which sends each twice, beside SLP.
//!
//! ```text
//! a packet sent twice is lost with probability p²     each takes twice its bytes of the link
//! ```
//!
//! So "all duplicated" runs plain TCP over a path that loses p² of the packets and has half the rate, and counts twice
//! the bytes. The receiver's code discards second copies before TCP sees them. Losses are independent, in both
//! directions. A fetch is a request of 300 bytes and a file; the path has 40 ms and 20 Mbit/s.
//!
//! Goodput is the payload delivered once, divided by the IP bytes sent in both directions. A fetch that takes longer
//! than a minute counts as a minute. Differences are those of means of independent flows, with intervals of 95 %
//! confidence, because other packets are lost in another arm.

mod claims;

use super::micro::plain;
use super::{NAME, records};
use crate::prelude::*;

/// The name on the command line.
pub const ID: &str = "duplication";

/// The longest time that counts for a fetch.
const LONGEST: Duration = Duration::from_secs(60);

choices! {
    /// How packets are protected.
    pub enum Arm {
        /// Retransmissions alone.
        Arq = "none",
        /// Every packet is sent twice.
        All = "all",
        /// SLP.
        Slp = "SLP",
    }
}

/// The files: bytes, and the settings that make them.
pub const FILES: [(u64, &str); 2] = [(34_000, "34kB@0"), (2_000_000, "2000kB@0")];

/// The fetches of a file in an arm.
#[derive(Clone, Debug, PartialEq)]
pub struct DuplicationCell {
    /// Bytes of the file.
    pub file: u64,
    /// How packets are protected.
    pub arm: Arm,
    /// Fetches.
    pub flows: u64,
    /// Completion times in ms, ascending.
    pub fct_ms: Vec<f64>,
    /// IP bytes per fetch, both directions.
    pub bytes: f64,
}

impl Keyed for DuplicationCell {
    type Key = (u64, Arm);

    fn key(&self) -> Self::Key {
        (self.file, self.arm)
    }
}

impl DuplicationCell {
    /// The mean completion time in ms.
    pub fn mean_ms(&self) -> Estimate {
        Estimate::of(self.fct_ms.iter().copied())
    }

    /// A quantile of the completion time in ms.
    pub fn quantile_ms(&self, q: f64) -> f64 {
        crate::distribution::quantile(&self.fct_ms, q).unwrap_or(NAN)
    }

    /// Payload delivered once per IP byte sent.
    pub fn goodput(&self) -> f64 {
        self.file as f64 / self.bytes
    }
}

/// Runs all fetches and checks the claims.
///
/// # Errors
/// Settings that do not fit together.
pub fn sheet(setup: &Setup) -> Result<Sheet> {
    let mut cells = vec![];
    for (file, writes) in FILES {
        let flows = match file {
            34_000 => setup.effort.of(12_000, 3_000),
            _ => setup.effort.of(1_000, 250),
        };
        for arm in Arm::ALL {
            cells.push(cell(setup, (file, writes), arm, flows)?);
        }
    }
    let title =
        "Fetches with nothing, with every packet, and with SLP's packets duplicated; 2 % lost in both directions";
    Ok(Figure::new(NAME, ID, title, claims::all(&cells), chart(&cells), cells).sheet(text, &columns()))
}

fn cell(setup: &Setup, (file, writes): (u64, &'static str), arm: Arm, flows: u64) -> Result<DuplicationCell> {
    let all = arm == Arm::All;
    let takes_more = all && !setup.is_mutated("free-copies");
    let rate = if takes_more { "10Mbit" } else { "20Mbit" };
    let loss = if all { 0.0004 } else { 0.02 };
    let drop = format!("up:bernoulli:{loss},down:bernoulli:{loss}");
    let own = plain(&format!("rtt=40ms rate={rate} request=300B writes={writes} ack=linux drop={drop}"));
    let profile = if arm == Arm::Slp { "linux-3.17+slp" } else { "linux-3.17" };
    let (mut fct_ms, bytes): (Vec<f64>, Vec<u64>) = records(setup, profile, &own, flows, |record| {
        let fct = record.fct.map_or(LONGEST, |fct| fct.min(LONGEST));
        (fct.as_secs_f64() * 1e3, record.bytes_sent)
    })?
    .into_iter()
    .unzip();
    fct_ms.sort_unstable_by(f64::total_cmp);
    let bytes = bytes.iter().sum::<u64>() as f64 * if takes_more { 2.0 } else { 1.0 };
    Ok(DuplicationCell { file, arm, flows, fct_ms, bytes: bytes / flows as f64 })
}

fn chart(cells: &[DuplicationCell]) -> BarChart {
    let panels: [(&str, Number<DuplicationCell>); 3] = [
        ("Mean completion time", |cell| cell.mean_ms().mean),
        ("99th percentile", |cell| cell.quantile_ms(0.99)),
        ("IP bytes", |cell| cell.bytes),
    ];
    let chart = BarChart::new(
        "Every packet duplicated, and SLP, over neither",
        "file",
        "normalised",
        Arm::ALL.map(|arm| format!("duplicated: {}", arm.name())),
    );
    panels.into_iter().fold(chart, |chart, (title, number)| {
        let group = |arms: &[DuplicationCell]| {
            let values = arms.iter().map(|cell| Some(number(cell) / number(&arms[0])));
            (format!("{} kB", arms[0].file / 1000), values.collect::<Vec<_>>())
        };
        chart.panel(title, cells.chunks(Arm::ALL.len()).map(group))
    })
}

fn columns() -> Columns<DuplicationCell> {
    columns!(columns_of_figure::<DuplicationCell>(ID), c;
        file, "bytes", "length of the file";
        duplicated, "", "which packets are sent twice" => c.arm.name();
        flows, "", "fetches";
        fct_ms_mean, "ms", "mean completion time" => c.mean_ms().mean;
        fct_ms_half, "ms", "half of its interval of 95 % confidence" => c.mean_ms().half;
        fct_ms_p50, "ms", "median" => c.quantile_ms(0.5);
        fct_ms_p99, "ms", "99th percentile" => c.quantile_ms(0.99);
        bytes, "bytes", "IP bytes per fetch";
        goodput, "", "payload delivered once, of the IP bytes sent" => c.goodput();
    )
}

fn text(cells: &[DuplicationCell]) -> String {
    columns!(Columns::<DuplicationCell>::new(), c;
        "file (kB)" => c.file / 1000;
        "duplicated" => c.arm.name();
        "fetches" => c.flows;
        "mean (ms)" => c.mean_ms();
        "median (ms)" => format!("{:.1}", c.quantile_ms(0.5));
        "p99 (ms)" => format!("{:.1}", c.quantile_ms(0.99));
        "IP bytes" => format!("{:.0}", c.bytes);
        "goodput (%)" => format!("{:.1}", 100.0 * c.goodput());
    )
    .to_table(cells)
}

#[cfg(test)]
mod tests;
