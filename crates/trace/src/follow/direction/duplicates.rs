//! Packets that the capture holds twice.
//!
//! A mirrored port shows a packet on its way in and on its way out. A capture of all interfaces of
//! a bridge shows it on each, and a file merged from captures of one host holds what each of them
//! saw. The duplicate repeats every TCP field and follows at once. It also has the same
//! IP identification, if there is one (RFC 6864 §4: it may be 0 in packets that are not fragmented;
//! IPv6 has none). Copies that come a path delay later are from another capture point, and
//! [`points`](crate::follow::points) has separated them before.

use super::{
    DirectionState,
    outstanding::{MOST_COUNTED, OutstandingPacket, SentPacket},
};
use crate::{
    follow::{fields::TcpFields, shared::DirectionContext},
    read::CapturedPacket,
};
use recoup_units::{Instant, Span};
use recoup_wire::{Flags, SeqNumber};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Packets remembered: hosts forward packets in batches of about this size.
const REMEMBERED: usize = 8;

/// Before the first RTT sample, nothing is retransmitted sooner: the handshake's timer takes a
/// second (RFC 6298 §2.1), and a fast retransmit waits for an ACK.
pub(super) const AT_ONCE: Duration = Duration::from_millis(1);

/// No mirror shows a packet again so much later, and few senders retransmit sooner with a timer.
const LONGEST_MIRRORED: Duration = Duration::from_millis(100);

/// [`AT_ONCE`] in ticks.
const TICKS_AT_ONCE: u32 = 977;

/// The most segments of one packet: it holds 64 kB, of at least 536 bytes each.
const MOST_SEGMENTS: u64 = 128;

/// Nothing is retransmitted sooner, however short the path. A host forwards a packet from one
/// interface to the next within this time.
const WITHIN_A_HOST: Duration = Duration::from_micros(20);

/// Fingerprints of the last packets, newest first, and when they were captured.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct RecentPackets {
    fingerprints: [u32; REMEMBERED],
    /// In ticks.
    captured_at: [u32; REMEMBERED],
}

impl RecentPackets {
    /// Whether an identical packet was captured just now.
    #[inline]
    pub fn contains(&self, fingerprint: u32, now: Instant) -> bool {
        let same = self.fingerprints.iter().map(|other| *other == fingerprint);
        // Without an early end, this takes a few instructions.
        same.fold(false, |any, same| any | same) && self.contains_just_now(fingerprint, now)
    }

    #[cold]
    fn contains_just_now(&self, fingerprint: u32, now: Instant) -> bool {
        let tick = tick(now);
        let mut all = self.fingerprints.iter().zip(&self.captured_at);
        all.any(|(other, captured_at)| *other == fingerprint && tick.wrapping_sub(*captured_at) <= TICKS_AT_ONCE)
    }

    /// The time since the last identical packet, in ns.
    #[cold]
    pub fn age(&self, fingerprint: u32, now: Instant) -> Option<u64> {
        let all = self.fingerprints.iter().zip(&self.captured_at);
        let ages = all.filter(|(other, _)| **other == fingerprint);
        let ticks = ages.map(|(_, captured_at)| tick(now).wrapping_sub(*captured_at)).min()?;
        Some(u64::from(ticks) << TICK_BITS)
    }

    /// The fingerprints, and when the packets were captured.
    fn all(&self, now: Instant) -> impl Iterator<Item = (u32, Instant)> {
        let all = self.fingerprints.iter().zip(&self.captured_at);
        let all = all.filter(|(fingerprint, _)| **fingerprint != 0);
        all.map(move |(&fingerprint, &captured_at)| {
            let age = u64::from(tick(now).wrapping_sub(captured_at)) << TICK_BITS;
            let at = now.as_nanos().saturating_sub(age);
            (fingerprint, Instant::from_nanos(at))
        })
    }

    /// Adds a packet.
    #[inline]
    pub fn push(&mut self, fingerprint: u32, now: Instant) {
        self.fingerprints.copy_within(..REMEMBERED - 1, 1);
        self.captured_at.copy_within(..REMEMBERED - 1, 1);
        self.fingerprints[0] = fingerprint;
        self.captured_at[0] = tick(now);
    }

    /// Reads what a packet will change, to have it in the cache by then. The value has no meaning.
    #[inline]
    pub fn prefetch(&self) -> u64 {
        self.fingerprints[0].into()
    }
}

/// A tick is 2^10 ns, about 1 µs.
const TICK_BITS: u32 = 10;

fn tick(at: Instant) -> u32 {
    (at.as_nanos() >> TICK_BITS) as u32
}

/// A multilinear hash of all TCP fields and the IP identification.
#[inline]
pub(crate) fn fingerprint(packet: &CapturedPacket) -> u32 {
    fingerprint_of(&TcpFields::of(packet), packet.segment.options.sack.as_slice())
}

/// The [`fingerprint`] of a packet with these fields and SACK blocks.
#[inline(always)]
pub(crate) fn fingerprint_of(fields: &TcpFields, blocks: &[[SeqNumber; 2]]) -> u32 {
    let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    let timestamps = fields.timestamps.map_or(0, |timestamps| pair(timestamps.echo, timestamps.value));
    let id = u32::from(fields.ip_id.unwrap_or_default());
    let rest = pair(fields.payload_len ^ u32::from(fields.flags.bits()) << 24, id << 16 | u32::from(fields.window));
    // Numbers that follow one another in memory are read at once.
    let mut sum = pair(fields.ack.0, fields.seq.0).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    sum = sum.wrapping_add(timestamps.wrapping_mul(0xbf58_476d_1ce4_e5b9));
    sum = sum.wrapping_add(rest.wrapping_mul(0x94d0_49bb_1331_11eb));
    for [left, right] in blocks {
        let block = pair(left.0, right.0).wrapping_mul(0xd6e8_feb8_6659_fd93);
        sum = sum.rotate_left(5).wrapping_add(block);
    }
    (sum >> 32) as u32
}

/// Whether `part` with the IP identification `now` is a segment of a packet of several, which another interface shows
/// whole: the first segment has the packet's identification, and the others follow one by one.
fn is_segment_of(whole: Span, first: u16, part: Span, now: u16) -> bool {
    let number = u64::from(now.wrapping_sub(first));
    let before = part.start.since(whole.start.min(part.start));
    whole.covers(part)
        && number <= MOST_SEGMENTS
        && before.checked_rem(number) == Some(0)
        && before / number.max(1) >= part.len()
}

impl DirectionState {
    /// The fingerprints of the last packets, and about when they were captured.
    #[cold]
    pub fn recent_packets(&self, now: Instant) -> impl Iterator<Item = (u32, Instant)> {
        self.recent.all(now)
    }

    /// Whether a packet is identical to one just before. If not, it is remembered.
    #[inline]
    pub fn is_identical_to_recent(&mut self, packet: &CapturedPacket, now: Instant) -> bool {
        let fingerprint = fingerprint(packet);
        let captured = self.recent.contains(fingerprint, now);
        if !captured {
            self.recent.push(fingerprint, now);
        }
        captured
    }

    /// Whether a packet identical to one just before is a duplicate. The sender hears both copies
    /// if the network duplicated an ACK, so an ACK counts as a duplicate only if the capture holds
    /// `most` packets twice. Without an IP identification, two duplicate ACKs can be identical;
    /// with SACK each reports something new.
    #[cold]
    pub fn is_duplicate(
        &mut self,
        packet: &CapturedPacket,
        now: Instant,
        most: bool,
        context: DirectionContext<'_>,
    ) -> bool {
        let fingerprint = fingerprint(packet);
        let segment = &packet.segment;
        let is_bare = segment.sequence_len() == 0;
        let is_duplicate = match packet.ip_id {
            _ if is_bare && !most => false,
            Some(id) if id != 0 => true,
            _ if is_bare => segment.options.timestamps.is_some() && context.shared.sack,
            _ => {
                let age = self.recent.age(fingerprint, now).map(Duration::from_nanos);
                age.is_some_and(|age| age < self.least_interval(packet, context))
            }
        };
        if is_duplicate {
            self.duplicates += 1;
            self.segments += u64::from(!is_bare);
            self.bytes += u64::from(segment.payload_len);
        } else {
            self.recent.push(fingerprint, now);
        }
        is_duplicate
    }

    /// Whether this is the last copy captured again: a retransmission has another identification,
    /// or comes later.
    pub fn is_same_packet(
        &self,
        before: &OutstandingPacket,
        span: Span,
        sent: SentPacket,
        packet: &CapturedPacket,
        context: DirectionContext<'_>,
    ) -> bool {
        if before.ts != sent.ts {
            return false;
        }
        match (before.ip_id, sent.ip_id) {
            (Some(first), Some(now)) if first != now && !is_segment_of(before.span, first, span, now) => false,
            // A retransmission has a later timestamp, if any. Some load balancers keep the identification.
            (Some(id), Some(now)) if id != 0 && id == now => {
                sent.ts.is_some() || sent.at.since(before.last_sent_at) < LONGEST_MIRRORED
            }
            _ => {
                let interval = self.least_interval(packet, context);
                sent.at.since(before.last_sent_at) < interval && self.was_all_sent_within(interval, span, sent.at)
            }
        }
    }

    /// Whether the latest copy of each byte of `span` was sent less than `interval` before `now`. A retransmission may
    /// repeat the rest of a segment of which the one before it held the first part.
    fn was_all_sent_within(&self, interval: Duration, span: Span, now: Instant) -> bool {
        let packets = self.outstanding.range(self.first_beyond(span.start)..).take(MOST_COUNTED);
        let mut inside = packets.take_while(|packet| packet.span.start < span.end);
        inside.all(|packet| now.since(packet.last_sent_at) < interval)
    }

    /// Nothing is retransmitted sooner, because a loss is reported only after a round trip. Two
    /// copies may come closer together than they were sent. If timestamps show that they were sent
    /// together, the sender's part of the round trip counts as well.
    #[cold]
    fn least_interval(&self, packet: &CapturedPacket, context: DirectionContext<'_>) -> Duration {
        let segment = &packet.segment;
        let is_syn_ack = segment.flags.contains(Flags::SYN.union(Flags::ACK));
        match self.rtts.least() {
            // A SYN that the network duplicated is answered twice. If the capture duplicated the
            // SYN-ACK later, the share of duplicates shows that at the end of the connection.
            _ if is_syn_ack && !context.shared.syn_duplicated => Duration::ZERO,
            _ if segment.flags.contains(Flags::SYN) => AT_ONCE,
            None => AT_ONCE,
            Some(least) if segment.options.timestamps.is_some() => {
                ((least + self.episode_context(context).lag) / 2).max(WITHIN_A_HOST)
            }
            Some(least) => (least / 2).max(WITHIN_A_HOST),
        }
    }
}
