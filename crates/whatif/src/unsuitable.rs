//! Why a connection cannot be rerun.

use std::fmt;

recoup_units::named! {
    /// Facts that a rerun needs and the capture does not show.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Unsuitable {
        /// The capture does not hold both SYNs.
        NoHandshake = "no_handshake",
        /// Nothing that the sender sent was acknowledged.
        NothingAcknowledged = "nothing_acknowledged",
        /// The sender sent no data.
        NoData = "no_data",
        /// The capture lacks packets of the sender.
        PacketsMissing = "packets_missing",
        /// It has more packets than are kept.
        TooLong = "too_long",
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
