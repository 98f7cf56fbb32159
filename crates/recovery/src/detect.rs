//! Which segments are lost? Each detector reads the scoreboard and returns a verdict. Only the sender
//! applies verdicts.

mod early;
mod late;
mod packet_time;
mod rack;
mod threshold;

pub(crate) use early::EarlyRule;
pub use early::{EarlyRetransmit, EarlyThreshold};
pub(crate) use late::{Evidence, Late, Suspects};
pub(crate) use packet_time::PacketTime;
pub use rack::RackVersion;
pub(crate) use rack::{Rack, RackContext};
pub(crate) use threshold::{DUPTHRESH, MAX_DUPTHRESH, Threshold};
pub use threshold::{LossRule, Rules};
