//! Claims of papers. Each has a check and a verdict.
//!
//! A claim that does not hold stays in the list, with the reason. Each claim also has an expected
//! verdict, so that a changed verdict is noticed. Each has a source: the paper, an RFC, or ourselves.

use comfy_table::ContentArrangement;
use recoup_lab::stats::Estimate;
use recoup_table::plain_table;
use serde::Serialize;

/// Whether a claim holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimVerdict {
    /// The check confirms the claim.
    Holds,
    /// The claim holds only because two quantities are equal, such as the times of two events.
    Tie,
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
            (Self::Tie, _) | (_, Self::Tie) => Self::Tie,
            (Self::Holds, Self::Holds) => Self::Holds,
        };
        parts.into_iter().fold(Self::Holds, worse)
    }

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Tie => "holds (tie)",
            Self::Fails => "FAILS",
            Self::Undecided => "undecided",
        }
    }
}

/// Who makes a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The paper, in the section given.
    Paper,
    /// An RFC, in the section given.
    Rfc,
    /// We make it, and no paper does. The section, if any, is the one from which it follows or which it makes precise.
    Ours,
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
    /// Our result.
    pub ours: String,
    /// The verdict from our result.
    pub verdict: ClaimVerdict,
    /// The expected verdict.
    pub known: ClaimVerdict,
    /// Why the claim fails, or a remark.
    pub note: Option<String>,
}

impl Claim {
    /// Whether the verdict differs from the expected one.
    pub fn changed(&self) -> bool {
        self.verdict != self.known
    }

    /// Where the claim stands: the section, or that it is ours.
    fn place(&self) -> String {
        match (self.source, self.section) {
            (Source::Ours, None) => "ours".into(),
            (Source::Ours, Some(section)) => format!("ours ({section})"),
            (Source::Paper | Source::Rfc, section) => section.unwrap_or_default().into(),
        }
    }
}

/// A claim of the paper that is expected to hold, with our result and whether it confirms the claim.
pub(crate) fn claim(
    id: &'static str,
    section: impl Into<Option<&'static str>>,
    statement: &'static str,
    check: &'static str,
    (ours, holds): (String, bool),
) -> Claim {
    let verdict = ClaimVerdict::on(holds);
    Claim {
        id,
        source: Source::Paper,
        section: section.into(),
        statement,
        check,
        ours,
        verdict,
        known: ClaimVerdict::Holds,
        note: None,
    }
}

/// A claim that is known not to hold, with the reason.
pub(crate) fn failing(note: &str, claim: Claim) -> Claim {
    Claim {
        known: ClaimVerdict::Fails,
        note: Some(note.into()),
        ..claim
    }
}

/// A claim that is known not to be decided by our data, with the reason.
pub(crate) fn undecided(note: &str, claim: Claim) -> Claim {
    Claim {
        known: ClaimVerdict::Undecided,
        note: Some(note.into()),
        ..claim
    }
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

/// A claim that is known to hold by a tie. `equal`: the two quantities on which it depends are equal.
pub(crate) fn tied(equal: bool, claim: Claim) -> Claim {
    let verdict = match claim.verdict {
        ClaimVerdict::Holds if equal => ClaimVerdict::Tie,
        verdict => verdict,
    };
    let known = ClaimVerdict::Tie;
    Claim {
        verdict,
        known,
        ..claim
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
        let verdict = claim.verdict.name();
        let verdict = match (claim.verdict, claim.known) {
            (ClaimVerdict::Fails, ClaimVerdict::Fails) => format!("{verdict} (expected)"),
            (one, known) if one == known => verdict.into(),
            (_, known) => format!("{verdict} (expected: {})", known.name()),
        };
        table.add_row([
            verdict.as_str(),
            claim.id,
            &claim.place(),
            claim.statement,
            &claim.ours,
        ]);
    }
    let notes: String = claims
        .iter()
        .filter_map(|c| c.note.as_ref().map(|note| format!("- {}: {note}\n", c.id)))
        .collect();
    if notes.is_empty() {
        format!("{table}\n")
    } else {
        format!("{table}\n\n{notes}")
    }
}

/// Asserts that every claim has the expected verdict.
#[cfg(test)]
pub(crate) fn assert_known(claims: &[Claim]) {
    println!("{}", to_table(claims));
    let changed = claims.iter().filter(|claim| claim.changed());
    let changed: Vec<String> = changed
        .map(|claim| format!("{}: {} ({})", claim.id, claim.ours, claim.check))
        .collect();
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
            (
                (|claim| claim) as fn(Claim) -> Claim,
                Some("3"),
                "3",
                "paper",
            ),
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
    fn equal_quantities_are_a_tie_and_no_change() {
        for (holds, equal, cell, changed) in [
            (true, true, "holds (tie)", false),
            (true, false, "holds (expected: holds (tie))", true),
            (false, true, "FAILS (expected: holds (tie))", true),
        ] {
            let claim = tied(equal, a_claim(Some("3"), holds));
            assert_eq!(cells(&claim)[1], cell);
            assert_eq!(claim.changed(), changed, "{cell}");
        }
    }

    #[test]
    fn a_difference_whose_interval_contains_zero_decides_nothing() {
        use ClaimVerdict::{Fails, Holds, Undecided};
        for (mean, half, verdict) in [
            (2.0, 1.9, Holds),
            (-2.0, 1.9, Fails),
            (2.0, 2.0, Undecided),
            (-2.0, 3.0, Undecided),
        ] {
            let difference = Estimate { mean, half };
            assert_eq!(ClaimVerdict::on_positive(difference), verdict);
        }
        assert_eq!(ClaimVerdict::all([Holds, Undecided, Holds]), Undecided);
        assert_eq!(ClaimVerdict::all([Fails, Undecided]), Fails);
        assert_eq!(ClaimVerdict::all([]), Holds);
    }

    #[test]
    fn a_row_shows_the_verdict_and_the_expected_one() {
        for (holds, known, cell) in [
            (true, ClaimVerdict::Holds, "holds"),
            (false, ClaimVerdict::Fails, "FAILS (expected)"),
            (false, ClaimVerdict::Holds, "FAILS (expected: holds)"),
            (true, ClaimVerdict::Fails, "holds (expected: FAILS)"),
            (true, ClaimVerdict::Tie, "holds (expected: holds (tie))"),
        ] {
            let claim = Claim {
                known,
                note: Some("so it is".into()),
                ..a_claim(Some("3"), holds)
            };
            assert_eq!(cells(&claim)[1..3], [cell, "an-id"]);
            let table = to_table(&[claim]);
            assert!(table.ends_with("- an-id: so it is\n"), "{table}");
        }
    }
}
