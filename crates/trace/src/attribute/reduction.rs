//! Whether a sender may reduce its congestion window at losses, as CUBIC and Reno do, or must be one that does not.
//!
//! A recovery multiplies the window of CUBIC by 0.7 and that of Reno by 0.5. So whatever the window was before, the
//! losses bound it from above, and what the sender sends bounds it from below:
//!
//! ```text
//! at first        cwnd ≤ 2 · the largest flight so far        (Linux tcp_is_cwnd_limited)
//! at a recovery   cwnd ≤ 0.7 · W                              W: the bound before
//! t later         cwnd ≤ max(W + 0.4·(t + RTT − K)³, 0.7·W + t/RTT),   K = ∛(0.3·W/0.4)        (RFC 9438 §4.2)
//! at any time     cwnd ≥ the segments first sent within the shortest RTT: none of them can have left the flight
//! ```
//! A recovery at which the lower bound exceeds the upper one **contradicts** reduction. The application cannot
//! feign it: a window that it does not use does not grow. After a contradiction, the bounds start anew.
//!
//! Of the controls that do not reduce, BBR paces: it sends new data when its own clock says, and not in answer to an
//! ACK. The episode counts that ([`AT_ONCE`]).
//!
//! Deviations: an epoch of recovery is taken to end when everything sent before its first retransmission is
//! acknowledged, which is no earlier than in Linux. Recoveries that begin with a retransmission not proven needed
//! count as no reduction: the sender may have undone it. Both only raise the upper bound.

use crate::hosts::WindowEvidence;
use recoup_units::Instant;
use std::time::Duration;

/// CUBIC's window after a reduction, as a fraction. No other common control that reduces keeps more.
const BETA: f64 = 0.7;

/// CUBIC's constant, in segments/s³.
const C: f64 = 0.4;

/// The window that a sender may have before its first flight is acknowledged, in segments: some servers begin with
/// more than RFC 6928's ten.
const INITIAL_WINDOW: f64 = 32.0;

/// Segments that a sender may send beyond its window: two by limited transmit (RFC 3042), one as a probe.
const BEYOND_WINDOW: f64 = 3.0;

/// New data that an ACK releases follows it within this, unless the sender paces.
pub(super) const AT_ONCE: Duration = Duration::from_micros(250);

/// A retransmission, as it bears on the sender's window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repair {
    pub at: Instant,
    /// When everything sent before it was acknowledged; `None`: never.
    pub until: Option<Instant>,
    /// The bytes it repeats were lost.
    pub needed: bool,
    /// Segments first sent within the shortest round-trip time before.
    pub sent_lately: u32,
    /// The largest flight so far, in segments.
    pub most_flight: u32,
}

/// Evidence about a sender's window from its retransmissions, in order. `rtt`: the shortest round-trip time.
pub(super) fn window_evidence(repairs: impl Iterator<Item = Repair>, rtt: Duration) -> WindowEvidence {
    let rtt = rtt.as_secs_f64();
    let mut found = WindowEvidence::default();
    let mut reduced: Option<Reduced> = None;
    for repair in repairs.filter(|repair| repair.needed) {
        if reduced.is_some_and(|reduced| reduced.is_recovering(repair.at)) {
            continue;
        }
        let at_first = 2.0 * f64::from(repair.most_flight).max(INITIAL_WINDOW);
        let most = reduced.map_or(at_first, |reduced| reduced.most(repair.at, rtt).min(at_first));
        let least = f64::from(repair.sent_lately) - BEYOND_WINDOW;
        let contradicts = least > most;
        if reduced.is_some() {
            found.recoveries += 1;
            found.unreduced += u32::from(contradicts);
        }
        reduced =
            Some(Reduced { at: repair.at, until: repair.until, from: if contradicts { 2.0 * least } else { most } });
    }
    found
}

/// A window at its last reduction, in segments.
#[derive(Clone, Copy, Debug)]
struct Reduced {
    at: Instant,
    /// When that recovery ended; `None`: never.
    until: Option<Instant>,
    /// The most that it was before.
    from: f64,
}

impl Reduced {
    /// Whether the recovery that reduced the window lasts at `at`.
    fn is_recovering(self, at: Instant) -> bool {
        self.until.is_none_or(|until| at <= until)
    }

    /// The most that the window is at `at`. `rtt` in seconds.
    fn most(self, at: Instant, rtt: f64) -> f64 {
        let since = at.since(self.at).as_secs_f64();
        let k = (self.from * (1.0 - BETA) / C).cbrt();
        let cubic = self.from + C * (since + rtt - k).powi(3);
        let reno = self.from * BETA + since / rtt.max(1e-6);
        cubic.max(reno)
    }
}

#[cfg(test)]
mod tests;
