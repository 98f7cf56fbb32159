use super::*;
use recoup_recovery::Mechanisms;
use recoup_tcp::{Config, Endpoint, State};
use recoup_wire::{Flags, SeqNumber};

/// An endpoint in TIME-WAIT, and the number of its last segment.
fn waiting(now: Instant) -> (TimeWait, Segment) {
    let mut endpoint = Endpoint::connect(&Config::new(Mechanisms::LINUX_6));
    let mut sent = Segment::default();
    let mut answer = |endpoint: &mut Endpoint, flags, seq, ack| {
        while endpoint.poll_transmit(now, &mut sent).is_some() {}
        let segment = Segment { seq: SeqNumber(seq), ack: SeqNumber(ack), flags, window: 500, ..Segment::default() };
        endpoint.on_segment(now, &segment);
        segment
    };
    answer(&mut endpoint, Flags::SYN | Flags::ACK, 99, 1);
    endpoint.close(now);
    let last = answer(&mut endpoint, Flags::FIN | Flags::ACK, 100, 2);
    assert_eq!(endpoint.state(), State::TimeWait);
    while endpoint.poll_transmit(now, &mut sent).is_some() {}
    (TimeWait::of(&endpoint).unwrap(), last)
}

fn path(version: u8, port: u16) -> Endpoints {
    let (src, dst) = match version {
        4 => ("192.0.2.1:80", "192.0.2.2:80"),
        _ => ("[2001:db8::1]:80", "[2001:db8::2]:80"),
    };
    let mut dst: SocketAddr = dst.parse().unwrap();
    dst.set_port(port);
    Endpoints { src: src.parse().unwrap(), dst }
}

#[test]
fn an_entry_is_small_and_so_are_many() {
    assert_eq!((size_of::<Entry<Ipv4Addr>>(), size_of::<Entry<Ipv6Addr>>()), (40, 64));
    for (version, most) in [(4, 64), (6, 92)] {
        let (wait, _) = waiting(Instant::ZERO);
        let mut waits = TimeWaits::default();
        for port in 0..60_000 {
            waits.insert(&path(version, port), wait, usize::MAX);
        }
        let each = waits.memory() as f64 / 60_000.0;
        assert!(each < f64::from(most), "{each} bytes for each over IPv{version}");
    }
}

#[test]
fn entries_answer_and_end() {
    for version in [4, 6] {
        let (first, last) = (waiting(Instant::from_millis(10_000)), waiting(Instant::from_millis(20_000)));
        let mut waits = TimeWaits::default();
        waits.insert(&path(version, 1), first.0, 10);
        waits.insert(&path(version, 2), last.0, 10);
        let mut answer = |now, port| waits.on_segment(Instant::from_millis(now), &path(version, port), &last.1, 10);
        assert!(matches!(answer(21_000, 2), Some(TimeWaitAnswer::Acknowledge(_))));
        assert_eq!(answer(21_000, 3), None);
        // The repeated FIN starts the wait anew.
        assert!(matches!(answer(40_000, 1), Some(TimeWaitAnswer::Acknowledge(_))));
        waits.end_due(Instant::from_millis(75_000));
        assert!(waits.has(&path(version, 1)) && waits.has(&path(version, 2)));
        waits.end_due(Instant::from_millis(82_500));
        assert!(waits.has(&path(version, 1)) && !waits.has(&path(version, 2)));
        waits.end_due(waits.next().unwrap());
        assert!(!waits.has(&path(version, 1)));
        assert_eq!((waits.len(), waits.next(), waits.memory()), (0, None, 0));
    }
}

#[test]
fn beyond_the_bound_the_oldest_goes() {
    let (wait, _) = waiting(Instant::ZERO);
    let mut waits = TimeWaits::default();
    for port in 1..=15 {
        waits.insert(&path(4, port), wait, 10);
    }
    let kept: Vec<u16> = (1..=15).filter(|port| waits.has(&path(4, *port))).collect();
    assert_eq!(kept, Vec::from_iter(6..=15));
    // The same path again is the same entry.
    waits.insert(&path(4, 15), wait, 100);
    assert!(waits.has(&path(4, 15)));
}

#[test]
fn waits_that_begin_anew_stay_within_the_bound() {
    let (wait, last) = waiting(Instant::ZERO);
    let mut waits = TimeWaits::default();
    waits.insert(&path(4, 1), wait, 10);
    for second in 1..50 {
        let answer = waits.on_segment(Instant::from_millis(second * 1000), &path(4, 1), &last, 10);
        assert!(matches!(answer, Some(TimeWaitAnswer::Acknowledge(_))), "{answer:?}");
    }
    assert!(waits.len() <= 10, "{} entries", waits.len());
    assert!(waits.has(&path(4, 1)));
}
