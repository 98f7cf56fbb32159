//! `recoup whatif`.

use crate::Failure;
use crate::analysis_args::AnalysisArgs;
use crate::commands::captures::{CaptureBar, end, report, until_interrupted, write_rows, write_texts};
use crate::output::{Format, OUTPUT, Output, check_terminal, format_or_ending, format_parser};
use recoup_captures::analysis::Analyzed;
use recoup_captures::capture::{Input, InputError};
use recoup_captures::whatif::{
    Alternative, Answer, PredictionRow, Request, answer_text, predictions, results, what_if, write_answers,
};
use recoup_support::output_file::Files;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use study::StudyArgs;

mod study;

const HELP: &str = "\
Examples:
  recoup whatif server.pcap                               # what would have helped?
  recoup whatif server.pcap --try congestion-control=bbr --try rto-min-sysctl=50000
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

With --study, connections are not run again, but for a few that show whose senders they are. Recoup follows each sender that lost data through its
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
    /// What to try: a lever that an operator has, such as congestion-control=bbr; a profile, such as
    /// linux-6; or +MECHANISM on top of what each sender has, such as +tlpr. May be repeated [default: the
    /// levers that may matter, and what only another TCP has]
    #[arg(long = "try", value_name = "LEVER=VALUE|PROFILE|+MECHANISM", allow_hyphen_values = true)]
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
        format_or_ending(self.format, &self.output, FORMATS, Format::Table)
    }

    fn request(&self) -> Result<Request, Failure> {
        let alternatives = self.alternatives.iter().map(|text| {
            Alternative::parse(text).map_err(|e| {
                let hint = match e.contains('`') {
                    true => "",
                    false => " (`recoup profiles` and `recoup profiles --levers` list what there is)",
                };
                Failure::Wrong(format!("--try {text}: {e}{hint}"))
            })
        });
        Ok(Request {
            alternatives: alternatives.collect::<Result<_, _>>()?,
            draws: self.draws,
            seed: self.seed,
            names_profile: true,
        })
    }

    fn input(&self) -> Result<Input<'_>, InputError> {
        Input::new(&self.captures, self.join)
    }

    /// The files that are read.
    fn files(&self) -> Files {
        Files::reading(self.captures.iter().chain(&self.analysis.guard_log))
    }

    /// How many captures are read, each by itself.
    fn count(&self) -> usize {
        if self.join { 1 } else { self.captures.len() }
    }
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if args.study.study {
        return study::run(args);
    }
    let format = args.format()?;
    let request = args.request()?;
    let settings = args.analysis.settings()?;
    let input = args.input()?;
    if args.output == Path::new("-") {
        check_terminal(format)?;
    }
    let output = Output::create(&mut args.files(), OUTPUT, &args.output)?;
    let bar = CaptureBar::new(args.count() > 1);
    let (all, interrupted) =
        until_interrupted(|| input.each(&bar, |capture| what_if(capture, &request, &settings, &bar)));
    report(&all, &args.captures, |answer| &answer.notes);
    if !all.analyzed.is_empty() {
        output.write(|out| print(args, format, &all.analyzed, out))?;
    }
    end(interrupted, !all.failures.is_empty())
}

fn print(args: &Args, format: Format, answers: &[Analyzed<Answer>], out: &mut (dyn Write + Send)) -> io::Result<()> {
    match format {
        Format::Json => write_answers(answers, args.connections, out),
        Format::Csv | Format::Parquet if args.connections => {
            let rows = |one: &Analyzed<Answer>| one.findings.predictions();
            let rows: Vec<Vec<PredictionRow>> = answers.iter().map(rows).collect();
            let named = answers.iter().zip(&rows).map(|(one, rows)| (&*one.capture, &**rows));
            write_rows(format, &predictions(), args.count(), named, out)
        }
        Format::Csv | Format::Parquet => {
            let named = answers.iter().map(|one| (&*one.capture, &*one.findings.results));
            write_rows(format, &results(), args.count(), named, out)
        }
        _ => write_texts(answers, out, |_, analyzed| {
            let rows = || predictions().to_text(&analyzed.findings.predictions(), &COLUMNS);
            let rows = args.connections.then(|| format!("\n{}\n", rows()));
            answer_text(analyzed) + &rows.unwrap_or_default()
        }),
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
