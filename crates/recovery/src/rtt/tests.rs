use super::*;

const LINUX: RtoRules = crate::Mechanisms::LINUX_6.rto;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// The handshake's sample and then `samples` in one flight: una stays below the round's end.
fn one_flight(handshake: u64, samples: &[u64]) -> RttEstimator {
    let mut e = RttEstimator::new(LINUX);
    e.on_sample(ms(handshake), Offset(1), Offset(1));
    for (i, &s) in samples.iter().enumerate() {
        e.on_sample(ms(s), Offset(2 + i as u64), Offset(1000));
    }
    e
}

#[test]
fn rto_of_a_short_flow() {
    // (RTT of the handshake, samples of the flow, RTO in ms): a constant RTT keeps the
    // handshake's R/2 through the whole flight; the floor rules below 100 ms.
    let cases: [(u64, &[u64], f64); 6] = [
        (20, &[20; 9], 220.0),
        (80, &[80; 9], 280.0),
        (160, &[160; 9], 480.0),
        (320, &[320; 9], 960.0),
        // Four delayed-ACK samples and one held for 200 ms: it raises both terms.
        (20, &[20, 20, 20, 20, 220], 45.0 + 209.492),
        (80, &[80, 80, 80, 80, 280], 105.0 + 237.969),
    ];
    for (handshake, samples, rto) in cases {
        let got = one_flight(handshake, samples).rto().as_secs_f64() * 1e3;
        assert!((got - rto).abs() < 0.01, "{handshake} {samples:?}: {got} expected {rto}");
    }
}

#[test]
fn variance_falls_at_most_once_a_round_trip() {
    let mut e = RttEstimator::new(LINUX);
    e.on_sample(ms(800), Offset(1), Offset(1));
    assert_eq!(e.rto(), ms(800 + 1600));
    e.on_sample(ms(800), Offset(2), Offset(100)); // ends the handshake's round, starts one to 100
    for una in 3..=100 {
        e.on_sample(ms(800), Offset(una), Offset(200));
        assert_eq!(e.rto(), ms(2400), "una {una}");
    }
    // The round's largest deviation was 4·mdev = 1600·(3/4)² after its first sample.
    e.on_sample(ms(800), Offset(101), Offset(200));
    assert_eq!(e.rto(), ms(800 + 1600 - (1600 - 900) / 4));
}

#[test]
fn a_falling_rtt_is_damped() {
    let rising = one_flight(100, &[400]);
    let falling = one_flight(400, &[100]);
    assert_eq!(rising.rttvar(), ms(450) / 4);
    assert_eq!(falling.srtt(), Some(ms(400) - ms(300) / 8));
    assert_eq!(falling.rttvar(), (ms(800) + ms(100) / 8) / 4);
}

//= test: RFC 6298 §2.2
//= test: RFC 6298 §2.3
//= test: RFC 6298 §2.4
//= test: RFC 6298 §4
#[test]
fn the_estimator_of_rfc_6298() {
    let rules = RtoRules { smoothing: Smoothing::Standard, min_variance: ms(1), min: ms(1000), ..LINUX };
    let mut e = RttEstimator::new(rules);
    // RFC 6298 §2.2, §2.3: (sample, SRTT, 4·RTTVAR) in ms
    for (sample, srtt, rttvar4) in [(400, 400.0, 800.0), (400, 400.0, 600.0), (800, 450.0, 850.0), (450, 450.0, 637.5)]
    {
        e.on_sample(ms(sample), Offset(1), Offset(9));
        assert_eq!(e.srtt().map(|d| d.as_secs_f64() * 1e3), Some(srtt));
        assert_eq!(e.rttvar().as_secs_f64() * 4e3, rttvar4);
        let rto = (srtt + rttvar4).max(1000.0);
        assert_eq!(e.rto().as_secs_f64() * 1e3, rto);
    }
}

/// Drives an estimator that times one segment per flight; times in ms.
struct Flight(RttEstimator);

impl Flight {
    fn new(sampling: Sampling) -> Self {
        Self(RttEstimator::new(RtoRules { sampling, ..LINUX }))
    }

    fn sends(&mut self, at: u64, starts: &[u64]) {
        for &start in starts {
            self.0.on_sent(Instant::from_millis(at), Offset(start));
        }
    }

    fn acks(&mut self, at: u64, una: u64, timestamp: Option<u64>) -> Option<u64> {
        let now = Instant::from_millis(at);
        let sample = self.0.flight_sample(now, Offset(una), timestamp.map(ms));
        sample.map(|rtt| rtt.as_millis() as u64)
    }
}

//= test: RFC 6298 §3
#[test]
fn one_segment_per_flight_is_timed() {
    let mut flight = Flight::new(Sampling::Flight);
    assert!(flight.0.times_flights());
    flight.sends(0, &[0]);
    assert_eq!(flight.acks(80, 0, None), None, "the timed segment is not acknowledged");
    assert_eq!(flight.acks(90, 1, None), Some(90));
    flight.sends(100, &[1, 11, 21]);
    assert_eq!(flight.acks(180, 11, None), Some(80));
    assert_eq!(flight.acks(190, 21, None), None, "a segment of this flight was timed already");
    // A segment sent since is timed, even if the ACK also covers older segments.
    flight.sends(200, &[31, 41]);
    assert_eq!(flight.acks(270, 31, None), None);
    assert_eq!(flight.acks(290, 51, None), Some(90));
    // A timestamp changes nothing.
    flight.sends(300, &[51, 61]);
    assert_eq!(flight.acks(380, 61, Some(70)), Some(80));
    assert_eq!(flight.acks(390, 71, Some(70)), None);
}

#[test]
fn a_retransmission_ends_the_timing() {
    let mut flight = Flight::new(Sampling::Flight);
    flight.sends(0, &[1, 11, 21]);
    flight.0.on_sent_again();
    assert_eq!(flight.acks(80, 31, None), None);
    flight.sends(100, &[31]);
    assert_eq!(flight.acks(180, 41, None), Some(80));
}

#[test]
fn with_timestamps_every_ack_of_new_data_gives_a_sample() {
    let mut flight = Flight::new(Sampling::FlightOrTimestamps);
    flight.sends(0, &[1, 11, 21]);
    assert_eq!(flight.acks(80, 11, Some(70)), Some(70));
    assert_eq!(flight.acks(90, 21, Some(75)), Some(75));
    assert_eq!(flight.acks(95, 31, None), None, "the first segment was timed instead");
    flight.sends(100, &[31, 41]);
    assert_eq!(flight.acks(180, 41, None), Some(80));
    assert_eq!(flight.acks(190, 51, None), None);
}

#[test]
fn no_segment_is_timed_if_every_ack_gives_a_sample() {
    let mut each = Flight::new(Sampling::Segment);
    assert!(!each.0.times_flights());
    each.sends(0, &[1]);
    assert_eq!(each.0.timed, None);
}

#[test]
fn the_rto_is_rounded_up_to_ticks_and_weights_srtt() {
    let standard = RtoRules { smoothing: Smoothing::Standard, min_variance: ms(1), ..LINUX };
    // (quarters, tick, least, most, RTO after one sample of 90 ms), in ms
    let cases = [
        (4, 0, 0, 60_000, 270_000),
        (5, 0, 0, 60_000, 292_500),
        (0, 0, 0, 60_000, 180_000),
        (4, 100, 0, 60_000, 300_000),
        (4, 90, 0, 60_000, 270_000), // three ticks
        (5, 10, 0, 60_000, 300_000),
        (4, 100, 350, 60_000, 400_000),
        (4, 100, 0, 250, 250_000),
    ];
    for (quarters, tick, least, most, rto) in cases {
        let mut e = RttEstimator::new(RtoRules {
            srtt_factor: Factor(quarters * 250_000),
            granularity: ms(tick),
            min: ms(least),
            max: ms(most),
            ..standard
        });
        e.on_sample(ms(90), Offset(1), Offset(1));
        let case = format!("{quarters} quarters, ticks of {tick} ms");
        assert_eq!(e.rto().as_micros(), rto, "{case}");
    }
}

#[test]
fn rules_hold() {
    assert_eq!(RttEstimator::new(LINUX).rto(), ms(1000));
    let mut e = RttEstimator::new(LINUX);
    e.on_sample(Duration::from_secs(1_000_000), Offset(1), Offset(1));
    assert_eq!(e.rto(), LINUX.max);
    let mut e = RttEstimator::new(LINUX);
    e.on_sample(Duration::ZERO, Offset(1), Offset(1));
    e.on_sample(Duration::MAX, Offset(1), Offset(1));
    assert!(e.rto() <= LINUX.max);
    let mut e = RttEstimator::new(RtoRules {
        srtt_factor: Factor(u32::MAX),
        rttvar_factor: Factor(u32::MAX),
        granularity: Duration::MAX,
        ..LINUX
    });
    e.on_sample(Duration::MAX, Offset(1), Offset(1));
    assert_eq!(e.rto(), LINUX.max);
}
