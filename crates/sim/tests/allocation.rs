//! A simulation that has run a flow of some kind allocates nothing for further ones: nothing a
//! packet, an ACK, a timer or a retransmission.

use recoup_path::HopSpec;
use recoup_recovery::Profile;
use recoup_sim::{FlowRecord, FlowSpec, NoObserver, PathSpec, Simulation, TimerModel, Workload};
use recoup_tcp::{AckPolicy, Config};
use recoup_units::FlowId;
use std::time::Duration;

#[global_allocator]
static ALLOC: dhat::Alloc = dhat::Alloc;

const PROFILES: [&str; 4] = [
    "linux-3.17",
    "linux-3.17+rtor",
    "linux-3.17+tlp",
    "linux-3.17+tlpr",
];
const MSS: u64 = 1448;
const SEED: u64 = 1;

/// Allocations and reallocations in `work`. Those of other threads count too.
fn allocations(work: impl FnOnce()) -> u64 {
    let _profiler = dhat::Profiler::builder().testing().build();
    work();
    dhat::HeapStats::get().total_blocks
}

/// Downloads of so many segments each over one path of 80 ms round trip.
struct Downloads {
    simulation: Simulation,
    spec: FlowSpec,
}

impl Downloads {
    fn new(profile: &str, segments: u64, loss: &str) -> Self {
        let profile: Profile = profile.parse().expect("a profile");
        let host = Config {
            acks: AckPolicy::Quick,
            ..Config::new(*profile.mechanisms())
        };
        let delay = HopSpec::Delay(Duration::from_millis(40));
        let path = PathSpec {
            up: vec![delay.clone()],
            down: vec![HopSpec::Loss(loss.parse().expect("a loss rule")), delay],
        };
        Self {
            simulation: Simulation::new(&path).expect("a path"),
            spec: FlowSpec {
                client: host,
                server: host,
                timers: TimerModel::Exact,
                workload: Workload {
                    request: 0,
                    response: segments * MSS,
                    close: false,
                },
            },
        }
    }

    fn run(&mut self, flow: u64) -> FlowRecord {
        self.simulation
            .run(&self.spec, SEED, FlowId(flow), &mut NoObserver)
    }
}

/// One test: another at the same time would be counted with it.
#[test]
fn flows_allocate_nothing_once_a_flow_as_large_has_run() {
    assert_eq!(
        allocations(|| drop(Box::new(SEED))),
        1,
        "nothing is counted"
    );

    for profile in PROFILES {
        let mut downloads = Downloads::new(profile, 10, "data:8-10");
        let warm_up = allocations(|| {
            (0..3).for_each(|flow| drop(downloads.run(flow)));
        });
        let more = allocations(|| {
            for flow in 3..1000 {
                assert_eq!(downloads.run(flow).packets_dropped, 3);
            }
        });
        println!("{profile}: {warm_up} then {more}");
        assert_eq!(more, 0, "{profile}, three of ten segments lost");
    }

    for profile in PROFILES {
        for segments in [2000, 20_000] {
            let mut downloads = Downloads::new(profile, segments, "bernoulli:0.01");
            let mut first = None;
            let warm_up = allocations(|| first = Some(downloads.run(0)));
            let mut second = None;
            let more = allocations(|| second = Some(downloads.run(0)));
            println!("{profile}, {segments}: {warm_up} then {more}");
            assert_eq!(second, first);
            assert_eq!(more, 0, "{profile}, {segments} segments");
        }
    }
}
