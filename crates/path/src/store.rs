//! The packets a hop holds: first in, first out.
//!
//! A hop knows when it takes a packet when it will release it, and all of one hop are released in
//! the order they were taken. One may be called off before: it keeps its turn, unseen, so that a
//! [`Ticket`] finds the others at once.

use std::collections::VecDeque;

use recoup_units::Instant;

use crate::Queue;
use crate::inside::Place;
use crate::link::Transit;

/// A packet a hop holds: where the chain keeps it, how long it is, and its transit.
#[derive(Clone, Copy, Debug)]
struct Held {
    transit: Transit,
    place: Place,
    len: u32,
    called_off: bool,
}

/// Names a packet among all a hop ever held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket(u64);

/// The packets a hop holds, in the order they came and leave. The first was never called off.
#[derive(Debug, Default)]
pub(crate) struct Store {
    held: VecDeque<Held>,
    bytes: u64,
    /// How many have left, called off or not.
    gone: u64,
}

impl Store {
    pub fn clear(&mut self) {
        self.held.clear();
        self.bytes = 0;
        self.gone = 0;
    }

    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Whether a packet of `len` bytes that arrives at `at` may wait here: all held packets wait,
    /// but for the first once its transit has started.
    pub fn has_room(&self, queue: Queue, at: Instant, len: u32) -> bool {
        let serving = self.held.front().filter(|held| held.transit.starts <= at);
        let waiting = self.held.len() - usize::from(serving.is_some());
        let served = serving.map_or(0, |held| held.len.into());
        queue.admits(waiting, self.bytes - served, len)
    }

    /// What the next packet put in is named by.
    pub fn next_ticket(&self) -> Ticket {
        Ticket(self.gone + self.held.len() as u64)
    }

    /// Holds a packet of `len` bytes until its transit ends.
    pub fn put(&mut self, transit: Transit, place: Place, len: u32) {
        self.bytes += u64::from(len);
        self.held.push_back(Held {
            transit,
            place,
            len,
            called_off: false,
        });
    }

    /// When the next packet leaves.
    pub fn next_release(&self) -> Option<Instant> {
        self.held.front().map(|held| held.transit.leaves)
    }

    /// The packet that leaves next.
    pub fn release(&mut self) -> Option<Place> {
        let place = self.take_first()?;
        self.skip_called_off();
        Some(place)
    }

    /// Calls off the packet with this ticket, which leaves here and now; `None` if it is not held
    /// any longer.
    pub fn call_off(&mut self, Ticket(number): Ticket) -> Option<Place> {
        let index = usize::try_from(number.checked_sub(self.gone)?).ok()?;
        let held = self.held.get_mut(index).filter(|held| !held.called_off)?;
        held.called_off = true;
        let place = held.place;
        self.skip_called_off();
        Some(place)
    }

    fn take_first(&mut self) -> Option<Place> {
        let held = self.held.pop_front()?;
        self.bytes -= u64::from(held.len);
        self.gone += 1;
        Some(held.place)
    }

    fn skip_called_off(&mut self) {
        while self.held.front().is_some_and(|held| held.called_off) {
            self.take_first();
        }
    }
}
