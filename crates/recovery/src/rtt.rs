//! The round-trip time estimator and its RTO, by RFC 6298 §2 or as Linux computes them:
//!
//! ```text
//! first sample R:  SRTT = R          mdev = R/2
//! later:           e = R − SRTT      SRTT += e/8
//!                  mdev += (|e| − mdev)/4,  or /32 when the RTT fell by more than mdev
//! RTTVAR (×4):     rises to 4·mdev at once; once a round trip falls by a quarter of its distance
//!                  to the largest 4·mdev of that round trip, itself never under the floor
//! RTO = m·SRTT + k·RTTVAR, rounded up to the clock's granularity, at most the maximum
//! ```
//! m is 1 (1.25 on Solaris) and k is 4. The weights of a sample, 1/8 in SRTT and 1/4 in RTTVAR, are the
//! study's b and a. Rules with other weights use them in place of every 1/8 and 1/4 above, and a/8 in place
//! of 1/32. Linux has the floor in RTTVAR, before k; RFC 6298 has it on k·RTTVAR. The clock is exact unless
//! the rules set a granularity.
//!
//! Every ACK that allows a measurement gives a sample, or one segment per flight does: the first new data
//! sent while no segment is timed. Its timing ends when it is acknowledged or anything is retransmitted
//! (Karn's rule in 4.4BSD's form; RFC 6298 §3 requires only one sample per round trip).
//!
//! Sources: RFC 6298 §2 (the estimator), Linux `tcp_rtt_estimator` (fall at most once a round trip,
//! damping when the RTT drops, the 200 ms floor on 4·RTTVAR rather than on the RTO), the 2007 loss
//! detection study §II, Table I and §V-A2 (m, granularity, samples by flight), 4.4BSD `tcp_output`
//! and `tcp_input` (`t_rtttime`, `t_rtseq`: which segment is timed).
//!
//! Deviations:
//!
//! - A segment SACKed before gives no sample when the cumulative ACK passes it, in any profile. Linux 3.17
//!   still takes that sample; Linux 2.6 takes none from SACKs and prefers timestamps.
//! - The RTO is at least 1 ms, whatever the rules: the smallest one that Linux's clock of 1000 Hz can time.
//!   Without a minimum, a retransmission timer would fire again and again at the same instant.
//! - Times are kept in nanoseconds, where Linux keeps µs and jiffies.
//! - A coarse clock rounds the RTO only. The real senders also measure the RTT with it, and their host
//!   timers round as well.

use core::fmt;
use core::time::Duration;
use recoup_units::{Instant, Offset};

/// The RTO at the start of data transmission if the SYN was retransmitted and gave no sample
/// (RFC 6298 §5.7).
pub(crate) const FALLBACK: Duration = Duration::from_secs(3);

/// How RTTVAR follows the samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Smoothing {
    /// Linux: RTTVAR rises at once and falls at most once per round trip.
    Linux,
    /// RFC 6298 §2.3: a quarter of the way to |SRTT − R| on each sample.
    Standard,
}

/// Which ACKs give a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Sampling {
    /// Every ACK that covers a segment sent once, or that echoes a timestamp (Linux, Solaris).
    Segment,
    /// The ACK of one segment per flight, with or without timestamps (Windows XP).
    Flight,
    /// Every ACK with a timestamp; without timestamps, the ACK of one segment per flight (4.4BSD).
    FlightOrTimestamps,
    /// Every ACK of a newer transmission than any before, if that segment was sent once (RFC 9002 §5.1).
    Newest,
}

impl Sampling {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Segment => "segment",
            Self::Flight => "flight",
            Self::FlightOrTimestamps => "flight_or_timestamps",
            Self::Newest => "newest",
        }
    }
}

/// The smallest sample, in ns, while there is none.
const NO_SAMPLE: u64 = u64::MAX;

/// The smallest RTO in ns.
const LEAST_RTO: u64 = 1_000_000;

/// `d` in ns, saturating at 584 years.
pub(crate) fn nanos(d: Duration) -> u64 {
    u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)
}

/// A weight or a factor of the estimator, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Factor(pub u32);

impl Factor {
    /// The largest factor.
    pub const MAX: Self = Self::whole(1000);
    /// The factor 1.
    pub const ONE: Self = Self::whole(1);

    /// A whole number, at most 4,294.
    pub const fn whole(number: u32) -> Self {
        Self(number * MILLION)
    }

    /// 1/`divisor`, rounded down.
    pub const fn one_over(divisor: u32) -> Self {
        Self(MILLION / divisor)
    }

    /// In binary, for fast multiplication.
    #[inline]
    const fn binary(self) -> BinaryFactor {
        BinaryFactor(((self.0 as u64) << 32) / MILLION as u64)
    }

    /// This many times `value`, rounded down; saturating.
    #[inline]
    pub(crate) fn times(self, value: u64) -> u64 {
        self.binary().times(value)
    }

    /// As a number.
    #[expect(clippy::disallowed_types, clippy::float_arithmetic, reason = "for reports alone")]
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / f64::from(MILLION)
    }
}

/// A factor in 2⁻³², rounded down. The study's weights, powers of ½, are exact.
#[derive(Clone, Copy)]
struct BinaryFactor(u64);

impl BinaryFactor {
    /// This many times `value`, rounded down; saturating.
    #[inline]
    fn times(self, value: u64) -> u64 {
        let product = u128::from(value) * u128::from(self.0);
        u64::try_from(product >> 32).unwrap_or(u64::MAX)
    }
}

/// The parts of 1 in which a [`Factor`] counts.
const MILLION: u32 = 1_000_000;

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.as_f64())
    }
}

/// The parameters of the RTT estimator and the RTO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct RtoRules {
    /// How RTTVAR follows the samples.
    pub smoothing: Smoothing,
    /// Which ACKs give a sample.
    pub sampling: Sampling,
    /// m, the factor of SRTT in the RTO: 1 in RFC 6298.
    pub srtt_factor: Factor,
    /// k, the factor of RTTVAR in the RTO: 4 in RFC 6298.
    pub rttvar_factor: Factor,
    /// b, the weight of a sample in SRTT, at most 1: 1/8 in RFC 6298.
    pub srtt_weight: Factor,
    /// a, the weight of a sample in RTTVAR, at most 1: 1/4 in RFC 6298.
    pub rttvar_weight: Factor,
    /// The sender's clock tick: an RTO computed from samples is rounded up to a multiple of it. Zero means an
    /// exact clock.
    pub granularity: Duration,
    /// The RTO before the first sample (RFC 6298 §2.1); not rounded.
    pub initial: Duration,
    /// The floor of the term that the RTO adds to SRTT: of k·RTTVAR (RFC 6298's clock granularity G), or on
    /// Linux of 4·RTTVAR (its 200 ms).
    pub min_variance: Duration,
    /// The floor of the RTO itself (RFC 6298 §2.4).
    pub min: Duration,
    /// The ceiling of the RTO, back-off included (RFC 6298 §2.5).
    pub max: Duration,
}

impl RtoRules {
    /// m of RFC 6298.
    pub(crate) const SRTT_FACTOR: Factor = Factor::ONE;
    /// k of RFC 6298.
    pub const RTTVAR_FACTOR: Factor = Factor::whole(4);
    /// b of RFC 6298.
    //= RFC 6298 §2.3 SHOULD: "The above SHOULD be computed using alpha=1/8 and beta=1/4"
    pub(crate) const SRTT_WEIGHT: Factor = Factor::one_over(8);
    /// a of RFC 6298.
    pub(crate) const RTTVAR_WEIGHT: Factor = Factor::one_over(4);

    fn has_usual_weights(&self) -> bool {
        (self.srtt_weight, self.rttvar_weight) == (Self::SRTT_WEIGHT, Self::RTTVAR_WEIGHT)
    }

    fn has_usual_factors(&self) -> bool {
        (self.srtt_factor, self.rttvar_factor) == (Self::SRTT_FACTOR, Self::RTTVAR_FACTOR)
    }
}

/// SRTT, RTTVAR and the RTO before back-off.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RttEstimator {
    smoothing: Smoothing,
    sampling: Sampling,
    /// Whether the RTO is RFC 6298's formula on an exact clock.
    plain: bool,
    /// Whether samples have the weights of RFC 6298.
    usual_weights: bool,
    srtt_factor: Factor,
    rttvar_factor: Factor,
    srtt_weight: Factor,
    rttvar_weight: Factor,
    /// The times of the rules in ns, which are smaller and cheaper than durations.
    granularity: u64,
    initial: u64,
    min_variance: u64,
    least_rto: u64,
    most_rto: u64,
    /// 8·SRTT in ns; 0 until the first sample.
    srtt8: u64,
    /// 4·mdev in ns.
    mdev4: u64,
    /// The largest 4·mdev seen in the current round trip, floor included.
    mdev4_max: u64,
    /// 4·RTTVAR in ns.
    rttvar4: u64,
    /// The current round trip ends when `snd_una` passes this.
    round_end: Offset,
    /// The smallest sample in ns; [`NO_SAMPLE`] until the first one.
    min: u64,
    /// The RTO in ns from the fields above, cached because it is read far more often than it changes.
    rto: u64,
    /// With one sample per flight: the start of the timed segment, and when it was sent.
    timed: Option<(Offset, Instant)>,
}

impl RttEstimator {
    /// An estimator without samples. Times of the rules above 584 years count as 584 years.
    pub fn new(rules: RtoRules) -> Self {
        let mut new = Self {
            smoothing: rules.smoothing,
            sampling: rules.sampling,
            plain: rules.has_usual_factors() && rules.granularity.is_zero(),
            usual_weights: rules.has_usual_weights(),
            srtt_factor: rules.srtt_factor,
            rttvar_factor: rules.rttvar_factor,
            srtt_weight: rules.srtt_weight,
            rttvar_weight: rules.rttvar_weight,
            granularity: nanos(rules.granularity),
            initial: nanos(rules.initial),
            min_variance: nanos(rules.min_variance),
            least_rto: nanos(rules.min),
            most_rto: nanos(rules.max),
            srtt8: 0,
            mdev4: 0,
            mdev4_max: 0,
            rttvar4: 0,
            round_end: Offset::SYN,
            min: NO_SAMPLE,
            rto: 0,
            timed: None,
        };
        new.keep_rto();
        new
    }

    /// Whether one segment per flight is timed, so that samples come from
    /// [`flight_sample`](Self::flight_sample).
    pub fn times_flights(&self) -> bool {
        !matches!(self.sampling, Sampling::Segment | Sampling::Newest)
    }

    /// Whether some ACKs of segments sent once give no sample.
    #[inline]
    pub(crate) fn is_choosy(&self) -> bool {
        self.sampling != Sampling::Segment
    }

    /// Whether samples come from the newest transmission delivered.
    pub(crate) fn samples_newest(&self) -> bool {
        self.sampling == Sampling::Newest
    }

    /// New data from `start` on was sent. Times this segment if no other is timed.
    //= RFC 6298 §3 MUST: "A TCP implementation MUST take at least one RTT measurement per RTT (unless that is not
    //=   possible per Karn's algorithm)."
    #[inline]
    pub fn on_sent(&mut self, now: Instant, start: Offset) {
        if self.is_choosy() && self.timed.is_none() {
            self.timed = Some((start, now));
        }
    }

    /// Something was retransmitted. Stops the timing, because the next ACK may be for the retransmission
    /// (Karn's rule).
    pub fn on_sent_again(&mut self) {
        self.timed = None;
    }

    /// The sample of an ACK of everything below `una`, if one segment per flight is timed. `timestamp` is the
    /// RTT by the echoed timestamp, if the ACK acknowledges new data and timestamps are in use.
    #[inline(never)] // most senders never come here
    pub fn flight_sample(&mut self, now: Instant, una: Offset, timestamp: Option<Duration>) -> Option<Duration> {
        let by_timestamp = timestamp.filter(|_| self.sampling != Sampling::Flight);
        let timed = self.timed.filter(|(start, _)| *start < una);
        if by_timestamp.is_some() || timed.is_some() {
            self.timed = None;
        }
        by_timestamp.or(timed.map(|(_, sent_at)| now.since(sent_at)))
    }

    /// Adds a sample. `una` and `nxt`, after the ACK was applied, delimit the round trips.
    pub fn on_sample(&mut self, rtt: Duration, una: Offset, nxt: Offset) {
        self.on_sample_nanos(nanos(rtt), una, nxt);
    }

    /// Adds a sample of `rtt` ns, for `ack_delay` ns of which the receiver held the ACK back (RFC 9002 §5.3).
    /// The delay is subtracted unless the result were less than the minimum RTT, which it never changes, or
    /// the sample is the first.
    pub(crate) fn on_delayed_sample(&mut self, rtt: u64, ack_delay: u64, una: Offset, nxt: Offset) {
        //= RFC 9002 §5.2 MUST: "min_rtt MUST be set to the latest_rtt on the first RTT sample."
        //= RFC 9002 §5.2 MUST: "min_rtt MUST be set to the lesser of min_rtt and latest_rtt (Section 5.1) on all other
        //=   samples."
        //= RFC 9002 §5.2 step: "An endpoint uses only locally observed times in computing the min_rtt and does not
        //=   adjust for acknowledgment delays reported by the peer."
        self.min = self.min.min(rtt.min(NO_SAMPLE - 1));
        let adjusted = rtt.saturating_sub(ack_delay);
        //= RFC 9002 §5.3 MUST NOT: "MUST NOT subtract the acknowledgment delay from the RTT sample if the resulting
        //=   value is smaller than the min_rtt"
        let usable = self.srtt8 > 0 && adjusted >= self.min;
        self.on_sample_nanos(if usable { adjusted } else { rtt }, una, nxt);
    }

    /// Forgets the minimum RTT: the next sample is the smallest (RFC 9002 §5.2).
    //= RFC 9002 §5.2 SHOULD NOT: "Implementations SHOULD NOT refresh the min_rtt value too often since the actual
    //=   minimum RTT of the path is not frequently observable."
    pub(crate) fn forget_min(&mut self) {
        self.min = NO_SAMPLE;
    }

    /// Adds a sample in nanoseconds: the fast path, since most ACKs give a sample.
    #[inline(always)] // its other callers are rare
    pub(crate) fn on_sample_nanos(&mut self, rtt: u64, una: Offset, nxt: Offset) {
        self.take_sample(rtt, una, nxt);
        self.keep_rto();
    }

    fn take_sample(&mut self, rtt: u64, una: Offset, nxt: Offset) {
        // A sample of zero would mean "none yet"; no clock resolves less than 1 ns.
        let m = rtt.clamp(1, 1 << 50);
        let floor = self.min_variance;
        //= RFC 8985 §6.2 step 1 step: "Use the RTT measurements obtained via [RFC6298] or [RFC7323] to update the
        //=   estimated minimum RTT in RACK.min_RTT."
        //= RFC 8985 §6.2 step 1 SHOULD: "The sender SHOULD track a windowed min-filtered estimate of recent RTT
        //=   measurements that can adapt when migrating to significantly longer paths rather than tracking a simple
        //=   global minimum of all RTT measurements."
        //= deviation: the minimum never expires. Linux forgets it after five minutes
        self.min = self.min.min(rtt.min(NO_SAMPLE - 1));
        if self.srtt8 == 0 {
            //= RFC 6298 §2.2 MUST: "When the first RTT measurement R is made, the host MUST set SRTT <- R RTTVAR <- R/2
            //=   RTO <- SRTT + max (G, K*RTTVAR)"
            //= RFC 9002 §5.3 step: "On the first RTT sample after initialization, smoothed_rtt and rttvar are set as
            //=   follows: smoothed_rtt = latest_rtt rttvar = latest_rtt / 2"
            self.srtt8 = m << 3;
            self.mdev4 = m << 1;
            //= RFC 6298 §4 MUST: "if the K*RTTVAR term in the RTO calculation equals zero, the variance term MUST be
            //=   rounded to G seconds"
            self.rttvar4 = self.mdev4.max(floor);
            self.mdev4_max = self.rttvar4;
            self.round_end = nxt;
            return;
        }
        if !self.usual_weights {
            self.take_weighted(m, floor, una, nxt);
            return;
        }
        if self.smoothing == Smoothing::Standard {
            self.smooth(m, floor);
            return;
        }
        let srtt = self.srtt8 >> 3;
        let mdev = self.mdev4 >> 2;
        let error = m.abs_diff(srtt);
        if m < srtt {
            self.srtt8 -= error;
            // A falling RTT must not inflate the variance as fast as a rising one.
            self.mdev4 = if error > mdev { self.mdev4 + ((error - mdev) >> 3) } else { self.mdev4 - (mdev - error) };
        } else {
            self.srtt8 += error;
            self.mdev4 = self.mdev4 - mdev + error;
        }
        self.follow_deviation();
        if una > self.round_end {
            if self.mdev4_max < self.rttvar4 {
                self.rttvar4 -= (self.rttvar4 - self.mdev4_max) >> 2;
            }
            self.round_end = nxt;
            self.mdev4_max = floor;
        }
    }

    /// RTTVAR rises to mdev at once, as on Linux.
    fn follow_deviation(&mut self) {
        if self.mdev4 > self.mdev4_max {
            self.mdev4_max = self.mdev4;
            self.rttvar4 = self.rttvar4.max(self.mdev4_max);
        }
    }

    /// Adds a sample with the weights of the rules.
    #[inline(never)] // most senders never come here
    fn take_weighted(&mut self, m: u64, floor: u64, una: Offset, nxt: Offset) {
        let a = self.rttvar_weight.binary();
        let b = self.srtt_weight.binary();
        let error = m.abs_diff(self.srtt8 >> 3);
        let is_linux = self.smoothing == Smoothing::Linux;
        let falls = m < self.srtt8 >> 3;
        self.srtt8 = self.srtt8 - b.times(self.srtt8) + b.times(m << 3);
        let deviation = error << 2;
        self.mdev4 = match is_linux && falls && deviation > self.mdev4 {
            true => self.mdev4 + (a.times(deviation - self.mdev4) >> 3),
            false => self.mdev4 - a.times(self.mdev4) + a.times(deviation),
        };
        if !is_linux {
            self.rttvar4 = self.mdev4.max(floor);
            return;
        }
        self.follow_deviation();
        if una > self.round_end {
            self.rttvar4 -= a.times(self.rttvar4.saturating_sub(self.mdev4_max));
            self.round_end = nxt;
            self.mdev4_max = floor;
        }
    }

    //= RFC 6298 §2.3 MUST: "When a subsequent RTT measurement R' is made, a host MUST set RTTVAR <- (1 - beta) * RTTVAR
    //=   + beta * |SRTT - R'| SRTT <- (1 - alpha) * SRTT + alpha * R'"
    //= RFC 9002 §5.3 step: "smoothed_rtt = 7/8 * smoothed_rtt + 1/8 * adjusted_rtt rttvar_sample = abs(smoothed_rtt -
    //=   adjusted_rtt) rttvar = 3/4 * rttvar + 1/4 * rttvar_sample"
    //= deviation: rttvar comes first, as in appendix A.7 and in RFC 6298
    fn smooth(&mut self, m: u64, floor: u64) {
        let error = m.abs_diff(self.srtt8 >> 3);
        //= RFC 6298 §2.3 MUST: "updating RTTVAR and SRTT MUST be computed in the above order"
        self.mdev4 = self.mdev4 - (self.mdev4 >> 2) + error;
        //= RFC 6298 §4 MUST: "if the K*RTTVAR term in the RTO calculation equals zero, the variance term MUST be
        //=   rounded to G seconds"
        self.rttvar4 = self.mdev4.max(floor);
        self.srtt8 = self.srtt8 - (self.srtt8 >> 3) + m;
    }

    /// The SYN was retransmitted and gave no sample. Until the first sample, the RTO is at least three seconds
    /// (RFC 6298 §5.7).
    pub fn distrust_initial(&mut self) {
        self.initial = self.initial.max(nanos(FALLBACK));
        self.keep_rto();
    }

    /// The smoothed RTT, once there is a sample.
    pub fn srtt(&self) -> Option<Duration> {
        (self.srtt8 > 0).then(|| Duration::from_nanos(self.srtt8 >> 3))
    }

    /// The smoothed RTT in nanoseconds, once there is a sample.
    pub fn srtt_nanos(&self) -> Option<u64> {
        (self.srtt8 > 0).then_some(self.srtt8 >> 3)
    }

    /// RTTVAR (not multiplied by 4).
    pub fn rttvar(&self) -> Duration {
        Duration::from_nanos(self.rttvar4 >> 2)
    }

    /// The smallest sample.
    pub fn min(&self) -> Option<Duration> {
        self.min_nanos().map(Duration::from_nanos)
    }

    /// The smallest sample in nanoseconds.
    pub(crate) fn min_nanos(&self) -> Option<u64> {
        (self.min != NO_SAMPLE).then_some(self.min)
    }

    /// The RTO without back-off.
    pub fn rto(&self) -> Duration {
        Duration::from_nanos(self.rto)
    }

    /// The RTO without back-off, in nanoseconds.
    pub(crate) fn rto_nanos(&self) -> u64 {
        self.rto
    }

    /// The probe timeout after it was backed off `times`, in nanoseconds: the RTO plus how long a receiver
    /// holds an ACK back (RFC 9002 §6.2.1).
    //= RFC 9002 §6.2.1 step: "PTO = smoothed_rtt + max(4*rttvar, kGranularity) + max_ack_delay"
    //= RFC 9002 §6.2.1 MUST: "The PTO period MUST be at least kGranularity to avoid the timer expiring immediately."
    pub(crate) fn probe_timeout_nanos(&self, max_ack_delay: u64, times: u32) -> u64 {
        let backed_off = (self.rto.saturating_add(max_ack_delay)).saturating_mul(1 << times.min(20));
        backed_off.min(self.most_rto)
    }

    /// The RTO after it was backed off `times`, in nanoseconds.
    pub(crate) fn backed_off_nanos(&self, times: u32) -> u64 {
        //= RFC 6298 §5.5 MAY: "The maximum value discussed in (2.5) above may be used to provide an upper bound to this
        //=   doubling operation."
        let backed_off = self.rto.saturating_mul(1 << times.min(20));
        backed_off.min(self.most_rto)
    }

    /// The RTO without back-off, in nanoseconds, if m, k and the minimum of the RTO were these.
    pub fn rto_nanos_with(&self, srtt_factor: Factor, rttvar_factor: Factor, min: u64) -> u64 {
        match self.srtt8 {
            0 => self.rto,
            srtt8 => {
                let min = min.max(LEAST_RTO);
                self.general_rto(srtt8 >> 3, srtt_factor, rttvar_factor, min)
            }
        }
    }

    //= RFC 6298 §2.3 MUST: "After the computation, a host MUST update RTO <- SRTT + max (G, K*RTTVAR)"
    fn keep_rto(&mut self) {
        self.rto = match self.srtt8 {
            0 => self.initial.min(self.most_rto),
            srtt8 if self.plain => ((srtt8 >> 3) + self.rttvar4).max(self.least_rto).max(LEAST_RTO).min(self.most_rto),
            srtt8 => {
                let (m, k) = (self.srtt_factor, self.rttvar_factor);
                self.general_rto(srtt8 >> 3, m, k, self.least_rto.max(LEAST_RTO))
            }
        };
    }

    /// The RTO with any factors and any clock, in whole ticks.
    #[inline(never)] // most senders never come here
    fn general_rto(&self, srtt: u64, m: Factor, k: Factor, min: u64) -> u64 {
        // k/4, because RTTVAR is kept four times as large. Samples are bounded: no factor makes this overflow.
        let scaled = |rttvar4: u64| match k == RtoRules::RTTVAR_FACTOR {
            true => rttvar4,
            false => k.binary().times(rttvar4) >> 2,
        };
        let term = match self.smoothing {
            Smoothing::Linux => scaled(self.rttvar4),
            Smoothing::Standard => scaled(self.mdev4).max(self.min_variance),
        };
        let exact = m.binary().times(srtt).saturating_add(term).max(min);
        let rounded = match self.granularity {
            0 => exact,
            tick => exact.div_ceil(tick).saturating_mul(tick),
        };
        rounded.min(self.most_rto)
    }

    /// The rules in force.
    pub fn rules(&self) -> RtoRules {
        RtoRules {
            smoothing: self.smoothing,
            sampling: self.sampling,
            srtt_factor: self.srtt_factor,
            rttvar_factor: self.rttvar_factor,
            srtt_weight: self.srtt_weight,
            rttvar_weight: self.rttvar_weight,
            granularity: Duration::from_nanos(self.granularity),
            initial: Duration::from_nanos(self.initial),
            min_variance: Duration::from_nanos(self.min_variance),
            min: Duration::from_nanos(self.least_rto),
            max: Duration::from_nanos(self.most_rto),
        }
    }

    /// The ceiling of the RTO, back-off included.
    pub(crate) fn most_rto(&self) -> Duration {
        Duration::from_nanos(self.most_rto)
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
