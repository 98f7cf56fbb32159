//! The list of experiments, the ledger of claims, the report, and mutations.

use crate::{folder, recoup};
use serde_json::Value;

/// The papers, each with an experiment.
const PAPERS: [(&str, &str); 4] =
    [("tail-loss", "fig3"), ("prr", "properties"), ("slp", "table1"), ("loss-detection", "fig5b")];

#[test]
fn without_a_paper_every_experiment_is_listed() {
    let list = recoup(&[]).printed();
    for (paper, experiment) in PAPERS {
        assert!(list.contains(&format!("\n{paper}: ")) || list.starts_with(paper), "{list}");
        assert!(list.contains(&format!("\n| {experiment} ")), "{experiment}\n{list}");
    }
    // The verdicts are those of the ledger; one figure has no claims.
    assert_eq!(list.matches("| none ").count(), 1, "{list}");
    assert!(list.matches(" hold, ").count() > 40, "{list}");
    for row in list.lines().filter(|line| line.starts_with("| ")) {
        assert!(row.chars().count() <= 200, "{row}");
    }
    assert!(list.contains("with --quick"), "{list}");
}

#[test]
fn a_folder_that_cannot_be_written_is_refused_before_the_work() {
    let dir = folder();
    dir.write("file", "kept");
    let before = dir.files();
    for args in [&["all", "--out", "file"][..], &["prr", "web", "--users", "5000000", "--out", "file"]] {
        let outcome = dir.run(&[&[], args].concat());
        assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(2), ""));
        let line = "recoup: cannot write `file`: not a folder\n";
        assert_eq!(outcome.stderr, line);
        assert_eq!(dir.files(), before);
    }
}

#[test]
fn files_come_with_the_ledger_of_their_claims() {
    let dir = folder();
    let outcome = dir.run(&["slp", "arbitrator", "--quick", "--out", "out"]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let ledger: Value = serde_json::from_str(&dir.read("out/ledger.json")).expect("JSON");
    assert_eq!(
        [&ledger["schema"], &ledger["version"], &ledger["effort"]],
        [&"recoup.ledger".into(), &1.into(), &Value::from("quick")]
    );
    let claims = ledger["claims"].as_array().expect("claims");
    assert!(!claims.is_empty());
    for claim in claims {
        assert_eq!(claim["paper"], "slp");
        assert_eq!(claim["experiment"], "arbitrator");
        assert_eq!(claim["command"], "recoup paper slp arbitrator --quick");
        for name in ["id", "statement", "check", "ours", "verdict"] {
            assert!(claim[name].as_str().is_some_and(|text| !text.is_empty()), "{claim}");
        }
    }
}

#[test]
fn a_list_names_what_each_paper_takes_and_its_claims() {
    assert_eq!(recoup(&["list"]).printed(), recoup(&[]).printed());
    let prr = recoup(&["list", "prr"]).printed();
    assert!(prr.starts_with("prr: ") && !prr.contains("tail-loss: "), "{prr}");
    let takes = prr.lines().nth(1).expect("a line of options");
    let options = ["--set KEY=VALUE", "--users N", "--quick,", "--mutate NAME", "--out DIR", "--format FORMAT"];
    assert!(takes.starts_with("recoup paper prr [EXPERIMENT]… takes "), "{takes}");
    assert!(options.iter().all(|option| takes.contains(option)), "{takes}");
    assert!(!takes.contains("--on") && !takes.contains("--help") && !takes.contains("--update-ledger"), "{takes}");
    let claims = recoup(&["list", "--claims"]).printed();
    let rows = claims.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| experiment "));
    let rows: Vec<&str> = rows.collect();
    let counted = recoup(&["list"]).printed();
    let counted = counted.split(|c: char| !c.is_ascii_digit() && !c.is_ascii_alphabetic()).collect::<Vec<_>>();
    let verdicts = counted.windows(2).filter(|two| ["hold", "fail", "undecided"].contains(&two[1]));
    let sum: usize = verdicts.map(|two| two[0].parse::<usize>().unwrap_or(0)).sum();
    assert_eq!(rows.len(), sum, "{claims}");
    crate::assert_fits(&claims);
    let wrong = recoup(&["list", "pr"]);
    assert_eq!(wrong.status, Some(2));
}

#[test]
fn mutations_are_listed_and_one_turns_its_claims() {
    let list = recoup(&["mutations", "--list", "tail-loss"]).printed();
    let rows: Vec<Vec<&str>> = list
        .lines()
        .filter(|line| line.starts_with("| tail-loss fig1 --mutate "))
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    assert!(!rows.is_empty(), "{list}");
    assert!(!list.contains("slp"), "{list}");
    for row in rows {
        let command = format!("{} --quick", row[1]);
        let outcome = recoup(&command.split(' ').collect::<Vec<_>>());
        assert_eq!(outcome.status, Some(1), "{command}");
        for id in row[3].split(", ") {
            assert!(outcome.stderr.contains(&format!("fig1 {id}")), "{id}: {}", outcome.stderr);
        }
    }
}

#[test]
fn wrong_mutations_are_refused() {
    for (args, expected) in [
        (
            &["tail-loss", "fig1", "--mutate", "none-such"][..],
            "--mutate none-such: no mutation of tail-loss fig1: expected one of ",
        ),
        (&["tail-loss", "--mutate", "none-such"], "--mutate: name the one figure to break"),
        (&["mutations", "tail-los"], "invalid value 'tail-los'"),
        (&["all", "--format", "csv"], "invalid value 'csv'"),
    ] {
        let outcome = recoup(&[&[], args].concat());
        assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(2), ""), "{args:?}");
        let line = format!("recoup: {expected}");
        assert!(outcome.stderr.starts_with(&line), "{}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
    }
}
