//! Which connections of a capture are analyzed, and which part of its time.

use recoup_units::Instant;
use recoup_wire::Endpoints;
use serde::{Deserialize, Serialize};
use std::{fmt, time::Duration};

/// Chooses connections by their endpoints. Two filters with the same [`Display`](fmt::Display) choose the
/// same connections.
pub trait ConnectionFilter: fmt::Debug + fmt::Display + Send + Sync {
    /// Whether the connection between these ends is chosen. The order of the ends makes no difference.
    fn selects(&self, ends: &Endpoints) -> bool;
}

/// A part of a capture's time. Connections that are open at its beginning begin there, as if the capture
/// did, and those that are open at its end are cut off there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeWindow {
    /// When it begins; `None`: with the capture.
    pub from: Option<TimeMark>,
    /// When it ends: a packet captured at this time is outside. `None`: with the capture.
    pub to: Option<TimeMark>,
}

/// A time in a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TimeMark {
    /// So long after the first segment.
    AfterStart(Duration),
    /// So long after 1970 in UTC.
    At(Instant),
}

impl TimeMark {
    /// The time, in a capture whose first segment was captured at `start`.
    pub fn instant(self, start: Instant) -> Instant {
        match self {
            Self::AfterStart(after) => start.plus_nanos(u64::try_from(after.as_nanos()).unwrap_or(u64::MAX)),
            Self::At(at) => at,
        }
    }
}

impl TimeWindow {
    /// Whether it is certain that no packet is in the window, whenever the capture begins.
    pub fn is_empty(&self) -> bool {
        match (self.from, self.to) {
            (Some(TimeMark::AfterStart(from)), Some(TimeMark::AfterStart(to))) => from >= to,
            (Some(TimeMark::At(from)), Some(TimeMark::At(to))) => from >= to,
            (_, Some(TimeMark::AfterStart(to))) => to.is_zero(),
            _ => false,
        }
    }

    /// When the window begins, and when it ends, in a capture whose first segment was captured at `start`.
    pub(super) fn instants(&self, start: Instant) -> (Instant, Instant) {
        let [from, to] = [self.from, self.to].map(|mark| mark.map(|mark| mark.instant(start)));
        let end = Instant::from_nanos(u64::MAX);
        (from.unwrap_or(Instant::ZERO), to.unwrap_or(end))
    }
}
