//! The state at which a recording begins.
//!
//! At the sender it begins in the current state. Away from it, the sender may not have heard the
//! latest ACKs, so the recording begins before them.

use super::{DirectionState, away::AwayState, recent_acks::HeardSoFar};
use crate::{
    ablation::{Step, reaches},
    attribute::{context::EpisodeContext, tape::Tape},
    follow::shared::DirectionContext,
};
use recoup_units::{Instant, Offset, Span};
use recoup_wire::Segment;
use std::time::Duration;

/// Packets in flight, none of them acknowledged, up to which they are replayed: more than any
/// initial window.
const MOST_UNACKNOWLEDGED: usize = 256;

impl DirectionState {
    /// From here on, steps are recorded. `again`: the retransmission that the recording begins with.
    pub fn open_episode(&mut self, episode_context: &EpisodeContext<'_>, again: Option<Span>) {
        if self.is_recording() {
            return;
        }
        if !reaches(Step::Judge) {
            return;
        }
        let mut episode = self.episode.take().unwrap_or_else(|| {
            let mut episode = episode_context.pools.episodes.take().unwrap_or_default();
            episode.begin(episode_context);
            episode
        });
        let segments = self.most_segments_outstanding(episode_context.mss);
        if self.may_hear_receiver() && episode.may_record(segments, episode_context) {
            let tape = self.tape(episode_context, again);
            let cut_at = episode_context.blocks_cut_at;
            let blocks_cut = cut_at > Instant::ZERO && cut_at + episode_context.lag > tape.beginning.advanced_at;
            episode.start_recording(tape, blocks_cut);
        }
        if let Some(at) = self.peer_closed_at.get() {
            episode.on_close(Instant::from_nanos(at));
        }
        if let Some(at) = self.reset_at.get() {
            episode.on_reset(Instant::from_nanos(at));
        }
        self.episode = Some(episode);
    }

    /// Records a packet above `snd_nxt`.
    pub fn record_new(&mut self, segment: &Segment, now: Instant, span: Span, context: DirectionContext<'_>) {
        let departure = self.departure(now, context);
        if let Some(episode) = &mut self.episode {
            episode.on_segment(departure, segment, None);
            if span.start > self.nxt {
                let lost_since = self.away.as_ref().and_then(|away| away.lost_since());
                let lost_at = lost_since.unwrap_or(departure.at);
                episode.on_new(lost_at, Span::new(self.nxt, span.start));
            }
            episode.on_new(departure.at, span);
        }
    }

    /// Whether steps are recorded.
    pub fn is_recording(&self) -> bool {
        let episode = self.episode.as_ref();
        episode.is_some_and(|episode| episode.is_recording())
    }

    /// Whether the capture may hold the receiver's ACKs. If nothing was ever acknowledged, and more
    /// is in flight than any handshake leaves open, it does not, and no trigger can be named.
    fn may_hear_receiver(&self) -> bool {
        let outstanding = self.unacknowledged();
        self.advanced_at > Instant::ZERO || outstanding <= MOST_UNACKNOWLEDGED
    }

    /// An empty tape that begins in the current state or, away from the sender, before it.
    fn tape(&self, episode_context: &EpisodeContext<'_>, again: Option<Span>) -> Box<Tape> {
        let mut tape = episode_context.pools.tapes.take().unwrap_or_default();
        let lag = episode_context.lag;
        tape.begin(lag);
        self.rtts.copy_into(&mut tape.beginning.rtts, lag, self.una);
        if let Some(away) = self.away.as_ref().filter(|_| !lag.is_zero()) {
            self.begin_in_the_past(away, &mut tape, lag, again);
            return tape;
        }
        let beginning = &mut tape.beginning;
        beginning.una = self.una;
        beginning.window_edge = self.window_edge.max(self.una);
        beginning.advanced_at = self.advanced_at;
        for packet in self.outstanding.range(self.acknowledged as usize..) {
            let left = Span::new(packet.span.start.max(self.una), packet.span.end);
            tape.beginning.outstanding.push((packet.at, left));
            if let Some(ts) = packet.ts {
                tape.on_timestamp(packet.at, ts);
            }
        }
        tape
    }

    /// Begins a recording away from the sender, `lag` from it: with what the sender knew before the
    /// ACKs kept, and then with these ACKs and the packets since. `again`: the retransmission that
    /// the recording begins with; the sender did not know that its end had arrived.
    fn begin_in_the_past(&self, away: &AwayState, tape: &mut Tape, lag: Duration, again: Option<Span>) {
        let mut heard = away.recent_acks.before().unwrap_or(HeardSoFar {
            una: self.una,
            at: self.advanced_at,
            window_edge: self.window_edge,
            ts: None,
        });
        // It had not heard that. What it sends again was outstanding, captured or not.
        let contradicts = |again: &Span| again.end <= heard.una;
        let forgotten = again.filter(contradicts).map(|again| again.start);
        heard.una = forgotten.unwrap_or(heard.una);
        let from = self.first_beyond(heard.una);
        let kept = self.outstanding.get(from).map(|packet| packet.span.start);
        // Packets before the first one kept were acknowledged long ago.
        let first_kept = heard.una.max(kept.unwrap_or(heard.una));
        let una = forgotten.unwrap_or(first_kept);
        let heard_at = heard.at + lag;
        let beginning = &mut tape.beginning;
        beginning.una = una;
        beginning.window_edge = heard.window_edge.max(una);
        beginning.advanced_at = heard_at;
        if first_kept > una {
            let forgotten = Span::new(una, first_kept);
            beginning.outstanding.push((heard_at, forgotten));
        }
        let mut acks = (away.recent_acks.iter().filter(|ack| ack.cumulative >= una)).peekable();
        let end = again.map_or(Offset(u64::MAX), |again| again.end);
        let mut since = false;
        for packet in self.outstanding.range(from..) {
            let sent_at = match packet.copies {
                0 => away.clock.unhindered(packet.ts, packet.at).at,
                _ => packet.at,
            };
            if let Some(ts) = packet.ts {
                tape.on_timestamp(sent_at, ts);
            }
            let left = Span::new(packet.span.start.max(una), packet.span.end);
            since |= sent_at > heard_at;
            if !since {
                tape.beginning.outstanding.push((sent_at, left));
                continue;
            }
            while let Some(ack) = acks.next_if(|ack| ack.at <= packet.at) {
                tape.on_ack(ack.at, &ack.ack(), ack.echo, ack.ts);
            }
            tape.on_sent_before(sent_at, left, end);
        }
        for ack in acks {
            tape.on_ack(ack.at, &ack.ack(), ack.echo, ack.ts);
        }
    }
}
