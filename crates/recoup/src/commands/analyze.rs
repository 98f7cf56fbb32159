//! `recoup analyze`.

pub mod call;
mod plot;
mod slp;
mod state;
mod views;

use crate::Failure;
use crate::analysis_args::AnalysisArgs;
use crate::output::{Format, OUTPUT, check_terminal, format_or_ending, format_parser};
use plot::plot;
use recoup_captures::analysis::{AllConnections, AllEpisodes, AllRetransmissions, Continued, Summary, Tabular};
use recoup_captures::capture::{Input, InputError};
use recoup_support::output_file::Files;
use recoup_support::suggest::did_you_mean;
use recoup_trace::analyze::Settings;
use state::go_on;
use std::path::{Path, PathBuf};
use views::show;

const HELP: &str = "\
Triggers: fast, early, rto, slow_start, tlp, syn, syn_ack, unknown. Two timers that fire at the same
instant are joined, as in tlp|rto. Verdicts: needed; spurious, if an earlier copy of every byte
arrived; unknowable, if the capture does not show whether one did.

--join analyzes the files of one capture as one, as tcpdump -C, -G or -W and dumpcap write them:
`recoup analyze --join dumps/*.pcap`. Files are read in the order of their times, whatever the order
given, and connections go on from one file to the next. Frames are numbered through all files; the
columns file and file_frame say where each frame is. Notes say where files overlap, or where one
seems to be missing.

--filter keeps connections, not packets: a connection is analyzed whole if the expression matches a
packet of either direction. It takes host, net, port, portrange, src, dst, ip, ip6, tcp, and, or,
not and parentheses, as pcap-filter(7) defines them. The other connections are only numbered and
counted, which is quicker. --from and --to leave out packets: connections that are open at --from
begin there, and those open at --to are cut off there. Frames and connections keep the numbers that
they have in the whole capture. If nothing is left, a note says so, and the exit status is 0.

--plot N draws a connection with all findings: it is short for `recoup plot CAPTURE --connection N`,
which has more options.

--summary keeps only open connections in memory; the other views keep all their rows until the last
capture is read. An interrupt (Ctrl-C) ends the reading; the packets read so far are analyzed, and
the findings are printed.

--state FILE lets one analysis go on in later captures, for example as tcpdump fills a directory:
`recoup analyze --state day.state --retransmissions --format csv dumps/*.pcap`, again and again.
Each run reads only what is new, and its connections go on across files. Each run shows what an
analysis of everything so far shows: all totals, but only those rows that are new or have changed. A
row is new, revised or withdrawn; the column record says which. The latest record of every key
(frame and seq; connection and capture_point; for --episodes also side, frame and cause) is the row
of one analysis of all captures. FILE is replaced after the findings are printed, also after an
interrupt: the next run goes on where the reading stopped. If anything fails, FILE stays as it was.
--merge-state adds the totals of analyses of other connections, made with --state elsewhere. Without
captures, the totals of FILE are shown.

--study=slp shows which losses cause timeouts, as the 2021 paper on selective loss prevention does.
It classifies each retransmission as timeout or fast retransmission in three ways: by k-means on the
intervals, by the triggers that Recoup finds, and by Wireshark's rule. It counts timeouts by
position, flags and kind of the lost packet, and computes what duplicated SYNs would save. CSV and
Parquet have a row for each retransmission. --figures draws timeouts by position and by flags.

A file merged from captures at several points is analyzed point by point, and a note says so.

Exit status: 0 analyzed, with notes on standard error where a capture is cut off or partly
unreadable; 2 wrong use, a capture in which nothing can be read, or a merged file whose capture
points cannot be told apart (the other captures are analyzed and printed all the same).";

/// Options that name files, besides the output.
const STATE: &str = "--state";
const LIKELIHOODS: &str = "--likelihoods";

/// The formats that findings can be printed in.
const FORMATS: &[Format] = &[Format::Table, Format::Json, Format::Csv, Format::Parquet];

#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// Captures (pcap, pcapng; plain, gzip or zstd), each analyzed by itself unless they are joined; -
    /// for standard input
    #[arg(required_unless_present_any = ["state", "merge_state"], value_name = "CAPTURE")]
    captures: Vec<PathBuf>,
    #[command(flatten)]
    analysis: AnalysisArgs,
    /// Analyze all files as one capture, in the order of their times
    #[arg(long)]
    join: bool,
    /// Show the totals of each capture (the default view)
    #[arg(long, group = "view")]
    summary: bool,
    /// Show every connection, with what each end sent
    #[arg(long, group = "view")]
    connections: bool,
    /// Show every retransmission, in the order of the capture
    #[arg(long, group = "view")]
    retransmissions: bool,
    /// Show the time lost: a row for each episode of recovery and each late ACK, with its cause; what was lost
    /// otherwise has a row for each connection, sender and cause
    #[arg(long, group = "view")]
    episodes: bool,
    /// Draw this connection (counted from 0) of one capture, with every verdict marked, as
    /// `recoup plot --connection` does; the ending of --output names the format
    #[arg(
        long,
        group = "view",
        value_name = "CONNECTION",
        value_parser = connection,
        allow_hyphen_values = true,
        conflicts_with = "format"
    )]
    plot: Option<u64>,
    /// Show the tables of a paper [default: loss-detection]. loss-detection: the summary, then the tables of
    /// the 2007 study of loss detection (JSON has them without --study, too). slp: only the tables of the
    /// 2021 paper on selective loss prevention
    #[arg(
        long,
        value_name = "PAPER",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = LOSS_DETECTION,
        value_parser = paper,
        conflicts_with_all = ["connections", "episodes", "retransmissions", "plot"]
    )]
    study: Option<Paper>,
    /// Format of the findings [default: by the ending of --output, .txt, .json, .csv or .parquet; else
    /// table]
    #[arg(long, value_parser = format_parser(FORMATS))]
    format: Option<Format>,
    /// Write the findings to this file; - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Draw the figures of the 2007 study of loss detection as SVG files in this folder. Figure 1 (bytes)
    /// has a line for each capture; Figures 2 and 3 have a line for each system, of all captures together.
    /// With --study=slp: draw the figures of the 2021 paper, for one capture
    #[arg(long, value_name = "DIR", conflicts_with_all = ["connections", "episodes", "retransmissions", "plot"])]
    figures: Option<PathBuf>,
    /// With --study=slp: write a CSV file with the probability that the loss of a packet causes a timeout,
    /// for each kind of packet in one capture. `recoup run --set slp.q=FILE` reads it
    #[arg(long, value_name = "FILE", conflicts_with = "plot")]
    likelihoods: Option<PathBuf>,
    /// Go on from the analysis in this file, and save it there for the next run; the first run creates
    /// the file. The captures are joined
    #[arg(long, value_name = "FILE", conflicts_with = "plot")]
    state: Option<PathBuf>,
    /// Add the totals in this file, which --state wrote for other connections; may be repeated
    #[arg(long, value_name = "FILE", conflicts_with_all = ["plot", "connections", "episodes", "retransmissions"])]
    merge_state: Vec<PathBuf>,
}

/// A paper whose tables are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Paper {
    LossDetection,
    Slp,
}

const LOSS_DETECTION: &str = "loss-detection";
const SLP: &str = "slp";

fn paper(text: &str) -> Result<Paper, String> {
    match text {
        LOSS_DETECTION => Ok(Paper::LossDetection),
        SLP => Ok(Paper::Slp),
        _ => Err(format!("expected {LOSS_DETECTION} or {SLP}{}", did_you_mean(text, [LOSS_DETECTION, SLP]))),
    }
}

impl Args {
    /// Whether all captures are one.
    fn is_joined(&self) -> bool {
        self.join || self.has_state()
    }

    /// Whether the run begins with the states of other runs, or leaves one.
    fn has_state(&self) -> bool {
        self.state.is_some() || !self.merge_state.is_empty()
    }

    /// The files that are read, but for the state, which is replaced.
    fn files(&self) -> Files {
        Files::reading(self.captures.iter().chain(&self.merge_state).chain(&self.analysis.guard_log))
    }

    fn input(&self) -> Result<Input<'_>, InputError> {
        Input::new(&self.captures, self.is_joined())
    }

    /// How many captures are analyzed, each by itself.
    fn count(&self) -> usize {
        if self.is_joined() { 1 } else { self.captures.len() }
    }

    /// The format of `--format`, or else of the output file's ending.
    fn format(&self) -> Result<Format, Failure> {
        match self.plot {
            Some(_) => Ok(Format::Svg),
            None => format_or_ending(self.format, &self.output, FORMATS, Format::Table),
        }
    }
}

fn connection(text: &str) -> Result<u64, String> {
    let number = text.parse();
    number.map_err(|_| "expected a connection's number, from 0".into())
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let settings = args.analysis.settings()?;
    check_paths(args)?;
    if let Some(number) = args.plot {
        plot(args, number, &settings)
    } else if args.study == Some(Paper::Slp) {
        slp::show(args, &settings)
    } else if args.retransmissions {
        show_view::<AllRetransmissions>(args, &settings)
    } else if args.episodes {
        show_view::<AllEpisodes>(args, &settings)
    } else if args.connections {
        show_view::<AllConnections>(args, &settings)
    } else {
        show_view::<Summary>(args, &settings)
    }
}

fn show_view<V: Tabular + Continued<Shown: Tabular>>(args: &Args, settings: &Settings) -> Result<(), Failure> {
    match args.has_state() {
        true => go_on::<V>(args, settings),
        false => show::<V>(args, settings),
    }
}

/// Checks that all captures can be read and none is overwritten, and that a terminal gets no binary data.
fn check_paths(args: &Args) -> Result<(), Failure> {
    if args.state.is_none() && args.has_state() && !args.captures.is_empty() {
        let line = "--merge-state: expected no captures, or --state FILE to save the analysis in";
        return Err(Failure::Wrong(line.into()));
    }
    if args.has_state() && !args.analysis.guard_log.is_empty() {
        let line =
            "--guard-log: expected no --state and no --merge-state: a state does not keep which copies were found";
        return Err(Failure::Wrong(line.into()));
    }
    check_study(args)?;
    check_overwriting(args)?;
    let to_stdout = args.output == Path::new("-");
    let format = args.format()?;
    if args.study == Some(Paper::LossDetection) && matches!(format, Format::Csv | Format::Parquet) {
        let line = "--study: expected --format table or json: CSV and Parquet have no study tables";
        return Err(Failure::Wrong(line.into()));
    }
    if to_stdout {
        check_terminal(format)?;
    }
    args.input()?;
    Ok(())
}

/// Checks what goes with `--study`.
fn check_study(args: &Args) -> Result<(), Failure> {
    check_equals_sign(args)?;
    let is_slp = args.study == Some(Paper::Slp);
    let several = args.count() > 1;
    let line = match is_slp {
        true if several && args.figures.is_some() => "--study=slp --figures: expected one capture, or --join",
        true if several && args.likelihoods.is_some() => "--likelihoods: expected one capture, or --join",
        true if args.has_state() => {
            "--study=slp: expected no --state and no --merge-state: it reads each capture twice"
        }
        true if args.summary => "--study=slp: expected no --summary: it shows the tables of the paper alone",
        false if args.likelihoods.is_some() => "--likelihoods: expected --study=slp",
        _ => return Ok(()),
    };
    Err(Failure::Wrong(line.into()))
}

/// Notices the paper after a space, where it counts as a capture.
fn check_equals_sign(args: &Args) -> Result<(), Failure> {
    let is_paper = |path: &&PathBuf| {
        let mut papers = [LOSS_DETECTION, SLP].iter();
        papers.any(|paper| path.as_os_str() == *paper) && !path.exists()
    };
    let found = args.captures.iter().find(is_paper);
    match found.filter(|_| args.study.is_some()) {
        Some(paper) => {
            let paper = paper.display();
            let line = format!("--study {paper}: expected an equals sign: --study={paper}");
            Err(Failure::Wrong(line))
        }
        None => Ok(()),
    }
}

/// Checks that nothing that is read is overwritten, and that all outputs are apart.
fn check_overwriting(args: &Args) -> Result<(), Failure> {
    let mut files = args.files();
    for (option, path) in
        [(OUTPUT, Some(&args.output)), (STATE, args.state.as_ref()), (LIKELIHOODS, args.likelihoods.as_ref())]
    {
        path.map_or(Ok(()), |path| files.write(option, path))?;
    }
    Ok(())
}
