//! Input of an episode when its connection ends, and its facts about the hosts.

use crate::hosts::HostFacts;
use recoup_units::{Instant, Offset};
use recoup_wire::Endpoints;

/// Facts about a connection that ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionEnd {
    /// The connection's number.
    pub connection: u64,
    /// The endpoints of this direction.
    pub endpoints: Endpoints,
    /// When the connection's first packet was captured.
    pub first: Instant,
    /// When the handshake was complete.
    pub opened: Instant,
    /// When the last packet was captured.
    pub at: Instant,
    /// When the peer's FIN passed, if it sent one.
    pub peer_sent_fin: Option<Instant>,
    /// The end of the data that was sent in this direction.
    pub sent_to: Offset,
    /// Where the data begins, if the capture begins within the connection.
    pub begins_at: Option<Offset>,
    /// The peer sent a reset.
    pub reset_by_peer: bool,
    /// The capture holds packets of one end only.
    pub one_direction: bool,
    /// The capture holds a SYN.
    pub had_handshake: bool,
    /// The connection was over before, and what its senders showed was passed on then.
    pub was_over: bool,
}

/// Facts about the hosts at both ends of a direction.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    /// Of the sender; nothing unless captured there.
    pub sender: HostFacts,
    /// Of the receiver.
    pub receiver: HostFacts,
}
