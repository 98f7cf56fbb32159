//! The delivery rate of a connection.
//!
//! ```text
//! on sending P:     P remembers C.delivered, C.delivered_time, C.first_sent_time, C.app_limited
//! on its ACK:       interval = max(P.sent − P.first_sent, now − P.delivered_time)
//!                   rate     = (C.delivered − P.delivered) · MSS / interval
//! application-limited: nothing to send although the window had room; so are all samples of what was
//!                   sent until what was in flight then has been delivered, and that of the SYN
//! ```
//! A sample over less than the least RTT means nothing. The rate is the latest sample that was not
//! application-limited, or a larger one that was, once there is one that was not.
//!
//! Source: draft-cheng-iccrg-delivery-rate-estimation §3; Linux `tcp_rate.c`.
//!
//! Deviations: counted in full segments, as Linux does; what the connection was like is remembered of
//! first transmissions alone, by stretches of the stream, so that a retransmission's sample reaches
//! back to its original.

use crate::scoreboard::Sent;
use recoup_units::{BitRate, Instant, Offset, Segments};
use std::collections::VecDeque;
use std::time::Duration;

/// What the connection was like when a stretch of the stream was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stamp {
    delivered: u64,
    delivered_at: Instant,
    first_sent_at: Instant,
    app_limited: bool,
}

/// Measures a connection's delivery rate.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeliveryRate {
    delivered: u64,
    delivered_at: Instant,
    /// When the segment was sent that was delivered last, or the first of the present flight.
    first_sent_at: Instant,
    /// Samples are application-limited until this much is delivered; 0: they are not.
    limited_until: u64,
    /// What holds from an offset on, for everything outstanding; ascending.
    stamps: VecDeque<(Offset, Stamp)>,
    rate: Option<BitRate>,
}

impl DeliveryRate {
    /// Begins again, keeping memory.
    pub fn reset(&mut self) {
        let mut stamps = std::mem::take(&mut self.stamps);
        stamps.clear();
        *self = Self {
            stamps,
            ..Self::default()
        };
    }

    /// The delivery rate, once the network and not the application has limited a sample.
    pub fn rate(&self) -> Option<BitRate> {
        self.rate
    }

    /// The application writes although the window has room and nothing waits, `pipe` in flight.
    pub fn on_application_limited(&mut self, pipe: Segments) {
        self.limited_until = (self.delivered + u64::from(pipe.0)).max(1);
    }

    /// What begins at `start` is sent for the first time; `alone`: nothing was outstanding.
    pub fn on_sent(&mut self, now: Instant, start: Offset, alone: bool) {
        if alone {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        let stamp = Stamp {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            app_limited: self.limited_until > 0 || start == Offset::SYN,
        };
        if self.stamps.back().is_none_or(|(_, last)| *last != stamp) {
            self.stamps.push_back((start, stamp));
        }
    }

    /// An ACK delivered something.
    pub fn on_ack(&mut self, now: Instant, ack: &Delivery) {
        if ack.delivered == Segments::ZERO {
            return;
        }
        self.delivered += u64::from(ack.delivered.0);
        self.delivered_at = now;
        if self.delivered > self.limited_until {
            self.limited_until = 0;
        }
        if let Some(newest) = ack.newest {
            let after = self.stamps.partition_point(|(from, _)| *from < newest.end);
            if let Some((_, stamp)) = after.checked_sub(1).and_then(|i| self.stamps.get(i)) {
                let stamp = *stamp;
                self.sample(now, newest, &stamp, ack);
            }
        }
        while self.stamps.get(1).is_some_and(|(from, _)| *from <= ack.una) {
            self.stamps.pop_front();
        }
    }

    fn sample(&mut self, now: Instant, newest: Sent, stamp: &Stamp, ack: &Delivery) {
        self.first_sent_at = newest.at;
        let sending = newest.at.since(stamp.first_sent_at);
        let interval = sending.max(now.since(stamp.delivered_at));
        if interval.is_zero() || interval < ack.min_rtt {
            return;
        }
        let bits = u128::from(self.delivered - stamp.delivered) * u128::from(ack.mss) * 8;
        let rate = bits * 1_000_000_000 / interval.as_nanos();
        let rate = BitRate::from_bits_per_second(u64::try_from(rate).unwrap_or(u64::MAX));
        if !stamp.app_limited || (self.rate.is_some() && rate > self.rate) {
            self.rate = rate.or(self.rate);
        }
    }
}

/// What an ACK tells the delivery rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    pub delivered: Segments,
    /// The one sent last of them.
    pub newest: Option<Sent>,
    pub una: Offset,
    pub min_rtt: Duration,
    pub mss: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn ms(at: u64) -> Instant {
        Instant::from_millis(at)
    }

    /// Segment `n` from 1, sent at `at`, is delivered alone at `now`.
    fn deliver(rate: &mut DeliveryRate, now: u64, n: u64, at: u64) -> Option<u64> {
        let end = Offset(1 + n * MSS);
        rate.on_ack(
            ms(now),
            &Delivery {
                delivered: Segments::ONE,
                newest: Some(Sent { at: ms(at), end }),
                una: end,
                min_rtt: Duration::from_millis(40),
                mss: MSS as u32,
            },
        );
        rate.rate().map(BitRate::bits_per_second)
    }

    fn send(rate: &mut DeliveryRate, now: u64, n: u64, alone: bool) {
        rate.on_sent(ms(now), Offset(1 + (n - 1) * MSS), alone);
    }

    #[test]
    fn a_full_window_is_measured_by_its_acks() {
        let mut rate = DeliveryRate::default();
        for n in 1..=4 {
            send(&mut rate, 0, n, n == 1);
        }
        // A segment in 40 ms, two in 45: 8000 bits / 40 ms, 16,000 / 45 ms.
        assert_eq!(deliver(&mut rate, 40, 1, 0), Some(200_000));
        send(&mut rate, 40, 5, false);
        assert_eq!(deliver(&mut rate, 45, 2, 0), Some(355_555));
        deliver(&mut rate, 50, 3, 0);
        deliver(&mut rate, 55, 4, 0);
        // Segment 5 went when one had been delivered, at 40: four in 50 ms since.
        assert_eq!(deliver(&mut rate, 90, 5, 40), Some(640_000));
    }

    #[test]
    fn what_the_application_limits_counts_only_upwards() {
        let mut rate = DeliveryRate::default();
        rate.on_application_limited(Segments::ZERO);
        send(&mut rate, 0, 1, true);
        send(&mut rate, 0, 2, false);
        assert_eq!(deliver(&mut rate, 40, 1, 0), None, "limited");
        assert_eq!(deliver(&mut rate, 41, 2, 0), None);
        send(&mut rate, 50, 3, true);
        assert_eq!(
            deliver(&mut rate, 100, 3, 50),
            Some(160_000),
            "8000 / 50 ms"
        );
        rate.on_application_limited(Segments::ZERO);
        send(&mut rate, 200, 4, true);
        assert_eq!(deliver(&mut rate, 300, 4, 200), Some(160_000), "lower");
        rate.on_application_limited(Segments::ZERO);
        send(&mut rate, 400, 5, true);
        assert_eq!(deliver(&mut rate, 440, 5, 400), Some(200_000), "higher");
    }

    #[test]
    fn less_than_a_round_trip_tells_nothing() {
        let mut rate = DeliveryRate::default();
        send(&mut rate, 0, 1, true);
        assert_eq!(deliver(&mut rate, 39, 1, 0), None);
    }

    #[test]
    fn stamps_last_as_long_as_what_they_are_of() {
        let mut rate = DeliveryRate::default();
        for n in 1..=1000 {
            send(&mut rate, 100 * n, n, true);
            deliver(&mut rate, 100 * n + 50, n, 100 * n);
            assert!(rate.stamps.len() <= 2);
        }
    }
}
