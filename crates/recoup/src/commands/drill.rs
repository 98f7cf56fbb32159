//! `recoup drill`.

use crate::output::{Format, format_parser, print};
use crate::{Failure, console};
use recoup_script::{NoteKind, Report, Script, ScriptError, Settings};
use recoup_support::input;
use recoup_support::profile::parse_profile;
use recoup_table::Schema;
use recoup_units::visible;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};

const HELP: &str = "\
A script plays the other end of one connection and the application at this end: packets in (<) and
out (>), system calls, assertions over TCP_INFO between %{ and }%. Every packet out must be as the
script says, to the microsecond, and no other packet may leave.

The profile is --profile, or the script's own line `// profile: linux-3.17+tlp`, or linux-6. Two
other lines set the MSS that the SYN announces (`// mss: 1000`) and the acknowledgments
(`// ack: quick`, or delayed, or linux). These lines stand before the first event. The engine
follows the sysctl lines that it has a mechanism for. --verbose lists the lines that have no effect.
A script is refused if it needs something the engine lacks, has no event, or is longer than 16 MiB.

A script that is refused or cannot be read is an ERROR among the results; the others are run.

Exit status: 0 all passed, 1 a script failed, 2 wrong use or a script that could not be run.";

/// The formats that results can be printed in.
const FORMATS: &[Format] = &[Format::Table, Format::Json];

/// The longest script that is read, in bytes.
const LONGEST_SCRIPT: u64 = 16 << 20;

#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// Scripts, folders of .pkt files, or - for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Run under this profile instead of the scripts' own
    #[arg(long, value_name = "PROFILE")]
    profile: Option<String>,
    /// Print every packet with its time
    #[arg(long)]
    trace: bool,
    /// Print notes on lines of a script that have no effect
    #[arg(long, short)]
    verbose: bool,
    /// Format of the results (JSON: one object per script)
    #[arg(long, value_parser = format_parser(FORMATS), default_value = "table")]
    format: Format,
}

/// A script and its result.
struct Outcome {
    script: String,
    result: Result<Report, NotRun>,
}

/// Why a script could not be run.
enum NotRun {
    Unreadable(String),
    Refused(ScriptError),
}

impl std::fmt::Display for NotRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreadable(message) => f.write_str(message),
            Self::Refused(error) => error.fmt(f),
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let profile = args
        .profile
        .as_deref()
        .map(|text| parse_profile(text).map_err(|e| Failure::Wrong(format!("--profile {text}: {e}"))));
    let settings = Settings { profile: profile.transpose()? };
    let outcomes: Vec<Outcome> = scripts(&args.files)?
        .iter()
        .map(|path| Outcome { script: visible(&path.to_string_lossy()).into_owned(), result: outcome(path, &settings) })
        .collect();
    print_notes(&outcomes, args.verbose);
    print(&match args.format {
        Format::Json => document(&outcomes, args.trace)?,
        _ => table(&outcomes, args.trace),
    })?;
    let mut not_run: Vec<_> = outcomes.iter().filter_map(|o| o.result.as_ref().err()).collect();
    if let Some(last) = not_run.pop() {
        for error in not_run {
            console::error(&error.to_string());
        }
        return Err(Failure::Wrong(last.to_string()));
    }
    match outcomes.iter().all(Outcome::passed) {
        true => Ok(()),
        false => Err(Failure::CheckFailed),
    }
}

impl Outcome {
    fn passed(&self) -> bool {
        self.result.as_ref().is_ok_and(Report::passed)
    }
}

fn outcome(path: &Path, settings: &Settings) -> Result<Report, NotRun> {
    let text = read(path)
        .map_err(|e| NotRun::Unreadable(format!("cannot read `{}`: {e}", path.display()).replace('\n', " ")))?;
    Script::parse(&path.display().to_string(), &text).and_then(|script| script.run(settings)).map_err(NotRun::Refused)
}

/// Prints notes on likely mistakes, and with `all` also on lines that have no effect.
fn print_notes(outcomes: &[Outcome], all: bool) {
    for Outcome { script, result } in outcomes {
        let notes = result.iter().flat_map(|report| &report.notes);
        for note in notes.filter(|note| all || note.kind == NoteKind::Mistake) {
            console::note(format_args!("{script}:{}: {}", note.line, note.text));
        }
    }
}

/// The files, folders replaced by the scripts in them and below.
fn scripts(files: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut scripts = Vec::new();
    for path in files {
        if !path.is_dir() {
            scripts.push(path.clone());
            continue;
        }
        let mut found = Vec::new();
        scripts_below(path, &mut found)?;
        if found.is_empty() {
            let folder = path.display();
            return Err(Failure::Wrong(format!("`{folder}`: a folder without .pkt files")));
        }
        found.sort();
        scripts.append(&mut found);
    }
    Ok(scripts)
}

fn scripts_below(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let cannot = |e: std::io::Error| Failure::Wrong(format!("cannot read `{}`: {e}", folder.display()));
    for entry in std::fs::read_dir(folder).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        let path = entry.path();
        // A link to a folder above would never end.
        if entry.file_type().map_err(cannot)?.is_dir() {
            scripts_below(&path, found)?;
        } else if path.extension().is_some_and(|e| e == "pkt") {
            found.push(path);
        }
    }
    Ok(())
}

fn read(path: &Path) -> std::io::Result<String> {
    match path == Path::new("-") {
        true => input::read_text(std::io::stdin(), LONGEST_SCRIPT),
        false => input::read_file(path, LONGEST_SCRIPT),
    }
}

fn table(outcomes: &[Outcome], trace: bool) -> String {
    let mut out = String::new();
    for Outcome { script, result } in outcomes {
        match result {
            Ok(report) => rows(&mut out, script, report, trace),
            // The error goes to standard error.
            Err(_) => {
                let _ = writeln!(out, "ERROR {script}  (not run)");
            }
        }
    }
    let scripts = match outcomes.len() {
        1 => "script",
        _ => "scripts",
    };
    let passed = outcomes.iter().filter(|o| o.passed()).count();
    let not_run = outcomes.iter().filter(|o| o.result.is_err()).count();
    let failed = outcomes.len() - passed - not_run;
    let _ = write!(out, "{} {scripts}: {passed} passed, {failed} failed", outcomes.len());
    if not_run > 0 {
        let _ = write!(out, ", {not_run} not run");
    }
    out.push('\n');
    out
}

fn rows(out: &mut String, script: &str, report: &Report, trace: bool) {
    let outcome = if report.passed() { "pass" } else { "FAIL" };
    let _ = writeln!(out, "{outcome}  {script}  ({})", report.profile);
    if trace {
        for line in &report.trace {
            let _ = writeln!(out, "      {line}");
        }
    }
    for (line, text) in &report.printed {
        let _ = writeln!(out, "{script}:{line}: {text}");
    }
    if let Some(failure) = &report.failure {
        let _ = write!(out, "{script}:{}: {}\n{}", failure.line, failure.message, failure.details);
    }
}

/// The JSON document of a drill.
const SCHEMA: Schema = Schema { name: "recoup.drill", version: 1 };

fn document(outcomes: &[Outcome], trace: bool) -> Result<String, Failure> {
    let scripts: Vec<Value> = outcomes.iter().map(|o| object(o, trace)).collect();
    Ok(SCHEMA.to_text(&json!({ "scripts": scripts }))?)
}

/// The keys are the same whether the script was run or not; only a run has a trace.
fn object(outcome: &Outcome, trace: bool) -> Value {
    let report = outcome.result.as_ref().ok();
    let lines = |lines: Vec<(usize, &str)>| -> Vec<Value> {
        let object = |(line, text)| json!({ "line": line, "text": text });
        lines.into_iter().map(object).collect()
    };
    let printed = report.iter().flat_map(|r| &r.printed);
    let notes = report.iter().flat_map(|r| &r.notes);
    let mut object = json!({
        "script": outcome.script,
        "profile": report.map(|r| r.profile.name()),
        "passed": outcome.passed(),
        "error": outcome.result.as_ref().err().map(error_object),
        "failure": report.and_then(|r| r.failure.as_ref()).map(|failure| json!({
            "line": failure.line,
            "message": failure.message,
            "details": failure.details,
        })),
        "printed": lines(printed.map(|(line, text)| (*line, text.as_str())).collect()),
        "notes": lines(notes.map(|note| (note.line, note.text.as_str())).collect()),
    });
    if trace {
        object["trace"] = json!(report.map_or(&[][..], |r| &r.trace));
    }
    object
}

/// A file that cannot be read has no line.
fn error_object(error: &NotRun) -> Value {
    match error {
        NotRun::Unreadable(message) => json!({ "line": null, "column": null, "message": message }),
        NotRun::Refused(ScriptError { place, message, .. }) => json!({
            "line": place.line,
            "column": place.column,
            "message": message,
        }),
    }
}
