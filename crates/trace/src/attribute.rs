//! Why each segment was retransmitted.
//!
//! - **In**: what [`follow`](crate::follow) saw of one direction, step by step: segments sent, ACKs
//!   heard.
//! - **Out**: a [`Retransmission`](crate::finding::Retransmission) with its trigger and verdict for
//!   each packet that repeats bytes, and the profile of the sender.
//!
//! ```text
//! episode ─► tape ─► profile_replay ─► replay (the engine, once per profile) ─► identify
//!    └─────► verdict
//! ```
//!
//! | module | what it does |
//! | --- | --- |
//! | [`episode`] | keeps what one direction retransmitted, and has it replayed and judged |
//! | [`tape`] | records the steps that a replay takes |
//! | [`playback`] | makes a tape ready for its replays: what is equal for all profiles |
//! | [`way_back`] | says which ACKs had reached a sender far from the capture point |
//! | [`replay`] | replays a tape under one profile, and names each retransmission's trigger |
//! | [`identify`] | chooses the profile that explains most, for a connection and for a host |
//! | [`reduction`] | compares what a sender sends with the window that its losses would leave it |
//! | [`rtt_samples`] | holds the RTT samples that a replay's estimator starts from |
//! | [`context`] | holds what an explanation depends on besides the packets |
//! | [`provisional`] | keeps verdicts that may be revised when more becomes known of a host |
//! | [`by_host`] | finds what depends on a host |
//! | [`pool`] | keeps freed episodes, tapes and replays for reuse |

pub(crate) mod by_host;
pub(crate) mod context;
pub(crate) mod episode;
pub(crate) mod identify;
mod playback;
pub(crate) mod pool;
pub(crate) mod provisional;
mod reduction;
pub(crate) mod replay;
pub(crate) mod rtt_samples;
pub(crate) mod tape;
mod way_back;
