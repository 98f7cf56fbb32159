//! The pipe in bytes, for hosts whose windows count bytes.
//!
//! ```text
//! bytes in flight = Σ bytes · (1 − sacked − lost + retransmitted)      pipe = ⌈bytes in flight / mss⌉
//! ```
//! Each segment counts with its own bytes where the pipe otherwise counts it as one. Without SACK, each
//! duplicate ACK takes one full segment away.
//!
//! Source: RFC 9002 §7 (bytes in flight), RFC 6675 §2 (pipe, in octets).

use super::{Scoreboard, SentSegment};
use recoup_units::Segments;

/// Kept only where bytes count.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Bytes {
    /// The bytes of a full segment; 0: segments count.
    pub full: u32,
    /// Bytes delivered that are not counted as full segments yet; at most 4 GiB.
    delivered: u32,
    pub in_flight: u64,
}

impl Bytes {
    /// `bytes` more were delivered.
    pub fn add_delivered(&mut self, bytes: u64) {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.delivered = self.delivered.saturating_add(bytes);
    }
}

impl SentSegment {
    /// How often it counts in the pipe.
    fn times_in_pipe(&self) -> u64 {
        let times = 1 + u64::from(self.retransmitted);
        times.saturating_sub(u64::from(self.sacked) + u64::from(self.lost))
    }

    pub(super) fn bytes_in_pipe(&self) -> u64 {
        self.times_in_pipe() * u64::from(self.size)
    }
}

impl Scoreboard {
    /// Counts the pipe in bytes from now on, in segments of `full` bytes; in segments again if `full` is 0.
    pub fn count_bytes(&mut self, full: u32) {
        self.bytes.full = full;
        self.recount_bytes();
    }

    /// Whether the pipe counts bytes.
    pub fn counts_bytes(&self) -> bool {
        self.bytes.full > 0
    }

    /// Bytes thought to be in flight; `None` if segments count.
    pub fn bytes_in_flight(&self) -> Option<u64> {
        self.counts_bytes().then_some(self.bytes.in_flight)
    }

    /// The full segments among the bytes delivered since the last call. The rest counts with the next call.
    pub(crate) fn take_delivered(&mut self) -> Segments {
        let full = self.bytes.full.max(1);
        let segments = Segments(self.bytes.delivered / full);
        self.bytes.delivered %= full;
        segments
    }

    /// The outstanding data, SACKed data included (RFC 5681 §2, FlightSize), in the units of the pipe.
    pub(crate) fn flight_size(&mut self) -> Segments {
        if !self.counts_bytes() {
            return self.outstanding();
        }
        let bytes = match self.numbers_packets() {
            true => self.bytes_of(|_| true),
            false => self.nxt().since(self.una()),
        };
        self.full_segments(bytes)
    }

    /// The outstanding data that is not SACKed, lost data included, in the units of the pipe.
    pub(crate) fn undelivered(&mut self) -> Segments {
        if !self.counts_bytes() {
            return Segments(self.segments.len() as u32 - self.sacked);
        }
        let bytes = self.bytes_of(|segment| !segment.sacked);
        self.full_segments(bytes)
    }

    /// The bytes of the outstanding segments that `counts` accepts. It looks at the whole window, which a
    /// reduction does at most once per round trip.
    fn bytes_of(&mut self, counts: impl Fn(&SentSegment) -> bool) -> u64 {
        self.work += self.segments.len() as u64;
        let counted = self.segments.iter().filter(|segment| counts(segment));
        counted.map(|segment| u64::from(segment.size)).sum()
    }

    fn full_segments(&self, bytes: u64) -> Segments {
        let segments = bytes.div_ceil(u64::from(self.bytes.full).max(1));
        Segments(u32::try_from(segments).unwrap_or(u32::MAX))
    }

    pub(super) fn recount_bytes(&mut self) {
        if self.counts_bytes() {
            self.bytes.in_flight = self.segments.iter().map(SentSegment::bytes_in_pipe).sum();
        }
    }

    /// A segment counted `before` bytes in the pipe, and counts `after` now.
    #[inline]
    pub(super) fn note_bytes(&mut self, before: u64, after: u64) {
        if self.counts_bytes() {
            self.bytes.in_flight = (self.bytes.in_flight + after).saturating_sub(before);
        }
    }

    /// The pipe in full segments.
    pub(super) fn pipe_by_bytes(&self) -> u32 {
        let segments = self.full_segments(self.bytes.in_flight);
        segments.0.saturating_sub(self.duplicates)
    }
}
