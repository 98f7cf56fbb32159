//! Copies of segments that another program sent beside the sender's TCP.

use super::{DirectionState, offset_near};
use crate::read::CapturedPacket;
use recoup_units::Span;

impl DirectionState {
    /// Another program sent a copy of an outstanding segment. TCP knows nothing of it, so it is no retransmission. But an ACK
    /// may answer the copy: as after a retransmission, it gives no round-trip time (RFC 6298 §3, Karn's algorithm).
    #[cold]
    pub fn on_copy(&mut self, packet: &CapturedPacket) {
        let segment = &packet.segment;
        let start = self.isn.and_then(|isn| offset_near(segment.seq, isn, self.nxt));
        if let Some(start) = start {
            self.mark_copied(Span::at(start, segment.sequence_len().into()));
        }
    }
}
