//! The papers: each figure regenerated from the engine, each computable claim checked.

pub mod tail_loss;

use crate::chart::BarChart;
use crate::claims::Claim;
use serde::Serialize;

/// One figure, regenerated.
#[derive(Clone, Debug, Serialize)]
pub struct Figure<Cell> {
    /// The paper's name here.
    pub paper: &'static str,
    /// The figure's.
    pub figure: &'static str,
    /// What it shows.
    pub title: String,
    /// The data behind it.
    pub cells: Vec<Cell>,
    /// The claims it supports, checked.
    pub claims: Vec<Claim>,
    /// How it is drawn.
    #[serde(skip)]
    pub chart: BarChart,
}

impl<Cell: Serialize> Figure<Cell> {
    /// As JSON, indented, with a final newline.
    pub fn to_json(&self) -> String {
        json(self)
    }

    /// Several figures as a JSON list; one alone stands for itself.
    pub fn all_to_json(figures: &[Self]) -> String {
        match figures {
            [figure] => figure.to_json(),
            figures => json(&figures),
        }
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_else(|e| format!("{{\"error\": \"{e}\"}}")) + "\n"
}
