//! Findings as tables, JSON, CSV and Parquet, and the study's figures.

use super::Args;
use super::progress::{CaptureBar, display_name};
use crate::commands::analyze::call::{analyze_all, analyze_joined};
use crate::output::{Format, Output, cannot_write};
use crate::{Failure, console, interrupt};
use recoup_captures::analysis::{
    self, AllConnections, AllRetransmissions, Analyzed, Changes, Collector, Document, Record, Row as _, Summary,
};
use recoup_captures::study::figures;
use recoup_support::output_file::{OutputFile, create_folder};
use recoup_table::{Columns, Part};
use recoup_trace::analyze::Settings;
use recoup_trace::finding::{Connection, Retransmission};
use recoup_trace::read::JoinedFiles;
use std::io::{self, Write};
use std::path::Path;

/// A view of captures in all formats.
pub trait Printable: Document + 'static {
    /// A row of CSV and Parquet.
    type Row: 'static;

    /// The columns, if the captures consist of these files.
    fn columns(files: &JoinedFiles) -> Columns<Self::Row>;

    fn rows(analyzed: &Analyzed<Self>) -> &[Self::Row];

    fn table(analyzed: &Analyzed<Self>) -> String;

    /// The tables of `--study`.
    fn study(_analyzed: &Analyzed<Self>) -> String {
        String::new()
    }

    /// Draws the figures of `--figures`.
    fn draw(_captures: &[Analyzed<Self>], _dir: &Path) -> Result<(), Failure> {
        Ok(())
    }
}

impl Printable for AllRetransmissions {
    type Row = Retransmission;

    fn columns(files: &JoinedFiles) -> Columns<Self::Row> {
        analysis::retransmissions_in(files)
    }

    fn rows(analyzed: &Analyzed<Self>) -> &[Self::Row] {
        &analyzed.findings.rows
    }

    fn table(analyzed: &Analyzed<Self>) -> String {
        analysis::retransmission_table(analyzed)
    }
}

impl Printable for AllConnections {
    type Row = Connection;

    fn columns(_: &JoinedFiles) -> Columns<Self::Row> {
        analysis::connections()
    }

    fn rows(analyzed: &Analyzed<Self>) -> &[Self::Row] {
        &analyzed.findings.rows
    }

    fn table(analyzed: &Analyzed<Self>) -> String {
        analysis::connection_table(analyzed)
    }
}

impl Printable for Changes<Retransmission> {
    type Row = Record<Retransmission>;

    fn columns(files: &JoinedFiles) -> Columns<Self::Row> {
        analysis::changed_retransmissions_in(files)
    }

    fn rows(analyzed: &Analyzed<Self>) -> &[Self::Row] {
        &analyzed.findings.records
    }

    fn table(analyzed: &Analyzed<Self>) -> String {
        analysis::changed_retransmission_table(analyzed)
    }
}

impl Printable for Changes<Connection> {
    type Row = Record<Connection>;

    fn columns(_: &JoinedFiles) -> Columns<Self::Row> {
        Connection::record_columns()
    }

    fn rows(analyzed: &Analyzed<Self>) -> &[Self::Row] {
        &analyzed.findings.records
    }

    fn table(analyzed: &Analyzed<Self>) -> String {
        analysis::changed_connection_table(analyzed)
    }
}

impl Printable for Summary {
    type Row = Analyzed<Self>;

    fn columns(_: &JoinedFiles) -> Columns<Self::Row> {
        analysis::summaries()
    }

    fn rows(analyzed: &Analyzed<Self>) -> &[Self::Row] {
        std::slice::from_ref(analyzed)
    }

    fn table(analyzed: &Analyzed<Self>) -> String {
        analysis::summary_tables(analyzed)
    }

    fn study(analyzed: &Analyzed<Self>) -> String {
        analysis::study_tables(&analyzed.findings.study.report())
    }

    fn draw(captures: &[Analyzed<Self>], dir: &Path) -> Result<(), Failure> {
        write_figures(dir, captures)
    }
}

/// Makes the output file and the folder of the figures, before anything is read.
pub fn prepare_output(args: &Args) -> Result<(Format, Output), Failure> {
    let format = args.format()?;
    let output = Output::create(&args.output)?;
    if let Some(dir) = &args.figures {
        create_folder(dir)?;
    }
    Ok((format, output))
}

/// Analyzes the captures and prints a view of those that could be read.
pub fn show<V: Printable + Collector + Default>(args: &Args, settings: &Settings) -> Result<(), Failure> {
    let (format, output) = prepare_output(args)?;
    interrupt::defer();
    let bar = CaptureBar::new(args.captures.len() > 1 && !args.join);
    let all = match args.join {
        true => analyze_joined(&args.captures, settings, &bar, V::default),
        false => analyze_all(&args.captures, settings, &bar, V::default),
    };
    let interrupted = interrupt::stop_deferring();
    for failure in &all.failures {
        console::error(&failure.to_string());
    }
    all.analyzed.iter().for_each(print_notes);
    if let Some(note) = &all.rotation {
        console::note(format_args!("{note}"));
    }
    for capture in args.captures.iter().skip(all.begun) {
        let capture = capture.display();
        console::note(format_args!("{capture}: interrupted before it was read"));
    }
    if !all.analyzed.is_empty() {
        if let Some(dir) = &args.figures {
            V::draw(&all.analyzed, dir)?;
        }
        output.write(|out| print(args, format, &all.analyzed, out))?;
    }
    match interrupted {
        true => interrupt::exit(),
        false if !all.failures.is_empty() => Err(Failure::Reported),
        false => Ok(()),
    }
}

/// Prints the notes on a capture.
pub fn print_notes<V: Printable>(analyzed: &Analyzed<V>) {
    for note in analyzed.notes() {
        let capture = display_name(&analyzed.capture);
        console::note(format_args!("{capture}: {note}"));
    }
}

/// Prints a view of captures.
pub fn print<V: Printable>(
    args: &Args,
    format: Format,
    captures: &[Analyzed<V>],
    out: &mut (dyn Write + Send),
) -> io::Result<()> {
    let rows = || -> Vec<Part<'_, V::Row>> {
        let rows = captures.iter().map(|analyzed| Part { name: &analyzed.capture, rows: V::rows(analyzed) });
        // The columns are those of several captures even where one alone could be read.
        let all = match args.is_joined() {
            true => 1,
            false => args.captures.len(),
        };
        let without = (captures.len()..all).map(|_| Part { name: "", rows: &[] });
        rows.chain(without).collect()
    };
    let files = captures.first().map(|analyzed| &analyzed.counts.files);
    let columns = || V::columns(files.unwrap_or(&JoinedFiles::default()));
    match format {
        Format::Json => analysis::write_json(captures, out),
        Format::Csv => columns().write_csv(&rows(), out),
        Format::Parquet => columns().write_parquet(&rows(), out),
        _ => {
            for (i, analyzed) in captures.iter().enumerate() {
                let gap = if i == 0 { "" } else { "\n" };
                let (name, table) = (display_name(&analyzed.capture), V::table(analyzed));
                write!(out, "{gap}{name}\n\n{table}")?;
                if args.study.is_some() {
                    out.write_all(V::study(analyzed).as_bytes())?;
                }
            }
            Ok(())
        }
    }
}

/// Writes the figures of all captures together, each whole before the first has its name.
fn write_figures(dir: &Path, captures: &[Analyzed<Summary>]) -> Result<(), Failure> {
    let (mut files, mut blank) = (Vec::new(), Vec::new());
    let studies = captures.iter();
    let studies: Vec<_> = studies.map(|analyzed| (analyzed.capture.as_str(), &analyzed.findings.study)).collect();
    for (name, picture) in figures(&studies) {
        match picture {
            Some(picture) => files.push(begin(&dir.join(format!("{name}.svg")), &picture)?),
            None => blank.push(name),
        }
    }
    if !blank.is_empty() {
        let names: Vec<&str> = studies.iter().map(|(name, _)| display_name(name)).collect();
        let (captures, blank) = (names.join(", "), blank.join(", "));
        console::note(format_args!("{captures}: nothing to draw in {blank}"));
    }
    publish(files)
}

/// Gives written files their names.
pub fn publish(files: Vec<OutputFile>) -> Result<(), Failure> {
    for file in files {
        let path = file.target().display().to_string();
        file.publish()?;
        console::status(format_args!("wrote {path}"));
    }
    Ok(())
}

/// Writes a file, which gets its name when it is published.
pub fn begin(path: &Path, text: &str) -> Result<OutputFile, Failure> {
    let mut file = OutputFile::create(path)?;
    let written = file.write_all(text.as_bytes());
    written.map_err(|e| cannot_write(&path.display().to_string(), &e))?;
    Ok(file)
}
