//! Which segments are lost? Each detector looks at the scoreboard and returns a verdict; the sender
//! alone applies it.

pub mod early;
mod rack;
mod threshold;

pub use early::EarlyRetransmit;
pub use rack::{Circumstances, Rack};
pub use threshold::{DUPTHRESH, Lost, LossRule, MAX_DUPTHRESH, Rules, Threshold, Verdict};
