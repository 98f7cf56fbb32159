//! Test vectors (crates/recovery/vectors) against a program that has a mechanism of loss recovery.
//!
//! The program is told a case, then its steps one by one, and answers each with the values that the mechanism decides. Each is
//! a line of JSON (docs/conformance.md).

use super::{NotRun, Outcome};
use recoup_guest::Process;
use recoup_script::{Failure, NotApplicable, Report, Subject};
use recoup_units::visible;
use serde_json::{Map, Value, json};
use std::process::Command;

/// How far times may differ, in nanoseconds: estimators round differently.
const ROUNDING_NS: u64 = 20;

/// The fields of an answer to the line that begins a case.
const ANSWERS: [&str; 3] = ["name", "version", "lacks"];

/// A file of vectors, as far as the comparison needs it.
struct Vectors<'a> {
    mechanism: &'a str,
    given: &'a Value,
    expect: Vec<&'a str>,
    cases: &'a [Value],
}

impl<'a> Vectors<'a> {
    fn new(file: &'a Value) -> Option<Self> {
        (file.get("schema")?.as_str()? == "recoup.vectors" && file.get("version")? == 1).then_some(())?;
        let expect: Option<Vec<&str>> = file.get("expect")?.as_array()?.iter().map(Value::as_str).collect();
        Some(Self {
            mechanism: file.get("mechanism")?.as_str()?,
            given: file.get("given")?,
            expect: expect?,
            cases: file.get("cases")?.as_array()?,
        })
    }
}

/// Runs all cases of a file.
pub(super) fn run(name: &str, text: &str, start: impl Fn() -> Command) -> Vec<Outcome> {
    let outcome = |case: &str, result| Outcome { script: visible(&format!("{name}: {case}")).into_owned(), result };
    let refused =
        |why: String| vec![Outcome { script: visible(name).into_owned(), result: Err(NotRun::Unreadable(why)) }];
    let file: Value = match serde_json::from_str(text) {
        Ok(file) => file,
        Err(error) => return refused(format!("`{name}`: expected JSON: {error}")),
    };
    let Some(vectors) = Vectors::new(&file) else {
        return refused(format!("`{name}`: expected test vectors (`recoup.vectors`, version 1)"));
    };
    if let Err(failed) = Process::start(start()) {
        return refused(failed.0);
    }
    let run = |case: &Value| {
        let called = case.get("name").and_then(Value::as_str).unwrap_or("a case without a name");
        let report = run_case(&vectors, case, start());
        outcome(called, report.map_err(|why| NotRun::Unreadable(format!("`{name}`: {called}: {why}"))))
    };
    vectors.cases.iter().map(run).collect()
}

fn run_case(vectors: &Vectors<'_>, case: &Value, command: Command) -> Result<Report, String> {
    let steps = case.get("steps").and_then(Value::as_array).ok_or("no `steps`")?;
    let begin = json!({
        "recoup-vectors": 1,
        "mechanism": vectors.mechanism,
        "given": vectors.given,
        "expect": vectors.expect,
        "case": case.get("name"),
        "settings": case.get("settings"),
    });
    let mut process = Process::start(command).map_err(|failed| failed.0)?;
    let answer: Map<String, Value> = match process.ask(&begin, &ANSWERS) {
        Ok(answer) => answer,
        Err(failed) => return Ok(report(Some(broken(0, &begin, failed.0)), None)),
    };
    if let Some(lacks) = answer.get("lacks").and_then(Value::as_str) {
        return Ok(report(None, Some(NotApplicable { line: 0, reason: lacks.to_owned() })));
    }
    for (number, step) in (1..).zip(steps) {
        let mut question = step.clone();
        let expected = question.as_object_mut().and_then(|step| step.remove("expect")).unwrap_or_default();
        let answer: Map<String, Value> = match process.ask(&question, &vectors.expect) {
            Ok(answer) => answer,
            Err(failed) => return Ok(report(Some(broken(number, &question, failed.0)), None)),
        };
        let found = differences(&vectors.expect, &expected, &answer);
        if !found.is_empty() {
            let (expected, actual) = (expected.to_string(), Value::Object(answer).to_string());
            let details = format!("{number:>6} | {question}\nexpected {expected}\n  actual {actual}\n");
            return Ok(report(Some(Failure { line: number, message: found.join("; "), details }), None));
        }
    }
    Ok(report(None, None))
}

fn broken(line: usize, question: &Value, message: String) -> Failure {
    Failure { line, message, details: format!("{line:>6} | {question}\n") }
}

fn report(failure: Option<Failure>, not_applicable: Option<NotApplicable>) -> Report {
    Report {
        subject: Subject::Guest(None),
        claim: None,
        failure,
        not_applicable,
        trace: Vec::new(),
        printed: Vec::new(),
        notes: Vec::new(),
    }
}

/// What the mechanism decided otherwise, or did not say.
fn differences(names: &[&str], expected: &Value, answer: &Map<String, Value>) -> Vec<String> {
    let mut found = Vec::new();
    for name in names {
        let Some(expected) = expected.get(name) else { continue };
        match answer.get(*name) {
            None => found.push(format!("no `{name}` in the answer")),
            Some(actual) if same(name, expected, actual) => {}
            Some(actual) => found.push(format!("{name} is {actual} instead of {expected}")),
        }
    }
    found
}

fn same(name: &str, expected: &Value, actual: &Value) -> bool {
    match (expected.as_u64(), actual.as_u64()) {
        (Some(expected), Some(actual)) if name.ends_with("_ns") => expected.abs_diff(actual) <= ROUNDING_NS,
        _ => expected == actual,
    }
}
