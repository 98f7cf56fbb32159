//! What `recoup whatif` predicts, held against reruns of the same flows.
//!
//! Flows are captured at their sender under one mechanism. The same flows then run over the same network under
//! another mechanism: that is the truth. The tests print a line for each network and pair of mechanisms:
//!
//! ```sh
//! cargo test --release -p recoup --test all whatif -- --ignored --nocapture all_
//! ```
//!
//! With `RECOUP_KEEP_CAPTURES=DIR` the captures stay in that folder, each with the true times of its flows.
//! `RECOUP_SEED=N` chooses other random losses. `RECOUP_NETWORK=NAME` leaves nginx one network.

mod again;
mod comparison;
mod kernel;
mod networks;
mod nginx;
mod prediction;
mod simulated;
mod truth;

use crate::real_packets::turn;
use again::{Counts, Matrix};
use comparison::{Cell, Summary, flow_table};
use kernel::Kernel;
use networks::{AGAIN, AGAIN_JUDGED, KERNEL, NGINX, Network, Pair, SENDERS, SIMULATED};
use prediction::{Predicted, predict};
use recoup_testing::skip;
use simulated::Simulator;
use std::path::{Path, PathBuf};
use std::thread;
use tempfile::TempDir;
use truth::{Reruns, Stage, Truth};

/// The environment variable that names a folder in which the captures and their truth are kept.
const KEEP: &str = "RECOUP_KEEP_CAPTURES";

/// The seed of everything random.
fn seed() -> u64 {
    let given = std::env::var("RECOUP_SEED").ok();
    given.map_or(1, |seed| seed.parse().expect("RECOUP_SEED: a whole number"))
}

/// A folder for captures.
enum Folder {
    Kept(PathBuf),
    Temporary(TempDir),
}

impl Folder {
    fn new() -> Self {
        match std::env::var_os(KEEP) {
            Some(kept) => Self::Kept(kept.into()),
            None => Self::Temporary(tempfile::tempdir().expect("a folder")),
        }
    }

    fn path(&self) -> &Path {
        match self {
            Self::Kept(path) => path,
            Self::Temporary(folder) => folder.path(),
        }
    }

    fn keep(&self, truth: &Truth<'_>, predicted: &Predicted) {
        if let Self::Kept(path) = self {
            truth.write(path);
            let table = path.join(truth.name()).join("predicted.tsv");
            std::fs::write(table, flow_table(truth, predicted)).expect("a table");
        }
    }
}

/// Runs the flows of a network and compares them with the predictions, pair by pair.
fn compare(stage: &impl Stage, network: &Network, pairs: &[Pair], flows: u64) -> Vec<Cell> {
    let folder = Folder::new();
    let reruns = Reruns::new(stage, network, flows, pairs, folder.path());
    let truths: Vec<Truth<'_>> = pairs.iter().map(|pair| reruns.truth(pair)).collect();
    let bases: Vec<&str> = pairs.iter().map(|pair| pair.base).collect();
    let mut cells = Vec::new();
    for (number, base) in bases.iter().enumerate() {
        if bases[..number].contains(base) {
            continue;
        }
        let of_base = || truths.iter().filter(|truth| truth.pair.base == *base);
        let tried: Vec<&str> = of_base().map(|truth| truth.pair.other).collect();
        let capture = reruns.capture(base);
        let predicted = predict(&capture, &tried);
        for (truth, predicted) in of_base().zip(&predicted) {
            cells.push(Cell::new(truth, predicted));
            folder.keep(truth, predicted);
        }
    }
    cells
}

/// Prints the cells and their summary.
fn print(cells: &[Cell]) -> Summary {
    let mut summary = Summary::default();
    println!("{}", Cell::HEADS);
    for cell in cells {
        println!("{cell}");
        summary.add(cell);
    }
    println!("{summary}");
    summary
}

/// The flows of a cell of the tables in docs/whatif.md, where `RECOUP_FLOWS` asks for them.
fn flows_asked() -> Option<u64> {
    let asked = std::env::var("RECOUP_FLOWS").ok()?;
    Some(asked.parse().expect("RECOUP_FLOWS is a number"))
}

/// The bounds that docs/whatif.md states hold for most cells even with few flows, whose means differ from run to run.
#[test]
fn predictions_come_true_in_the_simulator() {
    let flows = flows_asked().unwrap_or(60);
    let cells = SIMULATED.networks.iter();
    let cells = cells.flat_map(|network| compare(&Simulator, network, SIMULATED.pairs, flows));
    let summary = print(&cells.collect::<Vec<_>>());
    let share = |part: u64, of: u64| part as f64 / of as f64;
    assert!(share(summary.within_bound, summary.cells) >= 0.9, "{summary}");
    assert!(share(summary.better, summary.with_change) >= 0.9, "{summary}");
    assert!(share(summary.covered, summary.cells) >= 0.85, "{summary}");
    assert!(summary.signs[0].share() >= 0.95, "{summary}");
    assert!(share(summary.apart, summary.flows) <= 0.05, "{summary}");
}

/// Without any truth about the sender: it is found by its own windows, predictions there and back agree, and the interval covers
/// other runs.
#[test]
fn senders_are_found_and_predictions_go_back() {
    let flows = flows_asked();
    let judged = if flows.is_some() { AGAIN_JUDGED } else { &[] };
    let mut counts = Counts::default();
    for (kind, networks) in [("development", AGAIN), ("judging", judged)] {
        let folder = Folder::new();
        let mut of_kind = Counts::default();
        for network in networks {
            of_kind.add(Matrix::new(network, SENDERS, flows.unwrap_or(60), folder.path()).print());
        }
        if !networks.is_empty() {
            println!("networks of {kind}:\n{of_kind}\n");
        }
        counts.add(of_kind);
    }
    let share = |part: u64, of: u64| part as f64 / of as f64;
    assert!(share(counts.found, counts.senders) >= 0.9, "{counts}");
    assert!(share(counts.agree, counts.pairs) >= 0.9, "{counts}");
    assert!(share(counts.covered, counts.runs) >= 0.9, "{counts}");
    assert!(counts.width() <= 1.5, "{counts}");
}

/// The kernel's flows end at other times in each run, so few flows show the direction of their changes alone.
#[test]
fn predictions_come_true_in_the_kernel() {
    let _turn = turn();
    if let Err(error) = kernel::check() {
        return skip(error);
    }
    let cells = match flows_asked() {
        Some(flows) => on_all_kernel_networks(flows),
        None => {
            let network = KERNEL.networks.iter().find(|network| network.name == "three of the tail");
            compare(&Kernel, network.expect("a network"), KERNEL.pairs, 12)
        }
    };
    let summary = print(&cells);
    let [without_draws, _] = summary.signs;
    assert!(without_draws.all >= 10, "{summary}");
    assert!(without_draws.share() >= 0.75, "{summary}");
}

fn on_all_kernel_networks(flows: u64) -> Vec<Cell> {
    let compare = |network| move || compare(&Kernel, network, KERNEL.pairs, flows);
    let mut cells = Vec::new();
    // More networks at once would delay the kernel's timers.
    for networks in KERNEL.networks.chunks(2) {
        thread::scope(|scope| {
            let running = networks.iter().map(|network| scope.spawn(compare(network)));
            let running: Vec<_> = running.collect();
            cells.extend(running.into_iter().flat_map(|cells| cells.join().expect("cells")));
        });
    }
    cells
}

/// Whether `RECOUP_NETWORK` names this network or is not set.
fn is_asked(network: &Network) -> bool {
    std::env::var("RECOUP_NETWORK").map_or(true, |name| name == network.name)
}

/// Random losses decide what few flows show, so only the base reruns have to end as the flows did.
#[test]
fn predictions_come_true_for_nginx() {
    /// The largest error of a base rerun, as a share of the flow completion time.
    const LARGEST: f64 = 0.1;
    let _turn = turn();
    if let Err(error) = nginx::check() {
        return skip(error);
    }
    if let Err(error) = kernel::check() {
        return skip(error);
    }
    let (mut cells, mut base_errors) = (Vec::new(), Vec::new());
    let mut add = |compared: nginx::Compared| {
        cells.extend(compared.cells);
        base_errors.extend(compared.base_errors);
    };
    match flows_asked() {
        Some(flows) => {
            let networks = NGINX.iter().filter(|network| is_asked(network));
            networks.for_each(|network| add(nginx::compare_all(network, flows)));
        }
        None => add(nginx::compare_one(&NGINX[0], "tail-loss-probe=0", 12)),
    }
    let summary = print(&cells);
    let agree = cells.iter().filter(|cell| cell.agrees()).count();
    println!("prediction and truth agree within their intervals: {agree} of {} cells", cells.len());
    let near = base_errors.iter().filter(|error| **error <= LARGEST).count();
    println!("base rerun within {LARGEST} of the captured flow: {near} of {} connections", base_errors.len());
    assert!(near * 10 >= base_errors.len() * 9, "{summary}");
    assert!(summary.apart * 5 <= summary.flows, "{summary}");
}
