//! Which segments are lost? Each detector looks at the scoreboard and returns a verdict; the sender
//! alone applies it.

pub mod early;
mod threshold;

pub use early::EarlyRetransmit;
pub use threshold::{MAX_DUPTHRESH, Threshold, Verdict};
