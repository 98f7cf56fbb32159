//! The truth: the same flows over the same network under two mechanisms.

use crate::networks::{Network, Pair};
use recoup_lab::capture::{Capture, CapturePaths};
use recoup_recovery::Profile;
use recoup_sim::{NoObserver, Simulation};
use recoup_tcp::flow::FlowRecord;
use recoup_units::FlowId;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The seed of everything random.
const SEED: u64 = 1;

/// The port of the first flow's client in the captures; each flow has the next one.
const FIRST_PORT: u64 = 32_768;

/// What a flow cost under one mechanism.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    pub fct_ms: f64,
    pub segments_sent: u64,
    pub retransmissions: u64,
    pub spurious: u64,
    pub dropped: u64,
}

/// A flow under both mechanisms.
#[derive(Clone, Debug)]
pub struct FlowTruth {
    /// The client's port in the capture.
    pub port: u64,
    pub rtt_ms: f64,
    pub segments: u64,
    pub ack: String,
    pub base: Cost,
    pub other: Cost,
}

impl FlowTruth {
    pub fn change_ms(&self) -> f64 {
        self.other.fct_ms - self.base.fct_ms
    }
}

/// The truth of a cell: a network and a pair of mechanisms.
pub struct Truth<'a> {
    pub network: &'a Network,
    pub pair: &'a Pair,
    /// The capture at the sender under the pair's base.
    pub capture: PathBuf,
    pub flows: Vec<FlowTruth>,
}

/// Mean and half the width of its 95 % interval.
#[derive(Clone, Copy, Debug)]
pub struct Mean {
    pub mean: f64,
    pub half_width: f64,
}

/// The mean of `values` with its interval by the normal approximation.
pub fn mean(values: impl Iterator<Item = f64> + Clone) -> Mean {
    let n = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / n;
    let squares: f64 = values.map(|value| (value - mean).powi(2)).sum();
    Mean {
        mean,
        half_width: 1.96 * (squares / (n - 1.0) / n).sqrt(),
    }
}

impl Truth<'_> {
    /// The mean change of the flow completion time, in ms.
    pub fn change(&self) -> Mean {
        mean(self.flows.iter().map(FlowTruth::change_ms))
    }

    /// The mean flow completion time under the base, in ms.
    pub fn base_fct_ms(&self) -> f64 {
        mean(self.flows.iter().map(|flow| flow.base.fct_ms)).mean
    }

    /// The cell's name as a file name.
    pub fn name(&self) -> String {
        let Pair { base, other } = self.pair;
        format!("{}.{base}.{other}", self.network.file_name())
    }

    /// Writes capture and truth into a folder of their own under `folder`. Returns the cell in one line.
    pub fn write(&self, folder: &Path) -> String {
        let folder = folder.join(self.name());
        fs::create_dir_all(&folder).expect("a folder");
        let capture = folder.join("capture.pcap");
        if capture.exists() {
            fs::remove_file(&capture).expect("an old capture");
        }
        fs::hard_link(&self.capture, &capture).expect("a capture");
        type Which = fn(&FlowTruth) -> Cost;
        for (name, which) in [("base", (|f| f.base) as Which), ("other", |f| f.other)] {
            let path = folder.join(format!("{name}.tsv"));
            fs::write(path, self.table(which)).expect("a table");
        }
        let change = self.change();
        let about = format!(
            "network {}: {:?}\nbase {}\nother {}\nflows {}\nmean FCT {:.2} ms\ntrue mean change {:+.2} ms ± {:.2}",
            self.network.name,
            self.network.settings,
            self.pair.base,
            self.pair.other,
            self.flows.len(),
            self.base_fct_ms(),
            change.mean,
            change.half_width,
        );
        fs::write(folder.join("about.txt"), &about).expect("a file");
        about.replace('\n', "; ")
    }

    fn table(&self, which: impl Fn(&FlowTruth) -> Cost) -> String {
        let mut text = String::from(
            "port\trtt_ms\tsegments\tack\tfct_ms\tsent\tretransmissions\tspurious\tdropped\n",
        );
        for flow in &self.flows {
            let FlowTruth {
                port,
                rtt_ms,
                segments,
                ack,
                ..
            } = flow;
            let cost = which(flow);
            writeln!(
                text,
                "{port}\t{rtt_ms}\t{segments}\t{ack}\t{:.6}\t{}\t{}\t{}\t{}",
                cost.fct_ms, cost.segments_sent, cost.retransmissions, cost.spurious, cost.dropped,
            )
            .expect("text");
        }
        text
    }
}

/// The flows of a network, under as many mechanisms as asked for. Each mechanism runs once.
pub struct Reruns<'a> {
    network: &'a Network,
    flows: u64,
    folder: PathBuf,
    captured: Vec<(&'static str, PathBuf, Vec<FlowRecord>)>,
}

impl<'a> Reruns<'a> {
    /// Captures go into `folder`.
    pub fn new(network: &'a Network, flows: u64, folder: &Path) -> Self {
        Self {
            network,
            flows,
            folder: folder.join("captures"),
            captured: Vec::new(),
        }
    }

    pub fn truth(&mut self, pair: &'a Pair) -> Truth<'a> {
        let (capture, base) = self.captured(pair.base);
        let other = self.run(pair, None);
        let flows = base.iter().zip(&other).enumerate();
        let flows = flows.map(|(number, (base, other))| {
            let number = number as u64;
            let settings = self.network.flow(number).settings;
            FlowTruth {
                port: FIRST_PORT + number,
                rtt_ms: settings.rtt.as_secs_f64() * 1e3,
                segments: settings.segments,
                ack: settings.get("ack").unwrap_or_default(),
                base: cost(base),
                other: cost(other),
            }
        });
        Truth {
            network: self.network,
            pair,
            capture,
            flows: flows.collect(),
        }
    }

    fn captured(&mut self, base: &'static str) -> (PathBuf, Vec<FlowRecord>) {
        if let Some((_, path, records)) = self.captured.iter().find(|(of, ..)| *of == base) {
            return (path.clone(), records.clone());
        }
        let name = format!("{}.{base}", self.network.file_name());
        let paths = CapturePaths::new(&self.folder, &name);
        let mut capture = Capture::create(&paths).expect("a capture");
        let same = Pair { base, other: base };
        let records = self.run(&same, Some(&mut capture));
        capture.finish().expect("a capture");
        fs::remove_file(&paths.client).expect("a capture");
        self.captured
            .push((base, paths.server.clone(), records.clone()));
        (paths.server, records)
    }

    /// Runs all flows with the client under the pair's base and the server under its other mechanism.
    fn run(&self, pair: &Pair, mut capture: Option<&mut Capture>) -> Vec<FlowRecord> {
        let [base, other] =
            [pair.base, pair.other].map(|name| name.parse::<Profile>().expect("a profile"));
        let run = |number| {
            let flow = self.network.flow(number);
            let mut spec = flow.settings.flow(&base);
            spec.server = flow.settings.flow(&other).server;
            let mut simulation = Simulation::new(&flow.path).expect("a path");
            match &mut capture {
                Some(capture) => simulation.run(&spec, SEED, FlowId(number), *capture),
                None => simulation.run(&spec, SEED, FlowId(number), &mut NoObserver),
            }
        };
        (0..self.flows).map(run).collect()
    }
}

fn cost(record: &FlowRecord) -> Cost {
    Cost {
        fct_ms: record.fct.expect("a complete flow").as_secs_f64() * 1e3,
        segments_sent: record.segments_sent,
        retransmissions: record.counters.retransmissions.total(),
        spurious: record.spurious,
        dropped: record.packets_dropped,
    }
}
