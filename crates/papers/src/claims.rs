//! Claims of papers. Each has a check and a verdict.
//!
//! The texts of a claim are data (module `texts`). Code computes the result, by the claim's id:
//! `claim("table7-below-three").shows(text).needs(linux.above(50.0))`. [`Experiment::run`] joins both.
//!
//! A claim that does not hold stays in the list, with the reason. The committed ledger (module `ledger`) has the expected
//! verdict of each, so that a changed verdict is noticed.
//!
//! [`Experiment::run`]: crate::experiment::Experiment::run

use crate::texts::{self, Text, UNKNOWN};
use comfy_table::ContentArrangement;
use recoup_support::stats::{Estimate, Share};
use recoup_table::plain_table;
use serde::{Deserialize, Serialize};
use std::fmt::Display;
use std::ops::Range;

/// Whether a claim holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimVerdict {
    /// The check confirms the claim.
    Holds,
    /// The check refutes the claim.
    Fails,
    /// The data do not tell: the confidence interval of the quantity on which the claim depends contains the bound.
    Undecided,
}

impl From<bool> for ClaimVerdict {
    fn from(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Fails }
    }
}

impl ClaimVerdict {
    /// `Fails` if one of the parts of a claim fails, `Holds` if all hold.
    pub fn all(parts: impl IntoIterator<Item = Self>) -> Self {
        let worse = |all: Self, part: Self| match (all, part) {
            (Self::Fails, _) | (_, Self::Fails) => Self::Fails,
            (Self::Undecided, _) | (_, Self::Undecided) => Self::Undecided,
            (Self::Holds, Self::Holds) => Self::Holds,
        };
        parts.into_iter().fold(Self::Holds, worse)
    }

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "FAILS",
            Self::Undecided => "undecided",
        }
    }

    /// The name in reports of the verdict on a claim that may follow from definitions.
    pub const fn name_of(self, by_construction: bool) -> &'static str {
        match self {
            Self::Holds if by_construction => "holds (by construction)",
            verdict => verdict.name(),
        }
    }
}

/// A quantity with a 95 % confidence interval, compared with bounds. The verdict is undecided if the interval contains
/// the bound.
pub trait Compare: Copy {
    /// A value that is known exactly.
    fn exactly(value: f64) -> Self;

    /// Whether it is larger than another one.
    fn exceeds(self, other: Self) -> ClaimVerdict;

    /// Whether it is above a number, or above another quantity.
    fn above(self, bound: impl Bound<Self>) -> ClaimVerdict {
        self.exceeds(bound.quantity())
    }

    /// Whether it is below a number, or below another quantity.
    fn below(self, bound: impl Bound<Self>) -> ClaimVerdict {
        bound.quantity().exceeds(self)
    }

    /// Whether it lies between two numbers.
    fn within(self, bounds: Range<f64>) -> ClaimVerdict {
        ClaimVerdict::all([self.above(bounds.start), self.below(bounds.end)])
    }

    /// Whether it has the sign and the size of the paper's value: it lies between half and twice the value.
    fn sized(self, paper: f64) -> ClaimVerdict {
        let [half, twice] = [paper / 2.0, paper * 2.0];
        self.within(half.min(twice)..half.max(twice))
    }
}

impl Compare for Estimate {
    fn exactly(value: f64) -> Self {
        Self { mean: value, half: 0.0 }
    }

    fn exceeds(self, other: Self) -> ClaimVerdict {
        let difference = self.minus(other);
        if difference.mean > difference.half {
            ClaimVerdict::Holds
        } else if difference.mean < -difference.half {
            ClaimVerdict::Fails
        } else {
            ClaimVerdict::Undecided
        }
    }
}

impl Compare for Share {
    fn exactly(value: f64) -> Self {
        Self { share: value, low: value, high: value, ..Self::of(0, 0) }
    }

    /// Shares differ if their intervals do not overlap.
    fn exceeds(self, other: Self) -> ClaimVerdict {
        if self.low > other.high {
            ClaimVerdict::Holds
        } else if self.high < other.low {
            ClaimVerdict::Fails
        } else {
            ClaimVerdict::Undecided
        }
    }
}

/// The other side of a comparison: a number, or another quantity of the same kind.
pub trait Bound<Quantity> {
    /// The bound as a quantity.
    fn quantity(self) -> Quantity;
}

impl<Quantity: Compare> Bound<Quantity> for f64 {
    fn quantity(self) -> Quantity {
        Quantity::exactly(self)
    }
}

impl Bound<Self> for Estimate {
    fn quantity(self) -> Self {
        self
    }
}

impl Bound<Self> for Share {
    fn quantity(self) -> Self {
        self
    }
}

/// Who makes a claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The paper, in the section given.
    #[default]
    Paper,
    /// An RFC, in the section given.
    Rfc,
    /// We make it, and no paper does. The section, if any, is the one from which it follows or which it makes precise.
    Ours,
}

impl Source {
    /// The name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Rfc => "rfc",
            Self::Ours => "ours",
        }
    }
}

/// What the verdict on a claim rests on. Each class is counted apart: together they would say more than they know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Class {
    /// A figure or a comparison of the paper's own world, over our population or our flows in its place.
    #[serde(rename = "reproduced")]
    Reproduced,
    /// The engine does what the paper, its algorithm or an RFC specifies: conformance.
    #[default]
    #[serde(rename = "implemented")]
    Implemented,
    /// A number that the population was fitted to, or that is an input: no result.
    #[serde(rename = "fitted")]
    Fitted,
    /// It follows from definitions or arithmetic, so that no run could refute it.
    #[serde(rename = "by construction")]
    ByConstruction,
}

impl Class {
    /// All, in the order of reports.
    pub const ALL: [Self; 4] = [Self::Reproduced, Self::Implemented, Self::Fitted, Self::ByConstruction];

    /// The name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Implemented => "implemented",
            Self::Fitted => "fitted",
            Self::ByConstruction => "by construction",
        }
    }

    /// What it is, in a few words.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Reproduced => "figures and comparisons of the papers' own worlds",
            Self::Implemented => "conformance of the engine to its specification",
            Self::Fitted => "numbers that a population was fitted to, and inputs",
            Self::ByConstruction => "claims that cannot fail",
        }
    }
}

/// A checked statement. Outside of this crate it has its texts: [`Experiment::run`] adds them to the results.
///
/// [`Experiment::run`]: crate::experiment::Experiment::run
#[derive(Clone, Debug, Serialize)]
pub struct Claim {
    /// A short name.
    pub id: &'static str,
    /// The statement, and its check.
    #[serde(flatten)]
    pub text: &'static Text,
    /// Our result.
    pub ours: String,
    /// The 95 % confidence interval of our result.
    pub interval: Option<String>,
    /// The verdict from our result; undecided without any condition.
    pub verdict: ClaimVerdict,
    /// The verdict in the committed ledger; `None` if the claim is not there. `known` in JSON.
    #[serde(rename = "known")]
    pub expected: Option<ClaimVerdict>,
    /// Whether the claim follows from definitions or arithmetic, so that no run could refute it.
    pub by_construction: bool,
    /// Why the claim fails, or a remark: what code wrote, else the text's note.
    pub note: Option<String>,
    /// The name of the note among the texts that code chose.
    #[serde(skip)]
    pub noted: Option<&'static str>,
    /// Whether a condition has been given.
    #[serde(skip)]
    is_checked: bool,
}

/// The result of the claim with this id.
pub const fn claim(id: &'static str) -> Claim {
    Claim {
        id,
        text: &UNKNOWN,
        ours: String::new(),
        interval: None,
        verdict: ClaimVerdict::Undecided,
        expected: None,
        by_construction: false,
        note: None,
        noted: None,
        is_checked: false,
    }
}

impl Claim {
    /// With our result as text.
    pub fn shows(mut self, ours: impl Into<String>) -> Self {
        self.ours = ours.into();
        self
    }

    /// With a condition. Several must all hold.
    pub fn needs(mut self, condition: impl Into<ClaimVerdict>) -> Self {
        let condition = condition.into();
        self.verdict = if self.is_checked { ClaimVerdict::all([self.verdict, condition]) } else { condition };
        self.is_checked = true;
        self
    }

    /// With several conditions, which must all hold.
    pub fn needs_all(self, conditions: impl IntoIterator<Item = ClaimVerdict>) -> Self {
        self.needs(ClaimVerdict::all(conditions))
    }

    /// With results of several parts as text, and a condition of each.
    pub fn each(self, separator: &str, parts: impl IntoIterator<Item = (String, ClaimVerdict)>) -> Self {
        let (shown, conditions): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        self.shows(shown.join(separator)).needs_all(conditions)
    }

    /// With a condition that is true or false.
    pub fn holds(self, condition: bool) -> Self {
        self.needs(condition)
    }

    /// With a result and its verdict, which were computed together.
    pub fn result(self, (ours, condition): (String, impl Into<ClaimVerdict>)) -> Self {
        self.shows(ours).needs(condition)
    }

    /// Holds if each of `all` cases is as claimed, and there are some: `3 of 4 flows`.
    pub fn every<Count: Copy + Display + PartialEq + Default>(self, hits: Count, all: Count, unit: &str) -> Self {
        let separator = if unit.is_empty() { "" } else { " " };
        self.shows(format!("{hits} of {all}{separator}{unit}")).holds(hits == all && all != Count::default())
    }

    /// With the 95 % confidence interval of our result.
    pub fn interval(mut self, interval: impl Into<String>) -> Self {
        self.interval = Some(interval.into());
        self
    }

    /// With a reason or a remark that depends on the result. Others are among the texts.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }

    /// With the text's note; these values fill its gaps.
    pub fn fill(self, values: &[&dyn Display]) -> Self {
        let note = texts::filled(texts::template(self.id), values);
        self.note(note)
    }

    /// With the note of this name among the texts.
    pub const fn noted(mut self, name: &'static str) -> Self {
        self.noted = Some(name);
        self
    }

    /// Whether the verdict differs from that in the committed ledger.
    pub fn changed(&self) -> bool {
        self.expected != Some(self.verdict)
    }

    /// Where the claim stands: the section, or that it is ours.
    pub fn place(&self) -> String {
        place(self.text.source, self.text.section.as_deref())
    }

    /// The verdict in tables, with the expected one where it differs.
    pub fn verdict_text(&self) -> String {
        let verdict = self.verdict.name_of(self.by_construction);
        match self.expected {
            Some(expected) if expected == self.verdict => match self.verdict {
                ClaimVerdict::Fails => format!("{verdict} (expected)"),
                _ => verdict.into(),
            },
            Some(expected) => format!("{verdict} (expected: {})", expected.name()),
            None => format!("{verdict} (not in the ledger)"),
        }
    }
}

/// Where a claim stands: the section, or that it is ours.
pub fn place(source: Source, section: Option<&str>) -> String {
    match (source, section) {
        (Source::Ours, None) => "ours".into(),
        (Source::Ours, Some(section)) => format!("ours ({section})"),
        (Source::Paper | Source::Rfc, section) => section.unwrap_or_default().into(),
    }
}

/// The width of the table of claims in characters; longer cells wrap.
const WIDTH: u16 = 160;

/// The claims as a table (verdict, id, section or `ours`, statement, our result), then the notes by id.
pub fn to_table(claims: &[Claim]) -> String {
    let mut table = plain_table();
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(WIDTH);
    table.set_header(["verdict", "id", "section", "claim", "our result"]);
    for claim in claims {
        table.add_row([claim.verdict_text().as_str(), claim.id, &claim.place(), &claim.text.statement, &claim.ours]);
    }
    let notes: String =
        claims.iter().filter_map(|c| c.note.as_ref().map(|note| format!("- {}: {note}\n", c.id))).collect();
    if notes.is_empty() { format!("{table}\n") } else { format!("{table}\n\n{notes}") }
}

/// Asserts that claims of an experiment have the verdicts of its committed ledger.
#[cfg(test)]
pub fn assert_known(paper: &str, experiment: &str, effort: crate::experiment::Effort, claims: &[Claim]) {
    println!("{}", to_table(claims));
    let ledger = crate::ledger::Ledger::committed(paper, effort).expect("a paper");
    let changed: Vec<String> = claims
        .iter()
        .filter(|claim| ledger.verdict(experiment, claim.id) != Some(claim.verdict))
        .map(|claim| format!("{}: {}", claim.id, claim.ours))
        .collect();
    assert!(changed.is_empty(), "{}", changed.join("\n"));
}

#[cfg(test)]
mod tests;
