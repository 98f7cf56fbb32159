use super::*;
use crate::{FlowSpec, Simulation, TimerModel};
use recoup_path::PathSpec;
use recoup_recovery::Mechanisms;
use recoup_tcp::flow::Workload;

/// Counts its calls; wants events if `E`.
#[derive(Debug, Default, PartialEq)]
struct Counter<const E: bool> {
    packets: u32,
    events: u32,
    settled: u32,
}

impl<const E: bool> Observer for Counter<E> {
    const WANTS_EVENTS: bool = E;

    fn on_packet(&mut self, _: Instant, _: Point, _: Direction, _: &Packet) {
        self.packets += 1;
    }

    fn on_event(&mut self, _: Instant, _: FlowId, _: Host, _: &Event) {
        self.events += 1;
    }

    fn on_settled(&mut self, _: Instant, _: Host, _: &Endpoint) {
        self.settled += 1;
    }
}

fn watch(observer: &mut impl Observer) {
    let config = recoup_tcp::Config::new(Mechanisms::LINUX_3_17);
    let spec = FlowSpec {
        client: config,
        server: config,
        timers: TimerModel::Exact,
        workload: Workload::exchange(100, 10_000),
    };
    let mut simulation = Simulation::new(&PathSpec::default()).unwrap();
    simulation.run(&spec, 1, FlowId(0), observer);
}

#[test]
fn each_of_several_observers_gets_what_it_wants() {
    let (mut alone, mut plain) = (Counter::<true>::default(), Counter::<false>::default());
    watch(&mut alone);
    watch(&mut plain);
    assert!(alone.packets > 0 && alone.events > 0 && alone.settled > 0);
    assert_eq!(plain.events, 0);

    let mut together = (Counter::<true>::default(), (Some(Counter::<false>::default()), None::<Counter<false>>));
    watch(&mut &mut together);
    assert_eq!(together.0, alone);
    assert_eq!(together.1.0, Some(plain));
}
