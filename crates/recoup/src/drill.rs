//! `recoup drill`.

use crate::Failure;
use crate::output::print;
use clap::ValueEnum;
use recoup_lab::scenario::parse_profile;
use recoup_script::{Report, Script, Settings};
use serde_json::{Value, json};
use std::fmt::Write;
use std::io::Read;
use std::path::{Path, PathBuf};

const HELP: &str = "\
A script plays the other end of one connection and the application at this end: packets in (<) and
out (>), system calls, assertions over TCP_INFO between %{ and }%. Every packet out must be as the
script says, at the very microsecond, and no other packet may leave.

The profile is --profile, or the script's own line at its top, `// profile: linux-3.17+tlp`, or the
default; so may be `// mss: 1000` (what the SYN announces) and `// ack: quick` (or delayed, or linux).
Lines with sysctl that mean something to the engine are in force; what has no effect here is told with
--verbose; what cannot be had is refused.

Exit status: 0 all passed, 1 a script failed, 2 wrong use or a script that cannot be read.";

#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Scripts, folders of .pkt files, or - for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Run under this profile, whatever the scripts say
    #[arg(long, value_name = "PROFILE")]
    profile: Option<String>,
    /// Print every packet with its time
    #[arg(long)]
    trace: bool,
    /// Tell what of a script has no effect, on standard error
    #[arg(long, short)]
    verbose: bool,
    /// How to print the results
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For reading
    Table,
    /// For programs: an array, an object a script
    Json,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let profile = args.profile.as_deref().map(|text| {
        parse_profile(text).map_err(|e| Failure::Wrong(format!("--profile {text}: {e}")))
    });
    let settings = Settings {
        profile: profile.transpose()?,
    };
    let mut results = Vec::new();
    let mut refused = Vec::new();
    for path in scripts(&args.files)? {
        let name = path.display().to_string();
        let text = read(&path)?;
        match Script::parse(&name, &text).and_then(|script| script.run(&settings)) {
            Ok(report) => results.push((name, report)),
            Err(error) => refused.push(error.to_string()),
        }
    }
    if args.verbose {
        for (name, report) in &results {
            for note in &report.notes {
                eprintln!("recoup: note: {name}:{}: {}", note.line, note.text);
            }
        }
    }
    if !results.is_empty() {
        print(&match args.format {
            Format::Table => table(&results, args.trace),
            Format::Json => array(&results, args.trace),
        })?;
    }
    if let Some(last) = refused.pop() {
        for line in refused {
            eprintln!("recoup: {line}");
        }
        return Err(Failure::Wrong(last));
    }
    match results.iter().all(|(_, report)| report.passed()) {
        true => Ok(()),
        false => Err(Failure::CheckFailed),
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
            return Err(Failure::Wrong(format!(
                "`{folder}`: a folder without .pkt files"
            )));
        }
        found.sort();
        scripts.append(&mut found);
    }
    Ok(scripts)
}

fn scripts_below(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let cannot =
        |e: std::io::Error| Failure::Wrong(format!("cannot read `{}`: {e}", folder.display()));
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

fn read(path: &Path) -> Result<String, Failure> {
    let cannot =
        |e: std::io::Error| Failure::Wrong(format!("cannot read `{}`: {e}", path.display()));
    if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map_err(cannot)?;
        return Ok(text);
    }
    std::fs::read_to_string(path).map_err(cannot)
}

fn table(results: &[(String, Report)], trace: bool) -> String {
    let mut out = String::new();
    for (name, report) in results {
        let verdict = if report.passed() { "pass" } else { "FAIL" };
        let _ = writeln!(out, "{verdict}  {name}  ({})", report.profile);
        if trace {
            for line in &report.trace {
                let _ = writeln!(out, "      {line}");
            }
        }
        for (line, text) in &report.printed {
            let _ = writeln!(out, "{name}:{line}: {text}");
        }
        if let Some(failure) = &report.failure {
            let _ = write!(
                out,
                "{name}:{}: {}\n{}",
                failure.line, failure.message, failure.details
            );
        }
    }
    let failed = results
        .iter()
        .filter(|(_, report)| !report.passed())
        .count();
    let scripts = if results.len() == 1 {
        "script"
    } else {
        "scripts"
    };
    let passed = results.len() - failed;
    let _ = writeln!(
        out,
        "{} {scripts}: {passed} passed, {failed} failed",
        results.len()
    );
    out
}

fn array(results: &[(String, Report)], trace: bool) -> String {
    let object = |(name, report): &(String, Report)| {
        let mut object = json!({
            "script": name,
            "profile": report.profile.name(),
            "passed": report.passed(),
            "failure": report.failure.as_ref().map(|failure| json!({
                "line": failure.line,
                "message": failure.message,
                "details": failure.details,
            })),
            "printed": report.printed.iter().map(|(line, text)| json!({
                "line": line,
                "text": text,
            })).collect::<Vec<_>>(),
            "notes": report.notes.iter().map(|note| json!({
                "line": note.line,
                "text": note.text,
            })).collect::<Vec<_>>(),
        });
        if trace {
            object["trace"] = json!(report.trace);
        }
        object
    };
    let all = Value::Array(results.iter().map(object).collect());
    format!("{all:#}\n")
}
