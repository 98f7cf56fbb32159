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

/// The data held back. Most connections never hold any.
#[derive(Debug, Default)]
pub(super) struct HeldData(Option<Box<Held>>);

#[derive(Debug, Default)]
struct Held {
    parts: VecDeque<WritePart>,
    /// A record ends with the data that was handed to the endpoint last.
    boundary: bool,
    since: Option<Instant>,
}

impl HeldData {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|held| held.is_empty())
    }

    /// Frees the memory if nothing is held.
    pub fn free_unused(&mut self) {
        self.0.take_if(|held| held.is_empty());
    }

    /// Bytes held.
    pub fn bytes(&self) -> u64 {
        self.0.as_ref().map_or(0, |held| held.bytes())
    }

    /// Whether anything waits behind the end of a record.
    pub fn has_behind(&self) -> bool {
        self.0.as_ref().is_some_and(|held| held.boundary && !held.parts.is_empty())
    }

    /// Since when something waits for more to join it.
    pub fn since(&self) -> Option<Instant> {
        self.0.as_ref().filter(|held| !held.parts.is_empty())?.since
    }

    /// Holds `part` behind what is held.
    pub fn keep(&mut self, now: Instant, part: WritePart) {
        let held = self.0.get_or_insert_default();
        held.since = Some(now);
        match held.parts.back_mut().filter(|last| !last.ends_record) {
            Some(last) => {
                last.bytes += part.bytes;
                last.pushed = part.pushed;
                last.ends_record = part.ends_record;
                last.more = part.more;
            }
            None => held.parts.push_back(part),
        }
    }

    /// The peer acknowledged something: `MSG_MORE` does not hold data back any longer.
    pub fn on_ack(&mut self) {
        self.release();
    }

    /// `MSG_MORE` does not hold data back any longer.
    pub fn release(&mut self) {
        for part in self.0.iter_mut().flat_map(|held| &mut held.parts) {
            part.more = false;
        }
    }

    /// Takes out what the endpoint may send now. `unsent` bytes go before it, in segments of `mss` bytes.
    pub fn give(&mut self, unsent: u64, mss: u64, corked: bool) -> Option<WritePart> {
        self.0.as_mut()?.give(unsent, mss, corked)
    }

    /// Takes out all bytes held, whatever they wait for.
    pub fn give_all(&mut self) -> Option<u64> {
        let held = self.0.take()?;
        Some(held.bytes()).filter(|bytes| *bytes > 0)
    }
}

impl Held {
    fn is_empty(&self) -> bool {
        self.parts.is_empty() && !self.boundary
    }

    fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.bytes).sum()
    }

    fn give(&mut self, unsent: u64, mss: u64, corked: bool) -> Option<WritePart> {
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
}

#[cfg(test)]
mod tests;
