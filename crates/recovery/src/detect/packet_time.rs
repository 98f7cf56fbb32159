//! RFC 9002's loss detection: a packet threshold and a time threshold, in the order of transmission.
//!
//! ```text
//! newest = the latest transmission known to be delivered                       RFC 9002 §6.1
//! a segment in flight that was sent before newest is lost if
//!     number(newest) − number(segment) ≥ kPacketThreshold = 3                        §6.1.1
//!  or now ≥ its send time + max((1 + x)·max(SRTT, latest_rtt), 1 ms), x = 1/8        §6.1.2
//! a timer examines the others again when the time threshold next declares one lost
//! a loss reduces the window if the segment was sent after the last reduction          §7.3.2
//! ```
//! [`number`](crate::scoreboard::SentSegment::number) counts transmissions, so the rules apply to retransmissions too.
//!
//! With adaptive thresholds, a segment that was judged lost and arrived late raises the thresholds that would judge it
//! lost again (RFC 9002 §6.1.1 and §6.1.2 permit this):
//!
//! ```text
//! if at least three transmissions overtook it, the packet threshold no longer applies
//! x = min(1, max(x, delay / max(SRTT, latest_rtt) − 1 + 1/16))
//! both thresholds fall back after 16 recoveries without a late segment
//! ```
//! Chromium and mvfst raise the packet threshold to the number of transmissions that overtook the late segment. That
//! number grows with the window, so the raised threshold is too low again one round trip later. RACK, quicly and
//! Cloudflare's quiche also use time alone once they have seen reordering. The bound of two round-trip times is theirs.
//! The 16 recoveries are those of RFC 8985 §6.2 step 4.
//!
//! Deviations:
//!
//! - TCP does not say which transmission of a segment arrived. If a retransmission is acknowledged sooner than
//!   the minimum RTT, the ACK counts for the original (RFC 8985 §6.2 step 2).
//! - A segment judged lost by both thresholds at once counts as judged by the packet threshold.

use crate::ack::AckSummary;
use recoup_units::Instant;

/// The least loss delay, kGranularity, in ns (RFC 9002 §6.1.2).
//= RFC 9002 §6.1.2 SHOULD: "The RECOMMENDED value of the timer granularity (kGranularity) is 1 millisecond."
const GRANULARITY: u64 = 1_000_000;

/// SRTT before the first sample: kInitialRtt, in ns (RFC 9002 §6.2.2).
//= RFC 9002 §6.2.2 SHOULD: "When no previous RTT is available, the initial RTT SHOULD be set to 333 milliseconds."
pub(crate) const INITIAL_RTT: u64 = 333_000_000;

/// x of the time threshold and its bound, in 1/256.
//= RFC 9002 §6.1.2 SHOULD: "The RECOMMENDED time threshold (kTimeThreshold), expressed as an RTT multiplier, is 9/8."
const LEAST_EXTRA: u16 = 256 / 8;
const MOST_EXTRA: u16 = 256;

/// The margin added to a measured delay, in 1/256 of the RTT, because timers fire late.
const MARGIN: u64 = 256 / 16;

/// How many recoveries the raised thresholds last (RFC 8985 §6.2 step 4).
pub(crate) const PERSIST: u8 = 16;

/// The state of the detector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PacketTime {
    /// When the first RTT sample was taken, once `sampled`.
    first_sample: Instant,
    /// The last RTT sample in ns.
    latest_rtt: u64,
    /// The number of the newest transmission delivered, once `delivered`.
    newest: u32,
    /// The newest transmission delivered before the last ACK.
    previous: u32,
    /// The first transmission after the last reduction of the window.
    start: u32,
    /// The first transmission after the reduction before that.
    prior_start: u32,
    /// x, in 1/256.
    extra: u16,
    /// Recoveries until raised thresholds fall back.
    persist: u8,
    /// Whether anything was delivered, and whether an RTT was measured.
    delivered: bool,
    sampled: bool,
    /// Whether the last ACK gave a sample.
    fresh: bool,
    /// Whether the profile uses the detector or its RTT samples.
    on: bool,
}

impl PacketTime {
    /// The detector of a new connection. `on`: whether it is used.
    pub fn new(on: bool) -> Self {
        Self {
            on,
            fresh: false,
            first_sample: Instant::ZERO,
            latest_rtt: 0,
            newest: 0,
            previous: 0,
            start: 0,
            prior_start: 0,
            extra: LEAST_EXTRA,
            persist: 0,
            delivered: false,
            sampled: false,
        }
    }
}

/// Whether transmission `number` is `other` or a later one. Numbers wrap.
fn is_at_or_after(number: u32, other: u32) -> bool {
    number.wrapping_sub(other) as i32 >= 0
}

impl PacketTime {
    /// Whether the profile uses the detector or its RTT samples.
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// Processes what an ACK delivered. A newer transmission than any before gives an RTT sample if its segment
    /// was sent once (§5.1).
    pub fn on_ack(&mut self, now: Instant, summary: &AckSummary) {
        self.fresh = false;
        self.previous = self.newest;
        //= RFC 9002 §5.1 MUST NOT: "An RTT sample MUST NOT be generated on receiving an ACK frame that does not newly
        //=   acknowledge at least one ack-eliciting packet."
        let Some(newest) = summary.newest_delivered else {
            return;
        };
        let number = summary.newest_number;
        let advances = !self.delivered || (number != self.newest && is_at_or_after(number, self.newest));
        if advances {
            self.newest = number;
            self.delivered = true;
            // Numbers are compared within half their range.
            const FAR: u32 = 1 << 30;
            if number.wrapping_sub(self.start) > FAR && is_at_or_after(number, self.start) {
                self.start = number.wrapping_sub(FAR);
                self.prior_start = self.start;
            }
        }
        //= RFC 9002 §5.1 step: "An endpoint generates an RTT sample on receiving an ACK frame that meets the following
        //=   two conditions:"
        //= RFC 9002 §5.1 SHOULD NOT: "an ACK frame SHOULD NOT be used to update RTT estimates if it does not newly
        //=   acknowledge the largest acknowledged packet"
        if advances && summary.newest_is_original {
            //= RFC 9002 §5.1 step: "latest_rtt = ack_time - send_time_of_largest_acked"
            self.on_sample(now, now.nanos_since(newest.at));
        }
    }

    fn on_sample(&mut self, now: Instant, rtt: u64) {
        self.latest_rtt = rtt;
        self.fresh = true;
        if !self.sampled {
            self.sampled = true;
            self.first_sample = now;
        }
    }

    /// The RTT sample of the last ACK, in ns.
    pub fn sample(&self) -> Option<u64> {
        self.fresh.then_some(self.latest_rtt)
    }

    /// The number of the newest transmission delivered.
    pub fn newest(&self) -> Option<u32> {
        self.delivered.then_some(self.newest)
    }

    /// The number of the newest transmission delivered before the last ACK.
    pub fn previous(&self) -> u32 {
        self.previous
    }

    /// The larger of SRTT and the last sample, in ns.
    pub fn round_trip(&self, srtt: Option<u64>) -> u64 {
        srtt.unwrap_or(INITIAL_RTT).max(self.latest_rtt)
    }

    /// The time after its transmission at which a segment is lost, in ns (§6.1.2).
    //= RFC 9002 §6.1.2 step: "The time threshold is: max(kTimeThreshold * max(smoothed_rtt, latest_rtt), kGranularity)"
    pub fn loss_delay(&self, srtt: Option<u64>) -> u64 {
        let rtt = self.round_trip(srtt);
        let extra = (u128::from(rtt) * u128::from(self.extra)) >> 8;
        let extra = u64::try_from(extra).unwrap_or(u64::MAX);
        //= RFC 9002 §6.1.2 MUST: "To avoid declaring packets as lost too early, this time threshold MUST be set to at
        //=   least the local timer granularity, as indicated by the kGranularity constant."
        rtt.saturating_add(extra).max(GRANULARITY)
    }

    /// Whether an RTT sample existed at `at` (§7.6.2).
    //= RFC 9002 §7.6.2 step: "a prior RTT sample existed when these two packets were sent"
    //= RFC 9002 §7.6.2 SHOULD NOT: "The persistent congestion period SHOULD NOT start until there is at least one RTT
    //=   sample."
    pub fn had_sample(&self, at: Instant) -> bool {
        self.sampled && at >= self.first_sample
    }

    /// The window is reduced; the next transmission has number `next`.
    pub fn on_reduction(&mut self, next: u32) {
        self.prior_start = self.start;
        self.start = next;
    }

    /// The last reduction was undone: losses of segments sent before it count again.
    pub fn on_undone(&mut self) {
        self.start = self.prior_start;
    }

    /// Whether transmission `number` was sent after the reduction before the last one.
    pub fn is_of_last_reduction(&self, number: u32) -> bool {
        is_at_or_after(number, self.prior_start)
    }

    /// Whether transmission `number` was sent after the last reduction of the window.
    pub fn is_after_reduction(&self, number: u32) -> bool {
        is_at_or_after(number, self.start)
    }

    /// A segment judged lost arrived after `delay` ns, while the RTT is `rtt` ns.
    //= RFC 9002 §6.1.2 MAY: "Implementations MAY experiment with absolute thresholds, thresholds from previous
    //=   connections, adaptive thresholds, or the including of RTT variation."
    pub fn on_late(&mut self, delay: u64, rtt: u64) {
        self.persist = PERSIST;
        let ratio = (u128::from(delay) << 8) / u128::from(rtt.max(1)) + u128::from(MARGIN);
        let needed = ratio.saturating_sub(256).min(u128::from(MOST_EXTRA));
        self.extra = self.extra.max(needed as u16);
    }

    /// A recovery ended without a proof that it was unnecessary. Returns whether raised thresholds fall back.
    pub fn on_recovered(&mut self) -> bool {
        if self.persist == 0 {
            return false;
        }
        self.persist -= 1;
        if self.persist == 0 {
            self.extra = LEAST_EXTRA;
        }
        self.persist == 0
    }
}

#[cfg(test)]
mod tests;
