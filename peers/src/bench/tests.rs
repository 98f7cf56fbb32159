use super::*;
use crate::guests::GuestName;
use recoup_guest::Setup;
use recoup_path::{DropRules, HopSpec};
use std::collections::BTreeMap;

/// A flow of a response between two hosts of one stack.
fn flow(name: GuestName, response: u64) -> BenchFlow {
    let (client, server) = ("198.51.100.1:40000".parse().unwrap(), "192.0.2.1:80".parse().unwrap());
    let guests = [(client, server), (server, client)]
        .map(|(local, peer)| name.make(&Setup { seed: 7, mtu: 1500, local, peer, options: BTreeMap::new() }).unwrap());
    BenchFlow { id: FlowId(0), start: Instant::ZERO, guests, workload: Workload::exchange(100, response).closing(true) }
}

fn path(lost: &str) -> PathSpec {
    let delay = HopSpec::Delay(Duration::from_millis(20));
    let mut path = PathSpec { up: vec![delay.clone()], down: vec![] };
    if !lost.is_empty() {
        let rules: DropRules = lost.parse().unwrap();
        path.down.extend(rules.0.into_iter().map(|(_, rule)| HopSpec::Loss(rule)));
    }
    path.down.push(delay);
    path
}

#[test]
fn a_response_takes_two_round_trips() {
    let mut bench = Bench::new(&path(""), 1, vec![flow(GuestName::Smoltcp, 5000)]).unwrap();
    let [done] = bench.run(Duration::from_secs(100)).unwrap()[..] else { panic!("one flow") };
    assert_eq!(done.complete, Some(Instant::from_millis(80)), "{done:?}");
    let log = bench.into_log();
    assert!(log.packets.iter().all(|packet| packet.arrived == Some(packet.at + Duration::from_millis(20))));
}

#[test]
fn the_lost_last_segment_arrives_after_a_timeout() {
    let mut bench = Bench::new(&path("data:4"), 1, vec![flow(GuestName::Smoltcp, 5000)]).unwrap();
    let [done] = bench.run(Duration::from_secs(100)).unwrap()[..] else { panic!("one flow") };
    assert!(done.complete.is_some_and(|at| at > Instant::from_millis(300)), "{done:?}");
    let log = bench.into_log();
    let lost = log.packets.iter().filter(|packet| packet.arrived.is_none());
    assert_eq!(lost.count(), 1);
    let retransmitted = log.packets.iter().any(|packet| packet.cause == Cause::Timer && packet.bytes.len() > 500);
    assert!(retransmitted);
}

#[test]
fn a_capture_has_what_its_host_sees() {
    let mut bench = Bench::new(&path("data:2"), 1, vec![flow(GuestName::Smoltcp, 5000)]).unwrap();
    bench.run(Duration::from_secs(100)).unwrap();
    let log = bench.into_log();
    let count = |host: Host| {
        let captured = log.captured(host, Some(0));
        assert!(captured.is_sorted_by_key(|(at, ..)| *at));
        captured.iter().filter(|(_, number, _)| log.packets[*number].direction == Direction::Down).count()
    };
    assert_eq!(count(Host::Server), count(Host::Client) + 1);
    assert!(log.captured(Host::Server, Some(1)).is_empty());
}

#[test]
fn a_host_answers_a_packet_before_the_next_one_of_the_same_instant() {
    let mut bench = Bench::new(&path(""), 1, vec![flow(GuestName::Linux6, 30_000)]).unwrap();
    bench.run(Duration::from_secs(100)).unwrap();
    let log = bench.into_log();
    let captured = log.captured(Host::Server, Some(0));
    // The ACKs of the initial window arrive together, and each of them opens the window.
    let direction = |number: usize| log.packets[number].direction;
    let answered = captured.windows(2).filter(|pair| {
        let [(sent_at, sent, _), (arrived_at, arrived, _)] = pair else { return false };
        sent_at == arrived_at && direction(*sent) == Direction::Down && direction(*arrived) == Direction::Up
    });
    assert!(answered.count() >= 5);
}
