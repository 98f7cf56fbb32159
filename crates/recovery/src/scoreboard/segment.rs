//! A segment that was sent and is outstanding.

use super::order::Links;
use recoup_units::{Instant, Offset, Span};

/// An outstanding segment, in 64 bytes.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SentSegment {
    /// The sequence space it covers.
    pub span: Span,
    /// When it was last sent.
    //= RFC 8985 §4 (2) MUST: "For each data segment sent, the sender MUST store its most recent transmission time with
    //=   a timestamp whose granularity is finer than 1/4 of the minimum RTT of the connection."
    pub sent_at: Instant,
    /// A value that the host chose for it; 0 where not used.
    pub token: u64,
    /// Its bytes.
    pub size: u32,
    /// The number of its last transmission, which counts all transmissions of the connection; it wraps.
    pub(crate) number: u32,
    /// `snd_nxt` after it was last sent, less the end of the segment; [`u32::MAX`] if that is more.
    pub(super) ahead: u32,
    pub(super) links: Links,
    /// Number of transmissions, probes included.
    pub(crate) transmissions: u16,
    /// Whether a SACK block reported it.
    pub(crate) sacked: bool,
    /// Whether a copy of it was sent by selective loss prevention.
    pub(crate) copied: bool,
    /// Whether a detector or a timeout marked it lost.
    pub(crate) lost: bool,
    /// Whether it was retransmitted since it was marked lost, and so counts in the pipe again.
    pub(crate) retransmitted: bool,
    /// Whether an undo removed its lost mark, and RACK does not consider it any more
    /// ([`unmark_lost`](Scoreboard::unmark_lost)).
    pub(crate) forgotten: bool,
    /// Whether it is a part of a segment that was cut after it was sent.
    pub(crate) cut: bool,
    /// Whether it is not to be repeated. If it is SACKed too, it was given up.
    pub(crate) abandoned: bool,
}

impl SentSegment {
    /// Whether the receiver has reported it by SACK.
    pub fn is_sacked(&self) -> bool {
        self.sacked
    }

    /// How often it was sent, probes included.
    pub fn transmissions(&self) -> u16 {
        self.transmissions
    }

    /// `snd_nxt` after it was last sent: data from here on was sent later. If that was 4 GiB or more past the end
    /// of the segment, the largest offset.
    pub(crate) fn nxt_when_sent(&self) -> Offset {
        match self.ahead {
            u32::MAX => Offset(u64::MAX),
            ahead => self.span.end + u64::from(ahead),
        }
    }

    pub(super) fn set_nxt_when_sent(&mut self, nxt: Offset) {
        let ahead = nxt.since(self.span.end);
        self.ahead = u32::try_from(ahead).unwrap_or(u32::MAX);
    }

    /// Its part at `span`, cut from it after it was sent.
    pub(super) fn part(&self, span: Span) -> Self {
        let mut part = Self { span, size: u32::try_from(span.len()).unwrap_or(u32::MAX), cut: true, ..*self };
        part.set_nxt_when_sent(self.nxt_when_sent());
        part
    }

    /// If it is SACKed: at least this many segments from this one on are, so that walks can skip them.
    pub(super) fn run(&self) -> usize {
        (self.links.newer as u32 as usize).max(1)
    }

    pub(super) fn set_run(&mut self, segments: usize) {
        self.links.newer = segments as i32;
    }

    /// Whether it was sent exactly once.
    pub(crate) fn is_original(&self) -> bool {
        self.transmissions == 1
    }

    /// Whether it was sent exactly once and never copied, so that an arrival can only be the original.
    pub(crate) fn is_surely_original(&self) -> bool {
        self.is_original() && !self.copied
    }

    /// Whether it is lost and not yet retransmitted.
    pub fn wants_retransmission(&self) -> bool {
        self.lost && !self.retransmitted && !self.sacked
    }

    /// Whether its last transmission may still arrive.
    pub(super) fn in_flight(&self) -> bool {
        !self.sacked && (!self.lost || self.retransmitted)
    }

    /// Whether it is in the list of segments in flight that RACK walks.
    pub(super) fn is_listed(&self) -> bool {
        self.in_flight() && !self.forgotten
    }
}
