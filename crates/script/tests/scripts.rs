//! Every script in `tests/scripts` is a test. Each file tests one claim, which is its name.
//!
//! A script must name its profile, and every part of it must have an effect. Otherwise it would claim more
//! than it tests.

use libtest_mimic::{Arguments, Failed, Trial};
use recoup_script::{Script, Settings};
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = scripts().into_iter().map(|path| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Trial::test(name, move || run(&path))
    });
    let mut trials: Vec<Trial> = trials.collect();
    trials.push(Trial::test("the script of the manual", of_the_manual));
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Runs the script in docs/drill.md.
fn of_the_manual() -> Result<(), Failed> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/drill.md");
    let manual = std::fs::read_to_string(path)?;
    let begin = manual.find("// profile:").ok_or("no script in docs/drill.md")?;
    let text = manual[begin..].split("```").next().unwrap_or_default();
    check("docs/drill.md", text)
}

fn scripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let entries = std::fs::read_dir(folder).expect("the folder of scripts");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut scripts: Vec<_> = paths.filter(|path| path.extension().is_some_and(|e| e == "pkt")).collect();
    scripts.sort();
    assert!(!scripts.is_empty(), "no scripts");
    scripts
}

fn run(path: &Path) -> Result<(), Failed> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    check(&name, &std::fs::read_to_string(path)?).map_err(|e| {
        format!("{}again: recoup drill crates/script/tests/scripts/{name}", e.message().unwrap_or_default()).into()
    })
}

fn check(name: &str, text: &str) -> Result<(), Failed> {
    let script = Script::parse(name, text)?;
    if script.profile().is_none() {
        return Err(format!("{name}: no `// profile:` line").into());
    }
    let report = script.run(&Settings::default())?;
    if let Some(failure) = report.failure {
        let (line, message, details) = (failure.line, failure.message, failure.details);
        return Err(format!("{name}:{line}: {message}\n{details}").into());
    }
    match report.notes.first() {
        Some(note) => Err(format!("{name}:{}: {}", note.line, note.text).into()),
        None => Ok(()),
    }
}
