//! The state of one connection: its handshake, its two directions and its end.

mod attention;
mod ecn;
mod handshake;
mod messages;
mod plain;
mod succession;
mod tunnels;

use super::{
    TimedPacket,
    direction::DirectionState,
    points::{
        Mark, Pair,
        lineup::Lineup,
        sightings::{Sighting, WITHIN_A_HOST},
    },
    shared::{DirectionContext, Shared},
};
use crate::{
    ablation::{Step, reaches},
    attribute::{
        context::ReplayContext,
        episode::{ConnectionEnd, Learned},
        provisional::ProvisionalRow,
    },
    cost::{
        lost::{
            causes::name_causes,
            delays::LateAcks,
            handshake::name_ignored_ack,
            overlaps::{Life, count_once},
        },
        policer::{Beginning, find_policer},
    },
    finding::{self, CapturePoint, Closing, Opening, Renumbering, Vantage},
    hosts::HostFacts,
    memory::{HeapSize, OptionalU64, allocated},
    read::CapturedPacket,
};
use recoup_units::Instant;
use recoup_wire::{Endpoints, Flags, Segment};
use serde::{Deserialize, Serialize};
use std::{
    cmp::Ordering,
    mem::{offset_of, replace, take},
    net::IpAddr,
};

pub(crate) use attention::Attention;
use attention::BeforeWindow;
use ecn::EcnState;
use handshake::{Handshake, LastSyn, fingerprint_of_syn};
pub(crate) use succession::Owner;
use tunnels::Tunnels;

/// The state of one connection. What each packet needs comes first, as in [`DirectionState`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[repr(C, align(64))]
pub(crate) struct ConnectionState {
    // The first cache line: what every packet needs.
    pub last: Instant,
    packets: u64,
    last_frame: u64,
    /// The mark of the packets of each direction.
    pub marks: [Option<Mark>; 2],
    /// Its memory when it was last counted, in bytes.
    counted_memory: u32,
    /// Which ends know that the other one has closed.
    knows_close: [bool; 2],
    /// It was [over](Self::is_over) after its last packet.
    was_over: bool,
    /// Which ends have sent a packet.
    has_sent: [bool; 2],
    reset: Reset,
    /// A SYN came after the last ACK of the end that sends direction 0.
    in_handshake: bool,
    /// The marks of its packets do not show, or not yet, whether they belong to it.
    pub has_doubtful_packets: bool,
    /// Packets between its ends had several marks.
    pub in_pair: bool,
    pub attention: Attention,
    /// Its capture point, from the lower end, if the file holds several.
    pub point: Option<u8>,

    // The next three.
    pub shared: Shared,
    /// `None` if no packet shows anything of ECN.
    ecn: Option<Box<EcnState>>,
    /// SYNs that may open the next connection.
    pending_syns: Vec<TimedPacket>,

    directions: [DirectionState; 2],

    // State that few packets need.
    opening: Opening,
    handshake: Handshake,
    /// Distinguishes connections that used the same slot.
    pub serial: u64,
    /// The connection's number in the capture, once it has one.
    pub number: OptionalU64,
    /// The frame of its first packet in the capture.
    first_frame: u64,
    /// Counts before the time window.
    before: Option<Box<BeforeWindow>>,
    /// The tunnels of its packets; `None` if all were captured outside of tunnels.
    pub tunnels: Option<Box<Tunnels>>,
    /// When the first packet was captured, by its timestamp in the capture.
    begun: Instant,
    first: Instant,
    /// When the first FIN of each direction passed, in ns.
    fin_at: [OptionalU64; 2],
    /// The last SYN of each direction, and when it passed.
    syns: [Option<LastSyn>; 2],
    /// Which ends sent a reset.
    reset_by: [bool; 2],
}

/// Whether a reset ended a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Reset {
    #[default]
    No,
    /// The end that sends this direction (0 or 1) sent one that lay beyond the window. If the other end goes on, it ignored
    /// that.
    BeyondWindow(bool),
    Yes,
}

const _: () = {
    assert!(offset_of!(ConnectionState, shared) == 64);
    // Tens of thousands are kept, and the allocator has blocks of this size.
    assert!(size_of::<ConnectionState>() <= 1536);
};

impl ConnectionState {
    /// A connection whose first packet is this one.
    pub fn new(serial: u64, timed: &TimedPacket) -> Box<Self> {
        let packet = &timed.packet;
        let mut new = Box::new(Self {
            serial,
            number: OptionalU64::NONE,
            first_frame: packet.frame,
            before: None,
            tunnels: None,
            attention: Attention::Followed,
            last_frame: packet.frame,
            shared: Shared::new(packet.endpoints),
            ecn: None,
            marks: [None; 2],
            point: None,
            in_pair: false,
            fin_at: [OptionalU64::NONE; 2],
            syns: [None; 2],
            has_doubtful_packets: false,
            begun: packet.at,
            first: timed.time,
            last: timed.time,
            packets: 0,
            has_sent: [false; 2],
            opening: Opening::MidConnection,
            reset: Reset::No,
            reset_by: [false; 2],
            in_handshake: false,
            handshake: Handshake::default(),
            directions: [DirectionState::default(), DirectionState::default()],
            pending_syns: Vec::new(),
            counted_memory: 0,
            knows_close: [false; 2],
            was_over: false,
        });
        new.begin(serial, timed);
        new
    }

    /// Resets the state to that of a connection whose first packet is this one, keeping its memory.
    pub fn begin(&mut self, serial: u64, timed: &TimedPacket) {
        let packet = &timed.packet;
        let flags = packet.segment.flags;
        let syn = flags.contains(Flags::SYN);
        // A SYN-ACK is the second packet of a handshake.
        let endpoints = if syn && flags.contains(Flags::ACK) { packet.endpoints.reverse() } else { packet.endpoints };
        self.serial = serial;
        self.number = OptionalU64::NONE;
        self.first_frame = packet.frame;
        self.before = None;
        self.tunnels = None;
        self.attention = Attention::Followed;
        self.last_frame = packet.frame;
        self.shared = Shared::new(endpoints);
        self.ecn = None;
        self.marks = [None; 2];
        self.point = None;
        self.in_pair = false;
        self.fin_at = [OptionalU64::NONE; 2];
        self.syns = [None; 2];
        self.has_doubtful_packets = false;
        // A timestamp far ahead of its neighbours is wrong.
        self.begun = packet.at.min(timed.time);
        self.first = timed.time;
        self.last = timed.time;
        self.packets = 0;
        self.has_sent = [false; 2];
        self.opening = if syn { Opening::Handshake } else { Opening::MidConnection };
        self.reset = Reset::No;
        self.reset_by = [false; 2];
        self.in_handshake = false;
        self.counted_memory = 0;
        self.knows_close = [false; 2];
        self.was_over = false;
        self.handshake = Handshake::default();
        self.pending_syns.clear();
        self.directions.iter_mut().for_each(DirectionState::clear);
    }

    /// The direction of a packet with these endpoints; `None` if it belongs to another connection.
    #[inline]
    pub fn side(&self, packet: &Endpoints) -> Option<usize> {
        let Endpoints { src, dst } = &self.shared.endpoints;
        if packet.src == *src && packet.dst == *dst {
            return Some(0);
        }
        (packet.src == *dst && packet.dst == *src).then_some(1)
    }

    /// Takes the next packet, sent in direction `side`. Returns whether it ended the connection.
    #[inline(always)]
    pub fn on_packet(&mut self, timed: &TimedPacket, side: usize, replay_context: &ReplayContext) -> bool {
        let packet = &timed.packet;
        // Within a connection, time does not go back.
        let now = timed.time.max(self.last);
        self.last = now;
        self.packets += 1;
        self.last_frame = packet.frame;
        self.has_sent[side] = true;
        if !reaches(Step::Follow) {
            if packet.segment.flags.intersects(Flags::FIN.union(Flags::RST)) {
                self.reset = Reset::Yes;
            }
            let is_over = self.reset == Reset::Yes;
            return !replace(&mut self.was_over, is_over) && is_over;
        }
        if reaches(Step::Sample)
            && self.directions[side].is_identical_to_recent(packet, now)
            && self.is_duplicate(packet, now, side, replay_context)
        {
            return false;
        }
        let flags = packet.segment.flags;
        // Most packets begin and end nothing.
        let is_end = flags.intersects(Flags::SYN.union(Flags::RST).union(Flags::FIN));
        let was_reset = !matches!(self.reset, Reset::No);
        let mut crosses_syn = false;
        if was_reset && let Reset::BeyondWindow(sender) = self.reset {
            self.settle_doubtful_reset(sender.into(), side);
        }
        if is_end && flags.intersects(Flags::SYN.union(Flags::RST)) {
            if flags.contains(Flags::RST) && !self.is_valid_reset(&packet.segment, side) {
                let is_over = self.is_over();
                return !replace(&mut self.was_over, is_over) && is_over;
            }
            crosses_syn = flags.contains(Flags::SYN) && self.on_syn(packet, now, side);
        }
        let sent_before = self.shared.last_packet_at[side];
        if is_end && flags.contains(Flags::FIN) && self.fin_at[side].get().is_none() {
            self.fin_at[side] = now.as_nanos().into();
        }
        let mut len = packet.segment.sequence_len();
        self.shared.on_packet(packet, len, now, side);
        if self.ecn.is_some() || EcnState::concerns(packet) {
            self.ecn.get_or_insert_default().on_packet(packet, side);
        }
        let [first, second] = &mut self.directions;
        let (own, peer) = match side {
            0 => (first, second),
            _ => (second, first),
        };
        let on_ack = is_end
            && flags.contains(Flags::FIN)
            && own.repeats_fin_on_ack(&packet.segment, peer, now.since(sent_before));
        if on_ack {
            len = 0;
        }
        if flags.contains(Flags::ACK) {
            let context = DirectionContext { shared: &self.shared, replay_context, side: 1 - side };
            if let Some(took) = peer.on_ack(packet, len > 0, now, own, context) {
                self.shared.on_response(took, side);
            }
            if side == 0 && self.in_handshake {
                self.in_handshake = false;
                let refused = flags.contains(Flags::RST);
                self.handshake.on_final_ack(now, refused);
                own.begin_division(now);
                peer.begin_division(now);
            }
        }
        if !crosses_syn {
            let context = DirectionContext { shared: &self.shared, replay_context, side };
            own.on_packet(packet, len, now, context);
        }
        let mut is_reset = false;
        if is_end || was_reset {
            if flags.contains(Flags::RST) {
                self.reset = Reset::Yes;
                self.reset_by[side] = true;
            }
            if matches!(self.reset, Reset::Yes) {
                for (direction, sender) in [(&mut *own, side), (&mut *peer, 1 - side)] {
                    direction.on_reset(now, DirectionContext { shared: &self.shared, replay_context, side: sender });
                }
            }
            is_reset = !matches!(self.reset, Reset::No);
        }
        let peer_is_closed = peer.is_closed();
        if peer_is_closed && !self.knows_close[side] {
            self.knows_close[side] = true;
            own.on_close(now);
        }
        let is_over = is_reset || (peer_is_closed && own.is_closed());
        !replace(&mut self.was_over, is_over) && is_over
    }

    /// Passes the last packets of both directions to `each`, with their ends.
    #[cold]
    pub fn recent_packets(&self, now: Instant, mut each: impl FnMut(&Endpoints, Sighting)) {
        let ends = self.shared.endpoints;
        for (side, ends) in [ends, ends.reverse()].iter().enumerate() {
            let Some(mark) = self.marks[side] else {
                continue;
            };
            let syn = self.syns[side];
            let others = self.directions[side].recent_packets(now);
            let fingerprint_of_syn = syn.map(|syn| syn.fingerprint.get());
            let others = others.filter(|other| fingerprint_of_syn != Some(other.0));
            let own = syn.map(|syn| (syn.fingerprint.get(), syn.time));
            for (fingerprint, at) in own.into_iter().chain(others) {
                let sighting = Sighting {
                    fingerprint,
                    mark,
                    at,
                    syn: fingerprint_of_syn == Some(fingerprint),
                    identified: true,
                    end: None,
                    ack: None,
                };
                each(ends, sighting);
            }
        }
    }

    /// Whether a packet repeats the last SYN, later than a host forwards it. A packet with the same
    /// timestamp is not from another capture point: the file holds one capture twice.
    #[cold]
    pub fn repeats_syn(&self, timed: &TimedPacket, side: usize) -> bool {
        self.syns[side].is_some_and(|syn| {
            timed.time.nanos_since(syn.time) > WITHIN_A_HOST
                && timed.packet.at != syn.captured_at
                && fingerprint_of_syn(&timed.packet) == syn.fingerprint
        })
    }

    /// Whether it has packets that may be retransmissions.
    pub fn has_rows(&self) -> bool {
        let mut episodes = self.directions.iter().filter_map(|direction| direction.episode.as_ref());
        episodes.any(|episode| episode.last_row().is_some())
    }

    /// Data captured again later than at once, in each direction.
    pub fn late_copies(&self) -> [u32; 2] {
        self.directions.each_ref().map(|direction| direction.late_copies)
    }

    /// Counts a packet that cannot be analyzed.
    #[cold]
    pub fn leave_out(&mut self, timed: &TimedPacket) {
        self.packets += 1;
        self.last = self.last.max(timed.time);
        self.last_frame = timed.packet.frame;
    }

    /// The capture points are known now. If packets of two of them came before that, forgets them:
    /// the file begins within the connection.
    #[cold]
    pub fn settle_at_point(&mut self, pair: &Pair, lineup: &Lineup) {
        let ends = self.shared.endpoints;
        let sides = [ends, ends.reverse()].map(|ends| pair.side(&ends));
        let points = [0, 1].map(|side| {
            let mark = self.marks[side]?;
            lineup.point(sides[side], mark)
        });
        if let [Some(one), Some(other)] = points
            && one != other
        {
            self.shared = Shared::new(ends);
            self.ecn = None;
            self.handshake = Handshake::default();
            self.has_sent = [false; 2];
            self.knows_close = [false; 2];
            self.was_over = self.reset != Reset::No;
            self.directions.iter_mut().for_each(DirectionState::clear);
            self.marks[1] = None;
        }
        let point = points[0].or(points[1]);
        self.point = point.and_then(|point| u8::try_from(point).ok());
    }

    /// Whether a packet identical to a recent one is the same packet captured twice.
    #[cold]
    fn is_duplicate(
        &mut self,
        packet: &CapturedPacket,
        now: Instant,
        side: usize,
        replay_context: &ReplayContext,
    ) -> bool {
        self.shared.identical_packets += 1;
        let most = self.shared.identical_packets.saturating_mul(4) >= self.packets;
        let context = DirectionContext { shared: &self.shared, replay_context, side };
        let is_duplicate = self.directions[side].is_duplicate(packet, now, most, context);
        self.shared.syn_duplicated |= is_duplicate && self.handshake.syn_acks == 0;
        is_duplicate
    }

    /// Whether the receiver accepts a reset, as far as the capture shows: it must lie in the window
    /// (RFC 9293 §3.10.7.4) or answer the SYN (§3.10.7.3). A reset below the window is late, from
    /// an end that is gone.
    #[cold]
    fn is_valid_reset(&mut self, segment: &Segment, side: usize) -> bool {
        if self.reset == Reset::Yes {
            return true;
        }
        let place = self.directions[side].compare_to_window(segment.seq);
        let place = place.unwrap_or_else(|| {
            let other = &self.directions[1 - side];
            let answers_syn = segment.flags.contains(Flags::ACK) && other.is_opened_by(segment.ack);
            if other.syn().is_none() || answers_syn { Ordering::Equal } else { Ordering::Greater }
        });
        if place == Ordering::Equal && self.directions[side].is_beyond_window(segment.seq) {
            self.reset = Reset::BeyondWindow(side == 1);
            return false;
        }
        self.directions[side].foreign += u64::from(place == Ordering::Greater);
        place == Ordering::Equal
    }

    /// If the other end than the `sender` of a reset beyond the window goes on, it had ignored that.
    #[cold]
    fn settle_doubtful_reset(&mut self, sender: usize, side: usize) {
        if sender != side {
            self.reset = Reset::No;
            self.directions[sender].foreign += 1;
        }
    }

    /// Whether both ends have closed, or one sent a reset.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.reset != Reset::No || self.directions.iter().all(DirectionState::is_closed)
    }

    /// The connection has just become [over](Self::is_over). Passes what it showed of each host to
    /// `learned`.
    pub fn on_connection_over(&mut self, replay_context: &ReplayContext, mut learned: impl FnMut(IpAddr, HostFacts)) {
        for side in [0, 1] {
            let context = DirectionContext { shared: &self.shared, replay_context, side };
            let facts = self.directions[side].on_connection_over(context, self.last);
            pass_on(facts, &self.shared, side, &mut learned);
        }
    }

    /// It ended a while ago, so few packets will come. Frees most of what it holds on the heap.
    #[cold]
    pub fn forget_most(&mut self) {
        self.directions.iter_mut().for_each(DirectionState::forget_most);
    }

    /// How it ended, if it is over.
    pub fn closing(&self) -> Closing {
        if self.reset != Reset::No { Closing::Reset } else { Closing::Closed }
    }

    /// Whether it consists of SYNs and SYN-ACKs alone.
    pub fn is_half_open(&self) -> bool {
        let Handshake { syns, syn_acks, .. } = self.handshake;
        let duplicates: u64 = self.directions.iter().map(|d| d.duplicates).sum();
        let duplicates = duplicates + self.before.as_ref().map_or(0, |before| before.duplicates);
        self.packets == u64::from(syns) + u64::from(syn_acks) + duplicates
    }

    /// Its number or, before it has one, the frame of its first packet.
    fn id(&self) -> u64 {
        self.number.get().unwrap_or(self.first_frame)
    }

    /// The frame of its first packet.
    pub fn first_frame(&self) -> u64 {
        self.first_frame
    }

    /// Whether the recoveries of both directions refer to what is there.
    pub fn is_consistent(&self, profiles: usize) -> bool {
        let directions = self.directions.iter();
        directions.into_iter().all(|d| d.is_consistent(profiles))
    }

    /// Gives it another number, and its frames too.
    pub fn renumber(&mut self, by: Renumbering) {
        if let Some(number) = self.number.get() {
            self.number = number.saturating_add(by.connections).into();
        }
        if let Some(before) = &mut self.before {
            before.next_frame = before.next_frame.saturating_add(by.frames);
        }
        for frame in [&mut self.first_frame, &mut self.last_frame] {
            *frame = frame.saturating_add(by.frames);
        }
        for timed in &mut self.pending_syns {
            timed.packet.renumber(by);
        }
        self.directions.iter_mut().for_each(|direction| direction.renumber(by));
    }

    /// Its memory, in bytes.
    #[inline]
    pub fn memory(&self) -> usize {
        let directions = self.directions.iter().map(DirectionState::memory);
        let before = self.before.as_ref().map(|_| allocated(size_of::<BeforeWindow>()));
        allocated(size_of::<Self>())
            + directions.sum::<usize>()
            + self.pending_syns.heap_size()
            + before.unwrap_or(0)
            + self.ecn.as_ref().map_or(0, |_| allocated(size_of::<EcnState>()))
            + self.tunnels.as_ref().map_or(0, |tunnels| tunnels.memory())
    }

    /// Updates [`counted_memory`](Self::counted_memory). Returns the change.
    pub fn count_memory(&mut self) -> isize {
        let memory = u32::try_from(self.memory()).unwrap_or(u32::MAX);
        let before = replace(&mut self.counted_memory, memory);
        memory as isize - before as isize
    }

    /// Its memory when it was last counted, in bytes.
    pub fn counted_memory(&self) -> usize {
        self.counted_memory as usize
    }

    /// Frees what it holds on the heap. It must be [begun](Self::begin) again.
    pub fn trim(&mut self) {
        self.directions = Default::default();
        self.pending_syns = Vec::new();
        self.ecn = None;
    }

    /// Reads what the next packet will change, to have it in the cache by then. The value has no
    /// meaning.
    #[inline]
    pub fn prefetch(&self) -> u64 {
        if self.attention == Attention::LeftOut {
            return self.prefetch_skimmed();
        }
        let sides = self.directions.iter().map(DirectionState::prefetch);
        let own = self.packets ^ self.shared.prefetch() ^ self.pending_syns.len() as u64;
        sides.fold(own, |a, b| a ^ b)
    }

    /// Ends the connection. Appends its retransmissions to `rows`, ordered by frame. Passes what it
    /// showed of each host to `learned`, unless [`on_connection_over`](Self::on_connection_over)
    /// already has.
    pub fn close(
        &mut self,
        closing: Closing,
        replay_context: &ReplayContext,
        rows: &mut Vec<ProvisionalRow>,
        mut learned: impl FnMut(IpAddr, HostFacts),
    ) -> finding::Connection {
        let (from, was_over) = (rows.len(), self.is_over());
        let mut found = finding::Connection {
            id: self.id(),
            endpoints: self.shared.endpoints,
            opening: self.opening,
            closing,
            frames: self.first_frame..=self.last_frame,
            begun: self.begun,
            ended: self.begun.plus_nanos(self.last.nanos_since(self.first)),
            packets: self.packets + take(&mut self.pending_syns).len() as u64,
            handshake_rtt: self.handshake.rtt(),
            sack: self.shared.sack_in_use(),
            ecn: self.ecn.as_ref().and_then(|ecn| ecn.mode()),
            capture_point: CapturePoint::default(),
            tunnels: self.tunnels_if_ends_are_shared(),
            directions: Default::default(),
            quic: None,
        };
        let mut late = [None, None];
        let one_direction = self.has_sent != [true; 2];
        // Whoever sends more than SYNs was answered, and the capture does not show when.
        let only_syns = self.handshake.syn_acks == 0 && self.is_half_open();
        let had_handshake =
            self.opening == Opening::Handshake && self.directions.iter().any(|side| side.syn().is_some());
        for side in [0, 1] {
            let end = ConnectionEnd {
                connection: self.id(),
                endpoints: match side {
                    0 => self.shared.endpoints,
                    _ => self.shared.endpoints.reverse(),
                },
                first: self.first,
                opened: self.handshake.completed_at(),
                at: self.last,
                peer_sent_fin: self.fin_at[1 - side].get().map(Instant::from_nanos),
                sent_to: self.directions[side].sent_to(),
                begins_at: self.directions[side].begins_at(),
                reset_by_peer: self.reset_by[1 - side],
                was_over,
                one_direction,
                had_handshake: had_handshake && (only_syns || !one_direction),
            };
            let context = DirectionContext { shared: &self.shared, replay_context, side };
            let (direction, found) = (&mut self.directions[side], &mut found.directions[side]);
            let from = rows.len();
            late[side] = direction.take_late_acks();
            if let Some(late) = &late[side] {
                late.add_to(&mut found.lost);
                let life = Life { begun: self.begun, ended: self.begun, first: self.first };
                found.late_acks = late.longest(|at| life.captured(at));
            }
            let facts = direction.close(context, &end, found, |row| rows.push(row));
            name_causes(rows[from..].iter_mut(), &mut found.lost);
            found.policer = self.policer(side, &rows[from..], found);
            found.absent = !self.has_sent[side];
            found.ecn = self.ecn.as_ref().map_or_else(Default::default, |ecn| ecn.counts[side]);
            pass_on(facts, &self.shared, side, &mut learned);
        }
        self.settle_lost_time(&mut rows[from..], &mut found, late.each_ref().map(Option::as_deref));
        self.add_handshake(&mut rows[from..], &mut found);
        rows[from..].sort_by_key(|row| row.retransmission.frame);
        if let Some(before) = &self.before {
            before.leave_out(&mut found);
        }
        found
    }
}

impl ConnectionState {
    /// The policer that the losses of direction `side` show. `rows`: its retransmissions.
    fn policer(&self, side: usize, rows: &[ProvisionalRow], found: &finding::Direction) -> Option<finding::Policer> {
        let completed = self.handshake.completed_at();
        // A receiver does not see when a packet was sent that was lost.
        if completed == Instant::ZERO || found.vantage == Vantage::Receiver {
            return None;
        }
        let beginning = Beginning {
            isn: self.directions[side].syn()?,
            at: self.begun.plus_nanos(completed.nanos_since(self.first)),
            rtt: found.rtt?.min,
        };
        find_policer(rows.iter().map(|row| &row.retransmission), beginning)
    }

    /// Names causes that both directions show together, and counts the time once that both lost.
    fn settle_lost_time(
        &self,
        rows: &mut [ProvisionalRow],
        found: &mut finding::Connection,
        late: [Option<&LateAcks>; 2],
    ) {
        let opener = found.endpoints.src;
        let side = |row: &ProvisionalRow| usize::from(row.retransmission.endpoints.src != opener);
        let life = Life { begun: self.begun, ended: found.ended, first: self.first };
        if let Some(isn) = self.directions[0].syn()
            && self.handshake.completed_at() > Instant::ZERO
        {
            let completed = life.captured(self.handshake.completed_at());
            name_ignored_ack(rows, side, (completed, isn + 1), &mut found.directions[0].lost);
        }
        let lost = found.directions.each_mut().map(|direction| &mut direction.lost);
        count_once(rows, side, late, life, lost);
    }
}

/// Passes what direction `side` showed of the hosts at its ends to `learned`.
fn pass_on(facts: Learned, shared: &Shared, side: usize, mut learned: impl FnMut(IpAddr, HostFacts)) {
    for (host, facts) in [(side, facts.sender), (1 - side, facts.receiver)] {
        if !facts.is_empty() {
            learned(shared.sender(host), facts);
        }
    }
}
