//! The open connections, found by their endpoints.
//!
//! Memory is bounded by [`Limits`]. A connection that has ended is removed a little later, when its
//! late packets have come; a silent one, after [`Limits::idle`]. At most twice
//! [`Limits::most_half_open`] half-open connections are kept, so a SYN flood costs no more memory,
//! answered or not.
//!
//! Packets are taken connection by connection. With thousands of connections, each needs another part
//! of memory. Looking up several at once lets the processor fetch all of those parts at the same time.

mod asleep;
mod capture_points;
mod check;
mod groups;
mod look;
mod merge;
mod removal;
mod tunnels;

use super::{
    TimedPacket,
    connection::{Attention, ConnectionState, Owner},
    ends::ConnectionEnds,
    held::Held,
    packed::PackedPackets,
    points::{Mark, Pair},
};
use crate::{
    ablation::{Step, reaches},
    analyze::ConnectionFilter,
    attribute::{
        context::ReplayContext,
        pool::Pool,
        provisional::{ChangedHosts, ProvisionalRow},
    },
    finding::{self, Closing, Findings},
    hosts::{HostFacts, KnownHosts},
    read::{LeftOut, Message},
};
use asleep::Asleep;
use capture_points::CapturePoints;
pub(crate) use capture_points::Separation;
use foldhash::fast::RandomState;
use groups::{Group, Groups};
use hashbrown::HashTable;
pub use look::Look;
use look::Looks;
use recoup_units::Instant;
use recoup_wire::Endpoints;
use serde::{Deserialize, Serialize};
use std::{collections::VecDeque, hint::black_box, mem::take, net::IpAddr, sync::Arc, time::Duration};

/// How long a connection is kept after its end, for retransmitted FINs and late segments.
const LINGER: Duration = Duration::from_secs(5);

/// Connections looked up together.
const BATCH: usize = 16;

/// When a table removes connections whose end it has not seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// A connection that is silent for longer is over.
    pub idle: Duration,
    /// The most open connections. Beyond, the longest silent of a few is removed for each new one.
    pub most_open: usize,
    /// Half-open connections that are kept when there are more than twice as many.
    pub most_half_open: usize,
}

/// Cost of keeping a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeepingCost {
    /// When its last packet came.
    pub last: Instant,
    pub first_frame: u64,
    /// Whether it has ended and waits for late packets.
    pub over: bool,
    pub slot: u32,
    /// In bytes.
    pub memory: usize,
}

/// The lookup table of open connections. What is not saved, a resumed analysis makes anew.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct ConnectionTable {
    #[serde(skip)]
    replay_context: ReplayContext,
    /// Which connections are followed; `None`: all.
    #[serde(skip)]
    filter: Option<Arc<dyn ConnectionFilter>>,
    /// When the time begins that is analyzed. Every round says so.
    #[serde(skip)]
    window_begins: Instant,
    /// Connections and packets that the filter left out.
    left_out: LeftOut,
    /// In ns.
    idle: u64,
    most_open: usize,
    most_half_open: usize,
    #[serde(skip)]
    hasher: RandomState,
    #[serde(skip)]
    entries: HashTable<TableEntry>,
    slots: Vec<Option<Box<ConnectionState>>>,
    free: Vec<u32>,
    /// States of removed connections, for reuse.
    #[serde(skip)]
    closed: Pool<ConnectionState>,
    next_serial: u64,
    /// Open connections without a number.
    unnumbered: Vec<Unnumbered>,
    /// Removed connections without a number.
    unnumbered_closed: Vec<(finding::Connection, Vec<ProvisionalRow>)>,
    held: Held,
    /// Ended connections, and when each is removed.
    lingering: VecDeque<(Instant, u32, u64)>,
    /// Lingering connections, from the oldest on, that have forgotten most packets. A resumed analysis looks again.
    #[serde(skip)]
    forgetful: usize,
    half_open: VecDeque<(u32, u64)>,
    /// The slot that is checked next.
    cursor: usize,
    /// The connection in each slot is not silent for too long before this time, as far as known: so it need
    /// not be looked at.
    #[serde(skip)]
    not_silent_until: Vec<Instant>,
    /// The packets that are being taken.
    #[serde(skip)]
    groups: Groups,
    now: Instant,
    /// Facts about hosts that were not [passed on](Self::pass_on_host_facts) yet.
    host_facts: Vec<(IpAddr, HostFacts)>,
    /// The memory of all connections, in bytes.
    memory: usize,
    points: CapturePoints,
    /// Which connections packets came of, if they are [looked at](Self::look).
    #[serde(skip)]
    looks: Option<Box<Looks>>,
    /// Silent connections, packed. They have slots, which hold nothing else.
    #[serde(skip)]
    asleep: Asleep,
}

/// Where a connection is.
#[derive(Clone, Copy, Debug)]
struct TableEntry {
    /// Part of its hash: most other connections differ in it.
    tag: u32,
    slot: u32,
}

impl TableEntry {
    /// The tag of a hash: bits that the hash table does not use.
    fn tag(hash: u64) -> u32 {
        (hash >> 16) as u32
    }
}

/// A connection that no other shares its ends with, taken out of its slot.
#[derive(Debug)]
struct OnlyConnection {
    slot: u32,
    /// Whether the upper end sends direction 0.
    opened_by_upper: bool,
    connection: Box<ConnectionState>,
}

/// A connection without a number.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Unnumbered {
    frame: u64,
    slot: u32,
    serial: u64,
}

impl ConnectionTable {
    /// An empty table.
    pub fn new(limits: Limits, filter: Option<Arc<dyn ConnectionFilter>>, replay_context: ReplayContext) -> Self {
        let mut table = Self { replay_context, filter, ..Self::default() };
        table.set_limits(limits);
        table
    }

    fn set_limits(&mut self, Limits { idle, most_open, most_half_open }: Limits) {
        self.idle = u64::try_from(idle.as_nanos()).unwrap_or(u64::MAX);
        (self.most_open, self.most_half_open) = (most_open, most_half_open);
    }

    /// Makes anew what a saved table lacks.
    pub fn resume(&mut self, limits: Limits, filter: Option<Arc<dyn ConnectionFilter>>, replay_context: ReplayContext) {
        self.set_limits(limits);
        self.replay_context = replay_context;
        self.filter = filter;
        self.memory = 0;
        self.entries.clear();
        for slot in 0..self.slots.len() {
            if let Some(connection) = &self.slots[slot] {
                self.memory = self.memory.saturating_add(connection.counted_memory());
                let hash = hash(&self.hasher, &connection.shared.endpoints);
                self.add_entry(hash, slot as u32);
            }
        }
    }

    /// Takes the next packets of the capture, those of each connection together: its state is then
    /// fetched from memory once, however many they are. Connections that begin here get a
    /// [number](Self::number) later, and are reported only then.
    pub fn on_packets(&mut self, packets: &PackedPackets, findings: &mut impl Findings) {
        let lingered = self.lingering.len();
        let mut groups = take(&mut self.groups);
        // The order of all packets distinguishes the capture points of a merged file.
        groups.group(packets, &self.hasher, !self.points.is_empty());
        let mut room = TimedPacket::default();
        for batch in groups.groups().chunks(BATCH) {
            let mut slots = [None; BATCH];
            for (slot, group) in slots.iter_mut().zip(batch) {
                if !self.asleep.is_empty() {
                    self.wake_all_of(group.hash);
                }
                *slot = self.slot_of(group.hash);
            }
            let open = slots.iter().filter_map(|slot| self.get((*slot)?));
            black_box(open.fold(0, |sum, connection| sum ^ connection.prefetch()));
            for (group, slot) in batch.iter().zip(slots) {
                let mut only = self.take_only(slot, group);
                let mut before = None;
                let mut uneventful = only.as_ref().is_some_and(|only| self.is_uneventful(&only.connection));
                for (index, from_upper) in groups.members(group) {
                    if uneventful
                        && let Some(only) = &mut only
                        && let Some(plain) = packets.plain(index)
                        && only.connection.on_plain_packet(
                            &plain,
                            usize::from(from_upper != only.opened_by_upper),
                            self.idle,
                            &self.replay_context,
                        )
                    {
                        continue;
                    }
                    packets.unpack(index, before == Some(from_upper), &mut room);
                    before = Some(from_upper);
                    only = self.on_member(&room, from_upper, group, only, findings);
                    uneventful = only.as_ref().is_some_and(|only| self.is_uneventful(&only.connection));
                }
                if let Some(only) = only {
                    self.put_back(only);
                }
            }
        }
        self.groups = groups;
        let ended = &mut self.lingering.make_contiguous()[lingered..];
        ended.sort_by_key(|(until, ..)| *until);
    }

    /// Whether plain packets of a connection may go the short way.
    #[inline]
    fn is_uneventful(&self, connection: &ConnectionState) -> bool {
        reaches(Step::Sample) && self.replay_context.timeline.is_none() && connection.is_uneventful()
    }

    /// Takes the next packet of a group; `only` is its only connection, if known. Returns that.
    #[inline]
    fn on_member(
        &mut self,
        timed: &TimedPacket,
        from_upper: bool,
        group: &Group,
        only: Option<OnlyConnection>,
        findings: &mut impl Findings,
    ) -> Option<OnlyConnection> {
        let hit = match only {
            Some(mut only) => {
                let side = usize::from(from_upper != only.opened_by_upper);
                if self.is_expected(&only.connection, side, timed) {
                    self.deliver(only.slot, &mut only.connection, side, timed);
                    return Some(only);
                }
                Some((self.put_back(only), side))
            }
            None => None,
        };
        self.on_packet(timed, group.hash, hit, findings);
        self.take_only(self.slot_of(group.hash), group)
    }

    /// The slot of what is probably the connection with this hash.
    fn slot_of(&self, hash: u64) -> Option<u32> {
        let tag = TableEntry::tag(hash);
        let entry = self.entries.find(hash, |entry| entry.tag == tag);
        entry.map(|entry| entry.slot)
    }

    /// Takes the connection out of `slot`, if its ends are those of the group and no other connection has the same.
    #[inline]
    fn take_only(&mut self, slot: Option<u32>, group: &Group) -> Option<OnlyConnection> {
        let slot = slot?;
        let place = self.slots.get_mut(slot as usize)?;
        let (ends, opened_by_upper) = ConnectionEnds::of(&place.as_ref()?.shared.endpoints);
        let connection = place.take_if(|open| ends == group.ends && !open.in_pair)?;
        Some(OnlyConnection { slot, opened_by_upper, connection })
    }

    /// Puts a connection back into its slot, and counts its memory. Returns the slot.
    #[inline]
    fn put_back(&mut self, only: OnlyConnection) -> u32 {
        let OnlyConnection { slot, mut connection, .. } = only;
        self.memory = self.memory.saturating_add_signed(connection.count_memory());
        self.slots[slot as usize] = Some(connection);
        self.touch(slot);
        slot
    }

    fn get(&self, slot: u32) -> Option<&ConnectionState> {
        self.slots.get(slot as usize)?.as_deref()
    }

    /// The first slot of a connection between these ends, and the packet's direction.
    fn find(&self, hash: u64, ends: &Endpoints) -> Option<(u32, usize)> {
        let tag = TableEntry::tag(hash);
        let entries = self.entries.iter_hash(hash);
        let slots = entries.filter(|entry| entry.tag == tag).map(|entry| entry.slot);
        let found = slots.filter_map(|slot| Some((slot, self.get(slot)?.side(ends)?)));
        found.min()
    }

    /// Whether a packet certainly belongs to a connection, and was captured where that was.
    #[inline]
    fn is_expected(&self, open: &ConnectionState, side: usize, timed: &TimedPacket) -> bool {
        timed.packet.message.is_none() && is_at_point_of(open, side, timed) && self.is_next_of(open, timed)
    }

    /// Takes a packet, which may begin or end a connection; `hit` is where its only connection is, if known.
    #[inline(never)]
    fn on_packet(&mut self, timed: &TimedPacket, hash: u64, hit: Option<(u32, usize)>, findings: &mut impl Findings) {
        let mut hit = hit.or_else(|| self.find(hash, &timed.packet.endpoints));
        let in_network;
        let mut timed = timed;
        if self.tunnels_matter(hit, timed) {
            let network;
            (network, hit) = self.in_network(hash, timed);
            in_network = TimedPacket { network, ..*timed };
            timed = &in_network;
        }
        match timed.packet.message {
            None => {}
            Some(Message::PathMtu(_)) => return self.on_path_mtu(timed, hit),
            Some(Message::Copy) => return self.on_copy(timed, hash),
        }
        if !self.is_at_its_point(hit, timed) {
            hit = self.place(hash, hit, timed, findings);
            if hit.is_none() {
                return;
            }
        }
        let (slot, side) = match hit {
            Some((slot, side)) if self.continues(slot, timed) => (slot, side),
            Some((slot, side)) => match self.locate(hash, (slot, side), timed, findings) {
                Some(place) => place,
                None => return,
            },
            None => self.begin(hash, timed, findings),
        };
        self.deliver_one(slot, side, timed);
    }

    /// Whether the connection was captured where the packet was, or is not open yet.
    #[inline]
    fn is_at_its_point(&self, hit: Option<(u32, usize)>, timed: &TimedPacket) -> bool {
        match hit.and_then(|(slot, side)| Some((self.get(slot)?, side))) {
            Some((open, side)) => is_at_point_of(open, side, timed),
            None => self.points.is_empty(),
        }
    }

    /// Passes an ICMP message to the connection of the segment that it quotes.
    #[cold]
    fn on_path_mtu(&mut self, timed: &TimedPacket, hit: Option<(u32, usize)>) {
        if let Some((slot, side)) = hit
            && let Some(connection) = &mut self.slots[slot as usize]
        {
            connection.on_path_mtu(timed, side, &self.replay_context);
        }
    }

    /// Tells a connection that another program sent a copy of one of its segments, at each point where it was captured.
    #[cold]
    fn on_copy(&mut self, timed: &TimedPacket, hash: u64) {
        for (slot, side) in self.between(hash, &timed.packet.endpoints) {
            if let Some(connection) = &mut self.slots[slot as usize] {
                connection.on_copy(&timed.packet, side);
            }
        }
    }

    /// Whether a packet certainly belongs to the connection in `slot`.
    #[inline]
    fn continues(&self, slot: u32, timed: &TimedPacket) -> bool {
        self.get(slot).is_some_and(|open| self.is_next_of(open, timed))
    }

    /// Whether a packet certainly belongs to a connection with its ends.
    #[inline]
    fn is_next_of(&self, open: &ConnectionState, timed: &TimedPacket) -> bool {
        !open.may_open_next(&timed.packet) && timed.time.nanos_since(open.last) <= self.idle
    }

    /// The slot and direction of a packet that may open the next connection between the same ends;
    /// `None` while that is undecided.
    #[cold]
    fn locate(
        &mut self,
        hash: u64,
        (slot, side): (u32, usize),
        timed: &TimedPacket,
        findings: &mut impl Findings,
    ) -> Option<(u32, usize)> {
        let open = self.slots.get_mut(slot as usize)?.as_mut()?;
        if timed.time.nanos_since(open.last) > self.idle {
            return Some(self.replace(hash, slot, Closing::Idle, timed, findings));
        }
        if open.point.is_none() && !open.in_pair && open.repeats_syn(timed, side) {
            self.begin_hold(hash, Pair::in_network(timed), timed, findings);
            return None;
        }
        match open.owner_of(timed, side) {
            Owner::This => Some((slot, side)),
            Owner::Undecided => None,
            Owner::Next(before) => {
                let first = before.first().unwrap_or(timed);
                let (slot, _) = self.replace(hash, slot, Closing::Replaced, first, findings);
                for timed in &before {
                    let side = self.get(slot)?.side(&timed.packet.endpoints)?;
                    self.deliver_one(slot, side, timed);
                }
                let side = self.get(slot)?.side(&timed.packet.endpoints)?;
                Some((slot, side))
            }
        }
    }

    /// Passes a packet to a connection, whose place is `slot`. The caller counts its memory.
    #[inline(always)]
    fn deliver(&mut self, slot: u32, connection: &mut ConnectionState, side: usize, timed: &TimedPacket) {
        let ends = match connection.attention {
            Attention::Followed => connection.on_packet(timed, side, &self.replay_context),
            Attention::LeftOut => {
                self.left_out.packets += u64::from(timed.time >= self.window_begins);
                connection.skim(timed, side)
            }
            Attention::BeforeWindow => {
                if timed.time >= self.window_begins {
                    connection.enter_window(timed);
                }
                connection.on_packet(timed, side, &self.replay_context)
            }
        };
        if ends {
            self.on_connection_over(slot, connection, timed.time);
        }
    }

    /// Attention for a connection that begins with this packet.
    fn attention(&self, first: &TimedPacket) -> Attention {
        let ends = &first.packet.endpoints;
        match &self.filter {
            Some(filter) if !filter.selects(ends) => Attention::LeftOut,
            _ if first.time < self.window_begins => Attention::BeforeWindow,
            _ => Attention::Followed,
        }
    }

    /// The time that is analyzed begins at `begins`.
    pub fn set_window(&mut self, begins: Instant) {
        self.window_begins = begins;
    }

    /// Connections and packets that the filter left out.
    pub fn left_out(&self) -> LeftOut {
        self.left_out
    }

    /// Delivers a packet to the connection in `slot`, and counts the memory.
    #[inline(never)]
    fn deliver_one(&mut self, slot: u32, side: usize, timed: &TimedPacket) {
        if let Some(mut connection) = self.slots[slot as usize].take() {
            self.deliver(slot, &mut connection, side, timed);
            self.memory = self.memory.saturating_add_signed(connection.count_memory());
            self.slots[slot as usize] = Some(connection);
            self.touch(slot);
        }
    }

    /// The connection whose place is `slot` has just ended.
    #[cold]
    fn on_connection_over(&mut self, slot: u32, connection: &mut ConnectionState, now: Instant) {
        let host_facts = &mut self.host_facts;
        connection.on_connection_over(&self.replay_context, |host, facts| host_facts.push((host, facts)));
        self.lingering.push_back((now + LINGER, slot, connection.serial));
    }

    /// Adds a connection that begins with this packet. Returns its slot and the packet's direction.
    #[cold]
    fn begin(&mut self, hash: u64, timed: &TimedPacket, findings: &mut impl Findings) -> (u32, usize) {
        let packet = &timed.packet;
        if self.half_open.len() >= 2 * self.most_half_open {
            self.thin_half_open(findings);
        }
        if self.entries.len() >= self.most_open {
            self.evict_one(findings);
        }
        let serial = self.next_serial;
        self.next_serial += 1;
        let mut connection = match self.closed.take() {
            Some(mut used) => {
                used.begin(serial, timed);
                used
            }
            None => ConnectionState::new(serial, timed),
        };
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            (self.slots.len() - 1) as u32
        });
        self.half_open.push_back((slot, serial));
        self.unnumbered.push(Unnumbered { frame: packet.frame, slot, serial });
        let side = connection.side(&packet.endpoints).unwrap_or_default();
        connection.attention = self.attention(timed);
        connection.marks[side] = Some(Mark::of(packet));
        connection.begin_in_tunnel(side, timed);
        let in_tunnel = connection.tunnels.is_some();
        self.slots[slot as usize] = Some(connection);
        self.add_entry(hash, slot);
        if in_tunnel {
            self.note_shared_ends(hash, &packet.endpoints);
        }
        (slot, side)
    }

    /// Adds the connection in `slot` to the lookup table.
    fn add_entry(&mut self, hash: u64, slot: u32) {
        let (slots, asleep, hasher) = (&self.slots, &self.asleep, &self.hasher);
        let entry = TableEntry { tag: TableEntry::tag(hash), slot };
        self.entries.insert_unique(hash, entry, |&TableEntry { slot, .. }| {
            let ends = slots[slot as usize].as_ref().map(|open| &open.shared.endpoints);
            ends.or_else(|| asleep.ends(slot)).map_or(0, |ends| self::hash(hasher, ends))
        });
    }

    /// The frames in which connections without a number begin.
    pub fn unnumbered(&self) -> impl Iterator<Item = u64> {
        self.unnumbered.iter().map(|unnumbered| unnumbered.frame)
    }

    /// Numbers those connections; `number` maps the frame to the number.
    pub fn number(&mut self, number: impl Fn(u64) -> u64, findings: &mut impl Findings) {
        for unnumbered in self.unnumbered.drain(..) {
            let open = self.slots[unnumbered.slot as usize].as_mut();
            if let Some(open) = open.filter(|open| open.serial == unnumbered.serial) {
                open.number = number(unnumbered.frame).into();
            }
        }
        for (mut connection, mut rows) in self.unnumbered_closed.drain(..) {
            // The frame stood in for the number.
            connection.id = number(connection.id);
            for row in &mut rows {
                row.retransmission.connection = connection.id;
            }
            let hosts = self.replay_context.hosts();
            let candidates = &self.replay_context.candidates;
            self.held.take(connection, rows, &hosts, candidates, findings);
        }
    }

    /// Facts about hosts that were not [passed on](Self::pass_on_host_facts) yet.
    pub fn host_facts_mut(&mut self) -> &mut Vec<(IpAddr, HostFacts)> {
        &mut self.host_facts
    }

    /// Passes on what connections showed of hosts. Adds those that are now proven to report duplicates
    /// or not to `changed`.
    pub fn pass_on_host_facts(&mut self, hosts: &mut KnownHosts, changed: &mut ChangedHosts) {
        for (host, facts) in self.host_facts.drain(..) {
            let before = hosts.duplicates_of(host).proof();
            hosts.learn(host, &facts, &self.replay_context.candidates);
            let now = hosts.duplicates_of(host);
            if now.proof() != before {
                changed.insert(host, now);
            }
        }
    }

    /// More became known of hosts: revises the findings that depend on it.
    pub fn revise(&mut self, changed: &ChangedHosts, findings: &mut impl Findings) {
        self.touch_receivers(changed);
        self.held.revise(changed, findings);
    }

    /// The memory of all connections, in bytes.
    pub fn memory(&self) -> usize {
        self.memory
    }

    /// Cost of keeping each open connection.
    pub fn keeping_costs(&self) -> impl Iterator<Item = KeepingCost> {
        self.awake_costs().chain(self.asleep.keeping_costs())
    }

    fn awake_costs(&self) -> impl Iterator<Item = KeepingCost> {
        self.slots.iter().enumerate().filter_map(|(slot, open)| {
            let open = open.as_ref()?;
            Some(KeepingCost {
                last: open.last,
                first_frame: open.first_frame(),
                over: open.is_over(),
                slot: slot as u32,
                memory: open.counted_memory(),
            })
        })
    }

    /// Removes the connection in `slot` to limit memory.
    pub fn evict(&mut self, slot: u32, findings: &mut impl Findings) {
        self.close(slot, Closing::Evicted, findings);
    }

    /// Connections were removed to limit memory: frees what referred to them.
    pub fn forget_evicted(&mut self) {
        let mut lingering = take(&mut self.lingering);
        lingering.retain(|&(_, slot, serial)| self.get(slot).is_some_and(|open| open.serial == serial));
        self.lingering = lingering;
        self.forgetful = 0;
    }

    /// No more packets will come: passes on those held back.
    pub fn release_all(&mut self, findings: &mut impl Findings) {
        self.release_held(true, findings);
    }

    /// Whether the capture points of connections could be told apart.
    pub fn separation(&self) -> Separation {
        self.points.separation
    }

    /// The number of open connections.
    pub fn open(&self) -> usize {
        self.entries.len()
    }

    /// Passes on the connections whose senders are settled by now.
    fn settle(&mut self, findings: &mut impl Findings) {
        let hosts = self.replay_context.hosts();
        let candidates = &self.replay_context.candidates;
        self.held.settle(&hosts, candidates, findings);
    }

    /// All connections are closed, and all is known of their hosts.
    pub fn pass_on_held(&mut self, findings: &mut impl Findings) {
        let hosts = self.replay_context.hosts();
        let candidates = &self.replay_context.candidates;
        self.held.finish(&hosts, candidates, findings);
    }

    /// The capture is over: closes up to `most` connections, as [`finish`](Self::finish) does.
    pub fn close_some(&mut self, most: usize, findings: &mut impl Findings) {
        let is_open = |slot: &usize| self.last_of(*slot).is_some();
        let some: Vec<usize> = (0..self.slots.len()).filter(is_open).take(most).collect();
        some.into_iter().for_each(|slot| self.close_last(slot, findings));
    }

    fn close_last(&mut self, slot: usize, findings: &mut impl Findings) {
        let closing = if self.is_silent(slot) { Closing::Idle } else { Closing::CaptureEnd };
        self.close(slot as u32, closing, findings);
    }

    /// The capture is over, and all connections have their numbers. Closes them.
    pub fn finish(&mut self, findings: &mut impl Findings) {
        for slot in 0..self.slots.len() {
            self.close_last(slot, findings);
        }
        if let Some(timeline) = &self.replay_context.timeline {
            findings.timeline(timeline.take());
        }
    }
}

/// The hash is the same for both directions.
fn hash(hasher: &RandomState, endpoints: &Endpoints) -> u64 {
    ConnectionEnds::of(endpoints).0.hash(hasher)
}

/// Whether a connection was captured where a packet of direction `side` was.
#[inline]
fn is_at_point_of(open: &ConnectionState, side: usize, timed: &TimedPacket) -> bool {
    open.marks[side] == Some(Mark::of(&timed.packet)) && !open.has_doubtful_packets
}
