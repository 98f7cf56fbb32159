//! Draws the flow of an event stream, or a connection of a capture with its findings: `recoup plot`
//! without its arguments and its printing.

use recoup_captures::capture::{Capture, Input, Progress};
use recoup_captures::diagram::draw as draw_capture;
use recoup_captures::diagram::source::{Choice, Directions, Kind, Source, SourceError, read_with};
use recoup_draw::sequence::{Diagram, SequenceScale};
use recoup_trace::analyze::Settings;
use recoup_units::{Direction, Instant, visible};
use std::fs::File;
use std::io;
use std::path::Path;
use thiserror::Error;

/// Arguments of a drawing.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// One event stream or capture, or several files that are one capture.
    pub input: Input<'a>,
    /// Which part of it.
    pub choice: Choice,
    /// How a capture is analyzed.
    pub settings: &'a Settings,
    /// The title; `None`: what the drawing shows.
    pub title: Option<String>,
    /// Start of the drawing, from the first packet of the flow on.
    pub from: Option<Instant>,
    /// End of the drawing.
    pub to: Option<Instant>,
}

/// A drawing, and what the user should know of it.
#[derive(Debug)]
pub struct Drawing {
    /// The name of the input in messages.
    pub name: String,
    /// The diagram, or why it would be empty.
    pub diagram: Result<Diagram, PlotError>,
    /// Notes on the input, a line each.
    pub notes: Vec<String>,
}

/// Why nothing is drawn.
#[derive(Debug, Error)]
pub enum PlotError {
    /// The input cannot be read, or does not have what was chosen.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// It has nothing at the time, or in the direction asked for.
    #[error("{file}: nothing to draw: {why}")]
    Nothing {
        /// The input.
        file: String,
        /// Data at other times or in the other direction.
        why: String,
    },
    /// Joined files are read twice, and one of them cannot be.
    #[error("{0}: joined captures are read twice: expected a file")]
    ReadOnce(String),
}

/// Draws what was asked for, as far as the input was read before [`Progress::is_stopped`].
///
/// A capture in a file is read twice. Of a stream, which is read once, a limited number of packets is
/// drawn.
///
/// # Errors
/// An input that cannot be read, or that does not have what was chosen.
pub fn draw(request: &Request<'_>, progress: &dyn Progress) -> Result<Drawing, PlotError> {
    let &Request { ref choice, settings, .. } = request;
    let (name, source) = match request.input {
        Input::Each([path, ..]) => {
            let name = display_name(path);
            let size = path.metadata().ok().filter(|about| about.is_file());
            progress.capture_begins(&name, size.map(|about| about.len()));
            let source = draw_one(path, &name, choice, settings, progress);
            (name, source)
        }
        input => {
            if let Input::Joined(paths) = input {
                paths.iter().try_for_each(|path| check_rereadable(path))?;
            }
            let capture = input.open().map_err(SourceError::from)?;
            let name = capture.name().to_owned();
            progress.capture_begins(&name, capture.size());
            (name, draw_capture(capture, choice, settings, progress))
        }
    };
    progress.capture_ends();
    let mut source = source?;
    let notes = std::mem::take(&mut source.notes);
    Ok(Drawing { diagram: diagram(&name, source, request), name, notes })
}

fn draw_one(
    path: &Path,
    name: &str,
    choice: &Choice,
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<Source, SourceError> {
    if path == Path::new("-") {
        return read_with(name, io::stdin(), choice, settings, progress);
    }
    let unreadable = |source| SourceError::Unreadable { file: name.into(), source };
    let file = File::open(path).map_err(unreadable)?;
    let is_stream = !file.metadata().map_err(unreadable)?.is_file();
    if is_stream {
        return read_with(name, file, choice, settings, progress);
    }
    let (kind, input) = Kind::sniff(name, file)?;
    choice.check(name, kind)?;
    match kind {
        Kind::Events => read_with(name, input, choice, settings, progress),
        Kind::Capture => draw_capture(Capture::open(path)?, choice, settings, progress),
    }
}

/// Checks that a capture can be read twice. Opening it finds all other errors.
fn check_rereadable(path: &Path) -> Result<(), PlotError> {
    let is_stream = path.metadata().is_ok_and(|m| !m.is_file() && !m.is_dir());
    match path == Path::new("-") || is_stream {
        true => Err(PlotError::ReadOnce(path.display().to_string())),
        false => Ok(()),
    }
}

fn diagram(name: &str, source: Source, request: &Request<'_>) -> Result<Diagram, PlotError> {
    let mut diagram = source.into_diagram();
    let whole = diagram.extent();
    (diagram.from, diagram.to) = (request.from, request.to);
    if let Some(title) = &request.title {
        diagram.title.clone_from(title);
    }
    if !diagram.is_blank() {
        if request.choice.directions == Directions::All {
            leave_out_blank_panels(&mut diagram);
        }
        return Ok(diagram);
    }
    let why = match (whole, request.choice.directions) {
        (Some((first, last)), _) => format!(
            "there is data from {} to {}, none of it in the time given by --from and --to",
            milliseconds(first),
            milliseconds(last)
        ),
        (None, Directions::Only(Direction::Up)) => "no data goes from client to server (--direction up)".into(),
        (None, Directions::Only(Direction::Down)) => "no data goes from server to client (--direction down)".into(),
        (None, _) => "no data goes either way".into(),
    };
    Err(PlotError::Nothing { file: name.into(), why })
}

/// Leaves out directions without data in the visible time, as a request without data looks while the
/// response is sent.
fn leave_out_blank_panels(diagram: &mut Diagram) {
    if diagram.scale == SequenceScale::Shared {
        return;
    }
    for panel in std::mem::take(&mut diagram.panels) {
        let alone = Diagram { panels: vec![panel], from: diagram.from, to: diagram.to, ..Diagram::default() };
        if !alone.is_blank() {
            diagram.panels.extend(alone.panels);
        }
    }
}

/// A time as `--from` takes it.
fn milliseconds(at: Instant) -> String {
    let micros = at.as_nanos() / 1000;
    format!("{}.{:03}ms", micros / 1000, micros % 1000)
}

/// The name of an input in messages.
pub fn display_name(path: &Path) -> String {
    match path == Path::new("-") {
        true => "<standard input>".into(),
        false => visible(&path.to_string_lossy()).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recoup_draw::sequence::{Mark, MarkKind, Panel};
    use recoup_units::{Offset, Span};

    /// While the response is sent, the request's direction has nothing to show.
    #[test]
    fn directions_without_data_in_the_time_shown_are_left_out() {
        let sent = |ms: u64| {
            let span = Span::new(Offset(1), Offset(1001));
            Mark::new(Instant::from_millis(ms), MarkKind::Sent(span))
        };
        let panel =
            |title: &str, ms: &[u64]| Panel { title: title.into(), marks: ms.iter().map(|ms| sent(*ms)).collect() };
        let titles = |scale, from: u64| {
            let mut diagram = Diagram {
                panels: vec![panel("down", &[10, 500]), panel("up", &[0])],
                scale,
                from: Some(Instant::from_millis(from)),
                ..Diagram::default()
            };
            leave_out_blank_panels(&mut diagram);
            let titles = diagram.panels.into_iter().map(|panel| panel.title);
            titles.collect::<Vec<_>>()
        };
        assert_eq!(titles(SequenceScale::OnePerPanel, 0), ["down", "up"]);
        assert_eq!(titles(SequenceScale::OnePerPanel, 100), ["down"]);
        assert_eq!(titles(SequenceScale::Shared, 100), ["down", "up"]);
    }
}
