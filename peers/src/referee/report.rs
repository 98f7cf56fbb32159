//! The tables, in Markdown.

use super::{
    case::Case,
    judge::{Agreement, Miss},
    trial::Trial,
};
use comfy_table::presets::ASCII_MARKDOWN;
use recoup_guest::About;
use recoup_support::{
    rounded::{decimals, significant},
    stats::{Bootstrap, Interval, Sample, Statistic},
};
use std::fmt::Write;

/// The trials of one stack in one case.
pub struct Cell {
    pub case: Case,
    /// The stack's place in [`Report::stacks`].
    pub stack: usize,
    /// With the number of the seed of each.
    pub trials: Vec<(u64, Trial)>,
    /// Why there are no more.
    pub failed: Option<String>,
}

/// Everything that was found.
pub struct Report {
    /// The name of each stack on the command line, and what it is. All are compared with the first.
    pub stacks: Vec<(String, About)>,
    pub cells: Vec<Cell>,
    pub seed: u64,
}

/// The statistic of [`Statistic::ALL`] with this place.
const P50: usize = 1;
const P95: usize = 2;

impl Report {
    /// All tables. With `misses`: a list of what the analyzer has wrong.
    pub fn markdown(&self, misses: bool) -> String {
        let mut text = self.contestants();
        for case in Case::ALL {
            let cells: Vec<_> = self.cells.iter().filter(|cell| cell.case == case).collect();
            if !cells.is_empty() {
                // Writing to a string does not fail.
                let _ = write!(text, "\n### {}\n\n{}.\n\n{}", case.name(), case.description(), self.table(&cells));
            }
        }
        let _ = write!(text, "\n### The analyzer's agreement\n\n{}", self.agreement());
        if misses {
            self.list_misses(&mut text);
        }
        text
    }

    fn contestants(&self) -> String {
        let mut table = new_table(&["stack", "version", "configuration", "repeatable"]);
        for (name, about) in &self.stacks {
            let repeatable = if about.repeatable { "yes" } else { "no" };
            let version = format!("{} {}", about.name, about.version);
            table.add_row([name, &version, &about.configuration, repeatable]);
        }
        format!("{table}\n")
    }

    fn table(&self, cells: &[&Cell]) -> String {
        let case = cells[0].case;
        let mut headings =
            vec!["stack", "ms", "p95", "× linux-6", "lost", "sent again", "needless", "by timer", "burst"];
        headings.extend((case == Case::DelaySpike).then_some("flight after"));
        headings.extend(case.is_shared().then_some("linux-6 beside, ms"));
        let mut table = new_table(&headings);
        let ours = cells.iter().find(|cell| cell.stack == 0);
        for cell in cells {
            let name = self.stacks[cell.stack].0.clone();
            let mut row = vec![name];
            if cell.trials.is_empty() {
                row.push(cell.failed.clone().unwrap_or_else(|| "not applicable".into()));
            } else {
                row.extend(cell.row(ours.copied(), self.seed));
            }
            table.add_row(row);
        }
        let failed = cells.iter().filter(|cell| !cell.trials.is_empty()).filter_map(|cell| {
            let why = cell.failed.as_ref()?;
            Some(format!("\n{} failed: {why}\n", self.stacks[cell.stack].0))
        });
        format!("{table}\n{}", failed.collect::<String>())
    }

    fn agreement(&self) -> String {
        let headings =
            ["stack", "retransmissions", "found", "invented", "triggers right", "verdicts right", "no verdict"];
        let mut table = new_table(&headings);
        for (place, (name, _)) in self.stacks.iter().enumerate() {
            let mut all = Agreement::default();
            for agreement in self.agreements(place) {
                all.add(agreement.1.clone());
            }
            if all.retransmissions == 0 {
                continue;
            }
            let share = |part: u64, of: u64| format!("{} %", decimals(part as f64 * 100.0 / of.max(1) as f64, 2));
            table.add_row([
                name.clone(),
                all.retransmissions.to_string(),
                all.found.to_string(),
                all.invented.to_string(),
                share(all.triggers, all.found),
                share(all.verdicts, all.found - all.unknowable),
                all.unknowable.to_string(),
            ]);
        }
        format!("{table}\n")
    }

    fn agreements(&self, place: usize) -> impl Iterator<Item = (&Cell, &Agreement, u64)> {
        let cells = self.cells.iter().filter(move |cell| cell.stack == place);
        cells.flat_map(|cell| {
            let trials = cell.trials.iter();
            trials.filter_map(move |(seed, trial)| Some((cell, &trial.tcp.as_ref()?.agreement, *seed)))
        })
    }

    fn list_misses(&self, text: &mut String) {
        for (place, (name, _)) in self.stacks.iter().enumerate() {
            for (cell, agreement, seed) in self.agreements(place) {
                for Miss { frame, truth, found } in &agreement.misses {
                    let truth = truth.map_or_else(
                        || "no retransmission".into(),
                        |truth| {
                            let verdict = if truth.spurious { "spurious" } else { "needed" };
                            let after = if truth.after_timeout { " after a timeout" } else { "" };
                            format!("{:?}{after}, {verdict}", truth.cause).to_lowercase()
                        },
                    );
                    let found = found.map_or_else(
                        || "not found".into(),
                        |(triggers, verdict)| format!("{triggers}, {}", verdict.name()),
                    );
                    let (case, seed) = (cell.case.name(), self.seed + seed);
                    let _ = writeln!(text, "{name} {case} seed {seed} frame {frame}: {found}; truth: {truth}");
                }
            }
        }
    }
}

impl Cell {
    /// What follows the name in its row.
    fn row(&self, ours: Option<&Self>, seed: u64) -> Vec<String> {
        let whole = |value: Option<f64>| value.map_or_else(|| "–".into(), |value| decimals(value, 0));
        let p95 = (self.trials.len() as u64 >= Statistic::P95.fewest()).then(|| self.completion(P95)).flatten();
        let incomplete = self.trials.iter().filter(|(_, trial)| trial.completion.is_none()).count();
        let mut median = whole(self.completion(P50));
        if incomplete > 0 {
            let _ = write!(median, " ({incomplete} never complete)");
        }
        let mut row = vec![
            median,
            whole(p95),
            ours.and_then(|ours| self.compared(ours, seed)).unwrap_or_default(),
            self.mean(|trial| Some(trial.lost? as f64)),
            self.mean(|trial| Some(trial.again? as f64)),
            self.mean(|trial| Some(trial.needless? as f64)),
            self.mean(|trial| Some(trial.timeouts? as f64)),
            self.trials
                .iter()
                .filter_map(|(_, trial)| trial.burst)
                .max()
                .map_or_else(|| "–".into(), |most| most.to_string()),
        ];
        if self.case == Case::DelaySpike {
            let restored = self.trials.iter().find_map(|(_, trial)| trial.tcp.as_ref()?.restored);
            row.push(restored.map_or_else(|| "–".into(), |share| format!("{} %", decimals(share * 100.0, 0))));
        }
        if self.case.is_shared() {
            row.push(whole(self.trials.iter().find_map(|(_, trial)| trial.beside)));
        }
        row
    }

    fn sample(&self) -> Sample {
        // A flow that never completes takes longer than any other.
        let values = self.trials.iter().map(|(seed, trial)| (*seed as u32, 1, trial.completion.unwrap_or(f64::MAX)));
        Sample::new(values)
    }

    fn completion(&self, statistic: usize) -> Option<f64> {
        let whole = Bootstrap::new(&[self.sample()], 0, self.units(), self.units().into());
        whole.whole().first().map(|values| values[statistic]).filter(|value| *value < f64::MAX)
    }

    /// How many seeds there are.
    fn units(&self) -> u32 {
        self.trials.iter().map(|(seed, _)| *seed as u32 + 1).max().unwrap_or(1)
    }

    /// The ratio of the medians to ours, with its 95 % interval over the seeds where both have the same.
    fn compared(&self, ours: &Self, seed: u64) -> Option<String> {
        let estimate = self.completion(P50)? / ours.completion(P50)?;
        let mut text = significant(estimate, 3);
        let units = self.units();
        if u64::from(units) >= Statistic::P50.fewest() && units == ours.units() {
            let bootstrap = Bootstrap::new(&[self.sample(), ours.sample()], seed, units, units.into());
            let ratio = |values: &[[f64; 4]]| values[0][P50] / values[1][P50];
            if let Some(Interval { low, high }) = bootstrap.interval(estimate, ratio) {
                let _ = write!(text, " ({} to {})", significant(low, 3), significant(high, 3));
            }
        }
        Some(text)
    }

    /// The mean over the trials.
    fn mean(&self, of: impl Fn(&Trial) -> Option<f64>) -> String {
        let values: Vec<_> = self.trials.iter().filter_map(|(_, trial)| of(trial)).collect();
        match values.is_empty() {
            true => "–".into(),
            false => significant(values.iter().sum::<f64>() / values.len() as f64, 3),
        }
    }
}

fn new_table(headings: &[&str]) -> comfy_table::Table {
    let mut table = comfy_table::Table::new();
    table.load_preset(ASCII_MARKDOWN).set_header(headings.iter().copied());
    table
}
