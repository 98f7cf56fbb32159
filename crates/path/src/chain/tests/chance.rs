//! Random choices: what they depend on, and how often they fall.

use super::*;

/// Packet `id` of `flow` at `at`.
fn of_flow(flow: u64, id: u64, at: u64) -> (u64, Numbered) {
    (at, Numbered { flow, ..packet(id, 1000) })
}

/// A path whose every hop draws.
fn noisy() -> Vec<HopSpec> {
    vec![
        loss("bernoulli:0.2"),
        loss("gilbert-elliott:0.1,0.4,loss_bad=0.7,loss_good=0.1"),
        HopSpec::Reorder { probability: p(0.3), extra: Duration::from_nanos(250) },
        HopSpec::Duplicate { probability: p(0.2) },
        loss("gilbert-elliott:0.6,0.7,loss_bad=0.5"),
        HopSpec::Corrupt { probability: p(0.3) },
    ]
}

fn of_flow_zero(exits: Vec<(u64, Exit<Numbered>)>) -> Vec<(u64, Exit<Numbered>)> {
    let of_zero = |(_, exit): &(u64, Exit<Numbered>)| match exit {
        Exit::Delivered(packet) | Exit::Dropped { packet, .. } => packet.flow == 0,
    };
    exits.into_iter().filter(of_zero).collect()
}

#[test]
fn packets_of_another_flow_change_nothing() {
    let alone: Vec<_> = (0..300).map(|id| of_flow(0, id, id * 100)).collect();
    let expected = run(&mut chain(&noisy(), 5), alone.clone());
    for every in [1, 7, 299] {
        let mut mixed = vec![of_flow(2, 9999, 0)];
        for (index, packet) in alone.iter().enumerate() {
            mixed.push(packet.clone());
            if index % every == 0 {
                mixed.push(of_flow(every as u64, 1000, packet.0));
            }
        }
        assert_eq!(of_flow_zero(run(&mut chain(&noisy(), 5), mixed)), expected);
    }
}

#[test]
fn ordinals_decide_not_content_nor_time() {
    // Other sizes, other times, same ordinals.
    let lost = |packets: Vec<(u64, Numbered)>| {
        let mut ids = dropped_ids(&run(&mut chain(&noisy(), 5), packets));
        ids.sort_unstable();
        ids
    };
    let slow_and_small = (0..300).map(|id| (id * 1000, packet(id, 40)));
    let expected = lost((0..300).map(|id| of_flow(0, id, id * 100)).collect());
    assert_eq!(lost(slow_and_small.collect()), expected);
    assert!(expected.len() > 30);

    // Without the first packet, every later one gets the draws of the one before it.
    let from = |first: u64| {
        let packets = (first..300).map(|id| of_flow(0, id, id));
        dropped_ids(&run(&mut chain(&[loss("bernoulli:0.3")], 5), packets))
    };
    let shifted: Vec<_> = from(1).into_iter().map(|id| id - 1).collect();
    assert_eq!(shifted, from(0).into_iter().filter(|&id| id < 299).collect::<Vec<_>>());
}

#[test]
fn seeds_directions_and_hops_draw_apart() {
    let lost = |hops: &[HopSpec], direction, seed| {
        let mut chain = Chain::new(hops, direction, seed).unwrap();
        dropped_ids(&run(&mut chain, (0..200).map(|id| of_flow(0, id, id))))
    };
    let hop = [loss("bernoulli:0.5")];
    let later = [HopSpec::Delay(Duration::ZERO), hop[0].clone()];
    let all = [
        lost(&hop, Direction::Down, 1),
        lost(&hop, Direction::Down, 2),
        lost(&hop, Direction::Up, 1),
        lost(&later, Direction::Down, 1),
    ];
    for (index, one) in all.iter().enumerate() {
        assert!(all[index + 1..].iter().all(|other| other != one));
    }
    assert_eq!(lost(&hop, Direction::Down, 1), all[0]);
}

#[test]
fn a_reset_chain_is_a_new_one() {
    // Three flows that send every segment twice.
    let packets = || (0..200).map(|k| of_flow(k % 3, k / 6, k * 70));
    let mut hops = noisy();
    hops.push(loss("data:4@2"));
    hops.push(loss("bernoulli:0.5@2"));
    hops.push(rate(100_000_000_000, Queue::Packets(2)));
    let trace = LinkTrace::parse("0\n1\n").unwrap();
    hops.push(HopSpec::Link { trace, queue: Queue::Bytes(20_000) });
    let expected = run(&mut chain(&hops, 8), packets());
    let mut used = chain(&hops, 1);
    run(&mut used, packets());
    used.enter(Instant::from_millis(99), packet(0, 40));
    used.reset(8);
    assert_eq!(used.next_event(), None);
    assert_eq!(run(&mut used, packets()), expected);

    let mut other = chain(&[loss("data:1"), delay(5)], 1);
    run(&mut other, packets());
    other.respecify(&hops, 8).unwrap();
    assert_eq!(run(&mut other, packets()), expected);
}

/// Fails unless `found` of `n` lies within four standard deviations of a binomial of `p`: a chance
/// of 1 in 16000 for a seed, and the seeds here are fixed.
fn within(name: &str, found: usize, n: usize, p: f64) {
    let mean = n as f64 * p;
    let deviation = (mean * (1.0 - p)).sqrt();
    let off = (found as f64 - mean).abs();
    assert!(off <= 4.0 * deviation, "{name}: {found} of {n}, expected {mean} ± {deviation}");
}

/// Which of `n` packets of one flow the hops drop.
fn lost(hops: &[HopSpec], n: usize, seed: u64) -> Vec<bool> {
    let mut lost = vec![false; n];
    let packets = (0..n as u64).map(|id| of_flow(0, id, id));
    for id in dropped_ids(&run(&mut chain(hops, seed), packets)) {
        lost[id as usize] = true;
    }
    lost
}

#[test]
fn bernoulli_loses_its_share_independently() {
    const N: usize = 100_000;
    for share in [0.0, 0.001, 0.02, 0.5, 1.0] {
        let lost = lost(&[loss(&format!("bernoulli:{share}"))], N, 11);
        within("loss", lost.iter().filter(|&&lost| lost).count(), N, share);
        // Every other pair, so that the pairs are independent.
        let pairs = lost.chunks(2).filter(|pair| pair.iter().all(|&lost| lost)).count();
        within("two in a row", pairs, N / 2, share * share);
    }
}

#[test]
fn random_loss_of_one_transmission_spares_the_others() {
    // Every segment is sent three times in a row.
    let packets = (0..3000).map(|k| (k, Numbered { id: k, ..packet(k / 3, 1000) }));
    for (rule, share) in [
        ("bernoulli:1@1", [1, 0, 0]),
        ("bernoulli:1@2", [0, 1, 0]),
        ("gilbert-elliott:1,0@3", [0, 0, 1]),
        ("bernoulli:1@4", [0, 0, 0]),
        ("bernoulli:1", [1, 1, 1]),
    ] {
        let mut lost = [0; 3];
        for id in dropped_ids(&run(&mut chain(&[loss(rule)], 0), packets.clone())) {
            lost[id as usize % 3] += 1;
        }
        assert_eq!(lost, share.map(|s| s * 1000), "{rule}");
    }
}

#[test]
fn gilbert_elliott_matches_its_closed_forms() {
    const N: usize = 200_000;
    // (good to bad, bad to good), the last one mostly alternating.
    for (to_bad, to_good) in [(0.01, 0.3), (0.05, 0.1), (0.7, 0.9)] {
        let lost = lost(&[loss(&format!("gilbert-elliott:{to_bad},{to_good}"))], N, 21);
        let bad = lost.iter().filter(|&&lost| lost).count();
        // A burst ends with probability `to_good` a packet, so its mean length is 1 / to_good; a
        // gap's is 1 / to_bad.
        let ends = lost.windows(2).filter(|pair| pair[0] && !pair[1]).count();
        within("bursts end", ends, bad, to_good);
        let begins = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count();
        within("bursts begin", begins, N - bad, to_bad);
        // The stationary share; its variance is a binomial's times (1 + r) / (1 - r), r being the
        // correlation of neighbours.
        let share = to_bad / (to_bad + to_good);
        let r: f64 = 1.0 - to_bad - to_good;
        let mean = N as f64 * share;
        let deviation = (mean * (1.0 - share) * (1.0 + r) / (1.0 - r)).sqrt();
        let off = (bad as f64 - mean).abs();
        assert!(off <= 4.0 * deviation, "{bad} bad, expected {mean} ± {deviation}");
    }
}

#[test]
fn gilbert_elliott_loses_in_both_states_and_from_the_first_packet_on() {
    const N: usize = 20_000;
    let rule = "gilbert-elliott:0.02,0.08,loss_bad=0.5,loss_good=0.05";
    let expected = 0.2 * 0.5 + 0.8 * 0.05;
    // Independent flows, so that each position of a flow is a binomial over them.
    let packets = (0..N as u64).flat_map(|flow| (0..5).map(move |k| of_flow(flow, k, flow)));
    let mut lost = [0; 5];
    for id in dropped_ids(&run(&mut chain(&[loss(rule)], 4), packets)) {
        lost[id as usize] += 1;
    }
    for count in lost {
        within("position", count, N, expected);
    }
}

#[test]
fn channels_that_never_move_or_always_do() {
    let lost = |rule: &str| lost(&[loss(rule)], 1000, 3);
    assert!(lost("gilbert-elliott:0,0").iter().all(|&lost| !lost));
    assert!(lost("gilbert-elliott:0,0,1,1").iter().all(|&lost| lost));
    assert!(lost("gilbert-elliott:1,0").iter().all(|&lost| lost));
    assert!(lost("gilbert-elliott:0,1").iter().all(|&lost| !lost));
    assert!(lost("gilbert-elliott:1,1").windows(2).all(|pair| pair[0] != pair[1]));
}

#[test]
fn a_channel_keeps_its_states_when_packets_are_overtaken_or_do_not_come() {
    // The channel is hop 2 in both chains, so both draw the same states.
    let channel = loss("gilbert-elliott:0.3,0.4");
    let extra = Duration::from_nanos(35);
    let calm = [delay(1), delay(1), channel.clone()];
    let shaken = [loss("bernoulli:0.2"), HopSpec::Reorder { probability: p(0.4), extra }, channel];
    let packets = || (0..500).map(|id| of_flow(0, id, id * 10));
    let in_order = dropped_ids(&run(&mut chain(&calm, 6), packets()));
    let exits = run(&mut chain(&shaken, 6), packets());
    let delivered: Vec<_> = delivered(&exits).into_iter().map(|(_, id)| id).collect();
    assert!(!delivered.is_sorted(), "some are overtaken");
    for (_, id, hop, _) in dropped(&exits) {
        assert!(hop == 0 || in_order.contains(&id), "{id} is lost out of order only");
    }
    for id in delivered {
        assert!(!in_order.contains(&id), "{id} is lost in order only");
    }
}
