//! Findings as tables, JSON, CSV and Parquet, and the study's figures.

use super::Args;
use crate::commands::captures::{
    CaptureBar, begin, display_name, end, publish, report, until_interrupted, write_rows, write_texts,
};
use crate::output::{Format, Output};
use crate::{Failure, console};
use recoup_captures::analysis::{
    self, AllConnections, AllRetransmissions, Analyzed, Changes, Collector, Document, Record, Row as _, Summary,
};
use recoup_captures::study::figures;
use recoup_support::output_file::create_folder;
use recoup_table::Columns;
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
    let input = args.input()?;
    let bar = CaptureBar::new(args.count() > 1);
    let (all, interrupted) = until_interrupted(|| analysis::analyze_all(input, settings, &bar, V::default));
    report(&all, &args.captures, |_| &[]);
    if !all.analyzed.is_empty() {
        if let Some(dir) = &args.figures {
            V::draw(&all.analyzed, dir)?;
        }
        output.write(|out| print(args, format, &all.analyzed, out))?;
    }
    end(interrupted, !all.failures.is_empty())
}

/// Prints a view of captures.
pub fn print<V: Printable>(
    args: &Args,
    format: Format,
    captures: &[Analyzed<V>],
    out: &mut (dyn Write + Send),
) -> io::Result<()> {
    match format {
        Format::Json => analysis::write_json(captures, out),
        Format::Csv | Format::Parquet => {
            let first = captures.first().map(|analyzed| V::columns(&analyzed.counts.files));
            let columns = first.unwrap_or_else(|| V::columns(&JoinedFiles::default()));
            let rows = captures.iter().map(|analyzed| (&*analyzed.capture, V::rows(analyzed)));
            write_rows(format, &columns, args.count(), rows, out)
        }
        _ => write_texts(captures, out, |_, analyzed| {
            let study = args.study.map_or(String::new(), |_| V::study(analyzed));
            format!("{}\n\n{}{study}", display_name(&analyzed.capture), V::table(analyzed))
        }),
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
