//! Which segments are lost? Each detector looks at the scoreboard and returns a verdict; the sender
//! alone applies it.

pub mod early;
mod rack;
mod threshold;

pub use early::EarlyRetransmit;
pub use rack::{Rack, RackContext, RackVersion};
pub use threshold::{DUPTHRESH, LossRule, Lost, MAX_DUPTHRESH, Rules, Threshold, Verdict};
