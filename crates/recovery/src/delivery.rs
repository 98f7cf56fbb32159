//! The delivery rate of a connection.
//!
//! ```text
//! on sending P:     P remembers C.delivered, C.delivered_time, C.first_sent_time, C.app_limited
//! on its ACK:       interval = max(P.sent − P.first_sent, now − P.delivered_time)
//!                   rate     = (C.delivered − P.delivered) · MSS / interval
//! application-limited: nothing to send although the window had room; samples stay application-limited
//!                   until the data then in flight has been delivered. The SYN's sample always is.
//! ```
//! A sample over less than the minimum RTT is discarded. The rate is the latest sample that was not
//! application-limited. A later application-limited sample replaces it only if it is larger.
//!
//! Source: draft-cheng-iccrg-delivery-rate-estimation §3; Linux `tcp_rate.c`.
//!
//! Deviations: delivered data is counted in full segments, as in Linux. What a transmission remembers is found again by
//! its time, and for transmissions of one instant by their order in the stream. Of retransmissions of one instant, the
//! memory of a later one may be taken for an earlier one's.

use crate::scoreboard::Sent;
use alloc::collections::VecDeque;
use core::time::Duration;
use recoup_units::{BitRate, Instant, Offset, Segments};

/// The connection state when segments were sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Stamp {
    delivered: u64,
    delivered_at: Instant,
    first_sent_at: Instant,
    app_limited: bool,
}

/// A stamp, and the first transmission that has it.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Stamped {
    sent_at: Instant,
    start: Offset,
    /// `snd_nxt` before it: everything sent earlier is below.
    nxt: Offset,
    stamp: Stamp,
}

/// A sample of the delivery rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RateSample {
    /// Segments delivered since the newest delivered segment was sent.
    pub delivered: u64,
    /// Segments delivered before it was sent.
    pub prior_delivered: u64,
    /// The time that the delivery took. `None` if it is zero or less than the minimum RTT: the sample then says nothing
    /// about the rate.
    pub interval: Option<Duration>,
    /// The application limited the rate.
    pub app_limited: bool,
}

/// Measures a connection's delivery rate.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct DeliveryRate {
    delivered: u64,
    delivered_at: Instant,
    /// When the most recently delivered segment was sent, or the first one of the current flight.
    first_sent_at: Instant,
    /// Samples are application-limited until this many segments are delivered; 0: not limited.
    limited_until: u64,
    /// For everything outstanding, in the order of transmission.
    stamps: VecDeque<Stamped>,
    rate: Option<BitRate>,
}

impl DeliveryRate {
    /// Starts again for a new connection and keeps the memory.
    pub fn reset(&mut self) {
        let mut stamps = core::mem::take(&mut self.stamps);
        stamps.clear();
        *self = Self { stamps, ..Self::default() };
    }

    /// The bytes it takes on the heap.
    pub fn memory(&self) -> usize {
        self.stamps.capacity() * size_of::<Stamped>()
    }

    /// The delivery rate, once a sample was limited by the network and not by the application.
    pub fn rate(&self) -> Option<BitRate> {
        self.rate
    }

    /// Segments delivered since the connection began, and when the last of them was.
    pub fn delivered(&self) -> (u64, Instant) {
        (self.delivered, self.delivered_at)
    }

    /// Whether the application limits the samples of what is sent now.
    pub fn is_application_limited(&self) -> bool {
        self.limited_until > 0
    }

    /// The application writes while the window has room and no data waits, or what is in flight is kept small. `pipe` is
    /// in flight.
    pub fn on_application_limited(&mut self, pipe: Segments) {
        self.limited_until = (self.delivered + u64::from(pipe.0)).max(1);
    }

    /// A segment that begins at `start` is sent, for the first time or again. `nxt`: `snd_nxt` before it; `alone`:
    /// nothing else was outstanding.
    pub fn on_sent(&mut self, now: Instant, start: Offset, nxt: Offset, alone: bool) {
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
        if self.stamps.back().is_none_or(|last| last.stamp != stamp) {
            self.stamps.push_back(Stamped { sent_at: now, start, nxt, stamp });
        }
    }

    /// Processes an ACK that delivered data. `None` if it says nothing.
    pub fn on_ack(&mut self, now: Instant, ack: &Delivery) -> Option<RateSample> {
        if ack.delivered == Segments::ZERO {
            return None;
        }
        self.delivered += u64::from(ack.delivered.0);
        self.delivered_at = now;
        if self.delivered > self.limited_until {
            self.limited_until = 0;
        }
        let newest = ack.newest?;
        let sample = self.stamp_of(newest).map(|stamp| self.sample(now, newest, &stamp, ack));
        while self.stamps.get(1).is_some_and(|next| next.nxt <= ack.una) {
            self.stamps.pop_front();
        }
        sample
    }

    /// What the transmission remembers.
    fn stamp_of(&self, sent: Sent) -> Option<Stamp> {
        let mut after = self.stamps.partition_point(|one| one.sent_at <= sent.at);
        let is_later = |one: &Stamped| one.sent_at == sent.at && one.start >= sent.end;
        while after > 1 && is_later(&self.stamps[after - 1]) {
            after -= 1;
        }
        Some(self.stamps.get(after.checked_sub(1)?)?.stamp)
    }

    fn sample(&mut self, now: Instant, newest: Sent, stamp: &Stamp, ack: &Delivery) -> RateSample {
        self.first_sent_at = newest.at;
        let sending = newest.at.since(stamp.first_sent_at);
        let interval = sending.max(now.since(stamp.delivered_at));
        let is_plausible = !interval.is_zero() && interval >= ack.min_rtt;
        let sample = RateSample {
            delivered: self.delivered - stamp.delivered,
            prior_delivered: stamp.delivered,
            interval: is_plausible.then_some(interval),
            app_limited: stamp.app_limited,
        };
        self.take_rate(&sample, ack.mss);
        sample
    }

    fn take_rate(&mut self, sample: &RateSample, mss: u32) {
        let Some(interval) = sample.interval else {
            return;
        };
        let bits = u128::from(sample.delivered) * u128::from(mss) * 8;
        let rate = bits * 1_000_000_000 / interval.as_nanos();
        let rate = BitRate::from_bits_per_second(u64::try_from(rate).unwrap_or(u64::MAX));
        if !sample.app_limited || (self.rate.is_some() && rate > self.rate) {
            self.rate = rate.or(self.rate);
        }
    }
}

/// The data that an ACK delivered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    pub delivered: Segments,
    /// The delivered segment that was sent last.
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

    /// Delivers segment `n` (counted from 1), sent at `at`, alone at `now`.
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
        let start = Offset(1 + (n - 1) * MSS);
        rate.on_sent(ms(now), start, start, alone);
    }

    #[test]
    fn the_acks_of_a_full_window_give_the_rate() {
        let mut rate = DeliveryRate::default();
        for n in 1..=4 {
            send(&mut rate, 0, n, n == 1);
        }
        // One segment in 40 ms, two in 45 ms: 8000 bits / 40 ms, 16,000 / 45 ms.
        assert_eq!(deliver(&mut rate, 40, 1, 0), Some(200_000));
        send(&mut rate, 40, 5, false);
        assert_eq!(deliver(&mut rate, 45, 2, 0), Some(355_555));
        deliver(&mut rate, 50, 3, 0);
        deliver(&mut rate, 55, 4, 0);
        // Segment 5 was sent at 40, when one was delivered: four more in the 50 ms since.
        assert_eq!(deliver(&mut rate, 90, 5, 40), Some(640_000));
    }

    #[test]
    fn an_application_limited_sample_only_raises_the_rate() {
        let mut rate = DeliveryRate::default();
        rate.on_application_limited(Segments::ZERO);
        send(&mut rate, 0, 1, true);
        send(&mut rate, 0, 2, false);
        assert_eq!(deliver(&mut rate, 40, 1, 0), None, "limited");
        assert_eq!(deliver(&mut rate, 41, 2, 0), None);
        send(&mut rate, 50, 3, true);
        assert_eq!(deliver(&mut rate, 100, 3, 50), Some(160_000), "8000 / 50 ms");
        rate.on_application_limited(Segments::ZERO);
        send(&mut rate, 200, 4, true);
        assert_eq!(deliver(&mut rate, 300, 4, 200), Some(160_000), "lower");
        rate.on_application_limited(Segments::ZERO);
        send(&mut rate, 400, 5, true);
        assert_eq!(deliver(&mut rate, 440, 5, 400), Some(200_000), "higher");
    }

    #[test]
    fn a_sample_below_the_minimum_rtt_is_discarded() {
        let mut rate = DeliveryRate::default();
        send(&mut rate, 0, 1, true);
        assert_eq!(deliver(&mut rate, 39, 1, 0), None);
    }

    #[test]
    fn stamps_are_dropped_with_their_data() {
        let mut rate = DeliveryRate::default();
        for n in 1..=1000 {
            send(&mut rate, 100 * n, n, true);
            deliver(&mut rate, 100 * n + 50, n, 100 * n);
            assert!(rate.stamps.len() <= 2);
        }
    }

    #[test]
    fn a_retransmission_has_a_stamp_of_its_own() {
        let mut rate = DeliveryRate::default();
        for n in 1..=4 {
            send(&mut rate, 0, n, n == 1);
        }
        deliver(&mut rate, 40, 2, 0);
        // The first segment is lost. It is retransmitted at 60 ms, when one segment was delivered.
        rate.on_sent(ms(60), Offset::DATA, Offset(1 + 4 * MSS), false);
        deliver(&mut rate, 61, 3, 0);
        let una = Offset(1 + 3 * MSS);
        let newest = Some(Sent { at: ms(60), end: Offset(1 + MSS) });
        let ack =
            Delivery { delivered: Segments::ONE, newest, una, min_rtt: Duration::from_millis(40), mss: MSS as u32 };
        let sample = rate.on_ack(ms(100), &ack).unwrap();
        assert_eq!((sample.prior_delivered, sample.delivered), (1, 2));
        assert_eq!(sample.interval, Some(Duration::from_millis(60)));
    }

    #[test]
    fn segments_of_one_instant_are_told_apart_by_their_order() {
        let mut rate = DeliveryRate::default();
        for n in 1..=2 {
            send(&mut rate, 0, n, n == 1);
        }
        // Two ACKs at 40 ms, each of which lets a segment go.
        for n in 1..=2 {
            deliver(&mut rate, 40, n, 0);
            send(&mut rate, 40, 2 + n, false);
        }
        let sample = |rate: &DeliveryRate, n: u64| {
            let end = Offset(1 + n * MSS);
            rate.stamp_of(Sent { at: ms(40), end }).unwrap().delivered
        };
        assert_eq!((sample(&rate, 3), sample(&rate, 4)), (1, 2));
    }
}
