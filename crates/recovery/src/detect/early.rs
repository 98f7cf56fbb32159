//! Early retransmit: loss detection with fewer than four segments outstanding.
//!
//! ```text
//! when fewer than four segments are outstanding, at least one and not all of them are SACKed, no
//! retransmission is outstanding and no new data can be sent:
//!     naive:                  mark every hole below the highest SACK lost
//!     first mitigation:       … unless reordering was seen
//!     both mitigations:       … after waiting SRTT/4 within bounds, provided the retransmission
//!                             timer expires later than that
//! ```
//! If the retransmission timer would expire first, early retransmit acts at once. A later ACK cancels the
//! wait, which starts again if the conditions still hold.
//!
//! Sources: RFC 5827 §2.1 and §3 (the segment-based form), its mitigations (appendix A); the 2011
//! paper §6 (the four forms; 25 to 500 ms); Linux 3.10 to 4.11 (`tcp_time_to_recover`,
//! `tcp_pause_early_retransmit`: at least 2 ms).
//!
//! Deviations: one SACK suffices, as in Linux; RFC 5827 §3.2 waits until all but one segment are SACKed.
//! Every hole is marked; Linux marks the first and sends the others as forward retransmissions.

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
    Naive,
    /// It acts at once, but not after reordering was detected.
    ReorderAware,
    /// It acts after SRTT/4, but not after reordering was detected.
    Delayed {
        /// The shortest delay.
        min: Duration,
        /// The longest delay.
        max: Duration,
    },
}

impl EarlyRetransmit {
    /// The 2011 paper §6.1: both mitigations, 25 to 500 ms.
    pub const PAPER: Self = Self::Delayed {
        min: Duration::from_millis(25),
        max: Duration::from_millis(500),
    };

    /// Linux 3.10 to 4.11: at least 2 ms.
    pub const LINUX: Self = Self::Delayed {
        min: Duration::from_millis(2),
        max: Duration::MAX,
    };
}

/// The form of early retransmit as a sender keeps it, in 12 bytes.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct EarlyRule {
    on: bool,
    /// Whether it also acts after reordering was detected.
    ignores_reordering: bool,
    /// The bounds of the delay in µs, at most 71 minutes.
    min: u32,
    max: u32,
}

impl From<EarlyRetransmit> for EarlyRule {
    fn from(form: EarlyRetransmit) -> Self {
        let micros = |delay: Duration| u32::try_from(delay.as_micros()).unwrap_or(u32::MAX);
        let (min, max) = match form {
            EarlyRetransmit::Delayed { min, max } => (micros(min), micros(max)),
            EarlyRetransmit::Off | EarlyRetransmit::Naive | EarlyRetransmit::ReorderAware => (0, 0),
        };
        Self {
            on: form != EarlyRetransmit::Off,
            ignores_reordering: form == EarlyRetransmit::Naive,
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
        let applies = self.on
            && board.outstanding() < OUTSTANDING_BELOW
            && board.sacked() > Segments::ZERO
            && board.sacked() < board.outstanding()
            && board.retransmitted() == Segments::ZERO
            && (self.ignores_reordering || !reordering_seen)
            && !can_send_new();
        let bound = |micros: u32| Duration::from_micros(micros.into());
        applies.then(|| {
            srtt.map_or(Duration::ZERO, |srtt| {
                (srtt / 4).max(bound(self.min)).min(bound(self.max))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ack::Ack;
    use recoup_units::{Instant, Offset, Span};

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
            let got = rule.delay(
                &board(n, sacked, resent),
                Some(ms(srtt)),
                reordering,
                || new,
            );
            assert_eq!(
                got,
                delay.map(ms),
                "{n} outstanding, SACKed {sacked:?}, resent {resent:?}"
            );
        }
        let b = board(3, &[3], &[]);
        // The four forms on a path that reorders and on one that does not.
        for (form, calm, reordering) in [
            (EarlyRetransmit::Off, None, None),
            (EarlyRetransmit::Naive, Some(0), Some(0)),
            (EarlyRetransmit::ReorderAware, Some(0), None),
            (EarlyRetransmit::PAPER, Some(25), None),
        ] {
            for (seen, delay) in [(false, calm), (true, reordering)] {
                let got = EarlyRule::from(form).delay(&b, Some(ms(80)), seen, || false);
                assert_eq!(got, delay.map(ms), "{form:?}, reordering {seen}");
            }
        }
        let slow =
            EarlyRule::from(EarlyRetransmit::PAPER).delay(&b, Some(ms(4000)), false, || false);
        assert_eq!(slow, Some(ms(500)));
        assert_eq!(
            EarlyRule::from(EarlyRetransmit::Off).delay(&b, Some(ms(80)), false, || false),
            None
        );
        assert_eq!(rule.delay(&b, None, false, || false), Some(Duration::ZERO));
    }
}
