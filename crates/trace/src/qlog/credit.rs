//! The credit of flow control (RFC 9000 §4): how far the data of each stream, and of all streams together, may go.
//!
//! A sender that has used it up, and has not ended the stream, waits for more. Stacks that send DATA_BLOCKED frames say so
//! themselves; others do not.

use super::event::Limits;
use std::collections::HashMap;

/// Streams that are followed.
const MOST_STREAMS: usize = 1 << 12;

/// What a peer lets its sender send.
#[derive(Clone, Debug, Default)]
pub(super) struct Credit {
    limits: Limits,
    /// The limit of each stream, once it was raised, and where its data ends.
    streams: HashMap<u64, (Option<u64>, u64)>,
    /// The sum of where the data of all streams ends.
    sent: u64,
}

impl Credit {
    /// The peer's transport parameters.
    pub fn set(&mut self, limits: Limits) {
        let connection = self.limits.connection.max(limits.connection);
        self.limits = Limits { connection, ..limits };
    }

    /// The limit of a stream, or of the connection, is raised.
    pub fn raise(&mut self, stream: Option<u64>, limit: u64) {
        match stream {
            None => self.limits.connection = self.limits.connection.max(Some(limit)),
            Some(stream) if self.streams.len() < MOST_STREAMS || self.streams.contains_key(&stream) => {
                let (raised, _) = self.streams.entry(stream).or_default();
                *raised = (*raised).max(Some(limit));
            }
            Some(_) => {}
        }
    }

    /// Data of a stream that goes on was sent, up to this offset. Returns what is used up: the credit of the stream, of the
    /// connection (`None`), of both or neither.
    pub fn used_up(&mut self, stream: u64, end: u64, is_client: bool) -> [Option<Option<u64>>; 2] {
        if self.streams.len() >= MOST_STREAMS && !self.streams.contains_key(&stream) {
            return [None; 2];
        }
        let initial = self.initial(stream, is_client);
        let (raised, sent) = self.streams.entry(stream).or_default();
        self.sent = self.sent.saturating_add(end.saturating_sub(*sent));
        *sent = end.max(*sent);
        let is_at = |at: u64, limit: Option<u64>| limit.is_some_and(|limit| limit > 0 && at >= limit);
        let of_stream = is_at(*sent, raised.or(initial)).then_some(Some(stream));
        let of_all = is_at(self.sent, self.limits.connection).then_some(None);
        [of_stream, of_all]
    }

    /// The limit that a stream begins with (RFC 9000 §18.2). The lowest bits of its ID say who opened it, and whether it has one
    /// direction (§2.1).
    fn initial(&self, stream: u64, is_client: bool) -> Option<u64> {
        let is_own = (stream & 1 == 0) == is_client;
        match (stream & 2 == 0, is_own) {
            (true, true) => self.limits.opened_by_sender,
            (true, false) => self.limits.opened_by_peer,
            (false, _) => self.limits.one_way,
        }
    }
}
