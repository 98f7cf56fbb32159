//! The bottleneck in a rerun: what each packet waits, and which packets the full queue drops.
//!
//! The queue of a rerun holds what the rerun sends. A packet that meets as many others as its counterpart in the
//! capture did, at the same time, has its fate. Elsewhere the limit decides.

use crate::{
    bottleneck::{Bottleneck, Fifo, Passage, Passages},
    delays::Delays,
    transmission::{Fate, Transmission},
};
use recoup_path::Queue;
use recoup_units::Instant;

/// The bottleneck that a connection met.
#[derive(Clone, Debug)]
pub(crate) struct Queueing {
    bottleneck: Bottleneck,
    /// For each transmission of the capture.
    passages: Vec<Passage>,
    /// From a departure to the ACK that its receiver sends at once.
    pub delays: Delays,
}

impl Queueing {
    pub fn new(bottleneck: &Bottleneck, all: &[Transmission]) -> Self {
        let Passages { delay, passages } = bottleneck.passages(all);
        // Without an ACK of its own, a packet may have arrived later or earlier than its echo says.
        let points = all.iter().zip(&passages).filter_map(|(sent, passage)| {
            let arrival = sent.arrival().filter(|arrival| arrival.is_exact())?;
            Some((passage.departure?, arrival.echo))
        });
        Self { bottleneck: *bottleneck, delays: Delays::between(points, delay), passages }
    }

    /// Whether the full queue dropped this transmission of the capture.
    pub fn dropped(&self, index: usize) -> bool {
        self.passages[index].is_overflow
    }

    /// When this transmission of the capture left, if it arrived.
    pub fn departure(&self, index: usize) -> Option<Instant> {
        self.passages[index].departure
    }
}

/// The transmitter of a rerun.
#[derive(Clone, Debug, Default)]
pub(super) struct Transmitter {
    fifo: Option<Fifo>,
}

/// A transmission of the capture that a packet of a rerun is matched with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counterpart<'a> {
    pub index: usize,
    pub transmission: &'a Transmission,
    /// The packet is sent when the transmission was.
    pub is_same_time: bool,
}

impl Transmitter {
    /// Becomes the transmitter of another connection, idle.
    pub fn begin(&mut self, queueing: Option<&Queueing>) {
        let rate = queueing.map(|queueing| queueing.bottleneck.rate);
        // Packets are dropped here, so that the capture can decide.
        self.fifo = rate.map(|rate| Fifo::new(rate, Queue::Unlimited));
    }

    /// A packet of `bytes` enters `at`, in time by the capture: its departure, or `None` if the queue drops
    /// it. Without a bottleneck it departs at once.
    pub fn pass(
        &mut self,
        at: Instant,
        bytes: u32,
        queueing: &Queueing,
        counterpart: Option<Counterpart<'_>>,
    ) -> Option<Instant> {
        let Some(fifo) = &mut self.fifo else {
            return Some(at);
        };
        let backlog = fifo.found_by(at, bytes);
        let is_idle = fifo.is_idle(at);
        let limit = queueing.bottleneck.queue;
        let admits = is_idle || limit.admits(backlog.packets as usize, backlog.bytes, bytes);
        let recorded = counterpart.and_then(|counterpart| {
            let met = queueing.passages[counterpart.index].backlog;
            let is_same = counterpart.is_same_time && met.packets == backlog.packets;
            match counterpart.transmission.fate {
                Fate::Arrived(_) => is_same.then_some(true),
                Fate::Lost => is_same.then_some(false),
                Fate::Unknown => None,
            }
        });
        recorded.unwrap_or(admits).then(|| fifo.arrive(at, bytes))?
    }
}

#[cfg(test)]
mod tests;
