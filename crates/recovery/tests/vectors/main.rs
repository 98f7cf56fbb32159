//! The test vectors in `vectors/`: inputs of a sender, and what each mechanism decides on them. The README
//! there describes the format. After a change of the engine or of a case, write them anew:
//!
//! ```text
//! RECOUP_UPDATE_VECTORS=1 cargo test -p recoup-recovery --test vectors
//! ```

mod cases;
mod driver;
mod format;
mod replay;
mod schema;
mod script;
mod settings;

use format::File;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Once;

/// The size that a file must not exceed, in bytes.
const MOST: usize = 60_000;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Writes the files anew, if that is asked for.
fn update() {
    if std::env::var_os("RECOUP_UPDATE_VECTORS").is_none() {
        return;
    }
    for file in cases::all() {
        let path = folder().join(format!("{}.json", file.mechanism));
        fs::write(path, file.text()).expect("a file written");
    }
}

/// The vector files: name and text.
fn stored() -> Vec<(String, String)> {
    static UPDATED: Once = Once::new();
    UPDATED.call_once(update);
    let entries = fs::read_dir(folder()).expect("the folder of the vectors");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "json") && !path.ends_with("schema.json"));
    paths.sort();
    let name = |path: &Path| path.file_name().expect("a name").to_string_lossy().into_owned();
    paths.iter().map(|path| (name(path), read(path))).collect()
}

fn parse(name: &str, text: &str) -> File {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{name}: {e}"))
}

#[test]
fn the_vectors_are_those_of_the_cases() {
    let files = cases::all();
    let names: BTreeSet<String> = files.iter().map(|f| format!("{}.json", f.mechanism)).collect();
    assert_eq!(names.len(), files.len(), "two files for one mechanism");
    let stored = stored();
    let there: BTreeSet<String> = stored.iter().map(|(name, _)| name.clone()).collect();
    assert_eq!(there, names, "run with RECOUP_UPDATE_VECTORS=1; remove what is left over");
    for file in &files {
        let name = format!("{}.json", file.mechanism);
        let text = &stored.iter().find(|(n, _)| *n == name).expect("listed").1;
        assert!(text.len() <= MOST, "{name} has {} bytes", text.len());
        let new = file.text();
        let lines = text.lines().zip(new.lines()).enumerate();
        for (i, (stored, new)) in lines {
            assert_eq!(stored, new, "{name}, line {}; run with RECOUP_UPDATE_VECTORS=1", i + 1);
        }
        assert_eq!(*text, new, "{name}: run with RECOUP_UPDATE_VECTORS=1");
    }
}

#[test]
fn the_engine_decides_as_the_vectors_expect() {
    let files = stored().into_iter().map(|(name, text)| parse(&name, &text));
    let differences: Vec<String> = files.flat_map(|file| replay::differences(&file)).collect();
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
}

#[test]
fn a_replay_finds_wrong_vectors() {
    let (name, text) = stored().into_iter().find(|(name, _)| name == "rto-restart.json").expect("a file");
    let file = parse(&name, &text);
    for (i, step) in file.cases[0].steps.iter().enumerate() {
        for (j, (field, _)) in step.expect.0.iter().enumerate() {
            let mut wrong = parse(&name, &text);
            wrong.cases[0].steps[i].expect.0[j].1 = Value::from("wrong");
            let [found] = &replay::differences(&wrong)[..] else {
                panic!("step {}: {field} not found, or too much", i + 1);
            };
            assert!(found.contains(&format!("step {}: expect {field}:", i + 1)), "{found}");
        }
    }
}

#[test]
fn the_vectors_fit_their_schema() {
    let schema = serde_json::from_str(&read(&folder().join("schema.json"))).expect("JSON");
    for (name, text) in stored() {
        let document: Value = serde_json::from_str(&text).expect("JSON");
        let misfits = schema::misfits(&schema, &document);
        assert!(misfits.is_empty(), "{name}:\n{}", misfits.join("\n"));
        for without in ["schema", "version", "mechanism", "cases", "expect"] {
            let mut document = document.clone();
            document.as_object_mut().expect("an object").remove(without);
            assert!(!schema::misfits(&schema, &document).is_empty(), "{name} without {without}");
        }
    }
}

/// Runs the reader in Python. `None`: there is no Python.
fn run_reader(file: Option<&Path>) -> Option<Output> {
    let reader = folder().join("read.py");
    let outcome = Command::new("python3").arg(reader).args(file).output();
    if outcome.is_err() {
        println!("skipped: there is no python3");
    }
    outcome.ok()
}

#[test]
fn another_language_can_check_itself_against_the_vectors() {
    let stored = stored();
    let Some(outcome) = run_reader(None) else {
        return;
    };
    let text = String::from_utf8_lossy(&outcome.stdout);
    let errors = String::from_utf8_lossy(&outcome.stderr);
    assert!(outcome.status.success(), "{text}{errors}");
    for (name, _) in stored {
        assert!(text.contains(&name), "{name} is not listed:\n{text}");
    }
    assert_eq!(text.matches("all steps agree").count(), 4, "{text}");
}

#[test]
fn the_reader_in_python_finds_wrong_vectors() {
    let stored = stored();
    for (name, right, wrong) in [
        ("rto-backoff.json", "\"backoff\": 3", "\"backoff\": 4"),
        ("rtt-and-rto.json", "\"srtt_ns\": 410000000", "\"srtt_ns\": 420000000"),
        ("prr.json", "\"cwnd\": 15}", "\"cwnd\": 16}"),
    ] {
        let text = &stored.iter().find(|(n, _)| n == name).expect("a file").1;
        assert!(text.contains(right), "{name} has no {right}");
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::write(&path, text.replacen(right, wrong, 1)).expect("a file written");
        let Some(outcome) = run_reader(Some(&path)) else {
            return;
        };
        let text = String::from_utf8_lossy(&outcome.stdout);
        assert_eq!(outcome.status.code(), Some(1), "{name}: {text}");
        assert!(text.contains("WRONG"), "{name}: {text}");
    }
}
