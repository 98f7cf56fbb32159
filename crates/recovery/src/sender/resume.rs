//! Taking over a connection in its middle. A capture need not begin with the SYN, and a replay need not
//! begin before there is something to explain.

use super::*;

/// The state of a connection in progress, in which nothing was lost, reordered or retransmitted lately.
#[derive(Clone, Debug)]
pub struct ResumeState<I> {
    /// The lowest unacknowledged offset.
    pub una: Offset,
    /// The first offset the peer does not accept.
    pub window_edge: Offset,
    /// The round-trip time estimate so far, by this sender's own rules.
    pub rtt: RttEstimator,
    /// When an ACK last advanced.
    pub advanced_at: Instant,
    /// The outstanding segments: when each was sent and what it covers, in stream order from `una` on.
    pub outstanding: I,
}

impl<C: CongestionControl> Sender<C> {
    /// Continues in the Open state as if this sender had sent the outstanding segments itself. The
    /// congestion window is taken to be what is outstanding, but at least the initial window. Only for a
    /// sender that has just been made or reset.
    pub fn resume(&mut self, state: ResumeState<impl IntoIterator<Item = (Instant, Span)>>) {
        let una = state.una;
        self.board.reset(una);
        self.stream.limit = una;
        self.rtt = state.rtt;
        self.peer.window = PeerWindow::up_to(state.window_edge, una);
        self.episode.recovery_point = una;
        // No earlier episode holds the next one back.
        self.episode.settled_to = Offset(una.0.saturating_sub(1));
        self.episode.rescue_after = una;
        self.congestion.usage.round_end = una;
        self.timers.progress_at = state.advanced_at;
        self.stream.last_heard_at = state.advanced_at;
        let mut first = None;
        for (at, span) in state.outstanding {
            self.board.push(at, span);
            self.rtt.on_sent(at, span.start);
            self.stream.last_sent_at = at;
            first.get_or_insert(at);
        }
        self.stream.limit = self.board.nxt();
        self.note_usage();
        self.congestion.cwnd = self.congestion.cwnd.max(self.board.outstanding());
        self.begin_model(state.advanced_at);
        if let Some(first) = first {
            self.totals.busy_since = Some(first);
            self.timers.rto.start(first.max(state.advanced_at), &self.rtt);
            let (sent, heard) = (self.stream.last_sent_at, state.advanced_at);
            self.schedule_probe(sent.max(heard), heard > sent);
        }
    }
}

#[cfg(test)]
mod tests;
