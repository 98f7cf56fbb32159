//! Chains driven as a host drives them.

use std::time::Duration;

use proptest::prelude::*;
use recoup_units::{BitRate, FlowId};

use super::*;
use crate::{LinkTrace, Probability, Queue, TcpFacts};

mod chance;
mod conservation;
mod managed;
mod thinning;

/// A packet with a number to tell it by.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Numbered {
    id: u64,
    flow: u64,
    len: u32,
    tcp: Option<TcpFacts>,
    damage: Option<u64>,
    capable: bool,
    marked: bool,
}

impl Packet for Numbered {
    fn flow(&self) -> FlowId {
        FlowId(self.flow)
    }

    fn ip_len(&self) -> u32 {
        self.len
    }

    fn tcp(&self) -> Option<TcpFacts> {
        self.tcp
    }

    fn is_ecn_capable(&self) -> bool {
        self.capable
    }

    fn mark(&mut self) {
        self.marked = true;
    }

    fn corrupt(&mut self, draw: u64) {
        self.damage = Some(draw);
    }
}

/// Packet `id` of flow 0, `len` bytes, of which all but 40 are payload.
fn packet(id: u64, len: u32) -> Numbered {
    let payload_len = len.saturating_sub(40);
    let seq = id as u32 * payload_len;
    let tcp = Some(TcpFacts { seq, payload_len, ..TcpFacts::default() });
    Numbered { id, flow: 0, len, tcp, damage: None, capable: false, marked: false }
}

fn chain(hops: &[HopSpec], seed: u64) -> Chain<Numbered> {
    Chain::new(hops, Direction::Down, seed).unwrap()
}

fn loss(rule: &str) -> HopSpec {
    HopSpec::Loss(rule.parse().unwrap())
}

fn delay(millis: u64) -> HopSpec {
    HopSpec::Delay(Duration::from_millis(millis))
}

fn rate(bits: u64, queue: Queue) -> HopSpec {
    HopSpec::Rate { rate: BitRate::from_bits_per_second(bits).unwrap(), queue }
}

fn p(probability: f64) -> Probability {
    Probability::new(probability).unwrap()
}

/// Drives a chain as a simulator does: packets enter at their times (ns), and the clock stops at
/// every event in between. Gives each exit's time.
fn run(chain: &mut Chain<Numbered>, packets: impl IntoIterator<Item = (u64, Numbered)>) -> Vec<(u64, Exit<Numbered>)> {
    let mut exits = vec![];
    let mut drain = |chain: &mut Chain<Numbered>, before: Option<Instant>| {
        while let Some(now) = chain.next_event()
            && before.is_none_or(|before| now < before)
        {
            while let Some(exit) = chain.next_exit(now) {
                exits.push((now.as_nanos(), exit));
            }
        }
    };
    for (at, packet) in packets {
        let at = Instant::from_nanos(at);
        drain(chain, Some(at));
        chain.enter(at, packet);
    }
    drain(chain, None);
    exits
}

/// `(time in ns, id)` of what was delivered.
fn delivered(exits: &[(u64, Exit<Numbered>)]) -> Vec<(u64, u64)> {
    let delivery = |(at, exit): &(u64, Exit<Numbered>)| match exit {
        Exit::Delivered(packet) => Some((*at, packet.id)),
        Exit::Dropped { .. } => None,
    };
    exits.iter().filter_map(delivery).collect()
}

/// `(time in ns, id, hop, cause)` of what was dropped.
fn dropped(exits: &[(u64, Exit<Numbered>)]) -> Vec<(u64, u64, usize, DropCause)> {
    let drop = |(at, exit): &(u64, Exit<Numbered>)| match exit {
        Exit::Delivered(_) => None,
        Exit::Dropped { packet, hop, cause } => Some((*at, packet.id, *hop, *cause)),
    };
    exits.iter().filter_map(drop).collect()
}

fn dropped_ids(exits: &[(u64, Exit<Numbered>)]) -> Vec<u64> {
    dropped(exits).into_iter().map(|(_, id, ..)| id).collect()
}

#[test]
fn rates_are_exact_to_the_nanosecond() {
    // (bits per second, (arrival, bytes, departure)…)
    type Row = (u64, &'static [(u64, u32, u64)]);
    let cases: [Row; 4] = [
        // 1500 bytes at 10 Mbit/s take 1.2 ms; back to back, then after a pause.
        (10_000_000, &[(0, 1500, 1_200_000), (0, 1500, 2_400_000), (5_000_000, 40, 5_032_000)]),
        // 40 bytes at 1.5 Mbit/s take 213333.3… ns, rounded up each.
        (1_500_000, &[(0, 40, 213_334), (1, 40, 426_668), (426_668, 40, 640_002)]),
        (1, &[(7, 1, 8_000_000_007)]),
        (1_000_000_000_000, &[(0, 1500, 12), (0, 1, 13), (0, 0, 13)]),
    ];
    for (bits, packets) in cases {
        let mut chain = chain(&[rate(bits, Queue::Unlimited)], 0);
        let entering = (0..).zip(packets).map(|(id, &(at, len, _))| (at, packet(id, len)));
        let expected: Vec<_> = (0..).zip(packets).map(|(id, &(_, _, leaves))| (leaves, id)).collect();
        assert_eq!(delivered(&run(&mut chain, entering)), expected, "{bits} bit/s");
    }
}

#[test]
fn drop_tail_counts_those_who_wait() {
    const QUEUE_FULL: DropCause = DropCause::QueueFull;
    // 1000 bytes at 8 Mbit/s take 1 ms. Times in µs; (queue, (arrival, bytes)…, dropped).
    type Row = (&'static str, &'static [(u64, u32)], &'static [u64]);
    let cases: [Row; 7] = [
        ("none", &[(0, 1000); 50], &[]),
        // One in service, two waiting.
        ("2p", &[(0, 1000); 5], &[3, 4]),
        // The second enters service at 1000 µs and makes room at that very instant, not before.
        ("1p", &[(0, 1000), (0, 1000), (999, 1000), (1000, 1000), (1001, 1000)], &[2, 4]),
        ("2000B", &[(0, 1000), (0, 1000), (0, 1000), (0, 1)], &[3]),
        // A smaller one still fits.
        ("1500B", &[(0, 1000), (0, 1000), (0, 501), (0, 500)], &[2]),
        // The one in service does not count, however large.
        ("10B", &[(0, 1000), (0, 11), (0, 10), (1000, 10), (1005, 10)], &[1, 4]),
        // An idle transmitter needs no queue.
        ("1B", &[(0, 1000), (1000, 1000), (2500, 1000)], &[]),
    ];
    for (queue, packets, expected) in cases {
        let mut chain = chain(&[rate(8_000_000, queue.parse().unwrap())], 0);
        let entering = (0..).zip(packets).map(|(id, &(at, len))| (at * 1000, packet(id, len)));
        let exits = run(&mut chain, entering);
        let found = dropped(&exits);
        let expected: Vec<_> = expected.iter().map(|&id| (packets[id as usize].0 * 1000, id, 0, QUEUE_FULL)).collect();
        assert_eq!(found, expected, "{queue}");
        assert_eq!(delivered(&exits).len() + found.len(), packets.len(), "{queue}");
    }
}

#[test]
fn a_recorded_link_with_a_queue() {
    let trace = LinkTrace::parse("2\n2\n6\n").unwrap();
    let mut chain = chain(&[HopSpec::Link { trace, queue: Queue::Packets(3) }], 0);
    const MS: u64 = 1_000_000;
    let exits = run(
        &mut chain,
        [
            (0, packet(0, 1500)),
            (0, packet(1, 1000)),
            (0, packet(2, 1000)),      // starts at 2 ms with the other half of the opportunity
            (0, packet(3, 1000)),      // three wait: dropped
            (2 * MS, packet(4, 1000)), // the third has started, so none waits
            (2 * MS, packet(5, 1000)),
            (2 * MS, packet(6, 1000)),
            (2 * MS, packet(7, 1000)),
        ],
    );
    // At 6 ms: the rest of 2, and 1000 bytes of 4. At 8 ms twice: 5 and half of 6, its rest.
    let expected = [(2, 0), (2, 1), (6, 2), (6, 4), (8, 5), (8, 6)];
    assert_eq!(delivered(&exits), expected.map(|(at, id)| (at * MS, id)));
    let full = DropCause::QueueFull;
    assert_eq!(dropped(&exits), [(0, 3, 0, full), (2 * MS, 7, 0, full)]);
}

#[test]
fn a_typical_path() {
    let mut chain = chain(&[loss("data:2"), rate(12_000_000, Queue::Packets(1)), delay(20)], 0);
    let exits = run(&mut chain, (0..5).map(|id| (0, packet(id, 1500))));
    assert_eq!(delivered(&exits), [(21_000_000, 0), (22_000_000, 2)]);
    assert_eq!(
        dropped(&exits),
        [(0, 1, 0, DropCause::Loss), (0, 3, 1, DropCause::QueueFull), (0, 4, 1, DropCause::QueueFull)]
    );
}

#[test]
fn positions_count_what_enters_wherever_the_rule_stands() {
    // Segments 2 and 3 never reach the last hop, yet 4 stays 4 and a second transmission second.
    let hops = [loss("data:2"), loss("data:3"), delay(1), loss("data:4"), loss("data:2@2")];
    let mut again = packet(1, 1500);
    again.id = 99;
    let mut packets: Vec<_> = (0..6).map(|id| (0, packet(id, 1500))).collect();
    packets.push((5, again));
    let exits = run(&mut chain(&hops, 0), packets);
    let dropped: Vec<_> = dropped(&exits).into_iter().map(|(_, id, hop, _)| (id, hop)).collect();
    assert_eq!(dropped, [(1, 0), (2, 1), (3, 3), (99, 4)]);
}

#[test]
fn what_reordering_mixes_up_reaches_the_next_hop_in_order_of_time() {
    let extra = Duration::from_millis(10);
    let hops = [HopSpec::Reorder { probability: p(0.5), extra }, rate(8_000_000, Queue::Packets(2))];
    let run = |hops: &[HopSpec], seed| delivered(&run(&mut chain(hops, seed), (0..4).map(|id| (id, packet(id, 1000)))));
    // A seed that holds the first and the third.
    let mixed = vec![(1, 1), (3, 3), (10_000_000, 0), (10_000_002, 2)];
    let seed = (0..1000).find(|&seed| run(&hops[..1], seed) == mixed).unwrap();
    let served = [(1_000_001, 1), (2_000_001, 3), (11_000_000, 0), (12_000_000, 2)];
    assert_eq!(run(&hops, seed), served);
}

#[test]
fn short_segments_overtake_those_just_before_them() {
    let shortcut = |probability| {
        [HopSpec::Shortcut { probability: p(probability), ahead: Duration::from_nanos(100), below: 1000 }]
    };
    // Full, full, short; later a full one, and a pure ACK.
    let sent = || {
        [(0, packet(0, 1500)), (10, packet(1, 1500)), (20, packet(2, 500)), (50, packet(3, 1500)), (60, packet(4, 40))]
    };
    let run = |probability| delivered(&run(&mut chain(&shortcut(probability), 0), sent()));
    assert_eq!(run(1.0), [(20, 2), (100, 0), (110, 1), (150, 3), (160, 4)]);
    assert_eq!(run(0.0), [(100, 0), (110, 1), (120, 2), (150, 3), (160, 4)]);
}

#[test]
fn copies_follow_their_originals_and_have_fates_of_their_own() {
    let twice = HopSpec::Duplicate { probability: Probability::ONE };
    let exits = run(&mut chain(&[twice.clone(), twice.clone()], 0), [(5, packet(0, 40)), (5, packet(1, 40))]);
    assert_eq!(delivered(&exits), [0, 0, 0, 0, 1, 1, 1, 1].map(|id| (5, id)));

    let hops = [twice.clone(), twice, loss("bernoulli:0.5")];
    let exits = run(&mut chain(&hops, 1), (0..100).map(|id| (id, packet(id, 40))));
    let mut survivors = [0u32; 5];
    for id in 0..100 {
        survivors[delivered(&exits).iter().filter(|&&(_, found)| found == id).count()] += 1;
    }
    // Binomial(4, 1/2) a packet: every number of survivors comes up among 100.
    assert!(survivors.iter().all(|&n| n > 0), "{survivors:?}");
}

#[test]
fn corruption_damages_and_delivers() {
    let hops = [HopSpec::Corrupt { probability: p(0.5) }];
    let exits = run(&mut chain(&hops, 9), (0..100).map(|id| (id, packet(id, 40))));
    let mut draws = vec![];
    for (_, exit) in &exits {
        match exit {
            Exit::Delivered(packet) => draws.extend(packet.damage),
            Exit::Dropped { .. } => panic!("{exit:?}"),
        }
    }
    assert!((30..70).contains(&draws.len()), "{}", draws.len());
    draws.sort_unstable();
    draws.dedup();
    assert!(draws.len() >= 30, "the draws differ");
    assert_eq!(exits.len(), 100);
}

#[test]
fn an_exit_ready_now_is_an_event_and_time_does_not_run_backwards() {
    let mut chain = chain(&[], 0);
    let late = Instant::from_millis(7);
    assert_eq!(chain.next_event(), None);
    chain.enter(late, packet(0, 40));
    assert_eq!(chain.next_event(), Some(late));
    chain.enter(Instant::from_millis(3), packet(1, 40));
    assert_eq!(chain.next_event(), Some(late));
    for id in [0, 1] {
        assert_eq!(chain.next_exit(Instant::ZERO), Some(Exit::Delivered(packet(id, 40))));
    }
    assert_eq!(chain.next_exit(late), None);
    assert_eq!(chain.next_event(), None);
}

#[test]
fn at_one_instant_the_hop_nearer_the_exit_comes_first() {
    // No room to wait: a packet is served only if the one before it has left already. Every
    // packet takes 1 ms to come and 1 ms to be served.
    let server = rate(8_000_000, Queue::Packets(0));
    let feeds = [delay(1), rate(8_000_000, Queue::Unlimited)];
    for feed in feeds {
        let mut chain = chain(&[feed.clone(), server.clone()], 0);
        let exits = run(&mut chain, (0..4).map(|id| (id * 1_000_000, packet(id, 1000))));
        let expected = [2, 3, 4, 5].map(|millis| (millis * 1_000_000, millis - 2));
        assert_eq!(delivered(&exits), expected, "{feed}");
    }
}

#[test]
fn what_is_overdue_is_announced_for_now() {
    let mut chain = chain(&[delay(1)], 0);
    for id in 0..2 {
        chain.enter(Instant::from_millis(id), packet(id, 40));
    }
    let late = Instant::from_millis(5);
    assert!(chain.next_exit(late).is_some());
    assert_eq!(chain.next_event(), Some(late));
    assert!(chain.next_exit(late).is_some());
    assert_eq!(chain.next_event(), None);
}

#[test]
fn hops_that_cannot_work_are_refused() {
    let refused = |hops: &[HopSpec]| Chain::<Numbered>::new(hops, Direction::Down, 0).unwrap_err().to_string();
    assert_eq!(
        refused(&[delay(1), loss("tail:3@2")]),
        "hop 1, `tail:3@2`: a chain does not know the length of a flow: expected data:K-L, which \
         DropRules::resolve gives"
    );
    assert_eq!(refused(&vec![delay(1); 65_537]), "65537 hops are more than a chain can have: expected at most 65536");
    let twice = HopSpec::Duplicate { probability: Probability::ZERO };
    assert_eq!(
        refused(&vec![twice.clone(); 65]),
        "65 duplicating hops are more than a chain can have: expected at most 64"
    );
    let most = run(&mut chain(&vec![twice; 64], 0), [(0, packet(0, 40))]);
    assert_eq!(delivered(&most), [(0, 0)]);
    let managed = HopSpec::Link { trace: LinkTrace::parse("1\n").unwrap(), queue: "codel".parse().unwrap() };
    assert_eq!(
        refused(&[delay(1), managed]),
        "hop 1: a recorded link takes a drop-tail queue: expected packets, bytes or none"
    );
    let mut chain = chain(&[delay(1)], 0);
    assert!(chain.respecify(&[loss("tail:1")], 0).is_err());
    let exits = run(&mut chain, [(0, packet(0, 40))]);
    assert_eq!(delivered(&exits), [(1_000_000, 0)], "a refusal changes nothing");
}
