use super::*;
use crate::texts::NO_TEXT;
use ClaimVerdict::{Fails, Holds, Undecided};

fn a_claim(source: Source, section: Option<&str>, holds: bool) -> Claim {
    let text = Text { source, section: section.map(Into::into), statement: "It is less".into(), ..NO_TEXT };
    Claim { text: Box::leak(Box::new(text)), ..claim("an-id").shows("so much").holds(holds) }
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
        (Source::Paper, Some("3"), "3", "paper"),
        (Source::Rfc, Some("RFC 6937 §3"), "RFC 6937 §3", "rfc"),
        (Source::Ours, Some("3"), "ours (3)", "ours"),
        (Source::Ours, None, "ours", "ours"),
    ] {
        let claim = a_claim(of, section, true);
        assert_eq!(cells(&claim)[3], cell);
        let json = crate::to_value(&claim);
        assert_eq!(json["source"], source);
        assert_eq!(json["section"].as_str(), section);
    }
}

#[test]
fn an_interval_that_contains_the_bound_decides_nothing() {
    for (mean, half, verdict) in [(2.0, 1.9, Holds), (-2.0, 1.9, Fails), (2.0, 2.0, Undecided), (-2.0, 3.0, Undecided)]
    {
        let difference = Estimate { mean, half };
        assert_eq!(difference.above(0.0), verdict);
        assert_eq!(Estimate { mean: -mean, half }.below(0.0), verdict);
        assert_eq!(Estimate { mean: mean + 7.0, half }.above(7.0), verdict);
    }
    let (few, many) = (Share::of(10, 100), Share::of(60, 100));
    assert_eq!([many.above(few), few.above(many), few.above(0.1)], [Holds, Fails, Undecided]);
    assert_eq!([few.within(0.0..0.5), many.within(0.0..0.3), many.within(0.55..0.9)], [Holds, Fails, Undecided]);
    assert_eq!(ClaimVerdict::all([Holds, Undecided, Holds]), Undecided);
    assert_eq!(ClaimVerdict::all([Fails, Undecided]), Fails);
    assert_eq!(ClaimVerdict::all([]), Holds);
}

#[test]
fn a_size_is_the_papers_within_a_factor_of_two() {
    for (mean, half, paper, verdict) in [
        (-4.0, 1.0, -4.7, Holds),
        (-1.0, 0.5, -4.7, Fails),
        (-2.0, 0.5, -4.7, Undecided),
        (-3.0, 0.5, -4.7, Holds),
        (-2.0, 2.5, -4.7, Undecided),
        (4.0, 1.0, -4.7, Fails),
        (12.0, 1.0, 4.7, Fails),
        (0.0, 0.0, 4.7, Fails),
        (0.0, f64::INFINITY, 4.7, Undecided),
    ] {
        assert_eq!(Estimate { mean, half }.sized(paper), verdict, "{mean} {half}");
    }
}

#[test]
fn all_conditions_must_hold() {
    let verdict = |claim: Claim| claim.verdict;
    assert_eq!(verdict(claim("an-id").shows("so much")), Undecided);
    assert_eq!(verdict(claim("an-id").holds(true).needs(Undecided)), Undecided);
    assert_eq!(verdict(claim("an-id").holds(false).holds(true)), Fails);
    assert_eq!(verdict(claim("an-id").every(3, 3, "flows")), Holds);
    assert_eq!(verdict(claim("an-id").every(0, 0, "flows")), Fails);
    assert_eq!(claim("an-id").every(2, 3, "flows").ours, "2 of 3 flows");
}

#[test]
fn a_row_shows_the_verdict_and_the_expected_one() {
    for (holds, expected, cell, changed) in [
        (true, Some(Holds), "holds", false),
        (false, Some(Fails), "FAILS (expected)", false),
        (false, Some(Holds), "FAILS (expected: holds)", true),
        (true, Some(Fails), "holds (expected: FAILS)", true),
        (true, Some(Undecided), "holds (expected: undecided)", true),
        (true, None, "holds (not in the ledger)", true),
    ] {
        let claim = Claim { expected, ..a_claim(Source::Paper, Some("3"), holds).note("so it is") };
        assert_eq!(cells(&claim)[1..3], [cell, "an-id"]);
        assert_eq!(claim.changed(), changed);
        let table = to_table(&[claim]);
        assert!(table.ends_with("- an-id: so it is\n"), "{table}");
    }
    let claim = Claim { by_construction: true, ..a_claim(Source::Ours, None, true) };
    assert!(claim.verdict_text().starts_with("holds (by construction)"));
}
