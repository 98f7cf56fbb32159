//! The packets a hop holds: first in, first out.
//!
//! A hop knows on a packet's arrival when it will release it, and it releases packets in the order of
//! their arrival. A packet may be cancelled earlier. Its entry stays until its turn comes, so that the
//! position of every other entry follows from its [`Ticket`].

use std::collections::VecDeque;

use recoup_units::Instant;

use crate::Queue;
use crate::link::Transit;
use crate::packet_store::PacketKey;

/// A packet a hop holds: its key in the chain, its length in bytes, and its transit.
#[derive(Clone, Copy, Debug)]
struct Held {
    transit: Transit,
    place: PacketKey,
    len: u32,
    cancelled: bool,
}

/// A packet's number among all that the hop has held, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket(u64);

/// The packets a hop holds, in the order of arrival. The first one is never a cancelled one.
#[derive(Debug, Default)]
pub(crate) struct HopQueue {
    held: VecDeque<Held>,
    bytes: u64,
    /// Entries removed so far, cancelled ones included.
    gone: u64,
}

impl HopQueue {
    pub fn clear(&mut self) {
        self.held.clear();
        self.bytes = 0;
        self.gone = 0;
    }

    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// How many packets wait at `at`: all held ones, except the first once its transit has started.
    pub fn waiting(&self, at: Instant) -> usize {
        let first = self.held.front();
        self.held.len() - usize::from(first.is_some_and(|held| held.transit.starts <= at))
    }

    /// Whether `queue` admits a packet of `len` bytes that arrives at `at`. All held packets wait,
    /// except the first once its transit has started.
    pub fn has_room(&self, queue: Queue, at: Instant, len: u32) -> bool {
        let serving = self.held.front().filter(|held| held.transit.starts <= at);
        let waiting = self.held.len() - usize::from(serving.is_some());
        let served = serving.map_or(0, |held| held.len.into());
        queue.admits(waiting, self.bytes - served, len)
    }

    /// The ticket of the packet that is put in next.
    pub fn next_ticket(&self) -> Ticket {
        Ticket(self.gone + self.held.len() as u64)
    }

    /// Holds a packet of `len` bytes until its transit ends.
    pub fn put(&mut self, transit: Transit, place: PacketKey, len: u32) {
        self.bytes += u64::from(len);
        self.held.push_back(Held { transit, place, len, cancelled: false });
    }

    /// When the next packet leaves.
    pub fn next_release(&self) -> Option<Instant> {
        self.held.front().map(|held| held.transit.leaves)
    }

    /// The packet that leaves next.
    pub fn release(&mut self) -> Option<PacketKey> {
        let place = self.take_first()?;
        self.skip_cancelled();
        Some(place)
    }

    /// Cancels the packet with this ticket and returns its key; `None` if it is no longer held.
    pub fn cancel(&mut self, Ticket(number): Ticket) -> Option<PacketKey> {
        let index = usize::try_from(number.checked_sub(self.gone)?).ok()?;
        let held = self.held.get_mut(index).filter(|held| !held.cancelled)?;
        held.cancelled = true;
        let place = held.place;
        self.skip_cancelled();
        Some(place)
    }

    fn take_first(&mut self) -> Option<PacketKey> {
        let held = self.held.pop_front()?;
        self.bytes -= u64::from(held.len);
        self.gone += 1;
        Some(held.place)
    }

    fn skip_cancelled(&mut self) {
        while self.held.front().is_some_and(|held| held.cancelled) {
            self.take_first();
        }
    }
}
