//! What an episode needs to know when its connection ends, and what it found.

use crate::finding::{Identification, Tally};
use crate::hosts::HostFacts;
use recoup_units::Instant;
use recoup_wire::Endpoints;
use std::time::Duration;

/// What an episode needs to know when its connection ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionEnd {
    /// The connection's number.
    pub connection: u64,
    /// The endpoints of this direction.
    pub endpoints: Endpoints,
    /// When the last packet was captured.
    pub at: Instant,
}

/// What an episode found.
#[derive(Debug, Default)]
pub(crate) struct EpisodeResult {
    pub tally: Tally,
    pub profile: Identification,
    pub learned: Learned,
    pub recoveries: u32,
    pub recovering: Duration,
    /// Some triggers and verdicts would have cost too much time.
    pub too_costly: bool,
}

/// What a connection shows of the hosts at both ends of a direction.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    /// Of the sender; nothing unless captured there.
    pub sender: HostFacts,
    /// Of the receiver.
    pub receiver: HostFacts,
}
