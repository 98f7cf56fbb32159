use super::*;
use crate::experiment;

fn parabola(_: &Setup, at: &Parameters, _: u32) -> Result<Measured, ExperimentError> {
    Ok(vec![("product", at.get("a") * at.get("b")), ("a", at.get("a"))])
}

fn fit(targets: &str) -> (Fitted, Fit) {
    let parameter = |name: &str, scale: &str| {
        format!(
            "[[parameter]]\nname = '{name}'\nabout = ''\nvalue = 1.0\nleast = 0.1\nmost = 100.0\nscale = '{scale}'\n"
        )
    };
    let toml = format!(
        "about = ''\nexperiments = ['prr web']\nbaseline = ''\nheld_out = ''\nseed = 7\nsize = 1\nsize_of = 'runs'\n{}{}{targets}",
        parameter("a", "log"),
        parameter("b", "linear")
    );
    (Fitted { name: "parabola", toml: "", measure: parabola }, Fit::read(&toml))
}

fn target(name: &str, paper: f64) -> String {
    format!("[[target]]\nname = '{name}'\nabout = ''\npaper = {paper:?}\ntolerance = {:?}\nours = 0.0\n", paper / 10.0)
}

#[test]
fn a_search_finds_the_parameters_of_a_smooth_population() {
    let (fitted, fit) = fit(&(target("product", 60.0) + &target("a", 3.0)));
    let mut costs = vec![];
    let found = search(&fitted, &fit, 1000, |_, best| costs.push(best.cost())).expect("a population");
    let values = found.values();
    assert!((values.get("a") - 3.0).abs() < 0.1 && (values.get("b") - 20.0).abs() < 0.6, "{values:?}");
    assert!(costs.is_sorted_by(|a, b| a >= b));
    assert!((found.targets[0].ours - values.get("a") * values.get("b")).abs() < 1e-9);
}

#[test]
fn a_search_keeps_to_its_runs_and_ranges() {
    let (fitted, fit) = fit(&target("a", 1e6));
    let mut runs = 0;
    let found = search(&fitted, &fit, 5, |run, _| runs = run).expect("a population");
    assert_eq!(runs, 5);
    assert!(found.values().get("a") > 1.0);
    let found = search(&fitted, &fit, 1000, |_, _| ()).expect("a population");
    assert_eq!(found.values().get("a"), 100.0);
}

#[test]
fn a_target_that_is_not_measured_costs_most() {
    let (fitted, fit) = fit(&target("unknown", 1.0));
    let measured = search::measured(&fitted, fit.clone()).expect("a population");
    assert!(measured.targets[0].ours.is_nan());
    assert!(!measured.agrees_with(&fit) && fit.agrees_with(&fit));
    assert_eq!(measured.cost(), 100.0);
}

#[test]
fn fits_are_of_experiments_and_their_seeds_judge_nothing() {
    let mut names = vec![];
    for (fitted, fit) in FITS.iter() {
        for title in &fit.experiments {
            let experiment = experiment::all().find(|one| &one.title() == title);
            let experiment = experiment.unwrap_or_else(|| panic!("{}: no experiment `{title}`", fitted.name));
            let setup = experiment::Setup::new(experiment, experiment::Effort::Full).expect("its scenario");
            assert_ne!(setup.seed(), fit.seed, "{}: judged with the seed of the fit", fitted.name);
        }
        for one in &fit.parameters {
            let is_inside = (one.least..=one.most).contains(&one.value);
            assert!(is_inside && (one.scale == Scale::Linear || one.least > 0.0), "{} {}", fitted.name, one.name);
        }
        assert!(fit.targets.iter().all(|one| one.tolerance > 0.0 && one.ours.is_finite()), "{}", fitted.name);
        names.push(fitted.name);
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), FITS.len(), "names are unique");
}

/// Measuring a part of it finds parameters and targets that code and file do not both have.
#[test]
fn every_fit_can_be_measured() {
    for (fitted, fit) in FITS.iter() {
        let measured =
            (fitted.measure)(&search::setup(fit).expect("its scenario"), &fit.values(), (fit.size / 20).max(2))
                .expect("a population");
        let mut measured: Vec<&str> = measured.iter().map(|(name, _)| *name).collect();
        let mut targets: Vec<&str> = fit.targets.iter().map(|one| one.name.as_str()).collect();
        measured.sort_unstable();
        targets.sort_unstable();
        assert_eq!(measured, targets, "{}", fitted.name);
    }
}

#[test]
fn a_change_concerns_the_parameter_of_its_name() {
    let (_, mut fit) = fit(&target("a", 3.0));
    fit.change(&"b=7".parse().expect("a change"));
    let values = fit.values();
    assert_eq!((values.get("a"), values.get("b")), (1.0, 7.0));
    for wrong in ["b", "b=", "b=many", "b=inf", "b=-1"] {
        assert!(wrong.parse::<Change>().is_err(), "{wrong}");
    }
}

/// A given quantity that the code reads has a name and a number, and can be changed.
#[test]
fn given_numbers_are_parameters_too() {
    for (fitted, fit) in FITS.iter() {
        assert!(fit.given.iter().all(|one| one.name.is_some() == one.number.is_some()), "{}", fitted.name);
        let mut names: Vec<&str> = fit.names().collect();
        for name in &names {
            let change = Change { name: (*name).into(), value: 0.25 };
            assert_eq!(parameters(fitted.name, &[change]).get(name), 0.25, "{}", fitted.name);
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "{}", fitted.name);
    }
}
