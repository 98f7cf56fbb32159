//! A flow between two hosts: what their applications write, and what it cost.
//!
//! The simulator and the testbed over real packets describe and measure flows by these.

mod record;
mod spurious;
mod workload;

pub use record::FlowRecord;
pub use spurious::SpuriousRetransmissions;
pub use workload::{LaterWrites, Workload, Write};

use recoup_units::Direction;

/// An end of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Host {
    /// The side that connects.
    Client,
    /// The side that accepts.
    Server,
}

impl Host {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }

    /// The direction of what this host sends.
    pub const fn sends(self) -> Direction {
        match self {
            Self::Client => Direction::Up,
            Self::Server => Direction::Down,
        }
    }
}
