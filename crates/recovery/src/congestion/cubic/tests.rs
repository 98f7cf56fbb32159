use super::super::{Algorithm, Congestion, CongestionControl, Growth};
use super::*;

//= test: RFC 9438 §4.6
#[test]
fn a_loss_reduces_the_window_to_seven_tenths() {
    for (cwnd, ssthresh) in [(10, 7), (100, 70), (3, 2), (1, 2)] {
        assert_eq!(Cubic::default().ssthresh(Segments(cwnd)), Segments(ssthresh));
    }
}

fn acked_one(now: Instant, cwnd: Segments, ssthresh: Segments) -> Growth {
    Growth { now, acked: Segments(1), cwnd, ssthresh, min_rtt: Duration::ZERO }
}

/// The window after each of `n` rounds of `rtt_ms`, starting with a loss at `w_max`.
fn rounds(w_max: u32, rtt_ms: u64, n: u64) -> Vec<u32> {
    let mut cubic = Congestion::new(Algorithm::Cubic);
    let ssthresh = cubic.ssthresh_after_loss(Segments(w_max));
    let mut cwnd = ssthresh;
    (0..n)
        .map(|i| {
            for ack in 0..cwnd.0 {
                let now = Instant::from_millis(i * rtt_ms) + Duration::from_millis(rtt_ms) * ack / cwnd.0;
                cwnd = cubic.grow(&acked_one(now, cwnd, ssthresh));
            }
            cwnd.0
        })
        .collect()
}

#[test]
fn cube_roots_are_rounded_down() {
    let powers = (0..64).map(|i| 1u64 << i);
    // The cubes from which K is computed, for windows of any size.
    let scaled = (0..32).flat_map(|i| (1..50u64).map(move |j| ((1 << 40) / SCALE) * ((j << i) >> 5)));
    for n in powers.chain(scaled).flat_map(|n| n.saturating_sub(1)..=n.saturating_add(1)) {
        let root = u128::from(cube_root(n));
        assert!(root.pow(3) <= u128::from(n) && u128::from(n) < (root + 1).pow(3), "{n}");
    }
    assert_eq!(cube_root(u64::MAX), 2_642_245);
}

//= test: RFC 9438 §4.2
//= test: RFC 9438 §4.4
//= test: RFC 9438 §4.5
#[test]
fn the_curve_is_concave_then_convex_around_the_old_maximum() {
    // K = ∛(1000·(1−717/1024)/0.4) = 9.08 s: at a 100 ms RTT, round 91 is back at W_max.
    let w = rounds(1000, 100, 180);
    let at = |i: usize| i64::from(w[i]);
    assert!((at(90) - 1000).abs() <= 5, "{}", at(90));
    assert!(at(30) - at(20) > at(90) - at(80), "concave below");
    assert!(at(179) - at(169) > at(100) - at(90), "convex above");
    assert!(w.is_sorted());
}

//= test: RFC 9438 §4.3
#[test]
fn the_window_grows_as_renos_on_a_short_path() {
    // 10 ms and a small window: the cubic term is negligible for the first second; §4.3's
    // estimate gains 3(1−β)/(1+β) = 0.53 segments per round.
    let w = rounds(10, 10, 60);
    let reno = 7.0 + 0.529 * 60.0;
    assert!((f64::from(w[59]) - reno).abs() < 5.0, "{} expected about {reno}", w[59]);
}

//= test: RFC 9438 §4.8
#[test]
fn growth_resumes_after_a_timeout_as_reno() {
    // ssthresh 7 of 10 and no W_max: cnt = 20. The Reno estimate needs 7·15/8 = 13 acknowledged
    // for a segment, then cnt = 7/1; so the window grows between the 14th and the 21st (§4.3).
    let mut cubic = Congestion::new(Algorithm::Cubic);
    let ssthresh = cubic.ssthresh_after_loss(Segments(10));
    cubic.on_timeout();
    let mut cwnd = ssthresh;
    let grown = (1..100u64).find(|n| {
        let now = Instant::from_millis(1000 + n * 10);
        cwnd = cubic.grow(&acked_one(now, cwnd, ssthresh));
        cwnd > ssthresh
    });
    assert!(grown.is_some_and(|n| (14..=21).contains(&n)), "{grown:?}");
}

#[test]
fn a_loss_at_the_minimum_window_keeps_the_growth_rate() {
    // A loss takes the window from three segments to two, and it grows again. A second loss at two leaves
    // the window unchanged, and so the growth rate. The curve that the next evaluation begins is flat.
    let mut cubic = Cubic::default();
    let two = cubic.ssthresh(Segments(3));
    let count = |cubic: &mut Cubic, at_ms| {
        let now = Instant::from_millis(at_ms);
        cubic.count(now, Segments(1), two, Duration::ZERO)
    };
    assert_eq!(count(&mut cubic, 1000), Segments(2));
    assert_eq!(cubic.ssthresh(two), two);
    assert_eq!(count(&mut cubic, 1010), Segments(2));
    assert_eq!(count(&mut cubic, 1031), Segments(2));
    assert_eq!(count(&mut cubic, 1032), Segments(200));
}

//= test: RFC 9438 §4.2
#[test]
fn idle_time_does_not_count() {
    let mut cubic = Cubic::default();
    cubic.ssthresh(Segments(1000));
    let at = Instant::from_millis;
    cubic.count(at(0), Segments(1), Segments(700), Duration::ZERO);
    let mut idle = cubic;
    idle.on_idle(Duration::from_secs(100));
    let busy = cubic.count(at(101_000), Segments(1), Segments(700), Duration::ZERO);
    let same = cubic.epoch.map(|e| e.target(at(1000), Duration::ZERO));
    let rested = idle.epoch.map(|e| e.target(at(101_000), Duration::ZERO));
    assert_eq!(same, rested);
    assert_eq!(busy, Segments(2), "as fast as it gets");
}
