//! The networks and the pairs of mechanisms of the comparison.

use recoup_lab::settings::Settings;
use recoup_path::{HopSpec, LinkTrace, PathSpec, Queue};
use recoup_units::FlowId;
use std::path::Path;

/// A network and its flows. Each flow has its own round-trip time, length and receiver.
pub struct Network {
    pub name: &'static str,
    pub settings: &'static [(&'static str, &'static str)],
    /// Losses that are drawn for each transmission of a segment. The same transmission is lost under all
    /// mechanisms, whenever it is sent.
    drawn: Option<Drawn>,
    /// Whether the way to the client stands still at times.
    stalls: bool,
}

/// A loss process along the segments of a flow.
#[derive(Clone, Copy)]
struct Drawn {
    /// The probability that a burst begins at a segment.
    begins: f64,
    /// The probability that the burst goes on at the next segment.
    continues: f64,
    /// The probability that a retransmission is lost.
    again: f64,
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

/// Flows of one client's address in simulated captures.
const FLOWS_PER_ADDRESS: u64 = 60_000;

/// How often the delays of a network with stalls repeat.
const STALL_PERIOD_MS: u64 = 4000;

/// A path without a rate carries all packets of a flight at one instant. Linux's RACK then ignores some SACKs of
/// probes, see docs/stages.md.
const FAST: (&str, &str) = ("rate", "100Mbit");
const WHEEL: (&str, &str) = ("timers", "linux-wheel:250");
const REQUEST: (&str, &str) = ("request", "300B");
const CLOSE: (&str, &str) = ("close", "true");

const fn network(name: &'static str, settings: &'static [(&'static str, &'static str)]) -> Network {
    Network { name, settings, drawn: None, stalls: false }
}

/// Independent losses, of retransmissions too.
const fn independent(probability: f64) -> Option<Drawn> {
    Some(Drawn { begins: probability, continues: probability, again: probability })
}

const SIMULATED_NETWORKS: &[Network] = &[
    network("random 1 %", &[("drop", "bernoulli:1%"), FAST, WHEEL, REQUEST]),
    network("random 3 %", &[("drop", "bernoulli:3%"), CLOSE]),
    network("bursts", &[("drop", "gilbert-elliott:0.03,0.6,0.4"), FAST, WHEEL, CLOSE]),
    network("tail", &[("drop", "tail:1"), REQUEST]),
    network("third segment", &[("drop", "data:3"), WHEEL]),
    network("two segments", &[("drop", "data:9-10"), CLOSE]),
    network("lost retransmission", &[("drop", "data:5,data:5@2"), FAST, WHEEL, REQUEST]),
    network("small queue", &[("rate", "down:5Mbit,up:none"), ("queue", "12"), CLOSE]),
    network("large queue", &[("rate", "down:8Mbit,up:none"), ("queue", "40"), ("drop", "bernoulli:1%"), WHEEL]),
    network("lost ACKs", &[("drop", "down:bernoulli:1%,up:bernoulli:10%"), FAST, REQUEST]),
    network(
        "reordering",
        &[("reorder", "down:3%:30ms"), ("drop", "bernoulli:0.5%"), ("rate", "down:20Mbit,up:none"), WHEEL],
    ),
    Network { stalls: true, ..network("delay spikes", &[CLOSE]) },
];

const SIMULATED_PAIRS: [Pair; 6] = [
    pair("linux-6+notlp", "linux-6"),
    pair("linux-6", "linux-6+notlp"),
    pair("linux-3.17", "linux-3.17+tlp"),
    pair("linux-6", "rfc6675"),
    pair("linux-6", "linux-6+nosack"),
    pair("linux-6", "linux-6+slp"),
];

/// Networks on which every sender is captured, and each other one predicted.
pub const AGAIN: &[Network] = &[
    network("again random", &[("drop", "down:bernoulli:2%"), FAST, REQUEST]),
    network("again bursts", &[("drop", "down:gilbert-elliott:0.02,0.5,0.4"), ("rate", "30Mbit"), WHEEL, CLOSE]),
    network("again queue", &[("rate", "down:6Mbit,up:none"), ("queue", "14"), ("drop", "down:bernoulli:0.5%"), WHEEL]),
    network("again reordering", &[("reorder", "down:3%:25ms"), ("drop", "down:bernoulli:1%"), ("rate", "20Mbit")]),
];

/// The same, with which no rule was made.
pub const AGAIN_JUDGED: &[Network] = &[
    network("judged random", &[("drop", "down:bernoulli:4%"), ("rate", "40Mbit"), WHEEL, CLOSE]),
    network("judged bursts", &[("drop", "down:gilbert-elliott:0.01,0.3,0.6"), ("rate", "15Mbit"), REQUEST]),
    network("judged queue", &[("rate", "down:3Mbit,up:none"), ("queue", "25"), ("drop", "down:bernoulli:1%"), CLOSE]),
    network("judged lost ACKs", &[("drop", "down:bernoulli:1%,up:ack:3,up:ack:7,up:ack:12"), FAST, WHEEL]),
    Network { stalls: true, ..network("judged stalls", &[("drop", "down:bernoulli:0.5%"), WHEEL]) },
];

pub const SENDERS: &[&str] =
    &["linux-6", "linux-6+reno", "linux-6+bbr1", "linux-6+notlp", "linux-3.17", "linux-3.17+tlp", "rfc6675", "reno"];

const KERNEL_NETWORKS: &[Network] = &[
    Network { drawn: independent(0.01), ..network("random 1 %", &[FAST, REQUEST]) },
    Network { drawn: independent(0.03), ..network("random 3 %", &[FAST]) },
    Network { drawn: Some(Drawn { begins: 0.015, continues: 0.5, again: 0.05 }), ..network("bursts", &[FAST, CLOSE]) },
    network("tail", &[("drop", "tail:1"), FAST, REQUEST]),
    network("three of the tail", &[("drop", "tail:3"), FAST]),
    network("two segments", &[("drop", "data:9-10"), FAST, CLOSE]),
    Network { drawn: independent(0.005), ..network("reordering", &[("reorder", "down:3%:30ms"), FAST]) },
    network("small queue", &[("rate", "down:5Mbit,up:none"), ("queue", "12"), REQUEST]),
];

const KERNEL_PAIRS: [Pair; 4] = [
    pair("linux-6+notlp", "linux-6"),
    pair("linux-6", "linux-6+notlp"),
    pair("linux-6", "linux-6+nosack"),
    pair("linux-6+nosack", "linux-6"),
];

/// Each network with each pair.
pub struct Grid {
    pub networks: &'static [Network],
    pub pairs: &'static [Pair],
}

pub const SIMULATED: Grid = Grid { networks: SIMULATED_NETWORKS, pairs: &SIMULATED_PAIRS };

/// For the running kernel, whose sysctls stand for the mechanisms.
pub const KERNEL: Grid = Grid { networks: KERNEL_NETWORKS, pairs: &KERNEL_PAIRS };

/// For nginx, whose levers stand for the mechanisms. Each network has one round-trip time.
pub const NGINX: &[Network] = &[
    network("near 3 %", &[("rtt", "20ms"), ("rate", "50Mbit"), ("queue", "100"), ("drop", "down:bernoulli:3%")]),
    network("web 1 %", &[("rtt", "40ms"), ("rate", "20Mbit"), ("queue", "100"), ("drop", "down:bernoulli:1%")]),
    network(
        "far bursts",
        &[("rtt", "100ms"), ("rate", "8Mbit"), ("queue", "100"), ("drop", "down:gilbert-elliott:0.01,0.5")],
    ),
    network("queue of 15", &[("rtt", "60ms"), ("rate", "10Mbit"), ("queue", "15")]),
];

const fn pair(base: &'static str, other: &'static str) -> Pair {
    Pair { base, other }
}

/// A flow of a network.
pub struct Flow {
    /// Its number in the simulator, which places each kind of receiver at an address of its own.
    pub id: FlowId,
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
        let receiver = number % ACKS.len() as u64;
        let ack = ACKS[receiver as usize];
        let own = [("rtt", &*format!("{rtt:.1}ms")), ("segments", &*format!("{segments}")), ("ack", ack)];
        for (key, value) in own.iter().chain(self.settings) {
            let set = settings.set(key, value, Path::new("."));
            set.unwrap_or_else(|error| panic!("{}: {error}", self.name));
        }
        if let Some(drawn) = self.drawn {
            let rules = drawn.rules(number, settings.segments);
            let set = settings.set("drop", &rules, Path::new("."));
            set.unwrap_or_else(|error| panic!("{}: {error}", self.name));
        }
        let mut path = settings.path().expect("a path");
        if self.stalls {
            path.down.insert(0, stalls(number, rtt));
        }
        Flow { id: FlowId(number + receiver * FLOWS_PER_ADDRESS), settings, path }
    }
}

impl Drawn {
    /// The losses of a flow as rules of the `drop` setting.
    fn rules(self, flow: u64, segments: u64) -> String {
        /// Transmissions of a segment that may be lost.
        const COPIES: u64 = 4;
        let mut rules = Vec::new();
        let mut lost = false;
        for segment in 1..=segments {
            let probability = if lost { self.continues } else { self.begins };
            lost = random([flow, segment, 1]) < probability;
            if lost {
                rules.push(format!("data:{segment}"));
            }
            let copies = 2..=COPIES;
            let copies = copies.filter(|copy| random([flow, segment, *copy]) < self.again);
            rules.extend(copies.map(|copy| format!("data:{segment}@{copy}")));
        }
        match rules.is_empty() {
            true => "none".into(),
            false => rules.join(","),
        }
    }
}

/// A value in 0..1 for a key: SplitMix64's finalizer (Steele, Lea, Flood 2014) over its words.
fn random(key: [u64; 3]) -> f64 {
    let mixed = key.into_iter().fold(0_u64, |state, word| {
        let mut mixed = (state ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    });
    (mixed >> 11) as f64 / (1_u64 << 53) as f64
}

/// A link that delivers a packet each ms, and nothing for 100 to 700 ms, one to five round-trip times after the
/// first packet of the flow.
fn stalls(flow: u64, rtt_ms: f64) -> HopSpec {
    let begin = (rtt_ms * between((1.0, 5.0), spread(flow, 2))) as u64;
    let end = begin + between((100.0, 700.0), spread(flow, 3)) as u64;
    let times = (1..=STALL_PERIOD_MS).filter(|ms| !(begin..end).contains(ms));
    let lines: Vec<String> = times.map(|ms| ms.to_string()).collect();
    HopSpec::Link { trace: LinkTrace::parse(&lines.join("\n")).expect("a trace"), queue: Queue::Unlimited }
}

/// A value in 0..1 that fills the interval evenly as `flow` counts up: the additive recurrence of the powers of
/// the generalized golden ratio in four dimensions (Roberts 2018), so that the dimensions are independent.
pub fn spread(flow: u64, dimension: i32) -> f64 {
    const RATIO: f64 = 1.167_303_978_261_418_7;
    ((flow + 1) as f64 * RATIO.powi(-(dimension + 1))).fract()
}

/// The value at `share` of the way, on a logarithmic scale.
pub fn between((low, high): (f64, f64), share: f64) -> f64 {
    low * (high / low).powf(share)
}
