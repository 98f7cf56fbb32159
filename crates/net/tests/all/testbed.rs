//! The testbed with the kernel's TCP or Recoup's at each end of a path, and the records of its flows.
//!
//! The bounds of times are loose, because the machine may be busy. Counts must be exact, and counts by
//! different means must agree.
//!
//! The tests need root and TUN. Without them they are skipped, or fail if RECOUP_REQUIRE_TOOLS is set.

use crate::beside_others;
use recoup_testing::skip;
use std::sync::RwLockReadGuard;
use std::thread;
use std::time::{Duration, Instant};

use recoup_net::testbed::{
    FlowEventKind, FlowOutcome, Kernel, Options, PathPoint, Setup, Stack, Switch, Switches, Testbed,
};
use recoup_path::{HopSpec, LossSpec, PathSpec, Probability, Queue};
use recoup_recovery::{Event, Mechanisms, Transmission, Trigger};
use recoup_sim::{FlowSpec, Observer, Packet, Point, Simulation, TimerModel};
use recoup_tcp::{
    Config,
    flow::{FlowRecord, Host, Script, TimedWrite, When, Workload, Write},
};
use recoup_units::{BitRate, Direction, FlowId};

const ONE_WAY: Duration = Duration::from_millis(20);
const MSS: u64 = 1448;

/// Longer than every flow of these tests that completes.
const PATIENCE: Duration = Duration::from_secs(30);

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// The kernel's TCP with one changed setting.
fn kernel_with(change: impl FnOnce(&mut Options)) -> Stack {
    let mut options = Options {
        switches: Switches::default(),
        congestion_control: "cubic".into(),
        initial_window: None,
        quick_acks: true,
        user_timeout: None,
        receive_buffer: None,
    };
    change(&mut options);
    Stack::Kernel(options)
}

fn kernel() -> Stack {
    kernel_with(|_| ())
}

fn switched(switch: Switch, on: bool) -> Stack {
    kernel_with(|options| options.switches.set(switch, Some(on)))
}

fn recoup() -> Stack {
    Stack::Recoup(Config::new(Mechanisms::LINUX_6).into())
}

/// The client's stack, the server's stack, and the name of the pair.
type Pair = (Stack, Stack, &'static str);

/// Runs a test with every pair of stacks. The pairs run in parallel, because they mostly wait.
fn with_every_pair(test: impl Fn(Pair) + Sync) {
    let pairs = [
        (kernel(), kernel(), "kernel to kernel"),
        (recoup(), recoup(), "Recoup to Recoup"),
        (kernel(), recoup(), "Recoup to kernel"),
        (recoup(), kernel(), "kernel to Recoup"),
    ];
    thread::scope(|scope| {
        for pair in pairs {
            scope.spawn(|| test(pair));
        }
    });
}

/// 20 ms one way at 100 Mbit/s, behind these hops.
fn behind(up: &[HopSpec], down: &[HopSpec]) -> PathSpec {
    let rate = HopSpec::Rate { rate: BitRate::from_bits_per_second(100_000_000).unwrap(), queue: Queue::Unlimited };
    let chain = |hops: &[HopSpec]| [hops, &[rate.clone(), HopSpec::Delay(ONE_WAY)]].concat();
    PathSpec { up: chain(up), down: chain(down) }
}

/// The path with losses by these rules.
fn path(up: &[&str], down: &[&str]) -> PathSpec {
    let hop = |rule: &&str| HopSpec::Loss(rule.parse::<LossSpec>().unwrap());
    let hops = |rules: &[&str]| rules.iter().map(hop).collect::<Vec<_>>();
    behind(&hops(up), &hops(down))
}

/// A server that sends this many full segments to each client.
fn segments(client: Stack, server: Stack, count: u64) -> Setup {
    Setup { client, server, workload: Workload::exchange(0, count * MSS), mtu: 1500, patience: PATIENCE, events: false }
}

/// A testbed and its flows.
struct Stage {
    testbed: Testbed,
    _beside: RwLockReadGuard<'static, ()>,
}

impl Stage {
    /// A testbed; `None` if the system does not permit it.
    fn open(setup: Setup) -> Option<Self> {
        let beside = beside_others();
        let testbed = Testbed::open(setup).map_err(skip).ok()?;
        Some(Self { testbed, _beside: beside })
    }

    fn run(&self, path: &PathSpec, flow: u64) -> FlowOutcome {
        self.testbed.run(path, 1, FlowId(flow), None).unwrap()
    }

    /// The record of a flow.
    fn play(&self, path: &PathSpec, flow: u64) -> FlowRecord {
        self.run(path, flow).record
    }
}

/// Where timers decide what is sent, one of this many flows must be as expected: while a busy machine
/// pauses, timers fire before the packets that would have stopped them.
const TRIES: u64 = 5;

/// Retransmissions of data, as the senders count them.
fn sent_again(flow: &FlowRecord) -> u64 {
    let of_data = |trigger: &Trigger| !matches!(trigger, Trigger::Syn | Trigger::SynAck);
    let triggers = Trigger::ALL.into_iter().filter(of_data);
    let counts = triggers.map(|trigger| flow.counters.retransmissions.of(trigger));
    counts.sum()
}

#[test]
fn every_pair_of_stacks_repairs_a_lost_tail() {
    with_every_pair(|(client, server, name)| {
        let Some(stage) = Stage::open(segments(client, server, 10)) else {
            return;
        };
        let lossy = path(&[], &["data:10"]);
        for flow in 0..3 {
            let flow = stage.play(&lossy, flow);
            // Three one-way delays for handshake and request, one for the response, and the repair.
            let fct = flow.fct.unwrap_or_else(|| panic!("{name}: {flow:?}"));
            assert!((ms(100)..ms(3000)).contains(&fct), "{name}: {flow:?}");
            assert_eq!(flow.packets_dropped, 1, "{name}: {flow:?}");
            assert!(sent_again(&flow) >= 1, "{name}: {flow:?}");
            assert_eq!(flow.segments_sent, 10 + sent_again(&flow), "{name}: {flow:?}");
            assert!(flow.last_ack_to_retransmission.is_some(), "{name}: {flow:?}");
        }
    });
}

#[test]
fn counts_of_senders_and_path_agree() {
    with_every_pair(|(client, server, name)| {
        let Some(stage) = Stage::open(segments(client, server, 60)) else {
            return;
        };
        let lossy = path(&["bernoulli:0.05"], &["bernoulli:0.08"]);
        let mut retransmitted = 0;
        for flow in 0..4 {
            let flow = stage.play(&lossy, flow);
            assert!(flow.completed(), "{name}: {flow:?}");
            assert_eq!(flow.segments_sent, 60 + sent_again(&flow), "{name}: {flow:?}");
            assert!(flow.spurious <= flow.segments_sent - 60, "{name}: {flow:?}");
            retransmitted += sent_again(&flow);
        }
        assert!(retransmitted > 0, "{name}");
    });
}

#[test]
fn kept_connections_and_waiting_for_acknowledgments_work() {
    let write =
        |received, acknowledged, after, bytes| Write { when: When { received, acknowledged, after: ms(after) }, bytes };
    with_every_pair(|(client, server, name)| {
        let workload = Workload {
            client: Script::of(&[write(0, 0, 0, 300), write(5000, 0, 50, 310)]),
            server: Script::of(&[
                write(300, 0, 0, 5000),
                write(610, 5000, 0, 700),
                // The ACK of the second response comes a round trip later.
                write(610, 5700, 20, 10),
            ]),
        };
        let setup = Setup { workload, ..segments(client, server, 0) };
        let Some(stage) = Stage::open(setup) else {
            return;
        };
        for flow in 0..2 {
            let flow = stage.play(&path(&[], &[]), flow);
            let fct = flow.fct.unwrap_or_else(|| panic!("{name}: {flow:?}"));
            // The handshake, both exchanges, and the round trip of the ACK.
            assert!(fct >= 8 * ONE_WAY + ms(70), "{name}: {flow:?}");
            assert_eq!(flow.segments_sent, 1 + 4 + 1 + 1 + 1 + sent_again(&flow), "{name}: {flow:?}");
        }
    });
}

#[test]
fn requests_later_writes_and_closing_work() {
    let later = TimedWrite { after: ms(50), bytes: 2000 };
    with_every_pair(|(client, server, name)| {
        let workload = Workload::exchange(3000, 5000).with_later_writes(&[later]).closing(true);
        let setup = Setup { workload, ..segments(client, server, 0) };
        let Some(stage) = Stage::open(setup) else {
            return;
        };
        let began = Instant::now();
        for flow in 0..3 {
            let flow = stage.play(&path(&[], &[]), flow);
            let fct = flow.fct.unwrap_or_else(|| panic!("{name}: {flow:?}"));
            assert!(fct >= 4 * ONE_WAY + ms(50), "{name}: {flow:?}");
            assert_eq!(flow.segments_sent, 3 + 4 + 2 + sent_again(&flow), "{name}: {flow:?}");
            assert_eq!(flow.packets_dropped, 0, "{name}: {flow:?}");
        }
        // The flow ends when both ends have closed, before the time limit.
        assert!(began.elapsed() < PATIENCE, "{name}");
    });
}

#[test]
fn a_lost_handshake_is_no_retransmission_of_data() {
    // (the loss rule, the trigger, the minimum time)
    let cases = [("up:syn:1", Trigger::Syn, 900), ("down:syn:1", Trigger::SynAck, 900)];
    with_every_pair(|(client, server, name)| {
        let Some(stage) = Stage::open(segments(client, server, 2)) else {
            return;
        };
        for (n, (rule, trigger, least)) in cases.into_iter().enumerate() {
            let (way, rule) = rule.split_once(':').unwrap();
            let lossy = match way {
                "up" => path(&[rule], &[]),
                _ => path(&[], &[rule]),
            };
            let flow = stage.play(&lossy, n as u64);
            let fct = flow.fct.unwrap_or_else(|| panic!("{name}: {flow:?}"));
            assert!(fct >= ms(least), "{name}, {way} lost: {flow:?}");
            assert_eq!(flow.packets_dropped, 1, "{name}, {way} lost: {flow:?}");
            assert_eq!(flow.segments_sent, 2 + sent_again(&flow));
            let again = flow.counters.retransmissions;
            assert!(again.of(trigger) >= 1 || again.of(Trigger::Syn) >= 1, "{name}: {flow:?}");
            if trigger == Trigger::Syn {
                let seen = (again.of(Trigger::Syn), again.of(Trigger::SynAck));
                assert_eq!(seen, (1, 0), "{name}: {flow:?}");
            }
            assert_eq!(again.of(Trigger::Rto), 0, "{name}, {way} lost: {flow:?}");
        }
    });
}

#[test]
fn without_probes_the_kernel_waits_for_its_rto() {
    // (probes on, probes sent, timeouts)
    for (on, probes, timeouts) in [(true, 1, 0), (false, 0, 1)] {
        let Some(stage) = Stage::open(segments(kernel(), switched(Switch::Tlp, on), 10)) else {
            return;
        };
        let facts = stage.testbed.kernel(Host::Server).unwrap().unwrap();
        assert_eq!(facts.switches[Switch::Tlp as usize], on, "{facts:?}");
        assert_eq!(Kernel::profile(), format!("kernel-{}", facts.version));
        let mut seen = Vec::new();
        let as_expected = (0..TRIES).any(|flow| {
            let flow = stage.play(&path(&[], &["data:10"]), flow);
            assert!(flow.completed(), "{flow:?}");
            let again = flow.counters.retransmissions;
            assert_eq!(again.of(Trigger::Tlp), flow.counters.probes, "{flow:?}");
            let counts = (flow.counters.probes, again.of(Trigger::Rto));
            seen.push(flow);
            counts == (probes, timeouts)
        });
        assert!(as_expected, "probes {on}: {seen:#?}");
    }
}

#[test]
fn without_sack_the_kernel_gets_no_dsacks() {
    for (on, dsacks) in [(true, 1), (false, 0)] {
        let server = switched(Switch::Sack, on);
        let Some(stage) = Stage::open(segments(switched(Switch::Sack, on), server, 10)) else {
            return;
        };
        // Without SACK, arrived segments are retransmitted, and no DSACK reports them.
        let acks: Vec<String> = (2..=11).map(|n| format!("ack:{n}")).collect();
        let acks: Vec<&str> = acks.iter().map(String::as_str).collect();
        let flow = stage.play(&path(&acks, &[]), 0);
        assert!(flow.completed(), "{flow:?}");
        let heard = flow.counters.dsacks;
        assert_eq!(heard.min(1), dsacks, "SACK {on}: {flow:?}");
        assert!(flow.spurious > 0, "SACK {on}: {flow:?}");
        assert!(flow.unnecessary_bytes > 0, "SACK {on}: {flow:?}");
    }
}

#[test]
fn timestamps_take_their_room() {
    let mut sent = Vec::new();
    for on in [true, false] {
        let setup = segments(kernel(), switched(Switch::Timestamps, on), 1);
        let Some(stage) = Stage::open(setup) else {
            return;
        };
        let flow = stage.play(&path(&[], &[]), 0);
        assert_eq!(flow.segments_sent, 1 + sent_again(&flow), "{flow:?}");
        sent.push((flow.bytes_sent, flow));
    }
    // In the ACK of the SYN-ACK, the segment, and its ACK; and a SYN-ACK has less to say.
    let repeated = sent.iter().any(|(_, flow)| sent_again(flow) > 0);
    assert!(repeated || sent[0].0 > sent[1].0 + 3 * 12, "{sent:?}");
}

#[test]
fn an_odd_ack_of_the_kernel_is_held_if_acks_are_thinned() {
    let one_by_one = || kernel_with(|options| options.initial_window = Some(1));
    let fct = |hops: &[HopSpec]| {
        let stage = Stage::open(segments(kernel(), one_by_one(), 2))?;
        let flows = (0..3).map(|flow| stage.play(&behind(hops, &[]), flow));
        flows.map(|flow| flow.fct.expect("a complete flow")).min()
    };
    let thinned = HopSpec::ThinAcks { hold: ms(200) };
    let (Some(without), Some(with)) = (fct(&[]), fct(&[thinned])) else {
        return;
    };
    // The second segment is sent after the ACK of the first.
    assert!(without < ms(280), "{without:?}");
    assert!(with >= 6 * ONE_WAY + ms(190), "{with:?}");
}

#[test]
fn thinned_acks_of_the_kernel_count_as_never_sent() {
    let Some(stage) = Stage::open(segments(kernel(), kernel(), 10)) else {
        return;
    };
    let plain = stage.run(&path(&[], &[]), 0);
    let thin = HopSpec::ThinAcks { hold: ms(200) };
    let thinned = stage.run(&behind(&[thin], &[]), 1);
    assert_eq!(plain.report.up.thinned, 0);
    assert!((4..=6).contains(&thinned.report.up.thinned), "{:?}", thinned.report);
    assert_eq!(thinned.record.packets_dropped, 0, "{:?}", thinned.record);
    assert_eq!(thinned.record.segments_sent, 10 + sent_again(&thinned.record));
    if sent_again(&plain.record) == 0 && sent_again(&thinned.record) == 0 {
        assert!(thinned.record.bytes_sent < plain.record.bytes_sent);
    }
}

#[test]
fn an_incomplete_flow_ends_at_the_limit_and_the_next_flow_is_not_affected() {
    let patience = ms(1500);
    // No packet returns, or data never arrives.
    let never: Vec<String> = (1..=12).map(|n| format!("bernoulli:1@{n}")).collect();
    let never: Vec<&str> = never.iter().map(String::as_str).collect();
    with_every_pair(|(client, server, name)| {
        let setup = Setup { patience, ..segments(client, server, 10) };
        let Some(stage) = Stage::open(setup) else {
            return;
        };
        for (n, hopeless) in [path(&[], &["bernoulli:1"]), path(&[], &never)].iter().enumerate() {
            let began = Instant::now();
            let flow = stage.play(hopeless, 2 * n as u64);
            let took = began.elapsed();
            assert_eq!(flow.fct, None, "{name}: {flow:?}");
            assert!(flow.packets_dropped > 0, "{name}: {flow:?}");
            assert!((patience..patience + ms(4000)).contains(&took), "{name}: {took:?}");

            let flow = stage.play(&path(&[], &[]), 2 * n as u64 + 1);
            assert!(flow.completed(), "{name}: {flow:?}");
            assert_eq!(flow.segments_sent, 10 + sent_again(&flow), "{name}: {flow:?}");
            assert_eq!(flow.packets_dropped, 0, "{name}: {flow:?}");
        }
    });
}

#[test]
fn late_packets_of_a_flow_do_not_affect_the_next() {
    // ACKs that arrive long after their flow.
    let late = HopSpec::Reorder { probability: Probability::new(0.5).unwrap(), extra: ms(60) };
    let twice = HopSpec::Duplicate { probability: Probability::new(0.5).unwrap() };
    let straggling = behind(&[twice, late], &[]);
    with_every_pair(|(client, server, name)| {
        let Some(stage) = Stage::open(segments(client, server, 4)) else {
            return;
        };
        for flow in 0..12 {
            let flow = stage.play(&straggling, flow);
            assert!(flow.completed(), "{name}: {flow:?}");
            assert_eq!(flow.segments_sent, 4 + sent_again(&flow), "{name}: {flow:?}");
        }
    });
}

/// The `sent` events of a host.
#[derive(Debug, Default, PartialEq)]
struct SentBy {
    client: Vec<Transmission>,
    server: Vec<Transmission>,
}

impl SentBy {
    fn add(&mut self, host: Host, event: &Event) {
        let Event::Sent { what, .. } = *event else {
            return;
        };
        match host {
            Host::Client => self.client.push(what),
            Host::Server => self.server.push(what),
        }
    }
}

impl Observer for SentBy {
    const WANTS_EVENTS: bool = true;

    fn on_packet(&mut self, _: recoup_units::Instant, _: Point, _: Direction, _: &Packet) {}

    fn on_event(&mut self, _: recoup_units::Instant, _: FlowId, host: Host, event: &Event) {
        self.add(host, event);
    }
}

#[test]
fn senders_send_the_same_over_real_packets_as_in_the_simulator() {
    let path = path(&[], &["data:9-10"]);
    for mechanisms in [Mechanisms::LINUX_3_17, Mechanisms::LINUX_6] {
        let stack = || Stack::Recoup(Config::new(mechanisms).into());
        let setup = Setup { events: true, ..segments(stack(), stack(), 10) };
        let spec = FlowSpec {
            client: Config::new(mechanisms),
            server: Config::new(mechanisms),
            timers: TimerModel::Exact,
            workload: setup.workload.clone(),
        };
        let mut simulated = SentBy::default();
        Simulation::new(&path).unwrap().run(&spec, 1, FlowId(0), &mut simulated);
        let Some(stage) = Stage::open(setup) else {
            return;
        };
        let mut others = Vec::new();
        let same = (0..TRIES).any(|flow| {
            let outcome = stage.run(&path, flow);
            let (mut real, mut dropped) = (SentBy::default(), 0);
            for event in &outcome.events {
                match event.kind {
                    FlowEventKind::Sender { host, ref event } => real.add(host, event),
                    FlowEventKind::Packet(packet) => {
                        dropped += u64::from(matches!(packet.point, PathPoint::Dropped(_)));
                    }
                }
            }
            assert_eq!(dropped, outcome.record.packets_dropped);
            // The events begin with the client's SYN, and their times never decrease.
            let times: Vec<_> = outcome.events.iter().map(|event| event.at).collect();
            assert_eq!(times[0], recoup_units::Instant::ZERO);
            assert!(times.is_sorted());
            let same = real == simulated;
            if !same {
                others.push((real, outcome.record));
            }
            same
        });
        assert!(same, "simulated: {simulated:?}, real: {others:#?}");
    }
}

#[test]
fn flows_of_the_kernel_have_packet_events() {
    let setup = Setup { events: true, ..segments(kernel(), kernel(), 3) };
    let Some(stage) = Stage::open(setup) else {
        return;
    };
    let outcome = stage.run(&path(&[], &["data:3"]), 0);
    let points = outcome.events.iter().map(|event| match event.kind {
        FlowEventKind::Packet(packet) => packet.point,
        FlowEventKind::Sender { .. } => panic!("{event:?}"),
    });
    let points: Vec<_> = points.collect();
    let count = |wanted: PathPoint| points.iter().filter(|point| **point == wanted).count();
    assert_eq!(points[0], PathPoint::Sent);
    let lost = PathPoint::Dropped(recoup_path::DropCause::Loss);
    assert_eq!(count(lost), 1);
    assert_eq!(count(PathPoint::Sent), count(PathPoint::Arrived) + 1);
}
