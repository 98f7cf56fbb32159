//! `recoup analyze`.

use crate::{Failure, interrupt};
use clap::ValueEnum;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use recoup_lab::analysis::{
    self, AllConnections, AllRetransmissions, Analyzed, Columns, Document, OneConnection, Rows,
    Summary, View,
};
use recoup_lab::output_file::{OutputFile, create_folder, same_file};
use recoup_lab::quantity::parse_duration;
use recoup_lab::scenario::parse_profile;
use recoup_lab::sequence::{Diagram, explain};
use recoup_lab::study::figures;
use recoup_trace::analyze::Settings;
use recoup_trace::read::Reader;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

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
can be read; 2 wrong use, or a capture in which nothing can be read.";

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
        conflicts_with = "format"
    )]
    plot: Option<u64>,
    /// Show the tables of the 2007 loss detection study as well; JSON always has them
    #[arg(long, conflicts_with_all = ["connections", "retransmissions", "plot"])]
    study: bool,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
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
    #[arg(long, value_name = "TIME", default_value = "15min", value_parser = idle)]
    idle: Duration,
    /// Read and analyze on so many threads [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
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

/// Draws a connection with what was found of it.
fn plot(args: &Args, number: u64, settings: &Settings) -> Result<(), Failure> {
    let [path] = args.captures.as_slice() else {
        let line = "--plot: of one capture: expected no other";
        return Err(Failure::Wrong(line.into()));
    };
    check_rereadable(path)?;
    let is_xplot = is_xplot(&args.output)?;
    let output = Output::create(&args.output)?;
    let name = path.display().to_string();
    let diagram = explained(path, &name, number, settings)?;
    let picture = match is_xplot {
        true => diagram.to_xplot(0).unwrap_or_default(),
        false => diagram.to_svg(),
    };
    output.write(|out| out.write_all(picture.as_bytes()))
}

/// The picture of a connection; notes go to standard error.
fn explained(
    path: &Path,
    name: &str,
    number: u64,
    settings: &Settings,
) -> Result<Diagram, Failure> {
    let reader = Reader::open(path)?;
    let (bar, view) = (progress(&reader), || OneConnection::of(number));
    let analyzed = analyze_one(name, reader, settings, &bar, view)?;
    let mut notes = analyzed.notes();
    let connections = analyzed.found.connections();
    let Some((connection, retransmissions)) = analyzed.found.row else {
        return Err(no_connection(name, number, connections));
    };
    let source = explain(Reader::open(path)?, &connection, &retransmissions)?;
    for note in source.notes {
        // What the capture is lacking, both readings tell.
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    for note in notes {
        eprintln!("recoup: note: {name}: {note}");
    }
    let diagram = Diagram {
        title: source.title,
        panels: source.panels,
        ..Diagram::default()
    };
    if diagram.is_blank() {
        let line = format!("{name}: nothing to draw: no data goes either way");
        return Err(Failure::Wrong(line));
    }
    Ok(diagram)
}

/// Checks that a capture is still there when it was read once; of what cannot be opened, opening
/// tells.
fn check_rereadable(path: &Path) -> Result<(), Failure> {
    let is_stream = path.metadata().is_ok_and(|m| !m.is_file() && !m.is_dir());
    if path == Path::new("-") || is_stream {
        let name = path.display();
        let line = format!("{name}: --plot reads the capture twice: expected a file");
        return Err(Failure::Wrong(line));
    }
    Ok(())
}

/// Whether a picture is for xplot, by the ending of its file.
fn is_xplot(output: &Path) -> Result<bool, Failure> {
    let ending = output.extension().map(|e| e.to_ascii_lowercase());
    match ending.as_deref().and_then(|e| e.to_str()) {
        _ if output == Path::new("-") => Ok(false),
        Some("svg") => Ok(false),
        Some("xpl") => Ok(true),
        _ => Err(Failure::Wrong(format!(
            "--output {}: expected a name that ends in .svg or .xpl",
            output.display()
        ))),
    }
}

fn no_connection(capture: &str, number: u64, of: u64) -> Failure {
    let there_are = match of {
        0 => "there is none".into(),
        1 => "there is one, number 0".into(),
        _ => format!("there are {of}, from 0 to {}", of - 1),
    };
    Failure::Wrong(format!("{capture}: no connection {number}: {there_are}"))
}

/// Writes the figures of a capture, each whole before the first has its name.
fn write_figures(dir: &Path, captures: &[Analyzed<Summary>]) -> Result<(), Failure> {
    let mut files = Vec::new();
    for (name, picture) in captures.iter().flat_map(|a| figures(&a.found.study)) {
        let path = dir.join(format!("{name}.svg"));
        let mut file = OutputFile::create(&path)?;
        file.write_all(picture.as_bytes())
            .map_err(|e| cannot_write(&path.display().to_string(), &e))?;
        files.push(file);
    }
    for file in files {
        let path = file.target().display().to_string();
        file.publish()?;
        eprintln!("recoup: wrote {path}");
    }
    Ok(())
}

fn cannot_write(file: &str, error: &io::Error) -> Failure {
    Failure::Wrong(format!("cannot write `{file}`: {error}"))
}

fn settings(args: &Args) -> Result<Settings, Failure> {
    let usual = Settings::default();
    let profile = args.profile.as_deref().map(|text| {
        parse_profile(text).map_err(|e| Failure::Wrong(format!("--profile {text}: {e}")))
    });
    Ok(Settings {
        profile: profile.transpose()?,
        idle: args.idle,
        threads: args.threads.map_or(usual.threads, |n| usize::from(n) - 1),
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
    if args.study && matches!(args.format, Format::Csv | Format::Parquet) {
        let line = "--study: not in rows: expected --format table or json";
        return Err(Failure::Wrong(line.into()));
    }
    let to_stdout = args.output == Path::new("-");
    if to_stdout && args.format == Format::Parquet && io::stdout().is_terminal() {
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
    Ok(())
}

/// A view in all of its forms.
trait Shown: Document + Default + 'static {
    /// A row of CSV and Parquet.
    type Row: 'static;

    fn columns() -> Columns<Self::Row>;

    fn rows(analyzed: &Analyzed<Self>) -> &[Self::Row];

    fn table(analyzed: &Analyzed<Self>) -> String;

    /// Tables that are shown only to whom asks for them.
    fn study(_analyzed: &Analyzed<Self>) -> String {
        String::new()
    }

    /// Draws what there is to draw.
    fn draw(_captures: &[Analyzed<Self>], _dir: &Path) -> Result<(), Failure> {
        Ok(())
    }
}

impl Shown for AllRetransmissions {
    type Row = recoup_trace::finding::Retransmission;

    fn columns() -> Columns<Self::Row> {
        analysis::retransmissions()
    }

    fn rows(analyzed: &Analyzed<Self>) -> &[Self::Row] {
        &analyzed.found.rows
    }

    fn table(analyzed: &Analyzed<Self>) -> String {
        analysis::retransmission_table(analyzed)
    }
}

impl Shown for AllConnections {
    type Row = recoup_trace::finding::Connection;

    fn columns() -> Columns<Self::Row> {
        analysis::connections()
    }

    fn rows(analyzed: &Analyzed<Self>) -> &[Self::Row] {
        &analyzed.found.rows
    }

    fn table(analyzed: &Analyzed<Self>) -> String {
        analysis::connection_table(analyzed)
    }
}

impl Shown for Summary {
    type Row = Analyzed<Self>;

    fn columns() -> Columns<Self::Row> {
        analysis::summaries()
    }

    fn rows(analyzed: &Analyzed<Self>) -> &[Self::Row] {
        std::slice::from_ref(analyzed)
    }

    fn table(analyzed: &Analyzed<Self>) -> String {
        analysis::summary_tables(analyzed)
    }

    fn study(analyzed: &Analyzed<Self>) -> String {
        analysis::study_tables(&analyzed.found.study.report())
    }

    fn draw(captures: &[Analyzed<Self>], dir: &Path) -> Result<(), Failure> {
        write_figures(dir, captures)
    }
}

/// Analyzes the captures and prints a view of them.
fn show<V: Shown>(args: &Args, settings: &Settings) -> Result<(), Failure> {
    let output = Output::create(&args.output)?;
    if let Some(dir) = &args.figures {
        create_folder(dir)?;
    }
    interrupt::defer();
    let captures = analyze_all::<V>(&args.captures, settings)?;
    let interrupted = interrupt::heed();
    for analyzed in &captures {
        for note in analyzed.notes() {
            eprintln!("recoup: note: {}: {note}", said(&analyzed.capture));
        }
    }
    for capture in args.captures.iter().skip(captures.len()) {
        eprintln!(
            "recoup: note: {}: interrupted before it was read",
            capture.display()
        );
    }
    if let Some(dir) = &args.figures {
        V::draw(&captures, dir)?;
    }
    output.write(|out| print(args, &captures, out))?;
    match interrupted {
        true => interrupt::end(),
        false => Ok(()),
    }
}

/// What notes call a capture.
fn said(capture: &str) -> &str {
    match capture {
        "-" => "standard input",
        name => name,
    }
}

fn print<V: Shown>(
    args: &Args,
    captures: &[Analyzed<V>],
    out: &mut (dyn Write + Send),
) -> io::Result<()> {
    let rows = || -> Vec<Rows<'_, V::Row>> {
        let rows = captures.iter().map(|analyzed| Rows {
            capture: &analyzed.capture,
            rows: V::rows(analyzed),
        });
        rows.collect()
    };
    match args.format {
        Format::Json => analysis::write_json(captures, out),
        Format::Csv => V::columns().write_csv(&rows(), out),
        Format::Parquet => V::columns().write_parquet(&rows(), out),
        Format::Table => {
            for (i, analyzed) in captures.iter().enumerate() {
                let gap = if i == 0 { "" } else { "\n" };
                let (name, table) = (said(&analyzed.capture), V::table(analyzed));
                write!(out, "{gap}{name}\n\n{table}")?;
                if args.study {
                    out.write_all(V::study(analyzed).as_bytes())?;
                }
            }
            Ok(())
        }
    }
}

/// Opens every capture, then analyzes one after another, till the end or an interrupt.
fn analyze_all<V: View + Default>(
    captures: &[PathBuf],
    settings: &Settings,
) -> Result<Vec<Analyzed<V>>, Failure> {
    let open = |path: &PathBuf| {
        let reader = Reader::open(path)?;
        Ok::<_, Failure>((path.display().to_string(), reader))
    };
    let readers = captures.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let several = readers.len() > 1;
    let mut all = Vec::new();
    for (name, reader) in readers {
        let bar = progress(&reader);
        if several {
            bar.set_prefix(format!("{} ", said(&name)));
        }
        all.push(analyze_one(&name, reader, settings, &bar, V::default)?);
        if interrupt::noted() {
            break;
        }
    }
    Ok(all)
}

/// Analyzes a capture, till the end or an interrupt.
fn analyze_one<V: View>(
    name: &str,
    reader: Reader<'_>,
    settings: &Settings,
    bar: &ProgressBar,
    view: impl Fn() -> V,
) -> Result<Analyzed<V>, Failure> {
    let watch = |reader: &Reader<'_>| {
        bar.set_position(reader.taken());
        !interrupt::noted()
    };
    let analyzed = analysis::run(name, reader, settings, view, watch);
    bar.finish_and_clear();
    Ok(analyzed?)
}

/// A bar that appears when standard error is a terminal; of a capture whose size nobody knows, how
/// much of it was read.
fn progress(reader: &Reader<'_>) -> ProgressBar {
    let target = ProgressDrawTarget::stderr_with_hz(5);
    let bar = ProgressBar::with_draw_target(reader.size(), target);
    let template = match reader.size() {
        Some(_) => "{prefix}{wide_bar} {decimal_bytes}/{decimal_total_bytes}{left}",
        None => "{prefix}{spinner} {decimal_bytes}, {decimal_bytes_per_sec}",
    };
    // Before anything is read nobody knows how long the rest takes.
    let left = |state: &ProgressState, to: &mut dyn std::fmt::Write| {
        let known = state.pos() > 0;
        let _ = known.then(|| write!(to, ", {:#} left", HumanDuration(state.eta())));
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.with_key("left", left));
    }
    bar
}

/// Where findings go.
enum Output {
    StandardOutput,
    File(OutputFile),
}

impl Output {
    fn create(path: &Path) -> Result<Self, Failure> {
        Ok(match path == Path::new("-") {
            true => Self::StandardOutput,
            false => Self::File(OutputFile::create(path)?),
        })
    }

    fn write(
        self,
        write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
    ) -> Result<(), Failure> {
        match self {
            Self::StandardOutput => {
                let mut out = BufWriter::new(io::stdout());
                match write(&mut out).and_then(|()| out.flush()) {
                    // A reader that has had enough is no error.
                    Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(Failure::Wrong(format!(
                        "cannot write to standard output: {e}"
                    ))),
                    _ => Ok(()),
                }
            }
            Self::File(file) => {
                let name = file.target().display().to_string();
                let mut out = BufWriter::new(file);
                let written = write(&mut out).and_then(|()| Ok(out.into_inner()?));
                let file = written.map_err(|e| cannot_write(&name, &e))?;
                Ok(file.publish()?)
            }
        }
    }
}
