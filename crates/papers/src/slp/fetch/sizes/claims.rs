//! The claims of §III-B on files of other lengths.

use super::SizeCell;
use crate::prelude::*;

/// The smallest visible gain of the mean completion time, in percent.
const VISIBLE: f64 = 5.0;

/// Checks the claims.
pub fn all(cells: &[SizeCell]) -> Vec<Claim> {
    let files = Files(cells);
    vec![tail(&files), syn_timeouts(cells), long_files(&files), dominated(&files)]
}

/// The files, classified by their completion time without loss.
struct Files<'a>(&'a [SizeCell]);

impl<'a> Files<'a> {
    /// Files selected by the ratio of their fastest fetch to the shortest file's fastest fetch.
    fn taking(&self, times: impl Fn(f64) -> bool) -> Vec<&'a SizeCell> {
        let fastest = |cell: &SizeCell| cell.without.fct(|s| s.min);
        let shortest = self.0.first().map_or(NAN, fastest);
        self.0.iter().filter(|c| times(fastest(c) / shortest)).collect()
    }

    fn short(&self) -> Vec<&'a SizeCell> {
        self.taking(|times| times < 2.0)
    }

    fn long(&self) -> Vec<&'a SizeCell> {
        self.taking(|times| times >= 10.0)
    }
}

/// The smallest and the largest number of the cells in percent, and the files' lengths.
fn range(cells: &[&SizeCell], number: impl Fn(&SizeCell) -> f64) -> String {
    let (least, most) = cells
        .iter()
        .map(|cell| number(cell))
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), n| (low.min(n), high.max(n)));
    let length = |cell: Option<&&SizeCell>| cell.map_or(String::new(), |c| c.kilobytes().to_string());
    let (from, to) = (length(cells.first()), length(cells.last()));
    format!("{least:.1} to {most:.1} % (files of {from} to {to} kB)")
}

fn tail(files: &Files<'_>) -> Claim {
    let short = files.short();
    let saved = |cell: &SizeCell| cell.saved(|s| s.p99);
    claim!("short-tails", "shorter by {}", range(&short, saved))
        .holds(!short.is_empty() && short.iter().all(|cell| saved(cell) >= 50.0))
}

fn syn_timeouts(cells: &[SizeCell]) -> Claim {
    let all = |of: fn(&SizeCell) -> u64| cells.iter().map(of).sum::<u64>();
    let more = |cell: &&SizeCell| cell.with.syn_timeouts > cell.without.syn_timeouts;
    let more = cells.iter().filter(more).count();
    let [with, without] = [all(|cell| cell.with.syn_timeouts), all(|cell| cell.without.syn_timeouts)];
    claim!("syn-timeouts", "{with} with, {without} without, in {} fetches each", all(|cell| cell.fetches))
        .holds(with < without && more == 0)
}

fn long_files(files: &Files<'_>) -> Claim {
    let (short, long) = (files.short(), files.long());
    let saved = |cell: &SizeCell| cell.saved(|s| s.mean);
    let short_least = short.iter().map(|c| saved(c)).fold(f64::INFINITY, f64::min);
    let invisible = |cell: &&SizeCell| saved(cell) < VISIBLE && saved(cell) < short_least;
    let mean = |files: &[&SizeCell]| {
        let sum: f64 = files.iter().map(|cell| cell.saved_ms()).sum();
        sum / files.len() as f64
    };
    let all = files.0.iter().map(SizeCell::saved_ms);
    let (least, most) = (all.clone().fold(f64::INFINITY, f64::min), all.fold(0.0, f64::max));
    // SLP saves one second with probability 2 %; other losses are rarer or cheaper.
    let error = |files: &[&SizeCell]| {
        let fetches = files.first().map_or(NAN, |cell| cell.fetches as f64);
        1000.0 * (0.02 * 0.98 / fetches).sqrt()
    };
    claim!("long-files", "long files {}; short files {}", range(&long, saved), range(&short, saved))
        .holds(!long.is_empty() && long.iter().all(invisible))
        .fill(&[&mean(&short), &mean(&long), &least, &most, &error(&short), &error(&long)])
}

/// The least growth of the completion time of a file twice as long that its size dominates.
const NEARLY_TWICE: f64 = 1.7;

fn dominated(files: &Files<'_>) -> Claim {
    let long = files.long();
    let median = |cell: &SizeCell| cell.without.fct(|s| s.p50);
    let growth: Vec<f64> = long.windows(2).map(|pair| median(pair[1]) / median(pair[0])).collect();
    let short = files.short();
    let most = short.windows(2).map(|pair| median(pair[1]) / median(pair[0])).fold(1.0, f64::max);
    let shown = growth.iter().map(|times| format!("{times:.2}"));
    claim!("long-dominated-by-size", "{} times; short files at most {most:.2} times", shown.joined(" and "))
        .holds(growth.len() > 1 && growth.iter().all(|times| *times >= NEARLY_TWICE))
}
