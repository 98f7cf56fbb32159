//! `recoup explain`.

mod screen;

use crate::analysis_args::AnalysisArgs;
use crate::commands::captures::{
    CaptureBar, end, end_with, print_notes, until_interrupted, write_rows, write_text, write_texts,
};
use crate::output::{Format, OUTPUT, Output, check_terminal, format_or_ending, format_parser};
use crate::{Failure, console};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use recoup_captures::analysis::Analyzed;
use recoup_captures::capture::{Captures, Input, InputError};
use recoup_captures::explain::{
    Facts, GroupBy, GroupRow, MOST_CONNECTIONS, PageRequest, Report, SortBy, TextShape, Total, connection_text,
    explain, explain_all, explain_as_page, explain_connection, explain_live, explanation_text, group_columns,
    group_rows, write_connection, write_explanations,
};
use recoup_support::output_file::Files;
use recoup_support::quantity::parse_duration;
use recoup_trace::analyze::Settings;
use screen::{Interruptible, Screen};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

const HELP: &str = "\
Examples:
  recoup explain server.pcap                         # why is it slow?
  recoup explain server.pcap -o report.html          # one page: charts, table, diagrams
  recoup explain server.pcap --by server             # which server?
  recoup explain server.pcap --by prefix:24 --by port -o groups.csv
  recoup explain monday/*.pcap                       # all together, and a row a file
  recoup explain a.pcap b.pcap -o report.html        # one page: sums, and each capture
  recoup explain server.pcap --connection 136        # one connection, episode by episode
  recoup explain server.pcap --format json --top 100 # for programs
  recoup explain server.sqlog                        # QUIC, from a trace of one end (qlog)
  tcpdump -U -w - tcp | recoup explain -             # live: an answer every 5 s, until Ctrl-C
  recoup explain --demo                              # a small lossy web workload, built in

The time lost to an episode of recovery is how much later its data was acknowledged than it would
have been without the loss. docs/explain.md defines every cause and every state; docs/qlog.md says
what traces of QUIC show.

Exit status: 0 explained; 2 wrong use, or a capture in which nothing can be read (the other captures
are explained all the same).";

/// The formats of explanations.
const FORMATS: &[Format] = &[Format::Table, Format::Json, Format::Html, Format::Csv, Format::Parquet];

/// Connections and groups that a text lists, if the user does not say how many.
const LISTED: (usize, usize) = (3, 20);

/// The longest text on a terminal or in a pipe, in lines.
const LINES: usize = 80;

/// What shows what a text leaves out.
const ALL: &str = "--all shows them";

/// The time between two answers on a terminal.
const EVERY: Duration = Duration::from_secs(5);

#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// Captures (pcap, pcapng) or traces of QUIC (qlog), plain or compressed by gzip or zstd; several are explained together,
    /// with a row a file; - for standard input
    #[arg(required_unless_present = "demo", value_name = "CAPTURE")]
    captures: Vec<PathBuf>,
    /// Explain a small capture that is built in
    #[arg(long, conflicts_with_all = ["captures", "join"])]
    demo: bool,
    /// Explain all files as one capture, in the order of their times: connections go on from file to file
    #[arg(long)]
    join: bool,
    /// Explain each of several captures by itself
    #[arg(long, conflicts_with = "join")]
    each: bool,
    /// Explain this connection (counted from 0) of one capture; a page draws it before the others
    #[arg(long, value_name = "N")]
    connection: Option<u64>,
    /// Which group of connections lost most: by server, client, prefix:24 (the client's network; IPv6: /48, or as in
    /// prefix:24,56), port (the server's), path (server and client's network) or capture; may be repeated
    #[arg(long, value_name = "KEY", conflicts_with = "connection")]
    by: Vec<GroupBy>,
    #[command(flatten)]
    analysis: AnalysisArgs,
    /// Do not say what would have helped. Saying it takes a second reading of the capture, and reruns up
    /// to 150 connections that retransmitted or lost time
    #[arg(long)]
    no_advice: bool,
    /// Which connections and groups come first
    #[arg(long, value_name = "ORDER", default_value = "time-lost", value_parser = order())]
    sort: SortBy,
    /// How many connections a document has [default: 2000], and how many connections [default: 3] and groups
    /// [default: 20] a text lists
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    top: Option<u32>,
    /// Leave out lines of a text beyond this number, the least important first [default: 80 on standard output; a file has
    /// all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "all")]
    lines: Option<u32>,
    /// Leave nothing out of a text
    #[arg(long)]
    all: bool,
    /// Explain what was read so far, again and again after this time, as of a capture that is being written [default: 5s if
    /// standard input is explained on a terminal]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, conflicts_with_all = ["connection", "each"])]
    every: Option<Duration>,
    /// Format of the explanation [default: by the ending of --output, .txt, .json, .html, .csv or .parquet; else table].
    /// CSV and Parquet have a row for each group of --by, or else for each capture
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
            (None, Format::Table) if !self.all => LISTED.0,
            (None, _) => MOST_CONNECTIONS,
        }
    }

    /// Whether captures are explained together.
    fn is_total(&self) -> bool {
        self.captures.len() > 1 && !self.join && !self.each
    }

    /// What connections are grouped by. Tables have rows of something.
    fn by(&self, format: Format) -> Vec<GroupBy> {
        match self.by.is_empty() && matches!(format, Format::Csv | Format::Parquet) {
            true => vec![GroupBy::Capture],
            false => self.by.clone(),
        }
    }

    /// What collects the facts of a capture.
    fn facts(&self, format: Format) -> Facts {
        Facts::new(self.sort, self.most_connections(format)).with_groups(&self.by(format))
    }

    /// The shape of a text about this capture; `None`: about several.
    fn shape(&self, capture: Option<&str>) -> TextShape {
        let is_file = self.output != Path::new("-");
        let all = self.all || (is_file && self.lines.is_none());
        let top = self.top.map(|top| top as usize);
        TextShape {
            lines: (!all).then(|| self.lines.map_or(LINES, |lines| lines as usize)),
            connections: top.unwrap_or(if self.all { usize::MAX } else { LISTED.0 }),
            groups: top.unwrap_or(if all { usize::MAX } else { LISTED.1 }),
            one_connection: match (self.demo, self.join, capture) {
                (true, ..) => "recoup explain --demo --connection".into(),
                (_, true, _) => "recoup explain --join … --connection".into(),
                (.., Some(capture)) => format!("recoup explain {capture} --connection"),
                (.., None) => "recoup explain CAPTURE --connection".into(),
            },
            option: "--",
            all: ALL,
        }
    }

    /// The time between two answers, if there are several.
    fn every(&self, format: Format) -> Option<Duration> {
        let is_stdin = self.captures.len() == 1 && self.captures[0] == Path::new("-");
        let on_terminal = self.output == Path::new("-") && format == Format::Table && io::stdout().is_terminal();
        self.every.or_else(|| (is_stdin && on_terminal).then_some(EVERY))
    }
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let format = format_or_ending(args.format, &args.output, FORMATS, Format::Table)?;
    check(args, format)?;
    let input = args.input()?;
    let mut files = Files::reading(args.captures.iter().chain(&args.analysis.guard_log));
    let output = Output::create(&mut files, OUTPUT, &args.output)?;
    let settings = args.analysis.settings()?;
    match (format, args.connection) {
        (Format::Html, _) => page(args, input, &settings, output),
        (_, Some(number)) => one_connection(args, input, number, format, &settings, output),
        (..) => match args.every(format) {
            Some(every) => live(args, input, &settings, every, output),
            None if args.is_total() && format != Format::Json => total(args, input, format, &settings, output),
            None => whole_captures(args, input, format, &settings, output),
        },
    }
}

/// Checks what goes together.
fn check(args: &Args, format: Format) -> Result<(), Failure> {
    let is_table = matches!(format, Format::Csv | Format::Parquet);
    if args.output == Path::new("-") {
        check_terminal(format)?;
    }
    let wrong = |line: &str| Err(Failure::Wrong(line.into()));
    match format {
        _ if is_table && args.connection.is_some() => {
            wrong("--connection: expected --format table, json or html: CSV and Parquet have rows of groups")
        }
        _ if args.every.is_some() && format != Format::Table => wrong("--every: expected --format table"),
        _ if args.every.is_some() => check_one(args, "--every"),
        _ => Ok(()),
    }
}

/// Explains captures together.
fn total(args: &Args, input: Input<'_>, format: Format, settings: &Settings, output: Output) -> Result<(), Failure> {
    let bar = CaptureBar::new(true);
    let mut total = Total::new(args.sort, args.most_connections(format), &args.by(format));
    let view = || args.facts(format);
    let (all, interrupted) = until_interrupted(|| explain_all(input, settings, &bar, &mut total, view));
    print_failures(&all);
    // A text has the notes itself.
    if format != Format::Table {
        total.notes().iter().for_each(console::note);
    }
    if total.captures > 0 {
        output.write(|out| match format {
            Format::Table => out.write_all(explanation_text(&Report::of_all(&total), &args.shape(None)).as_bytes()),
            _ => {
                let mut rows = group_rows(&total.facts);
                // Rows of other groups would count the same connections twice.
                rows.retain(|row| args.by(format).iter().any(|by| by.to_string() == row.by));
                write_groups(&[(String::new(), rows)], format, out)
            }
        })?;
    }
    end(interrupted, !all.failures.is_empty())
}

/// The captures together.
fn total_of(args: &Args, captures: &[Analyzed<Facts>]) -> Total {
    let mut total = Total::new(args.sort, args.most_connections(Format::Json), &args.by);
    captures.iter().for_each(|analyzed| total.add(analyzed));
    total
}

fn print_failures<V>(all: &Captures<V>) {
    for failure in &all.failures {
        console::error(&failure.to_string());
    }
    if let Some(note) = &all.rotation {
        console::note(note);
    }
}

/// Writes groups as CSV or Parquet: those of all captures together, or of each.
fn write_groups(captures: &[(String, Vec<GroupRow>)], format: Format, out: &mut (dyn Write + Send)) -> io::Result<()> {
    let parts = captures.iter().map(|(name, rows)| (&**name, &**rows));
    write_rows(format, &group_columns(), captures.len(), parts, out)
}

/// Explains each capture.
fn whole_captures(
    args: &Args,
    input: Input<'_>,
    format: Format,
    settings: &Settings,
    output: Output,
) -> Result<(), Failure> {
    let bar = CaptureBar::new(args.captures.len() > 1 && !args.join);
    let view = || match args.no_advice {
        true => args.facts(format),
        false => args.facts(format).with_advice(),
    };
    let (all, interrupted) = until_interrupted(|| explain(input, settings, &bar, view));
    print_failures(&all);
    if matches!(format, Format::Csv | Format::Parquet) {
        all.analyzed.iter().for_each(|analyzed| print_notes(analyzed, &[]));
    }
    if !all.analyzed.is_empty() {
        output.write(|out| match format {
            Format::Json => {
                let total = args.is_total().then(|| total_of(args, &all.analyzed));
                write_explanations(&all.analyzed, total.as_ref(), out)
            }
            Format::Table => write_texts(&all.analyzed, out, |_, analyzed| {
                explanation_text(&Report::new(analyzed), &args.shape(Some(&analyzed.capture)))
            }),
            _ => {
                let rows = |analyzed: &Analyzed<Facts>| (analyzed.capture.clone(), group_rows(&analyzed.findings));
                write_groups(&all.analyzed.iter().map(rows).collect::<Vec<_>>(), format, out)
            }
        })?;
    }
    end(interrupted, !all.failures.is_empty())
}

/// Explains a capture while it is written.
fn live(args: &Args, input: Input<'_>, settings: &Settings, every: Duration, output: Output) -> Result<(), Failure> {
    let mut screen = Screen::new();
    let (analyzed, interrupted) = until_interrupted(|| {
        input.first(&Interruptible, |capture| {
            let view = || args.facts(Format::Table);
            explain_live(capture, settings, &Interruptible, view, every, |so_far| {
                let mut shape = args.shape(Some(&so_far.capture));
                shape.lines = screen.most_lines().or(shape.lines);
                screen.show(&explanation_text(&Report::new(so_far), &shape));
            })
        })
    });
    screen.clear();
    let written = analyzed.map_err(Failure::from).and_then(|analyzed| {
        let text = explanation_text(&Report::new(&analyzed), &args.shape(Some(&analyzed.capture)));
        write_text(output, &text)
    });
    end_with(written, interrupted)
}

/// Checks that there is one capture.
fn check_one(args: &Args, what: &str) -> Result<(), Failure> {
    match args.captures.len() > 1 && !args.join {
        true => Err(Failure::Wrong(format!("{what}: expected one capture, or --join"))),
        false => Ok(()),
    }
}

fn page(args: &Args, input: Input<'_>, settings: &Settings, output: Output) -> Result<(), Failure> {
    if args.connection.is_some() {
        check_one(args, "--connection")?;
    }
    let request = PageRequest {
        order: args.sort,
        most: args.most_connections(Format::Html),
        first: args.connection,
        advice: !args.no_advice,
        by: &args.by,
    };
    let bar = CaptureBar::new(args.captures.len() > 1 && !args.join);
    let (made, interrupted) = until_interrupted(|| explain_as_page(input, request, settings, &bar));
    for failure in &made.failures {
        console::error(&failure.to_string());
    }
    if let Some(mut page) = made.page {
        if let Some(filter) = &settings.filter {
            page.summary = format!("Only the connections that the filter `{filter}` selects. {}", page.summary);
        }
        write_text(output, &page.to_html())?;
    }
    end(interrupted, !made.failures.is_empty())
}

fn one_connection(
    args: &Args,
    input: Input<'_>,
    number: u64,
    format: Format,
    settings: &Settings,
    output: Output,
) -> Result<(), Failure> {
    check_one(args, "--connection")?;
    let bar = CaptureBar::new(false);
    let (explained, interrupted) = until_interrupted(|| explain_connection(input, number, settings, &bar));
    let written = explained.map_err(Failure::from).and_then(|analyzed| match format {
        Format::Json => output.write(|out| write_connection(&analyzed, out)),
        _ => {
            let text = connection_text(&analyzed, &args.shape(Some(&analyzed.capture)));
            write_text(output, &text.unwrap_or_default())
        }
    });
    end_with(written, interrupted)
}
