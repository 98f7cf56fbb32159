//! `recoup.paper`: experiments of the papers, and the verdicts on their claims.

use crate::errors::{defect, wrong};
use crate::table::Table;
use crate::watch;
use pyo3::prelude::*;
use recoup::paper::{Finished, PaperError, Request, plan, report};
use recoup_papers::experiment::{self, Effort, Experiment};
use recoup_papers::{Sheet, claims, ledger};
use recoup_support::suggest::did_you_mean;
use recoup_table::Part;

/// Finished experiments.
#[pyclass(frozen, module = "recoup._recoup")]
pub struct PaperRun {
    finished: Finished,
    effort: Effort,
}

/// A figure or table of a paper, with its data.
#[pyclass(frozen, module = "recoup._recoup")]
pub struct Figure(Sheet);

#[pymethods]
impl PaperRun {
    /// A row for each claim, with its verdict.
    #[getter]
    fn claims(&self) -> PyResult<Table> {
        let ledger = self.finished.ledger(self.effort);
        let rows = &ledger.claims;
        Table::new(&ledger::columns(), &[Part { name: "", rows }])
    }

    /// The figures, in order.
    #[getter]
    fn figures(&self) -> Vec<Figure> {
        let runs = self.finished.runs.iter();
        runs.map(|run| Figure(run.sheet.clone())).collect()
    }

    /// The report as one HTML page.
    fn report(&self) -> String {
        report::to_html(&self.finished, self.effort)
    }

    /// The figures and claims as text, as `recoup paper` prints them.
    fn text(&self) -> String {
        let runs = self.finished.runs.iter();
        runs.map(|run| run.sheet.to_text()).collect()
    }
}

#[pymethods]
impl Figure {
    /// The paper's name.
    #[getter]
    fn paper(&self) -> &'static str {
        self.0.paper
    }

    /// The figure's name.
    #[getter]
    fn name(&self) -> &'static str {
        self.0.figure
    }

    /// What it shows.
    #[getter]
    fn title(&self) -> &str {
        &self.0.title
    }

    /// The drawing.
    fn svg(&self) -> String {
        self.0.picture.to_svg()
    }

    /// The data and the claims: the figure's object in `recoup paper --format json`.
    fn json(&self) -> String {
        self.0.json().to_string()
    }

    /// The data.
    fn csv(&self) -> &str {
        &self.0.csv
    }

    /// The claims that the data decide, as text.
    fn claims_text(&self) -> String {
        claims::to_table(&self.0.claims)
    }
}

/// The experiments named; all of the paper if none is, and of all papers if the paper is `all`.
fn chosen(paper: &str, figures: &[String]) -> PyResult<Vec<&'static Experiment>> {
    let papers = recoup_papers::PAPERS.iter().map(|paper| paper.name);
    if paper != "all" && !papers.clone().any(|known| known == paper) {
        let known: Vec<&str> = papers.chain(["all"]).collect();
        let hint = did_you_mean(paper, known.iter().copied());
        return Err(wrong(format_args!("paper {paper}: expected {}{hint}", known.join(", "))));
    }
    let of = || experiment::all().filter(|one| paper == "all" || one.paper == paper);
    if figures.is_empty() {
        return Ok(of().collect());
    }
    let named = figures.iter().map(|name| {
        of().find(|one| one.name == name).ok_or_else(|| {
            let names: Vec<&str> = of().map(|one| one.name).collect();
            let hint = did_you_mean(name, names.iter().copied());
            wrong(format_args!("figure {name}: expected {}{hint}", names.join(", ")))
        })
    });
    named.collect()
}

/// Runs experiments of a paper in the simulator.
#[pyfunction]
pub fn paper(
    py: Python<'_>,
    paper: &str,
    figures: Vec<String>,
    quick: bool,
    seed: Option<u64>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<PaperRun> {
    let effort = match quick {
        true => Effort::Quick,
        false => Effort::Full,
    };
    let experiments = chosen(paper, &figures)?;
    let planned = plan(
        &experiments,
        effort,
        |_| false,
        |base| {
            base.seed = seed.unwrap_or(base.seed);
            Ok::<(), PaperError>(())
        },
    );
    let request = Request { planned: planned.map_err(wrong)?, simulate: true, real: vec![] };
    let finished = watch::run(py, progress, |meter| request.run(meter))?;
    Ok(PaperRun { finished: finished.map_err(defect)?, effort })
}
