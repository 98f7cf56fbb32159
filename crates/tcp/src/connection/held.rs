//! Data that the application wrote and the endpoint does not know of yet.
//!
//! It waits for one of two reasons: it stands behind the end of a record (`MSG_EOR`) that is not all sent,
//! or it is less than a full segment and more is to join it (`MSG_MORE`, `TCP_CORK`).
//!
//! Source: Linux `tcp_sendmsg_locked`, `tcp_push`, `tcp_skb_can_collapse_to`.

use recoup_units::Instant;
use std::collections::VecDeque;

/// Data of one or several writes that is sent together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WritePart {
    pub bytes: u64,
    /// A write ends with it.
    pub pushed: bool,
    /// Nothing may follow it in the same segment.
    pub ends_record: bool,
    /// More is to come before less than a full segment of it is sent (`MSG_MORE`).
    pub more: bool,
}

/// The data held back.
#[derive(Debug, Default)]
pub(super) struct HeldData {
    parts: VecDeque<WritePart>,
    /// A record ends with the data that was handed to the endpoint last.
    boundary: bool,
    since: Option<Instant>,
}

impl HeldData {
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty() && !self.boundary
    }

    /// Bytes held.
    pub fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.bytes).sum()
    }

    /// Whether anything waits behind the end of a record.
    pub fn has_behind(&self) -> bool {
        self.boundary && !self.parts.is_empty()
    }

    /// Since when something waits for more to join it.
    pub fn since(&self) -> Option<Instant> {
        self.since.filter(|_| !self.parts.is_empty())
    }

    /// Holds `part` behind what is held.
    pub fn keep(&mut self, now: Instant, part: WritePart) {
        self.since = Some(now);
        match self.parts.back_mut().filter(|last| !last.ends_record) {
            Some(last) => {
                last.bytes += part.bytes;
                last.pushed = part.pushed;
                last.ends_record = part.ends_record;
                last.more = part.more;
            }
            None => self.parts.push_back(part),
        }
    }

    /// The peer acknowledged something: `MSG_MORE` does not hold data back any longer.
    pub fn on_ack(&mut self) {
        self.release();
    }

    /// `MSG_MORE` does not hold data back any longer.
    pub fn release(&mut self) {
        for part in &mut self.parts {
            part.more = false;
        }
    }

    /// Takes out what the endpoint may send now. `unsent` bytes go before it, in segments of `mss` bytes.
    pub fn give(&mut self, unsent: u64, mss: u64, corked: bool) -> Option<WritePart> {
        if self.boundary {
            if unsent > 0 {
                return None;
            }
            self.boundary = false;
        }
        let alone = self.parts.len() == 1;
        let part = self.parts.front_mut()?;
        if alone && !part.ends_record && (part.more || corked) {
            // Full segments go whatever follows.
            let full = (unsent + part.bytes) / mss.max(1) * mss.max(1);
            let bytes = full.saturating_sub(unsent).min(part.bytes);
            part.bytes -= bytes;
            let (pushed, given) = (false, bytes > 0);
            let part = WritePart { bytes, pushed, ..*part };
            self.parts.retain(|part| part.bytes > 0);
            return given.then_some(part);
        }
        let part = self.parts.pop_front()?;
        self.boundary = part.ends_record;
        Some(part)
    }

    /// Takes out all bytes held, whatever they wait for.
    pub fn give_all(&mut self) -> Option<u64> {
        let bytes = self.bytes();
        self.parts.clear();
        self.boundary = false;
        (bytes > 0).then_some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(bytes: u64) -> WritePart {
        WritePart { bytes, pushed: true, ends_record: false, more: false }
    }

    #[test]
    fn more_waits_for_full_segments() {
        let mut held = HeldData::default();
        let more = |bytes| WritePart { pushed: false, more: true, ..part(bytes) };
        held.keep(Instant::ZERO, more(400));
        assert_eq!(held.give(0, 1000, false), None);
        held.keep(Instant::ZERO, more(1900));
        assert_eq!(held.give(0, 1000, false).map(|p| p.bytes), Some(2000));
        assert_eq!(held.give(0, 1000, false), None);
        held.on_ack();
        assert_eq!(held.give(0, 1000, false).map(|p| p.bytes), Some(300));
        assert!(held.is_empty());
    }

    #[test]
    fn a_cork_outlasts_acks() {
        let mut held = HeldData::default();
        held.keep(Instant::ZERO, part(10));
        held.on_ack();
        assert_eq!(held.give(0, 1000, true), None);
        assert_eq!(held.give(0, 1000, false), Some(part(10)));
    }

    #[test]
    fn records_go_one_after_another() {
        let mut held = HeldData::default();
        let record = |bytes| WritePart { ends_record: true, ..part(bytes) };
        held.keep(Instant::ZERO, record(400));
        held.keep(Instant::ZERO, record(300));
        held.keep(Instant::ZERO, part(200));
        assert_eq!(held.give(0, 1000, false), Some(record(400)));
        assert!(held.has_behind());
        assert_eq!(held.give(400, 1000, false), None); // not all sent yet
        assert_eq!(held.give(0, 1000, false), Some(record(300)));
        assert_eq!(held.give(0, 1000, false), Some(part(200)));
        assert!(held.is_empty());
    }
}
