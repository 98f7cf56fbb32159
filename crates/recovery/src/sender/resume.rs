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
mod tests {
    use super::*;
    use crate::profile::Profile;

    /// A sender taken over after any of its ACKs continues as one followed from the SYN on.
    #[test]
    fn a_sender_taken_over_goes_on_as_one_followed_from_the_beginning() {
        for name in ["linux-3.17+tlp", "linux-6", "rfc6675", "windows-xp"] {
            let profile: Profile = name.parse().unwrap();
            for taken_at in 0..8 {
                let (mut whole, state) = begun(profile.mechanisms(), taken_at);
                let mut resumed = Sender::new(profile.mechanisms(), 100, Trigger::Syn, false);
                resumed.resume(state);
                for sender in [&whole, &resumed] {
                    sender.check().unwrap();
                }
                let place = format!("{name}, after {taken_at} ACKs");
                for timer in [Timer::Rto, Timer::Probe] {
                    assert_eq!(whole.deadline(timer), resumed.deadline(timer), "{place}");
                }
                // The next is lost, the others arrive.
                let una = whole.una();
                let now = Instant::from_millis(400);
                for later in 2..=5 {
                    let sacked = Span::new(una + 100, una + later * 100);
                    let ack = Ack::new(una, 50_000).with_blocks([sacked]);
                    let ours = whole.on_ack(now, &ack);
                    let theirs = resumed.on_ack(now, &ack);
                    let ours = crate::AckSummary {
                        newest_number: theirs.newest_number, // one of them did not send the SYN
                        ..ours
                    };
                    assert_eq!(theirs, ours, "{place}");
                    assert_eq!(whole.state(), resumed.state(), "{place}");
                    assert_eq!(
                        whole.board().next_lost().map(|s| s.span),
                        resumed.board().next_lost().map(|s| s.span),
                        "{place}"
                    );
                }
                assert_eq!(whole.state(), State::Recovery, "{place}");
            }
        }
    }

    /// Sixteen segments of 100 bytes go out after the handshake; `acks` of them are acknowledged.
    fn begun(mechanisms: &Mechanisms, acks: u64) -> (Sender, ResumeState<Vec<(Instant, Span)>>) {
        let mut sender = Sender::new(mechanisms, 100, Trigger::Syn, false);
        let syn = Span::new(Offset::SYN, Offset::DATA);
        sender.on_sent(Instant::ZERO, Transmission::New(syn));
        let mut advanced_at = Instant::from_millis(50);
        sender.on_ack(advanced_at, &Ack::new(Offset::DATA, 50_000));
        sender.on_written(advanced_at, 1600);
        let sent_at = Instant::from_millis(60);
        for i in 0..16 {
            let span = Span::at(Offset::DATA + i * 100, 100);
            sender.on_sent(sent_at, Transmission::New(span));
        }
        for i in 1..=acks {
            advanced_at = Instant::from_millis(110 + i);
            sender.on_ack(advanced_at, &Ack::new(Offset::DATA + i * 100, 50_000));
        }
        let state = ResumeState {
            una: sender.una(),
            window_edge: sender.una() + 50_000,
            rtt: *sender.rtt(),
            advanced_at,
            outstanding: sender.board().iter().map(|s| (s.sent_at, s.span)).collect(),
        };
        (sender, state)
    }
}
