use super::*;
use std::time::Duration;

fn cost(flows: u64, completed: &[u64]) -> Cost {
    let mut cost = Cost { flows, completed: completed.len() as u64, ..Cost::default() };
    for ms in completed {
        cost.fct.add(Duration::from_millis(*ms));
    }
    cost
}

#[test]
fn lines_are_distribution_functions() {
    let four = cost(4, &[80, 80, 100, 400]);
    // One of the flows did not complete.
    let three = cost(4, &[80, 80, 100]);
    let cdf = [(80.0, 0.0), (80.0, 0.5), (100.0, 0.75), (400.0, 1.0)];
    for (cost, kind, expected) in [
        (&four, PlotKind::Cdf, [&cdf[..], &[(500.0, 1.0)]].concat()),
        (&three, PlotKind::Cdf, [&cdf[..3], &[(500.0, 0.75)]].concat()),
        (&four, PlotKind::Ccdf, vec![(80.0, 1.0), (80.0, 0.5), (100.0, 0.25), (400.0, 0.25)]),
        (&three, PlotKind::Ccdf, vec![(80.0, 1.0), (80.0, 0.5), (100.0, 0.25), (500.0, 0.25)]),
    ] {
        let found = line(cost, kind, 500.0, |ms| ms / 500.0);
        assert_eq!(found, expected, "{kind:?}");
    }
    let none = line(&cost(4, &[]), PlotKind::Cdf, 500.0, |ms| ms / 500.0);
    assert_eq!(none, []);
}

#[test]
fn a_line_of_many_times_has_a_bounded_number_of_steps() {
    let times: Vec<u64> = (1..=100_000).collect();
    let many = cost(100_000, &times);
    let line = line(&many, PlotKind::Cdf, 1e5, |ms| ms / 1e5);
    assert!((1900..=2100).contains(&line.len()), "{}", line.len());
    for (ms, share) in &line {
        assert!((share - ms / 1e5).abs() <= 1e-3, "{ms} {share}");
    }
}

#[test]
fn every_kind_names_its_profiles_and_units() {
    let scenario = Scenario::load("tail-loss").unwrap();
    let results = crate::run::run(&scenario, 1, |_| ()).unwrap();
    let plot = Plot::of_pair(&scenario, &results);
    for kind in [PlotKind::Cdf, PlotKind::Ccdf, PlotKind::Box] {
        let svg = plot.to_svg(kind);
        for text in ["linux-6+tlpr", "flow completion time (ms)", "of one flow per profile"] {
            assert!(svg.contains(text), "{kind:?}: {text}");
        }
    }
}
