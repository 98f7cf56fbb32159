//! §III-B, the last paragraph: files of 2⁻² to 2¹³ kB, each twice as long as the one before, with and
//! without SLP.
//!
//! A kB is 1,000 bytes. Each profile fetches a file equally often, with the flows of one seed: until
//! 400 MB are fetched, but at least 400 and at most 4,000 times.
//!
//! The paper does not define short, long, visible and negligible. Here a file is *short* if its fastest
//! fetch takes less than twice as long as that of the shortest file, and *long* if it takes at least ten
//! times as long ("dominated by the file size"). A gain is *visible* from 5 % of the mean completion time
//! on.

mod claims;
mod tables;

use crate::prelude::*;
use crate::slp::NAME;
use recoup_lab::run::{Cost, run};
use recoup_support::stats::Summary;

/// The name on the command line.
pub const ID: &str = "sizes";

/// The settings that each cell sets itself.
pub const OWN_SETTINGS: [&str; 1] = ["writes"];

/// Files from 250 bytes to 8.192 MB.
const SIZES: u32 = 16;

/// The profiles without and with SLP.
const PROFILES: [&str; 2] = ["linux-3.17", "linux-3.17+slp"];

/// A quantity of a distribution of completion times, in ms.
type Quantity = fn(&Summary) -> f64;

/// The number of fetches per file.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Bytes to fetch per file.
    pub bytes: u64,
    /// The smallest number of fetches.
    pub least: u64,
    /// The largest number of fetches.
    pub most: u64,
}

impl Effort {
    /// The figure's effort.
    pub const FULL: Self = Self { bytes: 400_000_000, least: 400, most: 4000 };

    /// The quick effort.
    pub const QUICK: Self = Self { bytes: 100_000_000, least: 100, most: 1000 };

    fn fetches(self, size: u64) -> u64 {
        (self.bytes / size).min(self.most).max(self.least)
    }
}

/// Fetches of a file by one profile.
#[derive(Clone, Debug)]
pub struct Fetches {
    /// The profile of both hosts.
    pub profile: &'static str,
    /// Fetches that completed.
    pub completed: u64,
    /// Completion times in ms.
    pub fct_ms: Option<Summary>,
    /// IP bytes per fetch, both directions.
    pub bytes: f64,
    /// SYNs retransmitted after a timeout, all fetches.
    pub syn_timeouts: u64,
    /// Copies per fetch.
    pub copies: f64,
    /// Copies per fetch withheld because the window had no room.
    pub withheld: f64,
}

impl Fetches {
    fn new(profile: &'static str, cost: &Cost) -> Self {
        let per_fetch = |n: u64| n as f64 / cost.flows as f64;
        Self {
            profile,
            completed: cost.completed,
            fct_ms: cost.fct.summary(),
            bytes: per_fetch(cost.bytes_sent),
            syn_timeouts: cost.counters.retransmissions.of(Trigger::Syn),
            copies: per_fetch(cost.counters.copies),
            withheld: per_fetch(cost.counters.copies_withheld),
        }
    }

    /// A quantity of the completion times in ms; NaN if no fetch completed.
    fn fct(&self, quantity: Quantity) -> f64 {
        self.fct_ms.as_ref().map_or(NAN, quantity)
    }
}

/// A file.
#[derive(Clone, Debug)]
pub struct SizeCell {
    /// The file's length in bytes.
    pub size: u64,
    /// Fetches by each profile.
    pub fetches: u64,
    /// Without SLP.
    pub without: Fetches,
    /// With SLP.
    pub with: Fetches,
}

impl SizeCell {
    /// How much SLP reduces a quantity of the completion times, in percent.
    fn saved(&self, quantity: Quantity) -> f64 {
        100.0 * (1.0 - self.with.fct(quantity) / self.without.fct(quantity))
    }

    /// How much SLP reduces the mean completion time, in ms.
    fn saved_ms(&self) -> f64 {
        self.without.fct(|s| s.mean) - self.with.fct(|s| s.mean)
    }

    /// IP bytes that SLP adds, in percent.
    fn added(&self) -> f64 {
        100.0 * (self.with.bytes / self.without.bytes - 1.0)
    }

    /// The file's length in kB.
    fn kilobytes(&self) -> f64 {
        self.size as f64 / 1e3
    }
}

/// Fetches all files and checks the claims. Each cell varies the scenario of `setup`.
///
/// # Errors
/// When settings contradict each other.
pub fn figure(setup: &Setup, effort: Effort) -> Result<Figure<SizeCell>> {
    let cells = (0..SIZES).map(|i| run_cell(setup, 250 << i, effort));
    let cells = cells.collect::<Result<Vec<_>>>()?;
    let title = format!("Completion times (FCT) of fetches of 0.25 kB to 8 MB, seed {}", setup.seed());
    Ok(Figure::new(NAME, ID, title, claims::all(&cells), chart(&cells), cells))
}

fn run_cell(setup: &Setup, size: u64, effort: Effort) -> Result<SizeCell> {
    let mut scenario = setup.base.clone();
    scenario.profiles = PROFILES.map(|name| setup.profile(name)).to_vec();
    scenario.flows = effort.fetches(size);
    scenario.settings.set("writes", &format!("{size}B@0"), Path::new(""))?;
    let results = run(&scenario, cores(), |_| ())?;
    let fetches = |i: usize| Fetches::new(PROFILES[i], &results[i].cost);
    Ok(SizeCell { size, fetches: scenario.flows, without: fetches(0), with: fetches(1) })
}

fn chart(cells: &[SizeCell]) -> LineChart {
    let lines: [fn(&SizeCell) -> f64; 3] = [|c| c.saved(|s| s.mean), |c| c.saved(|s| s.p99), SizeCell::added];
    LineChart::new(
        "What SLP saves and what it adds, by the length of the file",
        "file (kB)",
        "% of what it is without SLP",
        ["mean completion time saved", "99th percentile saved", "bytes added"],
    )
    .logarithmic()
    .panel("", lines.map(|y| cells.iter().map(move |c| (c.kilobytes(), y(c)))))
}

/// The figure as [`figure`] computes it, in every format.
///
/// # Errors
/// As [`figure`].
pub fn sheet(setup: &Setup) -> Result<Sheet> {
    let effort = setup.effort.of(Effort::FULL, Effort::QUICK);
    Ok(tables::to_sheet(figure(setup, effort)?))
}

#[cfg(test)]
mod tests;
