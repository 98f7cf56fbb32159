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
mod tests;
