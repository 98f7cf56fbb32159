//! Queues that drop or mark packets before they are full.

use super::*;
use crate::{CoDel, Red};

/// Arrivals in ms: `burst` packets of 1500 bytes at once, then one a millisecond, as fast as 12 Mbit/s carries them.
fn standing_queue(burst: u64, until: u64) -> impl Iterator<Item = (u64, Numbered)> {
    let times = std::iter::repeat_n(0, burst as usize).chain(1..until);
    (0..).zip(times).map(|(id, ms)| (ms * 1_000_000, packet(id, 1500)))
}

fn codel(ecn: bool) -> Queue {
    Queue::CoDel(CoDel { ecn, ..CoDel::default() })
}

/// Whole milliseconds of the drops by the queue's management.
fn drop_times(exits: &[(u64, Exit<Numbered>)]) -> Vec<u64> {
    let managed = dropped(exits).into_iter().filter(|(.., cause)| *cause == DropCause::Managed);
    managed.map(|(at, ..)| at / 1_000_000).collect()
}

#[test]
fn codel_drops_ever_faster_until_packets_wait_less_than_the_target() {
    let mut chain = chain(&[rate(12_000_000, codel(false))], 0);
    let exits = run(&mut chain, standing_queue(40, 3000));
    let drops = drop_times(&exits);
    // The packet that leaves the queue at 5 ms is the first that has waited for 5 ms. 100 ms later the first is
    // dropped, and packet n + 1 comes 100 ms/√n after packet n.
    let mut expected = vec![105.0];
    for n in 1..5 {
        expected.push(expected.last().unwrap() + 100.0 / f64::from(n).sqrt());
    }
    for (drop, expected) in drops.iter().zip(&expected) {
        assert!((*drop as f64 - expected).abs() <= 1.0, "{drops:?}, {expected:?}");
    }
    // 40 packets wait for 40 ms. Each drop shortens this by a millisecond.
    assert!((34..=37).contains(&drops.len()), "{drops:?}");
    assert!(*drops.last().unwrap() < 1500);
}

#[test]
fn codel_lets_a_burst_pass_that_is_gone_within_an_interval() {
    let mut chain = chain(&[rate(12_000_000, codel(false))], 0);
    let burst = (0..90).map(|id| (0, packet(id, 1500)));
    assert_eq!(drop_times(&run(&mut chain, burst)), []);
    // Its limit holds all the same.
    let limited = CoDel { limit: 10, ..CoDel::default() };
    let mut chain = super::chain(&[rate(12_000_000, Queue::CoDel(limited))], 0);
    let exits = run(&mut chain, (0..30).map(|id| (0, packet(id, 1500))));
    let full = dropped(&exits);
    assert_eq!(full.len(), 19, "one is transmitted, ten wait");
    assert!(full.iter().all(|(.., cause)| *cause == DropCause::QueueFull));
}

#[test]
fn codel_marks_what_understands_marks() {
    let run_with = |ecn, capable| {
        let mut chain = chain(&[rate(12_000_000, codel(ecn))], 0);
        let packets = standing_queue(40, 1000).map(|(at, packet)| (at, Numbered { capable, ..packet }));
        let exits = run(&mut chain, packets);
        let marked = |(_, exit): &&(u64, Exit<Numbered>)| matches!(exit, Exit::Delivered(packet) if packet.marked);
        (drop_times(&exits).len(), exits.iter().filter(marked).count())
    };
    let (drops, marks) = run_with(true, true);
    assert_eq!(drops, 0);
    // Marks do not shorten the queue, so they come at least as often.
    assert!(marks > 20, "{marks}");
    for (ecn, capable) in [(true, false), (false, true)] {
        let (drops, marks) = run_with(ecn, capable);
        assert!(drops > 20 && marks == 0, "{drops} drops, {marks} marks");
    }
}

#[test]
fn red_drops_from_a_queue_that_stands_above_its_bounds() {
    // (bounds, drops): the average nears the 100 packets that wait, and outlasts them.
    for (min, max, drops) in [(5, 15, 100..=200), (20, 60, 80..=150), (200, 300, 0..=0)] {
        let red = Red { min, max, ecn: false };
        let mut chain = chain(&[rate(12_000_000, Queue::Red(red))], 7);
        let dropped = drop_times(&run(&mut chain, standing_queue(100, 4000)));
        assert!(drops.contains(&dropped.len()), "{min} to {max}: {dropped:?}");
    }
}
