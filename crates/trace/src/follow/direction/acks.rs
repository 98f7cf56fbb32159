//! Evidence of the peer's ACKs about a direction: data that has arrived, the round-trip times, and data that
//! was not captured.

use super::{
    DirectionState, offset_near,
    outstanding::{OutstandingPacket, SentPacket, sent_once},
    recent_acks::PassingAck,
};
use crate::{
    ablation::{Step, reaches},
    attribute::episode::AckMarks,
    cost::lost::{
        delays::{LONGEST_WAIT, LateAck, TOGETHER, is_late, is_late_if_delayed},
        nagle,
    },
    finding::Vantage,
    follow::{fields::TcpFields, shared::DirectionContext},
    read::CapturedPacket,
};
use recoup_recovery::Ack;
use recoup_units::{Instant, Offset, Span};
use recoup_wire::{Flags, SeqNumber};
use serde::{Deserialize, Serialize};

/// Acknowledged packets that are always kept, for their late duplicates.
const REMEMBERED: u32 = 4;

/// The most acknowledged packets kept for a round trip: a duplicate by the network may be late.
const MOST_REMEMBERED: u32 = 256;

/// A receiver takes no shorter segment for a full one (RFC 9293 §3.7.1: the default MSS; `rcv_mss` in Linux).
const LEAST_FULL: u32 = 536;

/// SACK blocks this far outside of what is known, in bytes, may report data that was not captured. Of random numbers one
/// in two thousand is as near.
const MOST_ASTRAY: u64 = 1 << 20;

/// An ACK from the peer that is not below `snd_una`.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeardAck {
    pub now: Instant,
    pub frame: u64,
    pub ip_id: Option<u16>,
    pub cumulative: Offset,
    /// Scaled.
    pub window: u32,
    /// Data, a SYN or a FIN.
    pub carries_data: bool,
}

/// How many SACK blocks reported something that may have been sent, and how many did not.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Reports {
    possible: u16,
    impossible: u16,
}

impl Reports {
    /// Counts a block, and returns whether it is possible.
    fn count(&mut self, is_possible: bool) -> bool {
        let count = if is_possible { &mut self.possible } else { &mut self.impossible };
        *count = count.saturating_add(1);
        is_possible
    }

    /// Whether most blocks report what was never sent. Then neither they nor their absence says anything.
    pub fn are_unusable(self) -> bool {
        self.impossible > self.possible
    }
}

impl DirectionState {
    /// Takes an ACK from the peer, whose own direction is `peer`. `carries_data`: data, a SYN or a FIN. Returns how
    /// long the ACK took, in ns, if it covers data that was sent once.
    #[inline]
    pub fn on_ack(
        &mut self,
        packet: &CapturedPacket,
        carries_data: bool,
        now: Instant,
        peer: &Self,
        context: DirectionContext<'_>,
    ) -> Option<u64> {
        let segment = &packet.segment;
        let isn = *self.isn.get_or_insert(segment.ack);
        let cumulative = offset_near(segment.ack, isn, self.una)?;
        if cumulative > self.nxt {
            if !self.is_confirmed(cumulative) {
                return None;
            }
            self.on_uncaptured(cumulative, now, context);
        }
        self.is_unconfirmed = false;
        self.heard = true;
        let syn = segment.flags.contains(Flags::SYN);
        let window = u32::from(segment.window) << if syn { 0 } else { self.window_scale };
        let blocks = segment.options.sack.as_slice();
        let out_of_order = !blocks.is_empty() && blocks.iter().any(|[left, _]| left.after(segment.ack));
        let repeated = !context.shared.sack
            && cumulative == self.una
            && !carries_data
            && window == self.window
            && self.unacknowledged() > 0;
        self.plain_duplicates = self.plain_duplicates.saturating_add(repeated.into());
        if (out_of_order || repeated) && !self.is_recording() {
            self.open_episode(&self.episode_context(context), None);
        }
        if packet.may_lack_blocks() {
            self.end_before_cut(now, context);
        }
        self.window = window;
        let acked = self.acked;
        self.acked = acked.max(cumulative);
        let fields = TcpFields::of(packet);
        // The echo of an ACK whose options are cut may belong to a duplicate.
        let echo = (fields.timestamps.filter(|_| !packet.may_lack_blocks())).map(|ts| ts.echo);
        if self.episode.is_some() {
            let mut ack = Ack::new(cumulative, window.into());
            ack.carries_data = carries_data;
            self.pass_ack_to_episode(packet, now, isn, (acked, &mut ack), peer, context);
            self.remember_ack(&fields, echo, now, cumulative, ack.blocks(), context);
        } else {
            self.remember_ack(&fields, echo, now, cumulative, &[], context);
        }
        if cumulative < self.una {
            return None;
        }
        let heard = HeardAck { now, frame: packet.frame, ip_id: packet.ip_id, cumulative, window, carries_data };
        self.advance(heard, peer, context)
    }

    /// Takes an ACK that is not below `snd_una`. Returns what [`on_ack`](Self::on_ack) does.
    #[inline(always)]
    pub(super) fn advance(&mut self, ack: HeardAck, peer: &Self, context: DirectionContext<'_>) -> Option<u64> {
        let HeardAck { now, frame, ip_id, cumulative, window, carries_data } = ack;
        let before = self.heard_here();
        self.window_edge = cumulative + u64::from(window);
        if window == 0 && cumulative < self.nxt {
            self.beyond_window = self.nxt;
        }
        self.divide_at_ack(now, before, cumulative, context);
        if cumulative == self.una {
            return None;
        }
        self.advanced_at = now;
        let bytes = cumulative.since(self.una);
        let response_time = context.shared.response_time(context.side);
        let missing = || peer.ids.lost_before(ip_id);
        let absent = !context.shared.has_bare[1 - context.side];
        let took = self.remember_acknowledged(cumulative, (now, frame), response_time, missing, absent);
        if let Some(took) = took
            && !carries_data
            && cumulative == self.nxt
            && bytes < u64::from(self.mss.bytes())
        {
            self.note_delayed(now, took);
        }
        if let Some(timeline) = &context.replay_context.timeline {
            // At the receiver an ACK follows its data at once. When a SYN is answered, nothing shows yet where that is.
            let rtt = took.filter(|_| cumulative > Offset::DATA && context.vantage() != Vantage::Receiver);
            timeline.borrow_mut().on_ack(now, context.side, bytes, rtt);
        }
        took
    }

    /// The capture has cut SACK blocks from the next ACK.
    #[cold]
    fn end_before_cut(&mut self, now: Instant, context: DirectionContext<'_>) {
        let episode_context = self.episode_context(context);
        if let Some(episode) = &mut self.episode {
            episode.end_before_cut(&episode_context, now);
        }
    }

    /// Passes an ACK with its SACK blocks to the episode; `acked` is the highest cumulative ACK
    /// before it.
    #[inline(never)]
    fn pass_ack_to_episode(
        &mut self,
        packet: &CapturedPacket,
        now: Instant,
        isn: SeqNumber,
        (acked, ack): (Offset, &mut Ack),
        peer: &Self,
        context: DirectionContext<'_>,
    ) {
        let may_report = self.may_report();
        let Some(episode) = &mut self.episode else {
            return;
        };
        let segment = &packet.segment;
        for [left, right] in segment.options.sack.as_slice() {
            // An old ACK may carry DSACK blocks too: they are unwrapped relative to this ACK.
            let near = |number: &SeqNumber| number.unwrap(isn, ack.cumulative);
            if let (Some(left), Some(right)) = (near(left), near(right))
                && right > left
            {
                let block = Span::new(left, right);
                if self.reports.count(may_report.covers(block)) {
                    ack.push_block(block);
                }
            } else {
                self.reports.count(false);
            }
        }
        if self.reports.are_unusable() {
            episode.on_unusable_reports();
        }
        // If options were cut, the echo may belong to a duplicate that a lost DSACK block reports.
        let whole = !packet.may_lack_blocks();
        let echo = (segment.options.timestamps.filter(|_| whole)).map(|ts| ts.echo);
        let ts = (segment.options.timestamps).map(|ts| (ts.value, segment.seq));
        episode.on_lag(context.shared.response_time(context.side));
        let outstanding = &self.outstanding;
        let sent = |at| sent_once(outstanding, at);
        let missing = peer.ids.lost_before(packet.ip_id);
        let marks = AckMarks { echo, ts, missing, blocks_cut: !whole };
        episode.on_ack(now, acked, ack, marks, &sent);
        self.explain_if_due(now, context);
    }

    /// What SACK blocks may report: from old duplicates (RFC 2883 §4) to the end of the receiver's window. Blocks of
    /// other numbers come from a middlebox that changes the sequence numbers, and not the blocks.
    fn may_report(&self) -> Span {
        let old = MOST_ASTRAY.max(4 * u64::from(self.most_outstanding));
        let start = Offset(self.una.0.saturating_sub(old));
        Span::new(start, self.nxt.max(self.window_edge) + MOST_ASTRAY)
    }

    /// Away from the sender, keeps an ACK of all below `cumulative` for recordings that start before it has
    /// reached the sender.
    #[inline(always)]
    pub(super) fn remember_ack(
        &mut self,
        fields: &TcpFields,
        echo: Option<u32>,
        now: Instant,
        cumulative: Offset,
        blocks: &[Span],
        context: DirectionContext<'_>,
    ) {
        if !context.shared.is_away(context.side) {
            return;
        }
        let ack = PassingAck { at: now, cumulative, window: self.window, blocks, fields, echo };
        let way = context.shared.response_time(context.side);
        // Those that are forgotten soon.
        self.hear_until(now.minus_nanos(way), way);
        let away = self.away.get_or_insert_default();
        away.recent_acks.push(ack, way.saturating_mul(2));
    }

    /// An ACK above everything captured: either the capture lacks packets, or the ACK is foreign.
    /// Another ACK of missing data, or data above it, confirms it. In a capture without any data, every ACK
    /// counts.
    #[cold]
    pub fn is_confirmed(&mut self, cumulative: Offset) -> bool {
        let confirms = self.is_unconfirmed && self.unconfirmed_ack <= cumulative;
        self.is_unconfirmed = true;
        self.unconfirmed_ack = cumulative;
        let takes_probe = self.window_probe == self.nxt && cumulative == self.nxt + 1;
        self.segments == 0 || confirms || takes_probe
    }

    /// The data below the unconfirmed ACK was sent. The ACK gives no round-trip time.
    #[cold]
    pub fn accept_unconfirmed_ack(&mut self) {
        self.is_unconfirmed = false;
        let una = self.unconfirmed_ack;
        self.advance_una(una);
        self.window_edge = self.window_edge.max(una);
    }

    /// An ACK covers bytes that were not captured.
    #[cold]
    fn on_uncaptured(&mut self, cumulative: Offset, now: Instant, context: DirectionContext<'_>) {
        let span = Span::new(self.nxt, cumulative);
        self.divide_at_missing(span, now, context);
        // The byte of a window probe was captured, and now counts as sent.
        self.missing += span.len() - u64::from(self.window_probe == span.start);
        if let Some(episode) = &mut self.episode {
            episode.on_new(now, span);
        }
        let sent = SentPacket { at: now, ts: None, ip_id: None };
        self.push(OutstandingPacket::uncaptured(span, sent));
        self.nxt = cumulative;
    }

    /// Advances `snd_una`. Acknowledged packets are kept for a round trip, of which `response_time` ns
    /// are between the capture point and the sender. `missing` says how many packets of the receiver are
    /// missing before the ACK, if known; `absent`: the capture has no bare ACKs of the receiver. Returns the time to the newest acknowledged packet, in ns.
    #[inline(always)]
    fn remember_acknowledged(
        &mut self,
        una: Offset,
        (now, frame): (Instant, u64),
        response_time: u64,
        missing: impl FnOnce() -> Option<u16>,
        absent: bool,
    ) -> Option<u64> {
        let acked = una.since(self.una);
        let times = self.advance_una(una);
        let remembered = response_time.saturating_add(self.rtts.least_nanos());
        while self.acknowledged > REMEMBERED
            && let Some(oldest) = self.outstanding.front()
            && (self.acknowledged > MOST_REMEMBERED || now.nanos_since(oldest.last_sent_at) > remembered)
        {
            self.outstanding.pop_front();
            self.acknowledged -= 1;
        }
        let ((first, ts), newest) = times?;
        let (rtt, newest) = (now.nanos_since(first), now.nanos_since(newest));
        let clock = (self.away.as_ref()).map(|away| &away.clock);
        let held_up = clock.map_or(0, |clock| first.nanos_since(clock.unhindered(ts, first).at));
        // The sender waits for the whole round trip.
        let way = if self.away.is_some() { response_time } else { 0 };
        let sent = self.without_spike(ts, first, way);
        if let Some(usual) = self.usual_wait(way)
            && is_late(now.nanos_since(sent).saturating_add(way), usual)
            && let Some(due) = self.late_since(Offset(una.0 - acked), now, sent, way, absent)
        {
            self.on_late_ack(now, frame, due, missing().is_some_and(|missing| missing > 0));
        }
        if reaches(Step::Sample) {
            self.rtts.on_sample(rtt, held_up, newest, una, self.nxt);
        }
        Some(newest)
    }

    /// When the ACK that came `now` was due, if it was late. The first of what it covers, all above `from`, was sent at
    /// `first`. `way`: the round trip between the capture point and the sender. `absent`: the capture holds no bare ACKs of
    /// the receiver.
    #[cold]
    fn late_since(&self, from: Offset, now: Instant, first: Instant, way: u64, absent: bool) -> Option<Instant> {
        let usual = self.usual_wait(way)?;
        let waited = now.nanos_since(first).saturating_add(way);
        // A sender would have sent again, and a receiver would have sent a bare ACK.
        if waited > LONGEST_WAIT || (absent && is_late_if_delayed(waited, usual)) {
            return None;
        }
        let due = |sent: Instant| sent.plus_nanos(usual.0 - way);
        match self.second_full_segment(from, first).map(|second| (self.first_passed(second, way), second.span.end)) {
            Some((at, end)) if at.nanos_since(first.min(at)) <= TOGETHER || end <= self.una => {
                is_late(now.nanos_since(at).saturating_add(way), usual).then(|| due(at))
            }
            _ => is_late_if_delayed(waited, usual).then(|| due(first)),
        }
    }

    /// The packet that completed two full segments above `from`: a receiver acknowledges them at once
    /// (RFC 9293 §3.8.6.3).
    fn second_full_segment(&self, from: Offset, first: Instant) -> Option<&OutstandingPacket> {
        let full = u64::from(self.mss.bytes().max(LEAST_FULL));
        let since = self.outstanding.partition_point(|packet| packet.span.end <= from);
        let sent = self.outstanding.range(since..).skip_while(|packet| packet.at < first);
        let mut bytes = 0;
        sent.into_iter().find(|packet| {
            bytes += packet.span.len();
            bytes >= 2 * full
        })
    }

    /// A bare ACK of a small segment, the only thing in flight, took this long.
    #[inline]
    fn note_delayed(&mut self, now: Instant, took: u64) {
        let shortest = self.rtts.least_nanos();
        let delay = took.saturating_sub(shortest);
        let (_, variation) = self.rtts.usual().unwrap_or_default();
        if nagle::is_delayed(delay, shortest, variation) {
            self.late_acks.get_or_insert_default().nagle.on_delayed(now, took);
        }
    }

    /// An ACK was late; if an episode lasts, that claims the time.
    #[cold]
    fn on_late_ack(&mut self, at: Instant, frame: u64, due: Instant, after_lost: bool) {
        let idle_since = match &self.episode {
            Some(episode) => episode.idle_since(),
            None => Some(Instant::ZERO),
        };
        if let Some(idle_since) = idle_since {
            self.late_acks.get_or_insert_default().add(LateAck { at, frame, due, idle_since, after_lost });
        }
    }

    /// Advances `snd_una`. If each acknowledged packet was sent once, returns when the first one was
    /// sent, its timestamp, and when the last one was sent.
    #[inline]
    fn advance_una(&mut self, una: Offset) -> Option<((Instant, Option<u32>), Instant)> {
        let mut first = None;
        let mut newest = None;
        let mut ambiguous = false;
        let mut i = self.acknowledged as usize;
        while let Some(packet) = self.outstanding.get(i)
            && packet.span.start < una
        {
            // Karn's algorithm. Data that was not captured has no known time.
            if !packet.is_sent_once() {
                ambiguous = true;
            } else if packet.span.end <= una || packet.span.start >= self.una {
                first = first.or(Some((packet.at, packet.ts)));
                newest = Some(packet.at);
            }
            if packet.span.end > una {
                break;
            }
            i += 1;
        }
        self.acknowledged = i as u32;
        self.una = una;
        if ambiguous { None } else { first.zip(newest) }
    }
}
