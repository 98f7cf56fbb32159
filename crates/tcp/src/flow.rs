//! A flow between two hosts: the workload of its applications and the record of its cost.
//!
//! The simulator and the testbed over real packets share these types.

mod record;
mod responses;
mod script_progress;
mod spurious;
mod workload;

pub use record::FlowRecord;
pub use responses::{Response, Responses};
pub use script_progress::{Action, ScriptProgress};
pub use spurious::{SpuriousCounts, SpuriousRetransmissions};
pub use workload::{Script, TimedWrite, When, Workload, Write};

use recoup_units::Direction;

/// A host at one end of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Host {
    /// The host that connects.
    Client,
    /// The host that accepts.
    Server,
}

impl Host {
    /// The name used in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }

    /// The other host.
    pub const fn peer(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }

    /// The direction in which this host sends.
    pub const fn sends(self) -> Direction {
        match self {
            Self::Client => Direction::Up,
            Self::Server => Direction::Down,
        }
    }
}
