use super::*;

/// An ACK of `una` at `ms` on a path with a minimum RTT of `min_rtt` ms.
fn round(ms: u64, rtt: u64, min_rtt: u64, cwnd: u32, una: u64, nxt: u64) -> Round {
    Round {
        now: Instant::from_millis(ms),
        rtt: Duration::from_millis(rtt),
        min_rtt: Duration::from_millis(min_rtt),
        cwnd: Segments(cwnd),
        una: Offset(una),
        nxt: Offset(nxt),
    }
}

#[test]
fn a_train_longer_than_half_the_minimum_rtt_ends_slow_start() {
    let mut h = HyStart::default();
    let ends = (0..60u64).find(|i| h.on_rtt(&round(100 + i, 40, 40, 20, i + 1, 100)));
    assert_eq!(ends, Some(21), "20.5 ms after the round began");
    // A pause breaks the train.
    let mut h = HyStart::default();
    let gaps = (0..60u64).any(|i| h.on_rtt(&round(100 + 3 * i, 40, 40, 20, i + 1, 100)));
    assert!(!gaps);
}

#[test]
fn eight_samples_above_the_minimum_rtt_end_slow_start() {
    let mut h = HyStart::default();
    // 200 + 16 ms is the bound: an eighth of 200 is 25.
    let mut ends =
        |rtt, from| (0..12u64).position(|i| h.on_rtt(&round(from + 10 * i, rtt, 200, 20, from + i, from + 500)));
    assert_eq!(ends(216, 1000), None);
    assert_eq!(ends(217, 2000), Some(8), "the ninth sample");
}

#[test]
fn hystart_ignores_small_windows() {
    let mut h = HyStart::default();
    let ends = (0..60u64).any(|i| h.on_rtt(&round(100 + i, 400, 40, 15, i + 1, 100)));
    assert!(!ends);
}
