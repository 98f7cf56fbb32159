use super::*;

#[test]
fn students_quantiles_are_those_of_tables() {
    for (freedom, quantile) in [(1.0, 12.706), (2.0, 4.303), (3.0, 3.182), (9.0, 2.262), (30.0, 2.042), (1e9, 1.960)] {
        let found = student(freedom);
        assert!((found / quantile - 1.0).abs() < 0.01, "{freedom}: {found}");
    }
}

#[test]
fn differences_draws_and_errors_widen_the_interval() {
    let unchanged = Uncertainty::default();
    let drawn = Uncertainty { variance: 100.0, draws: 10, is_changed: true, ..unchanged };
    let changed = Uncertainty { is_changed: true, ..unchanged };
    let is_near = |found: Option<f64>, expected: f64| {
        let found = found.unwrap();
        assert!((found / expected - 1.0).abs() < 0.01, "{found} {expected}");
    };
    assert_eq!(half_width(&[unchanged], 1.0), None);
    assert_eq!(half_width(&[unchanged; 4], 1.0), Some(0.0));
    is_near(half_width(&[drawn; 100], 0.0), 1.961 * 110.0_f64.sqrt() / 10.0);
    is_near(half_width(&[changed; 100], 50.0), 1.96 * 100.0_f64.sqrt() / 10.0);
    // Half of the connections end 20 ms sooner: the standard deviation is 10 ms.
    let mut halves = [changed; 400];
    halves[..200].iter_mut().for_each(|one| one.change = -20.0);
    is_near(half_width(&halves, 0.0), 1.966 * 10.0 / 20.0);
    // A single draw shows no variance.
    let once = Uncertainty { draws: 1, ..drawn };
    assert_eq!(half_width(&[once, unchanged], 1.0), None);
}

/// A network on which a connection is sometimes delayed by a timeout, more likely on some paths. The
/// mechanism is predicted with draws, and met once more.
#[test]
fn the_interval_covers_another_realisation() {
    let mut state = 7_u64;
    let mut delayed = move |one_of: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let is_delayed = (state >> 33).is_multiple_of(one_of);
        if is_delayed { 300.0 } else { 0.0 }
    };
    let (connections, draws, trials) = (200, 10, 400);
    let mut covered = 0;
    for _ in 0..trials {
        let (mut predicted, mut truth, mut all) = (0.0, 0.0, Vec::new());
        for i in 0..connections {
            let one_of = 5 + i % 10;
            let values: Vec<f64> = (0..draws).map(|_| delayed(one_of)).collect();
            let mean = values.iter().sum::<f64>() / f64::from(draws);
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            predicted += mean / connections as f64;
            truth += delayed(one_of) / connections as f64;
            all.push(Uncertainty {
                change: mean,
                variance: squares / f64::from(draws - 1),
                draws: draws as u32,
                is_changed: true,
            });
        }
        let half = half_width(&all, 0.0).unwrap();
        covered += u32::from((predicted - truth).abs() <= half);
    }
    let share = f64::from(covered) / f64::from(trials);
    assert!((0.92..=0.99).contains(&share), "{share}");
}
