//! A simulation that has run a flow allocates no memory for further flows of the same kind: none per
//! packet, ACK, timer or retransmission.

use recoup_path::HopSpec;
use recoup_path::PathSpec;
use recoup_recovery::Profile;
use recoup_sim::{FlowSpec, NoObserver, Simulation, TimerModel};
use recoup_tcp::flow::{FlowRecord, TimedWrite, Workload};
use recoup_tcp::{AckPolicy, Config};
use recoup_units::FlowId;
use std::time::Duration;

const PROFILES: [&str; 5] =
    ["linux-3.17", "linux-3.17+rtor", "linux-3.17+tlp", "linux-3.17+tlpr", "linux-3.17+tlpr+slp"];
const MSS: u64 = 1448;
const SEED: u64 = 1;

/// Allocations and reallocations in `work`, on this thread.
fn allocations(work: impl FnOnce()) -> u64 {
    allocation_counter::measure(work).count_total
}

/// Downloads of a number of segments over a path with an RTT of 80 ms.
struct Downloads {
    simulation: Simulation,
    spec: FlowSpec,
}

impl Downloads {
    fn new(profile: &str, segments: u64, loss: &str) -> Self {
        let profile: Profile = profile.parse().expect("a profile");
        let host = Config { acks: AckPolicy::Quick, ..Config::new(*profile.mechanisms()) };
        let delay = HopSpec::Delay(Duration::from_millis(40));
        let path =
            PathSpec { up: vec![delay.clone()], down: vec![HopSpec::Loss(loss.parse().expect("a loss rule")), delay] };
        Self {
            simulation: Simulation::new(&path).expect("a path"),
            spec: FlowSpec {
                client: host,
                server: host,
                timers: TimerModel::Exact,
                workload: Workload::exchange(0, segments * MSS),
            },
        }
    }

    fn run(&mut self, flow: u64) -> FlowRecord {
        self.simulation.run(&self.spec, SEED, FlowId(flow), &mut NoObserver)
    }
}

#[test]
fn further_flows_allocate_nothing() {
    for profile in PROFILES {
        short_flows_in_a_row(profile, 0);
        short_flows_in_a_row(profile, 3);
        for segments in [2000, 20_000] {
            a_long_flow_twice(profile, segments);
        }
    }
}

/// The last three of ten segments are lost. `later` more segments are written one by one.
fn short_flows_in_a_row(profile: &str, later: u32) {
    let mut downloads = Downloads::new(profile, 10, "data:8-10");
    let write = |i| TimedWrite { after: Duration::from_millis(300) * i, bytes: MSS };
    let workload = downloads.spec.workload.clone();
    let writes: Vec<_> = (1..=later).map(write).collect();
    downloads.spec.workload = workload.with_later_writes(&writes);
    let first = allocations(|| {
        downloads.run(0);
    });
    let further = allocations(|| {
        for flow in 1..1000 {
            assert_eq!(downloads.run(flow).packets_dropped, 3);
        }
    });
    println!("{profile}, 10 + {later} segments: {first} allocations, {further} in 999 further flows");
    assert!(first > 0, "nothing is counted");
    assert_eq!(further, 0);
}

/// 1 % of the packets are lost.
fn a_long_flow_twice(profile: &str, segments: u64) {
    let mut downloads = Downloads::new(profile, segments, "bernoulli:0.01");
    let mut records = [FlowRecord::default(); 2];
    let [first, again] = records.each_mut().map(|record| allocations(|| *record = downloads.run(0)));
    println!("{profile}, {segments} segments: {first} allocations, {again} the second time");
    assert!(records[0].counters.retransmissions.total() > segments / 200);
    assert_eq!(records[0], records[1]);
    assert_eq!(again, 0);
    // Buffers double when they grow, so even the first flow does not allocate per segment.
    assert!(first < 100);
}
