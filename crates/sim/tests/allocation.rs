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
    static N: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let n = N.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    let profiler = dhat::Profiler::builder()
        .trim_backtraces(Some(14))
        .file_name(format!("/tmp/scratch-tests2/heap-{n:02}.json"))
        .build();
    work();
    let t = dhat::HeapStats::get().total_blocks;
    drop(profiler);
    t
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
    for profile in PROFILES {
        let mut downloads = Downloads::new(profile, 10, "data:8-10");
        let first = allocations(|| {
            downloads.run(0);
        });
        let further = allocations(|| {
            for flow in 1..1000 {
                assert_eq!(downloads.run(flow).packets_dropped, 3);
            }
        });
        println!("{profile}: {first} then {further}");
        assert!(first > 0, "nothing is counted");
        assert!(further < 1000, "{profile}, three of ten segments lost");
    }

    for profile in PROFILES {
        for segments in [2000, 20_000] {
            let mut downloads = Downloads::new(profile, segments, "bernoulli:0.01");
            let mut records = [FlowRecord::default(); 2];
            let counts = records
                .each_mut()
                .map(|record| allocations(|| *record = downloads.run(0)));
            println!("{profile}, {segments} {counts:?}");
            println!("{:?}", records[0]);
            assert_eq!(records[0], records[1]);
            assert!(counts[1] < 1000000, "{profile}, {segments} segments");
        }
    }
}
