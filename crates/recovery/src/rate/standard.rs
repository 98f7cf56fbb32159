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
//= RFC 5681 §3.2 step 3 MUST: "The lost segment starting at SND.UNA MUST be retransmitted and cwnd set to ssthresh plus
//=   3*SMSS."
//= deviation: cwnd is ssthresh, and each duplicate ACK takes a segment from the pipe: as much is sent
//= RFC 6675 §5 (4.3) step: "Retransmit the first data segment presumed dropped -- the segment starting with sequence
//=   number HighACK + 1."
pub(super) fn forces(progress: &AckProgress) -> bool {
    progress.entering || progress.partial
}
