//! Follows connections, and classifies each of their packets.
//!
//! - **In**: captured packets, each with a time that never goes back.
//! - **Out**: a [`finding::Connection`](crate::finding::Connection) for each connection, with its
//!   retransmissions. What each packet of a direction is (new data, retransmission, duplicate, late
//!   original, probe) goes to [`attribute`](crate::attribute).
//!
//! ```text
//! table ─► connection ─► direction (one for each end) ─► attribute::episode
//! ```
//!
//! | module | what it does |
//! | --- | --- |
//! | [`ends`] | the ends of a connection as integers |
//! | [`fields`] | the fields by which every packet is followed, and packets that have no others |
//! | [`packed`] | keeps packets compact until their shard takes them |
//! | [`table`] | finds the connection of each packet, in bounded memory |
//! | [`points`] | tells the capture points of a merged file apart |
//! | [`connection`] | follows the handshake, the end and the next connection between the same ends |
//! | [`held`] | keeps connections whose sender is not settled yet |
//! | [`direction`] | follows what one end sends: outstanding data, MSS, duplicates, ACKs |
//! | [`shared`] | holds what both directions of a connection need |
//! | [`rtts`] | measures round-trip times and response times |
//! | [`vantage`] | says where each direction was captured |

pub(crate) mod connection;
pub(crate) mod direction;
mod ends;
pub(crate) mod fields;
mod held;
pub(crate) mod packed;
pub(crate) mod points;
pub(crate) mod rtts;
pub(crate) mod shared;
pub(crate) mod table;
mod vantage;

use crate::read::{CapturedPacket, Packet};
use recoup_units::Instant;
use serde::{Deserialize, Serialize};

/// A packet with its time by a clock that never goes back.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct TimedPacket {
    pub time: Instant,
    pub packet: CapturedPacket,
    /// Tells networks with the same addresses apart, once [`table`] knows: 0 unless there are several.
    pub network: u8,
}

impl Default for TimedPacket {
    /// Says nothing.
    fn default() -> Self {
        Self { time: Instant::ZERO, packet: CapturedPacket::from(&Packet::default()), network: 0 }
    }
}
