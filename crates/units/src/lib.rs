//! The quantities Recoup computes with, each its own type so that they cannot be mixed up.
//!
//! Nothing here reads a clock: an [`Instant`] is always handed in by whoever owns one.

mod ppm;
mod rate;
mod size;
mod span;
mod time;

pub use ppm::Ppm;
pub use rate::BitRate;
pub use size::{format_bytes, parse_bytes};
pub use span::{Offset, Segments, Span};
pub use time::Instant;

/// Which connection a packet belongs to, counted from 0 in the order flows were started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u64);

/// Which way a packet travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From client (the side that connects) to server.
    Up,
    /// From server to client: the data direction of most scenarios.
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
