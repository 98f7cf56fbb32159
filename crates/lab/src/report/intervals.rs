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

/// The place of the mean in [`Statistic::ALL`].
const MEAN: usize = 0;

/// The intervals of one profile's flow completion times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Intervals {
    /// Intervals of the times, in ms, in the order of [`Statistic::ALL`].
    pub times: [Option<Estimated>; 4],
    /// Intervals of the differences from the first profile's times; `None` for the first profile.
    pub differences: Option<Differences>,
    /// The interval of the mean divided by the first profile's; `None` for the first profile.
    pub ratio: Option<Estimated>,
}

/// Differences of one profile's flow completion times from the first profile's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Differences {
    /// Their intervals in ms, in the order of [`Statistic::ALL`].
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
    /// Its 95 % interval.
    pub interval: Interval,
}

impl Differences {
    /// The verdict on a statistic: `shorter` or `longer` if the interval lies on one side of 0, `equal` if the
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
    let units = Units::of(costs, flows);
    let (count, flows) = (units.count, flows.max(units.count.into()));
    let sample = |cost: &&Cost| {
        let times = cost.fct_by_flow.iter();
        Sample::new(times.map(|(flow, nanos)| (units.place(*flow), 1, *nanos as f64 / 1e6)))
    };
    (flows >= FEWEST_UNITS).then(|| {
        let samples: Vec<Sample> = costs.iter().map(sample).collect();
        let bootstrap = Bootstrap::new(&samples, seed, count, flows);
        let by_flow = costs.iter().map(|cost| {
            let mut times = vec![None; count as usize];
            for (flow, nanos) in &cost.fct_by_flow {
                times[units.place(*flow) as usize] = Some(*nanos);
            }
            times
        });
        let differing = differing(&by_flow.collect::<Vec<_>>());
        let times: Vec<&Durations> = costs.iter().map(|cost| &cost.fct).collect();
        of(&times, &differing, count.into(), &bootstrap)
    })
}

/// The flows that are drawn from.
struct Units {
    count: u32,
    /// Their numbers, if there are gaps: a run that is interrupted has flows of every part of it.
    numbers: Option<Vec<u32>>,
}

impl Units {
    fn of(costs: &[&Cost], flows: u64) -> Self {
        let count = flows.min(FLOWS_KEPT.into()) as u32;
        let numbers = || costs.iter().flat_map(|cost| cost.fct_by_flow.iter().map(|(flow, _)| *flow));
        if numbers().all(|flow| flow < count) {
            return Self { count, numbers: None };
        }
        let mut numbers: Vec<u32> = numbers().collect();
        numbers.sort_unstable();
        numbers.dedup();
        Self { count: count.max(numbers.len() as u32), numbers: Some(numbers) }
    }

    /// The place of a flow among them.
    fn place(&self, flow: u32) -> u32 {
        self.numbers.as_ref().map_or(flow, |numbers| numbers.partition_point(|number| *number < flow) as u32)
    }
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
        times = times.group(name, ends("flow completion time", name), move |e| time(e, which));
        let of = "difference of the flow completion time from the first profile's";
        let about = "shorter or longer if the interval excludes 0 and at least 10 flows differ (in a world all of fewer runs), equal if it is 0 alone, or else undecided";
        differences = differences.group(name, ends(of, name), move |e| difference(e, which)).column(
            format!("{name}_verdict"),
            "",
            about,
            move |e| differences_of(e)?.verdict(which),
        );
    }
    let differences = differences.column(
        "differing",
        "",
        "flows (in a world runs) whose times differ from the first profile's",
        |e| Some(differences_of(e)?.differing),
    );
    let ratio = Columns::<Estimated>::new()
        .column("low", "", "lower end of the 95 % interval of fct_normalised", |one| one.interval.low)
        .column("high", "", "upper end of the 95 % interval of fct_normalised", |one| one.interval.high);
    Columns::<Entry>::new()
        .group("fct_interval_ms", times, |e| e.intervals.as_ref().map(|_| e))
        .group("fct_difference_ms", differences, |e| differences_of(e).map(|_| e))
        .group("fct_normalised_interval", ratio, |e| e.intervals.as_ref()?.ratio.as_ref())
}

impl Entry {
    /// The verdict on the mean FCT, compared with the first profile's: the headline of a run goes by it.
    pub(super) fn mean_verdict(&self) -> Option<&'static str> {
        differences_of(self)?.verdict(MEAN)
    }

    /// The 95 % interval of the mean FCT in ms.
    pub(crate) fn mean_interval(&self) -> Option<Interval> {
        Some(time(self, MEAN)?.interval)
    }
}

/// The interval of a statistic of the flow completion times.
fn time(entry: &Entry, which: usize) -> Option<&Estimated> {
    entry.intervals.as_ref()?.times[which].as_ref()
}

/// The interval of the difference of a statistic from the first profile's.
fn difference(entry: &Entry, which: usize) -> Option<&Estimated> {
    differences_of(entry)?.of[which].as_ref()
}

fn differences_of(entry: &Entry) -> Option<&Differences> {
    entry.intervals.as_ref()?.differences.as_ref()
}

fn ends(of: &str, statistic: &str) -> Columns<Estimated> {
    Columns::<Estimated>::new()
        .column("value", "ms", format!("{of}: {statistic}"), |one| one.value)
        .column("low", "ms", format!("lower end of its 95 % interval ({statistic})"), |one| one.interval.low)
        .column("high", "ms", format!("upper end of its 95 % interval ({statistic})"), |one| one.interval.high)
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
            .column(format!("text_time_{name}"), "ms", "", move |e| Some(time(e, which)?.to_text()))
            .heading(format!("FCT {name} [95 % interval]"))
            .column(format!("text_difference_{name}"), "ms", "", move |e| {
                let text = difference(e, which)?.to_text();
                let differences = differences_of(e)?;
                let differing = differences.differing;
                Some(match differences.verdict(which)? {
                    "undecided" if !differences.enough_differ => format!("{text} undecided: {differing} differ"),
                    word => format!("{text} {word}"),
                })
            })
            .heading(format!("FCT {name} - first profile's"));
    }
    columns
        .column("text_ratio", "", "", |e| Some(e.intervals.as_ref()?.ratio?.to_text()))
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
mod tests;
