//! What §III-B says of files of other lengths.

use super::Cell;
use crate::claims::{Claim, Verdict, claim};
use crate::slp::fetch::NEGLIGIBLE;

/// A gain of the mean completion time is visible from here on, in percent.
const VISIBLE: f64 = 5.0;

/// The claims decided here.
pub fn all(cells: &[Cell]) -> Vec<Claim> {
    let files = Files(cells);
    vec![
        tail(&files),
        syn_timeouts(cells),
        long_files(&files),
        overhead(cells),
    ]
}

/// The files by how long they take without loss.
struct Files<'a>(&'a [Cell]);

impl<'a> Files<'a> {
    /// Those whose fastest fetch takes so many times as long as that of the shortest file.
    fn taking(&self, times: impl Fn(f64) -> bool) -> Vec<&'a Cell> {
        let fastest = |cell: &Cell| cell.without.fct(|s| s.min);
        let shortest = self.0.first().map_or(f64::NAN, fastest);
        self.0
            .iter()
            .filter(|c| times(fastest(c) / shortest))
            .collect()
    }

    fn short(&self) -> Vec<&'a Cell> {
        self.taking(|times| times < 2.0)
    }

    fn long(&self) -> Vec<&'a Cell> {
        self.taking(|times| times >= 10.0)
    }
}

/// The least and the largest number of these cells, as percentages, and the files' lengths.
fn range(cells: &[&Cell], number: impl Fn(&Cell) -> f64) -> String {
    let numbers = cells.iter().map(|cell| number(cell));
    let (least, most) = numbers.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), n| {
        (low.min(n), high.max(n))
    });
    let length = |cell: Option<&&Cell>| cell.map_or(String::new(), |c| c.kilobytes().to_string());
    let (from, to) = (length(cells.first()), length(cells.last()));
    format!("{least:.1} to {most:.1} % (files of {from} to {to} kB)")
}

fn tail(files: &Files<'_>) -> Claim {
    let short = files.short();
    let saved = |cell: &Cell| cell.saved(|s| s.p99);
    claim(
        "short-tails",
        "III-B",
        "SLP shortens the tail of short files' completion times",
        "the 99th percentile at most half of what it is without, for every short file: less than twice the shortest's time",
        (
            format!("shorter by {}", range(&short, saved)),
            !short.is_empty() && short.iter().all(|cell| saved(cell) >= 50.0),
        ),
    )
}

fn syn_timeouts(cells: &[Cell]) -> Claim {
    let all = |of: fn(&Cell) -> u64| cells.iter().map(of).sum::<u64>();
    let more = |cell: &&Cell| cell.with.syn_timeouts > cell.without.syn_timeouts;
    let more = cells.iter().filter(more).count();
    let [with, without] = [
        all(|cell| cell.with.syn_timeouts),
        all(|cell| cell.without.syn_timeouts),
    ];
    claim(
        "syn-timeouts",
        "III-B",
        "SLP reduces SYN timeouts",
        "SYNs sent again for a timeout, of all files together, and more for none of them",
        (
            format!(
                "{with} with, {without} without, in {} fetches each",
                all(|cell| cell.fetches),
            ),
            with < without && more == 0,
        ),
    )
}

fn long_files(files: &Files<'_>) -> Claim {
    let (short, long) = (files.short(), files.long());
    let saved = |cell: &Cell| cell.saved(|s| s.mean);
    let short_least = short.iter().map(|c| saved(c)).fold(f64::INFINITY, f64::min);
    let invisible = |cell: &&Cell| saved(cell) < VISIBLE && saved(cell) < short_least;
    let mut claim = claim(
        "long-files",
        "III-B",
        "SLP's benefit to long files is not as significant as to short ones",
        "it saves less than 5 % of the mean completion time, and less than of any short file's, for every long file: ten times the shortest's time or more",
        (
            format!(
                "{}; short ones {}",
                range(&long, saved),
                range(&short, saved)
            ),
            !long.is_empty() && long.iter().all(invisible),
        ),
    );
    let mean = |files: &[&Cell]| {
        let sum: f64 = files.iter().map(|cell| cell.saved_ms()).sum();
        sum / files.len() as f64
    };
    let all = files.0.iter().map(Cell::saved_ms);
    let (least, most) = (
        all.clone().fold(f64::INFINITY, f64::min),
        all.fold(0.0, f64::max),
    );
    // Of a second saved with probability 2 %: other losses are rarer or cheaper.
    let error = |files: &[&Cell]| {
        let fetches = files.first().map_or(f64::NAN, |cell| cell.fetches as f64);
        1000.0 * (0.02 * 0.98 / fetches).sqrt()
    };
    claim.note = Some(format!(
        "what is saved does not grow with the file: {:.2} ms a fetch of the short ones, {:.2} of the long, whose fetches all lose the same SYNs, and {least:.2} to {most:.2} of any. 24.8 are to be expected: 2 % of SYNs lost, a second each, and 2 % of requests, an RTO of 240 ms each, with a standard error of {:.1} ms for as many fetches as the short files have, {:.1} for the long",
        mean(&short),
        mean(&long),
        error(&short),
        error(&long),
    ));
    claim
}

fn overhead(cells: &[Cell]) -> Claim {
    let all: Vec<&Cell> = cells.iter().collect();
    let mut claim = claim(
        "overhead-at-any-size",
        "III-B",
        "SLP's overhead in bytes is negligible",
        "bytes added, less than 5 % for every file",
        (
            range(&all, Cell::added),
            cells.iter().all(|cell| cell.added() < NEGLIGIBLE),
        ),
    );
    let from = cells
        .iter()
        .rev()
        .take_while(|cell| cell.added() < NEGLIGIBLE);
    let from = from
        .last()
        .map_or("never".into(), |cell| cell.kilobytes().to_string());
    let bytes = |cell: &Cell| cell.with.bytes - cell.without.bytes;
    let (least, most) = (
        cells.iter().map(bytes).fold(f64::INFINITY, f64::min),
        cells.iter().map(bytes).fold(0.0, f64::max),
    );
    claim.known = Verdict::Fails;
    claim.note = Some(format!(
        "it is from {from} kB on. At any length {least:.0} to {most:.0} bytes a fetch are added, for copies of the handshake, the request and at times the last segment, and for what they are answered with; and a fetch of 0.25 kB is hardly more than these",
    ));
    claim
}
