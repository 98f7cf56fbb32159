use super::super::interval::tests::lost;
use super::*;

/// What connections lost that lose 100 ms of 400 ms each with some noise, times a factor.
fn side(seed: u64, factor: f64) -> Divided {
    let mut state = seed;
    lost((0..400).map(|i| {
        state = crate::whatif::mixed(state);
        let noise = (state >> 40) as f64 / f64::from(1 << 24);
        (i % 20, factor * 400.0 * noise * noise)
    }))
}

fn of(changes: &[Change], quantity: Quantity) -> &Change {
    changes.iter().find(|change| change.quantity == quantity).expect("the quantity")
}

#[test]
fn a_change_is_found_and_the_same_again_is_none() {
    let lost = Quantity::LostPerConnection(None);
    let found = changes(&side(1, 1.0), &side(2, 0.5));
    let change = of(&found, lost);
    assert_eq!(change.verdict, Verdict::Changed, "{change:?}");
    assert_eq!(found[0].quantity, lost);
    assert!((0.4..0.6).contains(&-change.relative().unwrap()), "{change:?}");
    for seed in 3..40 {
        let found = changes(&side(seed, 1.0), &side(seed + 100, 1.0));
        assert_ne!(of(&found, lost).verdict, Verdict::Changed, "{seed}");
    }
    let found = changes(&side(1, 1.0), &side(1, 1.0));
    assert_eq!(of(&found, lost).change(), 0.0);
    // Nobody retransmitted: that is no change.
    assert_eq!(of(&found, Quantity::RetransmissionRate).verdict, Verdict::Unchanged);
}

#[test]
fn a_trend_within_a_capture_hides_a_change_of_its_size() {
    let trend = |from: f64| lost((0..400).map(move |i| (i % 20, from + f64::from(i))));
    let found = changes(&trend(1000.0), &trend(1150.0));
    let change = of(&found, Quantity::LostPerConnection(None));
    assert!((change.change() - 150.0).abs() < 1e-6 && change.own_spread().unwrap() > 190.0, "{change:?}");
    assert_eq!(change.verdict, Verdict::Undecided);
    let found = changes(&trend(1000.0), &trend(3000.0));
    assert_eq!(of(&found, Quantity::LostPerConnection(None)).verdict, Verdict::Changed);
}

#[test]
fn what_few_connections_show_is_undecided() {
    let one_in = |n: u32| lost((0..200).map(move |i| (i % 20, if i % n == 0 { 5000.0 } else { 0.0 })));
    let found = changes(&one_in(100), &one_in(100));
    let change = of(&found, Quantity::LostPerConnection(None));
    assert_eq!((change.verdict, change.interval), (Verdict::Undecided, None));
    let empty = lost(std::iter::empty());
    assert_eq!(changes(&empty, &one_in(2)), Vec::new());
}
