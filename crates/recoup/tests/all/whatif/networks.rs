//! The networks and the pairs of mechanisms of the comparison.

use recoup_lab::settings::Settings;
use recoup_path::{HopSpec, LinkTrace, PathSpec, Queue};
use std::path::Path;

/// A network and its flows. Each flow has its own round-trip time, length and receiver.
pub struct Network {
    pub name: &'static str,
    pub settings: &'static [(&'static str, &'static str)],
    /// Whether the way to the client stands still at times.
    pub stalls: bool,
}

/// A sender's mechanism in the capture, and the one that is tried.
pub struct Pair {
    pub base: &'static str,
    pub other: &'static str,
}

/// Shortest and longest round-trip time of a flow, in ms.
const RTT_MS: (f64, f64) = (20.0, 200.0);

/// Fewest and most segments of a flow.
const SEGMENTS: (f64, f64) = (10.0, 100.0);

/// The receivers' ways to acknowledge.
const ACKS: [&str; 3] = ["quick", "delayed", "linux"];

/// How often the delays of a network with stalls repeat.
const STALL_PERIOD_MS: u64 = 4000;

const WHEEL: (&str, &str) = ("timers", "linux-wheel:250");
const REQUEST: (&str, &str) = ("request", "300B");
const CLOSE: (&str, &str) = ("close", "true");

const fn network(name: &'static str, settings: &'static [(&'static str, &'static str)]) -> Network {
    Network {
        name,
        settings,
        stalls: false,
    }
}

pub const NETWORKS: &[Network] = &[
    network("random 1 %", &[("drop", "bernoulli:1%"), WHEEL, REQUEST]),
    network("random 3 %", &[("drop", "bernoulli:3%"), CLOSE]),
    network(
        "bursts",
        &[("drop", "gilbert-elliott:0.03,0.6,0.4"), WHEEL, CLOSE],
    ),
    network("tail", &[("drop", "tail:1"), REQUEST]),
    network("third segment", &[("drop", "data:3"), WHEEL]),
    network("two segments", &[("drop", "data:9-10"), CLOSE]),
    network(
        "lost retransmission",
        &[("drop", "data:5,data:5@2"), WHEEL, REQUEST],
    ),
    network(
        "small queue",
        &[("rate", "down:5Mbit,up:none"), ("queue", "12"), CLOSE],
    ),
    network(
        "large queue",
        &[
            ("rate", "down:8Mbit,up:none"),
            ("queue", "40"),
            ("drop", "bernoulli:1%"),
            WHEEL,
        ],
    ),
    network(
        "lost ACKs",
        &[("drop", "down:bernoulli:1%,up:bernoulli:10%"), REQUEST],
    ),
    network(
        "reordering",
        &[
            ("reorder", "down:3%:30ms"),
            ("drop", "bernoulli:0.5%"),
            ("rate", "down:20Mbit,up:none"),
            WHEEL,
        ],
    ),
    Network {
        name: "delay spikes",
        settings: &[CLOSE],
        stalls: true,
    },
];

pub const PAIRS: [Pair; 6] = [
    pair("linux-6+notlp", "linux-6"),
    pair("linux-6", "linux-6+notlp"),
    pair("linux-3.17", "linux-3.17+tlp"),
    pair("linux-6", "rfc6675"),
    pair("linux-6", "linux-6+nosack"),
    pair("linux-6", "linux-6+slp"),
];

/// The bases of the pairs.
pub const CAPTURED: [&str; 3] = ["linux-6+notlp", "linux-6", "linux-3.17"];

/// A path without a rate makes Linux's RACK ignore some SACKs of probes, see docs/stages.md.
const KERNEL_RATE: (&str, &str) = ("rate", "100Mbit");

pub const KERNEL_NETWORKS: &[Network] = &[
    network(
        "random 1 %",
        &[("drop", "bernoulli:1%"), KERNEL_RATE, REQUEST],
    ),
    network("random 3 %", &[("drop", "bernoulli:3%"), KERNEL_RATE]),
    network(
        "bursts",
        &[("drop", "gilbert-elliott:0.03,0.6,0.4"), KERNEL_RATE, CLOSE],
    ),
    network("tail", &[("drop", "tail:1"), KERNEL_RATE, REQUEST]),
    network("three of the tail", &[("drop", "tail:3"), KERNEL_RATE]),
    network("two segments", &[("drop", "data:9-10"), KERNEL_RATE, CLOSE]),
    network(
        "reordering",
        &[
            ("reorder", "down:3%:30ms"),
            ("drop", "bernoulli:0.5%"),
            KERNEL_RATE,
        ],
    ),
    network(
        "small queue",
        &[("rate", "down:5Mbit,up:none"), ("queue", "12"), REQUEST],
    ),
];

pub const KERNEL_PAIRS: [Pair; 4] = [
    pair("linux-6+notlp", "linux-6"),
    pair("linux-6", "linux-6+notlp"),
    pair("linux-6", "linux-6+nosack"),
    pair("linux-6+nosack", "linux-6"),
];

/// The bases of the kernel's pairs.
pub const KERNEL_CAPTURED: [&str; 3] = ["linux-6+notlp", "linux-6", "linux-6+nosack"];

const fn pair(base: &'static str, other: &'static str) -> Pair {
    Pair { base, other }
}

/// A flow of a network.
pub struct Flow {
    pub settings: Settings,
    pub path: PathSpec,
}

impl Network {
    /// The name as part of a file name.
    pub fn file_name(&self) -> String {
        self.name.replace(" %", "").replace(' ', "-")
    }

    pub fn flow(&self, number: u64) -> Flow {
        let mut settings = Settings::default();
        let rtt = between(RTT_MS, spread(number, 0));
        let segments = between(SEGMENTS, spread(number, 1)).round();
        let ack = ACKS[(number % ACKS.len() as u64) as usize];
        let own = [
            ("rtt", &*format!("{rtt:.1}ms")),
            ("segments", &*format!("{segments}")),
            ("ack", ack),
        ];
        for (key, value) in own.iter().chain(self.settings) {
            let set = settings.set(key, value, Path::new("."));
            set.unwrap_or_else(|error| panic!("{}: {error}", self.name));
        }
        let mut path = settings.path().expect("a path");
        if self.stalls {
            path.down.insert(0, stalls(number, rtt));
        }
        Flow { settings, path }
    }
}

/// A link that delivers a packet each ms, and nothing for 100 to 700 ms, one to five round-trip times after the
/// first packet of the flow.
fn stalls(flow: u64, rtt_ms: f64) -> HopSpec {
    let begin = (rtt_ms * between((1.0, 5.0), spread(flow, 2))) as u64;
    let end = begin + between((100.0, 700.0), spread(flow, 3)) as u64;
    let times = (1..=STALL_PERIOD_MS).filter(|ms| !(begin..end).contains(ms));
    let lines: Vec<String> = times.map(|ms| ms.to_string()).collect();
    HopSpec::Link {
        trace: LinkTrace::parse(&lines.join("\n")).expect("a trace"),
        queue: Queue::Unlimited,
    }
}

/// A value in 0..1 that fills the interval evenly as `flow` counts up: the additive recurrence of the powers of
/// the generalized golden ratio in four dimensions (Roberts 2018), so that the dimensions are independent.
fn spread(flow: u64, dimension: i32) -> f64 {
    const RATIO: f64 = 1.167_303_978_261_418_7;
    ((flow + 1) as f64 * RATIO.powi(-(dimension + 1))).fract()
}

/// The value at `share` of the way, on a logarithmic scale.
fn between((low, high): (f64, f64), share: f64) -> f64 {
    low * (high / low).powf(share)
}
