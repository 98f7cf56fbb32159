//! Packet counts of an emulator, and how late it delivered packets.

use std::{fmt, time::Duration};

use hdrhistogram::Histogram;
use recoup_units::Direction;

/// Packet counts of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets read from a device that entered the path.
    pub entered: u64,
    /// Their bytes, IP headers included.
    pub bytes: u64,
    /// Packets delivered at the far end, copies included.
    pub delivered: u64,
    /// Packets dropped by loss rules.
    pub lost: u64,
    /// Packets dropped by full queues.
    pub queue_full: u64,
    /// Packets dropped by the management of a queue before it was full.
    pub managed: u64,
    /// Held ACKs that later ones replaced.
    pub thinned: u64,
    /// Packets the device at the far end refused.
    pub refused: u64,
    /// Packets in flight when the emulator ended.
    pub unfinished: u64,
    /// Packets dropped by the full queue of their device, before the path.
    pub missed: u64,
}

/// How much later packets were delivered than the path's hops say.
#[derive(Clone, Debug)]
pub struct DeliveryError(Histogram<u64>);

/// The longest delivery error that is recorded; longer ones count as this.
const LONGEST: Duration = Duration::from_secs(60);

impl Default for DeliveryError {
    fn default() -> Self {
        let longest = LONGEST.as_nanos() as u64;
        // These bounds are in order, and three digits are within the allowed five.
        let histogram = Histogram::new_with_bounds(1, longest, 3);
        Self(histogram.unwrap_or_else(|_| unreachable!("bounds in order")))
    }
}

impl DeliveryError {
    /// The largest acceptable delivery error at the 99.9th percentile.
    pub const ALLOWED: Duration = Duration::from_micros(200);

    /// Records that a packet was delivered this late.
    pub(crate) fn add(&mut self, late: Duration) {
        self.0.saturating_record(u64::try_from(late.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Adds the delivery errors of another emulator.
    pub fn merge(&mut self, other: &Self) {
        // Both have the same bounds, so that adding cannot fail.
        self.0.add(&other.0).unwrap_or_default();
    }

    /// The delivery error that a share `q` (0 to 1) of all packets does not exceed, to 0.1 %; `None` without
    /// packets.
    pub fn quantile(&self, q: f64) -> Option<Duration> {
        let nanos = self.0.value_at_quantile(q).min(self.0.max());
        (!self.0.is_empty()).then(|| Duration::from_nanos(nanos))
    }

    /// Whether more than one packet in a thousand was later than [`Self::ALLOWED`].
    pub fn is_excessive(&self) -> bool {
        self.quantile(0.999).is_some_and(|p999| p999 > Self::ALLOWED)
    }
}

impl fmt::Display for DeliveryError {
    /// `p50 0.012 ms, p99 0.050 ms, p99.9 0.080 ms, max 0.200 ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)];
        for (i, (name, q)) in names.into_iter().enumerate() {
            let separator = if i == 0 { "" } else { ", " };
            let late = self.quantile(q).unwrap_or_default();
            write!(f, "{separator}{name} {:.3} ms", late.as_secs_f64() * 1e3)?;
        }
        Ok(())
    }
}

/// Packets that an emulator carried, and their punctuality.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Out of the namespace.
    pub up: Counts,
    /// Into the namespace.
    pub down: Counts,
    /// The delivery errors of both directions.
    pub error: DeliveryError,
    /// There were more TCP connections than the emulator distinguishes: no positional loss rule applied to
    /// the later ones.
    pub connections_exhausted: bool,
    /// CLOCK_MONOTONIC in nanoseconds at the relay's [`Instant::ZERO`](recoup_units::Instant::ZERO).
    pub(crate) started_at: u64,
}

impl Report {
    /// Whether the emulator itself, not the path, may have changed a result of this size: more than one
    /// packet in a thousand was later than a hundredth of it (with fewer than a thousand packets, the
    /// latest one was), or packets were lost that no hop dropped.
    pub fn blurs(&self, result: Duration) -> bool {
        let late = self.error.quantile(0.999).unwrap_or_default();
        let lost = |counts: Counts| counts.missed + counts.refused > 0;
        // Multiplied, as a hundredth would be rounded.
        late.saturating_mul(100) > result || lost(self.up) || lost(self.down)
    }

    /// The counts of one direction.
    pub(crate) const fn counts_mut(&mut self, direction: Direction) -> &mut Counts {
        match direction {
            Direction::Up => &mut self.up,
            Direction::Down => &mut self.down,
        }
    }
}

impl fmt::Display for Counts {
    /// `1200 packets, 1190 delivered, 10 lost`, without causes that dropped none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} packets, {} delivered", self.entered, self.delivered)?;
        for (count, what) in [
            (self.lost, "lost"),
            (self.queue_full, "dropped by a full queue"),
            (self.managed, "dropped by queue management"),
            (self.thinned, "needless ACKs thinned out"),
            (self.refused, "refused by the device"),
            (self.unfinished, "still on their way at the end"),
            (self.missed, "missed before the path"),
        ] {
            if count > 0 {
                write!(f, ", {count} {what}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
