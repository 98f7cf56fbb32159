//! The standard's recovery: the window is ssthresh from the first moment, and whatever the pipe is
//! short of it may go at once.
//!
//! ```text
//! on entering:      cwnd = ssthresh; the first missing segment goes whatever the pipe
//! on each ACK:      cwnd − pipe segments may go
//! a partial ACK without SACK: the next missing segment goes whatever the pipe
//! ```
//! Source: RFC 6675 §5 steps (4.2) to (4.4), (C); RFC 3517; the 2011 paper's algorithm 1. Without SACK
//! the same, with a pipe that duplicate ACKs shrink, is RFC 6582 §3.2's window inflated by duplicate
//! ACKs and deflated by partial ones.

use super::AckProgress;

/// Whether a retransmission goes whatever the pipe holds.
pub(super) fn forces(progress: &AckProgress) -> bool {
    progress.entering || progress.partial
}
