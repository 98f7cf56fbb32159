//! The simulations whose cost per segment is measured: in time by the targets `tail_loss`, `long_flow` and
//! `dumbbell`, in instructions by `simulate_instructions`.

use recoup_path::{HopSpec, LossSpec, PathSpec, Queue};
use recoup_recovery::Profile;
use recoup_sim::{
    FlowSpec, NoObserver, Simulation, TimerModel,
    world::{FlowEnd, RouteId, Start, Topology, Traffic, World},
};
use recoup_tcp::{
    AckPolicy, Config,
    flow::{FlowRecord, ScriptProgress, Workload},
};
use recoup_units::{BitRate, FlowId, Instant};
use siphasher::sip::SipHasher13;
use std::{cmp::Reverse, collections::BinaryHeap, hash::Hasher, time::Duration};

/// The payload of a full segment, in bytes.
const MSS: u64 = 1448;

/// Flows of one kind, which run one after another.
pub struct Flows {
    simulation: Simulation,
    spec: FlowSpec,
}

impl Flows {
    /// The download of the tail-loss scenario: three of ten segments are lost, the RTT is 80 ms.
    pub fn tail_loss(profile: &str) -> Self {
        let host = Config { acks: AckPolicy::Quick, ..host(profile) };
        Self::over(Duration::from_millis(40), Some("data:8-10"), host, Workload::exchange(0, 10 * MSS))
    }

    /// A download of this many segments: 1 % of them are lost, the RTT is 40 ms.
    pub fn long(segments: u64) -> Self {
        let workload = Workload::exchange(0, segments * MSS);
        Self::over(Duration::from_millis(20), Some("bernoulli:0.01"), host("linux-6"), workload)
    }

    /// A download of this many segments, which is closed, over a link of 10 Mbit/s with an RTT of 40 ms.
    pub fn over_link(segments: u64) -> Self {
        let delay = HopSpec::Delay(Duration::from_millis(20));
        let path = PathSpec { up: vec![delay.clone()], down: vec![link(10), delay] };
        Self { simulation: Simulation::new(&path).expect("a path"), spec: closed(segments) }
    }

    fn over(one_way: Duration, loss: Option<&str>, host: Config, workload: Workload) -> Self {
        let delay = HopSpec::Delay(one_way);
        let loss = loss.map(|rule| HopSpec::Loss(rule.parse::<LossSpec>().expect("a loss rule")));
        let path = PathSpec { up: vec![delay.clone()], down: loss.into_iter().chain([delay]).collect() };
        let simulation = Simulation::new(&path).expect("a path");
        Self { simulation, spec: FlowSpec { client: host, server: host, timers: TimerModel::Exact, workload } }
    }

    /// Runs the flow with this number.
    pub fn run(&mut self, flow: u64) -> FlowRecord {
        self.simulation.run(&self.spec, 1, FlowId(flow), &mut NoObserver)
    }
}

fn host(profile: &str) -> Config {
    let profile: Profile = profile.parse().expect("a profile");
    Config::new(*profile.mechanisms())
}

fn link(mbit: u64) -> HopSpec {
    let rate = BitRate::from_bits_per_second(mbit * 1_000_000).expect("a rate");
    HopSpec::Rate { rate, queue: Queue::Packets(100) }
}

/// Flows of this many segments, which are closed.
fn closed(segments: u64) -> FlowSpec {
    let host = host("linux-6");
    FlowSpec {
        client: host,
        server: host,
        timers: TimerModel::Exact,
        workload: Workload::exchange(0, segments * MSS).closing(true),
    }
}

const MEAN_THINK_TIME: Duration = Duration::from_millis(70);

/// The time simulated of a dumbbell.
const UNTIL: Instant = Instant::from_millis(5_000);

/// Runs five seconds of a dumbbell: this many pairs of hosts share one bottleneck of 100 Mbit/s with a queue of 100
/// packets and a one-way delay of 20 ms. Each pair runs flows of so many segments one after another, with exponential
/// think times of 70 ms on average in between. Returns the data segments sent, also by flows that are cut off.
pub fn dumbbell(pairs: usize, segments: u64) -> u64 {
    let (topology, route) = topology();
    let mut world = World::new(&topology, 1).expect("a topology");
    let mut traffic = Pairs::new(pairs, segments, route);
    world.run(&mut traffic, UNTIL, &mut NoObserver);
    world.cut_off(&mut traffic);
    traffic.segments_sent
}

fn topology() -> (Topology, RouteId) {
    let mut topology = Topology::default();
    let delay = HopSpec::Delay(Duration::from_millis(20));
    let [up, down] = ["up", "down"].map(|name| topology.add_link(name, vec![link(100), delay.clone()]));
    let route = topology.add_route(&[up], &[down]);
    (topology, route)
}

/// Pairs of hosts that run one flow after another.
struct Pairs {
    spec: FlowSpec,
    route: RouteId,
    /// When pairs begin their next flows.
    starts: BinaryHeap<Reverse<(Instant, usize)>>,
    /// The pair of each flow.
    pairs: Vec<usize>,
    segments_sent: u64,
}

impl Pairs {
    fn new(pairs: usize, segments: u64, route: RouteId) -> Self {
        let spec = closed(segments);
        let mut all = Self { spec, route, starts: BinaryHeap::new(), pairs: Vec::new(), segments_sent: 0 };
        for pair in 0..pairs {
            all.think(pair, Instant::ZERO);
        }
        all
    }

    fn think(&mut self, pair: usize, now: Instant) {
        let mut hasher = SipHasher13::new();
        hasher.write_usize(pair);
        hasher.write_usize(self.pairs.len());
        let share = (hasher.finish() >> 11) as f64 / (1u64 << 53) as f64;
        let think = MEAN_THINK_TIME.mul_f64(-(1.0 - share).ln());
        self.starts.push(Reverse((now + think, pair)));
    }
}

impl Traffic for Pairs {
    type Application = ScriptProgress;

    fn next_start(&self) -> Option<Instant> {
        self.starts.peek().map(|Reverse((at, _))| *at)
    }

    fn start(&mut self, _: Instant) -> Start<'_, ScriptProgress> {
        let Reverse((_, pair)) = self.starts.pop().expect("a start is due");
        self.pairs.push(pair);
        let Workload { client, server } = &self.spec.workload;
        Start {
            flow: FlowId(self.pairs.len() as u64 - 1),
            route: self.route,
            spec: &self.spec,
            applications: [client, server].map(ScriptProgress::new),
        }
    }

    fn on_complete(&mut self, now: Instant, flow: FlowId) {
        self.think(self.pairs[flow.0 as usize], now);
    }

    fn on_end(&mut self, _: Instant, ended: &FlowEnd<'_>) {
        self.segments_sent += ended.record.segments_sent;
    }
}
