//! Outages of a link: bad states that last a time, whatever is sent meanwhile.
//!
//! The bad states of a [`Gilbert–Elliott`](super::GilbertElliott) channel last a number of packets. So they end sooner the
//! more is sent, and while a retransmission timer backs off they do not end at all. A radio fade or a route change ends after
//! some time, whatever is sent.
//!
//! The outages are a function of the seed and of the first flow that reaches the hop: the flows of one link meet the same
//! ones, flows with paths of their own meet others. No packet changes them.

use std::time::Duration;

use recoup_units::{FlowId, Instant};

use crate::Probability;
use crate::draws::normal;
use crate::packet_rng::{PacketId, PacketRng, Purpose};
use crate::probability::unit;

/// No outage lasts longer, in s: 31 years.
const LONGEST_S: f64 = 1e9;

/// When a link is in a bad state. Time 0 is like any other time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outages {
    /// The mean time from the end of an outage to the beginning of the next (exponential); at least 1 ms.
    pub gap: Duration,
    /// The median time that an outage lasts (lognormal); at least 1 ms.
    pub length: Duration,
    /// The standard deviation of the natural logarithm of that time, from 0 to [`Outages::LARGEST_SIGMA`].
    pub sigma: f64,
    /// The share of the packets that an outage loses.
    pub loss: Probability,
}

impl Outages {
    /// The shortest gap and length.
    pub const SHORTEST: Duration = Duration::from_millis(1);

    /// The largest `sigma`: the mean is then 3,000 times the median.
    pub const LARGEST_SIGMA: f64 = 4.0;

    /// Outages of this median length, and this mean time between them, in which every packet is lost.
    pub const fn new(gap: Duration, length: Duration) -> Self {
        Self { gap, length, sigma: 0.0, loss: Probability::ONE }
    }

    /// The mean time that an outage lasts, in s.
    fn mean_length(&self) -> f64 {
        self.length.as_secs_f64() * libm::exp(self.sigma * self.sigma / 2.0)
    }

    /// The share of the time that outages take, from 0 to 1.
    pub fn share(&self) -> f64 {
        let length = self.mean_length();
        length / (length + self.gap.as_secs_f64())
    }
}

/// The outages of one hop, so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutageClock {
    spec: Outages,
    /// The flow whose packet came first; `None` before it.
    first: Option<FlowId>,
    /// The number of the outage that comes next, or that lasts.
    number: u64,
    begins: Instant,
    ends: Instant,
}

impl OutageClock {
    pub const fn new(spec: Outages) -> Self {
        Self { spec, first: None, number: 0, begins: Instant::ZERO, ends: Instant::ZERO }
    }

    pub const fn reset(&mut self) {
        *self = Self::new(self.spec);
    }

    /// Whether an outage loses a packet that arrives at `at`. Times do not decrease.
    pub fn lose(&mut self, at: Instant, rng: &PacketRng, id: PacketId) -> bool {
        let first = *self.first.get_or_insert(id.flow);
        if self.number == 0 {
            self.begin(rng, first);
        }
        while self.ends <= at {
            self.number += 1;
            self.begins = self.ends + self.gap(rng, first);
            self.ends = self.begins + self.length(rng, first);
        }
        self.begins <= at && self.spec.loss.happens(|| rng.draw(id, Purpose::Occurrence))
    }

    /// The state in which the link is at time 0.
    fn begin(&mut self, rng: &PacketRng, first: FlowId) {
        self.number = 1;
        if self.uniform(rng, first, Purpose::OutageAtBegin) < self.spec.share() {
            // The rest of an outage: of its length, anything may have passed. (Long outages are met more often, which this
            // leaves out.)
            let passed = self.uniform(rng, first, Purpose::OutageGap);
            self.ends = Instant::ZERO + self.length(rng, first).mul_f64(1.0 - passed);
        } else {
            self.begins = Instant::ZERO + self.gap(rng, first);
            self.ends = self.begins + self.length(rng, first);
        }
    }

    /// A number above 0, and at most 1.
    fn uniform(&self, rng: &PacketRng, first: FlowId, purpose: Purpose) -> f64 {
        1.0 - unit(rng.draw(PacketId { flow: first, ordinal: self.number, copy: 0 }, purpose))
    }

    fn gap(&self, rng: &PacketRng, first: FlowId) -> Duration {
        self.spec.gap.mul_f64(-libm::log(self.uniform(rng, first, Purpose::OutageGap))).max(Duration::from_nanos(1))
    }

    fn length(&self, rng: &PacketRng, first: FlowId) -> Duration {
        let uniform = |purpose| self.uniform(rng, first, purpose);
        let drawn = normal(uniform(Purpose::OutageLength), uniform(Purpose::OutageAngle));
        let length = self.spec.length.as_secs_f64() * libm::exp(self.spec.sigma * drawn);
        Duration::from_secs_f64(length.min(LONGEST_S)).max(Duration::from_nanos(1))
    }
}

#[cfg(test)]
mod tests;
