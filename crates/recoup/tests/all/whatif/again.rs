//! Each sender's capture, every other sender tried, and the truth of runs with other random losses.
//!
//! Nothing here knows the truth but the reruns: the profile must be found, a prediction there must be the opposite of the
//! prediction back, and the interval must cover what the same connections meet in another run.

use super::networks::Network;
use super::prediction::{Predicted, predict_with_senders};
use super::seed;
use super::simulated::run;
use super::truth::mean;
use std::fmt;
use std::path::Path;

/// Runs with other random losses that make the truth.
const RUNS: u64 = 5;

/// A sender, captured once, and run again with other losses.
struct Sender {
    profile: &'static str,
    captured_ms: f64,
    /// The mean completion time of each further run.
    again_ms: Vec<f64>,
    /// The profile that its connections vote for.
    found: Option<String>,
    /// For each sender, in order.
    predicted: Vec<Predicted>,
}

/// The senders of a network.
pub struct Matrix {
    network: &'static str,
    senders: Vec<Sender>,
}

/// Over the cells of matrices.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    pub senders: u64,
    pub found: u64,
    pub runs: u64,
    pub covered: u64,
    pub pairs: u64,
    pub agree: u64,
    /// Half the width of each interval, divided by what two runs of its base differ by.
    pub widths: Vec<f64>,
}

impl Matrix {
    pub fn new(network: &'static Network, profiles: &[&'static str], flows: u64, folder: &Path) -> Self {
        let mean_ms = |profile, capture: Option<&Path>, seed| {
            mean(run(network, flows, profile, capture, seed).iter().map(|flow| flow.fct_ms)).mean
        };
        let senders = profiles.iter().map(|profile| {
            let capture = folder.join(format!("{}.{profile}.pcap", network.file_name()));
            let captured_ms = mean_ms(profile, Some(&capture), seed());
            let (predicted, found) = predict_with_senders(&capture, profiles);
            let again_ms = (1..=RUNS).map(|run| mean_ms(profile, None, seed() + 1000 * run)).collect();
            Sender { profile, captured_ms, again_ms, found, predicted }
        });
        Self { network: network.name, senders: senders.collect() }
    }

    /// Prints a line for each pair of senders, and counts what holds.
    pub fn print(&self) -> Counts {
        let mut counts = Counts::default();
        for (i, base) in self.senders.iter().enumerate() {
            counts.senders += 1;
            let alike = self.alike(base);
            counts.found += u64::from(base.found.as_ref().is_some_and(|found| alike.contains(&&**found)));
            let spread = 1.96 * 2.0_f64.sqrt() * deviation(&base.again_ms);
            println!(
                "{}: {} found as {}, {:.1} ms; two runs differ by up to {spread:.1} ms",
                self.network,
                base.profile,
                base.found.as_deref().unwrap_or("nothing"),
                base.captured_ms
            );
            for (j, other) in self.senders.iter().enumerate().filter(|(j, _)| *j != i) {
                let Predicted { change_ms, interval_ms: (low, high), .. } = base.predicted[j];
                let half = (high - low) / 2.0;
                let back = &other.predicted[i];
                let half_back = (back.interval_ms.1 - back.interval_ms.0) / 2.0;
                let covered = other.again_ms.iter().filter(|again| {
                    let change = *again - base.captured_ms;
                    (low - 0.05..=high + 0.05).contains(&change)
                });
                let covered = covered.count() as u64;
                let agree = (change_ms + back.change_ms).abs() <= half.hypot(half_back) + 0.05;
                if spread > 0.0 {
                    counts.widths.push(half / spread);
                }
                counts.runs += RUNS;
                counts.covered += covered;
                if i < j {
                    counts.pairs += 1;
                    counts.agree += u64::from(agree);
                }
                let truth = mean(other.again_ms.iter().map(|again| again - base.captured_ms)).mean;
                println!(
                    "  to {:16} {change_ms:+8.1} ± {half:5.1}, true {truth:+8.1}, covered {covered}/{RUNS}, back {:+8.1}{}",
                    other.profile,
                    back.change_ms,
                    if agree { "" } else { " DISAGREE" }
                );
            }
        }
        counts
    }

    /// The profiles whose runs with the same losses end at the same times: no capture tells them apart.
    fn alike(&self, base: &Sender) -> Vec<&'static str> {
        let alike = self.senders.iter().filter(|other| other.captured_ms == base.captured_ms);
        alike.map(|other| other.profile).collect()
    }
}

impl Counts {
    pub fn add(&mut self, other: Self) {
        self.senders += other.senders;
        self.found += other.found;
        self.runs += other.runs;
        self.covered += other.covered;
        self.pairs += other.pairs;
        self.agree += other.agree;
        self.widths.extend(other.widths);
    }

    /// The median of the widths.
    pub fn width(&self) -> f64 {
        let mut widths = self.widths.clone();
        widths.sort_by(f64::total_cmp);
        widths[widths.len() / 2]
    }
}

fn deviation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "found: {} of {} senders", self.found, self.senders)?;
        writeln!(f, "there and back agree: {} of {} pairs", self.agree, self.pairs)?;
        writeln!(f, "another run within the 95 % interval: {} of {}", self.covered, self.runs)?;
        write!(f, "half the interval, by what two runs of the base differ by: {:.2} (median)", self.width())
    }
}
