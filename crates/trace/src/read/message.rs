//! What packets say that are no segments of their senders.

use serde::{Deserialize, Serialize};

/// What a packet says of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "u16", into = "u16")]
pub enum Message {
    /// An ICMP message: the path of the segment takes packets of this many bytes at most, and more than 0.
    PathMtu(u16),
    /// It is a copy of the segment that another program of the sender's host sent ([`WithoutCopies`](super::WithoutCopies)).
    Copy,
}

/// No path takes packets of 0 bytes.
const COPY: u16 = 0;

impl From<u16> for Message {
    fn from(number: u16) -> Self {
        match number {
            COPY => Self::Copy,
            mtu => Self::PathMtu(mtu),
        }
    }
}

impl From<Message> for u16 {
    fn from(message: Message) -> Self {
        match message {
            Message::PathMtu(mtu) => mtu,
            Message::Copy => COPY,
        }
    }
}
