//! A connection's time–sequence diagram, with its findings.

use super::{AnalyzeError, Progress, analyze};
use recoup_draw::sequence::Diagram;
use recoup_lab::analysis::{OneConnection, View};
use recoup_lab::diagram::explain;
use recoup_trace::analyze::Settings;
use recoup_trace::read::{Joined, JoinedFiles, LeftOut, PacketSource, ReadError, Reader};
use std::path::{Path, PathBuf};

/// A connection's diagram, and what the user should know of it.
#[derive(Debug)]
pub struct Drawing {
    /// The name of the capture.
    pub capture: String,
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
    draw(&capture, || Reader::open(path), number, settings, progress)
}

/// Draws a connection of several captures that are one stream, as [`draw_connection`] does.
///
/// # Errors
/// If none of the captures can be read, or one cannot be read twice.
pub fn draw_joined_connection(
    captures: &[PathBuf],
    number: u64,
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<Drawing, AnalyzeError> {
    captures
        .iter()
        .try_for_each(|path| check_rereadable(path))?;
    let open = || {
        let mut joined = Joined::open(captures, &JoinedFiles::default());
        let failure = joined.failures().into_iter().next();
        match failure.filter(|_| joined.files_to_read() == 0) {
            Some(failure) => Err(failure),
            None => Ok(joined),
        }
    };
    let capture = open()?.name().to_owned();
    draw(&capture, open, number, settings, progress)
}

/// Draws a connection of the capture that `open` opens.
fn draw<S: PacketSource>(
    capture: &str,
    open: impl Fn() -> Result<S, ReadError>,
    number: u64,
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<Drawing, AnalyzeError> {
    let analyzed = analyze(capture, open()?, settings, progress, || {
        OneConnection::of(number)
    })?;
    let mut notes = analyzed.notes();
    let connections = analyzed.findings.connections();
    let stopped_before = progress.is_stopped();
    let source = match &analyzed.findings.row {
        Some((connection, retransmissions)) => {
            // The second reading goes no further than the first.
            let frames = analyzed.counts.frames;
            let go_on = |source: &S| {
                source.counts().frames < frames && (stopped_before || !progress.is_stopped())
            };
            explain(open()?, connection, retransmissions, go_on).map_err(AnalyzeError::from)
        }
        None => Err(AnalyzeError::NoConnection {
            capture: capture.into(),
            number,
            connections: (analyzed.counts.left_out == LeftOut::default()).then_some(connections),
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
            true => Err(AnalyzeError::Blank(capture.into())),
            false => Ok(diagram),
        }
    });
    Ok(Drawing {
        capture: capture.into(),
        diagram,
        notes,
    })
}

/// Checks that a capture can be read twice. Opening it finds all other errors.
fn check_rereadable(path: &Path) -> Result<(), AnalyzeError> {
    let is_stream = path.metadata().is_ok_and(|m| !m.is_file() && !m.is_dir());
    match path == Path::new("-") || is_stream {
        true => Err(AnalyzeError::ReadOnce(path.display().to_string())),
        false => Ok(()),
    }
}
