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
mod memory;

pub use explained::draw_connections;

use super::source::{Choice, Directions, Reading, Source, SourceError};
use crate::analysis::{self, Analyzed, ConnectionRow, OneConnection};
use memory::{Memory, Recalled, Remembering};
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
    let rows = std::slice::from_ref(row);
    let (mut drawn, interrupted) = read_again(
        &analyzed,
        again,
        rows,
        choice.directions,
        usize::MAX,
        reading,
    )?;
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
    let (mut source, note) = read_once(source, |first, again| {
        draw(capture, first, again, choice, reading)
    })?;
    source.notes.extend(note);
    Ok(source)
}

/// Draws these connections of a capture that was analyzed, from a second reading of it. Also returns a note
/// if the user interrupts the reading.
///
/// # Errors
/// If the capture cannot be opened again.
pub(crate) fn read_again<V, T: PacketSource>(
    analyzed: &Analyzed<V>,
    again: impl FnOnce(Counts) -> Result<T, ReadError>,
    rows: &[ConnectionRow],
    directions: Directions,
    most_packets: usize,
    reading: &Reading<'_>,
) -> Result<(Vec<Source>, Option<String>), ReadError> {
    // The second reading goes no further than the first.
    let frames = analyzed.counts.frames;
    let mut stopped = false;
    let go_on = |source: &T| {
        stopped = !analyzed.interrupted && !(reading.go_on)(source.taken());
        !stopped && (!analyzed.interrupted || source.counts().frames < frames)
    };
    let second = again(analyzed.counts.clone())?;
    let drawn = draw_connections(second, rows, directions, most_packets, go_on);
    let note = stopped.then(|| "interrupted: not everything is drawn".into());
    Ok((drawn, note))
}

/// Reads a stream twice, as `twice` reads a file: a limited number of its packets is kept for the second
/// reading. Also returns a note if there were more.
///
/// # Errors
/// Those of `twice`.
pub(crate) fn read_once<S: PacketSource, R, E>(
    source: S,
    twice: impl FnOnce(
        Remembering<S>,
        &mut dyn FnMut(Counts) -> Result<Recalled, ReadError>,
    ) -> Result<R, E>,
) -> Result<(R, Option<String>), E> {
    let memory = Memory::default();
    let first = Remembering {
        source,
        memory: memory.clone(),
    };
    let mut note = None;
    let mut again = |counts| {
        note = memory.note();
        Ok(memory.recall(counts))
    };
    let result = twice(first, &mut again)?;
    Ok((result, note))
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
