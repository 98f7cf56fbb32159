//! Runs the connections of a capture again, in the simulator, with other settings or loss recovery.
//!
//! ```text
//! packets of a connection ─► record ─► transmission ─┬─► delays, bottleneck, loss ─► network ─┐
//!                                                    ├─► receiver  ────────────────► network ─┤
//!                                                    └─► application ─────────────────────────┴─► rerun
//! ```
//!
//! | module | what it does |
//! | --- | --- |
//! | `record` | the packets of a connection, in stream offsets |
//! | [`transmission`] | every transmission of the sender, with its fate |
//! | `delays` | the network's delay at each moment |
//! | [`loss`] | the loss process, which decides the fate of packets that the capture does not hold |
//! | [`bottleneck`] | the rate and the queue of the path, where they were the limit |
//! | [`policing`] | the rate above which the path dropped packets, if a policer did |
//! | `receiver` | when the receiver acknowledges, and which window it announces |
//! | `application` | what the applications wrote, and when |
//! | `recorded` | all of this for one connection |
//! | `network` | carries the packets of a rerun as the network of the capture did |
//! | `trial` | what a rerun does otherwise than the capture |
//! | `rerun` | runs the connection again |
//! | `mismatch` | how a rerun differs from the capture |
//! | [`detections`], [`detection_cost`] | the detections of loss among retransmissions; the cost of one in flight size (2007 study) |
//!
//! All times are by the clock of the capture point, which stands at the sender, and count from the
//! connection's first packet.

mod application;
pub mod bottleneck;
mod delays;
pub mod detection_cost;
pub mod detections;
pub mod loss;
mod mismatch;
mod network;
pub mod parameters;
pub mod policing;
mod receiver;
mod record;
mod recorded;
mod rerun;
pub mod transmission;
mod trial;
mod unsuitable;

pub use mismatch::Mismatch;
pub use receiver::{AckDelays, AckHabit};
pub use record::{ConnectionPackets, MOST_PACKETS};
pub use recorded::{Recorded, record};
pub use rerun::{Outcome, Pacing, Reproduced, Rerunner};
pub use trial::{Fates, PeerAcks, Trial};
pub use unsuitable::Unsuitable;
