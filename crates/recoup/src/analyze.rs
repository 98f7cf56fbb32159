//! `recoup analyze`.

mod captures;
mod output;
mod plot;
mod views;

use crate::Failure;
use clap::ValueEnum;
use plot::plot;
use recoup_lab::analysis::{AllConnections, AllRetransmissions, Summary};
use recoup_lab::output_file::same_file;
use recoup_lab::quantity::parse_duration;
use recoup_lab::scenario::parse_profile;
use recoup_trace::analyze::Settings;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Duration;
use views::show;

const HELP: &str = "\
Triggers: fast, early, rto, slow_start, tlp, syn, syn_ack, unknown; two timers that fire at one
instant are joined, as in tlp|rto. Verdicts: needed; spurious, if an earlier copy of every byte
arrived; unknowable, where the capture does not tell.

A capture that was written in parts is analyzed as one by `cat a.pcap b.pcap | recoup analyze -`.

--plot draws time to the right and sequence numbers upwards, of the direction that sent more again:
first transmissions black, needed retransmissions red, spurious ones blue with a cross, unknowable
ones grey with a diamond, each with its trigger. The capture is read twice.

--summary keeps no more than the connections that are open; the other views keep all of their rows
until the last capture is read. An interrupt (Ctrl-C) ends the reading; what was read till then is
analyzed and printed.

Exit status: 0 analyzed, with notes on standard error where a capture is not whole or not all of it
can be read; 2 wrong use, or a capture in which nothing can be read: the others are analyzed and
printed all the same.";

#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Captures (pcap, pcapng; plain, gzip or zstd), each analyzed by itself; - for standard input
    #[arg(required = true, value_name = "CAPTURE")]
    captures: Vec<PathBuf>,
    /// Show what is in each capture, in all (the usual view)
    #[arg(long, group = "view")]
    summary: bool,
    /// Show every connection, and what either end sent
    #[arg(long, group = "view")]
    connections: bool,
    /// Show every retransmission, in the order of frames
    #[arg(long, group = "view")]
    retransmissions: bool,
    /// Of one capture: draw this connection, its number from 0, with every verdict marked; SVG, or
    /// xplot where --output ends in .xpl
    #[arg(
        long,
        group = "view",
        value_name = "CONNECTION",
        value_parser = connection,
        allow_hyphen_values = true,
        conflicts_with = "format"
    )]
    plot: Option<u64>,
    /// Show the tables of the 2007 loss detection study as well; JSON always has them
    #[arg(long, conflicts_with_all = ["connections", "retransmissions", "plot"])]
    study: bool,
    /// How to print it [default: as the ending of --output says, .json, .csv or .parquet; else table]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Write it to this file; - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Of one capture: draw the figures of the 2007 loss detection study for it (SVG) into this folder
    #[arg(long, value_name = "DIR", conflicts_with_all = ["connections", "retransmissions", "plot"])]
    figures: Option<PathBuf>,
    /// Take every sender to be of this profile, such as linux-6 or linux-3.17+tlp [default: of the
    /// one that explains most]
    #[arg(long, value_name = "PROFILE")]
    profile: Option<String>,
    /// A connection that is silent for so long is over
    #[arg(
        long,
        value_name = "TIME",
        default_value = "15min",
        value_parser = idle,
        allow_hyphen_values = true
    )]
    idle: Duration,
    /// Read and analyze on so many threads [default: one a core]
    #[arg(long, value_name = "N", value_parser = threads, allow_hyphen_values = true)]
    threads: Option<usize>,
}

impl Args {
    fn format(&self) -> Format {
        let ending = self.output.extension().and_then(|ending| ending.to_str());
        let by_ending = || match ending.map(str::to_ascii_lowercase).as_deref() {
            Some("json") => Format::Json,
            Some("csv") => Format::Csv,
            Some("parquet") => Format::Parquet,
            _ => Format::Table,
        };
        self.format.unwrap_or_else(by_ending)
    }
}

/// How findings are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For reading
    Table,
    /// For programs
    Json,
    /// For spreadsheets
    Csv,
    /// For data frames and databases
    Parquet,
}

fn idle(text: &str) -> Result<Duration, String> {
    match parse_duration(text)? {
        Duration::ZERO => Err("expected more than 0".into()),
        idle => Ok(idle),
    }
}

fn connection(text: &str) -> Result<u64, String> {
    let number = text.parse();
    number.map_err(|_| "expected a connection's number, from 0".into())
}

fn threads(text: &str) -> Result<usize, String> {
    let number = text.parse().ok();
    let number = number.filter(|number| (1..=1024).contains(number));
    number.ok_or_else(|| "expected a number from 1 to 1024".into())
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let settings = settings(args)?;
    check_paths(args)?;
    if let Some(number) = args.plot {
        plot(args, number, &settings)
    } else if args.retransmissions {
        show::<AllRetransmissions>(args, &settings)
    } else if args.connections {
        show::<AllConnections>(args, &settings)
    } else {
        show::<Summary>(args, &settings)
    }
}

fn settings(args: &Args) -> Result<Settings, Failure> {
    let usual = Settings::default();
    let profile = args.profile.as_deref().map(|text| {
        parse_profile(text).map_err(|e| {
            let all = "`recoup profiles` lists what there is";
            Failure::Wrong(format!("--profile {text}: {e} ({all})"))
        })
    });
    Ok(Settings {
        profile: profile.transpose()?,
        idle: args.idle,
        threads: args.threads.map_or(usual.threads, |n| n - 1),
        ..usual
    })
}

/// Checks that nothing is read twice where it cannot be, nor read and written, nor printed where it
/// would do harm.
fn check_paths(args: &Args) -> Result<(), Failure> {
    let is_stdin = |path: &&PathBuf| path.as_path() == Path::new("-");
    if args.captures.iter().filter(is_stdin).count() > 1 {
        let line = "-: standard input can be read only once";
        return Err(Failure::Wrong(line.into()));
    }
    if args.figures.is_some() && args.captures.len() > 1 {
        let line = "--figures: of one capture: expected no other";
        return Err(Failure::Wrong(line.into()));
    }
    if args.study && matches!(args.format(), Format::Csv | Format::Parquet) {
        let line = "--study: not in rows: expected --format table or json";
        return Err(Failure::Wrong(line.into()));
    }
    let to_stdout = args.output == Path::new("-");
    if to_stdout && args.format() == Format::Parquet && io::stdout().is_terminal() {
        let line = "--format parquet: not for a terminal: expected --output FILE, or a pipe";
        return Err(Failure::Wrong(line.into()));
    }
    for capture in args.captures.iter().filter(|_| !to_stdout) {
        let (input, name) = match is_stdin(&capture) {
            true => (Path::new("/dev/stdin"), "standard input".to_owned()),
            false => (capture.as_path(), capture.display().to_string()),
        };
        if same_file(input, &args.output) {
            let output = args.output.display();
            return Err(Failure::Wrong(format!(
                "cannot write `{output}`: it is {name}, which is read"
            )));
        }
    }
    captures::check(&args.captures)
}
