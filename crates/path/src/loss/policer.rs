//! A policer: a token bucket without a queue.
//!
//! Source: RFC 2475 §2.3.3.3 and §2.3.3.4 (meters and droppers); the meter is the single rate bucket of `tc-police(8)`. What it
//! does to TCP: Flach et al., "An Internet-Wide Analysis of Traffic Policing", SIGCOMM 2016.

use recoup_units::{BitRate, Instant};

/// Packets above a rate are dropped, not queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policer {
    /// The rate at which tokens arrive: a byte of an IP packet takes 8 bits.
    pub rate: BitRate,
    /// The most tokens that the bucket holds, in bytes. It begins full. A longer packet never passes.
    pub burst: u64,
}

/// Tokens are counted in 10⁻⁹ bits: what a bit/s gives in a nanosecond, so that none is rounded away.
type Tokens = u128;

/// The tokens of a bit.
const BIT: Tokens = 1_000_000_000;

/// The bucket of a policer.
#[derive(Clone, Copy, Debug)]
pub struct Bucket {
    spec: Policer,
    tokens: Tokens,
    /// When the tokens were counted.
    counted: Instant,
}

impl Bucket {
    /// A full bucket, at time 0.
    pub fn new(spec: Policer) -> Self {
        Self { spec, tokens: bytes(spec.burst), counted: Instant::ZERO }
    }

    pub(crate) fn reset(&mut self) {
        *self = Self::new(self.spec);
    }

    /// Whether a packet of `len` bytes that arrives at `at` is dropped. Times do not decrease.
    pub fn drops(&mut self, at: Instant, len: u32) -> bool {
        let is_dropped = bytes(len.into()) > self.filled(at);
        if !is_dropped {
            self.take(len);
        }
        is_dropped
    }

    /// The bytes that could pass at `at`. Times do not decrease.
    pub fn level(&mut self, at: Instant) -> u64 {
        u64::try_from(self.filled(at) / bytes(1)).unwrap_or(u64::MAX)
    }

    /// Takes the tokens of a packet that has passed, as many as there are.
    pub fn take(&mut self, len: u32) {
        self.tokens = self.tokens.saturating_sub(bytes(len.into()));
    }

    /// Takes the tokens above `level` bytes.
    pub fn lower_to(&mut self, level: u64) {
        self.tokens = self.tokens.min(bytes(level));
    }

    /// The tokens at `at`.
    fn filled(&mut self, at: Instant) -> Tokens {
        let since = at.nanos_since(self.counted);
        self.counted = self.counted.max(at);
        let arrived = Tokens::from(since) * Tokens::from(self.spec.rate.bits_per_second());
        self.tokens = (self.tokens + arrived).min(bytes(self.spec.burst));
        self.tokens
    }
}

fn bytes(bytes: u64) -> Tokens {
    Tokens::from(bytes) * 8 * BIT
}

#[cfg(test)]
mod tests;
