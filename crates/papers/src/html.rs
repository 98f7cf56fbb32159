//! A report of checked claims as one HTML page that needs nothing else: no network, no other file.
//!
//! A [`Report`] is a plain value, and [`Report::to_html`] writes it. The first screen says which claims hold and
//! which do not. Then each paper shows every figure beside the claims that its data decide. A ledger lists all
//! claims, and a list of the paper's sentences says which of them a claim decides.
//!
//! - All text, all figures and all tables are HTML and SVG, so the page can be read and printed without JavaScript.
//!   The scripts in `report/` add zoom, values under the pointer, filters and buttons that copy.
//! - The figures are the documents of [`chart`](recoup_draw::chart) and [`sequence`](recoup_draw::sequence) in the light theme.
//!   The style sheet gives their colours a dark counterpart.
//! - Totals are counted from the claims, so they cannot differ from the ledger.
//! - A table shows at most [`MAX_ROWS`] rows, and says how many it leaves out.

mod coverage;
mod experiment;
mod ledger;
mod summary;
mod write;

pub use crate::claims::Class;

/// A table of data shows at most this many rows.
pub const MAX_ROWS: usize = 200;

/// A report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The title.
    pub title: String,
    /// One line on how the report was made: version, full or quick, seed, settings.
    pub made: String,
    /// The papers.
    pub papers: Vec<Paper>,
    /// Remarks at the end.
    pub notes: Vec<String>,
    /// The name and the version of the program that wrote the report.
    pub generator: String,
}

/// A paper with what was computed of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Paper {
    /// The short name, as on the command line.
    pub id: String,
    /// A heading in few words: `Tail loss recovery (2015)`.
    pub name: String,
    /// Authors, title, where published.
    pub citation: String,
    /// In the order of the paper.
    pub experiments: Vec<Experiment>,
    /// The paper's sentences that can be computed or measured, in its order.
    pub sentences: Vec<Sentence>,
}

/// An experiment of a paper.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Experiment {
    /// The name, as on the command line.
    pub name: String,
    /// The section of the paper.
    pub section: String,
    /// Its subject, in one sentence.
    pub about: String,
    /// Whether it ran.
    pub outcome: Outcome,
    /// The wall time that it should take, in seconds.
    pub budget: Option<f64>,
    /// Its drawings.
    pub figures: Vec<Figure>,
    /// The numbers behind the drawings.
    pub data: Data,
    /// Its populations as text: what was fitted to a baseline, and what was held out.
    pub fits: Vec<String>,
    /// The claims that it decides.
    pub claims: Vec<Claim>,
    /// Files beside the report that hold the same data: `fig1.pdf`.
    pub files: Vec<String>,
}

/// Whether an experiment ran.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It ran.
    Finished {
        /// Wall time in seconds.
        seconds: f64,
    },
    /// It did not finish, for this reason.
    Missing(String),
}

impl Default for Outcome {
    fn default() -> Self {
        Self::Finished { seconds: 0.0 }
    }
}

/// A drawing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// Its name, which is a part of its address on the page: `fig1`.
    pub name: String,
    /// A description for readers who do not see it; empty: the experiment's sentence.
    pub about: String,
    /// A document of this crate, in the light theme.
    pub svg: String,
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Data {
    /// There is none.
    #[default]
    None,
    /// A table as text of fixed width.
    Text(String),
    /// A table. Cells that are numbers stand to the right.
    Rows {
        /// Quantities and units.
        headings: Vec<String>,
        /// A cell for each heading. Rows beyond [`MAX_ROWS`] are left out.
        rows: Vec<Vec<String>>,
    },
}

/// A checked statement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Claim {
    /// Its name within the experiment.
    pub id: String,
    /// Where it stands: `3.1`, `RFC 6937 §3`, `ours`.
    pub section: String,
    /// What its verdict rests on.
    pub class: Class,
    /// The statement in our words.
    pub statement: String,
    /// How it is checked; empty: not said.
    pub check: String,
    /// The paper's figure in short.
    pub paper: Option<String>,
    /// Our result.
    pub ours: String,
    /// The 95 % confidence interval of our result.
    pub interval: Option<String>,
    /// Whether it holds.
    pub verdict: Verdict,
    /// Why it does not hold, or a remark.
    pub note: Option<String>,
    /// The command that repeats the check; empty: none.
    pub command: String,
    /// How the verdict compares with the committed ledger.
    pub ledger: Ledger,
}

choices! {
    /// Whether a claim holds.
    #[derive(Default)]
    pub enum Verdict {
        /// The check confirms it.
        #[default]
        Holds = "holds",
        /// It cannot fail: a definition, arithmetic.
        ByConstruction = "holds by construction",
        /// The check refutes it.
        Fails = "fails",
        /// The data do not tell.
        Undecided = "undecided",
    }
}

impl Verdict {
    /// The name in classes of the style sheet.
    const fn class(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::ByConstruction => "construction",
            Self::Fails => "fails",
            Self::Undecided => "undecided",
        }
    }
}

/// How a verdict compares with the committed ledger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ledger {
    /// It was not compared.
    #[default]
    NotCompared,
    /// The ledger has the same verdict.
    Same,
    /// The ledger has no such claim.
    New,
    /// The ledger has this verdict.
    Differs(Verdict),
}

/// A sentence of a paper that can be computed or measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sentence {
    /// The section.
    pub section: String,
    /// The statement, in our words.
    pub says: String,
    /// The claims that decide it, as `experiment/claim`.
    pub claims: Vec<String>,
    /// Why no claim decides it.
    pub untested: Option<Untested>,
}

/// Why no claim decides a sentence.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Untested {
    /// The reason in a word: `population`.
    pub kind: String,
    /// The reason in a sentence.
    pub because: String,
}

impl Report {
    /// The report as HTML.
    pub fn to_html(&self) -> String {
        write::write(self)
    }

    /// The papers' experiments.
    fn experiments(&self) -> impl Iterator<Item = (&Paper, &Experiment)> {
        let of = |paper| move |experiment| (paper, experiment);
        self.papers.iter().flat_map(move |paper| paper.experiments.iter().map(of(paper)))
    }

    /// All claims.
    fn claims(&self) -> impl Iterator<Item = &Claim> {
        self.experiments().flat_map(|(_, of)| &of.claims)
    }
}

impl Paper {
    fn claims(&self) -> impl Iterator<Item = &Claim> {
        self.experiments.iter().flat_map(|of| &of.claims)
    }

    /// The address of a claim on the page.
    fn address(&self, experiment: &str, claim: &str) -> String {
        format!("{}/{experiment}/{claim}", self.id)
    }
}

impl Experiment {
    /// Why it did not finish, if so.
    fn missing(&self) -> Option<&str> {
        match &self.outcome {
            Outcome::Finished { .. } => None,
            Outcome::Missing(why) => Some(why),
        }
    }
}

#[cfg(test)]
mod tests;
