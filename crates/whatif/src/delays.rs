//! The network's delay at each moment.
//!
//! The transmissions of the capture show the delay when they were sent. A packet of a rerun that was sent at
//! another time is no earlier than those sent before it, and no later than those sent after it, as on a path
//! that keeps the order. In between it takes as long as the quicker of its neighbours: a link that stood
//! still for a while delays what is sent meanwhile until the same moment.

use crate::transmission::Transmission;
use recoup_units::Instant;
use std::time::Duration;

/// The delays of one connection, from a transmission to the ACK that its receiver sends at once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Delays {
    /// When a transmission was sent and when its ACK came, both ascending.
    points: Vec<(Instant, Instant)>,
    least: Duration,
}

impl Delays {
    /// The delays that these transmissions show. `otherwise`: the delay if they show none.
    pub fn new(all: &[Transmission], otherwise: Duration) -> Self {
        let arrived = all.iter().filter_map(|sent| Some((sent, sent.arrival()?)));
        let in_order = arrived.filter(|(_, arrival)| arrival.held.is_zero());
        let points = in_order.map(|(sent, arrival)| (sent.sent, arrival.echo));
        Self::between(points, otherwise)
    }

    /// The delays from the first of these times to the second. `otherwise`: the delay if there are none.
    pub fn between(points: impl Iterator<Item = (Instant, Instant)>, otherwise: Duration) -> Self {
        let mut points: Vec<_> = points.collect();
        points.sort_unstable();
        let mut latest = Instant::ZERO;
        for (_, echo) in &mut points {
            *echo = (*echo).max(latest);
            latest = *echo;
        }
        let least = points.iter().map(|(sent, echo)| echo.since(*sent)).min();
        Self { least: least.unwrap_or(otherwise), points }
    }

    /// The smallest delay.
    pub fn least(&self) -> Duration {
        self.least
    }

    /// When the ACK of a packet comes that is sent `at`.
    pub fn echo(&self, at: Instant) -> Instant {
        let next = self.points.partition_point(|(sent, _)| *sent <= at);
        let before = next.checked_sub(1).map(|before| self.points[before]);
        let after = self.points.get(next).copied();
        let delay = |(sent, echo): (Instant, Instant)| echo.since(sent);
        match (before, after) {
            (None, None) => at + self.least,
            (None, Some(after)) => (at + delay(after)).min(after.1).max(at),
            (Some(before), None) => (at + self.least).max(before.1),
            (Some(before), Some(after)) => {
                let usual = at + delay(before).min(delay(after));
                usual.clamp(before.1, after.1.max(before.1))
            }
        }
    }
}

#[cfg(test)]
mod tests;
