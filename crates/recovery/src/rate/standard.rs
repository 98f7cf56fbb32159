//! The standard's recovery: the window is ssthresh from the start, and the sender fills it at once.
//!
//! ```text
//! on entering:      cwnd = ssthresh; the first missing segment is sent regardless of the pipe
//! on each ACK:      cwnd − pipe segments may be sent
//! a partial ACK without SACK: the next missing segment is sent regardless of the pipe
//! ```
//! Source: RFC 6675 §5 steps (4.2) to (4.4), (C); RFC 3517; the 2011 paper's algorithm 1. Without SACK,
//! duplicate ACKs shrink the pipe. This is equivalent to RFC 6582 §3.2, where duplicate ACKs inflate the
//! window and partial ACKs deflate it.

use super::AckProgress;

/// Whether an ACK forces a retransmission, regardless of the pipe.
pub(super) fn forces(progress: &AckProgress) -> bool {
    progress.entering || progress.partial
}
