//! One decision to help, and what became of it.

pub use recoup_captures::guard_log::{Act, Kind, Outcome};
use recoup_units::{Instant, Span};
use serde::Serialize;
use std::time::Duration;

recoup_units::named! {
    /// Why the engine's wish was not followed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
    pub enum Veto {
        /// The guard was late: what it knows is old.
        Late = "late",
        /// The connection's budget is spent.
        Connection = "connection_budget",
        /// The budget of the destination is spent.
        Destination = "destination_budget",
        /// The host's budget is spent.
        Host = "host_budget",
        /// The loss of the path rises.
        LossRises = "loss_rises",
        /// The round-trip time of the path rises.
        RttRises = "rtt_rises",
        /// A repair of this connection has just hidden a loss from the kernel (RFC 9265).
        Hidden = "loss_was_hidden",
        /// The kernel has retransmitted in this flight.
        Kernel = "kernel_acts",
        /// The segment's bytes were not kept.
        Bytes = "bytes_not_kept",
        /// Only handshakes are helped here.
        Handshakes = "handshakes_only",
        /// The system did not send it.
        System = "not_sent",
    }
}

impl Veto {
    /// In words.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Late => "the guard was late",
            Self::Connection => "the connection's budget was spent",
            Self::Destination => "the destination's budget was spent",
            Self::Host => "the host's budget was spent",
            Self::LossRises => "the path's loss rises",
            Self::RttRises => "the path's round-trip time rises",
            Self::Hidden => "a repair has just hidden a loss",
            Self::Kernel => "the kernel retransmits already",
            Self::Bytes => "its bytes were not kept",
            Self::Handshakes => "only handshakes are helped",
            Self::System => "the system did not send it",
        }
    }
}

/// The shortest round trip varies by this part of it at most.
const VARIES: u32 = 10;

/// How long a report of a duplicate is waited for where no round trip is known.
const GRACE: Duration = Duration::from_millis(500);

/// A decision that was made.
#[derive(Clone, Debug)]
pub struct Decision {
    pub at: Instant,
    pub kind: Kind,
    pub span: Span,
    pub act: Act,
    /// How long after its original.
    pub gap: Duration,
    /// The shortest round trip then.
    pub rtt: Option<Duration>,
    /// When the kernel would have retransmitted, by its rules.
    pub kernel_at: Option<Instant>,
    /// When it did.
    pub kernel_again: Option<Instant>,
    /// When the segment was acknowledged.
    pub delivered: Option<Instant>,
    /// The peer has reported a duplicate.
    pub is_reported: bool,
}

impl Decision {
    /// When its outcome is known at the latest.
    pub fn settles_at(&self) -> Option<Instant> {
        self.delivered.map(|at| at + self.rtt.unwrap_or(GRACE))
    }

    /// Whether it repaired a loss that the kernel does not know of, as far as is known.
    pub fn seems_to_hide(&self) -> bool {
        self.act == Act::Sent && self.kernel_again.is_none() && self.outcome().0 == Outcome::Repaired
    }

    /// What became of it, and the time that it saved, or would have saved.
    pub fn outcome(&self) -> (Outcome, Duration) {
        const NOTHING: Duration = Duration::ZERO;
        let Some(delivered) = self.delivered else {
            return match self.kernel_again {
                Some(_) if self.act == Act::Sent => (Outcome::Failed, NOTHING),
                _ => (Outcome::Unknown, NOTHING),
            };
        };
        // What is sent is acknowledged a round trip later at the soonest. The original's acknowledgment is sooner by the gap.
        let allowance = |rtt: Duration| (rtt / VARIES).min(self.gap / 2);
        let before =
            |sent: Instant| self.rtt.is_some_and(|rtt| delivered.since(sent) < rtt.saturating_sub(allowance(rtt)));
        match (self.act, self.kernel_again) {
            _ if self.is_reported => (Outcome::Needless, NOTHING),
            (Act::Sent, _) if before(self.at) => (Outcome::Needless, NOTHING),
            (Act::Sent, Some(again)) => {
                // It was acknowledged before the kernel's can have been.
                if before(again) { (Outcome::Repaired, again.since(self.at)) } else { (Outcome::Failed, NOTHING) }
            }
            (Act::Sent, None) => (Outcome::Repaired, self.kernel_at.map_or(NOTHING, |at| at.since(self.at))),
            (_, Some(again)) => (Outcome::Repaired, again.since(self.at)),
            (_, None) => (Outcome::Needless, NOTHING),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recoup_units::Offset;

    fn decision(act: Act) -> Decision {
        Decision {
            at: Instant::from_millis(1000),
            kind: Kind::Probe,
            span: Span::at(Offset(1), 100),
            act,
            gap: Duration::from_millis(10),
            rtt: Some(Duration::from_millis(80)),
            kernel_at: Some(Instant::from_millis(1200)),
            kernel_again: None,
            delivered: None,
            is_reported: false,
        }
    }

    fn of(act: Act, delivered: Option<u64>, again: Option<u64>, is_reported: bool) -> (Outcome, u64) {
        let at = |time: Option<u64>| time.map(Instant::from_millis);
        let decision = Decision { delivered: at(delivered), kernel_again: at(again), is_reported, ..decision(act) };
        let (outcome, saved) = decision.outcome();
        (outcome, saved.as_millis() as u64)
    }

    #[test]
    fn a_copy_repairs_what_is_acknowledged_when_it_can_have_arrived() {
        assert_eq!(of(Act::Sent, Some(1081), None, false), (Outcome::Repaired, 200));
        assert_eq!(of(Act::Sent, Some(1081), None, true), (Outcome::Needless, 0));
        // The original's acknowledgment: 10 ms sooner.
        assert_eq!(of(Act::Sent, Some(1071), None, false), (Outcome::Needless, 0));
        assert_eq!(of(Act::Sent, Some(1076), None, false), (Outcome::Repaired, 200));
        assert_eq!(of(Act::Sent, None, None, false), (Outcome::Unknown, 0));
    }

    #[test]
    fn the_kernels_own_retransmission_decides_by_its_time() {
        assert_eq!(of(Act::Sent, Some(1300), Some(1200), false), (Outcome::Failed, 0));
        assert_eq!(of(Act::Sent, Some(1085), Some(1080), false), (Outcome::Repaired, 80));
        assert_eq!(of(Act::Sent, None, Some(1200), false), (Outcome::Failed, 0));
    }

    #[test]
    fn where_nothing_was_sent_the_kernel_shows_whether_it_was_needed() {
        assert_eq!(of(Act::Control, Some(1300), Some(1210), false), (Outcome::Repaired, 210));
        assert_eq!(of(Act::Dry, Some(1040), None, false), (Outcome::Needless, 0));
        assert_eq!(of(Act::Dry, Some(1300), Some(1210), true), (Outcome::Needless, 0));
        assert_eq!(of(Act::Dry, None, Some(1210), false), (Outcome::Unknown, 0));
    }
}
