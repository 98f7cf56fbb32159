use super::*;
use crate::packet::Way;
use crate::{NoObserver, Packet, Simulation, TimerModel};
use recoup_path::{CoDel, GilbertElliott, HopSpec, LossKind, LossSpec, PathSpec, Probability, Queue, Red};
use recoup_recovery::{Event, Profile};
use recoup_tcp as tcp;
use recoup_tcp::flow::{ScriptProgress, Workload};
use recoup_units::{BitRate, Direction};
use std::time::Duration;

const MSS: u64 = 1448;

const FOREVER: Instant = Instant::from_nanos(u64::MAX);

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn spec(profile: &str, workload: Workload) -> FlowSpec {
    let profile: Profile = profile.parse().unwrap();
    let config = tcp::Config::new(*profile.mechanisms());
    FlowSpec { client: config, server: config, timers: TimerModel::Exact, workload }
}

fn rate(bits: u64, queue: Queue) -> HopSpec {
    let rate = BitRate::from_bits_per_second(bits).unwrap();
    HopSpec::Rate { rate, queue }
}

/// Flows with equal hosts, each with its start and its route. With `again`, each is followed by another one on
/// its route, this long after it completed, as long as flows are left to begin.
#[derive(Debug)]
struct Flows {
    spec: FlowSpec,
    starts: Vec<(Instant, RouteId)>,
    begun: Vec<RouteId>,
    again: Option<(Duration, u64)>,
    completed: Vec<(FlowId, Instant)>,
    records: Vec<(FlowId, FlowRecord)>,
}

impl Flows {
    fn new(spec: FlowSpec, starts: Vec<(Instant, RouteId)>) -> Self {
        Self { spec, starts, begun: Vec::new(), again: None, completed: Vec::new(), records: Vec::new() }
    }
}

impl Traffic for Flows {
    type Application = ScriptProgress;

    fn next_start(&self) -> Option<Instant> {
        self.starts.iter().map(|(at, _)| *at).min()
    }

    fn start(&mut self, _: Instant) -> Start<'_, ScriptProgress> {
        let first = (0..self.starts.len()).min_by_key(|i| self.starts[*i].0);
        let (_, route) = self.starts.remove(first.unwrap());
        self.begun.push(route);
        let Workload { client, server } = &self.spec.workload;
        Start {
            flow: FlowId(self.begun.len() as u64 - 1),
            route,
            spec: &self.spec,
            applications: [client, server].map(ScriptProgress::new),
        }
    }

    fn on_complete(&mut self, now: Instant, flow: FlowId) {
        self.completed.push((flow, now));
        if let Some((think, left)) = &mut self.again
            && *left > 0
        {
            *left -= 1;
            let route = self.begun[flow.0 as usize];
            self.starts.push((now + *think, route));
        }
    }

    fn on_end(&mut self, _: Instant, &FlowEnd { flow, record, .. }: &FlowEnd<'_>) {
        self.records.push((flow, *record));
    }
}

/// Records the calls of an observer.
#[derive(Debug, Default, PartialEq)]
struct Log(Vec<String>);

impl Observer for Log {
    const WANTS_EVENTS: bool = true;

    fn on_packet(&mut self, now: Instant, point: Point, direction: Direction, packet: &Packet) {
        // A simulation of one flow has no links that a packet could pass.
        let packet = Packet { way: Way::begin(0, 0, Direction::Up), ..*packet };
        self.0.push(format!("{now:?} {point:?} {direction:?} {packet:?}"));
    }

    fn on_event(&mut self, now: Instant, flow: FlowId, host: Host, event: &Event) {
        self.0.push(format!("{now:?} {flow:?} {host:?} {event:?}"));
    }
}

/// Counts packets that arrive.
#[derive(Debug)]
struct Arrivals(u64);

impl Observer for Arrivals {
    const WANTS_EVENTS: bool = false;

    fn on_packet(&mut self, _: Instant, point: Point, _: Direction, _: &Packet) {
        self.0 += u64::from(point == Point::Arrived);
    }

    fn on_event(&mut self, _: Instant, _: FlowId, _: Host, _: &Event) {}
}

#[test]
fn a_world_with_too_much_traffic_ends() {
    for (most, overload, events) in [
        ((20, 1000), Some(Overload::Flows), 0..30),
        ((200, 150), Some(Overload::Packets), 0..2000),
        ((200, 1000), None, 200..2000),
    ] {
        let mut topology = Topology::default();
        let [up, down] = ["up", "down"].map(|name| topology.add_link(name, vec![HopSpec::Delay(ms(20))]));
        let route = topology.add_route(&[up], &[down]);
        let mut world = World::new(&topology, 7).unwrap();
        world.most = most;
        let start = |i: u64| (Instant::from_millis(i), route);
        let spec = spec("linux-6", Workload::exchange(300, 10 * MSS));
        let ended = world.run(&mut Flows::new(spec, (0..100).map(start).collect()), FOREVER, &mut NoObserver);
        assert_eq!(ended.overload, overload);
        assert!(events.contains(&ended.events), "{ended:?}");
    }
}

#[test]
fn a_world_of_one_flow_is_a_simulation() {
    let loss = |rule: &str| HopSpec::Loss(rule.parse::<LossSpec>().unwrap());
    let queue = rate(10_000_000, Queue::Packets(20));
    let up = vec![loss("ack:7"), HopSpec::Delay(ms(20))];
    let down = vec![loss("data:3"), loss("data:40-44"), queue, HopSpec::Delay(ms(20))];
    for profile in ["linux-3.17", "linux-6", "rfc6675+tlpr"] {
        for closing in [false, true] {
            let workload = Workload::exchange(300, 200 * MSS).closing(closing);
            let spec = spec(profile, workload);
            let path = PathSpec { up: up.clone(), down: down.clone() };
            let mut alone = Log::default();
            let mut simulation = Simulation::new(&path).unwrap();
            let record = simulation.run(&spec, 7, FlowId(0), &mut alone);

            let mut topology = Topology::default();
            let [up, down] = [topology.add_link("up", up.clone()), topology.add_link("down", down.clone())];
            let route = topology.add_route(&[up], &[down]);
            let mut world = World::new(&topology, 7).unwrap();
            let mut flows = Flows::new(spec, vec![(Instant::ZERO, route)]);
            let mut shared = Log::default();
            let ended = world.run(&mut flows, FOREVER, &mut shared);
            assert_eq!(ended.open, 0);
            let (_, in_world) = flows.records[0];
            let events = record.events; // counted by packet here, by instant there
            assert_eq!(FlowRecord { events, ..in_world }, record, "{profile}");
            assert_eq!(alone.0.len(), shared.0.len());
            for (alone, shared) in alone.0.iter().zip(&shared.0) {
                assert_eq!(alone, shared, "{profile}");
            }
        }
    }
}

/// A dumbbell: flows of `pairs` pairs of hosts share a bottleneck each way.
fn dumbbell(bits: u64, queue: u32, owd: Duration) -> (Topology, RouteId, [LinkId; 2]) {
    let mut topology = Topology::default();
    let access = topology.add_link("access", vec![HopSpec::Delay(owd / 2)]);
    let bottleneck = |topology: &mut Topology, name: &str| {
        let hops = vec![rate(bits, Queue::Packets(queue)), HopSpec::Delay(owd / 2)];
        topology.add_link(name, hops)
    };
    let up = bottleneck(&mut topology, "up");
    let down = bottleneck(&mut topology, "down");
    let route = topology.add_route(&[access, up], &[access, down]);
    (topology, route, [up, down])
}

#[test]
fn flows_share_a_bottleneck() {
    let (topology, route, [_, down]) = dumbbell(10_000_000, 50, ms(20));
    let mut world = World::new(&topology, 1).unwrap();
    let spec = spec("linux-6", Workload::exchange(100, 1000 * MSS).closing(true));
    let starts = (0..4).map(|i| (Instant::ZERO + ms(i), route)).collect();
    let mut flows = Flows::new(spec, starts);
    let ended = world.run(&mut flows, FOREVER, &mut NoObserver);
    assert_eq!((ended.open, flows.records.len()), (0, 4));
    // The bottleneck carries at most 10 Mbit/s, and is nearly always busy until the last flow completes.
    let last = flows.completed.last().unwrap().1;
    let seconds = last.since(Instant::ZERO).as_secs_f64();
    let record = world.link(down);
    let rate = record.bytes_delivered as f64 * 8.0 / seconds / 1e6;
    assert!((9.0..=10.0).contains(&rate), "{rate} Mbit/s");
    assert!(record.dropped_by_queue > 0, "{record:?}");
    let dropped: u64 = flows.records.iter().map(|(_, r)| r.packets_dropped).sum();
    assert_eq!(dropped, record.dropped_by_queue);
    for (flow, of_flow) in &flows.records {
        let drops = record.drops_by_flow.get(flow).copied().unwrap_or(0);
        assert_eq!(drops, of_flow.packets_dropped, "{flow:?}");
    }
    // 50 packets of 1500 bytes wait for 60 ms, and the one that is transmitted takes at most 1.2 ms more.
    let [median, most] = [0.5, 1.0].map(|share| record.queueing.quantile(share).unwrap());
    assert!(record.queueing.longest() <= Duration::from_micros(61_200));
    assert!(most > ms(58) && median > ms(10), "{median:?}, {most:?}");
    let left = record.packets - record.dropped_by_queue;
    assert_eq!(record.queueing.count(), left);
    // None of them gets less than a third of its share.
    for (flow, at) in &flows.completed {
        assert!(at.since(Instant::ZERO).as_secs_f64() > seconds / 3.0, "{flow:?}");
    }
}

#[test]
fn links_count_marks_and_the_delays_of_managed_queues() {
    let codel = CoDel { ecn: true, ..CoDel::default() };
    let red = Red { min: 5, max: 15, ecn: true };
    for queue in [Queue::CoDel(codel), Queue::Red(red)] {
        let mut topology = Topology::default();
        let down = topology.add_link("down", vec![rate(5_000_000, queue)]);
        let both = topology.add_link("both", vec![HopSpec::Delay(ms(10))]);
        let route = topology.add_route(&[both], &[both, down]);
        let mut world = World::new(&topology, 1).unwrap();
        let mut spec = spec("linux-6", Workload::exchange(100, 2000 * MSS));
        for host in [&mut spec.client, &mut spec.server] {
            host.ecn = recoup_tcp::Ecn::Ask;
        }
        let mut flows = Flows::new(spec, vec![(Instant::ZERO, route); 2]);
        world.run(&mut flows, FOREVER, &mut NoObserver);
        let (record, other) = (world.link(down), world.link(both));
        assert!(record.marked > 10, "{queue:?}: {record:?}");
        assert_eq!(other.marked, 0);
        assert_eq!(other.queueing.longest(), Duration::ZERO);
        let [median, most] = [0.5, 1.0].map(|share| record.queueing.quantile(share).unwrap());
        assert!(median > ms(2) && most > median, "{median:?}, {most:?}");
        assert_eq!(record.queueing.count(), record.packets - record.dropped_by_queue);
    }
}

#[test]
fn slots_are_used_again_and_the_result_does_not_depend_on_it() {
    let (topology, route, _) = dumbbell(5_000_000, 20, ms(10));
    let run = || {
        let mut world = World::new(&topology, 3).unwrap();
        let spec = spec("linux-6", Workload::exchange(100, 10 * MSS).closing(true));
        let mut flows = Flows::new(spec, vec![(Instant::ZERO, route); 8]);
        flows.again = Some((ms(5), 200));
        let ended = world.run(&mut flows, FOREVER, &mut NoObserver);
        assert_eq!(ended.open, 0);
        (world.slots.len(), flows)
    };
    let (slots, flows) = run();
    assert_eq!(flows.records.len(), 208);
    assert!(slots < 100, "{slots} slots for 208 flows");
    assert!(flows.records.iter().all(|(_, r)| r.completed()));
    assert_eq!(run().1.records, flows.records);
}

/// The memory includes two packets in flight.
#[test]
fn a_flow_takes_at_most_six_kilobytes() {
    let memory = |flows: usize| {
        let (topology, route, _) = dumbbell(10_000_000_000, 1_000_000, ms(20));
        let workload = Workload::exchange(100, 2 * MSS).closing(true);
        let mut flows = Flows::new(spec("linux-6", workload), vec![(Instant::ZERO, route); flows]);
        flows.records.reserve(flows.starts.len());
        let used = allocation_counter::measure(|| {
            let mut world = World::new(&topology, 1).unwrap();
            let ended = world.run(&mut flows, FOREVER, &mut NoObserver);
            assert_eq!(ended.open, 0);
            assert_eq!(world.slots.len(), flows.records.len(), "all run at once");
        });
        used.bytes_max
    };
    let of_each = (memory(4096) - memory(1024)) / 3072;
    assert!((3000..=6000).contains(&of_each), "{of_each} bytes");
}

/// Notes the packets of the way down in the order in which they are sent, and which of them the path drops.
#[derive(Debug, Default)]
struct Losses {
    sent: Vec<(FlowId, u64)>,
    dropped: Vec<(FlowId, u64)>,
}

impl Observer for Losses {
    const WANTS_EVENTS: bool = false;

    fn on_packet(&mut self, _: Instant, point: Point, direction: Direction, packet: &Packet) {
        let which = (packet.flow, packet.ordinal);
        match (direction, point) {
            (Direction::Down, Point::Sent) => self.sent.push(which),
            (Direction::Down, Point::Dropped(_)) => self.dropped.push(which),
            _ => {}
        }
    }

    fn on_event(&mut self, _: Instant, _: FlowId, _: Host, _: &Event) {}
}

#[test]
fn a_link_of_one_channel_steps_it_with_the_packets_of_all_flows() {
    // The channel changes its state with every packet, and the bad one loses it.
    let channel = GilbertElliott::new(Probability::ONE, Probability::ONE);
    let loss = HopSpec::Loss(LossSpec { kind: LossKind::GilbertElliott(channel), transmission: None });
    for one_channel in [true, false] {
        let mut topology = Topology::default();
        let up = topology.add_link("up", vec![HopSpec::Delay(ms(10))]);
        let hops = vec![loss.clone(), HopSpec::Delay(ms(10))];
        let down = match one_channel {
            true => topology.add_link_of_one_channel("down", hops),
            false => topology.add_link("down", hops),
        };
        let route = topology.add_route(&[up], &[down]);
        let starts = [0, 3, 7].map(|at| (Instant::from_millis(at), route));
        let spec = spec("linux-3.17", Workload::exchange(0, 20 * MSS));
        let mut flows = Flows::new(spec, starts.to_vec());
        let mut losses = Losses::default();
        let mut world = World::new(&topology, 1).unwrap();
        world.run(&mut flows, Instant::from_millis(100_000), &mut losses);
        let alternates = |of: &dyn Fn(&FlowId) -> bool| {
            let sent = losses.sent.iter().filter(|(flow, _)| of(flow));
            let fates: Vec<bool> = sent.map(|which| losses.dropped.contains(which)).collect();
            assert!(fates.len() > 30, "{}", fates.len());
            fates.windows(2).all(|pair| pair[0] != pair[1])
        };
        assert_eq!(alternates(&|_| true), one_channel);
        let each = (0..3).all(|flow| alternates(&|of| of.0 == flow));
        assert_eq!(each, !one_channel);
    }
}

#[test]
fn a_world_stops_at_the_limit_of_time() {
    let (topology, route, _) = dumbbell(1_000_000, 20, ms(10));
    let mut world = World::new(&topology, 3).unwrap();
    let spec = spec("linux-6", Workload::exchange(100, 10_000 * MSS));
    let mut flows = Flows::new(spec, vec![(Instant::ZERO, route)]);
    let until = Instant::ZERO + ms(500);
    let ended = world.run(&mut flows, until, &mut NoObserver);
    assert_eq!(ended.open, 1);
    assert!(ended.at <= until);
    // It goes on where it stopped.
    let ended = world.run(&mut flows, FOREVER, &mut NoObserver);
    assert_eq!((ended.open, flows.records.len()), (0, 1));
}

#[test]
fn a_flow_ends_after_all_copies_of_its_packets() {
    let half = "0.5".parse().unwrap();
    let hops = vec![
        HopSpec::Duplicate { probability: half },
        HopSpec::Reorder { probability: half, extra: ms(300) },
        HopSpec::Delay(ms(10)),
    ];
    let workload = Workload::exchange(100, 20 * MSS).closing(true);
    let spec = spec("linux-6", workload);
    let mut topology = Topology::default();
    let link = topology.add_link("both", hops);
    let route = topology.add_route(&[link], &[link]);
    let mut world = World::new(&topology, 5).unwrap();
    let mut flows = Flows::new(spec, vec![(Instant::ZERO, route); 3]);
    let mut arrivals = Arrivals(0);
    world.run(&mut flows, FOREVER, &mut arrivals);
    let sent = world.link(link).packets;
    assert_eq!(flows.records.len(), 3);
    assert!((sent * 5 / 4..sent * 7 / 4).contains(&arrivals.0), "{} of {sent}", arrivals.0);
}

#[test]
fn a_route_may_have_no_links_and_must_not_name_others() {
    let mut topology = Topology::default();
    let route = topology.add_route(&[], &[]);
    let mut world = World::new(&topology, 5).unwrap();
    let spec = spec("linux-6", Workload::exchange(100, 20 * MSS).closing(true));
    let mut flows = Flows::new(spec, vec![(Instant::ZERO, route)]);
    world.run(&mut flows, FOREVER, &mut NoObserver);
    assert_eq!(flows.records[0].1.fct, Some(Duration::ZERO));

    topology.add_route(&[LinkId(0)], &[]);
    let error = World::<ScriptProgress>::new(&topology, 5).unwrap_err();
    assert_eq!(error.to_string(), "route 1 passes link 0, but there are 0 links");
}
