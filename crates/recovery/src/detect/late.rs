//! Segments that were judged lost, but may only be late.
//!
//! ```text
//! a segment judged lost was late, not lost, if it is delivered and
//!     it was not retransmitted, or retransmitted less than the minimum RTT ago          RFC 8985 §6.2 step 2
//!  or the ACK that acknowledges it echoes a timestamp from before its retransmission    RFC 3522 §3.2
//!  or a DSACK reports it afterwards: both transmissions arrived                         RFC 3708 §2
//! its delay = time of the first ACK that covers it − time of its first transmission
//! ```
//! The sender undoes a reduction once every segment that was judged lost in its episode is known to have been late.
//! Linux undoes it after one late segment, although others may be lost (`tcp_try_undo_partial`).
//!
//! A late segment also makes the detector wait longer ([`PacketTime`](super::PacketTime), [`Rack`](super::Rack)).
//! Numbered packets need no rules to tell late from lost: the ACK of a packet judged lost is the proof.
//!
//! Deviations:
//!
//! - The delay is exact only if the original caused the first ACK. If both transmissions arrive and the retransmission
//!   arrives first, the delay is a lower bound.
//! - The sender remembers at most 64 segments, for three probe timeouts after their transmission.

use crate::scoreboard::{Scoreboard, SentSegment};
use alloc::boxed::Box;
use alloc::vec::Vec;
use recoup_units::{Instant, Offset, Span};

/// The largest number of segments remembered.
const MOST: usize = 64;

/// A segment that was judged lost after its first transmission.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Suspect {
    end: Offset,
    sent: Instant,
    number: u32,
    /// The RTT to compare its delay with, in ns.
    rtt: u64,
    resent: Option<Instant>,
    delivered: Option<Late>,
    /// Whether it is known to have been late.
    proven: bool,
}

/// How late a segment was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Late {
    /// The time from its transmission to its ACK, in ns.
    pub delay: u64,
    /// The RTT to compare the delay with, in ns.
    pub rtt: u64,
    /// The number of the newest transmission delivered before it, less its own number.
    pub overtaken: u32,
}

/// The contents of an ACK that matter for suspects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence {
    pub now: Instant,
    /// The number of the newest transmission delivered before this ACK.
    pub newest_before: u32,
    /// The minimum RTT in ns.
    pub min_rtt: u64,
    /// The segment whose timestamp the ACK echoes was sent before this.
    pub echo_sent_before: Option<Instant>,
    pub dsack: Option<Span>,
    /// How long suspects are remembered, in ns.
    pub keep: u64,
}

/// The segments judged lost lately. It takes no memory before the first one, because most senders have none.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Suspects(Option<Box<Remembered>>);

impl Suspects {
    pub fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|known| known.all.is_empty())
    }

    /// Their heap memory, in bytes.
    pub fn memory(&self) -> usize {
        let known = self.0.as_deref();
        known.map_or(0, |known| size_of_val(known) + known.all.capacity() * size_of::<Suspect>())
    }

    /// See [`Remembered::add`].
    pub fn add(&mut self, segment: &SentSegment, rtt: u64) {
        self.0.get_or_insert_default().add(segment, rtt);
    }

    /// See [`Remembered::on_resent`].
    pub fn on_resent(&mut self, now: Instant, span: Span) {
        if let Some(known) = &mut self.0 {
            known.on_resent(now, span);
        }
    }

    /// See [`Remembered::forget_waiting`].
    pub fn forget_waiting(&mut self) {
        if let Some(known) = &mut self.0 {
            known.forget_waiting();
        }
    }

    /// See [`Remembered::on_given_up`].
    pub fn on_given_up(&mut self, span: Span) {
        if let Some(known) = &mut self.0 {
            known.on_given_up(span);
        }
    }

    /// See [`Remembered::are_proven`].
    pub fn are_proven(&self, is_meant: impl Fn(u32) -> bool) -> bool {
        (self.0.as_ref()).is_some_and(|known| known.are_proven(is_meant))
    }

    /// See [`Remembered::on_ack`].
    pub fn on_ack(&mut self, board: &Scoreboard, by: &Evidence, each: impl FnMut(Late)) {
        if let Some(known) = &mut self.0 {
            known.on_ack(board, by, each);
        }
    }
}

#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Remembered {
    all: Vec<Suspect>,
    /// The number of the last suspect that was forgotten without a proof.
    forgotten: Option<u32>,
}

impl Remembered {
    /// `segment` is judged lost while the RTT is `rtt` ns. Only the first transmission of a segment counts.
    fn add(&mut self, segment: &SentSegment, rtt: u64) {
        let end = segment.span.end;
        if !segment.is_original() || self.all.iter().any(|suspect| suspect.end == end) {
            return;
        }
        if self.all.len() == MOST {
            let oldest = self.all.remove(0);
            self.note_forgotten(&oldest);
        }
        self.all.push(Suspect {
            end,
            sent: segment.sent_at,
            number: segment.number,
            rtt,
            resent: None,
            delivered: None,
            proven: false,
        });
    }

    /// `span` was retransmitted.
    fn on_resent(&mut self, now: Instant, span: Span) {
        for suspect in &mut self.all {
            if span.start < suspect.end && suspect.end <= span.end {
                suspect.resent.get_or_insert(now);
            }
        }
    }

    /// An undo has withdrawn the verdicts: segments that were not retransmitted are no longer suspects.
    fn forget_waiting(&mut self) {
        self.all.retain(|suspect| suspect.resent.is_some());
    }

    /// The sender gave up `span`, so it will not learn whether `span` arrives.
    fn on_given_up(&mut self, span: Span) {
        if let Some(place) = self.all.iter().position(|suspect| suspect.is_in(span)) {
            let suspect = self.all.remove(place);
            self.note_forgotten(&suspect);
        }
    }

    fn note_forgotten(&mut self, suspect: &Suspect) {
        if !suspect.proven {
            self.forgotten = Some(suspect.number);
        }
    }

    /// Whether there are suspects among the transmissions for which `is_meant` holds, and all these suspects are known
    /// to have been late.
    fn are_proven(&self, is_meant: impl Fn(u32) -> bool) -> bool {
        let mut meant = self.all.iter().filter(|suspect| is_meant(suspect.number));
        let any = meant.clone().next().is_some();
        any && meant.all(|suspect| suspect.proven) && !self.forgotten.is_some_and(is_meant)
    }

    /// Processes an ACK that `board` already reflects. Calls `each` with every segment that is newly known to have been
    /// late.
    fn on_ack(&mut self, board: &Scoreboard, by: &Evidence, mut each: impl FnMut(Late)) {
        let kept = |suspect: &Suspect| by.now.nanos_since(suspect.sent) <= by.keep;
        if let Some(oldest) = self.all.iter().rfind(|suspect| !kept(suspect)).copied() {
            self.note_forgotten(&oldest);
            self.all.retain(kept);
        }
        for suspect in &mut self.all {
            if suspect.proven {
                continue;
            }
            let proof = match suspect.delivered {
                Some(late) => Some(late).filter(|_| by.dsack.is_some_and(|d| suspect.is_in(d))),
                None => suspect.on_ack(board, by),
            };
            if let Some(late) = proof {
                suspect.proven = true;
                each(late);
            }
        }
    }
}

impl Suspect {
    fn is_in(&self, span: Span) -> bool {
        span.start < self.end && self.end <= span.end
    }

    /// Returns how late the segment was, if the ACK delivers it and proves that it was late.
    fn on_ack(&mut self, board: &Scoreboard, by: &Evidence) -> Option<Late> {
        let acked = self.end <= board.una();
        let last = Offset(self.end.0.saturating_sub(1));
        if !acked && !board.segment_at(last).is_some_and(|segment| segment.sacked) {
            return None;
        }
        let late = Late {
            delay: by.now.nanos_since(self.sent),
            rtt: self.rtt,
            overtaken: by.newest_before.wrapping_sub(self.number),
        };
        self.delivered = Some(late);
        let Some(resent) = self.resent else {
            return Some(late);
        };
        let too_soon = by.now.nanos_since(resent) < by.min_rtt;
        let echoed = acked && by.echo_sent_before.is_some_and(|echo| echo <= resent);
        let reported = by.dsack.is_some_and(|d| self.is_in(d));
        (too_soon || echoed || reported).then_some(late)
    }
}
