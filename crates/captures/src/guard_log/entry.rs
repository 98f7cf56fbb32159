//! The lines of the log. The guard writes them by these types, too.

use recoup_table::Schema;
use recoup_trace::read::SentCopy;
use recoup_units::Instant;
use recoup_wire::{Endpoints, SeqNumber};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// The name and version of the log: its first line.
pub const SCHEMA: Schema = Schema { name: "recoup.guard.log", version: 1 };

recoup_units::named! {
    /// What is copied.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Kind {
        /// A copy of a SYN.
        Syn = "syn",
        /// A copy of a SYN-ACK.
        SynAck = "syn_ack",
        /// A copy of the last segment.
        Tail = "tail",
        /// A probe of the tail.
        Probe = "probe",
    }
}

impl Kind {
    /// In words.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Syn => "copy of the SYN",
            Self::SynAck => "copy of the SYN-ACK",
            Self::Tail => "copy of the last segment",
            Self::Probe => "probe of the tail",
        }
    }
}

recoup_units::named! {
    /// What was done.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Act {
        /// It was sent.
        Sent = "sent",
        /// The connection is one of those that are left alone, to compare with.
        Control = "control",
        /// Nothing is sent in a dry run.
        #[serde(rename = "dry_run")]
        Dry = "dry_run",
    }
}

recoup_units::named! {
    /// What became of it, or would have.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Outcome {
        /// The segment had been lost, and the copy replaced it. Where none was sent: the kernel had to retransmit it later.
        Repaired = "repaired",
        /// The segment arrived by itself.
        Needless = "needless",
        /// The kernel had to retransmit it all the same.
        Failed = "failed",
        /// The connection ended before it could be seen.
        Unknown = "unknown",
    }
}

impl Outcome {
    /// Whether the segment may have been lost, and a copy that was sent have taken its place.
    pub const fn may_have_repaired(self) -> bool {
        matches!(self, Self::Repaired | Self::Unknown)
    }
}

/// A copy, as both of its lines name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LoggedCopy {
    /// Just before it was sent: ns since 1970.
    pub at: u64,
    /// What is copied.
    pub kind: Kind,
    /// What was done.
    pub act: Act,
    /// Its sender.
    pub src: SocketAddr,
    /// Its receiver.
    pub dst: SocketAddr,
    /// The number of its first byte, or of its SYN.
    pub seq: u32,
    /// The numbers that it takes up: bytes, and one for a SYN and for a FIN.
    pub len: u32,
}

impl LoggedCopy {
    /// The copy, if it was sent. What became of it is not known.
    pub fn sent(&self) -> SentCopy {
        SentCopy {
            at: Instant::from_nanos(self.at),
            endpoints: Endpoints { src: self.src, dst: self.dst },
            seq: SeqNumber(self.seq),
            len: self.len,
            is_of_handshake: matches!(self.kind, Kind::Syn | Kind::SynAck),
            may_have_repaired: true,
        }
    }
}

/// A decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    /// The copy.
    #[serde(flatten)]
    pub copy: LoggedCopy,
    /// The length of its frame.
    pub bytes: u64,
}

/// What became of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    /// The copy.
    #[serde(flatten)]
    pub copy: LoggedCopy,
    /// What became of it.
    pub outcome: Outcome,
    /// The time that it saved, or would have saved.
    pub saved_ns: u64,
}

/// A line after the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Entry {
    /// A decision was made.
    Decided(Decided),
    /// What became of one.
    Settled(Settled),
    /// Something that only a later version of the guard says.
    #[serde(other)]
    Other,
}
