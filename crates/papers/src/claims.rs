//! Claims of papers. Each has a check and a verdict.
//!
//! A claim that does not hold stays in the list, with the reason. Each claim also has an expected
//! verdict, so that a changed verdict is noticed.

use comfy_table::ContentArrangement;
use recoup_table::plain_table;
use serde::Serialize;

/// Whether a claim holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimVerdict {
    /// The check confirms the claim.
    Holds,
    /// The check refutes the claim.
    Fails,
}

impl ClaimVerdict {
    /// `Holds` if the condition is true.
    pub fn on(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Fails }
    }

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "FAILS",
        }
    }
}

/// A checked statement of a paper.
#[derive(Clone, Debug, Serialize)]
pub struct Claim {
    /// A short name.
    pub id: &'static str,
    /// The section of the paper.
    pub section: &'static str,
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
}

/// A claim that is expected to hold, with our result and whether it confirms the claim.
pub(crate) fn claim(
    id: &'static str,
    section: &'static str,
    statement: &'static str,
    check: &'static str,
    (ours, holds): (String, bool),
) -> Claim {
    let verdict = ClaimVerdict::on(holds);
    Claim {
        id,
        section,
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

/// The width of the table of claims in characters; longer cells wrap.
const WIDTH: u16 = 160;

/// The claims as a table (verdict, id, section, statement, our result), then the notes by id.
pub fn to_table(claims: &[Claim]) -> String {
    let mut table = plain_table();
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(WIDTH);
    table.set_header(["verdict", "id", "section", "claim", "our result"]);
    for claim in claims {
        let verdict = claim.verdict.name();
        let verdict = match (claim.verdict, claim.known) {
            (ClaimVerdict::Holds, ClaimVerdict::Holds) => verdict.into(),
            (ClaimVerdict::Fails, ClaimVerdict::Fails) => format!("{verdict} (expected)"),
            (_, known) => format!("{verdict} (expected: {})", known.name()),
        };
        table.add_row([
            verdict.as_str(),
            claim.id,
            claim.section,
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
    for claim in claims {
        let Claim {
            id, ours, check, ..
        } = claim;
        assert!(!claim.changed(), "{id}: {ours} ({check})");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_shows_the_verdict_and_the_expected_one() {
        for (holds, known, cell) in [
            (true, ClaimVerdict::Holds, "holds"),
            (false, ClaimVerdict::Fails, "FAILS (expected)"),
            (false, ClaimVerdict::Holds, "FAILS (expected: holds)"),
            (true, ClaimVerdict::Fails, "holds (expected: FAILS)"),
        ] {
            let claim = Claim {
                known,
                note: Some("so it is".into()),
                ..claim("an-id", "3", "It holds", "how", ("ours".into(), holds))
            };
            let table = to_table(&[claim]);
            let row = table.lines().nth(2).expect("after the header and its line");
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            assert_eq!(cells[1..3], [cell, "an-id"], "{table}");
            assert!(table.ends_with("- an-id: so it is\n"), "{table}");
        }
    }
}
