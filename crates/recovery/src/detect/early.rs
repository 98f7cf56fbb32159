//! Early retransmit: loss detection with fewer than four segments outstanding.
//!
//! ```text
//! when fewer than four segments are outstanding, at least ER_thresh and not all of them are SACKed, no
//! retransmission is outstanding and no new data can be sent:
//!     naive:                  mark every hole below the highest SACK lost
//!     first mitigation:       … unless reordering was seen
//!     both mitigations:       … after waiting SRTT/4 within bounds, provided the retransmission
//!                             timer expires later than that
//!
//! ER_thresh = outstanding − 1        RFC 5827 §3.2; the 2011 paper §6: 1 of 2, 2 of 3
//! ER_thresh = 1                      Linux 3.10 to 4.11
//! ```
//! Without SACK, duplicate ACKs count in place of SACKed segments.
//!
//! If the retransmission timer would expire first, early retransmit acts at once. A later ACK cancels the
//! wait, which starts again if the conditions still hold.
//!
//! Sources: RFC 5827 §3.2 (the segment-based form), its mitigations (appendix A); the 2011
//! paper §6 (ER_thresh, the mitigations), §6.1 (the four forms; 25 to 500 ms); Linux `tcp_time_to_recover`, which asks for
//! `packets_out == sacked_out + 1` in 3.5 to 3.9 and for `>=` in 3.10 to 4.11; Linux 3.10
//! `tcp_pause_early_retransmit` (at least 2 ms).
//!
//! Deviation: with ER_thresh = 1, every hole is marked. Linux marks the first one and sends the others as
//! forward retransmissions. With ER_thresh = outstanding − 1 there is one hole.

use crate::scoreboard::Scoreboard;
use core::time::Duration;
use recoup_units::Segments;

/// Early retransmit acts below this many outstanding segments (RFC 5827 §3).
const OUTSTANDING_BELOW: Segments = Segments(4);

/// The form of early retransmit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum EarlyRetransmit {
    /// Early retransmit never acts.
    Off,
    /// It acts at once.
    Naive(EarlyThreshold),
    /// It acts at once, but not after reordering was detected.
    ReorderAware(EarlyThreshold),
    /// It acts after a part of SRTT, but not after reordering was detected.
    Delayed {
        /// The number of SACKed segments that suffices.
        threshold: EarlyThreshold,
        /// The delay is SRTT divided by this; 0 counts as 1.
        srtt_divisor: u8,
        /// The shortest delay.
        min: Duration,
        /// The longest delay.
        max: Duration,
    },
}

/// ER_thresh: how many of the outstanding segments must be SACKed. Without SACK, how many duplicate ACKs must
/// arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum EarlyThreshold {
    /// All but one: one of two, two of three (RFC 5827 §3.2; the 2011 paper §6; Linux 3.5 to 3.9).
    AllButOne,
    /// One (Linux 3.10 to 4.11). The SACK of a tail loss probe, which repeats the last segment, then suffices.
    One,
}

impl EarlyRetransmit {
    /// The 2011 paper's and Linux's delay: SRTT/4.
    pub const SRTT_DIVISOR: u8 = 4;

    /// The 2011 paper §6.1: both mitigations, 25 to 500 ms.
    pub const PAPER: Self = Self::Delayed {
        threshold: EarlyThreshold::AllButOne,
        srtt_divisor: Self::SRTT_DIVISOR,
        min: Duration::from_millis(25),
        max: Duration::from_millis(500),
    };

    /// Linux 3.10 to 4.11: at least 2 ms.
    pub const LINUX: Self = Self::Delayed {
        threshold: EarlyThreshold::One,
        srtt_divisor: Self::SRTT_DIVISOR,
        min: Duration::from_millis(2),
        max: Duration::MAX,
    };

    /// The number of SACKed segments that suffices; `None` if early retransmit is off.
    pub fn threshold(self) -> Option<EarlyThreshold> {
        match self {
            Self::Off => None,
            Self::Naive(threshold) | Self::ReorderAware(threshold) | Self::Delayed { threshold, .. } => Some(threshold),
        }
    }
}

/// The form of early retransmit as a sender keeps it, in 12 bytes.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct EarlyRule {
    /// `None`: it never acts.
    threshold: Option<EarlyThreshold>,
    /// Whether it also acts after reordering was detected.
    ignores_reordering: bool,
    /// The delay is SRTT divided by this; at least 1.
    srtt_divisor: u8,
    /// The bounds of the delay in µs, at most 71 minutes.
    min: u32,
    max: u32,
}

impl From<EarlyRetransmit> for EarlyRule {
    fn from(form: EarlyRetransmit) -> Self {
        let micros = |delay: Duration| u32::try_from(delay.as_micros()).unwrap_or(u32::MAX);
        let (srtt_divisor, min, max) = match form {
            EarlyRetransmit::Delayed { srtt_divisor, min, max, .. } => (srtt_divisor.max(1), micros(min), micros(max)),
            _ => (1, 0, 0),
        };
        Self {
            threshold: form.threshold(),
            ignores_reordering: matches!(form, EarlyRetransmit::Naive(_)),
            srtt_divisor,
            min,
            max,
        }
    }
}

impl EarlyRule {
    /// How long to wait before marking the holes of `board` lost; `None` if early retransmit does not apply.
    pub fn delay(
        &self,
        board: &Scoreboard,
        srtt: Option<Duration>,
        reordering_seen: bool,
        can_send_new: impl FnOnce() -> bool,
    ) -> Option<Duration> {
        let (outstanding, sacked) = (board.outstanding(), board.sacked());
        let enough = match self.threshold? {
            EarlyThreshold::AllButOne => sacked + Segments::ONE >= outstanding,
            EarlyThreshold::One => true,
        };
        let applies = enough
            && outstanding < OUTSTANDING_BELOW
            && sacked > Segments::ZERO
            && sacked < outstanding
            && board.retransmitted() == Segments::ZERO
            && (self.ignores_reordering || !reordering_seen)
            && !can_send_new();
        let bound = |micros: u32| Duration::from_micros(micros.into());
        applies.then(|| {
            srtt.map_or(Duration::ZERO, |srtt| {
                let delay = srtt / u32::from(self.srtt_divisor);
                delay.max(bound(self.min)).min(bound(self.max))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ack::Ack;
    use recoup_units::{Instant, Offset, Span};

    const NAIVE: EarlyRetransmit = EarlyRetransmit::Naive(EarlyThreshold::AllButOne);

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn board(outstanding: u64, sacked: &[u64], resent: &[u64]) -> Scoreboard {
        let mut board = Scoreboard::new(Offset(1));
        for i in 1..=outstanding {
            board.push(Instant::ZERO, Span::at(Offset(i), 1));
        }
        for &i in resent {
            board.resend(Instant::ZERO, Span::at(Offset(i), 1), true);
        }
        let blocks = sacked.iter().map(|&i| Span::at(Offset(i), 1));
        board.on_ack(&Ack::new(Offset(1), 0).with_blocks(blocks), Instant::ZERO);
        board
    }

    #[test]
    fn the_threshold_is_all_but_one_in_the_paper_and_one_in_linux() {
        // (outstanding, SACKed, the paper's form acts, Linux's form acts)
        let cases: [(u64, &[u64], bool, bool); 7] = [
            (2, &[], false, false),
            (2, &[2], true, true),
            (3, &[2], false, true),
            (3, &[3], false, true),
            (3, &[2, 3], true, true),
            (4, &[4], false, false),
            (4, &[2, 3, 4], false, false),
        ];
        for (n, sacked, paper, linux) in cases {
            let b = board(n, sacked, &[]);
            for (threshold, acts) in [(EarlyThreshold::AllButOne, paper), (EarlyThreshold::One, linux)] {
                for form in [EarlyRetransmit::Naive(threshold), EarlyRetransmit::ReorderAware(threshold)] {
                    let got = EarlyRule::from(form).delay(&b, Some(ms(80)), false, || false);
                    let expected = acts.then_some(Duration::ZERO);
                    assert_eq!(got, expected, "{form:?}, {n} outstanding, SACKed {sacked:?}");
                }
            }
        }
    }

    #[test]
    fn the_conditions_decide_the_delay() {
        let rule = EarlyRule::from(EarlyRetransmit::LINUX);
        // (outstanding, SACKed, resent, SRTT ms, reordering seen, can send new, delay ms)
        type Case<'a> = (u64, &'a [u64], &'a [u64], u64, bool, bool, Option<u64>);
        let cases: [Case; 9] = [
            (2, &[2], &[], 80, false, false, Some(20)),
            (3, &[3], &[], 80, false, false, Some(20)),
            (3, &[2, 3], &[], 4, false, false, Some(2)),
            (3, &[], &[], 80, false, false, None),
            (4, &[4], &[], 80, false, false, None),
            (1, &[1], &[], 80, false, false, None),
            (3, &[3], &[1], 80, false, false, None),
            (3, &[3], &[], 80, true, false, None),
            (3, &[3], &[], 80, false, true, None),
        ];
        for (n, sacked, resent, srtt, reordering, new, delay) in cases {
            let got = rule.delay(&board(n, sacked, resent), Some(ms(srtt)), reordering, || new);
            assert_eq!(got, delay.map(ms), "{n} outstanding, SACKed {sacked:?}, resent {resent:?}");
        }
        let b = board(3, &[2, 3], &[]);
        // The four forms on a path that reorders and on one that does not.
        for (form, calm, reordering) in [
            (EarlyRetransmit::Off, None, None),
            (NAIVE, Some(0), Some(0)),
            (EarlyRetransmit::ReorderAware(EarlyThreshold::AllButOne), Some(0), None),
            (EarlyRetransmit::PAPER, Some(25), None),
        ] {
            for (seen, delay) in [(false, calm), (true, reordering)] {
                let got = EarlyRule::from(form).delay(&b, Some(ms(80)), seen, || false);
                assert_eq!(got, delay.map(ms), "{form:?}, reordering {seen}");
            }
        }
        let slow = EarlyRule::from(EarlyRetransmit::PAPER).delay(&b, Some(ms(4000)), false, || false);
        assert_eq!(slow, Some(ms(500)));
        for (srtt_divisor, delay) in [(0, 160), (1, 160), (2, 80), (8, 25)] {
            let form = EarlyRetransmit::Delayed {
                threshold: EarlyThreshold::AllButOne,
                srtt_divisor,
                min: ms(25),
                max: ms(500),
            };
            let got = EarlyRule::from(form).delay(&b, Some(ms(160)), false, || false);
            assert_eq!(got, Some(ms(delay)), "SRTT/{srtt_divisor}");
        }
        assert_eq!(EarlyRule::from(EarlyRetransmit::Off).delay(&b, Some(ms(80)), false, || false), None);
        assert_eq!(rule.delay(&b, None, false, || false), Some(Duration::ZERO));
    }
}
