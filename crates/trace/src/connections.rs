//! The connections being followed, found by their two ends.
//!
//! Memory is bounded: a connection that is over is let go a little later, when nothing of it can come
//! any more; one that is silent, when [`Settings::idle`] has passed; of connections that never got
//! beyond their handshake there are twice [`MOST_HALF_OPEN`] at most in each shard, so that a flood of
//! SYNs, answered or not, costs no more; and of all together [`Settings::most_connections`].
//!
//! Packets are taken in by the dozen: with thousands of connections open, each packet's is somewhere
//! else in memory, and looking up several before the first is needed lets the processor fetch them all
//! at once.

use crate::analyze::{Findings, SHARDS, Settings, Timed};
use crate::connection::{Belongs, Connection};
use crate::finding::{self, Closing, Retransmission};
use crate::identify::{Candidates, Hosts, Lineup};
use crate::replay::Score;
use crate::stock::{Shelf, Stock};
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use recoup_units::Instant;
use recoup_wire::Endpoints;
use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::hint::black_box;
use std::mem::take;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, RwLock};
use std::time::Duration;

/// A connection that is over is followed for so long still: FINs are sent again, segments come late.
const LINGER: Duration = Duration::from_secs(5);

/// A SYN is answered or sent again within this (RFC 6298 §5.5 and Linux's six retries: 64 s at most), in ns.
const HALF_OPEN: u64 = 75_000_000_000;

/// Connections of which nothing but SYNs was seen, and answers to them, in a shard. There are up to twice
/// as many until they are looked at.
const MOST_HALF_OPEN: usize = (1 << 15) / SHARDS;

/// Connections looked at after each round of packets, whether they have long been silent: with a few
/// thousand packets to a round all are in the time in which as many packets come as there are some
/// dozens of them.
const SWEPT: usize = 64;

/// Packets looked up together.
const TOGETHER: usize = 16;

/// Connections of a capture.
#[derive(Debug)]
pub(crate) struct Connections {
    lineup: Lineup,
    /// In ns.
    idle: u64,
    most: usize,
    hasher: RandomState,
    places: HashTable<Place>,
    slots: Vec<Option<Box<Connection>>>,
    free: Vec<u32>,
    /// Connections that are over.
    spare: Shelf<Connection>,
    opened: u64,
    /// Those that have no number yet, by the frame of their first packet.
    newborn: Vec<Newborn>,
    /// Those of them that are over.
    nameless: Vec<(finding::Connection, Vec<Retransmission>)>,
    /// What is over, and when it is let go.
    lingering: VecDeque<(Instant, u32, u64)>,
    half_open: VecDeque<(u32, u64)>,
    /// The next slot to be looked at.
    hand: usize,
    now: Instant,
    rows: Vec<Retransmission>,
    /// What was learned of hosts since it was last asked for.
    notes: Vec<(IpAddr, Vec<Score>)>,
}

/// Where a connection is.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Of its hash, so that others need not be looked at.
    tag: u32,
    slot: u32,
}

impl Place {
    /// Its tag, of a hash: bits the table itself does not tell by.
    fn tag(hash: u64) -> u32 {
        (hash >> 16) as u32
    }
}

/// A connection that has no number yet.
#[derive(Clone, Copy, Debug)]
struct Newborn {
    frame: u64,
    slot: u32,
    serial: u64,
}

impl Connections {
    /// None yet. Of `hosts` it reads what is known.
    pub fn new(settings: &Settings, hosts: Arc<RwLock<Hosts>>) -> Self {
        Self {
            lineup: Lineup {
                candidates: match &settings.profile {
                    Some(profile) => Candidates::only(profile),
                    None => Candidates::known(),
                },
                hosts,
                stock: Stock::default(),
            },
            idle: u64::try_from(settings.idle.as_nanos()).unwrap_or(u64::MAX),
            most: settings.most_connections.div_ceil(SHARDS).max(1),
            hasher: RandomState::default(),
            places: HashTable::new(),
            slots: Vec::new(),
            free: Vec::new(),
            spare: Shelf::default(),
            opened: 0,
            newborn: Vec::new(),
            nameless: Vec::new(),
            lingering: VecDeque::new(),
            half_open: VecDeque::new(),
            hand: 0,
            now: Instant::ZERO,
            rows: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// The next packets of the capture. Connections that begin with one of them have no number until
    /// they are [given](Self::number) one, and are not told of before.
    pub fn on_packets(&mut self, packets: &[Timed], findings: &mut impl Findings) {
        for together in packets.chunks(TOGETHER) {
            let mut found = [(0, None); TOGETHER];
            let mut warmth = 0;
            for (timed, found) in together.iter().zip(&mut found) {
                let hash = hash(&self.hasher, &timed.packet.endpoints);
                let tag = Place::tag(hash);
                let place = self.places.find(hash, |place| place.tag == tag);
                *found = (hash, place.map(|place| place.slot));
            }
            for (_, slot) in found {
                if let Some(connection) = slot.and_then(|slot| self.get(slot)) {
                    warmth ^= connection.warm();
                }
            }
            black_box(warmth);
            for (timed, (hash, slot)) in together.iter().zip(found) {
                self.on_packet(timed, hash, slot, findings);
            }
        }
    }

    fn get(&self, slot: u32) -> Option<&Connection> {
        self.slots.get(slot as usize)?.as_deref()
    }

    /// The slot of the connection between these ends, and which of its directions that is.
    fn find(&self, hash: u64, ends: &Endpoints) -> Option<(u32, usize)> {
        let tag = Place::tag(hash);
        let side = |slot| self.get(slot)?.side(ends);
        let is_it = |place: &Place| place.tag == tag && side(place.slot).is_some();
        let slot = self.places.find(hash, is_it)?.slot;
        Some((slot, side(slot)?))
    }

    /// The next packet; `slot`: perhaps its connection's.
    #[inline]
    fn on_packet(
        &mut self,
        timed: &Timed,
        hash: u64,
        slot: Option<u32>,
        findings: &mut impl Findings,
    ) {
        let ends = &timed.packet.endpoints;
        let known = slot.and_then(|slot| Some((slot, self.get(slot)?.side(ends)?)));
        let known = known.or_else(|| self.find(hash, ends));
        let (slot, side) = match known {
            Some((slot, side)) if self.goes_on(slot, timed) => (slot, side),
            Some((slot, side)) => match self.place(hash, (slot, side), timed, findings) {
                Some(place) => place,
                None => return,
            },
            None => self.begin(hash, timed, findings),
        };
        self.pass_on(slot, side, timed);
    }

    /// Whether a packet of these ends is plainly of the connection in `slot`.
    #[inline]
    fn goes_on(&self, slot: u32, timed: &Timed) -> bool {
        self.get(slot).is_some_and(|open| {
            !open.may_be_next(&timed.packet) && timed.time.nanos_since(open.last) <= self.idle
        })
    }

    /// Where a packet belongs that may be of the next connection between the same ends: slot and direction;
    /// `None`: what follows will tell.
    #[cold]
    fn place(
        &mut self,
        hash: u64,
        (slot, side): (u32, usize),
        timed: &Timed,
        findings: &mut impl Findings,
    ) -> Option<(u32, usize)> {
        let open = self.slots.get_mut(slot as usize)?.as_mut()?;
        if timed.time.nanos_since(open.last) > self.idle {
            self.let_go(slot, Closing::Idle, findings);
            return Some(self.begin(hash, timed, findings));
        }
        match open.claims(timed, side) {
            Belongs::Here => Some((slot, side)),
            Belongs::Aside => None,
            Belongs::Next(before) => {
                self.let_go(slot, Closing::Replaced, findings);
                let first = before.first().unwrap_or(timed);
                let (slot, _) = self.begin(hash, first, findings);
                for timed in &before {
                    let side = self.get(slot)?.side(&timed.packet.endpoints)?;
                    self.pass_on(slot, side, timed);
                }
                let side = self.get(slot)?.side(&timed.packet.endpoints)?;
                Some((slot, side))
            }
        }
    }

    /// The connection in `slot` gets its next packet.
    #[inline]
    fn pass_on(&mut self, slot: u32, side: usize, timed: &Timed) {
        if let Some(connection) = &mut self.slots[slot as usize] {
            let was_over = connection.is_over();
            connection.on_packet(timed, side, &self.lineup);
            if !was_over && connection.is_over() {
                let notes = &mut self.notes;
                connection.on_over(&self.lineup, |host, scores| notes.push((host, scores)));
                let until = timed.time + LINGER;
                self.lingering.push_back((until, slot, connection.serial));
            }
        }
    }

    /// A connection begins with this packet: its slot, and the packet's direction.
    #[cold]
    fn begin(&mut self, hash: u64, timed: &Timed, findings: &mut impl Findings) -> (u32, usize) {
        let packet = &timed.packet;
        if self.half_open.len() >= 2 * MOST_HALF_OPEN {
            self.thin_half_open(findings);
        }
        if self.places.len() >= self.most {
            self.evict(findings);
        }
        let serial = self.opened;
        self.opened += 1;
        let connection = match self.spare.take() {
            Some(mut used) => {
                used.begin(serial, timed);
                used
            }
            None => Connection::new(serial, timed),
        };
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            (self.slots.len() - 1) as u32
        });
        self.half_open.push_back((slot, serial));
        self.newborn.push(Newborn {
            frame: packet.frame,
            slot,
            serial,
        });
        let side = connection.side(&packet.endpoints).unwrap_or_default();
        self.slots[slot as usize] = Some(connection);
        let (slots, hasher) = (&self.slots, &self.hasher);
        let place = Place {
            tag: Place::tag(hash),
            slot,
        };
        self.places.insert_unique(hash, place, |place| {
            (slots[place.slot as usize].as_ref())
                .map_or(0, |c| self::hash(hasher, &c.shared.endpoints))
        });
        (slot, side)
    }

    /// The frames of the first packets of those that have no number yet.
    pub fn newborn(&self) -> impl Iterator<Item = u64> {
        self.newborn.iter().map(|newborn| newborn.frame)
    }

    /// Gives those their numbers: `number` is told the frame.
    pub fn number(&mut self, number: impl Fn(u64) -> u64, findings: &mut impl Findings) {
        for newborn in self.newborn.drain(..) {
            let open = self.slots[newborn.slot as usize].as_mut();
            if let Some(open) = open.filter(|open| open.serial == newborn.serial) {
                open.number = Some(number(newborn.frame));
            }
        }
        for (mut connection, mut rows) in self.nameless.drain(..) {
            // Till now the frame stood for the number.
            connection.id = number(connection.id);
            for row in &mut rows {
                row.connection = connection.id;
            }
            findings.connection(connection, &rows);
        }
    }

    /// What was learned of hosts since this was last asked.
    pub fn notes(&mut self) -> impl Iterator<Item = (IpAddr, Vec<Score>)> {
        self.notes.drain(..)
    }

    /// Forgets those that got beyond their handshake; lets the oldest of the others go, if there are too
    /// many.
    #[cold]
    fn thin_half_open(&mut self, findings: &mut impl Findings) {
        let mut half_open = take(&mut self.half_open);
        half_open.retain(|&(slot, serial)| {
            let open = self.get(slot).filter(|open| open.serial == serial);
            open.is_some_and(Connection::is_half_open)
        });
        while half_open.len() > MOST_HALF_OPEN
            && let Some((slot, _)) = half_open.pop_front()
        {
            self.let_go(slot, Closing::Evicted, findings);
        }
        self.half_open = half_open;
    }

    /// Lets the longest silent of a few go.
    fn evict(&mut self, findings: &mut impl Findings) {
        let count = self.slots.len();
        let looked_at = (0..count).map(|i| (self.hand + i) % count);
        let some = looked_at.filter_map(|slot| {
            let connection = self.slots[slot].as_ref()?;
            Some((connection.last, slot))
        });
        let oldest = some.take(32).min();
        if let Some((_, slot)) = oldest {
            self.hand = (slot + 1) % count;
            self.let_go(slot as u32, Closing::Evicted, findings);
        }
    }

    /// Packets up to `now` have been taken in. Looks at what is over, and at some connections more,
    /// whether they can be let go.
    pub fn sweep(&mut self, now: Instant, findings: &mut impl Findings) {
        self.now = now;
        while let Some(&(due, slot, serial)) = self.lingering.front()
            && due <= now
        {
            self.lingering.pop_front();
            let Some(over) = self.get(slot).filter(|over| over.serial == serial) else {
                continue;
            };
            let closing = over.closing();
            // What comes that late is traffic that goes on: it is still of this connection.
            if now.since(over.last) < LINGER / 2 {
                let until = over.last + LINGER;
                self.lingering.push_back((until, slot, serial));
            } else {
                self.let_go(slot, closing, findings);
            }
        }
        for _ in 0..self.slots.len().min(SWEPT) {
            self.hand = (self.hand + 1) % self.slots.len();
            if self.is_silent(self.hand) {
                self.let_go(self.hand as u32, Closing::Idle, findings);
            }
        }
    }

    /// Whether nothing more is expected of the connection in `slot`.
    fn is_silent(&self, slot: usize) -> bool {
        let Some(connection) = &self.slots[slot] else {
            return false;
        };
        let patience = match connection.is_half_open() {
            true => self.idle.min(HALF_OPEN),
            false => self.idle,
        };
        self.now.nanos_since(connection.last) > patience
    }

    fn let_go(&mut self, slot: u32, closing: Closing, findings: &mut impl Findings) {
        let Some(mut connection) = self.slots[slot as usize].take() else {
            return;
        };
        let hash = hash(&self.hasher, &connection.shared.endpoints);
        if let Ok(entry) = self.places.find_entry(hash, |place| place.slot == slot) {
            entry.remove();
        }
        self.free.push(slot);
        let closing = match connection.is_over() {
            true => connection.closing(),
            false => closing,
        };
        self.rows.clear();
        let notes = &mut self.notes;
        let noted = |host, scores| notes.push((host, scores));
        let found = connection.close(closing, &self.lineup, &mut self.rows, noted);
        match connection.number {
            Some(_) => findings.connection(found, &self.rows),
            None => self.nameless.push((found, self.rows.clone())),
        }
        self.spare.give(connection);
    }

    /// How many are being followed.
    #[cfg(test)]
    pub fn open(&self) -> usize {
        self.places.len()
    }

    /// The capture is over. All have their numbers.
    pub fn finish(&mut self, findings: &mut impl Findings) {
        for slot in 0..self.slots.len() {
            let closing = match self.is_silent(slot) {
                true => Closing::Idle,
                false => Closing::CaptureEnd,
            };
            self.let_go(slot as u32, closing, findings);
        }
    }
}

/// Alike for both directions.
#[inline]
fn hash(hasher: &RandomState, endpoints: &Endpoints) -> u64 {
    match (endpoints.src, endpoints.dst) {
        (SocketAddr::V4(src), SocketAddr::V4(dst)) => {
            let end = |ip: u32, port: u16| u64::from(ip) << 16 | u64::from(port);
            let src = end(src.ip().to_bits(), src.port());
            let dst = end(dst.ip().to_bits(), dst.port());
            hasher.hash_one((src.min(dst), src.max(dst)))
        }
        (src, dst) => {
            let end = |end: SocketAddr| match end.ip() {
                IpAddr::V4(ip) => (ip.to_ipv6_mapped().to_bits(), end.port()),
                IpAddr::V6(ip) => (ip.to_bits(), end.port()),
            };
            let (src, dst) = (end(src), end(dst));
            hasher.hash_one((src.min(dst), src.max(dst)))
        }
    }
}
