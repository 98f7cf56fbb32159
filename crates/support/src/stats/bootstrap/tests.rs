use super::*;

fn sample(values: impl IntoIterator<Item = f64>) -> Sample {
    let values = values.into_iter().enumerate();
    Sample::new(values.map(|(unit, value)| (unit as u32, 1, value)))
}

/// Independent exponential values with the mean 100.
fn exponential(trial: u64, n: u64) -> Vec<f64> {
    let draw = |unit| Draws::new(5, trial, unit).exponential(100.0, 0, 0);
    (0..n).map(draw).collect()
}

#[test]
fn statistics_count_each_unit_as_often_as_it_was_drawn() {
    let three = sample([30.0, 10.0, 20.0]);
    assert_eq!(three.statistics(&[1, 1, 1]), [20.0, 20.0, 30.0, 30.0]);
    assert_eq!(three.statistics(&[0, 3, 1]), [12.5, 10.0, 20.0, 20.0]);
    assert!(three.statistics(&[0, 0, 0])[0].is_nan());
    // A unit with several values, and one without any.
    let runs = Sample::new([(0, 2, 10.0), (0, 1, 70.0), (2, 1, 30.0)].into_iter());
    assert_eq!(runs.statistics(&[1, 5, 1]), [30.0, 10.0, 70.0, 70.0]);
    assert_eq!(runs.statistics(&[0, 2, 2]), [30.0; 4]);
}

#[test]
fn every_unit_is_drawn_as_often_as_the_others() {
    let mut sum = [0_u32; 7];
    for resample in 0..2000 {
        let mut weights = [0; 7];
        draw(&mut weights, 3, resample);
        assert_eq!(weights.iter().sum::<u32>(), 7);
        sum.iter_mut().zip(weights).for_each(|(all, one)| *all += one);
    }
    // 14,000 draws of 7 units: each has 2,000, give or take 41.
    for drawn in sum {
        assert!((1850..=2150).contains(&drawn), "{sum:?}");
    }
}

#[test]
fn about_95_of_100_intervals_cover_the_mean_and_the_median() {
    let (mut mean, mut median) = (0, 0);
    for trial in 0..100 {
        let values = exponential(trial, 60);
        let boot = Bootstrap::new(&[sample(values)], trial, 60, 60);
        let whole = boot.whole[0];
        let covers = |which: usize, truth: f64| {
            let interval = boot.interval(whole[which], |all| all[0][which]).unwrap();
            u32::from(interval.low <= truth && truth <= interval.high)
        };
        mean += covers(0, 100.0);
        median += covers(1, 100.0 * 2.0_f64.ln());
    }
    for covered in [mean, median] {
        assert!((88..=99).contains(&covered), "{mean} {median}");
    }
}

/// Every flow is 1 ms faster, which the spread of the flows would hide if they were not paired.
#[test]
fn a_difference_between_pairs_has_the_interval_of_the_differences() {
    let first = exponential(1, 80);
    let faster = first.iter().map(|ms| ms - 1.0);
    let samples = [sample(first.iter().copied()), sample(faster)];
    let boot = Bootstrap::new(&samples, 1, 80, 80);
    let paired = boot.interval(-1.0, |all| all[1][0] - all[0][0]).unwrap();
    assert!((paired.low + 1.0).abs() < 1e-9 && (paired.high + 1.0).abs() < 1e-9);
    let alone = boot.interval(100.0, |all| all[0][0]).unwrap();
    assert!(alone.high - alone.low > 20.0, "{alone:?}");
    // Four times as many flows halve the interval.
    let of_more = Bootstrap::new(&samples, 1, 80, 320);
    let narrow = of_more.interval(100.0, |all| all[0][0]).unwrap();
    let ratio = (narrow.high - narrow.low) / (alone.high - alone.low);
    assert!((ratio - 0.5).abs() < 1e-9, "{ratio}");
}

#[test]
fn the_largest_value_bounds_a_quantile_of_enough_values() {
    for statistic in Statistic::ALL {
        let share = statistic.share().unwrap_or(0.5);
        let fewest = statistic.fewest() as i32;
        assert!(share.powi(fewest) <= 0.025, "{statistic:?}");
        assert!(share.powi(fewest - 1) > 0.025, "{statistic:?}");
    }
}
