//! Diagrams of packet captures, read by `recoup_trace`.
//!
//! A capture may cut packets anywhere behind the TCP header's fixed part. Checksums are ignored: hosts
//! that leave them to the network card record wrong ones. A capture does not show the trigger of a
//! retransmission. A segment counts as a retransmission when the capture has its data already, so near
//! the receiver a repaired loss looks like data sent late.
//!
//! Time 0 is the connection's first packet. Without the sender's SYN, sequence numbers count from the
//! lowest in its data or in its peer's ACKs. Without both SYNs the window scale is unknown (RFC 7323
//! §2.2), and no receive window is drawn.

mod connections;
mod explained;
mod list;

pub use explained::explain;

use super::source::{Choice, Source, SourceError};
use connections::CaptureConnections;
use recoup_trace::read::{ReadError, Reader};
use std::io::Read;

pub(super) fn read(
    file: &str,
    input: impl Read + Send,
    choice: &Choice,
) -> Result<Source, SourceError> {
    let mut reader = Reader::new(file, input)?;
    let mut connections = CaptureConnections::new(choice.connection);
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
