use super::*;

fn code(n: u32, k: u32) -> Code {
    Code { n, k }
}

fn close(ours: f64, expected: f64) -> bool {
    (ours - expected).abs() <= 1e-12 * expected.abs()
}

/// Computed by hand. At p = 1/2, C(3, 2)/8 and C(3, 3)/8 of the groups of 2+1 lose two and three.
#[test]
fn goodputs_worked_by_hand() {
    // (n, k), p, fails, alone, with ARQ
    for ((n, k), p, fails, alone, with_arq) in [
        ((1, 0), 0.02, 0.02, 0.98, 0.98),
        ((1, 0), 0.75, 0.75, 0.25, 0.25),
        // Both copies lost: p²; then 1/(1 − p) more.
        ((1, 1), 0.5, 0.25, 0.375, 1.0 / 2.5),
        ((1, 1), 0.02, 0.000_4, 0.4998, 1.0 / (2.0 + 0.000_4 / 0.98)),
        ((2, 1), 0.5, 0.5, 2.0 / 3.0 * 0.625, 2.0 / (3.0 + 0.625 * 2.0)),
        ((2, 1), 0.1, 0.028, 2.0 / 3.0 * (1.0 - 0.1 * 0.19), 2.0 / (3.0 + 0.029 / 0.9)),
        // Without redundancy every loss counts.
        ((5, 0), 0.2, 1.0 - 0.8f64.powi(5), 0.8, 0.8),
        // One data packet, two copies more.
        ((1, 2), 0.1, 0.001, 0.333, 1.0 / (3.0 + 0.001 / 0.9)),
    ] {
        let code = code(n, k);
        let ours = [code.fails(p), code.alone(p), code.with_arq(p)];
        for (ours, expected) in ours.into_iter().zip([fails, alone, with_arq]) {
            assert!(close(ours, expected), "{n}+{k} at {p}: {ours}, not {expected}");
        }
    }
}

#[test]
fn without_loss_goodput_is_the_papers_and_with_total_loss_it_is_0() {
    for (n, k) in [(1, 0), (1, 1), (20, 4), (1, 1000), (1000, 1), (3000, 3000)] {
        let code = code(n, k);
        let ideal = f64::from(n) / f64::from(n + k);
        assert_eq!([code.fails(0.0), code.alone(0.0), code.with_arq(0.0), code.paper(0.0)], [0.0, ideal, ideal, ideal]);
        let all_lost = [code.fails(1.0), code.alone(1.0), code.with_arq(1.0)];
        assert_eq!(all_lost, [1.0, 0.0, 0.0], "{n}+{k}");
        // And near there.
        let ours = [code.alone(1e-9), code.with_arq(1e-9)];
        assert!(ours.iter().all(|ours| (ours - ideal).abs() < 2e-9), "{ours:?}");
        let ours = [code.alone(1.0 - 1e-9), code.with_arq(1.0 - 1e-9)];
        assert!(ours.iter().all(|ours| (0.0..2e-9).contains(ours)), "{ours:?}");
    }
}

#[test]
fn small_and_large_groups_keep_their_digits() {
    for ((n, k), p, expected) in [
        // C(24, 5) p⁵ and the next terms, from exact fractions.
        ((20, 4), 1e-6, 4.250_332_698_6e-26),
        ((1, 9), 1e-30, 1e-300),
        // Long groups: 1 − (1 − p)ᴺ.
        ((1000, 0), 0.001, 0.632_304_575_2),
        ((4000, 0), 0.5, 1.0),
        // As likely as not: half, but for half the chance of the middle.
        ((1000, 1000), 0.5, 0.491_080_494_0),
    ] {
        let ours = code(n, k).fails(p);
        assert!((ours / expected - 1.0).abs() < 1e-8, "{n}+{k} at {p}: {ours}");
    }
}

/// Enumerates all patterns of losses in a group.
#[test]
fn the_closed_forms_equal_the_enumeration() {
    for n in 1..=5 {
        for k in 0..=4 {
            for p in [0.01_f64, 0.2, 0.5, 0.9] {
                let (mut fails, mut delivered, mut missing) = (0.0, 0.0, 0.0);
                for hit in 0..1u32 << (n + k) {
                    let lost = hit.count_ones();
                    let data = (hit & ((1 << n) - 1)).count_ones();
                    let chance = p.powi(lost as i32) * (1.0 - p).powi((n + k - lost) as i32);
                    fails += if lost > k { chance } else { 0.0 };
                    delivered += chance * f64::from(if lost > k { n - data } else { n });
                    missing += chance * f64::from(lost.saturating_sub(k));
                }
                let code = code(n, k);
                let packets = f64::from(n + k);
                let sent = packets + missing / (1.0 - p);
                for (ours, expected) in [
                    (code.fails(p), fails),
                    (code.alone(p), delivered / packets),
                    (code.with_arq(p), f64::from(n) / sent),
                ] {
                    assert!((ours - expected).abs() < 1e-12, "{n}+{k} at {p}: {ours}, {expected}");
                }
            }
        }
    }
}

/// The erasure channel's capacity.
#[test]
fn no_code_exceeds_the_capacity() {
    for n in [1, 2, 5, 20, 100] {
        for k in [0, 1, 4, 50] {
            for p in (0..=100).map(|percent| f64::from(percent) / 100.0) {
                let code = code(n, k);
                let (alone, with_arq) = (code.alone(p), code.with_arq(p));
                assert!(alone <= with_arq + 1e-12 && with_arq <= 1.0 - p + 1e-12, "{code:?} at {p}");
            }
        }
    }
}
