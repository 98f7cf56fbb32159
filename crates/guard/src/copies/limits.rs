//! How much the guard may send: packets and bytes for each connection, each destination, and this host.
//!
//! A budget is a token bucket (RFC 2697 §3): it holds what it gets in [`HELD`], and a connection also at most [`SHARE`] of what it
//! has sent itself.

use recoup_units::Instant;
use std::time::Duration;

/// A budget that was not used for this long is full.
const HELD: Duration = Duration::from_secs(1);

/// A connection's copies are at most one in this many of its own packets, beyond [`FREE`].
pub const SHARE: u64 = 10;

/// Copies that every connection may have: SYN or SYN-ACK, first request, and the tails of a short one.
pub const FREE: u64 = 4;

/// Packets and bytes a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    pub packets: u32,
    pub bytes: u32,
}

/// Bytes of a packet that a limit counts with: most copies are shorter, and a full one is 1,500.
const BYTES: u32 = 1250;

impl Limit {
    /// For a connection.
    pub const CONNECTION: Self = Self::packets(20);

    /// So many packets a second, of 1250 bytes on average.
    pub const fn packets(packets: u32) -> Self {
        Self { packets, bytes: packets.saturating_mul(BYTES) }
    }
}

/// What is left of a limit.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    limit: Limit,
    /// Packets and bytes, in units of 1 s/10⁹.
    packets: u64,
    bytes: u64,
    at: Instant,
}

const UNIT: u64 = 1_000_000_000;

impl Budget {
    /// A full one.
    pub fn new(limit: Limit, at: Instant) -> Self {
        Self { limit, packets: u64::from(limit.packets) * UNIT, bytes: u64::from(limit.bytes) * UNIT, at }
    }

    fn fill(&mut self, now: Instant) {
        let nanos = now.since(self.at).min(HELD).as_nanos() as u64;
        let more = |have: u64, rate: u32| (have + nanos * u64::from(rate)).min(u64::from(rate) * UNIT);
        self.packets = more(self.packets, self.limit.packets);
        self.bytes = more(self.bytes, self.limit.bytes);
        self.at = self.at.max(now);
    }

    /// Whether a packet of `bytes` bytes is within the limit.
    pub fn permits(&mut self, now: Instant, bytes: usize) -> bool {
        self.fill(now);
        self.packets >= UNIT && self.bytes >= bytes as u64 * UNIT
    }

    /// A packet of `bytes` bytes was sent.
    pub fn take(&mut self, bytes: usize) {
        self.packets = self.packets.saturating_sub(UNIT);
        self.bytes = self.bytes.saturating_sub(bytes as u64 * UNIT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1000;

    #[test]
    fn a_budget_permits_its_rate_and_one_second_of_it_at_once() {
        let limit = Limit { packets: 10, bytes: 5000 };
        let mut budget = Budget::new(limit, Instant::from_millis(SECOND));
        let mut sent = |at: u64, bytes| {
            let now = Instant::from_millis(at);
            let mut count = 0;
            while budget.permits(now, bytes) {
                budget.take(bytes);
                count += 1;
            }
            count
        };
        assert_eq!(sent(SECOND, 100), 10);
        assert_eq!(sent(SECOND + 250, 100), 2);
        // However long the pause: no more than a second's worth.
        assert_eq!(sent(100 * SECOND, 100), 10);
        // Bytes limit long packets: half a second gives 2,500 bytes, and 4,000 are left.
        assert_eq!(sent(100 * SECOND + 500, 1500), 3);
    }
}
