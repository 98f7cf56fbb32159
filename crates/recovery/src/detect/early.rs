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
mod tests;
