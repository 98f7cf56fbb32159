//! The truth: the same flows over the same network under two mechanisms.

use super::networks::{Network, Pair};
use recoup_tcp::flow::FlowRecord;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

/// What a flow cost under one mechanism.
#[derive(Clone, Copy, Debug, Default)]
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
    Mean { mean, half_width: 1.96 * (squares / (n - 1.0) / n).sqrt() }
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
        let mut text = String::from("flow\trtt_ms\tsegments\tack\tfct_ms\tsent\tretransmissions\tspurious\tdropped\n");
        for (number, flow) in self.flows.iter().enumerate() {
            let FlowTruth { rtt_ms, segments, ack, .. } = flow;
            let cost = which(flow);
            writeln!(
                text,
                "{number}\t{rtt_ms}\t{segments}\t{ack}\t{:.6}\t{}\t{}\t{}\t{}",
                cost.fct_ms, cost.segments_sent, cost.retransmissions, cost.spurious, cost.dropped,
            )
            .expect("text");
        }
        text
    }
}

impl From<&FlowRecord> for Cost {
    fn from(record: &FlowRecord) -> Self {
        Self {
            fct_ms: record.fct.expect("a complete flow").as_secs_f64() * 1e3,
            segments_sent: record.segments_sent,
            retransmissions: record.counters.retransmissions.total(),
            spurious: record.spurious,
            dropped: record.packets_dropped,
        }
    }
}

/// The cost of each flow. The flows run one after another, so a flow's number is that of its connection in the
/// capture.
pub type Run = Vec<Cost>;

/// What runs the flows of a network.
pub trait Stage: Sync {
    /// Runs the first `flows` flows with these mechanisms at the server, which sends the data. There the
    /// capture is taken, too.
    fn run(&self, network: &Network, flows: u64, server: &str, capture: Option<&Path>) -> Run;
}

/// The flows of a network under several mechanisms.
pub struct Reruns<'a> {
    network: &'a Network,
    folder: PathBuf,
    runs: HashMap<&'static str, Run>,
}

impl<'a> Reruns<'a> {
    /// Runs the flows under all mechanisms of the pairs, each once. The captures of the bases go into
    /// `folder`.
    pub fn new(stage: &impl Stage, network: &'a Network, flows: u64, pairs: &[Pair], folder: &Path) -> Self {
        let folder = folder.join("captures");
        fs::create_dir_all(&folder).expect("a folder");
        let mut reruns = Self { network, folder, runs: HashMap::new() };
        let bases: HashSet<&str> = pairs.iter().map(|pair| pair.base).collect();
        let servers: HashSet<&str> = pairs.iter().flat_map(|pair| [pair.base, pair.other]).collect();
        let runs = thread::scope(|scope| {
            let run = |server| {
                let capture = reruns.capture(server);
                let is_base = bases.contains(server);
                scope.spawn(move || {
                    let capture = is_base.then_some(&*capture);
                    (server, stage.run(network, flows, server, capture))
                })
            };
            let running: Vec<_> = servers.into_iter().map(run).collect();
            let runs = running.into_iter().map(|run| run.join().expect("a run"));
            runs.collect()
        });
        reruns.runs = runs;
        reruns
    }

    /// The flows under both mechanisms of a pair.
    pub fn truth(&self, pair: &'a Pair) -> Truth<'a> {
        let [base, other] = [pair.base, pair.other].map(|server| &self.runs[server]);
        let flows = (0..).zip(base.iter().zip(other));
        let flows = flows.map(|(number, (base, other))| {
            let settings = self.network.flow(number).settings;
            FlowTruth {
                rtt_ms: settings.rtt.as_secs_f64() * 1e3,
                segments: settings.segments,
                ack: settings.get("ack").unwrap_or_default(),
                base: *base,
                other: *other,
            }
        });
        Truth { network: self.network, pair, capture: self.capture(pair.base), flows: flows.collect() }
    }

    /// The capture under this mechanism.
    pub fn capture(&self, server: &str) -> PathBuf {
        let name = format!("{}.{server}.pcap", self.network.file_name());
        self.folder.join(name)
    }
}
