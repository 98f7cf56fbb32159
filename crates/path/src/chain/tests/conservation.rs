//! Whatever the hops and the traffic, nothing is lost or invented beyond what the hops say, and
//! nothing comes at another time than announced.

use super::*;
use crate::{CoDel, Red};

fn queues() -> impl Strategy<Value = Queue> {
    prop_oneof![Just(Queue::Unlimited), (0u32..4).prop_map(Queue::Packets), (0u64..4000).prop_map(Queue::Bytes),]
}

/// Queues in front of a rate, which may be managed.
fn rate_queues() -> impl Strategy<Value = Queue> {
    let codel =
        |limit| CoDel { target: Duration::from_nanos(500), interval: Duration::from_nanos(3000), limit, ecn: false };
    let red = |min| Red { min, max: min + 2, ecn: false };
    prop_oneof![
        4 => queues(),
        1 => (0u32..9).prop_map(move |limit| Queue::CoDel(codel(limit))),
        1 => (0u32..3).prop_map(move |min| Queue::Red(red(min))),
    ]
}

fn chances() -> impl Strategy<Value = Probability> {
    prop_oneof![Just(p(0.3)), Just(p(0.0)), Just(p(1.0))]
}

fn hops() -> impl Strategy<Value = HopSpec> {
    let rules = prop::sample::select(vec![
        "none",
        "data:2-4",
        "data:3@2",
        "offset:1001-2501",
        "ack:2",
        "bernoulli:0.3",
        "bernoulli:0.5@1",
        "gilbert-elliott:0.3,0.4",
    ]);
    let times = (0u64..5000).prop_map(Duration::from_nanos);
    let trace = LinkTrace::parse("0\n1\n1\n3\n").unwrap();
    prop_oneof![
        times.clone().prop_map(HopSpec::Delay),
        // From 1 ns to 8 ns a byte.
        (1u64..9, rate_queues()).prop_map(|(speed, queue)| rate(speed * 1_000_000_000, queue)),
        queues().prop_map(move |queue| HopSpec::Link { trace: trace.clone(), queue }),
        rules.prop_map(loss),
        (chances(), times.clone()).prop_map(|(probability, extra)| HopSpec::Reorder { probability, extra }),
        (chances(), times, 0u32..1500).prop_map(|(probability, ahead, below)| HopSpec::Shortcut {
            probability,
            ahead,
            below
        }),
        chances().prop_map(|probability| HopSpec::Duplicate { probability }),
        chances().prop_map(|probability| HopSpec::Corrupt { probability }),
        (0u64..5000).prop_map(|ns| HopSpec::ThinAcks { hold: Duration::from_nanos(ns) }),
    ]
}

/// The acknowledgment of a packet, if it has one.
fn acks() -> impl Strategy<Value = (Option<u32>, bool)> {
    (prop::option::of(0u32..12), prop::bool::weighted(0.2))
}

/// Packets with ids from 0 in order of arrival: the gap to the one before (ns), flow, position in
/// the flow, length, and what it acknowledges; a quarter is too short for payload, and one in nine
/// is none of TCP's.
fn traffic() -> impl Strategy<Value = Vec<(u64, Numbered)>> {
    let one = (
        prop_oneof![Just(0u64), 0u64..2000],
        0u64..3,
        0u64..8,
        prop_oneof![1 => Just(40u32), 3 => 0u32..3000],
        prop::option::weighted(0.9, acks()),
    );
    prop::collection::vec(one, 0..60).prop_map(|packets| {
        let mut at = 0;
        let numbered = (0..).zip(packets).map(|(id, (gap, flow, position, len, acks))| {
            at += gap;
            let like = packet(position, len);
            let tcp = like.tcp.zip(acks);
            let tcp = tcp.map(|(tcp, (ack, sack))| TcpFacts { ack, sack, ..tcp });
            (at, Numbered { id, flow, tcp, ..like })
        });
        numbered.collect()
    })
}

/// Drives the chain exactly and checks every announcement on the way.
fn run_checked(hops: &[HopSpec], traffic: &[(u64, Numbered)]) -> Vec<(u64, Exit<Numbered>)> {
    let mut chain = chain(hops, 77);
    let mut exits = vec![];
    let mut now = Instant::ZERO;
    let mut arrivals = traffic.iter().peekable();
    loop {
        let arrival = arrivals.peek().map(|(at, _)| Instant::from_nanos(*at));
        if let Some(at) = chain.next_event()
            && arrival.is_none_or(|arrival| at <= arrival)
        {
            assert!(at >= now, "announced {at} at {now}");
            if at > now {
                // Nothing leaves before the announced instant.
                assert_eq!(chain.next_exit(at - Duration::from_nanos(1)), None);
                assert_eq!(chain.next_event(), Some(at));
            }
            now = at;
            while let Some(exit) = chain.next_exit(now) {
                exits.push((now.as_nanos(), exit));
            }
            assert!(chain.next_event().is_none_or(|next| next > now), "drained at {now}");
        } else if let Some((at, packet)) = arrivals.next() {
            now = Instant::from_nanos(*at);
            chain.enter(now, packet.clone());
        } else {
            return exits;
        }
    }
}

/// Runs the traffic with a host that is always late: it takes exits at every third packet, and the
/// rest at the end of time.
fn run_late(hops: &[HopSpec], traffic: &[(u64, Numbered)]) -> Vec<Exit<Numbered>> {
    let mut chain = chain(hops, 77);
    let mut exits = vec![];
    for (index, (at, packet)) in traffic.iter().enumerate() {
        let at = Instant::from_nanos(*at);
        chain.enter(at, packet.clone());
        if index % 3 == 0 {
            exits.extend(std::iter::from_fn(|| chain.next_exit(at)));
        }
    }
    let end = Instant::from_nanos(u64::MAX);
    exits.extend(std::iter::from_fn(|| chain.next_exit(end)));
    assert_eq!(chain.next_event(), None);
    exits
}

fn damages(hops: &[HopSpec]) -> bool {
    hops.iter().any(|hop| matches!(hop, HopSpec::Corrupt { .. }))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2 * ProptestConfig::default().cases))]

    #[test]
    fn nothing_is_lost_or_invented(
        hops in prop::collection::vec(hops(), 0..5),
        traffic in traffic(),
    ) {
        let duplicating = |hop: &&HopSpec| matches!(hop, HopSpec::Duplicate { .. });
        let most = 1 << hops.iter().filter(duplicating).count();
        let mut count = vec![0; traffic.len()];
        for (at, exit) in run_checked(&hops, &traffic) {
            let (packet, place) = match exit {
                Exit::Delivered(packet) => (packet, None),
                Exit::Dropped { packet, hop, cause } => (packet, Some((&hops[hop], cause))),
            };
            let (entered, sent) = &traffic[packet.id as usize];
            count[packet.id as usize] += 1;
            prop_assert!(at >= *entered);
            prop_assert!(damages(&hops) || packet.damage.is_none());
            prop_assert_eq!(&packet, &Numbered { damage: packet.damage, ..sent.clone() });
            let fits = match place {
                None
                | Some(
                    (HopSpec::Loss(_), DropCause::Loss)
                    | (HopSpec::ThinAcks { .. }, DropCause::Thinned),
                ) => true,
                Some((HopSpec::Rate { queue, .. } | HopSpec::Link { queue, .. }, cause)) => match queue {
                    Queue::Unlimited => false,
                    Queue::Packets(_) | Queue::Bytes(_) => cause == DropCause::QueueFull,
                    Queue::Red(_) => cause == DropCause::Managed,
                    Queue::CoDel(_) => matches!(cause, DropCause::QueueFull | DropCause::Managed),
                },
                Some(_) => false,
            };
            prop_assert!(fits, "{place:?}");
        }
        for n in count {
            prop_assert!((1..=most).contains(&n), "{n} exits of a packet");
        }
    }

    #[test]
    fn without_reordering_first_in_is_first_out(
        hops in prop::collection::vec(hops(), 0..5),
        traffic in traffic(),
    ) {
        let reorders = |hop: &HopSpec| {
            matches!(hop, HopSpec::Reorder { .. } | HopSpec::Shortcut { .. } | HopSpec::ThinAcks { .. })
        };
        let hops: Vec<_> = hops.into_iter().filter(|hop| !reorders(hop)).collect();
        let delivered = delivered(&run_checked(&hops, &traffic));
        prop_assert!(delivered.is_sorted_by_key(|&(_, id)| id), "{delivered:?}");
        let delay = |hop: &HopSpec| match hop {
            HopSpec::Delay(delay) => *delay,
            _ => Duration::ZERO,
        };
        let delays: Duration = hops.iter().map(delay).sum();
        for (at, id) in delivered {
            prop_assert!(Instant::from_nanos(at) >= Instant::from_nanos(traffic[id as usize].0) + delays);
        }
    }

    #[test]
    fn a_late_host_sees_the_same(
        hops in prop::collection::vec(hops(), 0..5),
        traffic in traffic(),
    ) {
        let exact: Vec<_> = run_checked(&hops, &traffic).into_iter().map(|(_, exit)| exit).collect();
        prop_assert_eq!(run_late(&hops, &traffic), exact);
    }
}

fn keeps_order(hop: &HopSpec) -> bool {
    let queue = match hop {
        HopSpec::Rate { queue, .. } => *queue,
        _ => Queue::Unlimited,
    };
    let reorders = matches!(hop, HopSpec::Reorder { .. } | HopSpec::Shortcut { .. } | HopSpec::ThinAcks { .. });
    !reorders && !matches!(queue, Queue::CoDel(_))
}

proptest! {
    #[test]
    fn computing_a_packets_way_when_it_enters_changes_nothing(
        hops in prop::collection::vec(hops().prop_filter("keeps the order", keeps_order), 0..6),
        traffic in traffic(),
        seed in any::<u64>(),
    ) {
        let mut at_once = chain(&hops, seed);
        prop_assert!(at_once.in_order);
        let mut step_by_step = chain(&hops, seed);
        step_by_step.in_order = false;
        prop_assert_eq!(run(&mut at_once, traffic.clone()), run(&mut step_by_step, traffic));
    }
}
