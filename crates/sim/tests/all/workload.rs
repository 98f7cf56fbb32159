//! Servers that write again later.

use recoup_path::{HopSpec, PathSpec};
use recoup_recovery::{Mechanisms, Trigger};
use recoup_sim::{FlowSpec, NoObserver, Simulation, TimerModel};
use recoup_tcp::flow::{FlowRecord, Host, TimedWrite, Workload};
use recoup_tcp::{self as tcp, Closed, State};
use recoup_units::FlowId;
use std::time::Duration;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// A flow with an RTT of 80 ms, whose server first writes at 120 ms.
fn run(workload: Workload, loss: &str) -> (Simulation, FlowRecord) {
    let config = tcp::Config::new(Mechanisms::LINUX_3_17);
    let spec = FlowSpec { client: config, server: config, timers: TimerModel::Exact, workload };
    let way = HopSpec::Delay(ms(40));
    let path = PathSpec { up: vec![way.clone()], down: vec![HopSpec::Loss(loss.parse().unwrap()), way] };
    let mut simulation = Simulation::new(&path).unwrap();
    let record = simulation.run(&spec, 1, FlowId(0), &mut NoObserver);
    (simulation, record)
}

fn writes(list: &[(u64, u64)]) -> Vec<TimedWrite> {
    let write = |&(after, bytes)| TimedWrite { after: ms(after), bytes };
    list.iter().map(write).collect()
}

#[test]
fn later_writes_are_sent_at_their_time() {
    // (first write, later writes (after ms, bytes), segments, FCT in ms). The FCT is 120 ms for the
    // first write + the last write's time + 40 ms.
    type Case<'a> = (u64, &'a [(u64, u64)], u64, u64);
    let cases: [Case<'_>; 6] = [
        (1448, &[(500, 1448)], 2, 660),
        (0, &[(500, 1448)], 1, 660),
        (0, &[(0, 1448)], 1, 160),
        (1448, &[(10, 100), (20, 100), (500, 100)], 4, 660),
        // Two writes at one instant are two segments, because Nagle's algorithm is off.
        (1448, &[(10, 100), (10, 100)], 3, 170),
        // Writes out of order are sent as soon as possible.
        (1448, &[(500, 100), (10, 100)], 3, 660),
    ];
    for close in [false, true] {
        for (response, list, segments, fct) in cases {
            let workload = Workload::exchange(0, response).with_later_writes(&writes(list)).closing(close);
            let (simulation, record) = run(workload.clone(), "none");
            assert_eq!(record.fct, Some(ms(fct)), "{workload:?}");
            assert_eq!(record.segments_sent, segments, "{workload:?}");
            let state = match close {
                false => State::Established,
                true => State::Closed(Closed::Gracefully),
            };
            assert_eq!(simulation.endpoint(Host::Server).state(), state);
        }
    }
}

#[test]
fn a_later_write_can_start_a_recovery() {
    // The only segment of the first write is lost. Its RTO is 280 ms, but the SACK of the second
    // write's segment, at 250 ms, triggers early retransmit.
    let workload = Workload::exchange(0, 1448).with_later_writes(&writes(&[(50, 1448)]));
    let (_, record) = run(workload, "data:1");
    assert_eq!(record.counters.retransmissions.total(), 1);
    assert_eq!(record.counters.retransmissions.of(Trigger::Early), 1, "{record:?}");
    assert!(record.completed());
}

#[test]
fn a_server_that_never_opens_writes_nothing() {
    let workload = Workload::exchange(0, 1448).with_later_writes(&writes(&[(50, 1448)]));
    let (_, record) = run(workload, "bernoulli:1");
    assert_eq!((record.fct, record.segments_sent), (None, 0));
}
