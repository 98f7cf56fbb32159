use super::*;
use crate::report::Report;
use crate::run::run;
use crate::scenario::Scenario;

fn report(flows: u64, profiles: &[&str], settings: &[(&str, &str)]) -> Report {
    let mut scenario = Scenario::load("tail-loss").unwrap();
    scenario.flows = flows;
    let parse = |name: &&str| recoup_support::profile::parse_profile(name).unwrap();
    scenario.profiles = profiles.iter().map(parse).collect();
    for (key, value) in settings {
        scenario.set(key, value).unwrap();
    }
    Report::new(&scenario, &run(&scenario, 2, |_| ()).unwrap())
}

fn differences(report: &Report, profile: usize) -> Differences {
    report.results[profile].intervals.unwrap().differences.unwrap()
}

#[test]
fn a_difference_is_decided_or_said_to_be_undecided() {
    // Where only the last segment is lost, a probe spares every flow its timeout.
    let tails = [("drop", "tail:1,bernoulli:0.01")];
    let decided = report(100, &["linux-3.17", "linux-3.17+tlp"], &tails);
    let probe = differences(&decided, 1);
    assert_eq!(probe.verdict(0), Some("shorter"), "{probe:?}");
    let [ours, first] = [1, 0].map(|i| decided.results[i].fct.unwrap().mean);
    assert_eq!(probe.of[0].unwrap().value, ours - first);
    // Few of 100 flows of ten segments differ. All of them are longer, but of 1000 flows most are shorter.
    let loss = [("drop", "bernoulli:0.03")];
    let profiles = ["linux-3.17", "linux-6"];
    let [few, many] = [100, 1000].map(|flows| report(flows, &profiles, &loss));
    let undecided = differences(&few, 1);
    assert!(undecided.of[0].unwrap().interval.low > 0.0, "{undecided:?}");
    assert!((1..10).contains(&undecided.differing), "{undecided:?}");
    assert_eq!(undecided.verdict(0), Some("undecided"));
    assert_eq!(differences(&many, 1).verdict(0), Some("shorter"));
    let table = few.to_table(super::super::View::Cost, recoup_table::Keep::Telling);
    let row = table.lines().find(|line| line.contains("FCT mean - first profile's"));
    assert!(row.unwrap().contains("] undecided: "), "{table}");
    let equal = differences(&report(20, &["linux-6", "linux-6"], &loss), 1);
    assert_eq!((equal.verdict(0), equal.differing), (Some("equal"), 0));
}

#[test]
fn runs_are_compared_with_runs() {
    let times = |ms: &[u64]| {
        let mut times = Durations::default();
        ms.iter().for_each(|ms| times.add(std::time::Duration::from_millis(*ms)));
        times
    };
    // Runs differ by much more than profiles do.
    let first: Vec<Durations> = (1..=8).map(|run| times(&[50 * run, 60 * run])).collect();
    let later: Vec<Durations> = (1..=8).map(|run| times(&[50 * run + 3, 60 * run + 5])).collect();
    let all = [&first, &later].map(|runs| {
        let mut all = Durations::default();
        runs.iter().for_each(|run| all.merge(run));
        all
    });
    let both = [(&*first, &all[0]), (&*later, &all[1])];
    let found = of_runs(&both, 1).unwrap()[1];
    let differences = found.differences.unwrap();
    assert_eq!(differences.verdict(0), Some("longer"), "{found:?}");
    assert_eq!(differences.differing, 8);
    let Interval { low, high } = differences.of[0].unwrap().interval;
    assert!((low - 4.0).abs() < 1e-9 && (high - 4.0).abs() < 1e-9);
    let Interval { low, high } = found.times[0].unwrap().interval;
    assert!(high - low > 100.0, "{found:?}");
    // Sixteen flows are too few for the 95th percentile, and five runs for anything.
    assert_eq!(found.times[2], None);
    let five = [(&first[..5], &all[0]), (&later[..5], &all[1])];
    assert_eq!(of_runs(&five, 1), None);
}

#[test]
fn few_flows_have_no_intervals() {
    let lossy = [("drop", "bernoulli:0.05")];
    for (flows, is_some) in [(1, false), (5, false), (6, true)] {
        let entry = &report(flows, &["linux-6"], &lossy).results[0];
        assert_eq!(entry.intervals.is_some(), is_some, "{flows}");
    }
    let intervals = report(100, &["linux-6"], &lossy).results[0].intervals.unwrap();
    let known = intervals.times.map(|one| one.is_some());
    assert_eq!(known, [true, true, true, false]);
    assert_eq!((intervals.differences, intervals.ratio), (None, None));
}

#[test]
fn texts_have_as_many_digits_as_they_need() {
    for (value, low, high, text) in [
        (1.0, 0.5, 1.25, "1.000 [0.500, 1.250]"),
        (-12.3456, -14.0, -0.0001, "-12.35 [-14.00, 0.00]"),
        (783.0, 700.0, 1000.0, "783.0 [700.0, 1000.0]"),
    ] {
        let interval = Interval { low, high };
        assert_eq!(Estimated { value, interval }.to_text(), text);
    }
}

/// Several threads run flows from several places on. When they are interrupted, there are gaps.
#[test]
fn flows_of_an_interrupted_run_have_gaps_between_their_numbers() {
    let cost = |add: u64| {
        let times = [0_u32, 1, 2, 12_500, 12_501, 25_000].map(|flow| (flow, 1_000_000 * (u64::from(flow) + add)));
        let mut cost = Cost { flows: 6, fct_by_flow: times.to_vec(), ..Cost::default() };
        times.iter().for_each(|(_, nanos)| cost.fct.add(std::time::Duration::from_nanos(*nanos)));
        cost
    };
    let [first, later] = [0, 7].map(cost);
    let found = of_flows(&[&first, &later], 1).expect("enough flows")[1];
    assert_eq!(found.differences.map(|differences| differences.differing), Some(6));
}
