//! `recoup analyze --study=slp`.

use super::Args;
use super::progress::{CaptureBar, display_name};
use super::views::{begin, publish};
use crate::commands::analyze::call::{Captures, study_all};
use crate::commands::whatif::call::Input;
use crate::output::{Format, Output};
use crate::{Failure, console, interrupt};
use recoup_captures::analysis::Analyzed;
use recoup_captures::study::slp::{
    SampleRow, SlpStudy, figures, likelihoods_file, sample_columns, sample_rows, study_text, write_studies,
};
use recoup_support::output_file::create_folder;
use recoup_table::Part;
use recoup_trace::analyze::Settings;
use std::io::{self, Write};

/// Studies the captures, and prints what could be read.
pub fn study(args: &Args, settings: &Settings) -> Result<(), Failure> {
    let format = args.format()?;
    let output = Output::create(&args.output)?;
    if let Some(dir) = &args.figures {
        create_folder(dir)?;
    }
    interrupt::defer();
    let bar = CaptureBar::new(args.captures.len() > 1 && !args.join);
    let input = match args.join {
        true => Input::Joined(&args.captures),
        false => Input::Each(&args.captures),
    };
    let all = study_all(input, settings, &bar);
    let interrupted = interrupt::stop_deferring();
    report(args, &all);
    if !all.analyzed.is_empty() {
        write_files(args, &all.analyzed)?;
        output.write(|out| print(args, format, &all.analyzed, out))?;
    }
    match interrupted {
        true => interrupt::exit(),
        false if !all.failures.is_empty() => Err(Failure::Reported),
        false => Ok(()),
    }
}

/// Prints what could not be read, and the notes on the captures.
fn report(args: &Args, all: &Captures<SlpStudy>) {
    for failure in &all.failures {
        console::error(&failure.to_string());
    }
    for analyzed in &all.analyzed {
        let capture = display_name(&analyzed.capture);
        for note in analyzed.notes().iter().chain(&analyzed.findings.notes) {
            console::note(format_args!("{capture}: {note}"));
        }
    }
    for capture in args.captures.iter().skip(all.begun) {
        let capture = capture.display();
        console::note(format_args!("{capture}: interrupted before it was read"));
    }
}

/// Writes the figures and the likelihoods of a capture, each whole before the first has its name.
fn write_files(args: &Args, studied: &[Analyzed<SlpStudy>]) -> Result<(), Failure> {
    let mut files = Vec::new();
    for analyzed in studied {
        let capture = display_name(&analyzed.capture);
        let report = &analyzed.findings.report;
        if let Some(dir) = &args.figures {
            for (name, picture) in figures(report) {
                match picture {
                    Some(picture) => files.push(begin(&dir.join(format!("{name}.svg")), &picture)?),
                    None => console::note(format_args!("{capture}: nothing to draw in {name}")),
                }
            }
        }
        if let Some(path) = &args.likelihoods {
            let (text, note) = likelihoods_file(report, capture);
            files.push(begin(path, &text)?);
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
            let rows = studied.iter().map(|one| sample_rows(&one.findings.capture.samples));
            let rows: Vec<Vec<SampleRow>> = rows.collect();
            let named = studied.iter().zip(&rows).map(|(one, rows)| Part { name: &one.capture, rows });
            // The columns are those of several captures even where one alone could be read.
            let all = if args.join { 1 } else { args.captures.len() };
            let unread = (studied.len()..all).map(|_| Part { name: "", rows: &[] });
            let parts: Vec<Part<'_, SampleRow>> = named.chain(unread).collect();
            match format {
                Format::Csv => sample_columns().write_csv(&parts, out),
                _ => sample_columns().write_parquet(&parts, out),
            }
        }
        _ => {
            for (i, one) in studied.iter().enumerate() {
                let gap = if i == 0 { "" } else { "\n" };
                let name = display_name(&one.capture);
                write!(out, "{gap}{name}\n\n{}", study_text(one))?;
            }
            Ok(())
        }
    }
}
