//! Compares this analysis with other tools on the same captures.

use crate::accuracy::kernel;
use crate::accuracy::score::{Claim, Row, Score};
use crate::accuracy::simulated::{self, analyze_file};
use crate::accuracy::tools::{tcptrace, tshark, tstat};
use crate::accuracy::truth::{Carries, Sent};
use recoup_tcp::flow::Host;
use recoup_testing::skip;
use recoup_trace::finding::Verdict;
use std::path::Path;

const HEADER: [&str; 11] = [
    "captures",
    "tool",
    "true retransmissions",
    "found",
    "missed",
    "invented",
    "trigger right",
    "trigger wrong",
    "spurious among found",
    "called spurious, rightly",
    "called spurious, wrongly",
];

/// A capture, the host that captured it, and the packets that were really sent.
struct TestCapture<'a> {
    capture: &'a Path,
    at: Host,
    sent: &'a [Sent],
}

type Tool = (&'static str, fn(&Path) -> Option<Vec<Claim>>);

/// The tools in the order of the table.
const TOOLS: [Tool; 4] = [
    ("recoup", |capture| Some(analyze_file(capture, None).iter().map(Claim::from).collect())),
    ("tshark", tshark),
    ("tcptrace", tcptrace),
    ("rules like Tstat's", |capture| Some(tstat(capture))),
];

/// The score of each tool on the data sent by the capturing hosts. `None` if a tool is not installed.
fn score_tools(captures: &[TestCapture<'_>]) -> Vec<(&'static str, Option<Score>)> {
    let of = |claims: fn(&Path) -> Option<Vec<Claim>>| {
        let mut score = Score::default();
        for one in captures {
            score.add("", one.sent, &claims(one.capture)?, one.at, true);
        }
        Some(score)
    };
    TOOLS.into_iter().map(|(name, claims)| (name, of(claims))).collect()
}

fn cells(row: &Row) -> [u64; 9] {
    let verdict = |is, called| row.verdicts.get(&(is, Some(called))).copied().unwrap_or(0);
    let spurious = |(is, _): &&(Verdict, Option<Verdict>)| *is == Verdict::Spurious;
    let all_spurious = row.verdicts.keys().filter(spurious).map(|key| row.verdicts[key]).sum();
    let unnamed = |((_, called), _): &(&(String, String), &u64)| called == "unknown";
    let unnamed: u64 = row.triggers.iter().filter(unnamed).map(|(_, n)| n).sum();
    [
        row.actual,
        row.found,
        row.actual - row.found,
        row.invented,
        row.triggers_right,
        row.triggers_known - row.triggers_right - unnamed,
        all_spurious,
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

/// Prints the table of docs/accuracy.md. No other tool is better in any column.
#[test]
fn no_other_tool_is_more_accurate() {
    let simulated = simulated::some_runs();
    let kernel = kernel::a_run();
    let hosts = [Host::Client, Host::Server];
    let paths: Vec<_> = simulated.iter().flat_map(|run| hosts.map(|at| (run.capture(at), at, &run.sent))).collect();
    let kernel_paths: Vec<_> = kernel.iter().flat_map(|run| hosts.map(|at| (run.capture(at), at, &run.sent))).collect();
    let mut details = Vec::new();
    println!("| {} |\n|{}", HEADER.join(" | "), " --- |".repeat(HEADER.len()));
    for (name, paths) in [("simulated", &paths), ("kernel", &kernel_paths)] {
        let test_captures: Vec<_> =
            paths.iter().map(|(capture, at, sent)| TestCapture { capture, at: *at, sent }).collect();
        if test_captures.is_empty() {
            continue;
        }
        let scores = score_tools(&test_captures);
        print(name, &scores);
        details.extend(scores.iter().filter_map(|(tool, score)| {
            let row = score.as_ref()?.row(Carries::Data);
            Some(format!("{name}, {tool}: {row}"))
        }));
        // Real traffic differs from run to run, so 1 % of the verdicts may be wrong, as in the kernel's test.
        check(&scores, if name == "kernel" { 100 } else { 0 });
    }
    println!("\n{}", details.concat());
}

/// Our analysis may call one in `one_in` needed retransmissions spurious; none if `one_in` is 0.
fn check(scores: &[(&'static str, Option<Score>)], one_in: u64) {
    let figures = |score: &Score| cells(score.row(Carries::Data));
    let (_, Some(ours)) = &scores[0] else {
        panic!("our analysis always has a score");
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
            assert!(ours[more_is_better] >= theirs[more_is_better], "{tool}, {name}");
        }
        for less_is_better in [2, 3] {
            let name = HEADER[less_is_better + 2];
            assert!(ours[less_is_better] <= theirs[less_is_better], "{tool}, {name}");
        }
        let tolerated = ours[1].checked_div(one_in).unwrap_or_default();
        assert!(ours[8] <= theirs[8] + tolerated, "{tool}, {}", HEADER[10]);
    }
}
