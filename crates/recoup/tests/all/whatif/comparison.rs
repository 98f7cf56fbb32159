//! Predictions beside the truth.

use super::prediction::{Connection, Predicted};
use super::truth::{FlowTruth, Mean, Truth, mean};
use std::fmt;

/// The error allowed, as a share of the true change.
const SHARE_OF_CHANGE: f64 = 0.2;

/// The error allowed at least, as a share of the flow completion time.
const SHARE_OF_FCT: f64 = 0.01;

/// How much wider the interval of a prediction may be than that of the reruns.
const MOST_WIDER: f64 = 2.0;

/// A cell: what was predicted, and what came true.
pub struct Cell {
    pub name: String,
    pub flows: u64,
    /// Flows that were reported apart, and those that were refused.
    pub apart: u64,
    pub refused: u64,
    /// The true mean flow completion time under the base, in ms. This and the other values are of the flows
    /// that were predicted.
    pub fct_ms: f64,
    /// The true mean change, in ms.
    pub truth: Mean,
    /// The true mean change of all flows, those reported apart included.
    pub truth_of_all: Mean,
    pub change_ms: f64,
    pub interval_ms: (f64, f64),
    pub share_drawn: f64,
    /// Of flows without draws, and of the others.
    pub signs: [Signs; 2],
}

/// Flows whose true change exceeds a round-trip time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Signs {
    pub right: u64,
    pub all: u64,
}

impl Signs {
    fn add(&mut self, truth: &FlowTruth, predicted: Connection) {
        if truth.change_ms().abs() > truth.rtt_ms {
            self.all += 1;
            self.right += u64::from(predicted.change_ms * truth.change_ms() > 0.0);
        }
    }

    fn merge(&mut self, other: Self) {
        self.right += other.right;
        self.all += other.all;
    }

    /// The share of right signs; 1 if there is none.
    pub fn share(self) -> f64 {
        match self.all {
            0 => 1.0,
            all => self.right as f64 / all as f64,
        }
    }
}

impl Cell {
    pub fn new(truth: &Truth<'_>, predicted: &Predicted) -> Self {
        let mut signs = [Signs::default(); 2];
        let mut known = Vec::new();
        for (number, flow) in (0..).zip(&truth.flows) {
            if let Some(connection) = predicted.connections.get(&number) {
                signs[usize::from(connection.is_drawn)].add(flow, *connection);
                known.push(flow);
            }
        }
        let count = |reasons: &[(String, u64)]| reasons.iter().map(|(_, count)| count).sum();
        Self {
            name: truth.name(),
            flows: truth.flows.len() as u64,
            apart: count(&predicted.apart),
            refused: count(&predicted.refused),
            fct_ms: mean(known.iter().map(|flow| flow.base.fct_ms)).mean,
            truth: mean(known.iter().map(|flow| flow.change_ms())),
            truth_of_all: truth.change(),
            change_ms: predicted.change_ms,
            interval_ms: predicted.interval_ms,
            share_drawn: predicted.share_drawn,
            signs,
        }
    }

    pub fn error_ms(&self) -> f64 {
        (self.change_ms - self.truth.mean).abs()
    }

    /// The largest error that is allowed, in ms.
    pub fn bound_ms(&self) -> f64 {
        (SHARE_OF_CHANGE * self.truth.mean.abs()).max(SHARE_OF_FCT * self.fct_ms)
    }

    pub fn is_within_bound(&self) -> bool {
        self.error_ms() <= self.bound_ms()
    }

    /// Whether the reruns show a change: 0 is outside their own interval.
    pub fn has_change(&self) -> bool {
        self.truth.mean.abs() > self.truth.half_width
    }

    /// Whether the prediction is nearer to the truth than that nothing changes.
    pub fn is_better_than_none(&self) -> bool {
        self.error_ms() < self.truth.mean.abs()
    }

    pub fn covers(&self) -> bool {
        let (low, high) = self.interval_ms;
        // Sums of equal terms in another order differ by less.
        const SAME: f64 = 1e-6;
        (low - SAME..=high + SAME).contains(&self.truth.mean)
    }

    /// Whether prediction and truth agree, given the intervals of both.
    pub fn agrees(&self) -> bool {
        self.error_ms() <= self.half_width_ms().hypot(self.truth.half_width)
    }

    pub fn half_width_ms(&self) -> f64 {
        (self.interval_ms.1 - self.interval_ms.0) / 2.0
    }

    pub fn is_narrow(&self) -> bool {
        self.half_width_ms() <= MOST_WIDER * self.truth.half_width
    }

    /// The heads of the columns that its `Display` prints.
    pub const HEADS: &str = "network.base.other                               flows apart refused    FCT    true     ±  (of all)  predicted     ±   error   bound drawn  signs";
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [held, drawn] = self.signs;
        write!(
            f,
            "{:48} {:5} {:5} {:7} {:6.1} {:+7.2} {:5.2} {:+9.2} {:+10.2} {:5.2} {:7.2} {:7.2} {:4.0}% {:>4}/{} {}/{}",
            self.name,
            self.flows,
            self.apart,
            self.refused,
            self.fct_ms,
            self.truth.mean,
            self.truth.half_width,
            self.truth_of_all.mean,
            self.change_ms,
            self.half_width_ms(),
            self.error_ms(),
            self.bound_ms(),
            100.0 * self.share_drawn,
            held.right,
            held.all,
            drawn.right,
            drawn.all,
        )?;
        let marks = [
            (self.is_within_bound(), "beyond the bound"),
            (!self.has_change() || self.is_better_than_none(), "no better than no change"),
            (self.covers(), "outside the interval"),
            (self.is_narrow(), "wide interval"),
        ];
        let missed = marks.iter().filter(|(met, _)| !met);
        let missed: Vec<&str> = missed.map(|(_, what)| *what).collect();
        write!(f, " {}", missed.join(", "))
    }
}

/// A line for each flow: its truth and its prediction, to look into errors.
pub fn flow_table(truth: &Truth<'_>, predicted: &Predicted) -> String {
    let mut table =
        String::from("flow\trtt_ms\tbase_fct_ms\tbase_rerun_fct_ms\tchange_ms\tpredicted_change_ms\tdrawn\n");
    for (number, flow) in (0..).zip(&truth.flows) {
        let (rtt, fct, change) = (flow.rtt_ms, flow.base.fct_ms, flow.change_ms());
        let line = match predicted.connections.get(&number) {
            None => format!("{number}\t{rtt}\t{fct:.3}\t\t{change:.3}\t\t\n"),
            Some(Connection { change_ms, base_fct_ms, is_drawn, .. }) => {
                format!("{number}\t{rtt}\t{fct:.3}\t{base_fct_ms:.3}\t{change:.3}\t{change_ms:.3}\t{is_drawn}\n")
            }
        };
        table.push_str(&line);
    }
    table
}

/// Over many cells.
#[derive(Debug, Default)]
pub struct Summary {
    pub cells: u64,
    pub within_bound: u64,
    /// Cells whose reruns show a change, and those of them that are predicted better than by no change.
    pub with_change: u64,
    pub better: u64,
    pub covered: u64,
    pub narrow: u64,
    /// Of flows without draws, and of the others.
    pub signs: [Signs; 2],
    pub flows: u64,
    pub apart: u64,
}

impl Summary {
    pub fn add(&mut self, cell: &Cell) {
        self.cells += 1;
        self.within_bound += u64::from(cell.is_within_bound());
        self.with_change += u64::from(cell.has_change());
        self.better += u64::from(cell.has_change() && cell.is_better_than_none());
        self.covered += u64::from(cell.covers());
        self.narrow += u64::from(cell.is_narrow());
        self.flows += cell.flows;
        self.apart += cell.apart + cell.refused;
        let pairs = self.signs.iter_mut().zip(cell.signs);
        pairs.for_each(|(sum, own)| sum.merge(own));
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cells = self.cells;
        writeln!(f, "within the bound: {} of {cells} cells", self.within_bound)?;
        writeln!(f, "better than no change: {} of {} cells whose reruns show a change", self.better, self.with_change)?;
        writeln!(f, "truth within the 95 % interval: {} of {cells} cells", self.covered)?;
        writeln!(
            f,
            "interval at most {MOST_WIDER} times as wide as the reruns' own: {} of {cells} cells",
            self.narrow
        )?;
        for (signs, which) in self.signs.iter().zip(["without draws", "with draws"]) {
            writeln!(
                f,
                "sign right, changes of more than a round-trip time, {which}: {} of {} flows ({:.1} %)",
                signs.right,
                signs.all,
                100.0 * signs.share()
            )?;
        }
        let apart = 100.0 * self.apart as f64 / self.flows as f64;
        write!(f, "apart or refused: {} of {} flows ({apart:.1} %)", self.apart, self.flows)
    }
}
