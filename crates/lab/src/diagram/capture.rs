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
pub(crate) mod memory;

pub use explained::draw_connections;

use super::source::{Choice, Reading, Source, SourceError};
use crate::analysis::{self, Analyzed, OneConnection};
use memory::{Memory, Remembering};
use recoup_trace::read::{Counts, PacketSource, ReadError};

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
    // The second reading goes no further than the first.
    let frames = analyzed.counts.frames;
    let mut stopped = false;
    let go_on = |source: &T| {
        stopped = !analyzed.interrupted && !(reading.go_on)(source.taken());
        !stopped && (!analyzed.interrupted || source.counts().frames < frames)
    };
    let rows = std::slice::from_ref(row);
    let second = again(analyzed.counts.clone())?;
    let mut drawn = draw_connections(second, rows, choice.directions, usize::MAX, go_on);
    if stopped {
        notes.push("interrupted: not all of the connection is drawn".into());
    }
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
    let memory = Memory::default();
    let first = Remembering {
        source,
        memory: memory.clone(),
    };
    let mut note = None;
    let again = |counts| {
        note = memory.note();
        Ok(memory.recall(counts))
    };
    let mut source = draw(capture, first, again, choice, reading)?;
    source.notes.extend(note);
    Ok(source)
}

/// Why no connection was chosen.
fn refuse(
    capture: &str,
    analyzed: &Analyzed<OneConnection>,
    choice: &Choice,
    notes: Vec<String>,
) -> SourceError {
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
    SourceError::Choice {
        file,
        why,
        list,
        notes,
    }
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
