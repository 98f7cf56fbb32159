//! Measures the simulation of long flows: 1 % of their segments are lost, the RTT is 40 ms.
//!
//! Criterion's throughput counts data segments sent. The cost per segment must not depend on the length.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use recoup_path::{HopSpec, LossSpec, PathSpec};
use recoup_recovery::Profile;
use recoup_sim::{FlowSpec, NoObserver, Simulation, TimerModel};
use recoup_tcp::{Config, flow::Workload};
use recoup_units::FlowId;
use std::time::Duration;

fn long_flow(c: &mut Criterion) {
    let delay = HopSpec::Delay(Duration::from_millis(20));
    let loss: LossSpec = "bernoulli:0.01".parse().expect("a loss rule");
    let path = PathSpec { up: vec![delay.clone()], down: vec![HopSpec::Loss(loss), delay] };
    let profile: Profile = "linux-6".parse().expect("a profile");
    let host = Config::new(*profile.mechanisms());
    let mut group = c.benchmark_group("long_flow");
    group.sample_size(10);
    for segments in [10_000, 100_000, 300_000] {
        let spec = FlowSpec {
            client: host,
            server: host,
            timers: TimerModel::Exact,
            workload: Workload::exchange(0, segments * 1448),
        };
        let mut simulation = Simulation::new(&path).expect("a path");
        let sent = simulation.run(&spec, 1, FlowId(0), &mut NoObserver).segments_sent;
        group.throughput(Throughput::Elements(sent));
        group.bench_function(format!("{segments}"), |b| {
            b.iter(|| simulation.run(&spec, 1, FlowId(0), &mut NoObserver));
        });
    }
    group.finish();
}

criterion_group!(benches, long_flow);
criterion_main!(benches);
