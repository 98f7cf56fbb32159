//! Whether each retransmission was needed.
//!
//! - **In**: the packets that repeat bytes, and the receiver's ACKs.
//! - **Out**: a [`Verdict`](crate::finding::Verdict) on each retransmission, and what it rests on.
//!
//! A retransmission is **spurious** if every byte of it was in an earlier-sent copy that arrived,
//! even one that arrived later. Otherwise it was **needed**. So each byte poses one question: which
//! is the first copy, in the order they were sent, that arrived?
//!
//! ```text
//! AckVerdicts       hears the receiver's ACKs: for retransmissions of captured bytes
//! ArrivalVerdicts   sees the copies arrive: at the receiver, and on the path for losses before it
//! ```
//!
//! | module | what it does |
//! | --- | --- |
//! | [`acks`] | gives verdicts from ACKs: right at every capture point that sees all copies |
//! | [`arrivals`] | gives verdicts from the order in which copies arrive |
//! | [`pieces`] | cuts the stream into pieces whose bytes share one history |
//! | [`hypothesis`] | decides each piece: the cheapest account of which copies arrived |
//! | [`evidence`] | computes the cost of each part of an account |
//! | [`challenge_acks`] | finds ACKs by which the receiver refuses a segment |
//! | [`history`] | holds what the receiver's ACKs have said so far |
//! | [`sacked`] | holds what the receiver has selectively acknowledged |
//! | [`pending`] | combines the verdicts on pieces into those on retransmissions |
//!
//! Copies may be segmented differently: a packet of many segments is retransmitted in single ones,
//! small segments as one. Hence the pieces. A retransmission was needed if one of its pieces was.
//!
//! Whether the receiver reports duplicates may not be known yet, so each verdict is given for both
//! cases ([`ConditionalVerdict`]). The DSACKs that came and those that are missing are counted for
//! all connections of a host ([`hosts`](crate::hosts)).
//!
//! Sources: RFC 2883 §4 (DSACK), RFC 7323 §4.3 (which timestamp is echoed), RFC 3522 (Eifel). Where
//! Linux's receiver does more than the RFCs say, see [`hypothesis`].
//!
//! Limits:
//!
//! - A copy that the receiver dropped for want of buffer looks lost. So does one refused for its
//!   age, if the ACK that answers it reports other arrivals as well.
//! - While many holes are open, an ACK that reports nothing new leaves all of them undecided.
//! - A foreign packet of the same millisecond can pass for a copy.

pub(crate) mod acks;
pub(crate) mod arrivals;
mod challenge_acks;
mod evidence;
mod history;
mod hypothesis;
mod pending;
mod pieces;
mod sacked;

use crate::{
    finding::{Evidence, Verdict},
    hosts::ReportsDuplicates,
};
use recoup_units::{Instant, Offset, Span};
use serde::{Deserialize, Serialize};

const AMBIGUOUS: (Verdict, Evidence) = (Verdict::Unknowable, Evidence::Ambiguous);

/// Options of the receiver of a direction's data.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ReceiverOptions {
    /// Both ends use timestamps (RFC 7323 §3.2).
    pub timestamps: bool,
    /// SACK was negotiated, so the receiver may report duplicates (RFC 2883).
    pub reports_duplicates: bool,
}

/// The verdict on a retransmission, by what its receiver does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ConditionalVerdict {
    /// If the receiver reports duplicates.
    pub if_reporting: (Verdict, Evidence),
    /// If it does not.
    pub if_silent: (Verdict, Evidence),
}

impl ConditionalVerdict {
    /// The verdict if the receiver behaves like this.
    pub fn given(&self, reports: ReportsDuplicates) -> (Verdict, Evidence) {
        match reports {
            ReportsDuplicates::Yes => self.if_reporting,
            ReportsDuplicates::No => self.if_silent,
        }
    }
}

impl From<(Verdict, Evidence)> for ConditionalVerdict {
    /// Whatever the receiver does.
    fn from(found: (Verdict, Evidence)) -> Self {
        Self { if_reporting: found, if_silent: found }
    }
}

/// One copy of a segment on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Transmission {
    /// When it was captured.
    pub at: Instant,
    /// Its `TSval`.
    pub ts_value: Option<u32>,
}

/// A segment that was captured and sent once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SentOnce {
    pub span: Span,
    pub copy: Transmission,
}

/// Finds the segment with the byte at an offset, if it was sent once.
pub(crate) type SentSegments<'a> = &'a dyn Fn(Offset) -> Option<SentOnce>;

#[cfg(test)]
mod tests;
