use super::*;

#[test]
fn errors_are_limited_at_once_and_in_the_long_run_and_nobody_knows_exactly() {
    let secret = Secret::from_key([3; 16]);
    let at_once = |key| {
        let mut budget = ErrorBudget::default();
        let secret = Secret::from_key([key; 16]);
        (0..1000).filter(|_| budget.spend(Instant::from_millis(5), &secret)).count()
    };
    let counts: Vec<usize> = (0..20).map(at_once).collect();
    // One token each on average.
    assert!(counts.iter().all(|count| (25..=100).contains(count)), "{counts:?}");
    assert!(counts.windows(2).any(|pair| pair[0] != pair[1]));
    let mut budget = ErrorBudget::default();
    let spent = (0..1_000_000_u64).filter(|n| budget.spend(Instant::from_nanos(n * 10_000), &secret)).count();
    assert!((9_000..11_500).contains(&spent), "{spent} in 10 s");
    // Nothing is saved up for longer than it takes to fill the bucket.
    let later = Instant::from_millis(3_600_000);
    assert!((0..1000).filter(|_| budget.spend(later, &secret)).count() <= 100);
}
