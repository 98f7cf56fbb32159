//! Explains the TCP retransmissions of packet captures.
//!
//! ```text

//!                           │         └─► verdict
//!                           └─ analyze drives it on all cores
//! ```
//!
//! | stage | question |
//! | --- | --- |
//! | [`read`] | which TCP segments does the capture hold? |
//! | `follow` | what is each packet: new data, retransmission, duplicate, probe? |
//! | `attribute` | why was it retransmitted? The recovery engine replays the sender. |
//! | `verdict` | was the retransmission needed? |
//! | [`finding`] | the results: retransmissions and connections |
//! | [`hosts`] | what do all connections of a host show of it? |

//! | [`timeline`] | segments, retransmissions, goodput and round-trip times over time |
//!
//! [`analyze`] runs all stages over a capture.

#[cfg(not(feature = "ablation"))]
mod ablation;
#[cfg(feature = "ablation")]
pub mod ablation;
pub mod analyze;
mod attribute;
mod cost;
pub mod finding;
mod follow;
pub mod hosts;
mod memory;
pub mod read;
pub mod systems;
pub mod timeline;
mod verdict;
