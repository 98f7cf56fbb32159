//! Figure 7: completion times of fifty fetches of 34 kB, and the probability that fifty fetches show them.
//!
//! The paper's Linux has an initial RTO of 1 s. We compare it with a Linux whose initial RTO is 3 s, as in
//! RFC 2988 (`linux-2.6`).
//!
//! Lost SYNs cause nearly all long completion times. The j-th timeout of a SYN ends (2ʲ − 1) initial RTOs
//! after the first transmission. A fetch takes longer than t if all transmissions of the SYN are lost up
//! to the j-th, the first with (2ʲ − 1)·RTO ≥ t. With SLP the first transmission is two packets, each
//! later one a single packet. If a fetch takes longer than t with probability a, a run of n fetches has
//! such a fetch with probability
//!
//! ```text
//! 1 − (1 − a)ⁿ,   a = pʲ without SLP, pʲ⁺¹ with SLP
//! ```

mod claims;
mod tables;

use super::{Copied, FETCHES, Run, runs};
use crate::prelude::*;
use crate::slp::NAME;

/// The name on the command line.
pub const ID: &str = "fig7";

/// Runs from which we estimate probabilities, by effort.
pub const RUNS: [usize; 2] = [2000, 300];

/// The scenario's loss rate of packets that the client sends.
const LOSS: f64 = 0.02;

/// The limits of completion times, in ms.
const LIMITS: [u64; 3] = [500, 1000, 2000];

/// A system without and with SLP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct System {
    /// The initial RTO.
    pub initial_rto: Duration,
    /// The profiles without and with SLP.
    pub profiles: [&'static str; 2],
}

/// The paper's Linux, and a Linux with a longer initial RTO.
pub const SYSTEMS: [System; 2] = [
    System { initial_rto: Duration::from_secs(1), profiles: ["linux-3.17", "linux-3.17+slp"] },
    System { initial_rto: Duration::from_secs(3), profiles: ["linux-2.6", "linux-2.6+slp"] },
];

/// Completion times beyond a limit.
#[derive(Clone, Copy, Debug)]
pub struct Over {
    /// The limit, in ms.
    pub limit_ms: u64,
    /// Fetches that take longer.
    pub fetches: Share,
    /// Runs with at least one longer fetch.
    pub runs: Share,
    /// Runs with at least two longer fetches.
    pub runs_with_two: Share,
    /// The share of runs with a longer fetch that lost SYNs alone predict.
    pub by_lost_syns: f64,
}

/// A completion time, and the number of fetches in all runs that took it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The completion time in ms.
    pub fct_ms: f64,
    /// The number of fetches.
    pub fetches: u64,
}

/// The cost of fetches, in both directions.
#[derive(Clone, Debug)]
pub struct Spent {
    /// IP bytes per fetch.
    pub bytes: f64,
    /// Packets per fetch.
    pub packets: f64,
    /// Copies per fetch, by kind.
    pub copies: BTreeMap<&'static str, f64>,
    /// IP bytes added to those without SLP, in percent.
    pub bytes_added_percent: f64,
    /// Packets added to those without SLP, in percent.
    pub packets_added_percent: f64,
}

/// All runs of a profile.
#[derive(Clone, Debug)]
pub struct FetchCell {
    /// The profile of both hosts.
    pub profile: &'static str,
    /// The seed of the run shown; the seeds of the other runs follow it.
    pub seed: u64,
    /// Completion times of the run shown, in ms; `None` if a fetch did not complete.
    pub fct_ms: Vec<Option<f64>>,
    /// The number of runs.
    pub runs: u64,
    /// Completion times of all runs, in increasing order.
    pub distribution: Vec<Step>,
    /// Completion times beyond each limit.
    pub over: Vec<Over>,
    /// With SLP: pairs of runs that show the paper's findings. Without SLP one fetch takes more than 1 s
    /// and one more than 2 s. With SLP and the next seed no fetch takes more than 0.5 s.
    pub as_in_the_paper: Option<Share>,
    /// The cost of a fetch.
    pub spent: Spent,
}

impl FetchCell {
    /// The number of fetches in all runs.
    fn fetches(&self) -> u64 {
        self.runs * FETCHES
    }

    /// The share of fetches that took at most `limit_ms`, of all runs or of the run shown.
    fn share_within(&self, limit_ms: f64, shown: bool) -> f64 {
        if shown {
            let within = |time: &&Option<f64>| time.is_some_and(|time| time <= limit_ms);
            return self.fct_ms.iter().filter(within).count() as f64 / self.fct_ms.len() as f64;
        }
        self.distribution.iter().filter(|s| s.fct_ms <= limit_ms).map(|step| step.fetches).sum::<u64>() as f64
            / self.fetches() as f64
    }
}

fn over(runs: &[Run], limit_ms: u64, by_lost_syns: f64) -> Over {
    let limit = Duration::from_millis(limit_ms);
    let longer: Vec<u64> = runs.iter().map(|run| run.over(limit)).collect();
    let with = |least: u64| {
        let runs = longer.iter().filter(|n| **n >= least).count();
        Share::of(runs as u64, longer.len() as u64)
    };
    Over {
        limit_ms,
        fetches: Share::of(longer.iter().sum(), longer.len() as u64 * FETCHES),
        runs: with(1),
        runs_with_two: with(2),
        by_lost_syns,
    }
}

/// The cost of these runs' fetches, compared with those without SLP.
fn spent(runs: &[Run], without: &[Run]) -> Spent {
    let mean = |runs: &[Run], count: &dyn Fn(&Run) -> u64| {
        runs.iter().map(count).sum::<u64>() as f64 / (runs.len() as u64 * FETCHES) as f64
    };
    let added = |count: &dyn Fn(&Run) -> u64| 100.0 * (mean(runs, count) / mean(without, count) - 1.0);
    let (bytes, packets) = (|run: &Run| run.bytes, |run: &Run| run.watch.packets);
    Spent {
        bytes: mean(runs, &bytes),
        packets: mean(runs, &packets),
        copies: Copied::ALL.map(|kind| (kind.name(), mean(runs, &|run| run.watch.copies[kind as usize]))).into(),
        bytes_added_percent: added(&bytes),
        packets_added_percent: added(&packets),
    }
}

/// The completion times of all fetches, in increasing order.
fn distribution(runs: &[Run]) -> Vec<Step> {
    let mut times: Vec<Duration> = runs.iter().flat_map(|run| &run.times).flatten().copied().collect();
    times.sort_unstable();
    let step = |equal: &[Duration]| Step { fct_ms: ms(equal[0]), fetches: equal.len() as u64 };
    times.chunk_by(PartialEq::eq).map(step).collect()
}

/// The probability that one of fifty fetches takes longer than `limit` because its SYN is lost.
fn by_lost_syns(limit: Duration, initial_rto: Duration, slp: bool) -> f64 {
    let timeouts = (1..).find(|j| initial_rto * ((1 << j) - 1) >= limit);
    let packets = timeouts.unwrap_or(0) + i32::from(slp);
    1.0 - (1.0 - LOSS.powi(packets)).powi(FETCHES as i32)
}

/// Runs each profile `count` times and checks the claims. The first run has the seed of `setup`; it is
/// the one shown.
///
/// # Errors
/// When settings contradict each other.
pub fn figure(setup: &Setup, count: usize) -> Result<Figure<FetchCell>> {
    let seed = setup.seed();
    let mut cells = vec![];
    for System { initial_rto, profiles } in SYSTEMS {
        let [without, with] = profiles.map(|name| runs(setup, name, count));
        let both = [without?, with?];
        for (slp, (profile, runs)) in [false, true].into_iter().zip(profiles.into_iter().zip(&both)) {
            let over = |limit_ms| over(runs, limit_ms, by_lost_syns(Duration::from_millis(limit_ms), initial_rto, slp));
            cells.push(FetchCell {
                profile,
                seed,
                fct_ms: runs.first().map_or(vec![], |run| run.times.iter().map(|time| time.map(ms)).collect()),
                runs: runs.len() as u64,
                distribution: distribution(runs),
                over: LIMITS.map(over).to_vec(),
                as_in_the_paper: slp.then(|| as_in_the_paper(&both)),
                spent: spent(runs, &both[0]),
            });
        }
    }
    let last = seed.wrapping_add(count as u64).wrapping_sub(1);
    let title = format!(
        "Completion times of {FETCHES} fetches of 34 kB, seed {seed}; probabilities from {count} runs, seeds {seed} to \
         {last}, with intervals of 95 % confidence"
    );
    Ok(Figure::new(NAME, ID, title, claims::all(&cells), chart(&cells), cells))
}

fn as_in_the_paper([without, with]: &[Vec<Run>; 2]) -> Share {
    let over = |run: &Run, limit_ms| run.over(Duration::from_millis(limit_ms)) > 0;
    // The paper's two runs are independent. With the same seed, the copy of a SYN would be lost whenever
    // its first retransmission is, because both are their flow's second packet. So we take the next seed.
    let alike = without
        .iter()
        .zip(with.iter().cycle().skip(1))
        .filter(|(without, with)| over(without, 1000) && over(without, 2000) && !over(with, 500));
    Share::of(alike.count() as u64, without.len() as u64)
}

/// Draws the distribution functions of the paper's Linux: without SLP and with it, as in the paper.
fn chart(cells: &[FetchCell]) -> LineChart {
    let drawn = &cells[..2.min(cells.len())];
    let times = |cell: &FetchCell| cell.distribution.iter().map(|s| s.fct_ms).collect::<Vec<_>>();
    let last = drawn.iter().flat_map(times).fold(0.0, f64::max);
    let line = |cell: &FetchCell, shown: bool| {
        let mut times = times(cell);
        let first = times.first().map(|first| (first / 1e3, 0.0));
        times.push(last);
        let steps = times.into_iter().map(|t| (t / 1e3, cell.share_within(t, shown)));
        first.into_iter().chain(steps).collect::<Vec<_>>()
    };
    let (seed, runs) = cells.first().map_or((0, 0), |cell| (cell.seed, cell.runs));
    let chart = LineChart::new(
        "Fetches of 34 kB; the client loses 2 % of the packets it sends",
        "completion time (s)",
        "share of the fetches",
        [format!("{FETCHES} fetches (seed {seed})"), format!("{} fetches ({runs} runs)", runs * FETCHES)],
    );
    ["Without SLP", "With SLP"].into_iter().zip(drawn).fold(chart.up_to(1.0).steps(), |chart, (title, cell)| {
        chart.panel(format!("{title} ({})", cell.profile), [true, false].map(|shown| line(cell, shown)))
    })
}

/// The figure as [`figure`] computes it with [`RUNS`] runs, in every format. CSV has a line per fetch of
/// the runs shown.
///
/// # Errors
/// As [`figure`].
pub fn sheet(setup: &Setup) -> Result<Sheet> {
    let [full, quick] = RUNS;
    Ok(tables::to_sheet(figure(setup, setup.effort.of(full, quick))?))
}

#[cfg(test)]
mod tests;
