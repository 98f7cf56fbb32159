//! The state of one direction: what one end of a connection has sent.
//!
//! At first a direction keeps only its outstanding packets and round-trip times. From the first
//! retransmission, SACK block or duplicate ACK on it has an [`Episode`], which records every step
//! for the replay and every retransmission for its verdict.

mod acks;
mod away;
mod below_nxt;
mod copied;
mod duplicates;
mod id_counter;
mod mss;
mod outstanding;
mod path_mtu;
mod plain;
mod probes;
mod recent_acks;
mod recording;
mod send_clock;
mod skim;
mod time;
mod unseen_original;

use super::{fields::TcpFields, rtts::Rtts, shared::DirectionContext};
use crate::{
    attribute::{
        context::EpisodeContext,
        episode::{ConnectionEnd, Episode, Learned},
        provisional::ProvisionalRow,
    },
    cost::{division::Division, lost::delays::LateAcks},
    finding::{self, Cause, Renumbering, SenderState},
    memory::{HeapSize, OptionalU64},
    read::CapturedPacket,
};
use acks::Reports;
use away::AwayState;
use duplicates::{AT_ONCE, RecentPackets};
pub(crate) use duplicates::{fingerprint, fingerprint_of};
use id_counter::IdCounter;
use mss::{LEAST_FULL_SEGMENT, Mss};
use outstanding::{OutstandingPacket, SentPacket};
use recoup_units::{Instant, Offset, Span};
use recoup_wire::{Flags, Options, Segment, SeqNumber};
use serde::{Deserialize, Serialize};
use std::{cmp::Ordering, collections::VecDeque, mem::take, time::Duration};
use time::patience;

/// Where the data of a connection begins whose SYN was not captured. Earlier data fits below.
const MID_CONNECTION: Offset = Offset(1 << 32);

/// So many duplicate ACKs without SACK show that it is not in use.
const DUPTHRESH: u8 = 3;

/// Stands for "no window probe" and "no FIN".
const NO_OFFSET: Offset = Offset(u64::MAX);

/// Work that replays may take for each captured segment of a direction, in segments that the engines
/// visit. Seven profiles visit a new segment once each.
const WORK_PER_SEGMENT: u64 = 32;

/// Work that replays may take besides: a gap in a short capture.
const FREE_WORK: u64 = 4096;

/// Sequence numbers farther away than this do not belong to the connection, in bytes.
const MOST_DISTANCE: u64 = 1 << 30;

/// Sequence numbers that differ by less are near each other, in bytes: two numbers of a packet are near those of
/// another connection once in 4096 times.
const NEAR: u32 = 1 << 25;

/// The largest window without a window scale, in bytes: the scale may not have been captured.
const UNKNOWN_WINDOW: u64 = 1 << 16;

/// Stands for a window scale that was not captured: larger than any (RFC 7323 §2.3), so that only a window of 0 limits
/// the sender.
const UNKNOWN_SCALE: u8 = Options::MAX_WINDOW_SCALE + 1;

/// IP identifications that differ by less come from one counter.
const SAME_COUNTER: i16 = 2048;

/// A host that receives packets in batches answers this much later than others.
const HOST_DELAY: Duration = Duration::from_micros(300);

/// A receiver that is so near answers sooner or later by as much as the round trip to it.
const NEAR_RECEIVER: Duration = Duration::from_millis(2);

/// The path may delay packets by this much more than others, in a round trip of three times that or longer.
const MOST_JITTER: Duration = Duration::from_millis(20);

/// The state of one direction. With thousands of connections, most of the time goes into fetching it from
/// memory. So what each packet needs stands together, in as few cache lines as possible.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[repr(C, align(64))]
pub(crate) struct DirectionState {
    // The first cache line: what every packet of either direction needs.
    una: Offset,
    nxt: Offset,
    /// Without a SYN, the number of the first packet: `MID_CONNECTION` is a multiple of 2^32, so that it unwraps to it.
    isn: Option<SeqNumber>,
    window_edge: Offset,
    /// The highest cumulative ACK that was captured; offset 0 before. If the SYN was not captured, `una`
    /// begins at the first packet, acknowledged or not.
    acked: Offset,
    /// The end of the FIN, if one was captured.
    fin: Offset,
    advanced_at: Instant,
    window: u32,
    /// The window scale of ACKs of this direction, or `UNKNOWN_SCALE`.
    pub window_scale: u8,
    /// An ACK was captured.
    heard: bool,
    /// The last ACK is an `unconfirmed_ack`.
    is_unconfirmed: bool,
    /// Duplicate ACKs without SACK.
    plain_duplicates: u8,

    // The second: what data and the ACKs of data need.
    outstanding: VecDeque<OutstandingPacket>,
    /// How many of the `outstanding` packets are acknowledged; they are kept for late duplicates.
    acknowledged: u32,
    /// The most bytes that were outstanding at a time.
    most_outstanding: u32,
    ids: IdCounter,
    /// Facts about the way from the sender, where the capture point is away from it.
    away: Option<Box<AwayState>>,
    pub episode: Option<Box<Episode>>,

    // The third: what the packets of this direction need.
    recent: RecentPackets,

    // The fourth.
    pub segments: u64,
    pub bytes: u64,
    pub mss: Mss,
    pub duplicates: u64,
    probes: u32,
    /// Duplicates with the same IP identification as a packet captured a while before.
    pub late_copies: u32,
    pub foreign: u64,

    // The fifth begins with what each round-trip time needs.
    pub rtts: Rtts,
    /// Where its time goes.
    division: Division,

    // State that few packets need.
    pub missing: u64,
    /// In ns.
    peer_closed_at: OptionalU64,
    /// In ns.
    reset_at: OptionalU64,
    /// ACKs that came late without a retransmission.
    late_acks: Option<Box<LateAcks>>,
    /// A cumulative ACK above everything captured, which no other packet has confirmed yet.
    unconfirmed_ack: Offset,
    /// Data below was in flight when the receiver closed its window: it may have dropped what it had no room for.
    beyond_window: Offset,
    /// A byte sent into a closed window. It counts as sent once it is acknowledged.
    window_probe: Offset,
    /// The SACK blocks of its ACKs.
    reports: Reports,
    /// Steps that looking after the outstanding packets has taken.
    steps: u64,
    /// More would have cost too much, so something was left out.
    too_costly: bool,
}

#[cfg(target_pointer_width = "64")]
const _: () = {
    use std::mem::offset_of;
    assert!(offset_of!(DirectionState, outstanding) == 64);
    assert!(offset_of!(DirectionState, recent) == 128);
    assert!(offset_of!(DirectionState, segments) == 192);
    assert!(offset_of!(DirectionState, rtts) == 256);
};

impl Default for DirectionState {
    fn default() -> Self {
        Self {
            una: MID_CONNECTION,
            nxt: MID_CONNECTION,
            isn: None,
            window_edge: MID_CONNECTION,
            acked: Offset::SYN,
            fin: NO_OFFSET,
            advanced_at: Instant::ZERO,
            window: 0,
            window_scale: UNKNOWN_SCALE,
            heard: false,
            is_unconfirmed: false,
            plain_duplicates: 0,
            outstanding: VecDeque::new(),
            acknowledged: 0,
            most_outstanding: 0,
            ids: IdCounter::default(),
            away: None,
            episode: None,
            recent: RecentPackets::default(),
            segments: 0,
            bytes: 0,
            mss: Mss::default(),
            duplicates: 0,
            probes: 0,
            rtts: Rtts::default(),
            division: Division::default(),
            late_copies: 0,
            missing: 0,
            foreign: 0,
            peer_closed_at: OptionalU64::NONE,
            reset_at: OptionalU64::NONE,
            late_acks: None,
            unconfirmed_ack: NO_OFFSET,
            beyond_window: Offset::SYN,
            window_probe: NO_OFFSET,
            reports: Reports::default(),
            steps: 0,
            too_costly: false,
        }
    }
}

impl DirectionState {
    /// Whether its parts refer to what is there. `profiles`: how many are replayed.
    pub fn is_consistent(&self, profiles: usize) -> bool {
        let episode = self.episode.as_ref();
        self.acknowledged as usize <= self.outstanding.len()
            && self.rtts.is_consistent()
            && episode.is_none_or(|episode| episode.is_consistent(profiles))
    }

    /// Resets the state to nothing sent, keeping its memory.
    pub fn clear(&mut self) {
        let (mut outstanding, mut rtts) = (take(&mut self.outstanding), take(&mut self.rtts));
        outstanding.clear();
        outstanding.shrink_to(USUAL_OUTSTANDING);
        rtts.clear();
        *self = Self { outstanding, rtts, ..Self::default() };
    }

    /// Its memory on the heap, in bytes.
    #[inline]
    pub fn memory(&self) -> usize {
        let episode = self.episode.as_ref();
        let away = self.away.as_ref();
        self.outstanding.heap_size()
            + self.rtts.memory()
            + self.division.memory()
            + away.map_or(0, |away| away.memory())
            + (self.late_acks.as_ref()).map_or(0, |late| late.memory())
            + episode.map_or(0, |episode| episode.memory())
    }

    /// Reads one field of each cache line that a packet needs, to have the lines in the cache by then. The
    /// value has no meaning.
    #[inline]
    pub fn prefetch(&self) -> u64 {
        let last = self.outstanding.back();
        let first = self.outstanding.get(self.acknowledged as usize);
        let heap = last.map_or(0, |packet| packet.span.end.0)
            ^ first.map_or(0, |packet| packet.span.start.0)
            ^ self.away.as_ref().map_or(0, |away| away.prefetch())
            ^ (self.episode.as_ref()).map_or(0, |episode| episode.prefetch());
        self.una.0 ^ self.recent.prefetch() ^ self.segments ^ self.rtts.prefetch() ^ heap
    }

    /// The first SYN was sent.
    pub fn begin(&mut self, isn: SeqNumber) {
        self.isn = Some(isn);
        self.una = Offset::SYN;
        self.nxt = Offset::SYN;
        self.window_edge = Offset::DATA;
    }

    /// The initial sequence number, if the SYN was captured.
    pub fn syn(&self) -> Option<SeqNumber> {
        self.isn.filter(|_| self.nxt < MID_CONNECTION)
    }

    #[cold]
    fn episode_context<'a>(&self, context: DirectionContext<'a>) -> EpisodeContext<'a> {
        let mss = self.mss.bytes_or_usual();
        let most_work = FREE_WORK + WORK_PER_SEGMENT * self.captured_segments();
        let mut episode_context = context.episode_context(mss, self.rtts.least(), most_work);
        let unlikely = !self.heard || self.plain_duplicates >= DUPTHRESH;
        episode_context.may_sack &= context.shared.sack || !unlikely;
        episode_context.reports_usable = !self.reports.are_unusable();
        episode_context
    }

    /// About how many segments the captured packets hold: what may be spent on them grows with it.
    fn captured_segments(&self) -> u64 {
        self.segments + self.bytes / u64::from(self.mss.bytes().max(LEAST_FULL_SEGMENT))
    }

    /// Whether everything sent, including a FIN, is acknowledged.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.una >= self.fin
    }

    /// Takes a packet of this direction, which takes up `len` sequence numbers.
    #[inline]
    pub fn on_packet(&mut self, packet: &CapturedPacket, len: u32, now: Instant, context: DirectionContext<'_>) {
        let segment = &packet.segment;
        let follows_lost = self.on_arrival(&TcpFields::of(packet), len > 0, now, context);
        let isn = *self.isn.get_or_insert(segment.seq);
        let reset = segment.flags.contains(Flags::RST);
        if len == 0 || reset {
            let has_next = !segment.flags.intersects(Flags::RST.union(Flags::FIN));
            // A bare ACK usually has the number of the next byte.
            if has_next && segment.seq != isn.at(self.nxt) && context.shared.is_away(context.side) {
                self.on_next_number(packet, isn);
            }
            if self.is_recording() {
                let departure = self.departure(now, context);
                if let Some(episode) = &mut self.episode {
                    episode.on_segment(departure, segment, None);
                }
            }
            if has_next && segment.seq + 1 == isn.at(self.una) {
                let is_probe = self.is_bare_probe(segment.seq, isn, segment.payload_len);
                self.probes = self.probes.saturating_add(is_probe.into());
                if is_probe {
                    self.divide_at_probe(now, context);
                }
            }
            return;
        }
        let Some(start) = offset_near(segment.seq, isn, self.nxt) else {
            self.foreign += 1;
            return;
        };
        let span = Span::at(start, len.into());
        self.segments += 1;
        self.bytes += u64::from(segment.payload_len);
        if let Some(timeline) = &context.replay_context.timeline {
            timeline.borrow_mut().on_segment(now);
        }
        if segment.flags.contains(Flags::FIN) {
            self.fin = span.end;
        }
        if follows_lost && span.start == self.nxt {
            self.look_for_unseen_original(packet, span, context);
        }
        if span.start >= self.nxt {
            self.on_new(packet, now, span, context);
        } else {
            self.on_below_nxt(packet, now, span, context);
        }
        self.explain_if_due(now, context);
    }

    /// Lets the episode explain what it has recorded, if that is due. Without this, a direction
    /// that is never acknowledged would record without end.
    #[inline]
    pub fn explain_if_due(&mut self, now: Instant, context: DirectionContext<'_>) {
        if !self.episode.as_ref().is_some_and(|episode| episode.is_due()) {
            return;
        }
        let episode_context = self.episode_context(context);
        if let Some(episode) = &mut self.episode {
            episode.explain_recorded(&episode_context, now);
        }
    }

    /// Whether `ack` acknowledges this direction's SYN and no more data than may have followed it.
    /// If the SYN was not captured, the first number acknowledged stands for it.
    pub fn is_opened_by(&self, ack: SeqNumber) -> bool {
        let begins = |isn: SeqNumber| isn + u32::from(self.nxt < MID_CONNECTION);
        let beyond = self.isn.map(|isn| ack.0.wrapping_sub(begins(isn).0));
        beyond.is_some_and(|beyond| u64::from(beyond) < UNKNOWN_WINDOW)
    }

    /// Whether the peer expects this number first, and nothing of this direction was captured.
    pub fn is_next(&self, number: SeqNumber) -> bool {
        self.segments == 0 && self.isn == Some(number)
    }

    /// Whether a number lies near the next one of this direction; `None` if that is unknown.
    pub fn is_near(&self, number: SeqNumber) -> Option<bool> {
        let next = self.isn?.at(self.nxt);
        let distance = number.0.wrapping_sub(next.0).cast_signed();
        Some(distance.unsigned_abs() <= NEAR)
    }

    /// Where a reset's sequence number lies relative to the receiver's window; `None` if the window
    /// is unknown.
    pub fn compare_to_window(&self, seq: SeqNumber) -> Option<Ordering> {
        let at = seq.unwrap(self.isn?, self.nxt);
        let end = self.least_window_edge().max(self.nxt) + UNKNOWN_WINDOW;
        Some(match at {
            Some(at) if self.una <= at && at <= end => Ordering::Equal,
            Some(at) if at < self.una && self.una.since(at) <= MOST_DISTANCE => Ordering::Less,
            _ => Ordering::Greater,
        })
    }

    /// Whether a reset's sequence number lies beyond the window that the receiver is known to have.
    #[cold]
    pub fn is_beyond_window(&self, seq: SeqNumber) -> bool {
        let at = self.isn.and_then(|isn| seq.unwrap(isn, self.nxt));
        let is_known = self.heard && self.window_scale != UNKNOWN_SCALE;
        is_known && at.is_some_and(|at| at > self.window_edge.max(self.nxt))
    }

    /// Whether a FIN without data repeats the last one because the sender sets it on each of its ACKs, as BSD and macOS do
    /// until it is acknowledged: it acknowledges more than the packet before it, or opens another window at once after that.
    /// `peer`: the direction that it acknowledges. `since`: the time since the packet before it.
    #[cold]
    pub fn repeats_fin_on_ack(&self, segment: &Segment, peer: &Self, since: Duration) -> bool {
        let is_again = self.isn.is_some_and(|isn| isn.at(self.fin) == segment.seq + 1) && self.fin <= self.nxt;
        let acked = peer.isn.and_then(|isn| offset_near(segment.ack, isn, peer.una));
        let window = u32::from(segment.window).checked_shl(peer.window_scale.into());
        let updates = window != Some(peer.window) && since <= AT_ONCE;
        is_again
            && segment.payload_len == 0
            && segment.flags.contains(Flags::ACK)
            && !segment.flags.intersects(Flags::SYN.union(Flags::RST))
            && acked.is_some_and(|acked| acked > peer.acked || (acked == peer.acked && updates))
    }

    /// The right edge of the window. Where the scale is unknown: of the least window that the last ACK can mean.
    #[cold]
    fn least_window_edge(&self) -> Offset {
        match self.window_scale {
            UNKNOWN_SCALE => self.una + u64::from(self.window >> UNKNOWN_SCALE),
            _ => self.window_edge,
        }
    }

    /// Takes a packet above `snd_nxt`.
    #[inline]
    fn on_new(&mut self, packet: &CapturedPacket, now: Instant, span: Span, context: DirectionContext<'_>) {
        let segment = &packet.segment;
        if segment.payload_len == 1 && self.is_beyond_closed_window(span) {
            self.probes = self.probes.saturating_add(1);
            self.divide_at_probe(now, context);
            self.window_probe = span.start;
            return;
        }
        let fields = TcpFields::of(packet);
        let sent = self.begin_new(&fields, now, span, context);
        if span.start > self.nxt {
            self.missing += span.start.since(self.nxt);
            self.push(OutstandingPacket::uncaptured(Span::new(self.nxt, span.start), sent));
        }
        self.push(OutstandingPacket::first(span, sent));
        self.mss.on_payload(segment.payload_len);
        if self.is_recording() {
            self.record_new(segment, now, span, context);
        }
        self.end_new(span);
        if self.is_unconfirmed && self.unconfirmed_ack <= self.nxt {
            self.accept_unconfirmed_ack();
        }
    }

    /// A packet above `snd_nxt` is sent.
    #[inline(always)]
    fn begin_new(&mut self, fields: &TcpFields, now: Instant, span: Span, context: DirectionContext<'_>) -> SentPacket {
        self.divide_at_new(fields.flags.contains(Flags::FIN), now, span, context);
        if let Some(late) = &mut self.late_acks
            && late.nagle.may_release()
        {
            let lag = context.shared.response_time(context.side);
            let lag = if context.shared.is_away(context.side) { lag } else { 0 };
            let small = fields.payload_len < self.mss.bytes();
            late.nagle.on_new(now, lag + patience(lag, self.rtts.least_nanos()).usual, small);
        }
        SentPacket { at: now, ts: fields.timestamps.map(|ts| ts.value), ip_id: fields.ip_id }
    }

    /// The packet of `span`, above `snd_nxt`, is outstanding.
    #[inline(always)]
    fn end_new(&mut self, span: Span) {
        if let Some(away) = &mut self.away {
            away.on_new();
        }
        self.nxt = span.end;
        self.note_outstanding();
    }

    /// The connection has ended. Returns what it showed of the hosts.
    pub fn on_connection_over(&mut self, context: DirectionContext<'_>, now: Instant) -> Learned {
        // Most connections in the table have ended and wait for late packets.
        self.outstanding.shrink_to_fit();
        self.rtts.shrink();
        if let Some(away) = &mut self.away {
            away.recent_acks.shrink();
        }
        if self.episode.is_none() {
            return Learned::default();
        }
        let episode_context = self.episode_context(context);
        (self.episode.as_mut())
            .map_or_else(Learned::default, |episode| episode.on_connection_over(&episode_context, now))
    }

    /// The connection ended a while ago. Most packets that may still come need only the last ones sent.
    pub fn forget_most(&mut self) {
        let forgotten = self.outstanding.len().saturating_sub(LAST_OUTSTANDING);
        self.outstanding.drain(..forgotten);
        self.outstanding.shrink_to_fit();
        self.acknowledged = self.acknowledged.saturating_sub(forgotten as u32);
        self.rtts.forget_most();
    }

    /// This end has acknowledged the peer's FIN: the peer may no longer report duplicates.
    pub fn on_close(&mut self, now: Instant) {
        let at = first_time(&mut self.peer_closed_at, now);
        if let Some(episode) = &mut self.episode {
            episode.on_close(at);
        }
    }

    /// The end of the data that was sent.
    pub fn sent_to(&self) -> Offset {
        self.idle_at()
    }

    /// The ACKs that came late without a retransmission.
    pub fn take_late_acks(&mut self) -> Option<Box<LateAcks>> {
        self.late_acks.take()
    }

    /// Gives its frames other numbers.
    pub fn renumber(&mut self, by: Renumbering) {
        if let Some(episode) = &mut self.episode {
            episode.renumber(by);
        }
        if let Some(late) = &mut self.late_acks {
            late.renumber(by);
        }
    }

    /// After a reset, the connection begins again.
    pub fn forget_reset(&mut self) {
        self.reset_at = OptionalU64::NONE;
    }

    /// Where the data begins, if the SYN was not captured.
    pub fn begins_at(&self) -> Option<Offset> {
        (self.nxt >= MID_CONNECTION).then_some(MID_CONNECTION)
    }

    /// Either end sent a reset.
    pub fn on_reset(&mut self, now: Instant, context: DirectionContext<'_>) {
        self.divide_at_reset(now, context);
        let at = first_time(&mut self.reset_at, now);
        if let Some(episode) = &mut self.episode {
            episode.on_reset(at);
        }
    }

    /// Ends the direction and describes it in `found`. Passes each retransmission to `report`, and returns
    /// what it showed of the hosts, as [`Episode::close`] does.
    pub fn close(
        &mut self,
        context: DirectionContext<'_>,
        end: &ConnectionEnd,
        found: &mut finding::Direction,
        report: impl FnMut(ProvisionalRow),
    ) -> Learned {
        let zero_windows = self.division.zero_windows();
        found.time = self.finish_division(end, context);
        let mut episode = self.episode.take();
        if let Some(episode) = &mut episode
            && self.duplicates * 4 >= self.segments
        {
            self.duplicates += episode.mark_duplicate_syn_acks(AT_ONCE);
        }
        found.vantage = context.vantage();
        found.segments = self.segments;
        found.bytes = self.bytes;
        found.duplicates = self.duplicates;
        found.probes = self.probes.into();
        found.missing = self.missing;
        found.foreign = self.foreign;
        found.to_sender = context.shared.least_response_time(context.side);
        found.rtt = self.rtts.quantiles();
        found.too_costly = self.too_costly;
        found.unusable_sack = self.reports.are_unusable();
        found.unknown_window_scale = self.heard && self.window_scale == UNKNOWN_SCALE;
        let mut learned = Learned::default();
        if let Some(mut episode) = episode {
            let episode_context = self.episode_context(context);
            learned = episode.close(&episode_context, end, found, report);
            if episode.memory() <= MOST_POOLED {
                episode_context.pools.episodes.give(episode);
            }
        }
        if zero_windows > 0 {
            // An episode that both divide differently takes the time.
            let left = end.at.since(end.first).saturating_sub(found.lost.total());
            let closed = found.time.of(SenderState::ZeroWindow).min(left);
            found.lost.add_several(Cause::ZeroWindow, zero_windows, closed);
        }
        learned
    }
}

/// Sets `time` to `now` unless it is set. Returns it.
fn first_time(time: &mut OptionalU64, now: Instant) -> Instant {
    let first = time.get().unwrap_or(now.as_nanos());
    *time = first.into();
    Instant::from_nanos(first)
}

/// The offset of a sequence number close to `near`; `None` if it is too far away to belong to the
/// connection.
#[inline]
fn offset_near(number: SeqNumber, isn: SeqNumber, near: Offset) -> Option<Offset> {
    let distance = i64::from(number.distance_from(isn.at(near)));
    let most = MOST_DISTANCE.cast_signed();
    if !(-most..=most).contains(&distance) {
        return None;
    }
    near.0.checked_add_signed(distance).map(Offset)
}

/// The largest episode that is kept for reuse, in bytes.
const MOST_POOLED: usize = 1 << 14;

/// Packets kept of a direction that ended a while ago: the FIN and the segment before it.
const LAST_OUTSTANDING: usize = 2;

/// Packets for which a reused direction keeps memory.
const USUAL_OUTSTANDING: usize = 32;
