//! Queues that drop or mark packets before they are full.

use recoup_path::{HopSpec, PathSpec, Queue};
use recoup_recovery::{Event, Profile};
use recoup_sim::{EcnField, FlowSpec, Observer, Packet, Point, Simulation, TimerModel};
use recoup_tcp::flow::{FlowRecord, Host, Workload};
use recoup_tcp::{Config, Ecn};
use recoup_units::{BitRate, Direction, FlowId, Instant};
use std::collections::HashMap;
use std::time::Duration;

/// How long data segments were on their way, and which of them were marked.
#[derive(Debug, Default)]
struct Watch {
    sent: HashMap<u64, Instant>,
    delays: Vec<Duration>,
    marked: u64,
}

impl Observer for Watch {
    const WANTS_EVENTS: bool = false;

    fn on_packet(&mut self, now: Instant, point: Point, direction: Direction, packet: &Packet) {
        if direction != Direction::Down || packet.segment.payload_len == 0 {
            return;
        }
        match point {
            Point::Sent => {
                self.sent.insert(packet.ordinal, now);
            }
            Point::Arrived => {
                self.delays.push(now.since(self.sent[&packet.ordinal]));
                self.marked += u64::from(packet.ecn == EcnField::Ce);
            }
            Point::Dropped(_) => {}
        }
    }

    fn on_event(&mut self, _: Instant, _: FlowId, _: Host, _: &Event) {}
}

impl Watch {
    fn median(&self) -> Duration {
        let mut delays = self.delays.clone();
        delays.sort_unstable();
        delays[delays.len() / 2]
    }
}

/// 7 MB at 10 Mbit/s with a one-way delay of 20 ms.
fn download(queue: &str, ecn: Ecn) -> (FlowRecord, Watch) {
    let profile: Profile = "linux-6".parse().unwrap();
    let host = Config { ecn, ..Config::new(*profile.mechanisms()) };
    let rate = BitRate::from_bits_per_second(10_000_000).unwrap();
    let queue: Queue = queue.parse().unwrap();
    let delay = HopSpec::Delay(Duration::from_millis(20));
    let path = PathSpec { up: vec![delay.clone()], down: vec![HopSpec::Rate { rate, queue }, delay] };
    let spec = FlowSpec {
        client: host,
        server: host,
        timers: TimerModel::Exact,
        workload: Workload::exchange(100, 5000 * 1448),
    };
    let mut watch = Watch::default();
    let mut simulation = Simulation::new(&path).unwrap();
    let record = simulation.run(&spec, 1, FlowId(0), &mut watch);
    (record, watch)
}

#[test]
fn a_managed_queue_stays_short_and_the_link_busy() {
    let (deep, deep_delays) = download("1000p", Ecn::Off);
    assert!(deep_delays.median() > Duration::from_millis(100));
    // (queue, how much longer the flow may take): RED empties the queue after slow start.
    for (queue, most) in [("codel", 1.1), ("red:5-40", 1.25)] {
        let (record, delays) = download(queue, Ecn::Off);
        assert!(record.packets_dropped > 0, "{queue}");
        assert!(delays.median() < Duration::from_millis(45), "{queue}: {:?}", delays.median());
        let longer = record.fct.unwrap().as_secs_f64() / deep.fct.unwrap().as_secs_f64();
        assert!(longer < most, "{queue}: {longer}");
    }
}

#[test]
fn with_ecn_a_managed_queue_marks_and_nothing_is_retransmitted() {
    for queue in ["codel/ecn", "red:5-80/ecn"] {
        let (record, watch) = download(queue, Ecn::Ask);
        assert!(watch.marked > 0, "{queue}");
        assert_eq!(record.counters.retransmissions.total(), 0, "{queue}");
        assert!(watch.median() < Duration::from_millis(60), "{queue}");
        // Without the hosts' consent packets are dropped.
        let (record, watch) = download(queue, Ecn::Off);
        assert_eq!(watch.marked, 0, "{queue}");
        assert!(record.counters.retransmissions.total() > 0, "{queue}");
    }
}
