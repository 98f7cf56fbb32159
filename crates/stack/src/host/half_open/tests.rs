use super::*;
use recoup_recovery::Mechanisms;
use recoup_tcp::{Config, SendLimits};
use recoup_wire::{Flags, Segment};
use std::collections::HashMap;

/// What is left of a connection whose SYN arrived then.
fn half(since: Instant) -> HalfOpen {
    let limits = SendLimits { buffer: 1000, unsent: 1000 };
    let mut tcp = Tcp::listen(&Config::new(Mechanisms::LINUX_6), limits);
    let syn = Segment { flags: Flags::SYN, ..Segment::default() };
    tcp.deliver(since, &syn, &[]);
    let mut answer = Segment::default();
    while tcp.poll_transmit(since, &mut answer).is_some() {}
    HalfOpen::of(tcp.endpoint(), since).unwrap()
}

fn kept(since: Instant) -> Kept {
    Kept { half: half(since), listener: ListenerId(0), receive_buffer: 5 }
}

fn path(version: u8, number: u32) -> Endpoints {
    let (port, rest) = (number % 60_000 + 1, number / 60_000);
    let [.., a, b] = rest.to_be_bytes();
    let (src, dst) = match version {
        4 => ("192.0.2.1:80".to_owned(), format!("10.0.{a}.{b}:{port}")),
        _ => ("[2001:db8::1]:80".to_owned(), format!("[2001:db8::{a}:{b}]:{port}")),
    };
    Endpoints { src: src.parse().unwrap(), dst: dst.parse().unwrap() }
}

#[test]
fn an_entry_is_small_and_so_are_many() {
    let kept = kept(Instant::ZERO);
    for version in [4, 6] {
        let mut all = HalfOpens::default();
        for number in 1..100_000 {
            all.insert(&path(version, number), kept, Instant::from_millis(1_000));
            if number >= 500 {
                let each = all.memory() as f64 / f64::from(number);
                assert!(each <= 128.0, "{each} bytes for each of {number} over IPv{version}");
            }
        }
        assert_eq!(all.len(), 99_999);
        for number in 1..100_000 {
            assert!(all.take(&path(version, number)).is_some());
        }
        assert_eq!((all.len(), all.memory(), all.next()), (0, 0, None));
    }
}

#[test]
fn entries_are_due_in_order_whatever_is_taken_out() {
    // A fixed sequence of numbers, far from any order.
    let mut state = 1_u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % below
    };
    let mut all = HalfOpens::default();
    let mut expected: HashMap<Endpoints, Instant> = HashMap::new();
    let kept = kept(Instant::ZERO);
    for _ in 0..20_000 {
        let path = path(if draw(2) == 0 { 4 } else { 6 }, draw(300) as u32 + 1);
        if draw(3) == 0 {
            assert_eq!(all.take(&path).is_some(), expected.remove(&path).is_some());
        } else {
            let due = Instant::from_nanos(draw(60_000) * 1_000_001);
            all.insert(&path, kept, due);
            expected.insert(path, due);
        }
        assert_eq!(all.len(), expected.len());
        assert_eq!(all.has(&path), expected.contains_key(&path));
        // Microseconds are counted, rounded up.
        let next = expected.values().min().map(|at| at.as_nanos().div_ceil(1_000));
        assert_eq!(all.next().map(|at| at.as_nanos() / 1_000), next);
    }
    let mut before = Instant::ZERO;
    while let Some(at) = all.next() {
        let path = all.due(at).unwrap();
        assert!(at >= before && all.due(Instant::from_nanos(at.as_nanos() - 1)).is_none());
        before = at;
        assert!(all.take(&path).is_some() && expected.remove(&path).is_some());
    }
    assert!(expected.is_empty());
}
