//! Loss detection by counting, and dupthresh, the number it counts to.
//!
//! ```text
//! duplicates:  dupthresh duplicate ACKs: the first segment is lost                RFC 5681 §3.2
//! SACKed:      a segment is lost when dupthresh segments above it are SACKed
//! IsLost:      … when dupthresh runs above it are, or more than (dupthresh − 1)·MSS bytes
//!                                                                               RFC 6675 §4
//! FACK:        enter when snd.fack − snd_una > dupthresh segments; then every segment not SACKed that
//!              lies dupthresh or more segments below the highest SACK is lost; on a duplicate ACK,
//!              at least the first segment is; a retransmission is lost when new data sent after it
//!              is SACKed
//! ```
//! Further sources: Mathis and Mahdavi, "Forward acknowledgment" (FACK); Linux `tcp_time_to_recover`,
//! `tcp_update_scoreboard`, `tcp_check_sack_reordering`.
//!
//! Reordering by more than dupthresh raises dupthresh to the distance, up to a maximum, and disables FACK
//! for the rest of the connection (Linux). Deviation: every profile lowers dupthresh again only on a timeout
//! with dupthresh segments SACKed (Linux 2.6: on any timeout).

use super::RackVersion;
use crate::scoreboard::{Above, Scoreboard};
use recoup_units::Segments;

/// The usual dupthresh.
//= RFC 5681 §3.2 step: "The fast retransmit algorithm uses the arrival of 3 duplicate ACKs (as defined in section 2,
//=   without any intervening ACKs which move SND.UNA) as an indication that a segment has been lost."
//= RFC 6675 §2 step: "Per [RFC5681], this threshold is defined to be 3 duplicate acknowledgments."
pub const DUPTHRESH: Segments = Segments(3);

/// The limit to which reordering raises dupthresh in Linux before 4.0 (TCP_MAX_REORDERING).
pub const MAX_DUPTHRESH: Segments = Segments(127);

/// The rule by which a segment is lost.
//= RFC 5681 §4.3 SHOULD: "We RECOMMEND that TCP implementors employ some form of advanced loss recovery that can cope
//=   with multiple losses in a window of data."
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum LossRule {
    /// Its distance to the highest SACK.
    Fack,
    /// The segments SACKed above it.
    Sacked,
    /// RFC 6675's IsLost.
    IsLost,
    /// RACK: by time (RFC 8985 §6).
    Rack(RackVersion),
    /// RFC 9002's packet threshold and time threshold (§6.1).
    PacketTime,
}

/// The parameters of loss detection by counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Rules {
    /// The rule by which a segment is lost.
    pub rule: LossRule,
    /// The initial dupthresh.
    pub dupthresh: Segments,
    /// The limit to which reordering raises dupthresh; at most `dupthresh` if dupthresh is fixed.
    pub max_dupthresh: Segments,
}

/// A detector's verdict on the scoreboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossVerdict {
    /// Whether the evidence suffices to enter recovery.
    pub recover: bool,
    /// The lost segments.
    pub lost: Lost,
}

/// The segments to mark lost. SACKed segments are never marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The first n segments.
    First(Segments),
    /// Segments with at least this many segments SACKed above them.
    BelowSegments(u32),
    /// Segments with at least this many runs, or more than this many bytes, SACKed above them.
    BelowStretches(u32, u64),
    /// RACK or RFC 9002's thresholds decide, in the order of transmission.
    ByTime,
}

impl Lost {
    /// Whether the SACKed data above a segment makes it lost.
    fn enough(self, above: Above) -> bool {
        match self {
            Self::BelowSegments(segments) => above.segments >= segments,
            //= RFC 6675 §4 IsLost step: "The routine returns true when either DupThresh discontiguous SACKed sequences
            //=   have arrived above 'SeqNum' or more than (DupThresh - 1) * SMSS bytes with sequence numbers greater
            //=   than 'SeqNum' have been SACKed."
            Self::BelowStretches(runs, bytes) => above.runs >= runs || above.bytes > bytes,
            Self::First(_) | Self::ByTime => false,
        }
    }

    /// Marks the lost segments on `board`, and calls `each` with every newly marked span.
    pub fn mark(self, board: &mut Scoreboard, each: impl FnMut(recoup_units::Span)) {
        match self {
            Self::First(count) => board.mark_first(count, each),
            Self::ByTime => {}
            _ => board.mark_below(|above| self.enough(above), each),
        }
    }
}

/// The counting detector, with the reordering it has detected on the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Threshold {
    rule: LossRule,
    fack: bool,
    dupthresh: Segments,
    /// The initial dupthresh, and the limit to which reordering raises it.
    initial: Segments,
    most: Segments,
    /// Stays at 2³² − 1 once it is there.
    reorderings: u32,
}

impl Threshold {
    /// A detector for a new path.
    pub fn new(rules: Rules) -> Self {
        Self {
            rule: rules.rule,
            fack: rules.rule == LossRule::Fack,
            dupthresh: rules.dupthresh,
            initial: rules.dupthresh,
            most: rules.max_dupthresh,
            reorderings: 0,
        }
    }

    /// The loss rule.
    pub(crate) fn rule(&self) -> LossRule {
        self.rule
    }

    /// The current dupthresh: the reordering tolerated, in segments.
    pub fn dupthresh(&self) -> Segments {
        self.dupthresh
    }

    /// Whether dupthresh is above its initial value.
    pub fn is_raised(&self) -> bool {
        self.dupthresh > self.initial
    }

    /// Whether FACK applies: the distance to the highest SACK reveals losses, and SACKs for data sent later
    /// reveal lost retransmissions.
    pub fn uses_fack(&self) -> bool {
        self.fack
    }

    /// How often reordering was detected on this path.
    pub fn reorderings(&self) -> u64 {
        self.reorderings.into()
    }

    /// Whether reordering was detected on this path.
    pub fn reordering_seen(&self) -> bool {
        self.reorderings > 0
    }

    /// A segment arrived `distance` segments late. A distance that dupthresh tolerates changes nothing.
    pub fn on_reordering(&mut self, distance: Segments) {
        self.reorderings = self.reorderings.saturating_add(1);
        if distance > self.dupthresh && self.most > self.initial {
            self.fack = false;
            self.dupthresh = distance.min(self.most);
        }
    }

    /// Lowers dupthresh to its initial value.
    pub fn restore(&mut self) {
        self.dupthresh = self.initial;
    }

    /// A timeout. If much was SACKed, dupthresh was raised too far and is lowered (Linux `tcp_enter_loss`).
    pub fn on_timeout(&mut self, sacked: Segments) {
        if sacked >= self.initial {
            self.dupthresh = self.dupthresh.min(self.initial);
        }
    }

    /// The verdict on the scoreboard. `duplicates`: duplicate ACKs since `snd_una` last moved. `mss` is in
    /// bytes.
    pub fn verdict(&self, board: &Scoreboard, duplicates: u32, mss: u32) -> LossVerdict {
        let dupthresh = self.dupthresh;
        let (lost, recover) = match self.rule {
            _ if board.sacked() == Segments::ZERO => (Lost::ByTime, false),
            //= RFC 8985 §6.2 step 4 step: "Otherwise, if some reordering has been observed, then RACK does not trigger
            //=   fast recovery based on DupThresh."
            LossRule::Rack(_) | LossRule::PacketTime => (Lost::ByTime, false),
            LossRule::Fack if self.fack => {
                let lost = board.fack().saturating_sub(dupthresh);
                (Lost::First(lost), lost > Segments::ZERO)
            }
            LossRule::Fack | LossRule::Sacked => (Lost::BelowSegments(dupthresh.0), board.sacked() >= dupthresh),
            LossRule::IsLost => {
                let bytes = u64::from(dupthresh.0.saturating_sub(1)) * u64::from(mss);
                let lost = Lost::BelowStretches(dupthresh.0, bytes);
                let head = board.first().is_some_and(|first| !first.lost);
                //= RFC 6675 §5 (1) step: "If DupAcks >= DupThresh, go to step (4)."
                //= RFC 6675 §5 (2) step: "If DupAcks < DupThresh but IsLost (HighACK + 1) returns true"
                let recover = head && lost.enough(board.above()) || duplicates >= dupthresh.0;
                (lost, recover)
            }
        };
        LossVerdict { recover, lost }
    }
}

#[cfg(test)]
mod tests;
