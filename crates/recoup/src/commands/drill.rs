//! `recoup drill`.

mod stack;
mod vectors;

use crate::output::{Format, format_parser, print};
use crate::{Failure, console};
use recoup_script::{CONFORMANCE, Level, NoteKind, Report, Script, ScriptError, Settings, Subject};
use recoup_support::input;
use recoup_support::profile::parse_profile;
use recoup_table::Schema;
use recoup_units::visible;
use serde_json::{Value, json};
use stack::Stack;
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

With --stack the scripts are run against another TCP stack: a program that answers packets, calls
and the time by lines of JSON (docs/conformance.md). Without files these are the built-in scripts,
each of which checks one sentence of an RFC; they can be named like files. A script fails if it says
`level: MUST`, or no level. A SHOULD that the stack does not follow `differs`, and an optional
mechanism that it lacks is `absent`. A script that needs what the stack does not offer is `n/a`.

A file that ends in .json holds test vectors (crates/recovery/vectors). The program is then no TCP
stack: it answers the inputs of a sender with what one mechanism decides, again by lines of JSON.

Exit status: 0 all passed, 1 a script failed (with --strict, or differs), 2 wrong use or a script
that could not be run.";

/// The formats that results can be printed in.
const FORMATS: &[Format] = &[Format::Table, Format::Json];

/// The longest script that is read, in bytes.
const LONGEST_SCRIPT: u64 = 16 << 20;

#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// Scripts, folders of .pkt files, or - for standard input; with --stack also built-in scripts by name, and .json files
    /// of test vectors
    #[arg(required_unless_present = "stack", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Run under this profile instead of the scripts' own
    #[arg(long, value_name = "PROFILE", conflicts_with = "stack")]
    profile: Option<String>,
    /// Run against the TCP stack in this program, given with its arguments
    #[arg(long, value_name = "COMMAND")]
    stack: Option<String>,
    /// Seed of the stack's random numbers
    #[arg(long, value_name = "SEED", default_value_t = 1, requires = "stack")]
    seed: u64,
    /// Exit with status 1 also if the stack does not follow a SHOULD
    #[arg(long, requires = "stack")]
    strict: bool,
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

/// Where a script comes from.
enum Source {
    File(PathBuf),
    /// Its name and text.
    BuiltIn(&'static str, &'static str),
}

impl Source {
    fn is_vectors(&self) -> bool {
        matches!(self, Self::File(path) if path.extension().is_some_and(|e| e == "json"))
    }
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
    let stack = args.stack.as_deref().map(|command| Stack::new(command, args.seed)).transpose()?;
    let sources = scripts(&args.files, stack.is_some())?;
    if let Some(stack) = stack.as_ref().filter(|_| sources.iter().any(|source| !source.is_vectors())) {
        stack.check()?;
    }
    let outcomes: Vec<Outcome> =
        sources.iter().flat_map(|source| outcomes(source, &settings, stack.as_ref())).collect();
    print_notes(&outcomes, args.verbose);
    print(&match args.format {
        Format::Json => document(&outcomes, args.trace)?,
        _ => table(&outcomes, args.trace, stack.is_some()),
    })?;
    let mut not_run: Vec<_> = outcomes.iter().filter_map(|o| o.result.as_ref().err()).collect();
    if let Some(last) = not_run.pop() {
        for error in not_run {
            console::error(&error.to_string());
        }
        return Err(Failure::Wrong(last.to_string()));
    }
    let fails = |outcome: &Outcome| match outcome.verdict() {
        Verdict::Fails => true,
        Verdict::Differs => args.strict,
        _ => false,
    };
    match outcomes.iter().any(fails) {
        true => Err(Failure::CheckFailed),
        false => Ok(()),
    }
}

recoup_units::named! {
    /// What is said of a script and what it was run against.
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Verdict {
        Passes = "pass",
        Fails = "FAIL",
        /// The stack does not do what an RFC says that it should.
        Differs = "differs",
        /// The stack lacks an optional mechanism.
        Absent = "absent",
        NotApplicable = "n/a",
        NotRun = "ERROR",
    }
}

impl Verdict {
    /// As it is counted in the last line.
    const fn counted(self) -> &'static str {
        match self {
            Self::Passes => "passed",
            Self::Fails => "failed",
            Self::Differs => "differ",
            Self::Absent => "absent",
            Self::NotApplicable => "not applicable",
            Self::NotRun => "not run",
        }
    }
}

impl Outcome {
    fn verdict(&self) -> Verdict {
        let Ok(report) = &self.result else { return Verdict::NotRun };
        let guest = matches!(report.subject, Subject::Guest(_));
        match (&report.failure, &report.not_applicable, report.claim.as_ref().map(|claim| claim.level)) {
            (None, None, _) => Verdict::Passes,
            (_, Some(_), _) => Verdict::NotApplicable,
            (Some(_), None, Some(Level::Should)) if guest => Verdict::Differs,
            (Some(_), None, Some(Level::May)) if guest => Verdict::Absent,
            (Some(_), None, _) => Verdict::Fails,
        }
    }
}

fn outcomes(source: &Source, settings: &Settings, stack: Option<&Stack>) -> Vec<Outcome> {
    let (name, text) = match source {
        Source::BuiltIn(name, text) => ((*name).to_owned(), Ok((*text).to_owned())),
        Source::File(path) => (path.display().to_string(), read(path)),
    };
    let text = text.map_err(|e| NotRun::Unreadable(format!("cannot read `{name}`: {e}").replace('\n', " ")));
    if let (Some(stack), Ok(text), true) = (stack, &text, source.is_vectors()) {
        return vectors::run(&name, text, || stack.command());
    }
    let run = |script: Script| match stack {
        None => script.run(settings),
        Some(stack) => stack.run(&script),
    };
    let parse_and_run = |text: String| Script::parse(&name, &text).and_then(run).map_err(NotRun::Refused);
    vec![Outcome { result: text.and_then(parse_and_run), script: visible(&name).into_owned() }]
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

/// The files, folders replaced by the scripts in them and below. Without files, and by name if there is no such file, the
/// built-in scripts for other stacks.
fn scripts(files: &[PathBuf], built_in: bool) -> Result<Vec<Source>, Failure> {
    let mut scripts = Vec::new();
    if files.is_empty() {
        return Ok(CONFORMANCE.iter().map(|(name, text)| Source::BuiltIn(name, text)).collect());
    }
    for path in files {
        let known = CONFORMANCE.iter().find(|(name, _)| built_in && path.as_os_str() == *name && !path.exists());
        if let Some((name, text)) = known {
            scripts.push(Source::BuiltIn(name, text));
            continue;
        }
        if !path.is_dir() {
            scripts.push(Source::File(path.clone()));
            continue;
        }
        let mut found = Vec::new();
        scripts_below(path, &mut found)?;
        if found.is_empty() {
            let folder = path.display();
            return Err(Failure::Wrong(format!("`{folder}`: a folder without .pkt files")));
        }
        found.sort();
        scripts.extend(found.into_iter().map(Source::File));
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

fn table(outcomes: &[Outcome], trace: bool, guest: bool) -> String {
    let mut out = String::new();
    for outcome in outcomes {
        let script = &outcome.script;
        match &outcome.result {
            Ok(report) => rows(&mut out, outcome, report, trace),
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
    let counts = Verdict::ALL.iter().filter_map(|verdict| {
        let count = outcomes.iter().filter(|o| o.verdict() == *verdict).count();
        let shown = match verdict {
            Verdict::Passes | Verdict::Fails => true,
            Verdict::Differs | Verdict::Absent | Verdict::NotApplicable => guest,
            Verdict::NotRun => count > 0,
        };
        shown.then(|| format!("{count} {}", verdict.counted()))
    });
    let counts: Vec<String> = counts.collect();
    let _ = writeln!(out, "{} {scripts}: {}", outcomes.len(), counts.join(", "));
    out
}

fn rows(out: &mut String, outcome: &Outcome, report: &Report, trace: bool) {
    let script = &outcome.script;
    let verdict = outcome.verdict().name();
    let _ = match (&report.subject, &report.claim) {
        (Subject::Guest(_), Some(claim)) => {
            writeln!(out, "{verdict:<7} {script}  (RFC {}, {})", claim.rfc, claim.level.name())
        }
        (Subject::Guest(_), None) => writeln!(out, "{verdict:<7} {script}"),
        (Subject::Engine(profile), _) => writeln!(out, "{verdict}  {script}  ({profile})"),
    };
    if trace {
        for line in &report.trace {
            let _ = writeln!(out, "      {line}");
        }
    }
    for (line, text) in &report.printed {
        let _ = writeln!(out, "{script}:{line}: {text}");
    }
    if let Some(why) = &report.not_applicable {
        let _ = writeln!(out, "{script}:{}: {}", why.line, why.reason);
    }
    if outcome.verdict() != Verdict::Passes
        && let Some(claim) = report.claim.as_ref().filter(|claim| report.failure.is_some() && !claim.says.is_empty())
    {
        let _ = writeln!(out, "RFC {}: {}", claim.rfc, claim.says);
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
        "profile": report.and_then(|r| match &r.subject {
            Subject::Engine(profile) => Some(profile.name()),
            Subject::Guest(_) => None,
        }),
        "stack": report.and_then(|r| match &r.subject {
            Subject::Engine(_) => None,
            Subject::Guest(about) => about.as_ref(),
        }),
        "rfc": report.and_then(|r| r.claim.as_ref()).map(|claim| claim.rfc.as_str()),
        "level": report.and_then(|r| r.claim.as_ref()).map(|claim| claim.level.name()),
        "says": report.and_then(|r| r.claim.as_ref()).map(|claim| claim.says.as_str()),
        "verdict": outcome.verdict().name().to_lowercase(),
        "passed": outcome.verdict() == Verdict::Passes,
        "error": outcome.result.as_ref().err().map(error_object),
        "failure": report.and_then(|r| r.failure.as_ref()).map(|failure| json!({
            "line": failure.line,
            "message": failure.message,
            "details": failure.details,
        })),
        "not_applicable": report.and_then(|r| r.not_applicable.as_ref()).map(|why| json!({
            "line": why.line,
            "reason": why.reason,
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
