//! 95 % intervals of flow completion times, and of their differences from the first profile's.
//!
//! On a path of its own, flow n meets the same network with every profile, so flows are drawn, and differences are
//! paired by flow. In a world flows depend on each other, so runs are drawn, and differences are paired by run.

use super::Entry;
use crate::run::{Cost, FLOWS_KEPT};
use recoup_support::stats::{Bootstrap, Durations, Interval, Sample, Statistic, Statistics};
use recoup_table::Columns;

/// The fewest flows or runs that are drawn: of fewer, no test without assumptions about their distribution finds a
/// difference at 5 % (the sign test of 5 pairs has p = 1/16).
pub(crate) const FEWEST_UNITS: u64 = 6;

/// The fewest flows that must differ for a verdict, unless there are fewer flows or runs. A sample with a few small
/// differences may lack the rare large ones. With losses of 1 % (tail-loss, 300 flows, 100 seeds, `linux-6` against
/// `linux-3.17`, whose flows differ by −3.7 ms on average), 2 of 51 intervals with 6 to 9 differing flows lie above 0,
/// and 1 of 36 with more.
const FEWEST_DIFFERING: u64 = 10;

/// The intervals of one profile's flow completion times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Intervals {
    /// Of the times, in ms, in the order of [`Statistic::ALL`].
    pub times: [Option<Estimated>; 4],
    /// Of the differences from the first profile's; `None` for the first profile.
    pub differences: Option<Differences>,
    /// Of the mean divided by the first profile's; `None` for the first profile.
    pub ratio: Option<Estimated>,
}

/// How one profile's flow completion times differ from the first profile's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Differences {
    /// In ms, in the order of [`Statistic::ALL`].
    pub of: [Option<Estimated>; 4],
    /// The flows whose times differ, in a world the runs.
    pub differing: u64,
    /// Whether so many differ that an interval can decide.
    pub enough_differ: bool,
}

/// A value with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimated {
    /// The value of all flows.
    pub value: f64,
    /// Its interval.
    pub interval: Interval,
}

impl Differences {
    /// What the difference of a statistic is: `shorter` or `longer` if its interval lies on one side of 0, `equal` if the
    /// interval is 0 alone, and otherwise `undecided`. It is undecided, too, if too few flows or runs
    /// differ.
    pub fn verdict(&self, which: usize) -> Option<&'static str> {
        let Interval { low, high } = self.of[which]?.interval;
        Some(match () {
            () if low == 0.0 && high == 0.0 => "equal",
            () if !self.enough_differ => "undecided",
            () if low > 0.0 => "longer",
            () if high < 0.0 => "shorter",
            () => "undecided",
        })
    }
}

/// The intervals of profiles whose flows have paths of their own; `None` with fewer than [`FEWEST_UNITS`] flows.
pub(super) fn of_flows(costs: &[&Cost], seed: u64) -> Option<Vec<Intervals>> {
    let flows = costs.iter().map(|cost| cost.flows).max()?;
    let units = flows.min(FLOWS_KEPT.into()) as u32;
    let sample = |cost: &&Cost| {
        let times = cost.fct_by_flow.iter();
        Sample::new(times.map(|(flow, nanos)| (*flow, 1, *nanos as f64 / 1e6)))
    };
    (flows >= FEWEST_UNITS).then(|| {
        let samples: Vec<Sample> = costs.iter().map(sample).collect();
        let bootstrap = Bootstrap::new(&samples, seed, units, flows);
        let by_flow = costs.iter().map(|cost| {
            let mut times = vec![None; units as usize];
            for (flow, nanos) in &cost.fct_by_flow {
                times[*flow as usize] = Some(*nanos);
            }
            times
        });
        let differing = differing(&by_flow.collect::<Vec<_>>());
        let times: Vec<&Durations> = costs.iter().map(|cost| &cost.fct).collect();
        of(&times, &differing, units.into(), &bootstrap)
    })
}

/// The intervals of profiles in a world: the times of a workload in each run of each profile, and in all runs together.
/// `None` with fewer than [`FEWEST_UNITS`] runs.
pub(crate) fn of_runs(profiles: &[(&[Durations], &Durations)], seed: u64) -> Option<Vec<Intervals>> {
    let runs = profiles.iter().map(|(runs, _)| runs.len()).max()?;
    let sample = |runs: &[Durations]| {
        let runs = runs.iter().enumerate();
        let values = runs.flat_map(|(run, times)| {
            let mut before = 0;
            times.cumulative().into_iter().map(move |(nanos, seen)| {
                let count = (seen - before) as u32;
                before = seen;
                (run as u32, count, nanos as f64 / 1e6)
            })
        });
        Sample::new(values)
    };
    (runs as u64 >= FEWEST_UNITS).then(|| {
        let samples: Vec<Sample> = profiles.iter().map(|(runs, _)| sample(runs)).collect();
        let bootstrap = Bootstrap::new(&samples, seed, runs as u32, runs as u64);
        let by_run = profiles.iter().map(|(runs, _)| {
            let steps = runs.iter().map(Durations::cumulative);
            steps.collect::<Vec<_>>()
        });
        let differing = differing(&by_run.collect::<Vec<_>>());
        let times: Vec<&Durations> = profiles.iter().map(|(_, all)| *all).collect();
        of(&times, &differing, runs as u64, &bootstrap)
    })
}

/// For each profile, how many units differ from the first profile's.
fn differing<T: PartialEq>(profiles: &[Vec<T>]) -> Vec<u64> {
    let first = profiles.first();
    let count = |units: &Vec<T>| {
        let pairs = first.into_iter().flatten().zip(units);
        pairs.filter(|(first, ours)| first != ours).count() as u64
    };
    profiles.iter().map(count).collect()
}

/// The intervals of these times, whose samples were resampled.
fn of(times: &[&Durations], differing: &[u64], units: u64, bootstrap: &Bootstrap) -> Vec<Intervals> {
    let estimated = |value: Option<f64>, statistic: &dyn Fn(&[Statistics]) -> f64| {
        let value = value?;
        let interval = bootstrap.interval(value, statistic)?;
        Some(Estimated { value, interval })
    };
    let value = |profile: usize, which: usize| {
        let (times, statistic) = (times[profile], Statistic::ALL[which]);
        let summary = times.summary()?;
        let value = statistic.share().map_or(summary.mean, |q| times.quantile(q));
        (times.count() >= statistic.fewest()).then_some(value)
    };
    let intervals = |profile: usize| {
        let times = [0, 1, 2, 3].map(|which| estimated(value(profile, which), &|all| all[profile][which]));
        let differences = [0, 1, 2, 3].map(|which| {
            let both = value(profile, which).zip(value(0, which));
            let difference = |all: &[Statistics]| all[profile][which] - all[0][which];
            estimated(both.map(|(ours, first)| ours - first), &difference)
        });
        let means = value(profile, 0).zip(value(0, 0));
        let ratio = means.map(|(ours, first)| ours / first);
        let ratio = estimated(ratio, &|all| all[profile][0] / all[0][0]);
        Intervals {
            times,
            differences: (profile > 0).then_some(Differences {
                of: differences,
                differing: differing[profile],
                enough_differ: differing[profile] >= FEWEST_DIFFERING.min(units),
            }),
            ratio: ratio.filter(|_| profile > 0),
        }
    };
    (0..times.len()).map(intervals).collect()
}

/// The intervals in JSON and CSV.
pub(super) fn columns() -> Columns<Entry> {
    let mut times = Columns::<Entry>::new();
    let mut differences = Columns::<Entry>::new();
    for (which, statistic) in Statistic::ALL.into_iter().enumerate() {
        let name = statistic.name();
        times = times.group(name, ends("flow completion time", name), TIMES[which]);
        let of = "difference of the flow completion time from the first profile's";
        let verdict = move |e: &Entry| {
            let differences = e.intervals.as_ref()?.differences.as_ref()?;
            differences.verdict(which).map(Into::into)
        };
        let about = "shorter or longer if the interval excludes 0 and at least 10 flows differ (in a world all of fewer runs), equal if it is 0 alone, or else undecided";
        differences = differences
            .group(name, ends(of, name), DIFFERENCES[which])
            .text((format!("{name}_verdict"), "", about), verdict);
    }
    let differences = differences
        .integer(("differing", "", "flows (in a world runs) whose times differ from the first profile's"), |e| {
            Some(e.intervals.as_ref()?.differences.as_ref()?.differing)
        });
    let ratio = Columns::<Estimated>::new()
        .real(("low", "", "lower end of the 95 % interval of fct_normalised"), |one| Some(one.interval.low))
        .real(("high", "", "upper end of the 95 % interval of fct_normalised"), |one| Some(one.interval.high));
    Columns::<Entry>::new()
        .group("fct_interval_ms", times, |e| e.intervals.as_ref().map(|_| e))
        .group("fct_difference_ms", differences, |e| e.intervals.as_ref()?.differences.as_ref().map(|_| e))
        .group("fct_normalised_interval", ratio, |e| e.intervals.as_ref()?.ratio.as_ref())
}

/// Finds a value of a profile.
type Find = fn(&Entry) -> Option<&Estimated>;

const TIMES: [Find; 4] = [
    |e| e.intervals.as_ref()?.times[0].as_ref(),
    |e| e.intervals.as_ref()?.times[1].as_ref(),
    |e| e.intervals.as_ref()?.times[2].as_ref(),
    |e| e.intervals.as_ref()?.times[3].as_ref(),
];

const DIFFERENCES: [Find; 4] = [
    |e| e.intervals.as_ref()?.differences.as_ref()?.of[0].as_ref(),
    |e| e.intervals.as_ref()?.differences.as_ref()?.of[1].as_ref(),
    |e| e.intervals.as_ref()?.differences.as_ref()?.of[2].as_ref(),
    |e| e.intervals.as_ref()?.differences.as_ref()?.of[3].as_ref(),
];

fn ends(of: &str, statistic: &str) -> Columns<Estimated> {
    Columns::<Estimated>::new()
        .real(("value", "ms", format!("{of}: {statistic}")), |one| Some(one.value))
        .real(("low", "ms", format!("lower end of its 95 % interval ({statistic})")), |one| Some(one.interval.low))
        .real(("high", "ms", format!("upper end of its 95 % interval ({statistic})")), |one| Some(one.interval.high))
}

/// The names of the columns of [`texts`], for a table's lines.
pub(super) fn text_names() -> impl Iterator<Item = String> {
    let names = ["time", "difference"]
        .into_iter()
        .flat_map(|part| Statistic::ALL.map(|statistic| format!("text_{part}_{}", statistic.name())));
    names.chain(["text_ratio".into()])
}

/// The intervals in tables for reading: each with its value in one cell.
pub(super) fn texts() -> Columns<Entry> {
    let mut columns = Columns::<Entry>::new();
    for (which, statistic) in Statistic::ALL.into_iter().enumerate() {
        let name = statistic.name();
        columns = columns
            .text((format!("text_time_{name}"), "ms", ""), move |e| Some(TIMES[which](e)?.to_text().into()))
            .heading(format!("FCT {name} [95 % interval]"))
            .text((format!("text_difference_{name}"), "ms", ""), move |e| {
                let text = DIFFERENCES[which](e)?.to_text();
                let differences = e.intervals.as_ref()?.differences.as_ref()?;
                let differing = differences.differing;
                Some(match differences.verdict(which)? {
                    "undecided" if !differences.enough_differ => format!("{text} undecided: {differing} differ").into(),
                    word @ ("undecided" | "equal") => format!("{text} {word}").into(),
                    _ => text.into(),
                })
            })
            .heading(format!("FCT {name} - first profile's"));
    }
    columns
        .text(("text_ratio", "", ""), |e| Some(e.intervals.as_ref()?.ratio?.to_text().into()))
        .heading("FCT mean / first profile's [95 % interval]")
}

impl Estimated {
    /// As `49.1 [45.0, 53.2]`.
    fn to_text(self) -> String {
        let Interval { low, high } = self.interval;
        let largest = [self.value, low, high].map(f64::abs).into_iter().fold(0.0, f64::max);
        let digits = match largest {
            large if large >= 100.0 => 1,
            middle if middle >= 10.0 => 2,
            _ => 3,
        };
        // A negative value that rounds to 0 has no sign.
        let [value, low, high] = [self.value, low, high].map(|x| {
            let text = format!("{x:.digits$}");
            let is_zero = text.trim_start_matches('-').chars().all(|c| matches!(c, '0' | '.'));
            if is_zero { text.trim_start_matches('-').to_owned() } else { text }
        });
        format!("{value} [{low}, {high}]")
    }
}

#[cfg(test)]
mod tests {
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
}
