//! How far the data of one end of a connection has come, by its sequence numbers.

use recoup_wire::{Segment, SeqNumber};

/// No window is larger (RFC 7323 §2.3). Data further ahead has a damaged sequence number, or another connection's.
const LARGEST_WINDOW: u64 = 1 << 30;

/// The bytes that one end sent, and those of them that the other end acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SentBytes {
    isn: Option<SeqNumber>,
    sent: u64,
    acked: u64,
}

/// What a segment with data carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Data {
    /// Data of another connection.
    Foreign,
    /// A keep-alive or a window probe.
    Probe,
    /// Bytes that were sent before.
    Again,
    /// So many bytes for the first time.
    New(u64),
}

impl SentBytes {
    /// The initial sequence number: that of the SYN.
    pub fn open(&mut self, isn: SeqNumber) {
        self.isn = Some(isn);
    }

    /// The initial sequence number, if it is known.
    pub const fn isn(&self) -> Option<SeqNumber> {
        self.isn
    }

    /// Bytes sent, retransmissions not counted.
    pub const fn sent(&self) -> u64 {
        self.sent
    }

    /// Whether the other end acknowledged all of them.
    pub const fn is_acknowledged(&self) -> bool {
        self.acked >= self.sent
    }

    /// The bytes before this sequence number. A number before the first byte is at 0.
    pub fn place_of(&self, seq: SeqNumber) -> u64 {
        let Some(isn) = self.isn else {
            return 0;
        };
        let from = SeqNumber(isn.0.wrapping_add(1).wrapping_add(self.sent as u32));
        let place = i128::from(self.sent) + i128::from(seq.distance_from(from));
        u64::try_from(place).unwrap_or(0)
    }

    /// The other end acknowledged the bytes before this sequence number. Returns how many are acknowledged.
    pub fn acknowledge(&mut self, ack: SeqNumber) -> u64 {
        let acked = self.place_of(ack).min(self.sent);
        self.acked = self.acked.max(acked);
        acked
    }

    /// Takes a segment with data.
    pub fn send(&mut self, segment: &Segment) -> Data {
        let start = self.place_of(segment.seq);
        let end = start + u64::from(segment.payload_len);
        if start.saturating_sub(self.sent) > LARGEST_WINDOW {
            return Data::Foreign;
        }
        if end > self.sent {
            let new = end - self.sent;
            self.sent = end;
            return Data::New(new);
        }
        match segment.payload_len <= 1 && self.is_acknowledged() {
            true => Data::Probe,
            false => Data::Again,
        }
    }
}
