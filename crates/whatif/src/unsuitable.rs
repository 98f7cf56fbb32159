//! Why a connection cannot be rerun.

use std::fmt;

/// Facts that a rerun needs and the capture does not show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unsuitable {
    /// The capture does not hold both SYNs.
    NoHandshake,
    /// Nothing that the sender sent was acknowledged.
    NothingAcknowledged,
    /// The sender sent no data.
    NoData,
    /// The capture lacks packets of the sender.
    PacketsMissing,
    /// It has more packets than are kept.
    TooLong,
}

impl Unsuitable {
    /// All reasons, in the order of reports.
    pub const ALL: [Self; 5] =
        [Self::NoHandshake, Self::NothingAcknowledged, Self::NoData, Self::PacketsMissing, Self::TooLong];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoHandshake => "no_handshake",
            Self::NothingAcknowledged => "nothing_acknowledged",
            Self::NoData => "no_data",
            Self::PacketsMissing => "packets_missing",
            Self::TooLong => "too_long",
        }
    }
}

impl fmt::Display for Unsuitable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoHandshake => "the capture does not hold its handshake",
            Self::NothingAcknowledged => "the capture holds no ACK of its data",
            Self::NoData => "its sender sent no data",
            Self::PacketsMissing => "the capture lacks packets of its sender",
            Self::TooLong => "it has more than a million packets",
        })
    }
}
