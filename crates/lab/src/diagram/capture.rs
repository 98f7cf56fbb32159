//! Diagrams of packet captures, read by `recoup_trace`.
//!
//! A capture may cut packets anywhere behind the TCP header's fixed part. Checksums are not looked
//! at: hosts that leave them to the network card record wrong ones. Of what the diagram shows, a
//! capture knows all but why something was sent again; and that it was, it knows only of what it
//! has seen before: near the receiver, a repaired loss looks like data sent late.
//!
//! Time 0 is the connection's first packet. Where the sender's SYN is missing, numbers count from the
//! lowest that its data or its peer's ACKs have; where either SYN is, the scale of the window is
//! unknown (RFC 7323 §2.2), and none is told.

mod connections;
mod explained;
mod list;

pub use explained::explain;

use super::source::{Choice, Source, SourceError};
use connections::Connections;
use recoup_trace::read::{ReadError, Reader};
use std::io::Read;

/// Reads a capture.
pub(super) fn read(
    file: &str,
    input: impl Read + Send,
    choice: &Choice,
) -> Result<Source, SourceError> {
    let mut reader = Reader::new(file, input)?;
    let mut connections = Connections::new(choice.connection);
    while let Some(packet) = reader.next() {
        connections.take(packet);
    }
    let counts = reader.finish()?;
    let mut source = connections.finish(file, choice)?;
    source.notes.splice(..0, counts.notes());
    Ok(source)
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
