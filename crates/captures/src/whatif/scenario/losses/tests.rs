use super::*;

/// A sequence of fates by SplitMix64: lost with `begin` after an arrival and `go_on` after a loss.
fn fates(begin: f64, go_on: f64, seed: u64) -> impl Iterator<Item = Option<bool>> {
    let (mut state, mut lost) = (seed, false);
    (0..100_000).map(move |_| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let unit = ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64;
        lost = unit < if lost { go_on } else { begin };
        Some(lost)
    })
}

fn rule(begin: f64, go_on: f64) -> String {
    let mut pairs = Pairs::default();
    pairs.observe(fates(begin, go_on, 1));
    pairs.rule().map_or("none".into(), |rule| rule.text)
}

#[test]
fn bursts_are_told_from_independent_losses() {
    let numbers = |text: &str| -> Vec<f64> {
        let (_, numbers) = text.split_once(':').unwrap();
        numbers.split(',').map(|n| n.parse().unwrap()).collect()
    };
    assert_eq!(rule(0.0, 0.0), "none");
    for p in [0.002, 0.02, 0.2] {
        let text = rule(p, p);
        assert!(text.starts_with("bernoulli:"), "{text}");
        assert!((numbers(&text)[0] / p - 1.0).abs() < 0.15, "{p}: {text}");
    }
    for (begin, go_on) in [(0.002, 0.5), (0.01, 0.8), (0.05, 0.15)] {
        let text = rule(begin, go_on);
        assert!(text.starts_with("gilbert-elliott:"), "{text}");
        let found = numbers(&text);
        assert!((found[0] / begin - 1.0).abs() < 0.15, "{begin}: {text}");
        assert!((found[1] / (1.0 - go_on) - 1.0).abs() < 0.1, "{text}");
    }
}

#[test]
fn packets_of_unknown_fate_break_the_sequence() {
    let mut pairs = Pairs::default();
    pairs.observe([Some(true), None, Some(true), Some(false)].into_iter());
    assert_eq!(pairs.after_arrival, Count { sent: 1, lost: 1 });
    assert_eq!(pairs.after_loss, Count { sent: 1, lost: 0 });
}
