//! A capture over time: segments, retransmissions, acknowledged bytes and round-trip times.
//!
//! The time axis is divided into bins of equal width. Where a capture is longer than the bins cover, their
//! width doubles, so that memory does not grow with the capture.

use recoup_units::Instant;
use std::{collections::VecDeque, time::Duration};
const MOST_BINS: u64 = 1 << 11;

/// The width of the first bins: 2²⁰ ns, about 1 ms.
const NARROWEST: u32 = 20;

/// Counts of all connections in one bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bin {
    /// Segments with payload, SYN or FIN, retransmissions included.
    pub segments: u64,
    /// Retransmissions among them.
    pub retransmissions: u64,
    /// Bytes that were acknowledged for the first time.
    pub acknowledged: u64,
    /// Round-trip times of the data of each side.
    rtts: [Rtts; 2],
}

/// Round-trip time samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Rtts {
    samples: u64,
    /// Their sum.
    nanos: u64,
}

impl Bin {
    /// The mean round-trip time of both sides; `None` without samples.
    pub fn mean_rtt(&self) -> Option<Duration> {
        let [clients, servers] = self.rtts;
        let nanos = clients.nanos.saturating_add(servers.nanos);
        nanos.checked_div(clients.samples + servers.samples).map(Duration::from_nanos)
    }

    /// The mean time from data of clients (0) or servers (1) to the ACK of it, where the data passed the capture point
    /// before it reached its receiver; `None` without samples.
    pub fn mean_rtt_of(&self, side: usize) -> Option<Duration> {
        let Rtts { samples, nanos } = self.rtts.get(side)?;
        nanos.checked_div(*samples).map(Duration::from_nanos)
    }

    /// How many round-trip times [`mean_rtt_of`](Self::mean_rtt_of) is the mean of.
    pub fn rtt_samples(&self, side: usize) -> u64 {
        self.rtts.get(side).map_or(0, |of| of.samples)
    }

    /// Adds what another bin counts.
    pub fn merge(&mut self, other: &Self) {
        self.segments += other.segments;
        self.retransmissions += other.retransmissions;
        self.acknowledged += other.acknowledged;
        for (mine, theirs) in self.rtts.iter_mut().zip(&other.rtts) {
            mine.samples += theirs.samples;
            mine.nanos = mine.nanos.saturating_add(theirs.nanos);
        }
    }
}

/// A capture over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// A bin is 2^`shift` ns wide; 0 before the first bin.
    shift: u32,
    /// The number of the first bin, counted from 1970.
    first: u64,
    bins: VecDeque<Bin>,
}

impl Timeline {
    /// A segment was captured.
    #[inline]
    pub(crate) fn on_segment(&mut self, at: Instant) {
        self.bin(at).segments += 1;
    }

    /// An ACK was captured that acknowledges `bytes` of this side, 0 or 1, for the first time. `rtt`: the time since
    /// the newest of them was sent, if it was sent once and says how far away the receiver is.
    #[inline]
    pub(crate) fn on_ack(&mut self, at: Instant, side: usize, bytes: u64, rtt: Option<u64>) {
        let bin = self.bin(at);
        bin.acknowledged += bytes;
        if let Some(rtt) = rtt {
            let rtts = &mut bin.rtts[side];
            rtts.samples += 1;
            rtts.nanos = rtts.nanos.saturating_add(rtt);
        }
    }

    /// A segment, captured at this time and counted before, was a retransmission.
    pub fn on_retransmission(&mut self, at: Instant) {
        self.bin(at).retransmissions += 1;
    }

    /// Adds what other connections showed.
    pub fn merge(&mut self, mut other: Self) {
        if other.bins.is_empty() {
            return;
        }
        if self.bins.is_empty() {
            *self = other;
            return;
        }
        while self.shift < other.shift {
            self.widen();
        }
        while other.shift < self.shift {
            other.widen();
        }
        for (bin, number) in other.bins.iter().zip(other.first..) {
            // Both ends lie within a range that may have to be widened once more.
            let at = Instant::from_nanos(number << other.shift);
            self.bin(at).merge(bin);
        }
    }

    /// The width of a bin.
    pub fn width(&self) -> Duration {
        if self.bins.is_empty() { Duration::ZERO } else { Duration::from_nanos(1 << self.shift) }
    }

    /// This timeline in at most `most` bins, but no fewer than 2.
    pub fn in_bins(&self, most: usize) -> Self {
        let mut wider = self.clone();
        while wider.bins.len() > most.max(2) {
            wider.widen();
        }
        wider
    }

    /// The bins in order, with the time each begins at.
    pub fn bins(&self) -> impl Iterator<Item = (Instant, &Bin)> {
        let begins = (self.first..).map(|number| Instant::from_nanos(number << self.shift));
        begins.zip(&self.bins)
    }

    /// The bin that holds this time.
    #[inline]
    fn bin(&mut self, at: Instant) -> &mut Bin {
        let number = at.as_nanos() >> self.shift;
        let index = number.wrapping_sub(self.first) as usize;
        // A second look-up is the price of a borrow that does not outlive the first.
        if index < self.bins.len() {
            return &mut self.bins[index];
        }
        self.new_bin(at)
    }

    #[cold]
    fn new_bin(&mut self, at: Instant) -> &mut Bin {
        if self.bins.is_empty() {
            self.shift = NARROWEST;
            self.first = at.as_nanos() >> self.shift;
        }
        loop {
            let number = at.as_nanos() >> self.shift;
            let end = self.first + self.bins.len() as u64;
            let covered = end.max(number + 1) - self.first.min(number);
            if covered > MOST_BINS {
                self.widen();
                continue;
            }
            while number < self.first {
                self.bins.push_front(Bin::default());
                self.first -= 1;
            }
            let index = (number - self.first) as usize;
            if index >= self.bins.len() {
                self.bins.resize(index + 1, Bin::default());
            }
            return &mut self.bins[index];
        }
    }

    /// Doubles the width of the bins.
    fn widen(&mut self) {
        let bins = std::mem::take(&mut self.bins);
        let first = self.first;
        self.shift += 1;
        self.first >>= 1;
        for (bin, number) in bins.iter().zip(first..) {
            let index = ((number >> 1) - self.first) as usize;
            if index >= self.bins.len() {
                self.bins.push_back(Bin::default());
            }
            self.bins[index].merge(bin);
        }
    }
}

#[cfg(test)]
mod tests;
