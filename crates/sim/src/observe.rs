//! Watching a simulation from outside: captures, event files and plots are made of this.

use crate::Packet;
use recoup_recovery::Event;
use recoup_units::{Direction, FlowId, Instant};

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

/// Where a packet was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Point {
    /// Leaving its sender.
    Sent,
    /// Reaching its receiver.
    Arrived,
    /// Dropped on the path, for the reason named.
    Dropped(&'static str),
}

/// Is told what happens, in order of time within a flow.
pub trait Observer {
    /// Whether the endpoints should keep events for [`on_event`](Self::on_event).
    const WANTS_EVENTS: bool;

    /// A packet was seen.
    fn on_packet(&mut self, now: Instant, point: Point, direction: Direction, packet: &Packet);

    /// A sender did something.
    fn on_event(&mut self, now: Instant, flow: FlowId, host: Host, event: &Event);
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    const WANTS_EVENTS: bool = false;

    fn on_packet(&mut self, _: Instant, _: Point, _: Direction, _: &Packet) {}

    fn on_event(&mut self, _: Instant, _: FlowId, _: Host, _: &Event) {}
}
