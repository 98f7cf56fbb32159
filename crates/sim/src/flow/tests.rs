mod responses;

use super::*;
use crate::NoObserver;
use recoup_path::{HopSpec, LossSpec};
use recoup_recovery::{Counters, Profile, Trigger};
use recoup_tcp::{AckPolicy, Closed, State};
use std::time::Duration;

/// Payload of a full segment.
const MSS: u64 = 1448;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// A flow between two hosts with the same configuration. By default the RTT is 80 ms, and the server
/// answers an empty request with ten segments, which fit in the initial window.
#[derive(Clone, Debug)]
struct Flow {
    profile: &'static str,
    acks: AckPolicy,
    rtt: Duration,
    up: &'static [&'static str],
    down: &'static [&'static str],
    workload: Workload,
    seed: u64,
}

impl Default for Flow {
    fn default() -> Self {
        Self {
            profile: "linux-3.17",
            acks: AckPolicy::Quick,
            rtt: ms(80),
            up: &[],
            down: &[],
            workload: Workload::exchange(0, 10 * MSS),
            seed: 1,
        }
    }
}

impl Flow {
    fn spec(&self) -> FlowSpec {
        let profile: Profile = self.profile.parse().unwrap();
        let config = tcp::Config { acks: self.acks, ..tcp::Config::new(*profile.mechanisms()) };
        FlowSpec { client: config, server: config, timers: TimerModel::Exact, workload: self.workload.clone() }
    }

    fn path(&self) -> PathSpec {
        let hops = |rules: &[&str]| {
            let loss = |rule: &&str| HopSpec::Loss(rule.parse::<LossSpec>().unwrap());
            let mut hops: Vec<_> = rules.iter().map(loss).collect();
            hops.push(HopSpec::Delay(self.rtt / 2));
            hops
        };
        PathSpec { up: hops(self.up), down: hops(self.down) }
    }

    fn simulate(&self) -> (Simulation, FlowRecord) {
        let mut simulation = Simulation::new(&self.path()).unwrap();
        let record = simulation.run(&self.spec(), self.seed, FlowId(0), &mut NoObserver);
        (simulation, record)
    }

    fn run(&self) -> FlowRecord {
        self.simulate().1
    }
}

/// The numbers of retransmissions by trigger, without triggers that did not occur.
fn retransmissions(record: &FlowRecord) -> Vec<(Trigger, u64)> {
    let counts = Trigger::ALL.map(|trigger| (trigger, record.counters.retransmissions.of(trigger)));
    counts.into_iter().filter(|(_, n)| *n > 0).collect()
}

#[test]
fn each_mechanism_saves_the_expected_time_on_a_single_tail_loss() {
    // (profile, FCT, time from the last ACK to the retransmission), in ms. The tail is sent at 120 ms,
    // and the last ACK arrives at 200 ms. The RTO is 280 ms, the one-way delay 40 ms.
    for (profile, fct, waited) in [
        ("linux-3.17", 520, 280),
        ("linux-3.17+rtor", 440, 200),
        ("linux-3.17+tlp", 520, 280),
        ("linux-3.17+tlpr", 440, 200),
    ] {
        let flow = Flow { profile, down: &["data:10"], ..Flow::default() };
        let record = flow.run();
        assert_eq!(record.fct, Some(ms(fct)), "{profile}");
        assert_eq!(record.last_ack_to_retransmission, Some(ms(waited)));
        assert_eq!((record.counters.retransmissions.total(), record.spurious), (1, 0), "{profile}");
    }
}

#[test]
fn a_copy_saves_the_timeout_of_its_original() {
    // (RTT in ms, losses up, losses down, [request, response], FCT in ms [without copies, with],
    // copies sent). A copy follows a SYN after 5 ms, and data after an eighth of the RTT.
    type Case = (u64, &'static [&'static str], &'static [&'static str], [u64; 2], [u64; 2], u64);
    let cases: [Case; 7] = [
        (80, &[], &[], [0, 1], [160, 160], 3),
        (80, &["syn:1"], &[], [0, 1], [1160, 165], 3),
        (80, &[], &["syn:1"], [0, 1], [1160, 165], 3),
        (80, &["data:1"], &[], [300, 100], [440, 170], 4),
        // A full segment is worth a copy at an RTO of 600 ms, not at one of 280 ms.
        (200, &[], &["data:8"], [0, 8 * MSS], [1200, 425], 3),
        (80, &[], &["data:8"], [0, 8 * MSS], [520, 520], 2),
        // The window has no room for a tenth segment and a copy.
        (200, &[], &["data:10"], [0, 10 * MSS], [1200, 1200], 2),
    ];
    for (rtt, up, down, [request, response], fct, copies) in cases {
        for (profile, fct, copies) in [("linux-3.17+noer", fct[0], 0), ("linux-3.17+noer+slp", fct[1], copies)] {
            let flow = Flow {
                profile,
                rtt: ms(rtt),
                up,
                down,
                workload: Workload::exchange(request, response),
                ..Flow::default()
            };
            let record = flow.run();
            let what = format!("{profile} {rtt} {up:?} {down:?}");
            assert_eq!(record.fct, Some(ms(fct)), "{what}");
            assert_eq!(record.counters.copies, copies, "{what}");
            assert!(record.counters.undone.iter().sum::<u64>() == 0, "{what}");
        }
    }
}

#[test]
fn copies_count_as_packets_and_bytes_but_not_as_retransmissions() {
    let [without, with] = ["linux-3.17", "linux-3.17+slp"].map(|profile| {
        let flow = Flow { profile, workload: Workload::exchange(300, 100), ..Flow::default() };
        flow.run()
    });
    assert_eq!(with.fct, without.fct);
    // Copies of SYN, SYN-ACK, request and response, and a SYN-ACK that answers the SYN's copy. All but
    // the SYN's copy are acknowledged. Two of the four ACKs carry a DSACK of 12 bytes.
    let (packets, acks) = (60 + 60 + 352 + 152 + 60, 2 * 52 + 2 * 64);
    assert_eq!(with.bytes_sent, without.bytes_sent + packets + acks);
    assert_eq!(with.segments_sent, without.segments_sent + 2);
    assert_eq!(with.unnecessary_bytes, 400);
    let [with, without] = [with.counters, without.counters];
    assert_eq!((with.copies, with.copied_bytes), (4, 1 + 1 + 300 + 100));
    assert_eq!(with.segments_sent, without.segments_sent);
    assert_eq!(with.retransmissions, without.retransmissions);
    assert_eq!((with.copies_reported, with.dsacks), (2, 0));
}

#[test]
fn a_probe_is_sent_before_a_delayed_ack_arrives() {
    let flow =
        Flow { profile: "linux-3.17+tlp", acks: AckPolicy::Delayed(ms(200)), down: &["data:10"], ..Flow::default() };
    let record = flow.run();
    assert_eq!(record.fct, Some(ms(400)));
    assert_eq!(retransmissions(&record), [(Trigger::Tlp, 1)]);
}

#[test]
fn flows_without_losses_take_whole_round_trips() {
    // (request, response, segments, FCT in ms). The client is open after 80 ms, the server after
    // 120 ms. Each further window beyond ten segments waits for ACKs.
    for (request, response, segments, fct) in [
        (0, 1, 1, 160),
        (0, 10 * MSS, 10, 160),
        (0, 10 * MSS + 1, 11, 240),
        (0, 30 * MSS, 30, 240),
        (0, 30 * MSS + 1, 31, 320),
        (1, 1, 2, 160),
        (10 * MSS, 10 * MSS, 20, 160),
        (10 * MSS + 1, 1, 12, 240),
        (1, 0, 1, 120),
        (0, 0, 0, 120),
    ] {
        for close in [false, true] {
            let workload = Workload::exchange(request, response).closing(close);
            let flow = Flow { workload: workload.clone(), ..Flow::default() };
            let (simulation, record) = flow.simulate();
            assert_eq!(record.fct, Some(ms(fct)), "{workload:?}");
            let opened = if request > 0 { 80 } else { 120 };
            let since = Some(ms(fct - opened));
            assert_eq!(record.fct_established, since, "{workload:?}");
            assert_eq!(record.segments_sent, segments, "{workload:?}");
            assert_eq!((record.counters.retransmissions.total(), record.spurious), (0, 0));
            assert_eq!((record.packets_dropped, record.unnecessary_bytes), (0, 0));
            let state = match close {
                false => State::Established,
                true => State::Closed(Closed::Gracefully),
            };
            for host in [Host::Client, Host::Server] {
                assert_eq!(simulation.endpoint(host).state(), state, "{workload:?}");
            }
            assert_eq!(record.duration > tcp_time_wait(), close, "{workload:?}");
        }
    }
}

/// The duration of TIME-WAIT, which only closed flows include.
fn tcp_time_wait() -> Duration {
    Duration::from_secs(60)
}

#[test]
fn bytes_sent_are_those_of_ip_packets() {
    let flow = Flow { workload: Workload::exchange(0, 100), ..Flow::default() };
    // SYN and SYN-ACK have 20 bytes of options, later segments 12 bytes of timestamps.
    assert_eq!(flow.run().bytes_sent, 60 + 60 + 52 + 152 + 52);
}

#[test]
fn a_lost_handshake_packet_costs_its_timer() {
    use Trigger::{Syn, SynAck};
    // (losses up, losses down, FCT in ms, retransmissions, spurious ones)
    type Case<'a> = (&'static [&'static str], &'static [&'static str], u64, &'a [(Trigger, u64)], u64);
    let cases: [Case; 5] = [
        (&["syn:1"], &[], 1160, &[(Syn, 1)], 0),
        (&["syn:1", "syn:2"], &[], 3160, &[(Syn, 2)], 0),
        // The SYN-ACK is lost. The client retransmits its SYN at 1000 ms, the server its SYN-ACK at
        // 1040 ms.
        (&[], &["syn:1"], 1160, &[(Syn, 1), (SynAck, 1)], 1),
        // The server opens with the ACK of its second SYN-ACK, which was spurious.
        (&["ack:1"], &[], 1160, &[(SynAck, 1)], 1),
        // The second SYN is the first to arrive, and the server's answer to it is lost.
        (&["syn:1"], &["syn:1"], 2160, &[(Syn, 1), (SynAck, 1)], 0),
    ];
    for (up, down, fct, expected, spurious) in cases {
        let flow = Flow { up, down, ..Flow::default() };
        let record = flow.run();
        assert_eq!(record.fct, Some(ms(fct)), "{up:?} {down:?}");
        assert_eq!(retransmissions(&record), expected, "{up:?} {down:?}");
        assert_eq!(record.spurious, spurious, "{up:?} {down:?}");
        // From establishment, the flow takes as long as without the loss, and no data was retransmitted.
        assert_eq!(record.fct_established, Some(ms(40)), "{up:?} {down:?}");
        assert_eq!(record.spurious_data, 0, "{up:?} {down:?}");
        // Only retransmissions of data count here.
        assert_eq!(record.last_ack_to_retransmission, None);
    }
    // With a request, its data opens the server instead of the ACK.
    let flow = Flow { up: &["ack:1"], workload: Workload::exchange(100, 10 * MSS), ..Flow::default() };
    let record = flow.run();
    assert_eq!((record.fct, retransmissions(&record)), (Some(ms(160)), vec![]));
}

#[test]
fn the_position_of_a_lost_segment_decides_its_recovery() {
    use Trigger::{Early, Fast, Rto};
    // (lost segment, FCT in ms, trigger). The ACKs of the other segments arrive at 200 ms.
    let cases = [
        ("data:1", 240, Fast), // FACK: the highest SACK is more than three segments above
        ("data:2", 240, Fast),
        ("data:3", 240, Fast),
        ("data:4", 240, Fast),
        ("data:5", 240, Fast),
        ("data:6", 240, Fast),
        ("data:7", 240, Fast),
        ("data:8", 260, Early), // three segments outstanding: after SRTT/4
        ("data:9", 260, Early),
        ("data:10", 520, Rto),
    ];
    for (lost, fct, trigger) in cases {
        let flow = Flow { down: Vec::leak(vec![lost]), ..Flow::default() };
        let record = flow.run();
        assert_eq!(record.fct, Some(ms(fct)), "{lost}");
        assert_eq!(retransmissions(&record), [(trigger, 1)], "{lost}");
        assert_eq!((record.spurious, record.unnecessary_bytes), (0, 0), "{lost}");
    }
}

#[test]
fn a_lost_request_costs_the_clients_timer() {
    let flow = Flow { up: &["data:1"], workload: Workload::exchange(100, 100), ..Flow::default() };
    // The request is sent at 80 ms, and retransmitted 280 ms later. Request and response take one RTT.
    let record = flow.run();
    assert_eq!(record.fct, Some(ms(80 + 280 + 80)));
    assert_eq!(retransmissions(&record), [(Trigger::Rto, 1)]);
}

#[test]
fn only_the_loss_of_the_last_ack_costs_anything() {
    let flow = Flow { up: &["ack:2", "ack:3", "ack:5", "ack:7", "ack:10"], ..Flow::default() };
    let record = flow.run();
    assert_eq!((record.fct, retransmissions(&record)), (Some(ms(160)), vec![]));
    // Without the last ACK the tail is retransmitted although it arrived: the retransmission is spurious.
    let flow = Flow { up: &["ack:11"], ..Flow::default() };
    let record = flow.run();
    assert_eq!(record.fct, Some(ms(160)));
    assert_eq!(retransmissions(&record), [(Trigger::Rto, 1)]);
    assert_eq!((record.spurious, record.unnecessary_bytes), (1, MSS));
}

/// Rules that drop every transmission of the data segments from number `first` on.
fn drop_all_from(first: u64) -> &'static [&'static str] {
    let originals = format!("data:{first}-10");
    let retransmissions = (2..=20).map(|t| format!("bernoulli:1@{t}"));
    let rules = std::iter::once(originals).chain(retransmissions);
    Vec::leak(rules.map(|rule| &*rule.leak()).collect())
}

#[test]
fn on_a_path_that_drops_everything_flows_end_by_the_user_timeout() {
    let (timed_out, listening) = (State::Closed(Closed::ByTimeout), State::Listen);
    // (losses up, losses down, client's final state, server's final state, duration in ms)
    type Case = (&'static [&'static str], &'static [&'static str], State, State, u64);
    let cases: [Case; 4] = [
        (&["bernoulli:1"], &[], timed_out, listening, 300_000),
        // Each side retransmits from its own first packet on.
        (&[], &["bernoulli:1"], timed_out, timed_out, 300_040),
        (&[], drop_all_from(1), State::Established, timed_out, 300_120),
        // Five segments arrive; their ACKs arrive at 200 ms.
        (&[], drop_all_from(6), State::Established, timed_out, 300_200),
    ];
    for (up, down, client, server, end) in cases {
        for profile in ["linux-3.17", "linux-3.17+rtor+tlp", "linux-3.17+tlpr"] {
            let flow = Flow { profile, up, down, ..Flow::default() };
            let (simulation, record) = flow.simulate();
            assert!(!record.completed(), "{flow:?}");
            let states = [Host::Client, Host::Server].map(|host| simulation.endpoint(host).state());
            assert_eq!(states, [client, server], "{flow:?}");
            assert_eq!(record.duration, ms(end), "{flow:?}");
            assert!(record.events < 100, "{flow:?}: {record:?}");
        }
    }
}

#[test]
fn a_large_flow_with_one_percent_loss_completes() {
    for profile in ["linux-3.17", "linux-3.17+rtor+tlp", "linux-3.17+reno"] {
        let flow = Flow {
            profile,
            down: &["bernoulli:0.01"],
            workload: Workload::exchange(0, 10_000 * MSS).closing(true),
            ..Flow::default()
        };
        let record = flow.run();
        assert!(record.completed(), "{profile}: {record:?}");
        let total = record.counters.retransmissions.total();
        assert_eq!(record.segments_sent, 10_000 + total, "{profile}");
        // Every loss is repaired, and few retransmissions are spurious.
        assert!((70..140).contains(&record.packets_dropped), "{record:?}");
        assert!(total >= record.packets_dropped, "{profile}: {record:?}");
        assert!(total - record.spurious <= record.packets_dropped, "{profile}: {record:?}");
    }
}

#[test]
fn a_flow_is_a_function_of_its_seed_and_number() {
    let flow = Flow {
        up: &["bernoulli:0.05"],
        down: &["bernoulli:0.1"],
        workload: Workload::exchange(2000, 100 * MSS).closing(true),
        ..Flow::default()
    };
    let mut simulation = Simulation::new(&flow.path()).unwrap();
    let mut run = |seed, number| simulation.run(&flow.spec(), seed, FlowId(number), &mut NoObserver);
    let first = run(1, 0);
    assert_eq!(first, flow.run(), "in a new simulation");
    assert_ne!(first, run(1, 1), "another number");
    assert_ne!(first, run(2, 0), "another seed");
    assert_eq!(first, run(1, 0), "the same again");
}

#[test]
fn a_path_that_cannot_be_built_is_refused() {
    let hops = vec![HopSpec::Loss("tail:1".parse().unwrap())];
    let path = PathSpec { up: vec![], down: hops };
    assert!(matches!(Simulation::new(&path).map(drop), Err(ChainError::UnresolvedTail { hop: 0, .. })));
}

#[test]
fn packets_are_handled_before_timers_of_the_same_instant() {
    // The RTO of the only segment is SRTT + 200 ms: its ACK, delayed by 200 ms, arrives at that instant.
    let flow = Flow { acks: AckPolicy::Delayed(ms(200)), workload: Workload::exchange(0, 100), ..Flow::default() };
    let record = flow.run();
    assert_eq!(retransmissions(&record), []);
}

#[test]
fn the_wheel_rounds_a_timer_by_when_it_was_last_armed() {
    // With RTO restart, the ACKs of one instant first set the timer to now + RTO, and the last three
    // set it back to its earlier deadline. That is 200 ms away, on the wheel's first level. The timer
    // is then at most one tick late, and one more from rounding the timeout up.
    let profile: Profile = "linux-3.17+rtor".parse().unwrap();
    let config = tcp::Config::new(*profile.mechanisms());
    let spec = FlowSpec {
        client: config,
        server: config,
        timers: TimerModel::LinuxWheel { hz: 250 },
        workload: Workload::exchange(0, 14_480),
    };
    let owd = HopSpec::Delay(Duration::from_millis(40));
    let down = vec![HopSpec::Loss("data:10".parse().unwrap()), owd.clone()];
    let mut sim = Simulation::new(&PathSpec { up: vec![owd], down }).unwrap();
    for flow in 0..100 {
        let record = sim.run(&spec, 1, FlowId(flow), &mut NoObserver);
        let late = record.fct.unwrap() - Duration::from_millis(440);
        assert!(late <= Duration::from_millis(8), "flow {flow}: {late:?} late");
    }
}

#[test]
fn the_record_has_the_counters_of_both_senders() {
    let flow = Flow {
        workload: Workload::exchange(20 * MSS, 20 * MSS).closing(true),
        up: &["data:3"],
        down: &["data:5"],
        ..Flow::default()
    };
    let (simulation, record) = flow.simulate();
    let mut both = Counters::default();
    for host in [Host::Client, Host::Server] {
        let counters = simulation.endpoint(host).sender().counters();
        assert_eq!(counters.recoveries, 1, "{host:?}");
        both.merge(&counters);
    }
    assert_eq!(record.counters, both);
    assert_eq!(both.retransmissions.of(Trigger::Fast), 2);
}
