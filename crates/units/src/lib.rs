#![doc = include_str!("../README.md")]
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod named;
mod ppm;
mod random;
mod rate;
mod search;
mod size;
mod span;
mod text;
mod time;

pub use ppm::Ppm;
pub use random::SplitMix;
pub use rate::BitRate;
pub use search::partition_point_near;
pub use size::{format_bytes, parse_bytes};
pub use span::{Offset, Segments, Span};
pub use text::visible;
pub use time::Instant;

/// The number of a flow, from 0 in the order in which flows start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FlowId(pub u64);

/// The direction of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Direction {
    /// From the client, which connects, to the server.
    Up,
    /// From the server to the client: the data direction of most scenarios.
    Down,
}

impl Direction {
    /// The name used in scenarios, events and file names.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
        }
    }

    /// The other direction.
    pub const fn reverse(self) -> Self {
        match self {
            Self::Up => Self::Down,
            Self::Down => Self::Up,
        }
    }
}
