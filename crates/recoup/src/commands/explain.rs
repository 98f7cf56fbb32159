//! `recoup explain`.

use crate::analysis_args::AnalysisArgs;
use crate::commands::captures::{CaptureBar, end, end_with, until_interrupted, write_text, write_texts};
use crate::output::{Format, OUTPUT, Output, format_or_ending, format_parser};
use crate::{Failure, console};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use recoup_captures::capture::{Input, InputError};
use recoup_captures::explain::{
    Facts, PageRequest, Report, SortBy, connection_text, explain, explain_as_page, explain_connection,
    explanation_text, write_explanations,
};
use recoup_support::output_file::Files;
use recoup_trace::analyze::Settings;
use std::path::PathBuf;

const HELP: &str = "\
Examples:
  recoup explain server.pcap                         # why is it slow?
  recoup explain server.pcap -o report.html          # one page: charts, table, diagrams
  recoup explain server.pcap --connection 136        # one connection, episode by episode
  recoup explain server.pcap --format json --top 100 # for programs
  recoup explain --demo                              # a small lossy web workload, built in

The time lost to an episode of recovery is how much later its data was acknowledged than it would
have been without the loss. docs/explain.md defines every cause and every state.

Exit status: 0 explained; 2 wrong use, or a capture in which nothing can be read (the other captures
are explained all the same).";

/// The formats of explanations.
const FORMATS: &[Format] = &[Format::Table, Format::Json, Format::Html];

/// Connections that a document has, if the user does not say how many.
const MOST_CONNECTIONS: usize = 2_000;

#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// Captures (pcap, pcapng; plain, gzip or zstd), each explained by itself unless they are joined; -
    /// for standard input
    #[arg(required_unless_present = "demo", value_name = "CAPTURE")]
    captures: Vec<PathBuf>,
    /// Explain a small capture that is built in
    #[arg(long, conflicts_with_all = ["captures", "join"])]
    demo: bool,
    /// Explain all files as one capture, in the order of their times
    #[arg(long)]
    join: bool,
    /// Explain this connection (counted from 0) of one capture; a page draws it before the others
    #[arg(long, value_name = "N")]
    connection: Option<u64>,
    #[command(flatten)]
    analysis: AnalysisArgs,
    /// Do not say what would have helped. Saying it takes a second reading of the capture, and reruns up
    /// to 150 connections that retransmitted or lost time
    #[arg(long)]
    no_advice: bool,
    /// Which connections come first
    #[arg(long, value_name = "ORDER", default_value = "time-lost", value_parser = order())]
    sort: SortBy,
    /// How many connections a document has [default: 2000]; text lists 3
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    top: Option<u32>,
    /// Format of the explanation [default: by the ending of --output, .txt, .json or .html; else table]
    #[arg(long, value_parser = format_parser(FORMATS))]
    format: Option<Format>,
    /// Write the explanation to this file; - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
}

/// Reads `--sort`.
fn order() -> impl TypedValueParser<Value = SortBy> {
    let names = SortBy::ALL.map(|order| PossibleValue::new(order.name()));
    PossibleValuesParser::new(names).try_map(|name| {
        let mut orders = SortBy::ALL.into_iter();
        let found = orders.find(|order| order.name() == name);
        found.ok_or("expected one of the possible values")
    })
}

impl Args {
    fn input(&self) -> Result<Input<'_>, InputError> {
        match self.demo {
            true => Ok(Input::Demo),
            false => Input::new(&self.captures, self.join),
        }
    }

    /// How many connections are kept.
    fn most_connections(&self, format: Format) -> usize {
        match (self.top, format) {
            (Some(top), _) => top as usize,
            (None, Format::Table) => 3,
            (None, _) => MOST_CONNECTIONS,
        }
    }

    /// The command that explains a connection of this capture, up to the connection's number.
    fn command(&self, capture: &str) -> String {
        match self.demo {
            true => "recoup explain --demo".into(),
            false if self.join => "recoup explain --join …".into(),
            false => format!("recoup explain {capture}"),
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let format = format_or_ending(args.format, &args.output, FORMATS, Format::Table)?;
    let input = args.input()?;
    let mut files = Files::reading(&args.captures);
    let output = Output::create(&mut files, OUTPUT, &args.output)?;
    let settings = args.analysis.settings()?;
    match (format, args.connection) {
        (Format::Html, _) => page(args, input, &settings, output),
        (_, Some(number)) => one_connection(args, input, number, &settings, output),
        (_, None) => whole_captures(args, input, format, &settings, output),
    }
}

fn whole_captures(
    args: &Args,
    input: Input<'_>,
    format: Format,
    settings: &Settings,
    output: Output,
) -> Result<(), Failure> {
    let bar = CaptureBar::new(args.captures.len() > 1 && !args.join);
    let most = args.most_connections(format);
    let view = || match args.no_advice {
        true => Facts::new(args.sort, most),
        false => Facts::new(args.sort, most).with_advice(),
    };
    let (all, interrupted) = until_interrupted(|| explain(input, settings, &bar, view));
    for failure in &all.failures {
        console::error(&failure.to_string());
    }
    if let Some(note) = &all.rotation {
        console::note(note);
    }
    if !all.analyzed.is_empty() {
        output.write(|out| match format {
            Format::Json => write_explanations(&all.analyzed, out),
            _ => write_texts(&all.analyzed, out, |_, analyzed| {
                explanation_text(&Report::new(analyzed), &args.command(&analyzed.capture))
            }),
        })?;
    }
    end(interrupted, !all.failures.is_empty())
}

/// Checks that there is one capture.
fn check_one(args: &Args, what: &str) -> Result<(), Failure> {
    match args.captures.len() > 1 && !args.join {
        true => Err(Failure::Wrong(format!("{what}: expected one capture, or --join"))),
        false => Ok(()),
    }
}

fn page(args: &Args, input: Input<'_>, settings: &Settings, output: Output) -> Result<(), Failure> {
    check_one(args, "--format html")?;
    let request = PageRequest {
        order: args.sort,
        most: args.most_connections(Format::Html),
        first: args.connection,
        advice: !args.no_advice,
    };
    let bar = CaptureBar::new(false);
    let (page, interrupted) = until_interrupted(|| explain_as_page(input, request, settings, &bar));
    let written = page.map_err(Failure::from).and_then(|page| write_text(output, &page.to_html()));
    end_with(written, interrupted)
}

fn one_connection(
    args: &Args,
    input: Input<'_>,
    number: u64,
    settings: &Settings,
    output: Output,
) -> Result<(), Failure> {
    check_one(args, "--connection")?;
    let bar = CaptureBar::new(false);
    let (explained, interrupted) = until_interrupted(|| explain_connection(input, number, settings, &bar));
    let written = explained.map_err(Failure::from).and_then(|analyzed| {
        let text = connection_text(&analyzed).unwrap_or_default();
        write_text(output, &text)
    });
    end_with(written, interrupted)
}
