use super::*;
use crate::delivery::RateSample;
use proptest::prelude::*;

const MSS: u32 = 1000;
const RTT: Duration = Duration::from_millis(40);

/// A path that delivers a segment per millisecond, whatever is sent.
struct Path {
    bbr: Bbr,
    now: Instant,
    delivered: u64,
    lost: u64,
    cwnd: Segments,
    /// Segments of the path's delay and queue.
    in_flight: Segments,
    state: State,
    interval: Duration,
    app_limited: bool,
}

impl Path {
    fn new() -> Self {
        let now = Instant::from_millis(1000);
        let mut bbr = Bbr::default();
        let cwnd = INITIAL_WINDOW;
        let srtt = Some(RTT);
        let start = Start { now, cwnd, srtt, mss: MSS };
        bbr.on_established(&start, srtt);
        Self {
            bbr,
            now,
            delivered: 1,
            lost: 0,
            cwnd,
            in_flight: Segments(40),
            state: State::Open,
            interval: Duration::from_millis(1),
            app_limited: false,
        }
    }

    /// An ACK of one segment, sent when `in_flight` fewer were delivered, and `lost` more marked lost.
    fn ack(&mut self, lost: u32) {
        self.now += self.interval;
        let flight = u64::from(self.in_flight.0);
        let prior_delivered = self.delivered.saturating_sub(flight);
        self.delivered += 1;
        self.lost += u64::from(lost);
        let delivered = self.delivered - prior_delivered;
        let sample = PathSample {
            now: self.now,
            state: self.state,
            delivered: Segments::ONE,
            totals: PathTotals { delivered: self.delivered, lost: self.lost, at: self.now },
            lost: Segments(lost),
            prior_in_flight: self.in_flight,
            in_flight: self.in_flight,
            cwnd: self.cwnd,
            rtt: Some(RTT + Duration::from_millis(1)),
            may_be_delayed: false,
            srtt: Some(RTT),
            rate: Some(RateSample {
                delivered,
                prior_delivered,
                interval: Some(self.interval * u32::try_from(delivered).unwrap()),
                app_limited: self.app_limited,
            }),
            departs_in: Duration::ZERO,
            mss: MSS,
        };
        self.cwnd = self.bbr.on_ack(&sample).cwnd;
    }

    fn acks(&mut self, count: u32) {
        (0..count).for_each(|_| self.ack(0));
    }

    /// Until the model probes the bandwidth.
    fn steady() -> Self {
        let mut path = Self::new();
        path.acks(400);
        assert_eq!(path.bbr.mode, Mode::ProbeBw);
        path
    }
}

/// 99 % of a segment per millisecond, in bytes per second.
const PACED: u64 = 989_000;

#[test]
fn the_first_rate_is_startups_gain_on_window_and_rtt() {
    let path = Path::new();
    // 10 segments in 40 ms, 0.99 · 2.887.
    let expected = 250_000.0 * 0.99 * 739.0 / 256.0;
    let rate = path.bbr.pacing_rate().unwrap().bits_per_second() as f64 / 8.0;
    assert!((rate / expected - 1.0).abs() < 1e-3, "{rate} {expected}");
}

#[test]
fn startup_ends_after_three_round_trips_without_growth_and_drain_when_the_queue_is_gone() {
    let mut path = Path::new();
    path.in_flight = Segments(60);
    let mut modes = vec![];
    for _ in 0..400 {
        path.ack(0);
        if path.delivered > 300 {
            path.in_flight = Segments(40);
        }
        if modes.last() != Some(&path.bbr.mode) {
            modes.push(path.bbr.mode);
        }
    }
    assert_eq!(modes, [Mode::Startup, Mode::Drain, Mode::ProbeBw]);
    let bdp = Segments(40);
    assert!(path.bbr.ssthresh >= bdp && path.bbr.ssthresh <= Segments(48));
}

#[test]
fn what_the_application_limits_does_not_end_startup() {
    let mut path = Path::new();
    path.app_limited = true;
    path.acks(1000);
    assert_eq!(path.bbr.mode, Mode::Startup);
}

#[test]
fn the_gains_of_a_cycle_last_a_round_trip_each() {
    let mut path = Path::steady();
    let mut rates = vec![];
    for _ in 0..400 {
        // As much is in flight as the gain asks for.
        path.in_flight = match path.bbr.pacing_gain > UNIT {
            true => Segments(70),
            false => Segments(50),
        };
        path.ack(0);
        let rate = path.bbr.pacing_rate;
        if rates.last().is_none_or(|(last, _)| *last != rate) {
            rates.push((rate, 0));
        }
        rates.last_mut().unwrap().1 += 1;
    }
    let of_gain = |num: u64| move |(rate, _): &&(u64, u32)| rate.abs_diff(PACED * num / 4) < 9000;
    let whole = &rates[1..rates.len() - 1];
    for gain in [5, 3, 4] {
        assert!(whole.iter().any(|one| of_gain(gain)(&one)), "{rates:?}");
    }
    // 41 ms of RTprop, and the ACK after it; six phases of gain 1.
    assert!(whole.iter().filter(of_gain(5)).all(|one| one.1 == 41));
    assert!(whole.iter().filter(of_gain(4)).all(|one| one.1 == 6 * 41));
    // The window is twice BtlBw·RTprop and three bursts of two.
    assert!((86..=90).contains(&path.cwnd.0), "{}", path.cwnd);
}

#[test]
fn a_recovery_conserves_packets_for_a_round_trip_and_returns_to_the_window_before() {
    let mut path = Path::steady();
    let before = path.cwnd;
    assert_eq!(path.bbr.ssthresh_after_loss(before), path.bbr.ssthresh);
    path.state = State::Recovery;
    path.in_flight = Segments(30);
    path.ack(3);
    assert_eq!(path.cwnd, Segments(31), "in flight and one delivered");
    path.acks(20);
    assert_eq!(path.cwnd, Segments(31), "no more is in flight");
    path.acks(40);
    assert!(path.cwnd > Segments(50), "slow start after a round trip");
    let cwnd = path.cwnd;
    path.bbr.cwnd_gain = CWND_GAIN;
    path.ack(10);
    assert_eq!(path.cwnd, cwnd - Segments(9), "10 lost, 1 delivered");
    path.state = State::Open;
    path.ack(0);
    assert!(path.cwnd.0.abs_diff(before.0) <= 2, "{} {before}", path.cwnd);
}

#[test]
fn an_old_rtt_is_measured_again_with_four_segments_in_flight() {
    let mut path = Path::steady();
    let before = path.cwnd;
    // RTprop is never seen again: the RTT stays 1 ms above it.
    path.acks(10_000);
    let at = path.now;
    while path.bbr.mode != Mode::ProbeRtt {
        path.ack(0);
        assert!(path.now < at + MIN_RTT_AGE, "never probes");
    }
    assert_eq!(path.cwnd, MIN_CWND);
    path.in_flight = MIN_CWND;
    path.ack(0);
    let began = path.now;
    while path.bbr.mode == Mode::ProbeRtt {
        path.ack(0);
    }
    assert_eq!(path.now.since(began), PROBE_RTT_TIME + path.interval);
    assert!(path.cwnd >= before - Segments(4), "{} {before}", path.cwnd);
}

#[test]
fn a_policed_rate_is_kept_for_48_round_trips() {
    let mut path = Path::steady();
    path.in_flight = Segments(40);
    // A quarter of what is delivered is lost, in every round trip.
    for n in 0..2000 {
        path.ack(u32::from(n % 4 == 0));
        if path.bbr.policer.rate().is_some() {
            break;
        }
    }
    let rate = path.bbr.policer.rate().unwrap();
    let apart = rate.bytes_per_second(MSS, UNIT).abs_diff(PACED);
    assert!(apart < PACED / 50, "{apart}");
    path.ack(0);
    assert_eq!(path.bbr.pacing_gain, UNIT);
    path.acks(46 * 41);
    assert!(path.bbr.policer.rate().is_some());
    path.acks(4 * 41);
    assert!(path.bbr.policer.rate().is_none());
}

#[test]
fn losses_of_a_fifth_or_less_are_no_policer() {
    let mut path = Path::steady();
    for n in 0..4000 {
        path.ack(u32::from(n % 6 == 0));
        assert_eq!(path.bbr.policer.rate(), None);
    }
}

#[test]
fn acks_that_come_together_widen_the_window() {
    let mut path = Path::steady();
    let before = path.cwnd;
    for _ in 0..100 {
        // Twenty segments at once, every 20 ms.
        path.interval = Duration::from_micros(1);
        path.acks(19);
        path.interval = Duration::from_millis(20);
        path.acks(1);
    }
    assert!(path.cwnd >= before + Segments(10), "{} {before}", path.cwnd);
}

#[test]
fn the_first_gain_follows_the_seed() {
    let phases = (0..64).map(|seed| {
        let mut bbr = Bbr::default();
        bbr.set_random_seed(seed);
        bbr.begin_probe_bw(Instant::ZERO);
        bbr.phase
    });
    let phases: alloc::collections::BTreeSet<u8> = phases.collect();
    assert_eq!(Vec::from_iter(phases), [0, 2, 3, 4, 5, 6, 7]);
}

fn sample() -> impl Strategy<Value = (u64, u32, u32, u64, u64, bool, u32)> {
    (any::<u64>(), any::<u32>(), any::<u32>(), any::<u64>(), any::<u64>(), any::<bool>(), 0..6u32)
}

proptest! {
    /// Whatever a sender reports, nothing panics.
    #[test]
    fn any_sample_is_processed(samples in prop::collection::vec(sample(), 1..60)) {
        let mut path = Path::new();
        for (time, delivered, lost, prior, interval, app_limited, what) in samples {
            let now = Instant::from_nanos(time);
            let totals = PathTotals { delivered: prior, lost: lost.into(), at: now };
            let start = Start { now, cwnd: Segments(lost), srtt: None, mss: delivered };
            match what {
                0 => path.bbr.on_loss_state(&totals, lost),
                1 => path.bbr.on_undone(&totals),
                2 => { path.bbr.on_restart(&start); }
                3 => { path.bbr.ssthresh_after_loss(Segments(lost)); }
                _ => {}
            }
            let verdict = path.bbr.on_ack(&PathSample {
                now,
                state: State::ALL[lost as usize % State::ALL.len()],
                delivered: Segments(delivered),
                totals,
                lost: Segments(lost),
                prior_in_flight: Segments(lost),
                in_flight: Segments(delivered),
                cwnd: Segments(lost.max(1)),
                rtt: Some(Duration::from_nanos(interval)),
                may_be_delayed: app_limited,
                srtt: Some(Duration::from_nanos(time)),
                rate: Some(RateSample {
                    delivered: interval,
                    prior_delivered: prior,
                    interval: (interval > 0).then(|| Duration::from_nanos(interval)),
                    app_limited,
                }),
                departs_in: Duration::from_nanos(interval),
                mss: delivered,
            });
            prop_assert!(verdict.ssthresh >= MIN_CWND);
            path.bbr.pacing_rate();
        }
    }
}
