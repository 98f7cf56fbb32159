//! The rate and the queue of the path, where they were the limit.
//!
//! **Model**: one transmitter with a drop-tail queue ([`Fifo`]), and before and behind it a constant delay.
//! Cross traffic is not modelled: what a packet took longer than the model says is its
//! [residual](Passage::residual), which a rerun keeps.
//!
//! **Rate** (`rate`): packets sent together arrive spaced by their transmission times at the bottleneck
//! (packet trains: Jain and Routhier, 1986; Keshav, "A Control-Theoretic Approach to Flow Control", SIGCOMM
//! 1991, §2.3). The modes of their dispersion (Dovrolis, Ramanathan and Moore, "What Do Packet Dispersion
//! Techniques Measure?", INFOCOM 2001) are only candidates: the rate is the one with which the model explains the
//! delays of all packets best, those that waited behind packets of earlier trains too.
//!
//! **Queue** (`queue`): the limit that separates losses from arrivals by the modelled backlog that each packet met.
//!
//! **Not seen**: a rate at which no packets queued; a limit that was never exceeded; a queue before which the
//! sender's own device had formed another one. Without SACK, the ACKs do not show which segments of a flight were
//! lost; then the limit may be too large or missing.

mod fifo;
mod queue;
mod rate;

pub use fifo::{Backlog, Fifo};
pub(crate) use queue::binomial_tail;

use crate::transmission::{Arrival, Fate, Transmission};
use recoup_path::Queue;
use recoup_units::{BitRate, Instant};
use std::time::Duration;

/// A transmitter that limited the rate of connections.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bottleneck {
    /// Its rate, in bits of IP packets.
    pub rate: BitRate,
    /// The limit of its queue; [`Queue::Unlimited`] if the losses do not show one.
    pub queue: Queue,
    /// The largest backlog that a packet met which arrived: a lower bound of the limit.
    pub largest_backlog: Backlog,
    /// The share of packets with a considerable delay, from 0 to 1, that the model explains.
    pub explained: f64,
}

/// The way of a transmission through the bottleneck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Backlog at its arrival.
    pub backlog: Backlog,
    /// When its last bit left the transmitter, on the clock of its sending (the constant delay is in
    /// [`Passages::delay`]). `None`: it was lost, or its fate is unknown.
    pub departure: Option<Instant>,
    /// How much longer than the model says it took. Zero if it did not arrive.
    pub residual: Duration,
    /// The queue was full and dropped it.
    pub is_overflow: bool,
}

/// The ways of all transmissions of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passages {
    /// From a departure to the ACK of the arrival: the constant delay, both ways.
    pub delay: Duration,
    /// For each transmission.
    pub passages: Vec<Passage>,
}

impl Bottleneck {
    /// The bottleneck of connections that share a path, each given by its transmissions in the order of
    /// sending. `None` if the model does not explain their delays.
    pub fn infer(connections: &[&[Transmission]]) -> Option<Self> {
        let estimate = rate::estimate(connections)?;
        let queue = queue::estimate(connections, estimate.rate);
        Some(Self {
            rate: estimate.rate,
            queue: queue.limit,
            largest_backlog: queue.largest,
            explained: estimate.explained,
        })
    }

    /// A bottleneck at the highest rate at which packets of these connections arrived: the path is at least so fast. `None` if
    /// they arrived as fast as they were sent, or there were too few.
    pub fn slowest(connections: &[&[Transmission]]) -> Option<Self> {
        let rate = rate::fastest_seen(connections)?;
        Some(Self { rate, queue: Queue::Unlimited, largest_backlog: Backlog::default(), explained: 0.0 })
    }

    /// The transmitter, idle.
    pub fn fifo(&self) -> Fifo {
        Fifo::new(self.rate, self.queue)
    }

    /// The way of each transmission of a connection, given in the order of sending.
    pub fn passages(&self, transmissions: &[Transmission]) -> Passages {
        let mut passages: Vec<_> = queue::backlogs(transmissions, self.rate)
            .map(|(transmission, backlog, departure)| Passage {
                backlog,
                departure,
                residual: Duration::ZERO,
                is_overflow: transmission.fate == Fate::Lost
                    && queue::is_full(self.queue, backlog, transmission.ip_len),
            })
            .collect();
        let took = |(transmission, passage): (&Transmission, &Passage)| {
            let Fate::Arrived(arrival) = transmission.fate else {
                return None;
            };
            Some(arrival.echo.since(passage.departure?))
        };
        let exact =
            |(transmission, _): &(&Transmission, &Passage)| transmission.arrival().is_some_and(Arrival::is_exact);
        let pairs = || transmissions.iter().zip(&passages);
        let least = pairs().filter(exact).filter_map(took).min();
        let delay = least.or_else(|| pairs().filter_map(took).min()).unwrap_or_default();
        let took: Vec<_> = pairs().map(took).collect();
        for (passage, took) in passages.iter_mut().zip(took) {
            passage.residual = took.map_or(Duration::ZERO, |took| took.saturating_sub(delay));
        }
        Passages { delay, passages }
    }
}

#[cfg(test)]
pub(crate) mod tests;
