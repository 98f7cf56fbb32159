//! Measures the simulation of the tail-loss scenario: three of ten segments are lost, the RTT is 80 ms.
//! It runs on one thread without events, and includes endpoints, path and event loop.
//!
//! Criterion's throughput counts data segments sent, so its time per element is the cost per segment.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use recoup_path::{HopSpec, PathSpec};
use recoup_recovery::Profile;
use recoup_sim::{FlowSpec, NoObserver, Simulation, TimerModel};
use recoup_tcp::{AckPolicy, Config, flow::Workload};
use recoup_units::FlowId;
use std::time::Duration;

fn tail_loss(c: &mut Criterion) {
    let delay = HopSpec::Delay(Duration::from_millis(40));
    let loss: recoup_path::LossSpec = "data:8-10".parse().expect("a loss rule");
    let path = PathSpec { up: vec![delay.clone()], down: vec![HopSpec::Loss(loss), delay] };
    let mut group = c.benchmark_group("tail_loss");
    for name in ["linux-3.17", "linux-3.17+rtor", "linux-3.17+tlp", "linux-3.17+tlpr"] {
        let profile: Profile = name.parse().expect("a profile");
        let host = Config { acks: AckPolicy::Quick, ..Config::new(*profile.mechanisms()) };
        let spec =
            FlowSpec { client: host, server: host, timers: TimerModel::Exact, workload: Workload::exchange(0, 14_480) };
        let mut simulation = Simulation::new(&path).expect("a path");
        let mut flow = 0;
        let sent = simulation.run(&spec, 1, FlowId(0), &mut NoObserver).segments_sent;
        group.throughput(Throughput::Elements(sent));
        group.bench_function(name, |b| {
            b.iter(|| {
                flow += 1;
                simulation.run(&spec, 1, FlowId(flow), &mut NoObserver)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, tail_loss);
criterion_main!(benches);
