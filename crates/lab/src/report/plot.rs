//! Flow completion times by profile as a picture.

use crate::run::{Cost, ProfileResult};
use crate::scenario::Scenario;
use crate::stage::Stage;
use crate::world::{WorldResult, WorldScenario};
use recoup_draw::chart::{BoxChart, BoxPanel, Interpolation, LineChart, LinePanel, Quantiles, Scale};
use recoup_support::quantity::format_duration;
use recoup_support::stats::Durations;

/// The times that a linear axis shows well: the largest is at most this many times the smallest.
const LINEAR_RANGE: f64 = 10.0;

/// The most steps of a line: more cannot be told apart.
const STEPS: f64 = 2000.0;

/// The kind of picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlotKind {
    /// The share of the flows that take at most a time.
    #[default]
    Cdf,
    /// The share of the flows that take longer than a time, on a logarithmic scale.
    Ccdf,
    /// The quartiles, the 5th and 95th percentile, and the mean.
    Box,
}

/// Flow completion times, a panel per stage or workload.
#[derive(Clone, Debug)]
pub struct Plot<'a> {
    title: String,
    panels: Vec<Panel<'a>>,
}

#[derive(Clone, Debug)]
struct Panel<'a> {
    title: String,
    /// Each profile's name with its cost.
    costs: Vec<(&'a str, &'a Cost)>,
}

impl<'a> Plot<'a> {
    /// The results of one pair of hosts, a panel per stage.
    pub fn of_pair(scenario: &Scenario, results: &'a [ProfileResult]) -> Self {
        let panels = Stage::ALL.map(|stage| {
            let of_stage = results.iter().filter(|result| result.stage == stage);
            let costs = of_stage.map(|result| (&*result.profile, &result.cost));
            (stage, costs.collect::<Vec<_>>())
        });
        let panels = panels.into_iter().filter(|(_, costs)| !costs.is_empty());
        let panels: Vec<_> = panels.collect();
        let is_only = panels.len() == 1;
        let panels = panels
            .into_iter()
            .map(|(stage, costs)| Panel { title: if is_only { "" } else { stage.name() }.into(), costs });
        let flows = match scenario.flows {
            1 => "one flow".into(),
            n => format!("{n} flows"),
        };
        Self {
            title: format!("{}: flow completion times of {flows} per profile", scenario.name),
            panels: panels.collect(),
        }
    }

    /// The results of a world, a panel per workload.
    pub fn of_world(world: &WorldScenario, results: &'a [WorldResult]) -> Self {
        let panel = |number: usize| {
            let workloads = results.iter().filter_map(|result| {
                let workload = result.workloads.get(number)?;
                Some((&*result.profile, &workload.cost))
            });
            Panel { title: world.workloads[number].name.clone(), costs: workloads.collect() }
        };
        let (name, duration) = (&world.name, format_duration(world.duration));
        let runs = match world.runs {
            1 => String::new(),
            runs => format!("{runs} runs of "),
        };
        Self {
            title: format!("{name}: flow completion times in {runs}{duration}"),
            panels: (0..world.workloads.len()).map(panel).collect(),
        }
    }

    /// The picture as an SVG document.
    pub fn to_svg(&self, kind: PlotKind) -> String {
        match kind {
            PlotKind::Cdf => self.lines(kind).to_svg(),
            PlotKind::Ccdf => self.lines(kind).to_svg(),
            PlotKind::Box => self.boxes().to_svg(),
        }
    }

    fn times(&self) -> impl Iterator<Item = &'a Durations> + Clone + '_ {
        let costs = self.panels.iter().flat_map(|panel| &panel.costs);
        costs.map(|(_, cost)| &cost.fct)
    }

    /// The smallest and the largest time in ms; `None` if no flow completed.
    fn range(&self) -> Option<(f64, f64)> {
        let all = self.times().filter_map(Durations::summary);
        let range = |(low, high): (f64, f64), (min, max): (f64, f64)| (low.min(min), high.max(max));
        all.map(|s| (s.min, s.max)).reduce(range)
    }

    /// A linear scale, unless the times differ too much. Times of 0 have no logarithm.
    fn scale(&self) -> Scale {
        match self.range() {
            Some((low, high)) if low > 0.0 && high > LINEAR_RANGE * low => Scale::Logarithmic,
            _ => Scale::Linear,
        }
    }

    fn lines(&self, kind: PlotKind) -> LineChart {
        let scale = self.scale();
        let (low, high) = self.range().unwrap_or((0.0, 1.0));
        let axis = |ms: f64| match scale {
            Scale::Linear => ms / high.max(f64::MIN_POSITIVE),
            Scale::Logarithmic => (ms / low).ln() / (high / low).ln(),
        };
        let mut series: Vec<String> = Vec::new();
        let panels = self.panels.iter().map(|panel| {
            let mut lines: Vec<Vec<(f64, f64)>> = vec![Vec::new(); series.len()];
            let mut is_taken = vec![false; series.len()];
            for (name, cost) in &panel.costs {
                // A profile has the same line in all panels.
                let free = (0..series.len()).find(|i| !is_taken[*i] && series[*i] == *name);
                let place = free.unwrap_or_else(|| {
                    series.push((*name).into());
                    lines.push(Vec::new());
                    is_taken.push(false);
                    series.len() - 1
                });
                is_taken[place] = true;
                lines[place] = line(cost, kind, high, axis);
            }
            LinePanel { title: panel.title.clone(), lines }
        });
        let panels = panels.collect();
        let (y_label, y_scale) = match kind {
            PlotKind::Ccdf => ("share of flows that take longer", Scale::Logarithmic),
            _ => ("share of the flows", Scale::Linear),
        };
        LineChart {
            title: self.title.clone(),
            x_label: "flow completion time (ms)".into(),
            y_label: y_label.into(),
            scale,
            y_scale,
            largest: Some(1.0),
            interpolation: Interpolation::Steps,
            series,
            panels,
        }
    }

    fn boxes(&self) -> BoxChart {
        let quantiles = |times: &Durations| {
            let summary = times.summary()?;
            Some(Quantiles {
                p5: times.quantile(0.05),
                p25: times.quantile(0.25),
                p50: summary.p50,
                p75: times.quantile(0.75),
                p95: times.quantile(0.95),
                mean: summary.mean,
            })
        };
        let panels = self.panels.iter().map(|panel| BoxPanel {
            title: panel.title.clone(),
            boxes: panel.costs.iter().map(|(name, cost)| ((*name).into(), quantiles(&cost.fct))).collect(),
        });
        BoxChart {
            title: self.title.clone(),
            x_label: "box: quartiles and median; whiskers: 5th and 95th percentile; square: mean".into(),
            y_label: "flow completion time (ms)".into(),
            scale: self.scale(),
            panels: panels.collect(),
        }
    }
}

/// The line of one profile. Flows that did not complete count as longer than all others. `high` is the largest time of
/// all profiles, and `axis` the place of a time on the axis, from 0 to 1.
fn line(cost: &Cost, kind: PlotKind, high: f64, axis: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
    let flows = cost.flows as f64;
    let y = |completed: u64| match kind {
        PlotKind::Ccdf => (cost.flows - completed) as f64 / flows,
        _ => completed as f64 / flows,
    };
    let mut line: Vec<(f64, f64)> = Vec::new();
    let mut below = 0;
    for (nanos, completed) in cost.fct.cumulative() {
        let ms = nanos as f64 / 1e6;
        match line.last_mut() {
            None => line.extend([(ms, y(0)), (ms, y(completed))]),
            // The step to a time that is as good as the last one.
            Some(last) if line_is_near(axis(last.0), axis(ms)) => *last = (last.0, y(completed)),
            Some(_) => line.push((ms, y(completed))),
        }
        below = completed;
    }
    match (line.last().copied(), below == cost.flows) {
        // The share of 0 has no place on a logarithmic scale: the line stays level until the last flow.
        (Some(last), true) if kind == PlotKind::Ccdf => {
            line.pop();
            line.extend(line.last().map(|before| (last.0, before.1)));
        }
        // The distribution stays level beyond its last step.
        (Some(last), _) => line.push((high, last.1)),
        (None, _) => {}
    }
    line
}

/// Whether two places on the axis fall on the same pixel.
fn line_is_near(a: f64, b: f64) -> bool {
    (b - a) * STEPS < 1.0
}

#[cfg(test)]
mod tests;
