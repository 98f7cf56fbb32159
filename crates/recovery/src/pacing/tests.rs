use super::*;

#[test]
fn the_rate_follows_window_and_srtt() {
    // (cwnd, ssthresh, outstanding, SRTT in µs, bytes per second)
    let cases = [
        (10, u32::MAX, 10, 100_000, 200_000),
        (10, u32::MAX, 20, 100_000, 400_000), // more outstanding than the window
        (10, 20, 0, 100_000, 120_000),        // half of ssthresh is reached
        (9, 20, 0, 100_000, 180_000),
        (10, 5, 0, 30_000, 400_000),
        (10, 5, 0, 7, 1_714_285_714), // rounded down
        (1, 5, 0, u64::MAX, 1),
    ];
    for (cwnd, ssthresh, outstanding, micros, expected) in cases {
        let input = PacingInput {
            mss: 1000,
            cwnd: Segments(cwnd),
            ssthresh: Segments(ssthresh),
            outstanding: Segments(outstanding),
            srtt: Some(Duration::from_micros(micros)),
        };
        let rate = input.rate().map(BitRate::bits_per_second);
        assert_eq!(rate, Some(expected * 8), "{input:?}");
        for srtt in [None, Some(Duration::ZERO)] {
            assert_eq!(PacingInput { srtt, ..input }.rate(), None);
        }
    }
}

#[test]
fn a_burst_leaves_at_once_and_the_rest_at_the_rate() {
    // 1,000 bytes a millisecond.
    let rate = BitRate::from_bits_per_second(8_000_000).unwrap();
    let at = Instant::from_millis;
    let mut pacer = Pacer::default();
    pacer.set_by_host(true);
    let span = Span::at(Offset::DATA, 1000);
    let leave = |pacer: &mut Pacer, now| {
        let departure = pacer.departure(now, 1000, rate);
        pacer.on_sent(departure, span, 1000, rate, 1);
        departure
    };
    let first: Vec<_> = (0..12).map(|_| leave(&mut pacer, at(100))).collect();
    assert_eq!(first[..10], [at(100); 10]);
    assert_eq!(first[10..], [at(101), at(102)]);
    // At a rate that divides no segment, rounding does not delay the tenth.
    let odd = BitRate::from_bits_per_second(7_000_001).unwrap();
    (0..9).for_each(|_| pacer.on_sent(at(300), span, 1000, odd, 1));
    assert_eq!(pacer.departure(at(300), 1000, odd), at(300));
    // A pause gives the burst back, and no more.
    let second: Vec<_> = (0..11).map(|_| leave(&mut pacer, at(500))).collect();
    assert_eq!((second[9], second[10]), (at(500), at(501)));
}

#[test]
fn bursts_leave_at_the_rate_after_ten_segments() {
    // 1,000 bytes a millisecond, in bursts of two.
    let rate = BitRate::from_bits_per_second(8_000_000).unwrap();
    let at = Instant::from_millis;
    let mut departures = Departures::default();
    let send = |departures: &mut Departures, now, n: u64| {
        let span = Span::at(Offset::DATA + n * 1000, 1000);
        let permitted = departures.permits(now, span);
        departures.on_sent(now, span, rate, 2);
        permitted
    };
    assert!((0..10).all(|n| send(&mut departures, at(100), n)));
    assert_eq!(departures.next, at(102), "the tenth is the second of a burst");
    let next = Span::at(Offset::DATA + 10_000, 1000);
    assert!(!departures.permits(at(101), next));
    assert!(send(&mut departures, at(102), 10));
    assert!(send(&mut departures, at(102), 11));
    assert_eq!(departures.next, at(104));
    let third = Span::at(Offset::DATA + 12_000, 1000);
    assert!(!departures.permits(at(102), third), "the burst is full");
    // A burst that leaves late is followed sooner, by half its gap at most.
    assert!(send(&mut departures, at(110), 12));
    assert_eq!(departures.next, Instant::from_nanos(110_500_000));
    departures.on_timer();
    assert!(departures.permits(at(110), Span::at(Offset::DATA, 1000)));
    assert_eq!(departures.deadline(), None);
}

#[test]
fn a_burst_is_a_millisecond_at_the_rate() {
    // (bytes per second, minimum RTT in ms, least, segments)
    let cases = [
        (1_024_000, Some(40), 2, 2),
        (10_240_000, Some(40), 2, 10),
        (100, Some(40), 1, 1),
        (u64::MAX, None, 2, 65),
        (1_024_000, Some(1), 2, 33), // a short path
    ];
    for (rate, rtt, least, segments) in cases {
        let rtt = rtt.map(Duration::from_millis);
        assert_eq!(burst(rate, 1000, rtt, least), segments, "{rate}, {rtt:?}");
    }
}
