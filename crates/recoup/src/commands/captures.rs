//! Common to the commands that read captures: arguments, progress, and what they print of each capture.

use crate::console::bar;
use crate::output::{Format, Output, cannot_write, create_file};
use crate::{Failure, console, interrupt};
use indicatif::ProgressBar;
use recoup_captures::analysis::{Analyzed, View};
use recoup_captures::capture::{Captures, Input, Progress};
use recoup_support::output_file::{Files, OutputFile};
use recoup_table::{Columns, Part};
use recoup_units::visible;
use std::borrow::Cow;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// One capture, or files that are one.
#[derive(clap::Args)]
pub(crate) struct OneCapture {
    /// A capture (pcap, pcapng; plain, gzip or zstd); - for standard input
    #[arg(required = true, value_name = "CAPTURE")]
    captures: Vec<PathBuf>,
    /// Read all files as one capture, in the order of their times
    #[arg(long)]
    join: bool,
}

impl OneCapture {
    /// The capture, if it exists.
    ///
    /// # Errors
    /// Several captures that are not joined, and one that does not exist.
    pub fn input(&self) -> Result<Input<'_>, Failure> {
        let several = self.captures.len() > 1;
        match several && !self.join {
            true => Err(Failure::Wrong("expected one capture, or --join".into())),
            false => Ok(Input::new(&self.captures, several)?),
        }
    }

    /// The files that are read: the capture, and others.
    pub fn files(&self, others: &[PathBuf]) -> Files {
        Files::reading(self.captures.iter().chain(others))
    }

    /// The name of the capture in notes.
    pub fn display_name(&self) -> String {
        let name = self.captures.first().map_or(Cow::default(), |path| path.to_string_lossy());
        display_name(&visible(&name)).to_owned()
    }
}

/// The name of a capture in notes and tables.
pub fn display_name(capture: &str) -> &str {
    match capture {
        "-" => "standard input",
        name => name,
    }
}

/// Does what the first interrupt ends early. Also returns whether it did.
pub fn until_interrupted<R>(work: impl FnOnce() -> R) -> (R, bool) {
    interrupt::defer();
    let result = work();
    (result, interrupt::stop_deferring())
}

/// Ends the program after an interrupt. Otherwise fails if captures could not be read, which was reported.
pub fn end(interrupted: bool, has_failures: bool) -> Result<(), Failure> {
    match interrupted {
        true => interrupt::exit(),
        false if has_failures => Err(Failure::Reported),
        false => Ok(()),
    }
}

/// Ends the program after an interrupt, with the error of what was done until then.
pub(crate) fn end_with(result: Result<(), Failure>, interrupted: bool) -> Result<(), Failure> {
    if interrupted {
        if let Err(failure) = &result {
            failure.print();
        }
        interrupt::exit();
    }
    result
}

/// Prints what could not be read, the notes on each capture, and which captures were not reached. `notes` are those of a
/// view besides those of every analysis.
pub fn report<V: View>(all: &Captures<V>, paths: &[PathBuf], notes: impl Fn(&V) -> &[String]) {
    for failure in &all.failures {
        console::error(&failure.to_string());
    }
    for analyzed in &all.analyzed {
        print_notes(analyzed, notes(&analyzed.findings));
    }
    if let Some(note) = &all.rotation {
        console::note(note);
    }
    for capture in paths.iter().skip(all.begun) {
        console::note(format_args!("{}: interrupted before it was read", capture.display()));
    }
}

/// Prints the notes on a capture, and others.
pub(crate) fn print_notes<V: View>(analyzed: &Analyzed<V>, others: &[String]) {
    let capture = display_name(&analyzed.capture);
    for note in analyzed.notes().iter().chain(&analyzed.copies_note()).chain(others) {
        console::note(format_args!("{capture}: {note}"));
    }
}

/// Writes rows of captures as CSV or Parquet. Several captures (`all`) keep the column that names them, even where one
/// alone could be read.
pub(crate) fn write_rows<'a, R: 'static>(
    format: Format,
    columns: &Columns<R>,
    all: usize,
    rows: impl Iterator<Item = (&'a str, &'a [R])>,
    out: &mut (dyn Write + Send),
) -> io::Result<()> {
    let mut parts: Vec<Part<'_, R>> = rows.map(|(name, rows)| Part { name, rows }).collect();
    while parts.len() < all {
        parts.push(Part { name: "", rows: &[] });
    }
    match format {
        Format::Csv => columns.write_csv(&parts, out),
        _ => columns.write_parquet(&parts, out),
    }
}

/// Writes a text for each capture, with a blank line in between.
pub(crate) fn write_texts<T>(
    captures: &[T],
    out: &mut (dyn Write + Send),
    mut text: impl FnMut(usize, &T) -> String,
) -> io::Result<()> {
    for (i, one) in captures.iter().enumerate() {
        let gap = if i == 0 { "" } else { "\n" };
        write!(out, "{gap}{}", text(i, one))?;
    }
    Ok(())
}

/// The option that names the folder of figures.
pub(crate) const FIGURES: &str = "--figures";

/// Writes a file, which gets its name when it is published. `option` names it or its folder.
pub(crate) fn begin(
    files: &mut Files,
    option: &str,
    path: &Path,
    contents: impl AsRef<[u8]>,
) -> Result<OutputFile, Failure> {
    let mut file = create_file(files, option, path)?;
    let written = file.write_all(contents.as_ref());
    written.map_err(|e| cannot_write(&path.display().to_string(), &e))?;
    Ok(file)
}

/// Gives written files their names.
pub(crate) fn publish(files: Vec<OutputFile>) -> Result<(), Failure> {
    for file in files {
        let path = file.target().display().to_string();
        file.publish()?;
        console::status(format_args!("wrote {path}"));
    }
    Ok(())
}

/// Writes all of a text.
pub(crate) fn write_text(output: Output, text: &str) -> Result<(), Failure> {
    output.write(|out| out.write_all(text.as_bytes()))
}

/// Shows the progress of reading captures, and ends it after an interrupt.
pub struct CaptureBar {
    bars: Mutex<Bars>,
    /// Whether the bar names the capture.
    is_one_of_several: bool,
}

/// The bars of a capture: one for its reading, and then one for its connections.
struct Bars {
    reading: ProgressBar,
    reruns: Option<ProgressBar>,
}

impl CaptureBar {
    /// A bar, which names the capture if it is one of several.
    pub fn new(is_one_of_several: bool) -> Self {
        Self { bars: Mutex::new(Bars { reading: ProgressBar::hidden(), reruns: None }), is_one_of_several }
    }

    fn with(&self, act: impl FnOnce(&mut Bars)) {
        act(&mut self.bars.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Progress for CaptureBar {
    fn capture_begins(&self, name: &str, size: Option<u64>) {
        let bar = reading_bar(size);
        if self.is_one_of_several {
            bar.set_prefix(format!("{} ", display_name(name)));
        }
        self.with(|bars| bars.reading = bar);
    }

    fn bytes_read(&self, bytes: u64) {
        self.with(|bars| bars.reading.set_position(bytes));
    }

    fn rerun(&self, done: u64, all: u64) {
        self.with(|bars| {
            let bar = bars.reruns.get_or_insert_with(|| {
                bars.reading.finish_and_clear();
                bar(Some(all), "{wide_bar} {human_pos}/{human_len} connections")
            });
            bar.set_position(done);
        });
    }

    fn capture_ends(&self) {
        self.with(|bars| {
            bars.reruns.take().inspect(ProgressBar::finish_and_clear);
            bars.reading.finish_and_clear();
        });
    }

    fn is_stopped(&self) -> bool {
        interrupt::is_interrupted()
    }
}

/// Without a known size the bar shows the bytes read.
fn reading_bar(size: Option<u64>) -> ProgressBar {
    bar(
        size,
        match size {
            Some(_) => "{prefix}{wide_bar} {decimal_bytes}/{decimal_total_bytes}{left}",
            None => "{prefix}{spinner} {decimal_bytes}, {decimal_bytes_per_sec}",
        },
    )
}
