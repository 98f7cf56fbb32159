//! Congestion that routers signal by marks instead of losses.

use serde::{Deserialize, Serialize};

recoup_units::named! {
    /// How the ends of a connection report marks to each other.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum EcnMode {
        /// Until the sender confirms it, each ACK says that there was a mark (RFC 3168 §6.1).
        Classic = "classic",
        /// ACKs count the marked packets (RFC 9768).
        Accurate = "accurate",
    }
}

/// What a capture shows of the marks on one direction's packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EcnCounts {
    /// Its packets that are ECN-capable, marked or not.
    pub capable: u64,
    /// Its packets that carry a mark (congestion experienced). Captured at the sender, none do.
    pub marked: u64,
    /// Marks that the receiver reported. With classic ECN: how often it began to report one.
    pub reported: u64,
    /// How often the sender confirmed that it reduced its window for a mark; 0 with accurate ECN, which has no such
    /// confirmation.
    pub reductions: u64,
}

impl EcnCounts {
    /// Takes away an earlier state of the same counts.
    pub(super) fn subtract(&mut self, earlier: &Self) {
        self.capable = self.capable.saturating_sub(earlier.capable);
        self.marked = self.marked.saturating_sub(earlier.marked);
        self.reported = self.reported.saturating_sub(earlier.reported);
        self.reductions = self.reductions.saturating_sub(earlier.reductions);
    }

    /// Adds the counts of another direction.
    pub fn merge(&mut self, other: &Self) {
        self.capable += other.capable;
        self.marked += other.marked;
        self.reported += other.reported;
        self.reductions += other.reductions;
    }
}
