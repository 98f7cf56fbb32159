//! Counts the instructions of one fetch of 34 kB, with and without selective loss prevention (SLP),
//! with callgrind: both endpoints, the path and the event loop.
//!
//! The path is that of the scenario `fetch`, but without losses. The difference is therefore the cost of
//! SLP itself: its decisions, its delivery rate measurement, its copies and the ACKs of them.

// The macros generate items without documentation.
#![allow(missing_docs)]

use gungraun::{library_benchmark, library_benchmark_group, main};
use recoup_path::{HopSpec, PathSpec, Queue};
use recoup_recovery::Profile;
use recoup_sim::{FlowSpec, NoObserver, Simulation, TimerModel};
use recoup_tcp::{
    AckPolicy, Config,
    flow::{FlowRecord, Workload},
};
use recoup_units::{BitRate, FlowId};
use std::{hint::black_box, time::Duration};

/// A simulation that has run the same fetch before, so that it need not allocate.
fn fetch(profile: &str) -> (Simulation, FlowSpec) {
    let rate =
        HopSpec::Rate { rate: BitRate::from_bits_per_second(20_000_000).expect("a rate"), queue: Queue::Unlimited };
    let hops = vec![rate, HopSpec::Delay(Duration::from_millis(20))];
    let path = PathSpec { up: hops.clone(), down: hops };
    let profile: Profile = profile.parse().expect("a profile");
    let host =
        Config { acks: AckPolicy::Linux { quick: AckPolicy::LINUX_QUICK }, ..Config::new(*profile.mechanisms()) };
    let spec =
        FlowSpec { client: host, server: host, timers: TimerModel::Exact, workload: Workload::exchange(300, 34_000) };
    let mut simulation = Simulation::new(&path).expect("a path");
    simulation.run(&spec, 1, FlowId(0), &mut NoObserver);
    (simulation, spec)
}

#[library_benchmark]
#[bench::linux_3_17(fetch("linux-3.17"))]
#[bench::linux_3_17_slp(fetch("linux-3.17+slp"))]
#[bench::linux_6(fetch("linux-6"))]
#[bench::linux_6_slp(fetch("linux-6+slp"))]
fn a_fetch((mut simulation, spec): (Simulation, FlowSpec)) -> (FlowRecord, Simulation) {
    let record = simulation.run(black_box(&spec), 1, FlowId(1), &mut NoObserver);
    (record, simulation)
}

library_benchmark_group!(name = fetches, benchmarks = a_fetch);
main!(library_benchmark_groups = fetches);
