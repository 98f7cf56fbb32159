//! A connection's picture, with what was found of it.

use super::Args;
use super::captures::{analyze_one, progress};
use super::output::Output;
use crate::{Failure, interrupt};
use recoup_draw::sequence::Diagram;
use recoup_lab::analysis::{OneConnection, View};
use recoup_lab::diagram::explain;
use recoup_trace::analyze::Settings;
use recoup_trace::read::Reader;
use std::path::Path;

/// Draws a connection with what was found of it, of what was read till the end or an interrupt.
pub fn plot(args: &Args, number: u64, settings: &Settings) -> Result<(), Failure> {
    let [path] = args.captures.as_slice() else {
        let line = "--plot: of one capture: expected no other";
        return Err(Failure::Wrong(line.into()));
    };
    check_rereadable(path)?;
    let is_xplot = is_xplot(&args.output)?;
    let output = Output::create(&args.output)?;
    interrupt::defer();
    let drawn = explained(path, number, settings);
    let interrupted = interrupt::heed();
    let written = drawn.and_then(|diagram| {
        let picture = match is_xplot {
            true => diagram.to_xplot(0).unwrap_or_default(),
            false => diagram.to_svg(),
        };
        output.write(|out| out.write_all(picture.as_bytes()))
    });
    if interrupted {
        if let Err(failure) = &written {
            failure.tell();
        }
        interrupt::end();
    }
    written
}

/// The picture of a connection; notes go to standard error.
fn explained(path: &Path, number: u64, settings: &Settings) -> Result<Diagram, Failure> {
    let name = path.display().to_string();
    let reader = Reader::open(path)?;
    let (bar, view) = (progress(&reader), || OneConnection::of(number));
    let analyzed = analyze_one(&name, reader, settings, &bar, view)?;
    let mut notes = analyzed.notes();
    let connections = analyzed.found.connections();
    let before = interrupt::noted();
    let source = match &analyzed.found.row {
        Some((connection, retransmissions)) => {
            // No further than it was analyzed.
            let frames = analyzed.counts.frames;
            let go_on = |reader: &Reader<'_>| {
                reader.counts().frames < frames && (before || !interrupt::noted())
            };
            let reader = Reader::open(path)?;
            explain(reader, connection, retransmissions, go_on).map_err(Failure::from)
        }
        None => Err(no_connection(&name, number, connections)),
    };
    if interrupt::noted() && !before {
        notes.push("interrupted: not all of the connection is drawn".into());
    }
    if let Ok(source) = &source {
        for note in &source.notes {
            // What the capture is lacking, both readings tell.
            if !notes.contains(note) {
                notes.push(note.clone());
            }
        }
    }
    for note in notes {
        eprintln!("recoup: note: {name}: {note}");
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
