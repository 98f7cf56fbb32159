//! Claims of papers. Each has a check and a verdict.
//!
//! A claim that does not hold stays in the list, with the reason. The committed ledger (module `ledger`) has the expected
//! verdict of each, so that a changed verdict is noticed. Each has a source: the paper, an RFC, or ourselves.

use comfy_table::ContentArrangement;
use recoup_support::stats::Estimate;
use recoup_table::plain_table;
use serde::{Deserialize, Serialize};

/// Whether a claim holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimVerdict {
    /// The check confirms the claim.
    Holds,
    /// The check refutes the claim.
    Fails,
    /// The data do not tell: the confidence interval of the difference on which the claim depends contains zero.
    Undecided,
}

impl ClaimVerdict {
    /// `Holds` if the condition is true.
    pub fn on(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Fails }
    }

    /// `Holds` if the whole interval lies above 0, `Fails` if it lies below.
    pub fn on_positive(difference: Estimate) -> Self {
        let Estimate { mean, half } = difference;
        if mean > half {
            Self::Holds
        } else if mean < -half {
            Self::Fails
        } else {
            Self::Undecided
        }
    }

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

/// Who makes a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The paper, in the section given.
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

/// A checked statement.
#[derive(Clone, Debug, Serialize)]
pub struct Claim {
    /// A short name.
    pub id: &'static str,
    /// Who makes it.
    pub source: Source,
    /// The section of the paper or of the RFC; `None` for our own claims about no section.
    pub section: Option<&'static str>,
    /// The claim in our words.
    pub statement: &'static str,
    /// How the claim is checked.
    pub check: &'static str,
    /// What the paper gives, in short: a number, a comparison.
    pub paper_says: Option<String>,
    /// Our result.
    pub ours: String,
    /// The 95 % confidence interval of our result.
    pub interval: Option<String>,
    /// The verdict from our result.
    pub verdict: ClaimVerdict,
    /// The verdict in the committed ledger; `None` if the claim is not there. `known` in JSON.
    #[serde(rename = "known")]
    pub expected: Option<ClaimVerdict>,
    /// Whether the claim follows from definitions or arithmetic, so that no run could refute it.
    pub by_construction: bool,
    /// Why the claim fails, or a remark.
    pub note: Option<String>,
}

impl Claim {
    /// Whether the verdict differs from that in the committed ledger.
    pub fn changed(&self) -> bool {
        self.expected != Some(self.verdict)
    }

    /// Where the claim stands: the section, or that it is ours.
    pub fn place(&self) -> String {
        place(self.source, self.section)
    }

    /// With what the paper gives: `22 % fewer`.
    pub(crate) fn paper(mut self, says: impl Into<String>) -> Self {
        self.paper_says = Some(says.into());
        self
    }

    /// With the 95 % confidence interval of our result.
    pub(crate) fn interval(mut self, interval: impl Into<String>) -> Self {
        self.interval = Some(interval.into());
        self
    }

    /// With a reason or a remark.
    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }

    /// With another verdict than the check's.
    pub(crate) const fn verdict(mut self, verdict: ClaimVerdict) -> Self {
        self.verdict = verdict;
        self
    }

    /// Follows from definitions or arithmetic.
    pub(crate) const fn by_construction(mut self) -> Self {
        self.by_construction = true;
        self
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
pub(crate) fn place(source: Source, section: Option<&str>) -> String {
    match (source, section) {
        (Source::Ours, None) => "ours".into(),
        (Source::Ours, Some(section)) => format!("ours ({section})"),
        (Source::Paper | Source::Rfc, section) => section.unwrap_or_default().into(),
    }
}

/// A claim of the paper, with our result and whether it confirms the claim.
pub(crate) fn claim(
    id: &'static str,
    section: impl Into<Option<&'static str>>,
    statement: &'static str,
    check: &'static str,
    (ours, holds): (String, bool),
) -> Claim {
    Claim {
        id,
        source: Source::Paper,
        section: section.into(),
        statement,
        check,
        paper_says: None,
        ours,
        interval: None,
        verdict: ClaimVerdict::on(holds),
        expected: None,
        by_construction: false,
        note: None,
    }
}

/// A claim with the reason why it does not hold, or with a remark.
pub(crate) fn noted(note: &str, claim: Claim) -> Claim {
    claim.note(note)
}

/// A claim that no paper makes.
pub(crate) fn ours(claim: Claim) -> Claim {
    let source = Source::Ours;
    Claim { source, ..claim }
}

/// A claim that an RFC makes.
pub(crate) fn of_rfc(claim: Claim) -> Claim {
    let source = Source::Rfc;
    Claim { source, ..claim }
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
        table.add_row([claim.verdict_text().as_str(), claim.id, &claim.place(), claim.statement, &claim.ours]);
    }
    let notes: String =
        claims.iter().filter_map(|c| c.note.as_ref().map(|note| format!("- {}: {note}\n", c.id))).collect();
    if notes.is_empty() { format!("{table}\n") } else { format!("{table}\n\n{notes}") }
}

/// Asserts that claims of an experiment have the verdicts of its committed ledger.
#[cfg(test)]
pub(crate) fn assert_known(paper: &str, experiment: &str, effort: crate::experiment::Effort, claims: &[Claim]) {
    println!("{}", to_table(claims));
    let ledger = crate::ledger::Ledger::committed(paper, effort).expect("a paper");
    let changed = claims.iter().filter(|claim| ledger.verdict(experiment, claim.id) != Some(claim.verdict));
    let changed: Vec<String> = changed.map(|claim| format!("{}: {} ({})", claim.id, claim.ours, claim.check)).collect();
    assert!(changed.is_empty(), "{}", changed.join("\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn a_claim(section: Option<&'static str>, holds: bool) -> Claim {
        let result = ("so much".into(), holds);
        claim("an-id", section, "It is less", "how", result)
    }

    /// The cells of the row of a claim.
    fn cells(claim: &Claim) -> Vec<String> {
        let table = to_table(std::slice::from_ref(claim));
        let row = table.lines().nth(2).expect("after the header and its line");
        row.split('|').map(|cell| cell.trim().to_string()).collect()
    }

    #[test]
    fn a_row_shows_whose_claim_it_is() {
        for (of, section, cell, source) in [
            ((|claim| claim) as fn(Claim) -> Claim, Some("3"), "3", "paper"),
            (of_rfc, Some("RFC 6937 §3"), "RFC 6937 §3", "rfc"),
            (ours, Some("3"), "ours (3)", "ours"),
            (ours, None, "ours", "ours"),
        ] {
            let claim = of(a_claim(section, true));
            assert_eq!(cells(&claim)[3], cell);
            let json = crate::to_value(&claim);
            assert_eq!(json["source"], source);
            assert_eq!(json["section"].as_str(), section);
        }
    }

    #[test]
    fn a_difference_whose_interval_contains_zero_decides_nothing() {
        use ClaimVerdict::{Fails, Holds, Undecided};
        for (mean, half, verdict) in
            [(2.0, 1.9, Holds), (-2.0, 1.9, Fails), (2.0, 2.0, Undecided), (-2.0, 3.0, Undecided)]
        {
            let difference = Estimate { mean, half };
            assert_eq!(ClaimVerdict::on_positive(difference), verdict);
        }
        assert_eq!(ClaimVerdict::all([Holds, Undecided, Holds]), Undecided);
        assert_eq!(ClaimVerdict::all([Fails, Undecided]), Fails);
        assert_eq!(ClaimVerdict::all([]), Holds);
    }

    #[test]
    fn a_row_shows_the_verdict_and_the_expected_one() {
        use ClaimVerdict::{Fails, Holds, Undecided};
        for (holds, expected, cell, changed) in [
            (true, Some(Holds), "holds", false),
            (false, Some(Fails), "FAILS (expected)", false),
            (false, Some(Holds), "FAILS (expected: holds)", true),
            (true, Some(Fails), "holds (expected: FAILS)", true),
            (true, Some(Undecided), "holds (expected: undecided)", true),
            (true, None, "holds (not in the ledger)", true),
        ] {
            let claim = Claim { expected, ..a_claim(Some("3"), holds).note("so it is") };
            assert_eq!(cells(&claim)[1..3], [cell, "an-id"]);
            assert_eq!(claim.changed(), changed);
            let table = to_table(&[claim]);
            assert!(table.ends_with("- an-id: so it is\n"), "{table}");
        }
        let claim = a_claim(None, true).by_construction();
        assert!(claim.verdict_text().starts_with("holds (by construction)"));
    }
}
