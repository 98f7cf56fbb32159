use super::*;

const MSS: u64 = 1000;

fn ms(at: u64) -> Instant {
    Instant::from_millis(at)
}

/// Delivers segment `n` (counted from 1), sent at `at`, alone at `now`.
fn deliver(rate: &mut DeliveryRate, now: u64, n: u64, at: u64) -> Option<u64> {
    let end = Offset(1 + n * MSS);
    rate.on_ack(
        ms(now),
        &Delivery {
            delivered: Segments::ONE,
            newest: Some(Sent { at: ms(at), end }),
            una: end,
            min_rtt: Duration::from_millis(40),
            mss: MSS as u32,
        },
    );
    rate.rate().map(BitRate::bits_per_second)
}

fn send(rate: &mut DeliveryRate, now: u64, n: u64, alone: bool) {
    let start = Offset(1 + (n - 1) * MSS);
    rate.on_sent(ms(now), start, start, alone);
}

#[test]
fn the_acks_of_a_full_window_give_the_rate() {
    let mut rate = DeliveryRate::default();
    for n in 1..=4 {
        send(&mut rate, 0, n, n == 1);
    }
    // One segment in 40 ms, two in 45 ms: 8000 bits / 40 ms, 16,000 / 45 ms.
    assert_eq!(deliver(&mut rate, 40, 1, 0), Some(200_000));
    send(&mut rate, 40, 5, false);
    assert_eq!(deliver(&mut rate, 45, 2, 0), Some(355_555));
    deliver(&mut rate, 50, 3, 0);
    deliver(&mut rate, 55, 4, 0);
    // Segment 5 was sent at 40, when one was delivered: four more in the 50 ms since.
    assert_eq!(deliver(&mut rate, 90, 5, 40), Some(640_000));
}

#[test]
fn an_application_limited_sample_only_raises_the_rate() {
    let mut rate = DeliveryRate::default();
    rate.on_application_limited(Segments::ZERO);
    send(&mut rate, 0, 1, true);
    send(&mut rate, 0, 2, false);
    assert_eq!(deliver(&mut rate, 40, 1, 0), None, "limited");
    assert_eq!(deliver(&mut rate, 41, 2, 0), None);
    send(&mut rate, 50, 3, true);
    assert_eq!(deliver(&mut rate, 100, 3, 50), Some(160_000), "8000 / 50 ms");
    rate.on_application_limited(Segments::ZERO);
    send(&mut rate, 200, 4, true);
    assert_eq!(deliver(&mut rate, 300, 4, 200), Some(160_000), "lower");
    rate.on_application_limited(Segments::ZERO);
    send(&mut rate, 400, 5, true);
    assert_eq!(deliver(&mut rate, 440, 5, 400), Some(200_000), "higher");
}

#[test]
fn a_sample_below_the_minimum_rtt_is_discarded() {
    let mut rate = DeliveryRate::default();
    send(&mut rate, 0, 1, true);
    assert_eq!(deliver(&mut rate, 39, 1, 0), None);
}

#[test]
fn stamps_are_dropped_with_their_data() {
    let mut rate = DeliveryRate::default();
    for n in 1..=1000 {
        send(&mut rate, 100 * n, n, true);
        deliver(&mut rate, 100 * n + 50, n, 100 * n);
        assert!(rate.stamps.len() <= 2);
    }
}

#[test]
fn a_retransmission_has_a_stamp_of_its_own() {
    let mut rate = DeliveryRate::default();
    for n in 1..=4 {
        send(&mut rate, 0, n, n == 1);
    }
    deliver(&mut rate, 40, 2, 0);
    // The first segment is lost. It is retransmitted at 60 ms, when one segment was delivered.
    rate.on_sent(ms(60), Offset::DATA, Offset(1 + 4 * MSS), false);
    deliver(&mut rate, 61, 3, 0);
    let una = Offset(1 + 3 * MSS);
    let newest = Some(Sent { at: ms(60), end: Offset(1 + MSS) });
    let ack = Delivery { delivered: Segments::ONE, newest, una, min_rtt: Duration::from_millis(40), mss: MSS as u32 };
    let sample = rate.on_ack(ms(100), &ack).unwrap();
    assert_eq!((sample.prior_delivered, sample.delivered), (1, 2));
    assert_eq!(sample.interval, Some(Duration::from_millis(60)));
}

#[test]
fn segments_of_one_instant_are_told_apart_by_their_order() {
    let mut rate = DeliveryRate::default();
    for n in 1..=2 {
        send(&mut rate, 0, n, n == 1);
    }
    // Two ACKs at 40 ms, each of which lets a segment go.
    for n in 1..=2 {
        deliver(&mut rate, 40, n, 0);
        send(&mut rate, 40, 2 + n, false);
    }
    let sample = |rate: &DeliveryRate, n: u64| {
        let end = Offset(1 + n * MSS);
        rate.stamp_of(Sent { at: ms(40), end }).unwrap().delivered
    };
    assert_eq!((sample(&rate, 3), sample(&rate, 4)), (1, 2));
}
