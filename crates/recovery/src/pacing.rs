//! The pacing rate.
//!
//! ```text
//! rate = ratio · mss · max(cwnd, outstanding) / SRTT
//! ratio = 200 % in slow start (cwnd < ssthresh/2), otherwise 120 %
//! ```
//! Source: Linux `tcp_update_pacing_rate` with its default `tcp_pacing_ss_ratio` and
//! `tcp_pacing_ca_ratio`. As there, SRTT counts in whole microseconds.
//!
//! No profile spaces its segments by this rate. It decides how long the bursts of a sender are that
//! segments in the way of Linux (TSO autosizing). A host that paces is told when the next segment may leave:
//!
//! ```text
//! left = max(left, now) + size/rate       after each segment sent at `now`
//! the next may leave at left − 9·mss/rate, or at once if that is past
//! ```
//! So ten segments may leave together after a pause: the burst that RFC 9002 §7.7 permits, and Linux's
//! initial window.

use core::time::Duration;
use recoup_units::{BitRate, Instant, Segments};

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

/// The segments that may leave together after a pause.
const BURST: u32 = 10;

/// When segments leave, if they are paced.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Pacer {
    /// When all that was sent so far would have left at the pacing rate; `None` if the host does not pace.
    left: Option<Instant>,
}

impl Pacer {
    pub fn set_on(&mut self, on: bool) {
        if on != self.is_on() {
            self.left = on.then_some(Instant::ZERO);
        }
    }

    pub fn is_on(&self) -> bool {
        self.left.is_some()
    }

    /// `size` bytes were sent.
    pub fn on_sent(&mut self, now: Instant, size: u64, rate: BitRate) {
        if let Some(left) = &mut self.left {
            *left = now.max(*left) + rate.time_for(size);
        }
    }

    /// When the next segment may leave: `now` or later.
    pub fn departure(&self, now: Instant, mss: u32, rate: BitRate) -> Instant {
        let burst = rate.time_for(mss.into()) * (BURST - 1); // rounded as for each segment
        let ahead = self.left.map_or(Duration::ZERO, |left| left.since(now));
        now + ahead.saturating_sub(burst)
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
        pacer.set_on(true);
        let leave = |pacer: &mut Pacer, now| {
            let departure = pacer.departure(now, 1000, rate);
            pacer.on_sent(departure, 1000, rate);
            departure
        };
        let first: Vec<_> = (0..12).map(|_| leave(&mut pacer, at(100))).collect();
        assert_eq!(first[..10], [at(100); 10]);
        assert_eq!(first[10..], [at(101), at(102)]);
        // At a rate that divides no segment, rounding does not delay the tenth.
        let odd = BitRate::from_bits_per_second(7_000_001).unwrap();
        (0..9).for_each(|_| pacer.on_sent(at(300), 1000, odd));
        assert_eq!(pacer.departure(at(300), 1000, odd), at(300));
        // A pause gives the burst back, and no more.
        let second: Vec<_> = (0..11).map(|_| leave(&mut pacer, at(500))).collect();
        assert_eq!((second[9], second[10]), (at(500), at(501)));
    }
}
