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
    /// The bytes that it keeps of each outstanding segment.
    pub const STAMP: usize = size_of::<Stamped>();

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

    /// The stamp of a transmission.
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
mod tests;
