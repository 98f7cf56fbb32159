//! ICMP messages that a segment of a direction was too large for the path.

use super::DirectionState;
use crate::{
    follow::shared::DirectionContext,
    read::{CapturedPacket, Message},
};
use recoup_units::Instant;
use std::net::SocketAddr;

impl DirectionState {
    /// An ICMP message quotes a segment that was too large for the path. It counts if the segment is
    /// outstanding (RFC 5927 §4.1).
    #[cold]
    pub fn on_path_mtu(&mut self, message: &CapturedPacket, now: Instant, context: DirectionContext<'_>) {
        let seq = self.isn.and_then(|isn| message.segment.seq.unwrap(isn, self.nxt));
        let outstanding = seq.is_some_and(|seq| self.una <= seq && seq < self.nxt);
        let headers = match message.endpoints.src {
            SocketAddr::V4(_) => 20 + 20,
            SocketAddr::V6(_) => 40 + 20,
        } + if context.shared.timestamps { 12 } else { 0 };
        let Some(Message::PathMtu(mtu)) = message.message else {
            return;
        };
        let mss = u32::from(mtu).checked_sub(headers).filter(|mss| *mss > 0);
        if let Some(mss) = mss
            && outstanding
        {
            self.open_episode(&self.episode_context(context), None);
            if let Some(episode) = &mut self.episode {
                episode.on_path_mtu(now, mss);
            }
            self.explain_if_due(now, context);
        }
    }
}
