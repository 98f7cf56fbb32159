use super::*;

fn stakes(p: Ppm, q: Ppm, ip_len: u32, bits: u64) -> Stakes {
    Stakes { p, q, rto: Duration::from_secs(1), ip_len, bandwidth: BitRate::from_bits_per_second(bits).unwrap() }
}

#[test]
fn bandwidth_thresholds_at_an_rto_of_one_second() {
    // 0.98 · 70 · 8 / 0.02 and 0.98 · 1500 · 8 / 0.002 bit/s; the paper prints other figures.
    let p = Ppm::percent(2);
    for (q, ip_len, threshold) in [(Ppm::ONE, 70, 27_440), (Ppm::percent(10), 1500, 5_880_000)] {
        assert!(stakes(p, q, ip_len, threshold).favour_a_copy());
        assert!(!stakes(p, q, ip_len, threshold - 1).favour_a_copy());
    }
}

#[test]
fn only_certain_loss_with_a_possible_timeout_favours_a_copy_at_the_extremes() {
    let slowest = 1;
    assert!(stakes(Ppm::ONE, Ppm::new(1), 1500, slowest).favour_a_copy());
    assert!(!stakes(Ppm::ONE, Ppm::ZERO, 1500, u64::MAX).favour_a_copy());
    assert!(!stakes(Ppm::ZERO, Ppm::ONE, 1, u64::MAX).favour_a_copy());
    let forever = Stakes { rto: Duration::MAX, ..stakes(Ppm::ONE, Ppm::ONE, u32::MAX, u64::MAX) };
    assert!(forever.favour_a_copy());
}

#[test]
fn the_largest_q_applies_to_a_segment_of_several_kinds() {
    let q = Likelihoods::PAPER.with(Kind::Tail, Ppm::percent(30)).with(Kind::Other, Ppm::percent(1));
    for (kinds, expected) in [
        (&[][..], 1),
        (&[Kind::First], 0),
        (&[Kind::Psh], 10),
        (&[Kind::Psh, Kind::Tail], 30),
        (&[Kind::Tail, Kind::Syn], 100),
    ] {
        let found = q.of_all(kinds.iter().copied());
        assert_eq!(found, Ppm::percent(expected), "{kinds:?}");
    }
}

#[test]
fn learned_loss_rate_starts_at_two_percent() {
    for (lost, sent, millionths) in [(0, 0, 20_000), (0, 950, 1000), (50, 50, 510_000)] {
        let p = LossRate::Learned.of(lost, sent);
        assert_eq!(p.millionths(), millionths);
    }
    let fixed = LossRate::Fixed(Ppm::percent(3));
    assert_eq!(fixed.of(50, 50), Ppm::percent(3));
}
