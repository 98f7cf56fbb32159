//! Sums over a part of a capture's connections, from which every quantity follows.

use crate::explain::{GROUPS, lost_by, main_direction};
use crate::merge_fields;
use recoup_trace::finding::{Connection, Vantage, Verdict};
use std::collections::BTreeMap;
use std::time::Duration;

/// How many, and their sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Amount {
    pub number: u64,
    pub sum: u64,
}

impl Amount {
    /// One of this amount.
    pub const fn of(sum: u64) -> Self {
        Self { number: 1, sum }
    }

    /// One of this amount, unless it is 0.
    fn unless_zero(sum: u64) -> Self {
        Self { number: u64::from(sum > 0), sum }
    }

    /// The mean; not finite if there are none.
    pub fn mean(&self) -> f64 {
        self.sum as f64 / self.number as f64
    }

    fn without(&self, part: &Self) -> Self {
        Self { number: self.number.saturating_sub(part.number), sum: self.sum.saturating_sub(part.sum) }
    }
}

merge_fields!(Amount: number, sum);

/// What a time belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timed {
    /// A request with its response: until all of it is acknowledged.
    Request,
    /// The wait between a request and its response.
    Wait,
    /// A whole connection, from its first SYN until all of its data is acknowledged.
    Connection {
        /// Whether `whatif` could run it again.
        suits: bool,
    },
}

/// Requests, or connections, that are like each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Class {
    pub timed: Timed,
    /// The server's port; 0 stands for all of [`HIGH_PORTS`].
    pub port: u16,
    /// The [size](size_class) of what the client sent.
    pub up: u8,
    /// That of what the server sent.
    pub down: u8,
}

/// Servers rarely listen there for one kind of request, so these ports are one.
pub(super) const HIGH_PORTS: u16 = 1 << 15;

/// The port in classes.
pub(super) const fn class_port(port: u16) -> u16 {
    if port >= HIGH_PORTS { 0 } else { port }
}

/// Sizes of a class differ by less than a factor of 2: class `n` has 2ⁿ⁻¹ to 2ⁿ − 1 bytes, and class 0 none.
pub(super) const fn size_class(bytes: u64) -> u8 {
    (u64::BITS - bytes.leading_zeros()) as u8
}

/// Sums over connections. Times are in ns. Whole numbers, so that their order does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub connections: u64,
    /// Payload bytes of both ends, retransmissions included.
    pub bytes: u64,
    pub segments: u64,
    /// Connections that retransmitted, and their retransmissions.
    pub retransmissions: Amount,
    /// Connections with spurious retransmissions, and those.
    pub spurious: Amount,
    /// Connections that lost time, and what they lost.
    pub lost: Amount,
    /// The same for each of the [`GROUPS`] of causes.
    pub causes: [Amount; GROUPS.len()],
    /// Main senders whose round-trip time is known, and the natural logarithms of their medians in ns, times 10⁹.
    pub rtt: Amount,
    /// Times by class.
    pub classes: BTreeMap<Class, Amount>,
}

merge_fields!(Sums: connections, bytes, segments, retransmissions, spurious, lost, causes, rtt, classes);

/// The unit of logarithms.
pub(super) const LOG_UNIT: f64 = 1e9;

impl Sums {
    /// Of one connection, as far as it was captured at the point nearest to each sender.
    pub fn of(connection: &Connection) -> Self {
        let lost = lost_by(connection);
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let causes = GROUPS.map(|(_, causes)| {
            let time: Duration = causes.iter().map(|cause| lost.of(*cause)).sum();
            Amount::unless_zero(nanos(time))
        });
        let ways = &connection.directions;
        let main = &ways[main_direction(connection)];
        let rtt = main.rtt.filter(|rtt| main.vantage != Vantage::Receiver && !rtt.p50.is_zero());
        Self {
            connections: u64::from(connection.capture_point.number == 0),
            bytes: ways.iter().map(|way| way.bytes).sum(),
            segments: ways.iter().map(|way| way.segments).sum(),
            retransmissions: Amount::unless_zero(ways.iter().map(|way| way.retransmissions.total()).sum()),
            spurious: Amount::unless_zero(
                ways.iter().map(|way| way.retransmissions.of_verdict(Verdict::Spurious)).sum(),
            ),
            lost: Amount::unless_zero(nanos(lost.total())),
            causes,
            rtt: rtt.map_or(Amount::default(), |rtt| Amount::of((LOG_UNIT * (nanos(rtt.p50) as f64).ln()) as u64)),
            classes: BTreeMap::new(),
        }
    }

    /// Of one time.
    pub fn of_time(class: Class, time: Duration) -> Self {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Self { classes: BTreeMap::from([(class, Amount::of(nanos))]), ..Self::default() }
    }

    /// Without a part of them.
    pub fn without(&self, part: &Self) -> Self {
        let mut rest = Self {
            connections: self.connections.saturating_sub(part.connections),
            bytes: self.bytes.saturating_sub(part.bytes),
            segments: self.segments.saturating_sub(part.segments),
            retransmissions: self.retransmissions.without(&part.retransmissions),
            spurious: self.spurious.without(&part.spurious),
            lost: self.lost.without(&part.lost),
            causes: std::array::from_fn(|i| self.causes[i].without(&part.causes[i])),
            rtt: self.rtt.without(&part.rtt),
            classes: self.classes.clone(),
        };
        for (class, amount) in &part.classes {
            if let Some(of) = rest.classes.get_mut(class) {
                *of = of.without(amount);
            }
        }
        rest.classes.retain(|_, amount| amount.number > 0);
        rest
    }

    /// Times of this kind.
    pub fn timed(&self, is: impl Fn(Timed) -> bool) -> u64 {
        let of_kind = self.classes.iter().filter(|(class, _)| is(class.timed));
        of_kind.map(|(_, amount)| amount.number).sum()
    }
}
