//! The JSON documents have the fields listed for their versions.

use crate::folder;
use recoup_testing::{Fields, check_fields};

#[test]
fn a_figure_of_a_paper_has_the_fields_of_its_version() {
    for (paper, figure) in [("slp", "arbitrator"), ("prr", "fig2"), ("tail-loss", "fig2")] {
        let document = folder().run(&[paper, figure, "--format", "json"]).json();
        check_fields(&document, &format!(".{paper}-{figure}"), Fields::new());
    }
}

#[test]
fn a_ledger_has_the_fields_of_its_version() {
    let folder = folder();
    let outcome = folder.run(&["slp", "arbitrator", "--out", "out"]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let document = serde_json::from_str(&folder.read("out/ledger.json")).expect("JSON");
    check_fields(&document, "", Fields::new());
}
