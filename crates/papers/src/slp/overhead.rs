//! §III-B, the last sentences: SLP's overhead in CPU and memory.
//!
//! The paper looks at the utilization of CPU and memory while its machines fetch files. We measure both in the fetch of
//! 34 kB. A host's work is not measurable apart from the simulator's, so the CPU time is that of both hosts and the
//! network between them: an upper bound of what a host needs.
//!
//! ```text
//! CPU utilization (%)      CPU time of a fetch / its median completion time
//! memory (bytes)           the two senders, with what they have on the heap, at the most
//! ```
//!
//! CPU time depends on the machine and on what else it does. So we take the fastest of many batches of fetches, and
//! report bounds alone. All other numbers here are the same on every machine.
//!
//! Inputs: what is "noticeable" is not given. Tools such as `top` show tenths of a percent, so a change below 0.1
//! percentage points of one core is none here. For memory the machine has 16 GB, as the paper's have, and 1,000
//! connections.

mod claims;

use super::NAME;
use crate::prelude::*;
use recoup_recovery::Sender;
use std::time;

/// The name on the command line.
pub const ID: &str = "overhead";

/// The profiles without and with SLP.
const PROFILES: [&str; 2] = ["linux-3.17", "linux-3.17+slp"];

/// Fetches per batch.
const BATCH: u64 = 400;

/// The fetches of a profile.
#[derive(Clone, Debug, PartialEq)]
pub struct OverheadCell {
    /// The profile of both hosts.
    pub profile: String,
    /// Fetches.
    pub flows: u64,
    /// The median completion time in ms.
    pub median_ms: f64,
    /// IP bytes per fetch, both directions.
    pub bytes: f64,
    /// Packets and timers that the hosts processed, per fetch.
    pub steps: f64,
    /// The most memory of both senders together, in bytes.
    pub memory: usize,
    /// The CPU time of a fetch in the fastest batch.
    pub cpu: Duration,
}

/// Runs all batches and checks the claims.
///
/// # Errors
/// Settings that do not fit together.
pub fn sheet(setup: &Setup) -> Result<Sheet> {
    let mut cells = PROFILES.into_iter().map(|name| counted(setup, name)).collect::<Result<Vec<_>>>()?;
    time_batches(setup, &mut cells)?;
    let machine = if setup.is_mutated("small-machine") { 16e6 } else { 16e9 };
    let title = "What SLP costs the hosts, in fetches of 34 kB";
    Ok(Figure::new(NAME, ID, title, claims::all(&cells, machine), chart(&cells), cells).sheet(text, &columns()))
}

/// The quantities that do not depend on the machine.
fn counted(setup: &Setup, name: &'static str) -> Result<OverheadCell> {
    let mut bench = Bench::new(setup, name, "")?;
    let mut most = MostMemory::default();
    let (mut times, mut bytes, mut steps) = (vec![], 0, 0);
    for flow in 0..BATCH {
        most.now = [0; 2];
        let record = bench.observe(flow, &mut most);
        times.extend(record.fct.map(|fct| fct.as_secs_f64() * 1e3));
        bytes += record.bytes_sent;
        steps += record.events;
    }
    times.sort_unstable_by(f64::total_cmp);
    Ok(OverheadCell {
        profile: setup.profile(name).to_string(),
        flows: BATCH,
        median_ms: crate::distribution::quantile(&times, 0.5).unwrap_or(NAN),
        bytes: bytes as f64 / BATCH as f64,
        steps: steps as f64 / BATCH as f64,
        memory: most.most,
        cpu: Duration::MAX,
    })
}

/// Sets the CPU times: those of the fastest of several batches, the profiles in turn.
fn time_batches(setup: &Setup, cells: &mut [OverheadCell]) -> Result<()> {
    let batches = setup.effort.of(40, 15);
    for _ in 0..batches {
        for (cell, name) in cells.iter_mut().zip(PROFILES) {
            let mut bench = Bench::new(setup, name, "")?;
            let begun = time::Instant::now();
            for flow in 0..BATCH {
                bench.record(flow);
            }
            cell.cpu = cell.cpu.min(begun.elapsed() / BATCH as u32);
        }
    }
    Ok(())
}

/// The most memory that the senders of a flow had together.
#[derive(Debug, Default)]
struct MostMemory {
    now: [usize; 2],
    most: usize,
}

impl Observer for MostMemory {
    const WANTS_EVENTS: bool = false;

    fn on_settled(&mut self, _: Instant, host: Host, endpoint: &Endpoint) {
        self.now[host as usize] = size_of::<Sender>() + endpoint.sender().memory();
        self.most = self.most.max(self.now.iter().sum());
    }
}

fn chart(cells: &[OverheadCell]) -> BarChart {
    let numbers: [(&str, Number<OverheadCell>); 3] = [
        ("IP bytes", |cell| cell.bytes),
        ("packets and timers processed", |cell| cell.steps),
        ("memory of both senders", |cell| cell.memory as f64),
    ];
    let series = cells.iter().map(|cell| &cell.profile);
    BarChart::new("A fetch of 34 kB with SLP, over one without", "quantity", "normalised", series).panel(
        "",
        numbers.map(|(name, number)| (name, cells.iter().map(move |cell| Some(number(cell) / number(&cells[0]))))),
    )
}

fn columns() -> Columns<OverheadCell> {
    columns!(columns_of_figure::<OverheadCell>(ID), c;
        profile, "", "profile of both hosts" => c.profile.clone();
        flows, "", "fetches";
        fct_ms_p50, "ms", "median completion time" => c.median_ms;
        bytes, "bytes", "IP bytes per fetch";
        steps, "", "packets and timers that the hosts processed, per fetch";
        memory, "bytes", "the most memory of both senders together" => c.memory as u64;
    )
}

fn text(cells: &[OverheadCell]) -> String {
    let table = columns!(Columns::<OverheadCell>::new(), c;
        "profile" => c.profile.clone();
        "fetches" => c.flows;
        "median (ms)" => format!("{:.1}", c.median_ms);
        "IP bytes" => format!("{:.0}", c.bytes);
        "packets and timers" => format!("{:.1}", c.steps);
        "memory (bytes)" => c.memory;
    )
    .to_table(cells);
    format!("Per fetch; the claims have bounds of the CPU time, which depends on the machine.\n\n{table}")
}

#[cfg(test)]
mod tests;
