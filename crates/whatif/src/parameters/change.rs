//! Changes by other parameters for one sender.

use crate::detection_cost::Model;

recoup_units::named! {
    /// Kind of change to the detection of a loss.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum ChangeKind {
        /// A needed timeout comes at another time.
        TimeoutMoves = "timeout_moves",
        /// A loss is detected by fast retransmit instead of a timeout.
        TimeoutBecomesFast = "timeout_becomes_fast",
        /// A loss is detected by a timeout instead of fast retransmit.
        FastBecomesTimeout = "fast_becomes_timeout",
        /// A needed fast retransmit waits for another number of duplicate ACKs.
        FastMoves = "fast_moves",
        /// A spurious timeout is avoided.
        SpuriousTimeoutAvoided = "spurious_timeout_avoided",
        /// The timer expires before an ACK that came in time.
        SpuriousTimeoutMade = "spurious_timeout_made",
        /// A spurious fast retransmit is avoided.
        SpuriousFastAvoided = "spurious_fast_avoided",
        /// Reordering makes a fast retransmit that did not happen.
        SpuriousFastMade = "spurious_fast_made",
    }
}

/// One change of one detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DetectionChange {
    /// The frame of the retransmission; where none was captured, of the ACK that came later than the new
    /// detection.
    pub frame: u64,
    /// Kind of the change.
    pub kind: ChangeKind,
    /// Time saved of the connection's duration, in ns, by each of [`Model::ALL`]; negative where the
    /// connection takes longer.
    pub saved: [i64; 2],
}

/// Changes by an instance for a sender: the sums by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    events: [u32; 8],
    saved: [[i64; 8]; 2],
}

impl Change {
    /// How many detections change in this way.
    pub const fn events(&self, kind: ChangeKind) -> u32 {
        self.events[kind as usize]
    }

    /// Time saved by changes of this kind, in ns.
    pub const fn saved_by(&self, kind: ChangeKind, model: Model) -> i64 {
        self.saved[model as usize][kind as usize]
    }

    /// Time saved by all changes, in ns.
    pub fn saved(&self, model: Model) -> i64 {
        let of_kinds = self.saved[model as usize].iter();
        of_kinds.fold(0, |sum, of_kind| sum.saturating_add(*of_kind))
    }

    /// Whether nothing changes.
    pub fn is_none(&self) -> bool {
        self.events == [0; 8]
    }

    pub(super) fn add(&mut self, one: &DetectionChange) {
        let kind = one.kind as usize;
        self.events[kind] += 1;
        for (sums, saved) in self.saved.iter_mut().zip(one.saved) {
            sums[kind] = sums[kind].saturating_add(saved);
        }
    }
}
