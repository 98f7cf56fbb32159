//! The connections being followed, found by their two ends.
//!
//! Memory is bounded: a connection that is over is let go a little later, when nothing of it can come
//! any more; one that is silent, when [`Settings::idle`] has passed; of connections that never got
//! beyond their SYN there are [`MOST_HALF_OPEN`] at most, so that a flood of SYNs costs no more; and of
//! all together [`Settings::most_connections`].

use crate::analyze::{Findings, Settings};
use crate::connection::Connection;
use crate::finding::{Closing, Retransmission};
use crate::identify::{Candidates, Hosts, Lineup};
use crate::read::Packet;
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use recoup_units::Instant;
use recoup_wire::Endpoints;
use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// A connection that is over is followed for so long still: FINs are sent again, segments come late.
const LINGER: Duration = Duration::from_secs(5);

/// A SYN is answered or sent again within this (RFC 6298 §5.5 and Linux's six retries: 64 s at most).
const HALF_OPEN: Duration = Duration::from_secs(75);

/// Connections of which nothing but a SYN was seen.
const MOST_HALF_OPEN: usize = 1 << 16;

/// For so many packets one connection is looked at, whether it has long been silent.
const SWEEP: u32 = 16;

/// The connections of a capture.
#[derive(Debug)]
pub(crate) struct Connections {
    lineup: Lineup,
    idle: Duration,
    most: usize,
    hasher: RandomState,
    places: HashTable<u32>,
    slots: Vec<Option<Box<Connection>>>,
    free: Vec<u32>,
    opened: u64,
    /// What is over, and when it is let go.
    lingering: VecDeque<(Instant, u32, u64)>,
    half_open: VecDeque<(u32, u64)>,
    /// The next slot to be looked at.
    hand: usize,
    ticks: u32,
    now: Instant,
    rows: Vec<Retransmission>,
}

impl Connections {
    /// None yet.
    pub fn new(settings: &Settings) -> Self {
        Self {
            lineup: Lineup {
                candidates: match &settings.profile {
                    Some(profile) => Candidates::only(profile),
                    None => Candidates::known(),
                },
                hosts: Hosts::default(),
            },
            idle: settings.idle,
            most: settings.most_connections.max(1),
            hasher: RandomState::default(),
            places: HashTable::new(),
            slots: Vec::new(),
            free: Vec::new(),
            opened: 0,
            lingering: VecDeque::new(),
            half_open: VecDeque::new(),
            hand: 0,
            ticks: 0,
            now: Instant::ZERO,
            rows: Vec::new(),
        }
    }

    /// The next packet of the capture.
    #[inline]
    pub fn on_packet(&mut self, packet: &Packet, findings: &mut impl Findings) {
        self.now = self.now.max(packet.at);
        let hash = hash(&self.hasher, &packet.endpoints);
        let slots = &self.slots;
        let found = self.places.find(hash, |&place| {
            slots[place as usize]
                .as_ref()
                .is_some_and(|connection| is_between(&connection.endpoints, &packet.endpoints))
        });
        let place = match found.copied() {
            Some(place) if !self.is_replaced(place, packet) => place,
            Some(place) => {
                self.let_go(place, Closing::Replaced, findings);
                self.begin(hash, packet, findings)
            }
            None => self.begin(hash, packet, findings),
        };
        if let Some(connection) = &mut self.slots[place as usize] {
            let was_over = connection.is_over();
            connection.on_packet(packet, &self.lineup);
            if !was_over && connection.is_over() {
                self.lingering
                    .push_back((self.now + LINGER, place, connection.id));
            }
        }
        self.ticks += 1;
        if self.ticks >= SWEEP {
            self.ticks = 0;
            self.sweep(findings);
        }
    }

    fn is_replaced(&self, place: u32, packet: &Packet) -> bool {
        let connection = &self.slots[place as usize];
        (connection.as_ref()).is_some_and(|connection| connection.is_replaced_by(packet))
    }

    fn begin(&mut self, hash: u64, packet: &Packet, findings: &mut impl Findings) -> u32 {
        if self.half_open.len() >= MOST_HALF_OPEN {
            self.evict_half_open(findings);
        }
        if self.places.len() >= self.most {
            self.evict(findings);
        }
        let connection = Connection::new(self.opened, packet);
        self.opened += 1;
        let place = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            (self.slots.len() - 1) as u32
        });
        self.half_open.push_back((place, connection.id));
        self.slots[place as usize] = Some(Box::new(connection));
        let (slots, hasher) = (&self.slots, &self.hasher);
        self.places.insert_unique(hash, place, |&place| {
            (slots[place as usize].as_ref()).map_or(0, |c| self::hash(hasher, &c.endpoints))
        });
        place
    }

    /// Lets the oldest connection that is still only a SYN go; those that got further are no longer
    /// watched for it.
    fn evict_half_open(&mut self, findings: &mut impl Findings) {
        while let Some((place, id)) = self.half_open.pop_front() {
            let open = self.slots[place as usize].as_ref();
            let Some(open) = open.filter(|connection| connection.id == id) else {
                continue;
            };
            if open.is_half_open() {
                self.let_go(place, Closing::Evicted, findings);
            }
            if self.half_open.len() < MOST_HALF_OPEN {
                return;
            }
        }
    }

    /// Lets the longest silent of a few go.
    fn evict(&mut self, findings: &mut impl Findings) {
        let count = self.slots.len();
        let looked_at = (0..count).map(|i| (self.hand + i) % count);
        let some = looked_at.filter_map(|place| {
            let connection = self.slots[place].as_ref()?;
            Some((connection.last, place))
        });
        let oldest = some.take(32).min();
        if let Some((_, place)) = oldest {
            self.hand = (place + 1) % count;
            self.let_go(place as u32, Closing::Evicted, findings);
        }
    }

    /// Looks at what is over, and at one connection more, whether it can be let go.
    fn sweep(&mut self, findings: &mut impl Findings) {
        while let Some(&(due, place, id)) = self.lingering.front()
            && due <= self.now
        {
            self.lingering.pop_front();
            let over = self.slots[place as usize].as_ref();
            if let Some(over) = over.filter(|connection| connection.id == id) {
                let closing = over.closing();
                self.let_go(place, closing, findings);
            }
        }
        if self.slots.is_empty() {
            return;
        }
        self.hand = (self.hand + 1) % self.slots.len();
        if let Some(connection) = &self.slots[self.hand] {
            let half = connection.is_half_open();
            let patience = if half {
                self.idle.min(HALF_OPEN)
            } else {
                self.idle
            };
            if self.now.since(connection.last) > patience {
                self.let_go(self.hand as u32, Closing::Idle, findings);
            }
        }
    }

    fn let_go(&mut self, place: u32, closing: Closing, findings: &mut impl Findings) {
        let Some(connection) = self.slots[place as usize].take() else {
            return;
        };
        let hash = hash(&self.hasher, &connection.endpoints);
        if let Ok(entry) = self.places.find_entry(hash, |&other| other == place) {
            entry.remove();
        }
        self.free.push(place);
        let closing = match connection.is_over() {
            true => connection.closing(),
            false => closing,
        };
        self.rows.clear();
        let connection = connection.close(closing, &mut self.lineup, &mut self.rows);
        findings.connection(connection, &self.rows);
    }

    /// How many are being followed.
    #[cfg(test)]
    pub fn open(&self) -> usize {
        self.places.len()
    }

    /// The capture is over.
    pub fn finish(mut self, findings: &mut impl Findings) {
        for place in 0..self.slots.len() {
            self.let_go(place as u32, Closing::CaptureEnd, findings);
        }
    }
}

/// Alike for both directions.
#[inline]
fn hash(hasher: &RandomState, endpoints: &Endpoints) -> u64 {
    let end = |end: &SocketAddr| match end.ip() {
        IpAddr::V4(ip) => (u128::from(ip.to_bits()), end.port()),
        IpAddr::V6(ip) => (ip.to_bits(), end.port()),
    };
    let (a, b) = (end(&endpoints.src), end(&endpoints.dst));
    let (low, high) = if a <= b { (a, b) } else { (b, a) };
    let ports = u64::from(low.1) << 16 | u64::from(high.1);
    hasher.hash_one((low.0, high.0, ports))
}

/// Whether `packet` goes between these ends, either way.
#[inline]
fn is_between(ends: &Endpoints, packet: &Endpoints) -> bool {
    (ends.src == packet.src && ends.dst == packet.dst)
        || (ends.src == packet.dst && ends.dst == packet.src)
}
