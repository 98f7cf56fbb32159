//! A connection's time–sequence diagram, with its findings.

use super::Args;
use super::captures::{analyze_one, progress};
use crate::output::{Format, Output};
use crate::{Failure, console, interrupt};
use recoup_draw::sequence::Diagram;
use recoup_lab::analysis::{OneConnection, View};
use recoup_lab::diagram::explain;
use recoup_trace::analyze::Settings;
use recoup_trace::read::Reader;
use std::path::Path;

/// Draws a connection with its findings, as far as the capture was read before an interrupt.
pub fn plot(args: &Args, number: u64, settings: &Settings) -> Result<(), Failure> {
    let [path] = args.captures.as_slice() else {
        let line = "--plot: expected one capture";
        return Err(Failure::Wrong(line.into()));
    };
    check_rereadable(path)?;
    let formats = [Format::Svg, Format::Xpl];
    let format = Format::of_output(&args.output, &formats, Format::Svg)?;
    let output = Output::create(&args.output)?;
    interrupt::defer();
    let drawn = explained(path, number, settings);
    let interrupted = interrupt::stop_deferring();
    let written = drawn.and_then(|diagram| {
        let picture = match format {
            Format::Xpl => diagram.to_xplot(0).unwrap_or_default(),
            _ => diagram.to_svg(),
        };
        output.write(|out| out.write_all(picture.as_bytes()))
    });
    if interrupted {
        if let Err(failure) = &written {
            failure.print();
        }
        interrupt::exit();
    }
    written
}

/// The diagram of a connection; notes go to standard error.
fn explained(path: &Path, number: u64, settings: &Settings) -> Result<Diagram, Failure> {
    let name = path.display().to_string();
    let reader = Reader::open(path)?;
    let (bar, view) = (progress(&reader), || OneConnection::of(number));
    let analyzed = analyze_one(&name, reader, settings, &bar, view)?;
    let mut notes = analyzed.notes();
    let connections = analyzed.found.connections();
    let before = interrupt::is_interrupted();
    let source = match &analyzed.found.row {
        Some((connection, retransmissions)) => {
            // No further than it was analyzed.
            let frames = analyzed.counts.frames;
            let go_on = |reader: &Reader<'_>| {
                reader.counts().frames < frames && (before || !interrupt::is_interrupted())
            };
            let reader = Reader::open(path)?;
            explain(reader, connection, retransmissions, go_on).map_err(Failure::from)
        }
        None => Err(no_connection(&name, number, connections)),
    };
    if interrupt::is_interrupted() && !before {
        notes.push("interrupted: not all of the connection is drawn".into());
    }
    if let Ok(source) = &source {
        for note in &source.notes {
            // Both readings report what the capture lacks.
            if !notes.contains(note) {
                notes.push(note.clone());
            }
        }
    }
    for note in notes {
        console::note(format_args!("{name}: {note}"));
    }
    let source = source?;
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

/// Checks that a capture can be read twice. Opening it reports all other errors.
fn check_rereadable(path: &Path) -> Result<(), Failure> {
    let is_stream = path.metadata().is_ok_and(|m| !m.is_file() && !m.is_dir());
    if path == Path::new("-") || is_stream {
        let name = path.display();
        let line = format!("{name}: --plot reads the capture twice: expected a file");
        return Err(Failure::Wrong(line));
    }
    Ok(())
}

fn no_connection(capture: &str, number: u64, of: u64) -> Failure {
    let there_are = match of {
        0 => "there is none".into(),
        1 => "there is one, number 0".into(),
        _ => format!("there are {of}, from 0 to {}", of - 1),
    };
    Failure::Wrong(format!("{capture}: no connection {number}: {there_are}"))
}
