//! Measures the world of the scenario `dumbbell`: pairs of hosts share one bottleneck of 100 Mbit/s with a queue of
//! 100 packets and a one-way delay of 20 ms. Each pair runs one flow after another, with exponential think times of
//! 70 ms on average in between. The first cases differ in the number of pairs, the others in the length of flows. The
//! group `link_rate` measures single flows over a link of 10 Mbit/s for comparison.
//!
//! Criterion's throughput counts data segments sent, so its time per element is the cost per segment, with
//! handshakes, closes and ACKs included.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use recoup_path::{HopSpec, PathSpec, Queue};
use recoup_recovery::Profile;
use recoup_sim::{
    FlowSpec, NoObserver, Simulation, TimerModel,
    world::{FlowEnd, RouteId, Start, Topology, Traffic, World},
};
use recoup_tcp::{
    Config,
    flow::{ScriptProgress, Workload},
};
use recoup_units::{BitRate, FlowId, Instant};
use siphasher::sip::SipHasher13;
use std::{cmp::Reverse, collections::BinaryHeap, hash::Hasher, time::Duration};

const MEAN_THINK_TIME: Duration = Duration::from_millis(70);

/// The time simulated.
const UNTIL: Instant = Instant::from_millis(5_000);

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

/// Flows of this many segments, which are closed.
fn spec(segments: u64) -> FlowSpec {
    let profile: Profile = "linux-6".parse().expect("a profile");
    let host = Config::new(*profile.mechanisms());
    FlowSpec {
        client: host,
        server: host,
        timers: TimerModel::Exact,
        workload: Workload::exchange(0, segments * 1448).closing(true),
    }
}

impl Pairs {
    fn new(pairs: usize, segments: u64, route: RouteId) -> Self {
        let mut all =
            Self { spec: spec(segments), route, starts: BinaryHeap::new(), pairs: Vec::new(), segments_sent: 0 };
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

fn topology() -> (Topology, RouteId) {
    let mut topology = Topology::default();
    let rate = BitRate::from_bits_per_second(100_000_000).expect("a rate");
    let queue = Queue::Packets(100);
    let delay = HopSpec::Delay(Duration::from_millis(20));
    let [up, down] =
        ["up", "down"].map(|name| topology.add_link(name, vec![HopSpec::Rate { rate, queue }, delay.clone()]));
    let route = topology.add_route(&[up], &[down]);
    (topology, route)
}

/// Runs the world and returns the data segments that ended flows sent.
fn run(pairs: usize, segments: u64) -> u64 {
    let (topology, route) = topology();
    let mut world = World::new(&topology, 1).expect("a topology");
    let mut traffic = Pairs::new(pairs, segments, route);
    world.run(&mut traffic, UNTIL, &mut NoObserver);
    traffic.segments_sent
}

fn dumbbell(c: &mut Criterion) {
    let mut group = c.benchmark_group("dumbbell");
    group.sample_size(10);
    let by_pairs = [10, 100, 1000].map(|pairs| (pairs, 10));
    let by_length = [1, 100, 1000].map(|segments| (100, segments));
    for (pairs, segments) in by_pairs.into_iter().chain(by_length) {
        group.throughput(Throughput::Elements(run(pairs, segments)));
        let id = BenchmarkId::new(format!("{pairs} pairs"), format!("{segments} segments"));
        group.bench_function(id, |b| b.iter(|| run(pairs, segments)));
    }
    group.finish();
}

/// Single flows over a link with a rate, one after another.
fn link_rate(c: &mut Criterion) {
    let delay = HopSpec::Delay(Duration::from_millis(20));
    let rate = BitRate::from_bits_per_second(10_000_000).expect("a rate");
    let queue = Queue::Packets(100);
    let path = PathSpec { up: vec![delay.clone()], down: vec![HopSpec::Rate { rate, queue }, delay] };
    let mut group = c.benchmark_group("link_rate");
    for segments in [10, 100, 1000] {
        let spec = spec(segments);
        let mut simulation = Simulation::new(&path).expect("a path");
        let mut flow = 0;
        let sent = simulation.run(&spec, 1, FlowId(0), &mut NoObserver).segments_sent;
        group.throughput(Throughput::Elements(sent));
        group.bench_function(format!("{segments} segments"), |b| {
            b.iter(|| {
                flow += 1;
                simulation.run(&spec, 1, FlowId(flow), &mut NoObserver)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, dumbbell, link_rate);
criterion_main!(benches);
