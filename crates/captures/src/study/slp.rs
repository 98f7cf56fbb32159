//! The 2021 paper's analysis of captures: which losses cause timeouts.
//!
//! - **In**: the packets of each connection, and what the analysis knows of its retransmissions.
//! - **Out**: a [`Report`].
//!
//! Source: "Selective Loss Prevention" (2021), §II-B and §III-A.
//!
//! | the paper | here |
//! | --- | --- |
//! | §II-B2, losses from duplicate sequence numbers | `connection`, `transmissions`: a [`Sample`] for each |
//! | §II-B2, k-means on transmission intervals | [`kmeans`], [`Classification`] |
//! | §II-B2, comparison with Wireshark | `wireshark`, [`Agreement`] |
//! | §II-B3, Figures 1 and 2, position analysis | [`PositionPanel`] |
//! | §II-B4, Figures 3 and 4, flag analysis | [`FlagPanel`] |
//! | §II-C1, q by kind of packet | [`KindShare`] |
//! | §III-A, Table I | [`SynLosses`] |
//!
//! A retransmission is a packet whose sequence range begins below the highest number sent. Its interval is
//! the time since the previous transmission of its first number. k-means divides the intervals into two
//! groups. The group with the longer intervals are timeouts.
//!
//! # Choices where the paper is silent
//! - The intervals of all connections are pooled, in seconds, SYNs included. Two variants stand beside
//!   this reading: logarithms of the intervals, and SYNs apart. A retransmitted SYN or SYN-ACK is then a
//!   timeout, because only a timer retransmits it, and k-means divides the others.
//! - Positions count packets with payload, SYN or FIN. A variant also counts pure ACKs and resets. Of n
//!   packets, the first ⌈n/2⌉ count from the front and the others from the back.
//! - Only directions whose SYN and whose FIN (or a reset) were captured have positions.
//! - A category of flags is shown if it has 1 % of the capture's packets.
//! - The completion time of Table I ends with the last packet that carries data or FIN. Flows without
//!   either, and flows still open when the capture ends, have none.
//!
//! # Deviations
//! - Keep-alives and window probes are no retransmissions: packets of one byte that the analysis does not
//!   list either.
//! - A packet below the highest number whose earlier transmission was not captured has no interval. It is
//!   counted as unseen.
//! - A retransmission with several triggers has its first one.
//! - A tail is the last data before the other end sends data again, or before the connection ends. The
//!   capture does not show where the application stopped writing.

mod classification;
mod connection;
pub mod kmeans;
mod report;
mod shares;
mod statements;
mod syn_loss;
mod transmissions;
mod wireshark;

pub use super::views::slp::{
    LEAST_RETRANSMISSIONS, SampleRow, SlpStudy, figures, flag_chart, likelihoods_file, position_chart, sample_columns,
    sample_rows, study, study_packets, study_text, write_studies,
};
pub use classification::{Agreement, Classification, Classifier, Classifiers};
pub use connection::{Followed, Follower, Known};
pub use report::{Capture, Report};
pub use shares::{FlagCategory, FlagPanel, KindShare, PositionPanel, PositionShare, Shares, flag_names};
pub use statements::Statement;
pub use syn_loss::{Percentile, SynLoss, SynLosses};

use super::tables::percent;
use recoup_recovery::Trigger;
use recoup_recovery::slp::Kind;
use recoup_trace::read::CapturedPacket;
use recoup_units::{Direction, Instant};
use recoup_wire::{Endpoints, Flags, SeqNumber};
use serde::Serialize;
use std::ops::BitOrAssign;
use std::time::Duration;
use transmissions::First;

/// The highest position that is counted.
pub const LAST_POSITION: u32 = 100;

recoup_units::named! {
    /// The cause of a retransmission.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Class {
        /// A retransmission timer, or slow start after one.
        Timeout = "timeout",
        /// Anything else.
        Fast = "fast",
    }
}

impl Class {
    fn fast_if(is_fast: bool) -> Self {
        match is_fast {
            true => Self::Fast,
            false => Self::Timeout,
        }
    }

    /// The class of a trigger.
    pub const fn of(trigger: Trigger) -> Self {
        match trigger {
            Trigger::Rto | Trigger::SlowStart | Trigger::Syn | Trigger::SynAck => Self::Timeout,
            _ => Self::Fast,
        }
    }
}

recoup_units::named! {
    /// From which end of a connection positions count.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Half {
        /// From the first packet.
        Front = "front",
        /// From the last packet.
        Back = "back",
    }
}

/// The position of a packet among those that one end of a connection sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Position {
    /// The half that it is in.
    pub half: Half,
    /// 1 for the first packet of the front half, and for the last packet of the back half.
    pub index: u32,
}

impl Position {
    /// The position of the packet with this many `before` it, of `all`.
    fn of(before: u32, all: u32) -> Self {
        match before < all.div_ceil(2) {
            true => Self { half: Half::Front, index: before + 1 },
            false => Self { half: Half::Back, index: all.saturating_sub(before) },
        }
    }
}

/// A set of the kinds of packets for which SLP has likelihoods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Kinds(u8);

impl Kinds {
    /// The kinds of a packet with these flags.
    fn of(flags: Flags, is_first_data: bool) -> Self {
        let mut kinds = Self::default();
        let [is_syn, is_ack] = [Flags::SYN, Flags::ACK].map(|flag| flags.contains(flag));
        for (is_one, kind) in [
            (is_syn && !is_ack, Kind::Syn),
            (is_syn && is_ack, Kind::SynAck),
            (flags.contains(Flags::FIN), Kind::Fin),
            (flags.contains(Flags::PSH), Kind::Psh),
            (is_first_data, Kind::First),
        ] {
            if is_one {
                kinds |= kind.into();
            }
        }
        kinds
    }

    /// Whether a packet of these kinds counts as of this one. [`Kind::Other`] has no other kind.
    pub fn contains(self, kind: Kind) -> bool {
        match kind {
            Kind::Other => self.0 == 0,
            kind => self.0 & 1 << kind as u8 != 0,
        }
    }
}

impl From<Kind> for Kinds {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Other => Self(0),
            kind => Self(1 << kind as u8),
        }
    }
}

impl BitOrAssign for Kinds {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// A retransmission, with what the paper's analysis asks of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The number of its connection.
    pub connection: u64,
    /// Its frame in the capture, from 1.
    pub frame: u64,
    /// When it was captured.
    pub at: Instant,
    /// Its sender and receiver.
    pub endpoints: Endpoints,
    /// Whether the end that opened the connection sent it ([`Direction::Up`]).
    pub direction: Direction,
    /// The sequence number in its header.
    pub seq: SeqNumber,
    /// Payload bytes.
    pub len: u32,
    /// Since the previous transmission of its first number.
    pub interval: Duration,
    /// The flags of the packet that first carried that number.
    pub flags: Flags,
    /// The kinds of that packet.
    pub kinds: Kinds,
    /// The position of that packet, if the capture holds the first and the last packet of its direction.
    pub position: Option<Position>,
    /// `position`, with pure ACKs and resets counted too.
    pub position_with_acks: Option<Position>,
    /// The first trigger that the analysis found; `None` if it is unknown.
    pub trigger: Option<Trigger>,
    /// Whether the analysis lists it as a retransmission. Duplicates that the network made are not listed.
    pub is_listed: bool,
    /// Its class by Wireshark's static rule; `None` if the ACKs were not captured.
    pub by_wireshark: Option<Class>,
    /// Whether Wireshark's static rule calls it out of order, unless it is a fast retransmission.
    pub is_out_of_order: bool,
}

impl Sample {
    fn new(
        connection: u64,
        direction: Direction,
        packet: &CapturedPacket,
        (first, previous): &(First, Instant),
    ) -> Self {
        Self {
            connection,
            frame: packet.frame,
            at: packet.at,
            endpoints: packet.endpoints,
            direction,
            seq: packet.segment.seq,
            len: packet.segment.payload_len,
            interval: packet.at.since(*previous),
            flags: first.flags,
            kinds: first.kinds,
            position: None,
            position_with_acks: None,
            trigger: None,
            is_listed: false,
            by_wireshark: None,
            is_out_of_order: false,
        }
    }

    /// Whether a SYN or SYN-ACK was lost.
    pub fn is_syn(&self) -> bool {
        self.flags.contains(Flags::SYN)
    }
}

#[cfg(test)]
mod tests;
