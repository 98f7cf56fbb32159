use super::*;

/// A state whose average is `average` and stays there while as many packets wait.
fn steady(min: u32, max: u32, ecn: bool, average: f64) -> RedState {
    let spec = Red { min, max, ecn };
    RedState { average, idle_since: None, ..RedState::new(spec) }
}

fn rate() -> BitRate {
    BitRate::from_bits_per_second(12_000_000).unwrap()
}

#[test]
fn red_decides_by_the_average_length() {
    // (average, ECN, capable, the least draw kept, what happens to a smaller one)
    let cases = [
        (4.0, true, true, 0.0, Managed::Keep),
        (5.0, true, true, 0.0, Managed::Keep),
        (10.0, false, true, 0.05, Managed::Drop),
        (10.0, true, false, 0.05, Managed::Drop),
        (10.0, true, true, 0.05, Managed::Mark),
        (15.0, true, true, 1.0, Managed::Drop),
    ];
    for (average, ecn, capable, least, judged) in cases {
        for (draw, expected) in [(least - 1e-6, judged), (least + 1e-6, Managed::Keep)] {
            if !(0.0..1.0).contains(&draw) {
                continue;
            }
            let mut red = steady(5, 15, ecn, average);
            let waiting = average as usize;
            let got = red.decide(Instant::ZERO, waiting, rate(), capable, || draw);
            assert_eq!(got, expected, "average {average}, draw {draw}");
        }
    }
}

#[test]
fn red_spreads_its_drops_evenly() {
    // pb = 0.1·(10 − 5)/(15 − 5) = 1/20: the gaps are uniform up to 19, because figure 2 counts the first packet
    // after a drop as 1.
    let mut red = steady(5, 15, false, 10.0);
    let (mut seed, mut gaps, mut gap) = (1u64, Vec::new(), 0);
    for _ in 0..20_000 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let draw = (seed >> 11) as f64 / (1u64 << 53) as f64;
        gap += 1;
        if red.decide(Instant::ZERO, 10, rate(), false, || draw) == Managed::Drop {
            gaps.push(gap);
            gap = 0;
        }
    }
    let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
    assert_eq!(gaps[1..].iter().max(), Some(&19));
    assert!((9.5..10.5).contains(&mean), "{mean}");
}

#[test]
fn reds_average_follows_the_length_and_falls_while_nothing_waits() {
    let mut red = steady(1000, 2000, false, 0.0);
    for _ in 0..1000 {
        red.decide(Instant::ZERO, 100, rate(), false, || 0.5);
    }
    assert!((red.average - 100.0 * (1.0 - 0.998f64.powi(1000))).abs() < 1e-6);
    // 1500 bytes take 1 ms: half a second is as long as 500 packets.
    let before = red.average;
    red.note_idle(Instant::ZERO);
    red.decide(Instant::from_millis(500), 0, rate(), false, || 0.5);
    assert!((red.average - before * 0.998f64.powi(501)).abs() < 1e-6);
}
