//! The same captures through this analysis and through other tools, in one table.

use crate::accuracy::kernel;
use crate::accuracy::score::{Claim, Row, Score};
use crate::accuracy::simulated::{self, analyze_file};
use crate::accuracy::tools::{tcptrace, tshark, tstat};
use crate::accuracy::truth::{Carries, Sent};
use recoup_skip::skip;
use recoup_tcp::flow::Host;
use recoup_trace::finding::Verdict;
use std::path::Path;

const HEADER: [&str; 11] = [
    "captures",
    "tool",
    "there",
    "found",
    "missed",
    "invented",
    "trigger right",
    "trigger wrong",
    "spurious",
    "of them told",
    "called so wrongly",
];

/// A capture, where it was made, and the truth about what is in it.
struct Judged<'a> {
    capture: &'a Path,
    at: Host,
    sent: &'a [Sent],
}

type Tool = (&'static str, fn(&Path) -> Option<Vec<Claim>>);

/// In the order of the table.
const TOOLS: [Tool; 4] = [
    ("recoup", |capture| {
        Some(
            analyze_file(capture, None)
                .iter()
                .map(Claim::from)
                .collect(),
        )
    }),
    ("tshark", tshark),
    ("tcptrace", tcptrace),
    ("rules like Tstat's", |capture| Some(tstat(capture))),
];

/// What the tools say of the data their captures' hosts sent; `None` for a tool that is not there.
fn judge(captures: &[Judged<'_>]) -> Vec<(&'static str, Option<Score>)> {
    let of = |claims: fn(&Path) -> Option<Vec<Claim>>| {
        let mut score = Score::default();
        for one in captures {
            score.add("", one.sent, &claims(one.capture)?, one.at, true);
        }
        Some(score)
    };
    TOOLS
        .into_iter()
        .map(|(name, claims)| (name, of(claims)))
        .collect()
}

fn cells(row: &Row) -> [u64; 9] {
    let verdict = |is, called| row.verdicts.get(&(is, Some(called))).copied().unwrap_or(0);
    let spurious = |(is, _): &&(Verdict, Option<Verdict>)| *is == Verdict::Spurious;
    let there = row
        .verdicts
        .keys()
        .filter(spurious)
        .map(|key| row.verdicts[key])
        .sum();
    let untold = |((_, called), _): &(&(String, String), &u64)| called == "unknown";
    let untold: u64 = row.triggers.iter().filter(untold).map(|(_, n)| n).sum();
    [
        row.there,
        row.found,
        row.there - row.found,
        row.invented,
        row.triggers_right,
        row.triggers_known - row.triggers_right - untold,
        there,
        verdict(Verdict::Spurious, Verdict::Spurious),
        verdict(Verdict::Needed, Verdict::Spurious),
    ]
}

fn print(name: &str, scores: &[(&'static str, Option<Score>)]) {
    for (tool, score) in scores {
        let Some(score) = score else {
            println!("| {name} | {tool} | not installed |");
            continue;
        };
        let cells = cells(score.row(Carries::Data)).map(|cell| cell.to_string());
        println!("| {name} | {tool} | {} |", cells.join(" | "));
    }
}

/// Prints the table of docs/accuracy.md. No other tool is better at anything.
#[test]
fn beside_other_tools() {
    let simulated = simulated::some_runs();
    let kernel = kernel::a_run();
    let hosts = [Host::Client, Host::Server];
    let paths: Vec<_> = simulated
        .iter()
        .flat_map(|run| hosts.map(|at| (run.capture(at), at, &run.sent)))
        .collect();
    let kernel_paths: Vec<_> = kernel
        .iter()
        .flat_map(|run| hosts.map(|at| (run.capture(at), at, &run.sent)))
        .collect();
    let mut details = Vec::new();
    println!(
        "| {} |\n|{}",
        HEADER.join(" | "),
        " --- |".repeat(HEADER.len())
    );
    for (name, paths) in [("simulated", &paths), ("kernel", &kernel_paths)] {
        let judged: Vec<_> = paths
            .iter()
            .map(|(capture, at, sent)| Judged {
                capture,
                at: *at,
                sent,
            })
            .collect();
        if judged.is_empty() {
            continue;
        }
        let scores = judge(&judged);
        print(name, &scores);
        details.extend(scores.iter().filter_map(|(tool, score)| {
            let row = score.as_ref()?.row(Carries::Data);
            Some(format!("{name}, {tool}: {row}"))
        }));
        // Live traffic is never the same twice: as many mistakes as the kernel's own test allows.
        check(&scores, if name == "kernel" { 100 } else { 0 });
    }
    println!("\n{}", details.concat());
}

/// `one_in`: of so many found one may be called spurious wrongly, by whom calls any spurious at all.
fn check(scores: &[(&'static str, Option<Score>)], one_in: u64) {
    let figures = |score: &Score| cells(score.row(Carries::Data));
    let (_, Some(ours)) = &scores[0] else {
        panic!("ours is always there");
    };
    let ours = figures(ours);
    for (tool, score) in scores {
        let Some(score) = score else {
            skip(format!("{tool} is not installed"));
            continue;
        };
        let theirs = figures(score);
        for more_is_better in [1, 4, 7] {
            let name = HEADER[more_is_better + 2];
            assert!(
                ours[more_is_better] >= theirs[more_is_better],
                "{tool}, {name}"
            );
        }
        for less_is_better in [2, 3] {
            let name = HEADER[less_is_better + 2];
            assert!(
                ours[less_is_better] <= theirs[less_is_better],
                "{tool}, {name}"
            );
        }
        let may_err = ours[1].checked_div(one_in).unwrap_or_default();
        assert!(ours[8] <= theirs[8] + may_err, "{tool}, {}", HEADER[10]);
    }
}
