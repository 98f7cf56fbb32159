//! What an episode needs to know when its connection ends, and what it shows of the hosts.

use crate::hosts::HostFacts;
use recoup_units::Instant;
use recoup_wire::Endpoints;

/// What an episode needs to know when its connection ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionEnd {
    /// The connection's number.
    pub connection: u64,
    /// The endpoints of this direction.
    pub endpoints: Endpoints,
    /// When the connection's first packet was captured.
    pub first: Instant,
    /// When the last packet was captured.
    pub at: Instant,
    /// The capture holds packets of one end only.
    pub one_direction: bool,
    /// The connection was over before, and what its senders showed was passed on then.
    pub was_over: bool,
}

/// What a connection shows of the hosts at both ends of a direction.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    /// Of the sender; nothing unless captured there.
    pub sender: HostFacts,
    /// Of the receiver.
    pub receiver: HostFacts,
}
