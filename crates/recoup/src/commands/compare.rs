//! `recoup compare`.

use crate::Failure;
use crate::analysis_args::AnalysisArgs;
use crate::commands::captures::{CaptureBar, display_name, end, until_interrupted};
use crate::console;
use crate::output::{Format, OUTPUT, Output, format_or_ending, format_parser};
use recoup_captures::capture::Input;
use recoup_captures::compare::{
    CaptureFacts, Comparison, Expectation, Predicted, compare, comparison_page, comparison_text, write_comparison,
};
use recoup_captures::whatif::{Alternative, Request};
use recoup_support::output_file::Files;
use recoup_units::visible;
use std::path::{Path, PathBuf};

const HELP: &str = "\
Examples:
  recoup compare before.pcap after.pcap                    # what changed, what may have
  recoup compare before.pcap after.pcap -o report.html     # one page: dots with intervals
  recoup compare --before mon*.pcap --after tue*.pcap      # several files are one capture
  recoup whatif before.pcap --try tail-loss-probe=3 --format json -o whatif.json
  recoup compare before.pcap after.pcap --prediction whatif.json
  recoup compare before.pcap after.pcap --try tail-loss-probe=3

A change counts as sure if chance does not explain it among all quantities that are compared,
and if it is larger than what the halves of either capture differ by. Requests and connections
are compared with those of like size to the same port. docs/compare.md describes the intervals,
and what they cannot show.

Exit status: 0 compared; 2 wrong use, or a capture that cannot be read.";

/// The formats of comparisons.
const FORMATS: &[Format] = &[Format::Table, Format::Json, Format::Html];

/// A larger file is no prediction.
const MOST_BYTES: u64 = 1 << 30;

#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The capture before the change, and the one after it (pcap, pcapng; plain, gzip or zstd); - for standard
    /// input
    #[arg(required_unless_present_all = ["before", "after"], conflicts_with_all = ["before", "after"], num_args = 2, value_names = ["BEFORE", "AFTER"])]
    captures: Vec<PathBuf>,
    /// The files before the change: one capture, in the order of their times
    #[arg(long, value_name = "CAPTURE", num_args = 1.., requires = "after")]
    before: Vec<PathBuf>,
    /// The files after it
    #[arg(long, value_name = "CAPTURE", num_args = 1.., requires = "before")]
    after: Vec<PathBuf>,
    /// A prediction for BEFORE, to be compared with what changed: a document of `recoup whatif --format json`
    #[arg(long, value_name = "FILE")]
    prediction: Option<PathBuf>,
    /// The lever, profile or mechanism of the prediction. Without --prediction, the connections of BEFORE are run
    /// again with it, as by `recoup whatif`
    #[arg(long = "try", value_name = "LEVER=VALUE|PROFILE|+MECHANISM", allow_hyphen_values = true)]
    alternative: Option<String>,
    #[command(flatten)]
    analysis: AnalysisArgs,
    /// Format of the comparison [default: by the ending of --output, .txt, .json or .html; else table]
    #[arg(long, value_parser = format_parser(FORMATS))]
    format: Option<Format>,
    /// Write the comparison to this file; - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
}

/// Draws of a rerun: as many as `recoup whatif` makes, with its seed.
const DRAWS: u32 = 10;
const SEED: u64 = 1;

impl Args {
    /// The files before and after.
    fn sides(&self) -> [&[PathBuf]; 2] {
        match self.captures.split_first() {
            Some((before, after)) => [std::slice::from_ref(before), after],
            None => [&self.before, &self.after],
        }
    }

    /// What is expected of AFTER.
    fn expectation(&self, before: &[PathBuf]) -> Result<Option<Expectation>, Failure> {
        let tried = self.alternative.as_deref();
        match (&self.prediction, tried) {
            (Some(path), _) => read_prediction(path, before, tried).map(|of| Some(Expectation::Document(of))),
            (None, None) => Ok(None),
            (None, Some(text)) => {
                if is_stdin(before) {
                    let line =
                        "--try: BEFORE is read once more to run it again: expected a file instead of standard input";
                    return Err(Failure::Wrong(line.into()));
                }
                let alternative = Alternative::parse(text).map_err(|e| Failure::Wrong(format!("--try {text}: {e}")))?;
                Ok(Some(Expectation::Rerun(Request {
                    alternatives: vec![alternative],
                    draws: DRAWS,
                    seed: SEED,
                    names_profile: false,
                })))
            }
        }
    }
}

fn is_stdin(files: &[PathBuf]) -> bool {
    files.iter().any(|path| path.as_os_str() == "-")
}

fn read_prediction(path: &Path, before: &[PathBuf], mechanism: Option<&str>) -> Result<Predicted, Failure> {
    let name = path.display().to_string();
    let wrong = |why: &dyn std::fmt::Display| Failure::Wrong(format!("--prediction {}: {why}", visible(&name)));
    let size = path.metadata().map_err(|e| wrong(&e))?.len();
    if size > MOST_BYTES {
        return Err(wrong(&"expected a document of recoup whatif, of less than 1 GB"));
    }
    let text = std::fs::read_to_string(path).map_err(|e| wrong(&e))?;
    let capture = before.first().map_or(String::new(), |path| path.to_string_lossy().into_owned());
    Predicted::read(&text, &capture, mechanism).map_err(|e| wrong(&e))
}

/// One capture of these files.
fn input(files: &[PathBuf]) -> Result<Input<'_>, Failure> {
    Ok(Input::new(files, files.len() > 1)?)
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let format = format_or_ending(args.format, &args.output, FORMATS, Format::Table)?;
    let [before, after] = args.sides();
    if is_stdin(before) && is_stdin(after) {
        return Err(Failure::Wrong("-: standard input can be read only once".into()));
    }
    let inputs = [input(before)?, input(after)?];
    let expectation = args.expectation(before)?;
    let settings = args.analysis.settings()?;
    let read: Vec<PathBuf> =
        before.iter().chain(after).chain(&args.prediction).chain(&args.analysis.guard_log).cloned().collect();
    let output = Output::create(&mut Files::reading(&read), OUTPUT, &args.output)?;
    let bar = CaptureBar::new(true);
    let (compared, interrupted) =
        until_interrupted(|| compare(inputs[0], inputs[1], expectation.as_ref(), &settings, &bar));
    let written = compared.map_err(Failure::from).and_then(|comparison| {
        comparison.captures.iter().for_each(print_notes);
        write(&comparison, format, output)
    });
    if interrupted {
        return end(true, false);
    }
    written
}

fn print_notes(facts: &CaptureFacts) {
    for note in &facts.notes {
        console::note(format_args!("{}: {note}", display_name(&facts.capture)));
    }
}

fn write(comparison: &Comparison, format: Format, output: Output) -> Result<(), Failure> {
    output.write(|out| match format {
        Format::Json => write_comparison(comparison, out),
        Format::Html => out.write_all(comparison_page(comparison).to_html().as_bytes()),
        _ => out.write_all(comparison_text(comparison).as_bytes()),
    })
}
