//! Figures and tables of papers, computed with Recoup's engine, and checks of the papers' claims.
//!
//! | module | contents |
//! | --- | --- |
//! | `experiment` | an experiment: its run, its efforts, and the mutations that its claims must notice |
//! | `macros`, `prelude` | short forms of claims, columns and enumerations; names that most experiments use |
//! | `texts` | sections, statements, checks and sentences as data (`claims/`) |
//! | `claims`, `ledger`, `claims_page` | claims as values with verdicts; the committed ledger of expected ones; both as pages |
//! | `fit` | populations fitted to what a paper prints of its baseline (`fits/`), and the search for them |
//! | `flow`, `grid`, `population` | one bench for single flows; cells by key; random flows of one sender that stand in for the papers' traffic |
//! | `tail_loss` | single flows (`detection`, `timers`, figures 1 and 2), `dumbbell` and `web`: its realistic half |
//! | `prr` | single flows (`linux`, `losses`, `acks`, `er`, figures 2 to 4, `bank`), populations (`pipe`, `lengths`, `properties`), and `servers`: the data centers of its sections 5 and 6, `users` and `connection` by arm |
//! | `slp` | single flows (`timers`, `window`, `tails`), formulas (`fec`, `arbitrator`), populations (`timeouts`, `stakes`, `fetch`, `duplication`, `combined`, `congestion`), `overhead` |
//! | `loss_detection` | four systems over four `captures` (`populations`, `impact`, `causes`, `tool`), single flows (`senders`, `reactions`, `equations`), and the study's own tables (`published`) |
//! | `finding` | our own question: what Linux 6 leaves on the table (`search`, `judge`) |
//! | `run`, `html`, `program` | runs experiments one after another; the report as one page; the command line |

#[macro_use]
mod macros;

mod claims;
#[cfg(test)]
mod claims_page;
mod coverage;
mod distribution;
mod experiment;
mod finding;
mod fit;
mod flow;
mod grid;
pub mod html;
mod last;
mod ledger;
mod loss_detection;
mod pivot;
mod population;
mod prelude;
pub mod program;
mod prr;
mod run;
mod slp;
mod tail_loss;
mod texts;

use claims::Claim;
use coverage::Sentence;
use experiment::{Effort, Experiment, Run};
use ledger::{Ledger, Record};
use recoup_draw::chart::{BarChart, LineChart, PointChart};
use recoup_draw::render::{self, RenderError};
use recoup_draw::sequence::{Diagram, Panel};
use recoup_table::{Columns, Schema};
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt::Display;
use std::sync::LazyLock;
use texts::Texts;

/// The JSON document of figures.
///
/// `figures` is an array. Each figure has `paper`, `figure`, `title`, `cells` (the data) and `claims`.
/// Some figures have further arrays of rows beside `cells`.
const SCHEMA: Schema = Schema { name: "recoup.paper", version: 1 };

/// A paper whose claims are checked.
#[derive(Debug)]
struct Paper {
    /// The short name, as on the command line.
    name: &'static str,
    /// A heading in few words.
    heading: &'static str,
    /// Authors, title, venue and year.
    citation: &'static str,
    /// Its experiments, in the order of the command line.
    experiments: Vec<Experiment>,
    /// Its sentences that could be computed or measured, in its order.
    sentences: &'static [Sentence],
    /// Its texts.
    texts: &'static Texts,
    /// Its claims in the committed ledger.
    records: Vec<Record>,
    /// The committed ledger at the full and at the quick effort.
    ledgers: [Ledger; 2],
}

/// The four papers, and the finding of our own.
static PAPERS: LazyLock<[Paper; 5]> = LazyLock::new(|| {
    [
        paper(
            tail_loss::NAME,
            tail_loss::RUNS,
            include_str!("../claims/tail-loss.toml"),
            include_str!("../ledger/tail-loss.json"),
        ),
        paper(prr::NAME, prr::RUNS, include_str!("../claims/prr.toml"), include_str!("../ledger/prr.json")),
        paper(slp::NAME, slp::RUNS, include_str!("../claims/slp.toml"), include_str!("../ledger/slp.json")),
        paper(
            loss_detection::NAME,
            loss_detection::RUNS,
            include_str!("../claims/loss-detection.toml"),
            include_str!("../ledger/loss-detection.json"),
        ),
        paper(
            finding::NAME,
            finding::RUNS,
            include_str!("../claims/finding.toml"),
            include_str!("../ledger/finding.json"),
        ),
    ]
});

/// Joins the code of a paper's experiments, its texts and its ledger.
fn paper(name: &'static str, runs: &[Run], texts: &str, ledger: &str) -> Paper {
    // It is read once, and used until the program ends.
    let texts: &'static Texts = Box::leak(Box::new(Texts::read(texts)));
    let experiments: Vec<Experiment> = runs.iter().map(|one| Experiment::new(name, texts, one)).collect();
    let records = ledger::read(ledger);
    Paper {
        name,
        heading: &texts.heading,
        citation: &texts.citation,
        sentences: &texts.sentences,
        texts,
        ledgers: [Effort::Full, Effort::Quick].map(|effort| Ledger::of(effort, &experiments, &records)),
        experiments,
        records,
    }
}

/// One regenerated figure.
#[derive(Clone, Debug)]
struct Figure<Cell> {
    /// The paper's short name, as on the command line.
    paper: &'static str,
    /// The figure's name.
    figure: &'static str,
    /// A line that describes the figure.
    title: String,
    /// The data.
    cells: Vec<Cell>,
    /// The claims that the data decide.
    claims: Vec<Claim>,
    /// The drawing.
    picture: Picture,
}

/// A figure's drawing.
#[derive(Clone, Debug, PartialEq)]
enum Picture {
    /// A bar chart.
    Bars(BarChart),
    /// A line chart.
    Lines(LineChart),
    /// A chart of points.
    Points(PointChart),
    /// A time–sequence diagram.
    Sequence(Diagram),
}

impl From<BarChart> for Picture {
    fn from(chart: BarChart) -> Self {
        Self::Bars(chart)
    }
}

impl From<LineChart> for Picture {
    fn from(chart: LineChart) -> Self {
        Self::Lines(chart)
    }
}

impl From<PointChart> for Picture {
    fn from(chart: PointChart) -> Self {
        Self::Points(chart)
    }
}

impl From<Diagram> for Picture {
    fn from(diagram: Diagram) -> Self {
        Self::Sequence(diagram)
    }
}

impl Picture {
    /// The picture as an SVG document, 900 px wide.
    fn to_svg(&self) -> String {
        match self {
            Self::Bars(chart) => chart.to_svg(),
            Self::Lines(chart) => chart.to_svg(),
            Self::Points(chart) => chart.to_svg(),
            Self::Sequence(diagram) => diagram.to_svg(),
        }
    }

    /// The picture as PNG with 300 dots an inch: some 2800 dots wide.
    ///
    /// # Errors
    /// A picture of more than 100 million dots.
    fn to_png(&self) -> Result<Vec<u8>, RenderError> {
        render::to_print_png(&self.to_svg())
    }

    /// The picture as PDF: lines, areas and text in embedded fonts.
    ///
    /// # Errors
    /// None: these pictures can be converted.
    fn to_pdf(&self) -> Result<Vec<u8>, RenderError> {
        render::to_pdf(&self.to_svg())
    }

    /// The picture for xplot: the name and text of one file per panel. Charts have none.
    fn to_xplot(&self) -> Vec<(String, String)> {
        let Self::Sequence(diagram) = self else {
            return vec![];
        };
        let panels = diagram.panels.iter().enumerate();
        let file = |(i, panel): (usize, &Panel)| Some((panel.title.clone(), diagram.to_xplot(i)?));
        panels.filter_map(file).collect()
    }
}

/// A figure in every output format.
#[derive(Clone, Debug)]
struct Sheet {
    /// The paper's short name, as on the command line.
    paper: &'static str,
    /// The figure's name.
    figure: &'static str,
    /// A line that describes the figure.
    title: String,
    /// The data as text.
    table: String,
    /// The figure as an element of the JSON document's `figures`, without its claims.
    json: Value,
    /// The data as CSV: a header and a line per row.
    csv: String,
    /// The checked claims.
    claims: Vec<Claim>,
    /// The drawing.
    picture: Picture,
    /// Further drawings of the same data, each with its name.
    further: Vec<(&'static str, Picture)>,
}

impl<Cell: 'static> Figure<Cell> {
    fn new(
        paper: &'static str,
        figure: &'static str,
        title: impl Into<String>,
        claims: Vec<Claim>,
        picture: impl Into<Picture>,
        cells: Vec<Cell>,
    ) -> Self {
        Self { paper, figure, title: title.into(), cells, claims, picture: picture.into() }
    }

    /// The figure in every format, with the text that this makes of its cells.
    fn sheet(self, text: impl FnOnce(&[Cell]) -> String, columns: &Columns<Cell>) -> Sheet {
        let text = text(&self.cells);
        self.into_sheet(&text, columns)
    }

    /// The figure in every format. `text` shows the data to people; `columns` give the cells of CSV and
    /// JSON.
    fn into_sheet(self, text: &str, columns: &Columns<Cell>) -> Sheet {
        let Self { paper, figure, title, cells, claims, picture } = self;
        Sheet {
            paper,
            figure,
            table: text.trim_end().into(),
            json: json!({
                "paper": paper,
                "figure": figure,
                "title": title,
                "cells": to_value(&columns.to_json(&cells)),
            }),
            title,
            csv: columns.to_csv(&cells),
            claims,
            picture,
            further: vec![],
        }
    }
}

fn to_value(part: &impl Serialize) -> Value {
    serde_json::to_value(part).unwrap_or_else(|e| json!({ "error": e.to_string() }))
}

/// Values as text.
trait Joined: IntoIterator<Item: Display> + Sized {
    /// The values, with a separator between them.
    fn joined(self, separator: &str) -> String {
        self.into_iter().map(|value| value.to_string()).collect::<Vec<_>>().join(separator)
    }
}

impl<T: IntoIterator<Item: Display>> Joined for T {}

/// Columns that start with the figure's name.
fn columns_of_figure<R: 'static>(figure: &'static str) -> Columns<R> {
    Columns::new().column("figure", "", "the figure's name", move |_| figure)
}

/// A number for tables: three digits at least if it is 1 or more, and so many decimals below 1. Whole numbers have none.
fn number(value: f64, decimals_below_1: usize) -> String {
    let decimals = match value.abs() {
        size if size >= 100.0 || value == value.trunc() => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => decimals_below_1,
    };
    format!("{value:.decimals$}")
}

/// Whether two times in ms are equal to the microsecond. The engine computes whole nanoseconds and
/// rounds SRTT and RTTVAR.
fn same(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-3
}

impl Sheet {
    /// Adds a further drawing of the same data.
    fn with_picture(mut self, name: &'static str, picture: Picture) -> Self {
        self.further.push((name, picture));
        self
    }

    /// Adds a further array of rows to the JSON.
    fn with_rows<R: 'static>(mut self, name: &str, columns: &Columns<R>, rows: &[R]) -> Self {
        self.json[name] = to_value(&columns.to_json(rows));
        self
    }

    /// Adds a further array of rows to the JSON, and makes these rows the CSV.
    fn with_csv_rows<R: 'static>(self, name: &str, columns: &Columns<R>, rows: &[R]) -> Self {
        let csv = columns.to_csv(rows);
        Self { csv, ..self.with_rows(name, columns, rows) }
    }

    /// Title, data and claims as text.
    fn to_text(&self) -> String {
        let Self { paper, figure, title, table, claims, .. } = self;
        let mut text = format!("{paper} {figure}: {title}\n\n{table}\n\n");
        if !claims.is_empty() {
            text = text + &claims::to_table(claims) + "\n";
        }
        text
    }

    /// The figure as an element of the JSON document's `figures`.
    fn json(&self) -> Value {
        let mut json = self.json.clone();
        json["claims"] = to_value(&self.claims);
        json
    }

    /// The JSON document of these figures (see [`SCHEMA`]), indented, with a final newline.
    fn to_json(sheets: &[Self]) -> String {
        let figures: Vec<Value> = sheets.iter().map(Self::json).collect();
        // Writing to memory cannot fail.
        SCHEMA.to_text(&json!({ "figures": figures })).unwrap_or_default()
    }

    /// The figures as CSV under one header; `None` if their columns differ.
    fn to_csv(sheets: &[Self]) -> Option<String> {
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

/// Asserts that no row of the table is wider than 160 characters.
#[cfg(test)]
fn assert_fits_a_terminal(table: &str) {
    for row in table.lines().filter(|line| line.starts_with('|')) {
        assert!(row.chars().count() <= 160, "{row}");
    }
}
