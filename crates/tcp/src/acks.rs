//! Delayed acknowledgments: when a receiver sends an ACK.
//!
//! Source: RFC 5681 §4.2 (every second full-size segment, within 500 ms, at once for out-of-order,
//! duplicate and hole-filling segments); Linux's quick ACKs.

use recoup_units::Instant;
use std::time::Duration;

/// A receiver's acknowledgment policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckPolicy {
    /// One ACK per segment.
    Quick,
    /// One ACK per two full-size segments, or after this delay.
    //= RFC 5681 §4.2 SHOULD: "The delayed ACK algorithm specified in [RFC1122] SHOULD be used by a TCP receiver."
    Delayed(Duration),
    /// Linux: the first `quick` ACKs are sent at once, later ones are delayed by 40 ms. Out-of-order and
    /// duplicate arrivals restore the budget of quick ACKs.
    Linux {
        /// The budget of ACKs sent at once (Linux: at most 16).
        quick: u32,
    },
}

impl AckPolicy {
    /// How long Linux waits for a second segment (TCP_ATO_MIN).
    //= RFC 5681 §4.2 MUST NOT: "When using delayed ACKs, a TCP receiver MUST NOT excessively delay acknowledgments."
    pub const LINUX_DELAY: Duration = Duration::from_millis(40);
    /// Linux's budget of quick ACKs (TCP_MAX_QUICKACKS).
    pub const LINUX_QUICK: u32 = 16;
}

/// Why an ACK is required.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Urgency {
    /// In-order data.
    InOrder {
        /// The number of full-size segments; more than one if offloads merged them.
        full: u32,
    },
    /// An event to acknowledge at once.
    AtOnce,
    /// A possible blind attack, which requires a challenge ACK (RFC 5961).
    Challenge,
}

/// The state of a policy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckSchedule {
    policy: AckPolicy,
    /// Linux's budget. It starts with the first data, so the handshake uses none of it.
    quick_left: Option<u32>,
    full_segments: u32,
    due: bool,
    challenge_due: bool,
    deadline: Option<Instant>,
}

impl AckSchedule {
    pub fn new(policy: AckPolicy) -> Self {
        Self { policy, quick_left: None, full_segments: 0, due: false, challenge_due: false, deadline: None }
    }

    /// A segment arrived that requires an ACK.
    pub fn on_segment(&mut self, now: Instant, urgency: Urgency) {
        let Urgency::InOrder { full } = urgency else {
            if let (AckPolicy::Linux { quick }, Some(left)) = (self.policy, &mut self.quick_left) {
                *left = (*left).max(quick);
            }
            match urgency {
                Urgency::Challenge => self.challenge_due = true,
                _ => self.due = true,
            }
            return;
        };
        self.full_segments = self.full_segments.saturating_add(full);
        let delay = match self.policy {
            AckPolicy::Quick => None,
            AckPolicy::Linux { quick } => {
                let left = *self.quick_left.get_or_insert(quick);
                (left == 0).then_some(AckPolicy::LINUX_DELAY)
            }
            AckPolicy::Delayed(delay) => Some(delay),
        };
        match delay {
            //= RFC 5681 §4.2 MUST: "an ACK SHOULD be generated for at least every second full-sized segment, and MUST
            //=   be generated within 500 ms of the arrival of the first unacknowledged packet"
            Some(delay) if self.full_segments < 2 => {
                //= RFC 5681 §4.2 MUST NOT: "Finally, we repeat that an ACK MUST NOT be delayed for more than 500 ms
                //=   waiting on a second full-sized segment to arrive."
                //= deviation: a scenario may set a longer delay
                self.deadline.get_or_insert(now + delay);
            }
            _ => self.due = true,
        }
    }

    /// A segment with an ACK was sent.
    //= RFC 5681 §4.2 MUST NOT: "A TCP receiver MUST NOT generate more than one ACK for every incoming segment, other
    //=   than to update the offered window as the receiving application consumes new data"
    pub fn on_ack_sent(&mut self) {
        let owed = self.is_due() || self.deadline.is_some();
        if let Some(left) = &mut self.quick_left {
            *left = left.saturating_sub(u32::from(owed));
        }
        self.full_segments = 0;
        self.due = false;
        self.challenge_due = false;
        self.deadline = None;
    }

    /// How long an ACK may be delayed.
    pub fn delay(&self) -> Duration {
        match self.policy {
            AckPolicy::Quick => Duration::ZERO,
            AckPolicy::Linux { .. } => AckPolicy::LINUX_DELAY,
            AckPolicy::Delayed(delay) => delay,
        }
    }

    /// The delay timer expired.
    pub fn on_timer(&mut self) {
        self.deadline = None;
        self.due = true;
    }

    /// Whether an ACK must be sent now, challenge ACKs included.
    pub fn is_due(&self) -> bool {
        self.due || self.challenge_due
    }

    /// Whether a challenge ACK is the only ACK that must be sent now.
    pub fn only_challenge_is_due(&self) -> bool {
        self.challenge_due && !self.due
    }

    /// Drops the challenge ACK.
    pub fn withhold_challenge(&mut self) {
        self.challenge_due = false;
    }

    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }
}

#[cfg(test)]
mod tests;
