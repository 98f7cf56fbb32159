//! Inference of a network from captures of simulated flows: predictions over a drop-tail queue, against the same flows
//! simulated under the other mechanism, and duplicates.

use recoup_path::{HopSpec, PathSpec};
use recoup_recovery::Profile;
use recoup_sim::{FlowSpec, Observer, Packet, Point, Simulation, TimerModel};
use recoup_tcp::{
    AckPolicy, Config,
    flow::{Host, Workload},
};
use recoup_trace::read::{CapturedPacket, Tunnel};
use recoup_units::{BitRate, Direction, FlowId, Instant};
use recoup_whatif::{
    ConnectionPackets, Fates, Recorded, Rerunner, Trial, bottleneck::Bottleneck, loss::LossProcess, policing, record,
};
use std::{sync::Arc, time::Duration};

const FLOWS: u64 = 90;

/// Captures a flow at its server.
#[derive(Default)]
struct Capture {
    packets: ConnectionPackets,
    /// How many more data packets of the server arrived than it sent.
    duplicates: i64,
}

impl Observer for Capture {
    const WANTS_EVENTS: bool = false;

    fn on_packet(&mut self, now: Instant, point: Point, direction: Direction, packet: &Packet) {
        let at_server = match direction {
            Direction::Down => Point::Sent,
            Direction::Up => Point::Arrived,
        };
        if direction == Direction::Down && packet.segment.payload_len > 0 {
            self.duplicates += match point {
                Point::Sent => -1,
                Point::Arrived => 1,
                Point::Dropped(_) => 0,
            };
        }
        if point == at_server {
            let captured = captured(self.packets.len() as u64 + 1, now, packet);
            self.packets.push(&captured, direction);
        }
    }

    fn on_event(&mut self, _: Instant, _: FlowId, _: Host, _: &recoup_recovery::Event) {}
}

fn captured(frame: u64, at: Instant, packet: &Packet) -> CapturedPacket {
    CapturedPacket {
        frame,
        // Captures have microseconds.
        at: Instant::from_nanos(at.as_nanos() / 1000 * 1000),
        endpoints: recoup_wire::Endpoints {
            src: "192.0.2.1:1024".parse().unwrap(),
            dst: "192.0.2.2:80".parse().unwrap(),
        },
        segment: packet.segment,
        ip_id: None,
        hop_limit: 64,
        ecn: Default::default(),
        options_complete: true,
        overlong: false,
        outgoing: None,
        interface: 0,
        link: 0,
        message: None,
        tunnel: Tunnel::NONE,
    }
}

/// The way of a flow's packets in one direction: 10 to 100 ms.
fn way(flow: u64) -> HopSpec {
    HopSpec::Delay(Duration::from_micros(10_000 + 9_700 * (flow * 7 % 10) + 83 * flow))
}

/// 5 Mbit/s and a queue of 12 packets.
fn small_queue(flow: u64) -> PathSpec {
    let rate = HopSpec::Rate { rate: BitRate::from_bits_per_second(5_000_000).unwrap(), queue: "12".parse().unwrap() };
    PathSpec { up: vec![way(flow)], down: vec![rate, way(flow)] }
}

/// A flow of 10 to 100 segments over a path, under a profile: its flow completion time and its capture.
fn simulate(path: &PathSpec, profile: &Profile, flow: u64) -> (Duration, Capture) {
    simulate_segments(path, profile, flow, 10 + flow * 37 % 91)
}

fn simulate_segments(path: &PathSpec, profile: &Profile, flow: u64, segments: u64) -> (Duration, Capture) {
    let acks = match flow % 3 {
        0 => AckPolicy::Quick,
        1 => AckPolicy::Delayed(Duration::from_millis(200)),
        _ => AckPolicy::Linux { quick: AckPolicy::LINUX_QUICK },
    };
    let spec = FlowSpec {
        client: Config { acks, ..Config::new(*profile.mechanisms()) },
        server: Config::new(*profile.mechanisms()),
        timers: TimerModel::Exact,
        workload: Workload::exchange(0, segments * 1448).closing(true),
    };
    let mut capture = Capture::default();
    let mut simulation = Simulation::new(path).unwrap();
    let record = simulation.run(&spec, 1, FlowId(flow), &mut capture);
    (record.fct.expect("a complete flow"), capture)
}

/// Mean changes of the flow completion time in ms.
#[derive(Debug)]
struct Comparison {
    base: f64,
    truth: f64,
    predicted: f64,
    /// The mean error of a flow, without its sign.
    error: f64,
    reproduced: usize,
}

/// Predicts what `other` changes in flows over a small queue that were captured under `base`.
fn compare(base: &str, other: &str, with_bottleneck: bool) -> Comparison {
    let flows = (0..FLOWS).map(|flow| (flow, small_queue(flow), 10 + flow * 37 % 91));
    compare_flows(base, other, flows, |all| {
        if with_bottleneck {
            let transmissions: Vec<_> = all.iter().map(Recorded::transmissions).collect();
            let bottleneck = Bottleneck::infer(&transmissions).expect("a bottleneck");
            assert_eq!(bottleneck.queue, "12".parse().unwrap());
            all.iter_mut().for_each(|one| one.set_bottleneck(&bottleneck));
        }
    })
}

/// Predicts what `other` changes in these flows (number, path, segments) that were captured under `base`. `learn` adds what they
/// show together.
fn compare_flows(
    base: &str,
    other: &str,
    flows: impl Iterator<Item = (u64, PathSpec, u64)>,
    learn: impl FnOnce(&mut [Recorded]),
) -> Comparison {
    let [base, other]: [Profile; 2] = [base, other].map(|name| name.parse().unwrap());
    let mut truth = Vec::new();
    let mut all: Vec<Recorded> = Vec::new();
    for (flow, path, segments) in flows {
        let (base_fct, capture) = simulate_segments(&path, &base, flow, segments);
        truth.push((base_fct, simulate_segments(&path, &other, flow, segments).0));
        all.push(record(&capture.packets, Host::Server, &[]).expect("a suitable capture"));
    }
    learn(&mut all);
    let mut rerunner = Rerunner::new();
    let mut sum = Comparison { base: 0.0, truth: 0.0, predicted: 0.0, error: 0.0, reproduced: 0 };
    for (recorded, (base_fct, other_fct)) in all.into_iter().map(Arc::new).zip(truth) {
        let Ok(reproduced) = rerunner.reproduce(&recorded, &[*base.mechanisms()]) else {
            continue;
        };
        let losses = LossProcess::of(recorded.losses());
        let trial = Trial::of(*other.mechanisms());
        let run = rerunner.run(&recorded, &reproduced, &trial, Fates::captured(&losses, 1));
        let ms = |fct: Duration| fct.as_secs_f64() * 1e3;
        let of = |fct: Option<Duration>| ms(fct.expect("a complete rerun"));
        let change = of(run.fct) - of(reproduced.base.fct);
        let true_change = ms(other_fct) - ms(base_fct);
        sum.base += ms(base_fct);
        sum.truth += true_change;
        sum.predicted += change;
        sum.error += (change - true_change).abs();
        sum.reproduced += 1;
    }
    let n = sum.reproduced as f64;
    Comparison { base: sum.base / n, truth: sum.truth / n, predicted: sum.predicted / n, error: sum.error / n, ..sum }
}

#[test]
fn a_rerun_meets_the_queue_that_it_fills_itself() {
    for (base, other) in
        [("linux-6", "rfc6675"), ("linux-6", "linux-6+nosack"), ("linux-3.17", "linux-6"), ("rfc6675", "linux-6")]
    {
        let with = compare(base, other, true);
        let without = compare(base, other, false);
        assert_eq!(with.reproduced as u64, FLOWS, "{base} {other}");
        let bound = f64::max(0.2 * with.truth.abs(), 0.01 * with.base);
        let apart = (with.predicted - with.truth).abs();
        assert!(apart <= bound, "{base} {other}: {with:?}");
        // Flow by flow, too, and because of the bottleneck.
        assert!(with.error <= 0.01 * with.base, "{base} {other}: {with:?}");
        assert!(with.error < 0.1 * without.error, "{base} {other}: {with:?} {without:?}");
    }
}

#[test]
fn a_rerun_meets_the_policer_that_the_capture_shows() {
    let policed = |flow| {
        let rate = BitRate::from_bits_per_second(50_000_000).unwrap();
        let policer = HopSpec::Loss("policer:2Mbit,25kB".parse().unwrap());
        let link = HopSpec::Rate { rate, queue: "none".parse().unwrap() };
        (flow, PathSpec { up: vec![way(flow)], down: vec![policer, link, way(flow)] }, 800)
    };
    let compare = |with_policer: bool| {
        compare_flows("linux-6", "linux-6+reno", (0..12).map(policed), |all| {
            let transmissions: Vec<_> = all.iter().map(Recorded::transmissions).collect();
            let policer = policing::infer(&transmissions).expect("a policer");
            let rate = policer.rate.bits_per_second() as f64;
            assert!((rate / 2e6 - 1.0).abs() < 0.05, "{policer:?}");
            let known = with_policer.then_some(policer);
            all.iter_mut().for_each(|one| one.set_limits(None, known));
        })
    };
    let [with, without] = [true, false].map(compare);
    assert!(with.reproduced >= 10, "{with:?}");
    assert!(with.error < 0.5 * without.error, "{with:?} {without:?}");
}

#[test]
fn bbr_is_predicted_on_average_and_from_bbr() {
    for (base, other) in [("linux-6+bbr1", "linux-6"), ("linux-6", "linux-6+bbr1")] {
        let with = compare(base, other, true);
        assert_eq!(with.reproduced as u64, FLOWS, "{base} {other}");
        let bound = f64::max(0.2 * with.truth.abs(), 0.02 * with.base);
        let apart = (with.predicted - with.truth).abs();
        assert!(apart <= bound, "{base} {other}: {with:?}");
    }
}

#[test]
fn most_senders_that_lose_segments_are_reproduced_by_their_own_congestion_control() {
    let profiles: [Profile; 2] = ["linux-6", "linux-6+bbr1"].map(|name| name.parse().unwrap());
    for (captured, profile) in profiles.iter().enumerate() {
        // By linux-6, by linux-6+bbr1, by none.
        let mut by = [0; 3];
        for flow in 0..FLOWS {
            let (_, capture) = simulate_segments(&small_queue(flow), profile, flow, 400);
            let recorded = record(&capture.packets, Host::Server, &[]).expect("a suitable capture");
            if !recorded.has_loss() {
                continue;
            }
            let reproduced =
                Rerunner::new().reproduce(&Arc::new(recorded), &profiles.each_ref().map(|one| *one.mechanisms()));
            by[reproduced.map_or(2, |reproduced| reproduced.profile)] += 1;
        }
        let [own, other] = [by[captured], by[1 - captured]];
        let name = profile.name();
        assert!(own > 20 && other * 2 <= own && by[2] * 10 <= own, "{name}: {by:?}");
    }
}

#[test]
fn duplicates_of_the_network_are_inferred_and_repeated() {
    let profile: Profile = "linux-6".parse().unwrap();
    let (mut made, mut inferred) = (0, 0);
    for flow in 0..FLOWS {
        let duplicate = HopSpec::Duplicate { probability: "0.05".parse().unwrap() };
        let rate =
            HopSpec::Rate { rate: BitRate::from_bits_per_second(50_000_000).unwrap(), queue: "none".parse().unwrap() };
        let path = PathSpec { up: vec![way(flow)], down: vec![rate, duplicate, way(flow)] };
        let (fct, capture) = simulate(&path, &profile, flow);
        let recorded = record(&capture.packets, Host::Server, &[]).expect("a suitable capture");
        let arrivals = recorded.transmissions().iter().filter_map(|sent| sent.arrival());
        inferred += arrivals.map(|arrival| i64::from(arrival.duplicates)).sum::<i64>();
        made += capture.duplicates;
        let reproduced = Rerunner::new()
            .reproduce(&Arc::new(recorded), &[*profile.mechanisms()])
            .unwrap_or_else(|apart| panic!("flow {flow}: {apart}"));
        let rerun = reproduced.base.fct.expect("a complete rerun");
        let apart = rerun.abs_diff(fct);
        assert!(apart < Duration::from_millis(2), "flow {flow}: {rerun:?}, not {fct:?}");
    }
    assert!(made > 100, "{made}");
    assert!(inferred <= made && inferred * 20 >= made * 19, "{inferred} of {made}");
}

/// A receiver that delays the ACK of the last bytes has them all the same: where the window lets a response end a round trip sooner,
/// the rerun says so, and counts no timer of the receiver.
#[test]
fn the_delayed_ack_of_a_last_part_is_no_part_of_the_completion_time() {
    let profile: Profile = "linux-6".parse().unwrap();
    let path = PathSpec { up: vec![way(1)], down: vec![way(1)] };
    let spec = |bytes: u64| FlowSpec {
        client: Config { acks: AckPolicy::Delayed(Duration::from_millis(40)), ..Config::new(*profile.mechanisms()) },
        server: Config::new(*profile.mechanisms()),
        timers: TimerModel::Exact,
        workload: Workload::exchange(300, bytes),
    };
    // An odd number of full segments, an even one, and each with a rest.
    for bytes in [23 * 1448, 24 * 1448, 23 * 1448 + 696, 24 * 1448 + 696] {
        let mut capture = Capture::default();
        let mut simulation = Simulation::new(&path).unwrap();
        let fct = simulation.run(&spec(bytes), 1, FlowId(1), &mut capture).fct.expect("a complete flow");
        let recorded = record(&capture.packets, Host::Server, &[]).expect("a suitable capture");
        let reproduced = Rerunner::new()
            .reproduce(&Arc::new(recorded), &[*profile.mechanisms()])
            .unwrap_or_else(|apart| panic!("{bytes}: {apart}"));
        let rerun = reproduced.base.fct.expect("a complete rerun");
        assert!(rerun.abs_diff(fct) < Duration::from_millis(2), "{bytes}: {rerun:?}, not {fct:?}");
    }
}
