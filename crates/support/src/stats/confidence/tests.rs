use super::*;

#[test]
fn intervals_are_wilsons() {
    // (hits, trials, text); the first is a textbook example, the others reach 0 or 1.
    for (hits, trials, shown) in [
        (81, 263, "30.8 % [25.5, 36.6]"),
        (0, 10, "0.0 % [0.0, 27.8]"),
        (10, 10, "100.0 % [72.2, 100.0]"),
        (0, 0, "0.0 % [0.0, 100.0]"),
    ] {
        assert_eq!(Share::of(hits, trials).to_string(), shown);
    }
}

#[test]
fn more_often_than_not_means_the_whole_interval() {
    for (hits, trials, is) in [(59, 100, false), (60, 100, true), (3, 3, false), (0, 0, false)] {
        let share = Share::of(hits, trials);
        assert_eq!(share.is_more_often_than_not(), is, "{share}");
    }
}

#[test]
fn the_interval_is_that_of_the_mean() {
    let Estimate { mean, half } = Estimate::of([1.0, 2.0, 3.0, 4.0].into_iter());
    assert_eq!(mean, 2.5);
    // The variance of the values is 5/3, that of their mean 5/12.
    assert!((half - 1.96 * (5.0f64 / 12.0).sqrt()).abs() < 1e-4, "{half}");
    assert_eq!(Estimate { mean, half }.to_string(), "2.5 ± 1.3");
    assert!(Estimate { mean, half }.is_positive());
    assert!(!Estimate { mean: -mean, half }.is_positive());
    let difference = Estimate { mean, half: 3.0 }.minus(Estimate { mean: 1.0, half: 4.0 });
    assert_eq!((difference.mean, difference.half), (1.5, 5.0));
    let two = Estimate { mean: 2.0, half: 0.5 };
    for (found, mean, half) in [
        (two + 1.0, 3.0, 0.5),
        (two - 3.0, -1.0, 0.5),
        (two * -4.0, -8.0, 2.0),
        (two / 2.0, 1.0, 0.25),
        (-two, -2.0, 0.5),
        (two - Estimate::exactly(1.0), 1.0, 0.5),
    ] {
        assert_eq!((found.mean, found.half), (mean, half));
    }
    assert_eq!([1.0, 2.0, 3.0, 4.0].into_iter().collect::<Estimate>().mean, 2.5);
    // Of a hundred values the interval of the median is from the 40th to the 61st.
    let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
    let Estimate { mean, half } = Estimate::of_median(&hundred);
    assert_eq!((mean, half), (50.5, 10.5));
    let six = Estimate::of_median(&[1.0, 2.0, 3.0, 4.0, 5.0, 9.0]);
    assert_eq!((six.mean, six.half), (3.5, 4.0));
    assert_eq!(Estimate::of_median(&[1.0, 2.0, 4.0]).half, f64::INFINITY);
    let alone = Estimate::of([7.0].into_iter());
    assert_eq!((alone.mean, alone.half), (7.0, 0.0));
}
