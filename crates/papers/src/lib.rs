//! The papers: each figure regenerated from the engine, each computable claim checked.

pub mod claims;
pub mod prr;
pub mod slp;
pub mod tail_loss;

use claims::Claim;
use recoup_draw::chart::{BarChart, LineChart};
use recoup_draw::sequence::{Diagram, Panel};
use serde::Serialize;
use serde_json::{Value, json};

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
    pub picture: Picture,
}

/// A figure's drawing.
#[derive(Clone, Debug, PartialEq)]
pub enum Picture {
    /// Numbers side by side.
    Bars(BarChart),
    /// Numbers over a number.
    Lines(LineChart),
    /// What was sent when.
    Sequence(Diagram),
}

impl Picture {
    /// The picture as an SVG document, 900 px wide.
    pub fn to_svg(&self) -> String {
        match self {
            Self::Bars(chart) => chart.to_svg(),
            Self::Lines(chart) => chart.to_svg(),
            Self::Sequence(diagram) => diagram.to_svg(),
        }
    }

    /// The picture for xplot, a file for each panel with its name; none for what xplot has no use
    /// for.
    pub fn to_xplot(&self) -> Vec<(String, String)> {
        let Self::Sequence(diagram) = self else {
            return vec![];
        };
        let panels = diagram.panels.iter().enumerate();
        let file = |(i, panel): (usize, &Panel)| Some((panel.title.clone(), diagram.to_xplot(i)?));
        panels.filter_map(file).collect()
    }
}

/// A figure in all the forms it is put out in, whatever its data.
#[derive(Clone, Debug)]
pub struct Sheet {
    /// The paper's name here.
    pub paper: &'static str,
    /// The figure's.
    pub figure: &'static str,
    /// Numbers and claims, for reading.
    pub table: String,
    /// The same for programs.
    pub json: Value,
    /// The numbers, for spreadsheets: a header and lines.
    pub csv: String,
    /// The claims, checked.
    pub claims: Vec<Claim>,
    /// How it is drawn.
    pub picture: Picture,
}

impl<Cell: Serialize> Figure<Cell> {
    /// `table` under the figure's heading, then the claims.
    fn with_table(&self, table: &impl std::fmt::Display) -> String {
        let claims = claims::to_table(&self.claims);
        let (paper, figure, title) = (self.paper, self.figure, &self.title);
        format!("{paper} {figure}: {title}\n\n{table}\n\n{claims}\n")
    }

    /// The figure with its forms for reading and for spreadsheets.
    fn into_sheet(self, table: String, csv: String) -> Sheet {
        let json = serde_json::to_value(&self);
        Sheet {
            paper: self.paper,
            figure: self.figure,
            table,
            json: json.unwrap_or_else(|e| json!({ "error": e.to_string() })),
            csv,
            claims: self.claims,
            picture: self.picture,
        }
    }
}

/// Whether two times in ms are one: to the microsecond, as the engine keeps nanoseconds and shifts
/// integers.
fn same(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-3
}

impl Sheet {
    /// As a JSON list, of one too, indented, with a final newline.
    pub fn to_json(sheets: &[Self]) -> String {
        let list: Vec<&Value> = sheets.iter().map(|sheet| &sheet.json).collect();
        format!("{:#}\n", json!(list))
    }

    /// Several as CSV under one header; `None` when their columns differ.
    pub fn to_csv(sheets: &[Self]) -> Option<String> {
        let mut csv = String::new();
        let mut header = None;
        for sheet in sheets {
            let (columns, lines) = sheet.csv.split_once('\n')?;
            if *header.get_or_insert(columns) != columns {
                return None;
            }
            csv += lines;
        }
        Some(format!("{}\n{csv}", header?))
    }
}

/// No row of the table is wider than a terminal may be expected to be.
#[cfg(test)]
pub(crate) fn assert_fits_a_terminal(table: &str) {
    for row in table.lines().filter(|line| line.starts_with('|')) {
        assert!(row.chars().count() <= 160, "{row}");
    }
}
