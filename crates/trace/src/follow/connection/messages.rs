//! What is said of a segment apart from its own packet.

use super::{CapturedPacket, ConnectionState, DirectionContext, Flags, ReplayContext, TimedPacket};

impl ConnectionState {
    /// An ICMP message says that a segment of direction `side` was too large for the path.
    #[cold]
    pub fn on_path_mtu(&mut self, timed: &TimedPacket, side: usize, replay_context: &ReplayContext) {
        let context = DirectionContext { shared: &self.shared, replay_context, side };
        let now = timed.time.max(self.last);
        self.directions[side].on_path_mtu(&timed.packet, now, context);
    }

    /// Another program sent a copy of a segment of direction `side`.
    #[cold]
    pub fn on_copy(&mut self, packet: &CapturedPacket, side: usize) {
        if packet.segment.flags.contains(Flags::SYN) {
            self.handshake.on_copy();
        }
        self.directions[side].on_copy(packet);
    }
}
