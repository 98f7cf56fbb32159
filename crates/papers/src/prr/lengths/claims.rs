//! The claims of §1 and §2.1 that the length of responses decides.

use super::Cell;
use crate::claims::{Claim, ClaimVerdict, claim};
use recoup_support::stats::Share;

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
    let found = cells.iter().find(|cell| cell.segments == segments);
    found.expect("a length of the grid")
}

fn in_one_window(cells: &[Cell]) -> Claim {
    // 4 to 8 kB are four to six segments on the paper's servers.
    let latencies = [4, 6].map(|segments| {
        let cell = of(cells, segments);
        cell.clean_rtts / (cell.flows - cell.lossy).max(1) as f64
    });
    claim(
        "ideal-fits-the-window",
        "1",
        "Responses of 4 to 8 kB fit within the initial window of ten, so that the RTT approximates their ideal latency",
        "flows of 4 and 6 segments without a loss take at most 1.1 RTTs on average",
        (format!("{:.2} and {:.2} RTTs", latencies[0], latencies[1]), latencies.iter().all(|latency| *latency <= 1.1)),
    )
}

fn longer_more_fast(cells: &[Cell]) -> Claim {
    let [short, long] = [6, 500].map(|segments| of(cells, segments).share_of_fast());
    claim(
        "longer-flows-more-fast",
        "2.1",
        "Long flows have a greater chance of entering fast recovery than short ones",
        "the share of fast retransmits in all retransmissions is larger with 500 segments than with 6, intervals apart",
        (format!("6 segments: {short}; 500: {long}"), long.low > short.high),
    )
    .paper("24 % (Web), 54 % (video)")
}

fn one_segment(cells: &[Cell]) -> Claim {
    let cell = of(cells, 1);
    let (timeouts, all) = (cell.timeout, cell.retransmissions());
    claim(
        "one-segment-times-out",
        "2.1",
        "The loss of a response that fits into one segment causes no duplicate ACKs, so that only a timeout repairs it",
        "flows of one segment: every retransmission is that of a timeout",
        (format!("{timeouts} of {all}"), timeouts == all && all > 0),
    )
}

fn without_dupacks(cells: &[Cell]) -> Claim {
    let cell = of(cells, 6);
    let share = Share::of(cell.without_fast, cell.lossy);
    claim(
        "short-flows-lack-dupacks",
        "1, 6",
        "Short responses frequently do not receive the duplicate ACKs that trigger fast recovery",
        "flows of 6 segments that lose one or more: at least a third, interval included, have no fast retransmit",
        (share.to_string(), share.low >= 1.0 / 3.0),
    )
    .paper("frequently")
}

fn kinds(cells: &[Cell]) -> Claim {
    let other: u64 = cells.iter().map(|cell| cell.other).sum();
    let all: u64 = cells.iter().map(Cell::retransmissions).sum();
    claim(
        "three-kinds",
        "2.1",
        "Fast, timeout and slow start retransmits are all retransmissions, if no client disappears (DC2)",
        "all lengths: no retransmission has another trigger",
        (format!("{other} of {all} have another"), other == 0 && all > 0),
    )
    .paper("100 % (DC2)")
}

fn window_of_one(cells: &[Cell]) -> Claim {
    let [ones, all] =
        [|cell: &Cell| cell.window_of_one, |cell: &Cell| cell.timeouts()].map(|of| cells.iter().map(of).sum::<u64>());
    claim(
        "timeout-resets-window",
        "2.1, 3.2",
        "A timeout resets cwnd to one, and slow start follows",
        "all lengths: cwnd is one after each timeout",
        (format!("{ones} of {all}"), ones == all && all > 0),
    )
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
    let verdict = if long.low > short.high {
        ClaimVerdict::Holds
    } else if long.high < short.low {
        ClaimVerdict::Fails
    } else {
        ClaimVerdict::Undecided
    };
    claim(
        "longer-flows-more-slow-start",
        "2.1",
        "Long flows have more slow start retransmits, because more data are outstanding when a timeout happens",
        "slow start retransmits of all after timeouts: the share is larger with 50 segments or more than with at most 4, intervals apart",
        (format!("short {short}, long {long}"), false),
    )
    .verdict(verdict)
    .paper("17 % (Web), 29 % (video) of all")
}

fn whole_window(cells: &[Cell]) -> Claim {
    let [progress, open] =
        [|cell: &Cell| cell.open_after_progress, |cell: &Cell| cell.open].map(|of| cells.iter().map(of).sum::<u64>());
    claim(
        "open-timeout-whole-window",
        "2.1, footnote 2",
        "A timeout in Open implies that a whole window of data or ACKs was lost in one RTT",
        "all lengths: at no timeout in Open had a part of the latest flight been acknowledged",
        (
            format!("at {progress} of {open} it had"),
            progress == 0 && open > 0,
        ),
    )
    .note(
        "the loss of the last segments suffices: the ACKs of those before them arrive in sequence, and the sender stays in Open until the timeout. \
         So the footnote's other mechanism need not exist: tails alone cause such timeouts",
    )
}
