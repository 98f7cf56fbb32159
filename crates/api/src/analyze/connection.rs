//! A connection's time–sequence diagram, with its findings.

use super::{AnalyzeError, Progress, analyze};
use recoup_draw::sequence::Diagram;
use recoup_lab::analysis::{OneConnection, View};
use recoup_lab::diagram::explain;
use recoup_trace::analyze::Settings;
use recoup_trace::read::{PacketSource, Reader};
use std::path::Path;

/// A connection's diagram, and what the user should know of it.
#[derive(Debug)]
pub struct Drawing {
    /// The diagram, or why there is none.
    pub diagram: Result<Diagram, AnalyzeError>,
    /// Notes on the capture, a line each.
    pub notes: Vec<String>,
}

/// Draws the connection of this number, counted from 0, as far as the capture was read before
/// [`Progress::is_stopped`]. Reads the capture twice.
///
/// # Errors
/// A capture that cannot be read, or cannot be read twice.
pub fn draw_connection(
    path: &Path,
    number: u64,
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<Drawing, AnalyzeError> {
    check_rereadable(path)?;
    let capture = path.display().to_string();
    let analyzed = analyze(path, settings, progress, || OneConnection::of(number))?;
    let mut notes = analyzed.notes();
    let connections = analyzed.findings.connections();
    let stopped_before = progress.is_stopped();
    let source = match &analyzed.findings.row {
        Some((connection, retransmissions)) => {
            // The second reading goes no further than the first.
            let frames = analyzed.counts.frames;
            let go_on = |reader: &Reader<'_>| {
                reader.counts().frames < frames && (stopped_before || !progress.is_stopped())
            };
            let reader = Reader::open(path)?;
            explain(reader, connection, retransmissions, go_on).map_err(AnalyzeError::from)
        }
        None => Err(AnalyzeError::NoConnection {
            capture: capture.clone(),
            number,
            connections,
        }),
    };
    if progress.is_stopped() && !stopped_before {
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
    let diagram = source.and_then(|source| {
        let diagram = Diagram {
            title: source.title,
            panels: source.panels,
            ..Diagram::default()
        };
        match diagram.is_blank() {
            true => Err(AnalyzeError::Blank(capture)),
            false => Ok(diagram),
        }
    });
    Ok(Drawing { diagram, notes })
}

/// Checks that a capture can be read twice. Opening it finds all other errors.
fn check_rereadable(path: &Path) -> Result<(), AnalyzeError> {
    let is_stream = path.metadata().is_ok_and(|m| !m.is_file() && !m.is_dir());
    match path == Path::new("-") || is_stream {
        true => Err(AnalyzeError::ReadOnce(path.display().to_string())),
        false => Ok(()),
    }
}
