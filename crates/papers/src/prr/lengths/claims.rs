//! The claims of §1 and §2.1 that the length of responses decides.

use super::Cell;
use crate::prelude::*;

/// All claims.
pub fn all(cells: &[Cell]) -> Vec<Claim> {
    vec![
        in_one_window(cells),
        longer_more_fast(cells),
        one_segment(cells),
        without_dupacks(cells),
        kinds(cells),
        window_of_one(cells),
        more_slow_start(cells),
        whole_window(cells),
    ]
}

fn of(cells: &[Cell], segments: u64) -> &Cell {
    cells.iter().find(|cell| cell.segments == segments).expect("a length of the grid")
}

fn in_one_window(cells: &[Cell]) -> Claim {
    // 4 to 8 kB are four to six segments on the paper's servers.
    let latencies = [4, 6].map(|segments| {
        let cell = of(cells, segments);
        cell.clean_rtts / (cell.flows - cell.lossy).max(1) as f64
    });
    claim!("ideal-fits-the-window", "{:.2} and {:.2} RTTs", latencies[0], latencies[1])
        .holds(latencies.iter().all(|latency| *latency <= 1.1))
}

fn longer_more_fast(cells: &[Cell]) -> Claim {
    let [short, long] = [6, 500].map(|segments| of(cells, segments).share_of_fast());
    claim!("longer-flows-more-fast", "6 segments: {short}; 500: {long}").holds(long.low > short.high)
}

fn one_segment(cells: &[Cell]) -> Claim {
    let cell = of(cells, 1);
    let (timeouts, all) = (cell.timeout, cell.retransmissions());
    claim("one-segment-times-out").every(timeouts, all, "")
}

fn without_dupacks(cells: &[Cell]) -> Claim {
    let cell = of(cells, 6);
    let share = Share::of(cell.without_fast, cell.lossy);
    claim("short-flows-lack-dupacks").shows(share.to_string()).holds(share.low >= 1.0 / 3.0)
}

fn kinds(cells: &[Cell]) -> Claim {
    let other: u64 = cells.iter().map(|cell| cell.other).sum();
    let all: u64 = cells.iter().map(Cell::retransmissions).sum();
    claim!("three-kinds", "{other} of {all} have another").holds(other == 0 && all > 0)
}

fn window_of_one(cells: &[Cell]) -> Claim {
    let [ones, all] =
        [|cell: &Cell| cell.window_of_one, |cell: &Cell| cell.timeouts()].map(|of| cells.iter().map(of).sum::<u64>());
    claim("timeout-resets-window").every(ones, all, "")
}

/// Slow start retransmits of those and timeout retransmits.
fn in_slow_start<'a>(cells: impl Iterator<Item = &'a Cell>) -> Share {
    let (slow, timeouts) =
        cells.fold((0, 0), |(slow, timeouts), cell| (slow + cell.slow_start, timeouts + cell.timeout));
    Share::of(slow, slow + timeouts)
}

fn more_slow_start(cells: &[Cell]) -> Claim {
    let short = in_slow_start(cells.iter().filter(|cell| cell.segments <= 4));
    let long = in_slow_start(cells.iter().filter(|cell| cell.segments >= 50));
    claim!("longer-flows-more-slow-start", "short {short}, long {long}").needs(long.above(short))
}

fn whole_window(cells: &[Cell]) -> Claim {
    let [progress, open] =
        [|cell: &Cell| cell.open_after_progress, |cell: &Cell| cell.open].map(|of| cells.iter().map(of).sum::<u64>());
    claim!("open-timeout-whole-window", "at {progress} of {open} it had").holds(progress == 0 && open > 0)
}
