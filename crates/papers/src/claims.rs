//! Claims of papers, each with how it is checked and its verdict.
//!
//! A claim that does not hold stays in the list as not holding, with the reason. The verdict a claim
//! is known to have is kept beside it, so that a change of verdict is noticed.

use comfy_table::ContentArrangement;
use recoup_table::plain_table;
use serde::Serialize;

/// Whether a claim holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Computed, and so.
    Holds,
    /// Computed, and not so.
    Fails,
}

impl Verdict {
    /// The verdict on a condition.
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

/// One statement of a paper, checked.
#[derive(Clone, Debug, Serialize)]
pub struct Claim {
    /// A short name.
    pub id: &'static str,
    /// Where in the paper.
    pub section: &'static str,
    /// What is claimed, in our words.
    pub statement: &'static str,
    /// How it is computed.
    pub check: &'static str,
    /// What came out.
    pub ours: String,
    /// Whether it holds.
    pub verdict: Verdict,
    /// The verdict it is known to have.
    pub known: Verdict,
    /// Why it fails, or what else must be said.
    pub note: Option<String>,
}

impl Claim {
    /// Whether the verdict is not the known one.
    pub fn changed(&self) -> bool {
        self.verdict != self.known
    }
}

/// A claim of this id, section, statement and check, with what came out, known to hold.
pub(crate) fn claim(
    id: &'static str,
    section: &'static str,
    statement: &'static str,
    check: &'static str,
    (ours, holds): (String, bool),
) -> Claim {
    let verdict = Verdict::on(holds);
    Claim {
        id,
        section,
        statement,
        check,
        ours,
        verdict,
        known: Verdict::Holds,
        note: None,
    }
}

/// Columns of a terminal that claims are fitted into: longer ones go on below.
const WIDTH: u16 = 160;

/// Claims as a table: verdict, id, place, statement, result, then the notes, by id.
pub fn to_table(claims: &[Claim]) -> String {
    let mut table = plain_table();
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(WIDTH);
    table.set_header(["verdict", "id", "section", "claim", "ours"]);
    for claim in claims {
        let verdict = claim.verdict.name();
        let verdict = match (claim.verdict, claim.known) {
            (Verdict::Holds, Verdict::Holds) => verdict.into(),
            (Verdict::Fails, Verdict::Fails) => format!("{verdict} (expected)"),
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

/// Every claim has the verdict it is known to have.
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
    fn a_row_tells_what_came_out_and_what_was_expected() {
        for (holds, known, cell) in [
            (true, Verdict::Holds, "holds"),
            (false, Verdict::Fails, "FAILS (expected)"),
            (false, Verdict::Holds, "FAILS (expected: holds)"),
            (true, Verdict::Fails, "holds (expected: FAILS)"),
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
