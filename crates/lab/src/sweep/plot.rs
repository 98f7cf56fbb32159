//! The results of a sweep as a picture: the mean flow completion time with its interval, a line per profile.

use super::report::{Rows, SweepReport};
use super::{Cell, Sweep};
use crate::report::Entry;
use recoup_draw::chart::{IntervalChart, IntervalPanel, IntervalValue, Scale};

/// The most panels of a picture.
const MOST_PANELS: usize = 20;

/// The values that a linear axis shows well: the largest is at most this many times the smallest.
const LINEAR_RANGE: f64 = 10.0;

/// A value and its place in the picture.
struct Mean<'a> {
    panel: String,
    series: &'a str,
    place: &'a str,
    value: Option<IntervalValue>,
}

impl Sweep {
    /// Checks that a picture can show the sweep. `parts` is the number of stages, or of a world's workloads.
    ///
    /// # Errors
    /// More panels than a picture shows well. The text is one line.
    pub fn check_panels(&self, parts: usize) -> Result<(), String> {
        let others = self.axes.iter().skip(1).map(|axis| axis.values.len());
        let panels = others.fold(parts, usize::saturating_mul);
        match panels <= MOST_PANELS {
            true => Ok(()),
            false => Err(format!(
                "expected at most {MOST_PANELS} panels, one for each combination of the keys behind the first one, found {panels}"
            )),
        }
    }
}

impl SweepReport {
    /// The mean flow completion times with their 95 % intervals as an SVG document. The x axis has the values of the
    /// first key that is swept. There is a panel for each combination of the others, and for each stage or workload
    /// if there are several.
    pub fn to_svg(&self) -> String {
        let means = self.means();
        let places = distinct(means.iter().map(|mean| mean.place.to_owned()));
        let series = distinct(means.iter().map(|mean| mean.series.to_owned()));
        let titles = distinct(means.iter().map(|mean| mean.panel.clone()));
        let find = |panel: &str, series: &str, place: &str| {
            let mut found = means.iter().filter(|m| (&*m.panel, m.series, m.place) == (panel, series, place));
            found.next().and_then(|mean| mean.value)
        };
        let panels = titles.iter().map(|title| {
            let of_series = |name: &String| places.iter().map(|place| find(title, name, place)).collect();
            IntervalPanel { title: title.clone(), values: series.iter().map(of_series).collect() }
        });
        let has_intervals = means.iter().any(|mean| mean.value.is_some_and(|value| value.interval.is_some()));
        let intervals = if has_intervals { " with 95 % intervals" } else { "" };
        let (x_label, names) = shortened(self.keys.first().map_or("", |key| key), &places);
        let chart = IntervalChart {
            title: format!("{}: mean flow completion times{intervals}", self.scenario),
            x_label,
            positions: positions(&names).unwrap_or_default(),
            y_label: "FCT mean (ms)".into(),
            scale: scale(&means),
            panels: panels.collect(),
            places: names,
            series,
        };
        chart.to_svg()
    }

    fn means(&self) -> Vec<Mean<'_>> {
        match &self.rows {
            Rows::Pair(rows) => {
                let rows = rows.iter().map(|row| (&row.cell, &row.of, row.of.result.stage.name()));
                means(&rows.collect::<Vec<_>>())
            }
            Rows::World(rows, _) => {
                let rows = rows.iter().map(|row| (&row.cell, &row.of.entry, &*row.of.workload));
                means(&rows.collect::<Vec<_>>())
            }
        }
    }
}

/// The means of cells, of which each has a stage or a workload. It is named if there are several.
fn means<'a>(rows: &[(&'a Cell, &'a Entry, &'a str)]) -> Vec<Mean<'a>> {
    let several = rows.iter().any(|row| Some(row.2) != rows.first().map(|first| first.2));
    let mean = |(cell, entry, part): &(&'a Cell, &'a Entry, &'a str)| {
        let ((_, place), others) = cell.values.split_first()?;
        let others = others.iter().map(|(key, value)| format!("{key}={value}"));
        let panel: Vec<String> = others.chain(several.then(|| (*part).to_owned())).collect();
        Some(Mean { panel: panel.join(", "), series: &entry.result.profile, place, value: value(entry) })
    };
    rows.iter().filter_map(mean).collect()
}

/// The mean FCT; `None` if no flow completed.
fn value(entry: &Entry) -> Option<IntervalValue> {
    let interval = entry.mean_interval().map(|interval| (interval.low, interval.high));
    Some(IntervalValue { value: entry.fct?.mean, interval })
}

/// The label of the axis, and the parts of the values in which they differ: `drop=bernoulli:0.01` and
/// `drop=bernoulli:0.02` are 0.01 and 0.02 of `drop=bernoulli:…`.
fn shortened(key: &str, values: &[String]) -> (String, Vec<String>) {
    const ENDS: [char; 3] = [':', ',', '='];
    let whole = || (key.to_owned(), values.to_vec());
    let Some((first, others)) = values.split_first().filter(|(_, others)| !others.is_empty()) else {
        return whole();
    };
    let common = |text: &str, other: &str| text.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let most = others.iter().map(|other| common(first, other)).min().unwrap_or(0);
    let prefix: String = first.chars().take(most).collect();
    let prefix = prefix.rfind(ENDS).map_or("", |end| &prefix[..=end]);
    let rest = || values.iter().map(|value| &value[prefix.len()..]);
    let backwards = |text: &str| text.chars().rev().collect::<String>();
    let first = backwards(rest().next().unwrap_or_default());
    let most = rest().skip(1).map(|other| common(&first, &backwards(other))).min().unwrap_or(0);
    let suffix: String = backwards(&first.chars().take(most).collect::<String>());
    let suffix = suffix.find(ENDS).map_or("", |begin| &suffix[begin..]);
    let names: Vec<String> = rest().map(|rest| rest[..rest.len() - suffix.len()].to_owned()).collect();
    match prefix.is_empty() && suffix.is_empty() || names.iter().any(String::is_empty) {
        true => whole(),
        false => (format!("{key}={prefix}…{suffix}"), names),
    }
}

/// The numbers of values in one unit, if they ascend.
fn positions(names: &[String]) -> Option<Vec<f64>> {
    let number = |name: &String| {
        let end = name.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(name.len());
        Some((name[..end].parse::<f64>().ok()?, name[end..].to_owned()))
    };
    let numbers: Vec<(f64, String)> = names.iter().map(number).collect::<Option<_>>()?;
    let ascend = numbers.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 == pair[1].1);
    ascend.then(|| numbers.into_iter().map(|(number, _)| number).collect())
}

/// A linear scale, unless the values differ too much.
fn scale(means: &[Mean<'_>]) -> Scale {
    let values = || means.iter().filter_map(|mean| Some(mean.value?.value));
    let (low, high) = (values().fold(f64::MAX, f64::min), values().fold(0.0, f64::max));
    let lows = means.iter().filter_map(|mean| Some(mean.value?.interval?.0));
    // A logarithmic axis cannot show an interval that reaches 0.
    match low > 0.0 && high > LINEAR_RANGE * low && lows.fold(f64::MAX, f64::min) > 0.0 {
        true => Scale::Logarithmic,
        false => Scale::Linear,
    }
}

/// Each text once, in the order of their first occurrence.
fn distinct(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for text in texts {
        if !all.contains(&text) {
            all.push(text);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_named_by_what_differs() {
        let cases: [(&[&str], &str, &[&str]); 5] = [
            (&["bernoulli:0.005", "bernoulli:0.01"], "drop=bernoulli:…", &["0.005", "0.01"]),
            (
                &["gilbert-elliott:0.0025,0.5", "gilbert-elliott:0.005,0.5"],
                "drop=gilbert-elliott:…,0.5",
                &["0.0025", "0.005"],
            ),
            (&["none", "tail:1"], "drop", &["none", "tail:1"]),
            (&["tail:1", "tail:1,up:ack:2"], "drop=tail:…", &["1", "1,up:ack:2"]),
            (&["tail:1"], "drop", &["tail:1"]),
        ];
        for (values, label, names) in cases {
            let values: Vec<String> = values.iter().map(|value| (*value).into()).collect();
            let found = shortened("drop", &values);
            assert_eq!(found, (label.into(), names.iter().map(|name| (*name).into()).collect()), "{values:?}");
        }
    }

    #[test]
    fn values_in_one_unit_have_positions() {
        let of = |names: &[&str]| positions(&names.iter().map(|name| (*name).into()).collect::<Vec<String>>());
        assert_eq!(of(&["0.5%", "1%", "4%"]), Some(vec![0.5, 1.0, 4.0]));
        assert_eq!(of(&["20ms", "80ms"]), Some(vec![20.0, 80.0]));
        for without in [&["500ms", "1s"][..], &["80ms", "20ms"], &["none", "1"], &["codel", "red"]] {
            assert_eq!(of(without), None, "{without:?}");
        }
    }
}
