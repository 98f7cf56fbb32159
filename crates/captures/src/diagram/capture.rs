//! Diagrams of packet captures.
//!
//! ```text
//! PacketSource ─► analysis::run ─► OneConnection ─► packets of the connection ─► panels
//!                                                     (a second reading)
//! ```
//!
//! The analysis finds the connection, its retransmissions, and the trigger and verdict of each. A second
//! reading finds its packets. Of a stream, which can be read only once, a limited number of packets is
//! kept for the second reading.
//!
//! Time 0 is the connection's first packet. Without the sender's SYN, sequence numbers count from the
//! lowest in its data or in its peer's ACKs. Without both SYNs the window scale is unknown (RFC 7323
//! §2.2), and no receive window is drawn.

mod connection;
mod explained;
mod list;

use explained::draw_and;
pub use explained::draw_connections;

use super::source::{Choice, Directions, Reading, Source, SourceError};
use crate::analysis::{self, Analyzed, ConnectionRow, OneConnection};
use crate::reread::{self, Also, kept_note, read_once};
use recoup_trace::read::{Counts, PacketSource, ReadError};

/// What is done with the packets kept of a stream.
pub(crate) const DRAWN: &str = "are drawn";

/// Draws a connection of a capture, with its findings. `capture` is the user's name for it. `first` is
/// read, and then what `again` opens.
///
/// # Errors
/// When the capture cannot be read, or when `choice` does not fit it.
pub fn draw<S: PacketSource, T: PacketSource>(
    capture: &str,
    first: S,
    again: impl FnOnce(Counts) -> Result<T, ReadError>,
    choice: &Choice,
    reading: &Reading<'_>,
) -> Result<Source, SourceError> {
    let go_on = |source: &S| (reading.go_on)(source.taken());
    let collector = || OneConnection::of(choice.connection);
    let analyzed = analysis::run(capture, first, reading.settings, collector, go_on)?;
    let mut notes = analyzed.notes();
    let Some(row) = analyzed.findings.row() else {
        return Err(refuse(capture, &analyzed, choice, notes));
    };
    let rows = std::slice::from_ref(row);
    let (mut drawn, interrupted) = draw_again(&analyzed, again, rows, choice.directions, usize::MAX, reading, None)?;
    notes.extend(interrupted);
    let mut source = drawn.pop().unwrap_or_default();
    notes.append(&mut source.notes);
    Ok(Source { notes, ..source })
}

/// The same of a stream, which is read once.
///
/// # Errors
/// Those of [`draw`].
pub fn draw_stream<S: PacketSource>(
    capture: &str,
    source: S,
    choice: &Choice,
    reading: &Reading<'_>,
) -> Result<Source, SourceError> {
    let (mut source, kept) = read_once(source, |first, again| draw(capture, first, again, choice, reading))?;
    let note = kept.map(|kept| kept_note(kept, DRAWN));
    source.notes.extend(note);
    Ok(source)
}

/// Draws these connections of a capture that was analyzed, from a second reading of it, in which `also`
/// is read, too. Also returns a note if the user interrupts the reading.
///
/// # Errors
/// If the capture cannot be opened again.
pub(crate) fn draw_again<V, T: PacketSource>(
    analyzed: &Analyzed<V>,
    again: impl FnOnce(Counts) -> Result<T, ReadError>,
    rows: &[ConnectionRow],
    directions: Directions,
    most_packets: usize,
    reading: &Reading<'_>,
    also: Option<Also<'_>>,
) -> Result<(Vec<Source>, Option<String>), ReadError> {
    let draw =
        |second, go_on: &mut dyn FnMut(&T) -> bool| draw_and(second, rows, directions, most_packets, also, go_on);
    let (drawn, stopped) = reread::read_again(analyzed, again, reading.go_on, draw)?;
    let note = stopped.then(|| "interrupted: not everything is drawn".into());
    Ok((drawn, note))
}

/// Why no connection was chosen.
fn refuse(capture: &str, analyzed: &Analyzed<OneConnection>, choice: &Choice, notes: Vec<String>) -> SourceError {
    let found = &analyzed.findings;
    let existing = found.existing(&analyzed.counts);
    let (mut list, connections) = (vec![], found.numbers());
    let why = match (choice.connection, connections) {
        (Some(number), _) => format!("no connection {number}: {existing}"),
        (None, 0) => "there is no TCP connection".into(),
        (None, _) => {
            list = list::lines(found);
            format!("there are {connections} connections: choose one with --connection")
        }
    };
    let file = capture.into();
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
