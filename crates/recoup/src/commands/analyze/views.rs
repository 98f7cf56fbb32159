//! Findings as tables, JSON, CSV and Parquet, and the study's figures.

use super::Args;
use crate::commands::captures::{
    CaptureBar, FIGURES, begin, display_name, end, publish, report, until_interrupted, write_rows, write_texts,
};
use crate::output::{Format, OUTPUT, Output};
use crate::{Failure, console};
use recoup_captures::analysis::{self, Analyzed, Collector, Tabular};
use recoup_support::output_file::{Files, create_folder};
use recoup_trace::analyze::Settings;
use recoup_trace::read::JoinedFiles;
use std::io::{self, Write};

/// Makes the output file and the folder of the figures, before anything is read.
pub fn prepare_output(args: &Args, files: &mut Files) -> Result<(Format, Output), Failure> {
    let format = args.format()?;
    let output = Output::create(files, OUTPUT, &args.output)?;
    if let Some(dir) = &args.figures {
        create_folder(dir)?;
    }
    Ok((format, output))
}

/// Analyzes the captures and prints a view of those that could be read.
pub fn show<V: Tabular + Collector + Default>(args: &Args, settings: &Settings) -> Result<(), Failure> {
    let mut files = args.files();
    let (format, output) = prepare_output(args, &mut files)?;
    let input = args.input()?;
    let bar = CaptureBar::new(args.count() > 1);
    let (all, interrupted) = until_interrupted(|| analysis::analyze_all(input, settings, &bar, V::default));
    report(&all, &args.captures, |_| &[]);
    if !all.analyzed.is_empty() {
        draw(args, &mut files, &all.analyzed)?;
        output.write(|out| print(args, format, &all.analyzed, out))?;
    }
    end(interrupted, !all.failures.is_empty())
}

/// Prints a view of captures.
pub fn print<V: Tabular>(
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
            let study = args.study.map_or(String::new(), |_| V::study_text(analyzed));
            format!("{}\n\n{}{study}", display_name(&analyzed.capture), V::text(analyzed))
        }),
    }
}

/// Draws the figures of `--figures` of all captures together, each whole before the first has its name.
pub fn draw<V: Tabular>(args: &Args, outputs: &mut Files, captures: &[Analyzed<V>]) -> Result<(), Failure> {
    let Some(dir) = &args.figures else {
        return Ok(());
    };
    let (mut files, mut blank) = (Vec::new(), Vec::new());
    for (name, picture) in V::figures(captures) {
        match picture {
            Some(picture) => files.push(begin(outputs, FIGURES, &dir.join(format!("{name}.svg")), &picture)?),
            None => blank.push(name),
        }
    }
    if !blank.is_empty() {
        let names: Vec<&str> = captures.iter().map(|analyzed| display_name(&analyzed.capture)).collect();
        let (captures, blank) = (names.join(", "), blank.join(", "));
        console::note(format_args!("{captures}: nothing to draw in {blank}"));
    }
    publish(files)
}
