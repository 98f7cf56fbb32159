//! Every built-in script for other stacks passes against our own, which it sees as any other: as a guest.

use libtest_mimic::{Arguments, Failed, Trial};
use recoup_guest::{Guest, Setup};
use recoup_script::{CONFORMANCE, Script};
use recoup_stack::guest::OneConnection;
use std::{collections::BTreeSet, path::Path, process::ExitCode};

/// Where our stack, which is as Linux is, does what a script's sentence advises against, or what does not apply to it.
const NOT_PASSED: [(&str, &str); 2] = [
    ("the-rto-is-at-least-one-second", "Linux's RTO is 200 ms above the SRTT at least"),
    ("both-sides-may-open-at-once", "our endpoints have no simultaneous open"),
];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let scripts = CONFORMANCE.iter().map(|(name, text)| Trial::test(*name, || run(name, text)));
    let mut trials: Vec<Trial> = scripts.collect();
    trials.push(Trial::test("the list has the files of the folder", list_is_complete));
    trials.push(Trial::test("docs/conformance.md lists the scripts", page_is_complete));
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn run(name: &str, text: &str) -> Result<(), Failed> {
    let script = Script::parse(name, text)?;
    let claim = script.claim().ok_or("no `// rfc:`")?;
    if claim.says.is_empty() {
        return Err("no `// says:`".into());
    }
    for seed in 1..=2 {
        let mut make = |setup: &Setup| Ok(Box::new(OneConnection::new(setup)?) as Box<dyn Guest>);
        let report = script.run_guest(&mut make, seed)?;
        let known = NOT_PASSED.iter().find(|(known, _)| *known == name);
        match (known, &report.failure, &report.not_applicable) {
            (None, None, None) | (Some(_), Some(_), _) | (Some(_), _, Some(_)) => {}
            (Some((_, why)), None, None) => return Err(format!("passes, although {why}").into()),
            (None, Some(failure), _) => {
                let trace = report.trace.join("\n");
                return Err(format!("{name}:{}: {}\n{}{trace}", failure.line, failure.message, failure.details).into());
            }
            (None, None, Some(why)) => return Err(format!("not applicable: {}", why.reason).into()),
        }
        if let Some(note) = report.notes.first() {
            return Err(format!("{name}:{}: {}", note.line, note.text).into());
        }
    }
    Ok(())
}

fn list_is_complete() -> Result<(), Failed> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance");
    let mut files = BTreeSet::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        files.insert(path.file_stem().unwrap_or_default().to_string_lossy().into_owned());
    }
    let listed: BTreeSet<String> = CONFORMANCE.iter().map(|(name, _)| (*name).to_owned()).collect();
    match files == listed {
        true => Ok(()),
        false => Err(format!("differ: {:?}", files.symmetric_difference(&listed)).into()),
    }
}

/// Compares the list in the page with the scripts, or writes it if the environment asks for that.
fn page_is_complete() -> Result<(), Failed> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/conformance.md");
    let page = std::fs::read_to_string(&path)?;
    let (begin, end) = ("--test conformance -->\n", "<!-- end -->\n");
    let (before, rest) = page.split_once(begin).ok_or("no list in docs/conformance.md")?;
    let (listed, after) = rest.split_once(end).ok_or("the list in docs/conformance.md has no end")?;
    let mut rows = String::from("| script | RFC | level |\n| --- | --- | --- |\n");
    for (name, text) in CONFORMANCE {
        let script = Script::parse(name, text)?;
        let claim = script.claim().ok_or("no `// rfc:`")?;
        rows += &format!("| `{name}` | {} | {} |\n", claim.rfc, claim.level.name());
    }
    if std::env::var_os("RECOUP_UPDATE_CONFORMANCE").is_some() {
        std::fs::write(&path, format!("{before}{begin}{rows}{end}{after}"))?;
    } else if listed != rows {
        return Err("the list in docs/conformance.md is old; run with RECOUP_UPDATE_CONFORMANCE=1".into());
    }
    Ok(())
}
