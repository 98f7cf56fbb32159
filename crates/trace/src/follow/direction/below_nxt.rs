//! Data below `snd_nxt`: retransmissions, originals that come late, and duplicates by the network.
//!
//! A packet below `snd_nxt` is classified by its bytes. If they **were captured before**, it is
//!
//! - a duplicate by the network or the capture, if it has the IP identification and timestamp of
//!   the last copy, or comes sooner than a sender can retransmit;
//! - the original, late, if its timestamp is the older one;
//! - a retransmission otherwise.
//!
//! If they **were not captured before**, it is a retransmission of a segment lost before the
//! capture point, or an original that was overtaken. Timestamps decide, or else IP identifications.
//! Without either it stays open.

use super::{
    DirectionState, HOST_DELAY, MOST_JITTER, NEAR_RECEIVER,
    duplicates::AT_ONCE,
    outstanding::{OutstandingPacket, SentPacket, order_by_id, sent_after, sent_after_gap},
};
use crate::{
    attribute::episode::{PacketKind, PriorTransmissions},
    cost::lost::delays::is_late_if_delayed,
    follow::shared::DirectionContext,
    read::CapturedPacket,
    verdict::Transmission,
};
use recoup_units::{Instant, Offset, Span};
use recoup_wire::Flags;
use std::{cmp::Ordering, time::Duration};

impl DirectionState {
    /// Takes a packet that holds bytes below `snd_nxt`.
    #[cold]
    pub(super) fn on_below_nxt(
        &mut self,
        packet: &CapturedPacket,
        now: Instant,
        span: Span,
        context: DirectionContext<'_>,
    ) {
        let departure = self.departure(now, context);
        let episode_context = self.episode_context(context);
        let segment = &packet.segment;
        if self.is_probe(segment.payload_len, span, now) {
            self.probes = self.probes.saturating_add(1);
            self.divide_at_probe(now, context);
            return;
        }
        let ts = segment.options.timestamps.map(|ts| ts.value);
        let sent = SentPacket { at: now, ts, ip_id: packet.ip_id };
        let first = self.outstanding_at(span.start);
        let earlier = first.map(|i| self.outstanding[i]);
        let before_capture = self.is_before_capture(span);
        let uncaptured = earlier.is_some_and(|packet| !packet.is_captured() && span.end <= packet.span.end);
        let kind = if before_capture {
            let first_captured = self.outstanding.front();
            PacketKind::FilledGap(first_captured.and_then(|first| sent_after(sent, first)))
        } else if uncaptured {
            let overdue = |gap: &OutstandingPacket| self.is_overdue(gap.at, now, context).then_some(true);
            PacketKind::FilledGap(earlier.and_then(|gap| sent_after_gap(sent, &gap).or_else(|| overdue(&gap))))
        } else if earlier.is_some_and(|earlier| self.is_same_packet(&earlier, span, sent, packet, context)) {
            self.duplicates += 1;
            let late = earlier.is_some_and(|earlier| now.since(earlier.last_sent_at) > AT_ONCE);
            let identified = packet.ip_id.is_some_and(|id| id != 0);
            self.late_copies = self.late_copies.saturating_add((late && identified).into());
            return;
        } else {
            let last = earlier.map_or_else(|| self.latest_ts_of(span), |packet| packet.ts);
            let older = |(ts, last): (u32, u32)| ts.wrapping_sub(last).cast_signed() < 0;
            let by_id = || earlier.and_then(|earlier| order_by_id(sent, &earlier));
            let earlier_id = || context.shared.is_away(context.side) && by_id() == Some(Ordering::Less);
            let is_older = ts.zip(last).map_or_else(earlier_id, older);
            if is_older { PacketKind::LateOriginal } else { PacketKind::Repeated }
        };
        let again = match kind {
            PacketKind::Repeated | PacketKind::FilledGap(None | Some(true)) => Some(span.end),
            _ => None,
        };
        self.open_episode(&episode_context, again.map(|_| span));
        let captured = earlier.filter(OutstandingPacket::is_captured);
        let least = self.rtts.least();
        let prior = PriorTransmissions {
            original: captured
                .map(|packet| Transmission { at: packet.at, ts_value: packet.ts.filter(|_| packet.copies == 0) }),
            order_by_id: captured.and_then(|packet| order_by_id(sent, &packet)),
            has_new_bytes: span.end > self.nxt || before_capture || first.is_some_and(|i| self.has_uncaptured(i, span)),
            copies: earlier.map(|packet| packet.copies),
            revealed_ts: earlier.filter(|_| uncaptured).and_then(|gap| gap.ts),
            rtt: self.rtts.average().map(|rtt| rtt + episode_context.lag),
            rtt_before: captured.and_then(|packet| self.rtt_before(packet.at)),
            flight: self.segments_outstanding(episode_context.mss),
            sent_lately: self.sent_lately(now, episode_context.mss),
            most_flight: self.most_flight(episode_context.mss),
            nxt: self.nxt,
            sent_at: departure.at,
            all_due: self.all_due(now, context),
            original_held_up: self.was_held_up(earlier, sent),
            beyond_window: span.start < self.beyond_window,
            refused_with_syn: earlier.is_some_and(|packet| packet.is_sent_once() && packet.span.start < Offset::DATA)
                && self.una == Offset::DATA
                && !segment.flags.contains(Flags::SYN),
            acknowledged: span.end <= self.una,
            all_acknowledged_at: (self.una >= self.nxt && self.last_heard(now, context) < self.advanced_at)
                .then_some(self.advanced_at),
            acked: self.acked,
            last_copy: captured.map(|packet| Transmission { at: packet.last_sent_at, ts_value: packet.ts }),
            near_receiver: least.is_some_and(|least| least < NEAR_RECEIVER),
            answer_due: captured
                .zip(least)
                .map(|(packet, least)| packet.last_sent_at + least + HOST_DELAY.max(least / 4)),
            jitter: least.map_or(MOST_JITTER, |least| MOST_JITTER.min((least + episode_context.lag) / 3)),
            advanced_at: self.heard.then_some(self.advanced_at),
        };
        if kind != PacketKind::LateOriginal {
            self.mark_sent(span, sent, kind != PacketKind::FilledGap(Some(false)));
        }
        if let Some(episode) = &mut self.episode {
            episode.on_segment(departure, segment, again);
            episode.on_below_nxt(packet, now, span, kind, &prior);
        }
        // The handshake takes precedence.
        if again.is_some() && !segment.flags.contains(Flags::SYN) {
            let last_sent = earlier.map(|packet| packet.last_sent_at);
            self.divide_at_retransmission(now, span, last_sent, context);
        }
        if span.end > self.nxt {
            self.push(OutstandingPacket::first(Span::new(self.nxt, span.end), sent));
            self.nxt = span.end;
        }
    }

    /// Whether a packet that fills a gap comes later than packets overtake each other: after so long, its sender can have
    /// heard of the gap, and sent it again.
    pub(super) fn is_overdue(&self, revealed_at: Instant, now: Instant, context: DirectionContext<'_>) -> bool {
        let round_trip = Duration::from_nanos(context.shared.response_time(context.side));
        context.shared.is_away(context.side) && now.since(revealed_at.min(now)) >= (round_trip / 4 * 3).max(MOST_JITTER)
    }

    /// When the ACK of everything sent so far is due, as far as no other time lost lasts until then.
    pub(super) fn all_due(&self, now: Instant, context: DirectionContext<'_>) -> Instant {
        let by_peer = || context.shared.least_response_time(1 - context.side);
        let rtt = self.rtts.average().or_else(by_peer).unwrap_or_default();
        let last_sent = self.last_of_flight(now, context);
        let late = self.late_acks.as_ref();
        let claimed_until = late.map_or(Instant::ZERO, |late| late.claimed_until());
        (last_sent + rtt).max(self.last_heard(now, context)).max(claimed_until)
    }

    /// When the last ACK passed that advanced `snd_una`, of those that the sender had heard when it sent the latest packet.
    fn last_heard(&self, now: Instant, context: DirectionContext<'_>) -> Instant {
        match &self.away {
            Some(away) if context.shared.is_away(context.side) => {
                let way = context.shared.response_time(context.side);
                away.recent_acks.advanced_at(self.departure(now, context).at.minus_nanos(way))
            }
            _ => self.advanced_at,
        }
    }

    /// When the last segment of the flight in the air was sent. What a sender sends after the ACK of the first one is late
    /// holds nothing up.
    pub(super) fn last_of_flight(&self, now: Instant, context: DirectionContext<'_>) -> Instant {
        let Some(last) = self.outstanding.back() else {
            return now;
        };
        let way = if context.shared.is_away(context.side) { context.shared.response_time(context.side) } else { 0 };
        let Some(first) = self.outstanding.get(self.acknowledged as usize) else {
            return self.first_passed(last, way);
        };
        let Some(usual) =
            self.usual_wait(way).filter(|usual| is_late_if_delayed(last.at.nanos_since(first.at), *usual))
        else {
            return self.first_passed(last, way);
        };
        let later = |packet: &OutstandingPacket| is_late_if_delayed(packet.at.nanos_since(first.at), usual);
        let end = self.outstanding.partition_point(|packet| !later(packet)).max(self.acknowledged as usize + 1);
        self.first_passed(&self.outstanding[end - 1], way)
    }

    /// When a packet first passed, without a [spike](Self::without_spike) before the capture point.
    pub(super) fn first_passed(&self, packet: &OutstandingPacket, way: u64) -> Instant {
        match packet.copies {
            0 => self.without_spike(packet.ts, packet.at, way),
            _ => packet.at,
        }
    }

    /// Whether the original was held up before the capture point for most of the time that passed at the sender
    /// until it sent the segment again.
    pub(super) fn was_held_up(&self, earlier: Option<OutstandingPacket>, sent: SentPacket) -> bool {
        let Some((away, earlier)) = self.away.as_ref().zip(earlier) else {
            return false;
        };
        let elapsed = (earlier.ts.zip(sent.ts)).and_then(|(from, to)| away.clock.between(from, to));
        let passed = sent.at.since(earlier.last_sent_at.min(sent.at));
        earlier.is_sent_once() && elapsed.is_some_and(|elapsed| passed < elapsed / 2)
    }

    /// The round trip of the last segment acknowledged, in µs, if what was sent at `sent` was in flight with it.
    fn rtt_before(&self, sent: Instant) -> Option<u32> {
        let sample = self.rtts.latest()?;
        (sample.una == self.una.0 as u32 && sent <= self.advanced_at).then_some(sample.rtt)
    }

    /// The timestamp of the latest copy of bytes that are no longer outstanding.
    pub(super) fn latest_ts_of(&self, span: Span) -> Option<u32> {
        self.episode.as_ref()?.latest_ts_of(span)
    }
}
