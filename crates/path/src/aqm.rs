//! Active queue management: queues that drop or mark packets before they are full.
//!
//! RED (Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance", 1993, figure 2; RFC 2309
//! §3). `q` is the number of packets that wait when a packet arrives:
//!
//! ```text
//! avg ← (1 − w)·avg + w·q; after an idle time of m packets: avg ← (1 − w)^m·avg
//! min ≤ avg < max: count += 1; drop with probability pb/(1 − count·pb), pb = p·(avg − min)/(max − min)
//! max ≤ avg:       drop
//! ```
//!
//! With ECN a capable packet is marked where it would be dropped by chance; from max on it is dropped
//! (RFC 3168 §7). Deviation: the idle time is counted in packets of 1500 bytes.
//!
//! CoDel (RFC 8289 §5): a packet is dropped when it is taken out of the queue. Once packets have waited for at least
//! `target` during a whole `interval`, and until one waits for less, packet n of these is dropped `interval/√n` after
//! the one before. If at most one packet of 1500 bytes is left, none is dropped. With ECN a capable packet is
//! marked instead (§5.4).

use std::collections::VecDeque;
use std::time::Duration;

use recoup_units::{BitRate, Instant};

use crate::packet_store::PacketKey;

/// The largest packet, in bytes.
const MTU: u64 = 1500;

/// Random early detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Red {
    /// No packet is dropped while fewer packets than this wait on average.
    pub min: u32,
    /// All packets are dropped while this many packets or more wait on average; above `min`.
    pub max: u32,
    /// Whether packets capable of ECN are marked where others are dropped by chance.
    pub ecn: bool,
}

impl Red {
    /// The largest probability of a drop by chance (Floyd, "RED: Discussions of Setting Parameters", 1997).
    const LARGEST: f64 = 0.1;
    /// The weight of a new length in the average (Floyd and Jacobson 1993, §4).
    const WEIGHT: f64 = 0.002;
}

/// CoDel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoDel {
    /// The waiting time that is acceptable for long.
    pub target: Duration,
    /// How long packets may wait for longer; a usual round-trip time.
    pub interval: Duration,
    /// The most packets that wait; an arriving packet is dropped then.
    pub limit: u32,
    /// Whether packets capable of ECN are marked instead of dropped.
    pub ecn: bool,
}

impl Default for CoDel {
    /// 5 ms and 100 ms (RFC 8289 §4.2, §4.3), and 1,000 packets as in Linux.
    fn default() -> Self {
        Self { target: Duration::from_millis(5), interval: Duration::from_millis(100), limit: 1000, ecn: false }
    }
}

/// The decision of a managed queue on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Managed {
    Keep,
    Mark,
    Drop,
}

/// The state of a RED queue.
#[derive(Debug)]
pub(crate) struct RedState {
    spec: Red,
    average: f64,
    /// Packets since the last one dropped by chance; −1 while the average is below `min`.
    count: i64,
    idle_since: Option<Instant>,
}

impl RedState {
    pub const fn new(spec: Red) -> Self {
        Self { spec, average: 0.0, count: -1, idle_since: Some(Instant::ZERO) }
    }

    pub fn reset(&mut self) {
        *self = Self::new(self.spec);
    }

    /// The transmitter has been idle since `since`.
    pub fn note_idle(&mut self, since: Instant) {
        self.idle_since.get_or_insert(since);
    }

    /// Decides on a packet that arrives at `at` and finds `waiting` packets. `draw` is uniform in 0..1.
    pub fn decide(
        &mut self,
        at: Instant,
        waiting: usize,
        rate: BitRate,
        capable: bool,
        draw: impl FnOnce() -> f64,
    ) -> Managed {
        if let Some(since) = self.idle_since.take() {
            let packets = at.nanos_since(since) / (rate.time_for(MTU).as_nanos() as u64).max(1);
            self.average *= (1.0 - Red::WEIGHT).powf(packets as f64);
        }
        self.average += Red::WEIGHT * (waiting as f64 - self.average);
        let (min, max) = (f64::from(self.spec.min), f64::from(self.spec.max));
        if self.average < min {
            self.count = -1;
            return Managed::Keep;
        }
        if self.average >= max {
            self.count = 0;
            return Managed::Drop;
        }
        self.count += 1;
        let base = Red::LARGEST * (self.average - min) / (max - min);
        let spread = 1.0 - self.count as f64 * base;
        if spread > 0.0 && draw() >= base / spread {
            return Managed::Keep;
        }
        self.count = 0;
        match self.spec.ecn && capable {
            true => Managed::Mark,
            false => Managed::Drop,
        }
    }
}

/// A packet that waits in a CoDel queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub place: PacketKey,
    pub len: u32,
    pub arrived: Instant,
    pub capable: bool,
}

/// A CoDel queue and the transmitter behind it.
#[derive(Debug)]
pub(crate) struct CoDelQueue {
    spec: CoDel,
    rate: BitRate,
    waiting: VecDeque<Waiting>,
    bytes: u64,
    /// The packet that is transmitted, and when its last byte leaves.
    serving: Option<(PacketKey, Instant)>,
    /// Packets dropped or marked by the last departure.
    judged: VecDeque<(PacketKey, Managed)>,
    /// The packet whose transmission began with the last departure, and how long it had waited in nanoseconds.
    served: Option<(PacketKey, u64)>,
    /// When packets will have waited for too long for a whole interval.
    first_above: Option<Instant>,
    dropping: bool,
    drop_next: Instant,
    count: u32,
    last_count: u32,
}

impl CoDelQueue {
    pub const fn new(spec: CoDel, rate: BitRate) -> Self {
        Self {
            spec,
            rate,
            waiting: VecDeque::new(),
            bytes: 0,
            serving: None,
            judged: VecDeque::new(),
            served: None,
            first_above: None,
            dropping: false,
            drop_next: Instant::ZERO,
            count: 0,
            last_count: 0,
        }
    }

    pub fn reset(&mut self) {
        *self = Self::new(self.spec, self.rate);
    }

    /// Whether a packet that arrives finds room.
    pub fn has_room(&self) -> bool {
        self.serving.is_none() || self.waiting.len() < self.spec.limit as usize
    }

    pub fn put(&mut self, packet: Waiting) {
        self.bytes += u64::from(packet.len);
        self.waiting.push_back(packet);
        if self.serving.is_none() {
            self.serve(packet.arrived);
        }
    }

    /// When the packet that is transmitted leaves.
    pub fn next_release(&self) -> Option<Instant> {
        self.serving.map(|(_, leaves)| leaves)
    }

    /// The packet that has been transmitted leaves, and the next one is taken out of the queue.
    pub fn release(&mut self) -> Option<PacketKey> {
        let (place, leaves) = self.serving.take()?;
        self.serve(leaves);
        Some(place)
    }

    /// The next packet that the last departure dropped or marked.
    pub fn take_judged(&mut self) -> Option<(PacketKey, Managed)> {
        self.judged.pop_front()
    }

    /// The packet whose transmission began with the last departure, and how long it had waited in nanoseconds.
    pub fn take_served(&mut self) -> Option<(PacketKey, u64)> {
        self.served.take()
    }

    fn serve(&mut self, now: Instant) {
        self.served = None;
        if let Some(next) = self.dequeue(now) {
            let leaves = now + self.rate.time_for(next.len.into());
            self.serving = Some((next.place, leaves));
            self.served = Some((next.place, now.nanos_since(next.arrived)));
        }
    }

    /// RFC 8289 §5.5.
    fn dequeue(&mut self, now: Instant) -> Option<Waiting> {
        let (mut next, mut may_drop) = self.take_out(now);
        if self.dropping {
            self.dropping = may_drop;
            while self.dropping && now >= self.drop_next {
                let packet = next?;
                self.count = self.count.saturating_add(1);
                if self.judge(packet) == Managed::Mark {
                    self.drop_next = self.control_law(self.drop_next);
                    return Some(packet);
                }
                (next, may_drop) = self.take_out(now);
                self.dropping = may_drop;
                if may_drop {
                    self.drop_next = self.control_law(self.drop_next);
                }
            }
        } else if may_drop {
            let packet = next?;
            let marked = self.judge(packet) == Managed::Mark;
            if !marked {
                (next, _) = self.take_out(now);
            }
            self.dropping = true;
            // Begins near the rate of drops that controlled the queue the last time, if that was not long ago.
            let since = self.count.saturating_sub(self.last_count);
            let recent = now.nanos_since(self.drop_next) < 16 * self.interval();
            self.count = if recent && since > 1 { since } else { 1 };
            self.drop_next = self.control_law(now);
            self.last_count = self.count;
        }
        next
    }

    /// Takes the first packet out, and says whether it may be dropped (RFC 8289 §5.6).
    fn take_out(&mut self, now: Instant) -> (Option<Waiting>, bool) {
        let Some(packet) = self.waiting.pop_front() else {
            self.first_above = None;
            return (None, false);
        };
        self.bytes -= u64::from(packet.len);
        let waited = now.since(packet.arrived);
        if waited < self.spec.target || self.bytes <= MTU {
            self.first_above = None;
            return (Some(packet), false);
        }
        let above = *self.first_above.get_or_insert(now + self.spec.interval);
        (Some(packet), now >= above)
    }

    fn judge(&mut self, packet: Waiting) -> Managed {
        let judged = match self.spec.ecn && packet.capable {
            true => Managed::Mark,
            false => Managed::Drop,
        };
        self.judged.push_back((packet.place, judged));
        judged
    }

    fn control_law(&self, from: Instant) -> Instant {
        let share = f64::from(self.count.max(1)).sqrt();
        from.plus_nanos((self.interval() as f64 / share) as u64)
    }

    fn interval(&self) -> u64 {
        u64::try_from(self.spec.interval.as_nanos()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests;
