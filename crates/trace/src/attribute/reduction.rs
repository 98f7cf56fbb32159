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
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(50);

    /// A recovery of one round trip.
    fn recovery(ms: u64, sent_lately: u32, most_flight: u32) -> Repair {
        let at = Instant::from_millis(ms);
        Repair { at, until: Some(at + RTT), needed: true, sent_lately, most_flight }
    }

    /// Evidence from recoveries that begin at these times in ms, with this many segments sent lately, of a sender
    /// that never had more than 100 in flight: how many others bear on, and how many contradict.
    fn found(recoveries: &[(u64, u32)]) -> [u32; 2] {
        let repairs = recoveries.iter().map(|&(ms, sent)| recovery(ms, sent, 100));
        let found = window_evidence(repairs, RTT);
        [found.recoveries, found.unreduced]
    }

    #[test]
    fn a_window_that_losses_do_not_reduce_contradicts_reduction() {
        // (when recoveries begin and what is sent then, how many others bear on, how many contradict)
        type Case = (&'static [(u64, u32)], [u32; 2]);
        let cases: [Case; 7] = [
            // The window may have been 200, then 140, then 98.
            (&[(0, 100), (100, 100)], [1, 0]),
            (&[(0, 100), (100, 100), (200, 100)], [2, 0]),
            (&[(0, 100), (100, 100), (200, 110)], [2, 1]),
            (&[(0, 100), (100, 100), (200, 100), (300, 100)], [3, 1]),
            // The next contradiction takes as long again.
            (&[(0, 100), (100, 100), (200, 100), (300, 100), (400, 100)], [4, 1]),
            // Between rare losses the window may have grown again.
            (&[(0, 100), (9000, 100), (18_000, 100), (27_000, 100)], [3, 0]),
            // The window falls.
            (&[(0, 100), (100, 70), (200, 49), (300, 34)], [3, 0]),
        ];
        for (recoveries, expected) in cases {
            assert_eq!(found(recoveries), expected, "{recoveries:?}");
        }
    }

    #[test]
    fn what_may_have_been_undone_or_is_one_recovery_is_no_reduction() {
        let all = || (0..8).map(|i| recovery(i * 100, 100, 100));
        let contradictions = |repairs: Vec<Repair>| window_evidence(repairs.into_iter(), RTT).unreduced;
        assert!(contradictions(all().collect()) >= 2);
        let spurious = |repair| Repair { needed: false, ..repair };
        assert_eq!(contradictions(all().map(spurious).collect()), 0);
        let lasting = |repair| Repair { until: Some(Instant::from_millis(10_000)), ..repair };
        assert_eq!(contradictions(all().map(lasting).collect()), 0);
        let endless = |repair| Repair { until: None, ..repair };
        assert_eq!(contradictions(all().map(endless).collect()), 0);
    }

    /// An application that writes little leaves most of a large window unused.
    #[test]
    fn an_unused_window_may_fall_without_a_sign() {
        let repairs = (0..4).map(|i| recovery(i * 100, 20, 100));
        assert_eq!(window_evidence(repairs, RTT).unreduced, 0);
    }
}
