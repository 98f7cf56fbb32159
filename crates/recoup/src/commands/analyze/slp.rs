//! `recoup analyze --study=slp`.

use super::views::prepare_output;
use super::{Args, LIKELIHOODS};
use crate::commands::captures::{
    CaptureBar, FIGURES, begin, display_name, end, publish, report, until_interrupted, write_rows, write_texts,
};
use crate::output::Format;
use crate::{Failure, console};
use recoup_captures::analysis::Analyzed;
use recoup_captures::study::slp::{
    SampleRow, SlpStudy, figures, likelihoods_file, sample_columns, sample_rows, study, study_text, write_studies,
};
use recoup_support::output_file::Files;
use recoup_trace::analyze::Settings;
use std::io::{self, Write};

/// Studies the captures, and prints what could be read.
pub fn show(args: &Args, settings: &Settings) -> Result<(), Failure> {
    let mut files = args.files();
    let (format, output) = prepare_output(args, &mut files)?;
    let input = args.input()?;
    let bar = CaptureBar::new(args.count() > 1);
    let (all, interrupted) = until_interrupted(|| input.each(&bar, |capture| study(capture, settings, &bar)));
    report(&all, &args.captures, |study| &study.notes);
    if !all.analyzed.is_empty() {
        write_files(args, &mut files, &all.analyzed)?;
        output.write(|out| print(args, format, &all.analyzed, out))?;
    }
    end(interrupted, !all.failures.is_empty())
}

/// Writes the figures and the likelihoods of a capture, each whole before the first has its name.
fn write_files(args: &Args, outputs: &mut Files, studied: &[Analyzed<SlpStudy>]) -> Result<(), Failure> {
    let mut files = Vec::new();
    for analyzed in studied {
        let capture = display_name(&analyzed.capture);
        let report = &analyzed.findings.report;
        if let Some(dir) = &args.figures {
            for (name, picture) in figures(report) {
                match picture {
                    Some(picture) => files.push(begin(outputs, FIGURES, &dir.join(format!("{name}.svg")), &picture)?),
                    None => console::note(format_args!("{capture}: nothing to draw in {name}")),
                }
            }
        }
        if let Some(path) = &args.likelihoods {
            let (text, note) = likelihoods_file(report, capture);
            files.push(begin(outputs, LIKELIHOODS, path, &text)?);
            if let Some(note) = note {
                console::note(format_args!("{capture}: {note}"));
            }
        }
    }
    publish(files)
}

fn print(args: &Args, format: Format, studied: &[Analyzed<SlpStudy>], out: &mut (dyn Write + Send)) -> io::Result<()> {
    match format {
        Format::Json => write_studies(studied, out),
        Format::Csv | Format::Parquet => {
            let rows: Vec<Vec<SampleRow>> =
                studied.iter().map(|one| sample_rows(&one.findings.capture.samples)).collect();
            let named = studied.iter().zip(&rows).map(|(one, rows)| (&*one.capture, &**rows));
            write_rows(format, &sample_columns(), args.count(), named, out)
        }
        _ => write_texts(studied, out, |_, one| format!("{}\n\n{}", display_name(&one.capture), study_text(one))),
    }
}
