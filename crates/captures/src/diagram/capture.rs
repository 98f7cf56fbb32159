//! Diagrams of packet captures.
//!
//! ```text
//! Capture ─► analysis ─► OneConnection ─► packets of the connection ─► panels
//!                                          (a second reading)
//! ```
//!
//! The analysis finds the connection, its retransmissions, and the trigger and verdict of each. A second
//! reading finds its packets.
//!
//! Time 0 is the connection's first packet. Without the sender's SYN, sequence numbers count from the
//! lowest in its data or in its peer's ACKs. Without both SYNs the window scale is unknown (RFC 7323
//! §2.2), and no receive window is drawn.

mod connection;
mod explained;
mod list;

use explained::draw_and;
pub use explained::draw_connections;

use super::source::{Choice, Directions, Source, SourceError};
use crate::analysis::{Analyzed, ConnectionRow, OneConnection};
use crate::capture::{Again, Capture, Progress};
use crate::reread::Also;
use recoup_trace::analyze::Settings;
use recoup_trace::read::ReadError;

/// Use of the packets that are kept of a stream, in notes.
pub(crate) const DRAWN: &str = "are drawn";

/// Draws a connection of a capture, with its findings.
///
/// # Errors
/// When the capture cannot be read, or when `choice` does not fit it.
pub fn draw(
    capture: Capture<'_>,
    choice: &Choice,
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<Source, SourceError> {
    let collector = || OneConnection::of(choice.connection);
    let (analyzed, again) = capture.analyze_first(settings, collector, progress)?;
    let mut notes = analyzed.notes();
    let Some(row) = analyzed.findings.row() else {
        return Err(refuse(&analyzed, choice, notes));
    };
    let rows = std::slice::from_ref(row);
    let (mut drawn, interrupted) = draw_again(&analyzed, &again, rows, choice.directions, usize::MAX, progress, None)?;
    notes.extend(interrupted);
    let mut source = drawn.pop().unwrap_or_default();
    notes.append(&mut source.notes);
    notes.extend(again.kept_note(DRAWN));
    Ok(Source { notes, ..source })
}

/// Draws these connections of a capture that was analyzed, from a second reading of it, in which `also`
/// is read, too. Also returns a note if the user interrupts the reading.
///
/// # Errors
/// If the capture cannot be opened again.
pub(crate) fn draw_again<V>(
    analyzed: &Analyzed<V>,
    again: &Again<'_>,
    rows: &[ConnectionRow],
    directions: Directions,
    most_packets: usize,
    progress: &dyn Progress,
    also: Option<Also<'_>>,
) -> Result<(Vec<Source>, Option<String>), ReadError> {
    let (drawn, stopped) = again.read(analyzed, &|bytes| progress.reads(bytes), |second, go_on| {
        draw_and(second, rows, directions, most_packets, also, go_on)
    })?;
    let note = stopped.then(|| "interrupted: not everything is drawn".into());
    Ok((drawn, note))
}

/// Why no connection was chosen.
fn refuse(analyzed: &Analyzed<OneConnection>, choice: &Choice, notes: Vec<String>) -> SourceError {
    let found = &analyzed.findings;
    let existing = found.existing(&analyzed.counts);
    let (mut list, connections) = (vec![], found.numbers());
    let why = match (choice.connection, connections) {
        (Some(number), _) => format!("no connection {number}: {existing}"),
        (None, 0) => analyzed.counts.why_no_connection(),
        (None, _) => {
            list = list::lines(found);
            format!("there are {connections} connections: choose one with --connection")
        }
    };
    let file = analyzed.capture.clone();
    SourceError::Choice { file, why, list, notes }
}

impl From<ReadError> for SourceError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Unreadable { file, source } => Self::Unreadable { file, source },
            other => Self::Capture(other),
        }
    }
}

#[cfg(test)]
mod tests;
