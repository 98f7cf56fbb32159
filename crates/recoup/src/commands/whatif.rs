//! `recoup whatif`.

use crate::analysis_args::AnalysisArgs;
use crate::commands::analyze::call::Captures;
use crate::commands::analyze::progress::display_name;
use crate::commands::whatif::call::{Input, what_if_all};
use crate::output::{Format, Output, check_terminal, format_of_output, format_parser};
use crate::{Failure, console, interrupt};
use progress::RerunBar;
use recoup_captures::analysis::{Analyzed, View};
use recoup_captures::whatif::{
    Alternative, Answer, MechanismResult, PredictionRow, Request, answer_text, predictions, results, write_answers,
};
use recoup_table::Part;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use study::StudyArgs;

pub mod call;
pub(crate) mod progress;
pub mod study;

const HELP: &str = "\
Examples:
  recoup whatif server.pcap                               # what would have helped?
  recoup whatif server.pcap --try linux-6+tlpr --try rfc6675
  recoup whatif server.pcap --try +slp --try +tlpr+rtor   # on top of what each sender has
  recoup whatif server.pcap --connections -o changes.csv  # a row for each connection
  recoup whatif server.pcap --study                       # would another RTO have helped?
  recoup whatif server.pcap --study --k 1,2,3 --a profile --b profile --dupthresh 1,2,3,4
  tcpdump -r all.pcap -w - port 443 | recoup whatif -

Every connection captured at (or near) its sender is run again in the simulator, over the network
that the capture shows, once with its own loss recovery and once with each of the others. Its own
rerun has to reproduce the capture: the same retransmissions, and the duration within 5 %. Other
connections are reported apart. Fates of packets that the capture does not hold are drawn --draws
times from the loss process of the connection and its path. docs/whatif.md says what is inferred and
what is drawn.

With --study, no connection is run again. Recoup follows each sender that lost data through its
packets, once with each set of parameters. It reports which losses the sender would have detected
earlier or later, which spurious retransmissions it would have avoided or caused, and how much time
this saves. It assumes RTTs, losses and windows as captured. RTO = max(minRTO, m·SRTT + k·RTTVAR).

Exit status: 0 answered; 2 wrong use, or a capture in which nothing can be read (the other captures
are studied or run again all the same).";

/// The formats of answers.
const FORMATS: &[Format] = &[Format::Table, Format::Json, Format::Csv, Format::Parquet];

#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// Captures (pcap, pcapng; plain, gzip or zstd), each by itself unless they are joined; - for
    /// standard input
    #[arg(required = true, value_name = "CAPTURE")]
    captures: Vec<PathBuf>,
    /// What to try: a profile, such as linux-6 or rfc6675, or +MECHANISM on top of what each sender has,
    /// such as +tlpr; may be repeated [default: what today's senders have or could have]
    #[arg(long = "try", value_name = "PROFILE|+MECHANISM", allow_hyphen_values = true)]
    alternatives: Vec<String>,
    /// Run all files as one capture, in the order of their times
    #[arg(long)]
    join: bool,
    #[command(flatten)]
    analysis: AnalysisArgs,
    /// Runs of each connection and mechanism where fates have to be drawn
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(2..=1000))]
    draws: u32,
    /// Seed of the draws
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Show the prediction of every connection and mechanism. With --study: of every sender and every set of
    /// parameters that changes one of its detections. A text shows these rows after the usual tables
    #[arg(long)]
    connections: bool,
    /// Format of the answer [default: by the ending of --output, .txt, .json, .csv or .parquet; else
    /// table]
    #[arg(long, value_parser = format_parser(FORMATS))]
    format: Option<Format>,
    /// Write the answer to this file; - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    #[command(flatten)]
    study: StudyArgs,
}

impl Args {
    fn format(&self) -> Result<Format, Failure> {
        match self.format {
            Some(format) => Ok(format),
            None => format_of_output(&self.output, FORMATS, Format::Table),
        }
    }

    fn request(&self) -> Result<Request, Failure> {
        let alternatives = self.alternatives.iter().map(|text| {
            Alternative::parse(text).map_err(|e| {
                let all = "`recoup profiles` lists what there is";
                Failure::Wrong(format!("--try {text}: {e} ({all})"))
            })
        });
        Ok(Request { alternatives: alternatives.collect::<Result<_, _>>()?, draws: self.draws, seed: self.seed })
    }

    fn input(&self) -> Input<'_> {
        match self.join {
            true => Input::Joined(&self.captures),
            false => Input::Each(&self.captures),
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if args.study.study {
        return study::run(args);
    }
    let format = args.format()?;
    let request = args.request()?;
    let settings = args.analysis.settings()?;
    check_inputs(args)?;
    if args.output == Path::new("-") {
        check_terminal(format)?;
    }
    let output = Output::create(&args.output)?;
    interrupt::defer();
    let bar = RerunBar::new(args.captures.len() > 1 && !args.join);
    let all = what_if_all(args.input(), &request, &settings, &bar);
    let interrupted = interrupt::stop_deferring();
    print_notes(args, &all, |answer| &answer.notes);
    if !all.analyzed.is_empty() {
        output.write(|out| print(args, format, &all.analyzed, out))?;
    }
    match interrupted {
        true => interrupt::exit(),
        false if !all.failures.is_empty() => Err(Failure::Reported),
        false => Ok(()),
    }
}

/// Checks that the captures exist, and that standard input is read once.
fn check_inputs(args: &Args) -> Result<(), Failure> {
    let stdin = args.captures.iter().filter(|path| path.as_os_str() == "-");
    match stdin.count() {
        0 => {}
        1 if args.join && args.captures.len() > 1 => {
            let line = "-: standard input cannot be joined with files: expected files only";
            return Err(Failure::Wrong(line.into()));
        }
        1 => {}
        _ => {
            let line = "-: standard input can be read only once";
            return Err(Failure::Wrong(line.into()));
        }
    }
    Ok(crate::commands::analyze::call::check(&args.captures)?)
}

/// Prints what could not be read, and the notes on the captures.
fn print_notes<V: View>(args: &Args, all: &Captures<V>, notes: fn(&V) -> &[String]) {
    for failure in &all.failures {
        console::error(&failure.to_string());
    }
    for analyzed in &all.analyzed {
        let capture = display_name(&analyzed.capture);
        for note in analyzed.notes().iter().chain(notes(&analyzed.findings)) {
            console::note(format_args!("{capture}: {note}"));
        }
    }
    for capture in args.captures.iter().skip(all.begun) {
        let capture = capture.display();
        console::note(format_args!("{capture}: interrupted before it was read"));
    }
}

fn print(args: &Args, format: Format, answers: &[Analyzed<Answer>], out: &mut (dyn Write + Send)) -> io::Result<()> {
    match format {
        Format::Json => write_answers(answers, args.connections, out),
        Format::Csv | Format::Parquet if args.connections => {
            let rows = |one: &Analyzed<Answer>| one.findings.predictions();
            let rows: Vec<Vec<PredictionRow>> = answers.iter().map(rows).collect();
            let parts = parts(args, answers, rows.iter().map(Vec::as_slice));
            match format {
                Format::Csv => predictions().write_csv(&parts, out),
                _ => predictions().write_parquet(&parts, out),
            }
        }
        Format::Csv | Format::Parquet => {
            let rows = answers.iter().map(|one| &*one.findings.results);
            let parts: Vec<Part<'_, MechanismResult>> = parts(args, answers, rows);
            match format {
                Format::Csv => results().write_csv(&parts, out),
                _ => results().write_parquet(&parts, out),
            }
        }
        _ => {
            for (i, analyzed) in answers.iter().enumerate() {
                let gap = if i == 0 { "" } else { "\n" };
                write!(out, "{gap}{}", answer_text(analyzed))?;
                if args.connections {
                    let rows = analyzed.findings.predictions();
                    write!(out, "\n{}\n", predictions().to_text(&rows, &COLUMNS))?;
                }
            }
            Ok(())
        }
    }
}

/// The columns of a connection in a table.
const COLUMNS: [&str; 10] = [
    "connection",
    "mechanism",
    "base",
    "cause",
    "lossy",
    "recorded_ms",
    "base_fct_ms",
    "change_ms",
    "deviation_ms",
    "packets_drawn",
];

/// The rows of each capture. Several captures keep the column that names them, even where one alone could
/// be read.
fn parts<'a, R, V>(args: &Args, answers: &'a [Analyzed<V>], rows: impl Iterator<Item = &'a [R]>) -> Vec<Part<'a, R>> {
    let named = answers.iter().zip(rows).map(|(answer, rows)| Part { name: &answer.capture, rows });
    let all = if args.join { 1 } else { args.captures.len() };
    let unread = (answers.len()..all).map(|_| Part { name: "", rows: &[] });
    named.chain(unread).collect()
}
