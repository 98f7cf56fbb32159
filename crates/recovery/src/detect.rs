//! Which segments are lost? Each detector reads the scoreboard and returns a verdict. Only the sender
//! applies verdicts.

pub mod early;
mod packet_time;
mod rack;
mod threshold;

pub use early::EarlyRetransmit;
pub use packet_time::PacketTime;
pub use rack::{Rack, RackContext, RackVersion};
pub use threshold::{DUPTHRESH, LossRule, LossVerdict, Lost, MAX_DUPTHRESH, Rules, Threshold};
