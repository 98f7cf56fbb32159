//! Whether what `whatif` predicted for BEFORE came true in AFTER.
//!
//! The measured counterpart is the change of the mean completion time of like connections, of those that `whatif` could run again.
//! Both are uncertain: they differ if their difference lies outside of its interval, half of which is the root of the sum of the
//! squares of both halves (of the prediction its paired interval).

use super::interval::{Divided, Pair};
use super::quantity::{Quantity, like};
use super::sums::{Sums, Timed};
use super::verdict::SMALL;
use crate::analysis::Analyzed;
use crate::whatif::{Answer, Request};
use serde_json::Value;

/// Where a prediction comes from.
#[derive(Clone, Debug)]
pub enum Expectation {
    /// It was made before.
    Document(Predicted),
    /// The connections of BEFORE are run again.
    Rerun(Request),
}

/// A prediction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Predicted {
    /// What was tried.
    pub mechanism: String,
    /// The capture that was run again.
    pub capture: String,
    /// Connections that were run again.
    pub connections: u64,
    /// The mean change of their completion times in ms; negative: sooner.
    pub change_ms: f64,
    /// The 95 % interval of what another run shows, in ms.
    pub another_run_ms: Option<(f64, f64)>,
    /// The 95 % interval of the mean change, each connection compared with itself, in ms.
    pub paired_ms: Option<(f64, f64)>,
}

recoup_units::named! {
    /// Whether a prediction came true.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Outcome {
        /// What was measured agrees with the prediction, and not with its opposite.
        Agrees = "agrees",
        /// What was measured does not agree with the prediction.
        Disagrees = "disagrees",
        /// The measurement is too uncertain.
        Undecided = "undecided",
    }
}

/// A prediction beside the measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// The prediction.
    pub predicted: Predicted,
    /// The mean completion times before and after, in ms; `None` if no connections are like each other.
    pub measured_ms: Option<[f64; 2]>,
    /// The 95 % interval of their difference.
    pub interval_ms: Option<(f64, f64)>,
    /// Connections before and after, as far as `whatif` could run them again.
    pub connections: [u64; 2],
    /// Whether it came true.
    pub outcome: Outcome,
}

impl Predicted {
    /// The prediction for what was tried first; `None` if it changes no connection that completes.
    pub(super) fn of_answer(answer: &Analyzed<Answer>) -> Option<Self> {
        let result = answer.findings.results.first()?;
        Some(Self {
            mechanism: result.mechanism.clone(),
            capture: answer.capture.clone(),
            connections: result.all.connections,
            change_ms: result.all.mean_change_ms?,
            another_run_ms: result.all.interval_ms,
            paired_ms: result.all.paired_interval_ms,
        })
    }

    /// Reads a document of `recoup whatif --format json`. If it has several captures or mechanisms, `mechanism` and `capture` tell
    /// which.
    ///
    /// # Errors
    /// What is no such document, or leaves open which prediction is meant: a line.
    pub fn read(text: &str, capture: &str, mechanism: Option<&str>) -> Result<Self, String> {
        let document: Value = serde_json::from_str(text).map_err(|e| format!("no JSON document: {e}"))?;
        if document["schema"] != "recoup.whatif" || document["version"] != 1 {
            return Err("expected a document recoup.whatif of version 1: `recoup whatif BEFORE --format json`".into());
        }
        let captures = list(&document["captures"]);
        let named = |value: &&Value| value["capture"] == capture;
        let of = match captures {
            [one] => one,
            several => several.iter().find(named).ok_or_else(|| {
                format!("its captures are {}: expected {capture} among them", names(several, "capture"))
            })?,
        };
        let results = list(&of["results"]);
        let result = match (mechanism, results) {
            (None, [one]) => Some(one),
            (None, _) => None,
            (Some(name), results) => results.iter().find(|result| result["mechanism"] == name),
        };
        let result = result.ok_or_else(|| match results {
            [] => "it predicts nothing: no connection was run again".to_owned(),
            _ => format!("it has predictions for {}: --try chooses one", names(results, "mechanism")),
        })?;
        let change_ms = result["mean_change_ms"].as_f64();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Ok(Self {
            mechanism: text(&result["mechanism"]),
            capture: text(&of["capture"]),
            connections: result["connections"].as_u64().unwrap_or_default(),
            change_ms: change_ms.ok_or("no connection completes under it: there is no mean_change_ms")?,
            another_run_ms: interval(&result["mean_change_ci95_ms"]),
            paired_ms: interval(&result["mean_paired_change_ci95_ms"]),
        })
    }

    /// Half of the interval of the mean.
    fn half(&self) -> f64 {
        let interval = self.paired_ms.or(self.another_run_ms);
        interval.map_or(0.0, |(low, high)| (high - low) / 2.0)
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn names(values: &[Value], field: &str) -> String {
    let names = values.iter().map(|value| value[field].as_str().unwrap_or_default());
    names.collect::<Vec<_>>().join(", ")
}

fn interval(value: &Value) -> Option<(f64, f64)> {
    Some((value[0].as_f64()?, value[1].as_f64()?))
}

impl Check {
    pub(super) fn new(predicted: Predicted, before: &Divided, after: &Divided) -> Self {
        let is = |timed| timed == Timed::Connection { suits: true };
        let values = |before: &Sums, after: &Sums| like(before, after, |class| is(class.timed));
        let weight = |sums: &Sums| sums.timed(is);
        let measured_ms = values(&before.total, &after.total);
        let pair = Pair { before, after, values, weight: &weight };
        let half = pair.uncertainty().map(|of| of.half);
        let measured = measured_ms.map(|[before, after]| after - before).zip(half);
        Self {
            outcome: measured_ms
                .zip(half)
                .map_or(Outcome::Undecided, |(values, half)| outcome(&predicted, values, half)),
            measured_ms,
            interval_ms: measured.map(|(change, half)| (change - half, change + half)),
            connections: [before, after].map(|side| weight(&side.total)),
            predicted,
        }
    }

    /// The measured change in ms.
    pub fn change_ms(&self) -> Option<f64> {
        self.measured_ms.map(|[before, after]| after - before)
    }
}

fn outcome(predicted: &Predicted, [before, after]: [f64; 2], half: f64) -> Outcome {
    let change = after - before;
    let small = (SMALL * before).max(Quantity::Completion.negligible());
    let differs = (change - predicted.change_ms).abs() > half.hypot(predicted.half());
    let is_change = change.abs() > half;
    let is_none = change.abs() + half <= small && predicted.change_ms.abs() <= small;
    match (differs, is_change || is_none) {
        (true, _) => Outcome::Disagrees,
        (false, true) => Outcome::Agrees,
        (false, false) => Outcome::Undecided,
    }
}

#[cfg(test)]
mod tests;
