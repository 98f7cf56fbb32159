//! A transmitter with a drop-tail queue, for reruns.
//!
//! It decides as [`recoup_path::HopSpec::Rate`] does, and says on arrival when a packet leaves.

use recoup_path::Queue;
use recoup_units::{BitRate, Instant};
use std::collections::VecDeque;

/// Backlog of a queue, without the packet in service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Backlog {
    /// Packets that wait.
    pub packets: u32,
    /// Their bytes, with IP headers.
    pub bytes: u64,
}

/// A transmitter at work.
#[derive(Clone, Debug)]
pub struct Fifo {
    rate: BitRate,
    queue: Queue,
    inside: VecDeque<Held>,
    bytes: u64,
    free_at: Instant,
}

/// A packet that waits or is in service.
#[derive(Clone, Copy, Debug)]
struct Held {
    starts: Instant,
    leaves: Instant,
    bytes: u32,
}

impl Fifo {
    /// A transmitter, idle.
    pub fn new(rate: BitRate, queue: Queue) -> Self {
        Self { rate, queue, inside: VecDeque::new(), bytes: 0, free_at: Instant::ZERO }
    }

    /// A packet of `bytes` arrives: when its last bit leaves, or `None` if the queue has no room. `now` must
    /// not decrease from call to call.
    pub fn arrive(&mut self, now: Instant, bytes: u32) -> Option<Instant> {
        let backlog = self.backlog(now);
        let is_idle = self.inside.is_empty();
        if !is_idle && !self.queue.admits(backlog.packets as usize, backlog.bytes, bytes) {
            return None;
        }
        let starts = now.max(self.free_at);
        let leaves = starts + self.rate.time_for(bytes.into());
        self.free_at = leaves;
        self.bytes += u64::from(bytes);
        self.inside.push_back(Held { starts, leaves, bytes });
        Some(leaves)
    }

    /// Backlog. At one instant, departures come before arrivals.
    pub fn backlog(&mut self, now: Instant) -> Backlog {
        while let Some(first) = self.inside.front().filter(|held| held.leaves <= now) {
            self.bytes -= u64::from(first.bytes);
            self.inside.pop_front();
        }
        let served = self.inside.front().filter(|held| held.starts <= now);
        let waiting = self.inside.len() - usize::from(served.is_some());
        Backlog {
            packets: u32::try_from(waiting).unwrap_or(u32::MAX),
            bytes: self.bytes - served.map_or(0, |held| held.bytes.into()),
        }
    }

    /// Backlog that a packet of `bytes` finds at `now`, known to an eighth of its transmission time. A
    /// sender that ACKs clock sends when a packet has just left the bottleneck, a round trip later: whether
    /// there is room is then a matter of nanoseconds. At equal times departures come first.
    pub fn found_by(&mut self, now: Instant, bytes: u32) -> Backlog {
        self.backlog(now + self.rate.time_for(bytes.into()) / 8)
    }

    /// Whether it has nothing to do.
    pub fn is_idle(&mut self, now: Instant) -> bool {
        self.backlog(now);
        self.inside.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn packets_leave_in_order_and_those_without_room_are_dropped() {
        // 1500 bytes take 12 ms. (queue, (arrival in ms, bytes, departure in ms))
        type Arrivals<'a> = &'a [(u64, u32, Option<u64>)];
        let cases: [(&str, Arrivals<'_>); 4] = [
            ("none", &[(0, 1500, Some(12)), (0, 1500, Some(24)), (50, 125, Some(51))]),
            ("1p", &[(0, 1500, Some(12)), (0, 1500, Some(24)), (0, 125, None), (12, 125, Some(25))]),
            ("2p", &[(0, 125, Some(1)), (0, 125, Some(2)), (0, 125, Some(3)), (0, 125, None)]),
            ("1kB", &[(0, 1500, Some(12)), (0, 1500, None), (0, 1000, Some(20)), (11, 1, None)]),
        ];
        for (queue, arrivals) in cases {
            let rate = BitRate::from_bits_per_second(1_000_000).unwrap();
            let mut fifo = Fifo::new(rate, queue.parse().unwrap());
            for &(at, bytes, leaves) in arrivals {
                assert_eq!(fifo.arrive(ms(at), bytes), leaves.map(ms), "{queue} {at} {bytes}");
            }
        }
    }
}
