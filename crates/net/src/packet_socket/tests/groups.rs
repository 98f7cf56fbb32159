//! Several rings: groups that share frames, and rings that are merged.

use super::*;
use crate::{MergedRings, RingEvent};
use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// Reads frames in the order of time until `is_enough`.
fn merge_until(
    rings: &mut MergedRings,
    mut is_enough: impl FnMut(&[(usize, Kept)], &[RingEvent]) -> bool,
) -> (Vec<(usize, Kept)>, Vec<RingEvent>) {
    let (mut frames, mut events) = (Vec::new(), Vec::new());
    let end = Time::now() + PATIENCE;
    while !is_enough(&frames, &events) {
        assert!(Time::now() < end, "{} frames after {PATIENCE:?}, {events:?}", frames.len());
        rings.drain(1000, |number, frame| frames.push((number, frame.into())));
        events.extend(rings.wait(Duration::from_millis(20)).unwrap());
    }
    (frames, events)
}

/// The ports of the client, on the left, and of the server, of a TCP segment over IPv4 and Ethernet. The kernel may give two
/// clients of different servers the same port.
fn ports(frame: &Kept) -> Option<(u16, u16)> {
    let is_tcp = frame.data.get(12..14)? == [8, 0] && *frame.data.get(23)? == 6;
    let [source, destination] = [34, 36].map(|at| u16::from_be_bytes([frame.data[at], frame.data[at + 1]]));
    is_tcp.then_some(if frame.outgoing? { (source, destination) } else { (destination, source) })
}

#[test]
fn a_group_loses_nothing_and_keeps_connections_together() {
    let Some(pair) = Pair::new() else { return };
    let before = pair.counters();
    let options = PacketSocketOptions::default();
    let mut rings = pair.left.run(move || PacketRing::open_group(Some(LEFT.0), &options, 2)).unwrap().unwrap();
    let connections: HashSet<_> = (0..24).map(|_| pair.transfer(50_000)).collect();
    let expected = |counters: [u64; 4]| counters[0] + counters[2] - before[0] - before[2];
    let mut found: [Vec<Kept>; 2] = Default::default();
    let end = Time::now() + PATIENCE;
    while expected(pair.counters()) != found.iter().map(Vec::len).sum::<usize>() as u64 {
        assert!(Time::now() < end, "{} and {} frames", found[0].len(), found[1].len());
        for (ring, frames) in rings.iter_mut().zip(&mut found) {
            while ring.drain(|frame| frames.push(frame.into())) > 0 {}
            ring.wait(Duration::from_millis(10)).unwrap();
        }
    }
    let each = found.each_ref().map(|frames| frames.iter().filter_map(ports).collect::<HashSet<_>>());
    assert_eq!(&each[0] | &each[1], connections);
    assert_eq!(&each[0] & &each[1], HashSet::new());
    // That all are in one ring has a probability of 2^-23.
    assert!(each.iter().all(|connections| !connections.is_empty()));
    assert!(found.iter().all(is_ordered));
}

#[test]
fn no_frame_is_in_two_rings_while_a_group_is_opened() {
    let Some(pair) = Pair::new() else { return };
    let sender = pair.right_ring();
    let is_over = Arc::new(AtomicBool::new(false));
    let noise = {
        let is_over = Arc::clone(&is_over);
        thread::spawn(move || {
            let mut number = 0_u32;
            while !is_over.load(Ordering::Relaxed) {
                sender.send(&frame(LEFT.1, EXPERIMENT, &[&number.to_be_bytes(), &[1; 46][..]].concat())).unwrap();
                number += 1;
            }
        })
    };
    for _ in 0..20 {
        let options = PacketSocketOptions { ring_bytes: 1 << 20, ..Default::default() };
        let mut rings = pair.left.run(move || MergedRings::open(&[LEFT.0], &options, 3)).unwrap().unwrap();
        let (frames, _) = merge_until(&mut rings, |frames, _| !frames.is_empty());
        let numbers: Vec<_> = frames.iter().map(|(_, frame)| &experiment(frame).unwrap()[..4]).collect();
        assert_eq!(numbers.iter().collect::<HashSet<_>>().len(), numbers.len(), "{numbers:?}");
    }
    is_over.store(true, Ordering::Relaxed);
    noise.join().unwrap();
}

#[test]
fn rings_are_read_in_the_order_of_time() {
    let Some(pair) = Pair::new() else { return };
    let (left, right) = (pair.ring(&PacketSocketOptions::default()), pair.right_ring());
    let sender = pair.right_ring();
    let mut rings = MergedRings::new(vec![vec![left], vec![right]]);
    assert_eq!([rings.name(0), rings.name(1), rings.name(2)], [Some(LEFT.0), Some(RIGHT.0), None]);
    // The kernel hands over the blocks of the two rings at different times.
    let sent = thread::spawn(move || {
        for number in 0..3000_u16 {
            let payload = [&number.to_be_bytes(), &[1; 48][..]].concat();
            sender.send(&frame(LEFT.1, EXPERIMENT, &payload)).unwrap();
            if number % 50 == 0 {
                thread::sleep(Duration::from_millis(2));
            }
        }
    });
    let (mut frames, events) = merge_until(&mut rings, |frames, _| frames.len() >= 6000);
    sent.join().unwrap();
    assert_eq!((frames.len(), events), (6000, vec![]));
    // The system may delay a ring by more than is waited for. Then the frames are counted.
    let mut latest = Instant::ZERO;
    let late = frames.iter().filter(|(_, frame)| {
        let is_late = frame.at < latest;
        latest = latest.max(frame.at);
        is_late
    });
    let late = late.count() as u64;
    assert!(rings.out_of_order() == late && late < 300, "{late} {}", rings.out_of_order());
    frames.sort_by_key(|(_, frame)| frame.at);
    // The right interface sends each frame before the left one receives it.
    for (number, two) in frames.chunks_exact(2).enumerate() {
        let expected = (number as u16).to_be_bytes();
        let found = [0, 1].map(|i| (two[i].0, two[i].1.outgoing, &experiment(&two[i].1).unwrap()[..2]));
        assert_eq!(found, [(1, Some(true), &expected[..]), (0, Some(false), &expected[..])]);
    }
    assert_eq!(rings.take_statistics().unwrap(), RingStatistics { frames: 6000, ..Default::default() });
}

#[test]
fn a_group_of_all_interfaces_loses_nothing() {
    let Some(pair) = Pair::new() else { return };
    let before = pair.counters();
    let open = || MergedRings::open(&[], &PacketSocketOptions::default(), 2);
    let mut rings = pair.left.run(open).unwrap().unwrap();
    let sender = pair.right_ring();
    for number in 0..1000 {
        sender.send(&frame(LEFT.1, 0x0800, &packet(&[number as u8; 30]))).unwrap();
    }
    let (frames, _) = merge_until(&mut rings, |frames, _| frames.len() >= 1000);
    assert_eq!((frames.len() as u64, rings.name(0)), (pair.counters()[0] - before[0], None));
    assert!(frames.iter().all(|(number, frame)| *number == 0 && frame.interface == pair.index));
    assert_eq!([rings.name_of(0, pair.index).as_deref(), rings.name_of(0, 999).as_deref()], [Some(LEFT.0), None]);
}

#[test]
fn a_quiet_ring_holds_another_one_up_only_for_a_moment() {
    let Some(pair) = Pair::new() else { return };
    let quiet = pair.left.run(|| PacketRing::open(Some("lo"), &PacketSocketOptions::default())).unwrap().unwrap();
    let mut rings = MergedRings::new(vec![vec![quiet], vec![pair.ring(&PacketSocketOptions::default())]]);
    pair.right_ring().send(&frame(LEFT.1, EXPERIMENT, &[1; 50])).unwrap();
    let sent = Time::now();
    let (frames, _) = merge_until(&mut rings, |frames, _| !frames.is_empty());
    assert_eq!(frames[0].0, 1);
    assert!(sent.elapsed() < Duration::from_secs(1), "{:?}", sent.elapsed());
}

#[test]
fn a_removed_interface_ends_its_rings_after_its_frames() {
    let Some(pair) = Pair::new() else { return };
    let index = pair.index;
    let options = PacketSocketOptions { block_timeout: Duration::from_millis(200), ..Default::default() };
    let open = move || MergedRings::open(&[LEFT.0, "lo"], &options, 2);
    let mut rings = pair.left.run(open).unwrap().unwrap();
    pair.left.run(move || Netlink::open()?.bring_down(index)).unwrap().unwrap();
    let down = RingEvent::InterfaceDown { number: 0, name: LEFT.0.into() };
    let (_, events) = merge_until(&mut rings, |_, events| !events.is_empty());
    assert_eq!(events, [down]);
    pair.left.run(move || Netlink::open()?.bring_up(index, None)).unwrap().unwrap();
    let sender = pair.right_ring();
    pair.send_until_received(&sender);
    // The frame is in a block that the kernel is filling.
    pair.left.run(move || Netlink::open()?.delete(index)).unwrap().unwrap();
    let gone = RingEvent::InterfaceGone { number: 0, name: LEFT.0.into() };
    let (frames, events) = merge_until(&mut rings, |_, events| events.contains(&gone));
    assert!(frames.iter().any(|(number, frame)| *number == 0 && experiment(frame).is_some()), "{frames:?}");
    assert_eq!(events.iter().filter(|event| **event == gone).count(), 1, "{events:?}");
    assert!(!rings.is_over() && rings.take_statistics().unwrap().frames >= 1);
}

#[test]
fn an_interface_that_is_down_is_removed_without_an_error() {
    let Some(pair) = Pair::new() else { return };
    let index = pair.index;
    let mut rings = MergedRings::new(vec![vec![pair.ring(&PacketSocketOptions::default())]]);
    pair.left.run(move || Netlink::open()?.bring_down(index)).unwrap().unwrap();
    merge_until(&mut rings, |_, events| !events.is_empty());
    pair.left.run(move || Netlink::open()?.delete(index)).unwrap().unwrap();
    let gone = RingEvent::InterfaceGone { number: 0, name: LEFT.0.into() };
    let (_, events) = merge_until(&mut rings, |_, events| !events.is_empty());
    assert_eq!(events, [gone]);
    assert!(rings.is_over());
}

#[test]
fn reading_is_over_when_all_interfaces_are_gone() {
    let Some(pair) = Pair::new() else { return };
    let index = pair.index;
    let mut rings = MergedRings::new(vec![vec![pair.ring(&PacketSocketOptions::default())], vec![pair.right_ring()]]);
    pair.left.run(move || Netlink::open()?.delete(index)).unwrap().unwrap();
    let (_, events) = merge_until(&mut rings, |_, events| {
        events.iter().filter(|event| matches!(event, RingEvent::InterfaceGone { .. })).count() == 2
    });
    assert!(rings.is_over(), "{events:?}");
    assert_eq!(rings.wait(PATIENCE).unwrap(), []);
}
