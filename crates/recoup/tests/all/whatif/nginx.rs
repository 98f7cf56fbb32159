//! Flows from nginx to clients over the emulator, under settings that an operator can change.
//!
//! Each lane has an nginx, a client and a path of its own, so that flows of several lanes run at once and meet no
//! traffic but their own. The flow completion time is the client's: from its SYN to its last byte.

mod levers;
mod merge;
mod site;

use super::comparison::Cell;
use super::networks::{Network, Pair, between, spread};
use super::prediction::{Predicted, predict};
use super::truth::{Cost, FlowTruth, Truth, mean};
use super::{Folder, seed};
use levers::{LEVERS, Lever, Setting};
use recoup_lab::settings::Settings;
use recoup_net::{DeliveryError, PacketCapture, Relay};
use recoup_path::PathSpec;
use recoup_units::FlowId;
use site::{MTU, Site, Visit, Visited};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

/// Smallest and largest file, in bytes.
const FILE: (f64, f64) = (10e3, 500e3);

/// Files of a visit with pauses.
const FILES: usize = 3;

/// Flows that run at once. More would delay the kernel's timers.
const LANES: usize = 4;

/// How often each flow runs under each setting, each time with other random losses. The first run is captured.
const RUNS: u64 = 3;

/// Whether the programs are there.
pub fn check() -> Result<(), String> {
    for program in ["nginx -v", "ip -V", "sysctl -V"] {
        let words: Vec<&str> = program.split(' ').collect();
        let mut command = Command::new(words[0]);
        let output = command.args(&words[1..]).stdout(Stdio::null()).stderr(Stdio::null()).status();
        output.map_err(|error: io::Error| format!("{}: {error}", words[0]))?;
    }
    Ok(())
}

/// Cells, and how the base reruns fit.
#[derive(Default)]
pub struct Compared {
    pub cells: Vec<Cell>,
    /// By which share of its flow completion time each base rerun differs from the client's clock.
    pub base_errors: Vec<f64>,
}

/// All levers on a network.
pub fn compare_all(network: &Network, flows: u64) -> Compared {
    compare(network, LEVERS, flows)
}

/// The lever of a setting on a network.
pub fn compare_one(network: &Network, setting: &str, flows: u64) -> Compared {
    compare(network, std::slice::from_ref(Lever::of(setting)), flows)
}

fn compare(network: &Network, levers: &'static [Lever], flows: u64) -> Compared {
    let mut stage = Nginx::new(network, flows);
    levers.iter().for_each(|lever| stage.compare(lever));
    println!("{}: delivery error: {}", network.name, stage.error);
    stage.compared
}

/// The flows of a network, and how long they took under each setting.
struct Nginx<'a> {
    network: &'a Network,
    path: PathSpec,
    flows: u64,
    folder: Folder,
    measured: HashMap<String, Measured>,
    error: DeliveryError,
    compared: Compared,
}

/// What was measured under a setting.
struct Measured {
    /// The flow completion times of each flow in ms, one of each run.
    fct_ms: Vec<Vec<f64>>,
    /// The capture of the first run, and the flow of each of its clients' ports.
    capture: PathBuf,
    flows: HashMap<u16, u64>,
}

/// A run of all flows.
struct Run {
    visited: Vec<Visited>,
    error: DeliveryError,
}

impl<'a> Nginx<'a> {
    fn new(network: &'a Network, flows: u64) -> Self {
        let mut settings = Settings { segments: u64::MAX, ..Settings::default() };
        for (key, value) in network.settings {
            settings.set(key, value, Path::new(".")).expect("a setting");
        }
        let path = settings.path().expect("a path");
        Self {
            network,
            path,
            flows,
            folder: Folder::new(),
            measured: HashMap::new(),
            error: DeliveryError::default(),
            compared: Compared::default(),
        }
    }

    /// Adds a cell for each captured setting and each other one.
    fn compare(&mut self, lever: &'static Lever) {
        for base in lever.settings {
            let others: Vec<&Setting> =
                lever.settings.iter().filter(|other| other.name != base.name && other.is_tried).collect();
            if others.is_empty() {
                continue;
            }
            let base_run = self.measure(lever, base);
            let tried: Vec<&str> = others.iter().map(|other| other.name).collect();
            let predicted = predict(&self.measured[&base_run].capture, &tried);
            self.check_base(base, &base_run, &predicted[0]);
            for (other, predicted) in others.into_iter().zip(predicted) {
                let other_run = self.measure(lever, other);
                let pair = Pair { base: base.name, other: other.name };
                let cell = self.cell(&pair, [&base_run, &other_run], predicted);
                self.compared.cells.push(cell);
            }
        }
    }

    /// Holds base reruns against the client's clock: both saw the captured run, so that no randomness is between them.
    fn check_base(&mut self, base: &Setting, run: &str, predicted: &Predicted) {
        let measured = &self.measured[run];
        let captured_ms = |port| measured.fct_ms[measured.flows[&port] as usize][0];
        let connections = predicted.connections.values().map(|one| (one.base_fct_ms, captured_ms(one.port)));
        let errors: Vec<f64> = connections.clone().map(|(rerun, captured)| rerun - captured).collect();
        let worst = errors.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or_default();
        println!(
            "{} {}: base reruns end {:+.1} ms from the client's clock, at most {worst:+.1} ms",
            self.network.name,
            base.name,
            mean(errors.iter().copied()).mean
        );
        let shares = connections.map(|(rerun, captured)| (rerun / captured - 1.0).abs());
        self.compared.base_errors.extend(shares);
    }

    fn cell(&self, pair: &Pair, runs: [&String; 2], mut predicted: Predicted) -> Cell {
        let [base, other] = runs.map(|run| &self.measured[run]);
        let connections = predicted.connections.into_values();
        predicted.connections = connections.map(|one| (base.flows[&one.port], one)).collect();
        let cost = |runs: &[f64]| Cost { fct_ms: mean(runs.iter().copied()).mean, ..Cost::default() };
        let flow = |(base, other): (&Vec<f64>, &Vec<f64>)| FlowTruth {
            rtt_ms: 0.0,
            segments: 0,
            ack: String::new(),
            base: cost(base),
            other: cost(other),
        };
        let flows = base.fct_ms.iter().zip(&other.fct_ms).map(flow).collect();
        let truth = Truth { network: self.network, pair, capture: base.capture.clone(), flows };
        self.folder.keep(&truth, &predicted);
        self.keep_runs(&truth, base, other);
        let (_, value) = pair.other.split_once('=').expect("a setting");
        Cell {
            name: format!("{} {}>{value}", self.network.file_name(), pair.base),
            // Losses are random, so the flows of two runs do not differ by the setting alone.
            signs: Default::default(),
            ..Cell::new(&truth, &predicted)
        }
    }

    /// Keeps the flow completion times of single runs: the base's, of which the first is the captured one, and the
    /// other's.
    fn keep_runs(&self, truth: &Truth<'_>, base: &Measured, other: &Measured) {
        if let Folder::Kept(path) = &self.folder {
            let line = |(port, number): (&u16, &u64)| {
                let [base, other] = [base, other].map(|one| &one.fct_ms[*number as usize]);
                format!("{number}\t{port}\t{base:.3?}\t{other:.3?}\n")
            };
            let table: String = base.flows.iter().map(line).collect();
            fs::write(path.join(truth.name()).join("runs.tsv"), table).expect("a table");
        }
    }

    /// Measures the flows under a setting, unless that was done. Returns the key of the results.
    fn measure(&mut self, lever: &Lever, setting: &Setting) -> String {
        let key = match (lever.is_usual(setting), lever.pauses) {
            (true, false) => "usual",
            (true, true) => "usual-with-pauses",
            (false, _) => setting.name,
        };
        if !self.measured.contains_key(key) {
            let measured = self.run_all(key, setting, lever.pauses);
            self.measured.insert(key.to_owned(), measured);
        }
        key.to_owned()
    }

    fn run_all(&mut self, key: &str, setting: &Setting, pauses: bool) -> Measured {
        let folder = self.folder.path().join("captures");
        fs::create_dir_all(&folder).expect("a folder");
        let capture = folder.join(format!("{}.{key}.pcap", self.network.file_name()));
        let mut fct_ms = vec![Vec::new(); self.flows as usize];
        let mut flows = HashMap::new();
        for number in 0..RUNS {
            let is_first = number == 0;
            let run = self.run(setting, pauses, seed() + 1000 * number, is_first.then_some(&*capture));
            self.error.merge(&run.error);
            for one in run.visited {
                fct_ms[one.number as usize].push(one.took.as_secs_f64() * 1e3);
                if is_first {
                    flows.insert(one.port, one.number);
                }
            }
        }
        assert_eq!(flows.len() as u64, self.flows, "ports of clients");
        Measured { fct_ms, capture, flows }
    }

    /// Runs all flows, those of each lane one after another.
    fn run(&self, setting: &Setting, pauses: bool, seed: u64, capture: Option<&Path>) -> Run {
        let visits: Vec<Visit> = (0..self.flows).map(|number| visit(number, pauses)).collect();
        let share = visits.len().div_ceil(LANES);
        let mut run = Run { visited: Vec::new(), error: DeliveryError::default() };
        let mut parts = Vec::new();
        thread::scope(|scope| {
            let lanes: Vec<_> = (0..)
                .zip(visits.chunks(share))
                .map(|(lane, visits)| {
                    let part = capture.map(|capture| capture.with_extension(format!("{lane}")));
                    parts.extend(part.clone());
                    scope.spawn(move || self.run_lane(lane, visits, setting, seed, part.as_deref()))
                })
                .collect();
            for lane in lanes {
                let lane = lane.join().expect("a lane");
                run.visited.extend(lane.visited);
                run.error.merge(&lane.error);
            }
        });
        if let Some(capture) = capture {
            merge::merge(&parts, capture);
        }
        run
    }

    fn run_lane(&self, lane: u16, visits: &[Visit], setting: &Setting, seed: u64, capture: Option<&Path>) -> Run {
        let site = Site::open(lane, visits).expect("a site");
        site.set(setting);
        let mut relay = Relay::new(&self.path.up, &self.path.down, seed, MTU).expect("a path");
        relay.count_from(FlowId(visits[0].number));
        let packets = capture.map(|path| {
            let server: Box<dyn io::Write + Send> = Box::new(BufWriter::new(File::create(path).expect("a file")));
            PacketCapture::start(server, Box::new(io::sink())).expect("a capture")
        });
        if let Some(packets) = &packets {
            relay.capture(packets.tap());
        }
        let (visited, report) = site.visit(relay, visits.to_vec());
        if let Some(packets) = packets {
            packets.finish().expect("a capture");
        }
        Run { visited, error: report.error }
    }
}

fn visit(number: u64, pauses: bool) -> Visit {
    let size = between(FILE, spread(number, 1));
    let files = match pauses {
        true => vec![(size / FILES as f64) as u64; FILES],
        false => vec![size as u64],
    };
    Visit { number, files }
}
