use super::super::reruns::tests::{prediction, rerun};
use super::*;

#[test]
fn changes_are_summed_and_their_quantiles_found() {
    let rerun = rerun(1000.0);
    let values = [-500.0, -5.0, 0.0, 0.0, 200.0];
    let all = values.map(prediction);
    let pairs: Vec<_> = all.iter().map(|one| (&rerun, one)).collect();
    let changes = Changes::of(&pairs, 0, ModelError::default(), false);
    assert_eq!(changes.connections, 5);
    assert_eq!(changes.sum_change_ms, -305.0);
    assert_eq!(changes.mean_change_ms, Some(-61.0));
    assert_eq!(changes.mean_fct_ms, Some(1000.0));
    assert_eq!(changes.mean_fct_established_ms, Some(900.0));
    assert_eq!(changes.quantiles_ms, Some([-500.0, -5.0, 0.0, 0.0, 200.0]));
    // 5 ms of 1,000 ms are not noticeable.
    assert_eq!((changes.better, changes.worse), (1, 1));
    assert_eq!(changes.percent(changes.better), Some(20.0));
    // The changes differ too much for five connections to show whether the mean is negative.
    assert!(!changes.helps());
    let alike = [-50.0, -60.0, -40.0, -45.0, -55.0].map(prediction);
    let pairs: Vec<_> = alike.iter().map(|one| (&rerun, one)).collect();
    assert!(Changes::of(&pairs, 0, ModelError::default(), false).helps());
    assert_eq!(changes.share_drawn, 0.0);
}

#[test]
fn the_share_that_rests_on_draws_is_of_the_amounts() {
    let rerun = rerun(1000.0);
    let drawn = Prediction { draws: 10, variance: 4.0, ..prediction(30.0) };
    let sure = prediction(-90.0);
    let changes = Changes::of(&[(&rerun, &drawn), (&rerun, &sure)], 0, ModelError::default(), false);
    assert_eq!(changes.share_drawn, 0.25);
    assert_eq!(changes.drawn_connections, 1);
    let (low, high) = changes.paired_interval_ms.unwrap();
    assert!(low < -30.0 && -30.0 < high);
}

#[test]
fn without_connections_nothing_is_known() {
    let none = Changes::of(&[], 0, ModelError::default(), false);
    assert_eq!(none, Changes::default());
    assert_eq!(none.percent(0), None);
    assert!(!none.helps());
}
