//! The pacing rate.
//!
//! ```text
//! rate = ratio · mss · max(cwnd, outstanding) / SRTT
//! ratio = 200 % in slow start (cwnd < ssthresh/2), otherwise 120 %
//! ```
//! Source: Linux `tcp_update_pacing_rate` with its default `tcp_pacing_ss_ratio` and
//! `tcp_pacing_ca_ratio`. As there, SRTT counts in whole microseconds.
//!
//! BBR computes a rate of its own. Two kinds of hosts pace:
//!
//! - A **host of others** asks when the next segment may leave, and waits:
//!
//!   ```text
//!   left = max(left, now) + size/rate       after each segment sent at `now`
//!   the next may leave at left − 9·mss/rate, or at once if that is past
//!   ```
//!   So ten segments may leave together after a pause: the burst that RFC 9002 §7.7 permits, and Linux's
//!   initial window.
//! - Where the **congestion control** paces (BBR), the sender itself waits, with a timer, as Linux does without the fq
//!   queue (`tcp_pacing_check`, `tcp_update_skb_after_send`). Segments leave in bursts:
//!
//!   ```text
//!   a burst   rate/1024 s, at least 2 segments (1 below 1.2 Mbit/s), at most half of cwnd
//!   next      = base + gap,  base = max(next, now) of the burst,  gap = size/rate less what the burst was late,
//!               at most half of it
//!   ```
//!   The first ten data segments of a connection leave at once. Retransmissions wait as new data does, but for that of a
//!   timeout and a probe's.
//!
//! In the other profiles the rate decides how long the bursts of a sender are that segments in the way of Linux (TSO
//! autosizing).

use alloc::boxed::Box;
use core::time::Duration;
use recoup_units::{BitRate, Instant, Offset, Segments, Span};

/// The inputs of the pacing rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacingInput {
    /// Payload of a full segment, in bytes.
    pub mss: u32,
    pub cwnd: Segments,
    pub ssthresh: Segments,
    pub outstanding: Segments,
    pub srtt: Option<Duration>,
}

impl PacingInput {
    /// The pacing rate, rounded down to bytes per second, but at least one. `None` before the first RTT
    /// sample, and where SRTT is below a microsecond.
    //= RFC 9002 §7.7 step: "Expressed as a rate in units of bytes per time, where congestion_window is in bytes: rate =
    //=   N * congestion_window / smoothed_rtt"
    pub fn rate(&self) -> Option<BitRate> {
        let srtt = self.srtt?.as_micros();
        let slow_start = self.cwnd < Segments(self.ssthresh.0 / 2);
        let percent: u128 = if slow_start { 200 } else { 120 };
        let window = u128::from(self.mss) * u128::from(self.cwnd.max(self.outstanding).0);
        let bytes = (window * 1_000_000 * percent / 100).checked_div(srtt)?;
        let bits = bytes.max(1).saturating_mul(8);
        BitRate::from_bits_per_second(u64::try_from(bits).unwrap_or(u64::MAX))
    }
}

/// The most bytes that leave together (a packet of 64 KiB less room for headers).
const LARGEST_BURST: u64 = 65_535 - 320;

/// The segments that leave together at a pacing rate, in bytes per second: those of 1/1024 s, more on short paths, and
/// at least `least` (Linux `tcp_tso_autosize`).
pub(crate) fn burst(rate: u64, mss: u32, min_rtt: Option<Duration>, least: u32) -> u32 {
    let round_trips = min_rtt.map_or(u128::MAX, |rtt| rtt.as_micros()) >> 9;
    let near = u64::from(u16::MAX).checked_shr(u32::try_from(round_trips).unwrap_or(u32::MAX)).unwrap_or(0);
    let bytes = (rate >> 10).saturating_add(near).min(LARGEST_BURST);
    let segments = u32::try_from(bytes / u64::from(mss.max(1))).unwrap_or(u32::MAX);
    segments.max(least)
}

/// The least burst of BBR at a pacing rate, in bytes per second (Linux `bbr_min_tso_segs`).
pub(crate) const fn least_burst(rate: u64) -> u32 {
    if rate < 1_200_000 / 8 { 1 } else { 2 }
}

/// The segments that a host may send together after a pause.
//= RFC 9002 §7.7 SHOULD: "Senders SHOULD limit bursts to the initial congestion window"
const HOST_BURST: u32 = 10;
/// The data segments with which a connection begins unpaced.
const UNPACED: u8 = 10;

/// When segments leave, if they are paced.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) enum Pacer {
    /// They are not.
    #[default]
    Off,
    /// The host waits.
    Host {
        /// When all that was sent so far would have left at the pacing rate.
        left: Instant,
    },
    /// The sender waits.
    Sender(Box<Departures>),
}

/// When the bursts of a sender leave that paces by itself.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Departures {
    /// When the next burst may leave.
    next: Instant,
    /// The timer went off for it.
    is_due: bool,
    /// Data segments sent, up to [`UNPACED`].
    sent: u8,
    /// The last burst: when it left, how much later than it could have, its bytes, the segments that still belong to
    /// it, and the offset at which they begin.
    base: Instant,
    late: Duration,
    bytes: u64,
    left: u32,
    end: Offset,
}

impl Departures {
    /// Whether `span` may leave at `now`.
    pub fn permits(&self, now: Instant, span: Span) -> bool {
        self.is_due || self.next <= now || self.continues(now, span)
    }

    /// Whether `span` belongs to the last burst.
    fn continues(&self, now: Instant, span: Span) -> bool {
        self.left > 0 && now == self.base && span.start == self.end
    }

    /// When the next burst may leave, unless the timer already went off for it.
    pub fn deadline(&self) -> Option<Instant> {
        (!self.is_due).then_some(self.next)
    }

    pub fn on_timer(&mut self) {
        self.is_due = true;
    }

    /// `span` was sent. `burst`: the segments of a burst.
    fn on_sent(&mut self, now: Instant, span: Span, rate: BitRate, burst: u32) {
        if !self.continues(now, span) {
            self.base = self.next.max(now);
            self.late = self.base.since(self.next);
            self.bytes = 0;
            self.left = burst.max(1);
        }
        self.is_due = false;
        self.left -= 1;
        self.end = span.end;
        self.bytes += span.len();
        self.sent = self.sent.saturating_add(1).min(UNPACED);
        if self.sent < UNPACED {
            self.next = self.base;
            return;
        }
        let gap = rate.time_for(self.bytes);
        self.next = self.base + (gap - self.late.min(gap / 2));
    }
}

impl Pacer {
    pub fn set_by_host(&mut self, on: bool) {
        match (on, &self) {
            (true, Self::Off) => {
                *self = Self::Host { left: Instant::ZERO };
            }
            (false, Self::Host { .. }) => *self = Self::Off,
            _ => {}
        }
    }

    /// The bytes it takes on the heap.
    pub fn memory(&self) -> usize {
        match self {
            Self::Sender(departures) => size_of_val(departures.as_ref()),
            Self::Off | Self::Host { .. } => 0,
        }
    }

    pub fn is_on(&self) -> bool {
        !matches!(self, Self::Off)
    }

    /// `size` bytes were sent, from `span`. `burst`: the segments of a burst.
    pub fn on_sent(&mut self, now: Instant, span: Span, size: u64, rate: BitRate, burst: u32) {
        match self {
            Self::Off => {}
            Self::Host { left } => *left = now.max(*left) + rate.time_for(size),
            Self::Sender(departures) => departures.on_sent(now, span, rate, burst),
        }
    }

    /// When the next segment may leave: `now` or later.
    pub fn departure(&self, now: Instant, mss: u32, rate: BitRate) -> Instant {
        match self {
            Self::Off => now,
            Self::Host { left } => {
                let burst = rate.time_for(mss.into()) * (HOST_BURST - 1); // rounded as for each segment
                now + left.since(now).saturating_sub(burst)
            }
            Self::Sender(departures) => departures.next.max(now),
        }
    }
}

#[cfg(test)]
mod tests;
