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

/// What the rate is computed from.
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
mod tests {
    use super::*;

    #[test]
    fn the_rate_follows_window_and_srtt() {
        // (cwnd, ssthresh, outstanding, SRTT in µs, bytes per second)
        let cases = [
            (10, u32::MAX, 10, 100_000, 200_000),
            (10, u32::MAX, 20, 100_000, 400_000), // more outstanding than the window
            (10, 20, 0, 100_000, 120_000),        // half of ssthresh is reached
            (9, 20, 0, 100_000, 180_000),
            (10, 5, 0, 30_000, 400_000),
            (10, 5, 0, 7, 1_714_285_714), // rounded down
            (1, 5, 0, u64::MAX, 1),
        ];
        for (cwnd, ssthresh, outstanding, micros, expected) in cases {
            let input = PacingInput {
                mss: 1000,
                cwnd: Segments(cwnd),
                ssthresh: Segments(ssthresh),
                outstanding: Segments(outstanding),
                srtt: Some(Duration::from_micros(micros)),
            };
            let rate = input.rate().map(BitRate::bits_per_second);
            assert_eq!(rate, Some(expected * 8), "{input:?}");
            for srtt in [None, Some(Duration::ZERO)] {
                assert_eq!(PacingInput { srtt, ..input }.rate(), None);
            }
        }
    }

    #[test]
    fn a_burst_leaves_at_once_and_the_rest_at_the_rate() {
        // 1,000 bytes a millisecond.
        let rate = BitRate::from_bits_per_second(8_000_000).unwrap();
        let at = Instant::from_millis;
        let mut pacer = Pacer::default();
        pacer.set_by_host(true);
        let span = Span::at(Offset::DATA, 1000);
        let leave = |pacer: &mut Pacer, now| {
            let departure = pacer.departure(now, 1000, rate);
            pacer.on_sent(departure, span, 1000, rate, 1);
            departure
        };
        let first: Vec<_> = (0..12).map(|_| leave(&mut pacer, at(100))).collect();
        assert_eq!(first[..10], [at(100); 10]);
        assert_eq!(first[10..], [at(101), at(102)]);
        // At a rate that divides no segment, rounding does not delay the tenth.
        let odd = BitRate::from_bits_per_second(7_000_001).unwrap();
        (0..9).for_each(|_| pacer.on_sent(at(300), span, 1000, odd, 1));
        assert_eq!(pacer.departure(at(300), 1000, odd), at(300));
        // A pause gives the burst back, and no more.
        let second: Vec<_> = (0..11).map(|_| leave(&mut pacer, at(500))).collect();
        assert_eq!((second[9], second[10]), (at(500), at(501)));
    }

    #[test]
    fn bursts_leave_at_the_rate_after_ten_segments() {
        // 1,000 bytes a millisecond, in bursts of two.
        let rate = BitRate::from_bits_per_second(8_000_000).unwrap();
        let at = Instant::from_millis;
        let mut departures = Departures::default();
        let send = |departures: &mut Departures, now, n: u64| {
            let span = Span::at(Offset::DATA + n * 1000, 1000);
            let permitted = departures.permits(now, span);
            departures.on_sent(now, span, rate, 2);
            permitted
        };
        assert!((0..10).all(|n| send(&mut departures, at(100), n)));
        assert_eq!(departures.next, at(102), "the tenth is the second of a burst");
        let next = Span::at(Offset::DATA + 10_000, 1000);
        assert!(!departures.permits(at(101), next));
        assert!(send(&mut departures, at(102), 10));
        assert!(send(&mut departures, at(102), 11));
        assert_eq!(departures.next, at(104));
        let third = Span::at(Offset::DATA + 12_000, 1000);
        assert!(!departures.permits(at(102), third), "the burst is full");
        // A burst that leaves late is followed sooner, by half its gap at most.
        assert!(send(&mut departures, at(110), 12));
        assert_eq!(departures.next, Instant::from_nanos(110_500_000));
        departures.on_timer();
        assert!(departures.permits(at(110), Span::at(Offset::DATA, 1000)));
        assert_eq!(departures.deadline(), None);
    }

    #[test]
    fn a_burst_is_a_millisecond_at_the_rate() {
        // (bytes per second, minimum RTT in ms, least, segments)
        let cases = [
            (1_024_000, Some(40), 2, 2),
            (10_240_000, Some(40), 2, 10),
            (100, Some(40), 1, 1),
            (u64::MAX, None, 2, 65),
            (1_024_000, Some(1), 2, 33), // a short path
        ];
        for (rate, rtt, least, segments) in cases {
            let rtt = rtt.map(Duration::from_millis);
            assert_eq!(burst(rate, 1000, rtt, least), segments, "{rate}, {rtt:?}");
        }
    }
}
