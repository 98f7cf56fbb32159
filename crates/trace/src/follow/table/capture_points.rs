//! Keeps a connection of a merged file apart by capture point: one [`ConnectionState`] for each.
//!
//! The first packets of a direction set its [`Mark`]. A packet with another mark may be a copy from
//! another capture point, so from there on the packets between these ends are held back until
//! their copies decide ([`decide`]). Then each is passed to the connection at its point. In other
//! captures, marks change because routes do. Those are held back once, and delivered unchanged.
//!
//! ```text
//! packet ─► known mark ─────────────────────────► its connection
//!       └─► new mark ─► Held ─► copies ─► Apart ─► the connection at each point
//!                          └─► none ───► Same ──► its connection
//! ```

use super::{ConnectionState, ConnectionTable, TableEntry};
use crate::{
    finding::{self, CapturePoint, Closing, Findings, Inseparable, Renumbering, WhyInseparable},
    follow::{
        TimedPacket,
        direction::fingerprint,
        points::{
            Mark, Pair,
            lineup::{Decision, Lineup, decide},
            order::Order,
            sightings::{Sighting, Sightings},
        },
    },
};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use recoup_units::Instant;
use recoup_wire::{Endpoints, Flags};
use serde::{Deserialize, Serialize, Serializer};
use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

/// How long packets are held back: longer than most round trips and differences between clocks.
const HELD_FOR: Duration = Duration::from_secs(1);

/// How long a few packets are held back: SYNs and SYN-ACKs are retransmitted after 1, 3 and 7 s.
const FEW_HELD_FOR: Duration = Duration::from_secs(10);

/// A few packets.
const FEW: usize = 16;

/// So many late copies of data do not come from the network.
const MANY_COPIES: u64 = 64;

/// Packets held back between two ends.
const MOST_HELD: usize = 1024;

/// Packets held back by one table.
const MOST_HELD_IN_ALL: usize = 8192;

/// After this many decisions that marks change at one capture point, changes are ignored.
const MOST_DECISIONS: u32 = 4;

/// The pairs of ends whose packets have several marks.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct CapturePoints {
    #[serde(serialize_with = "in_order")]
    pub pairs: HashMap<Pair, Points, RandomState>,
    /// When packets between each pair were held back, or still were, in order.
    pub waiting: VecDeque<(Instant, Pair)>,
    /// Packets held back.
    pub held: usize,
    pub separation: Separation,
}

/// Whether the capture points of connections could be told apart.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Separation {
    /// Connections whose points could be told apart.
    pub apart: u64,
    /// Those whose points could not.
    pub inseparable: u64,
    /// The first of those.
    pub first: Option<Inseparable>,
}

impl Separation {
    #[cold]
    fn fail(&mut self, frame: u64, endpoints: Endpoints, why: WhyInseparable) {
        self.inseparable += 1;
        self.first.get_or_insert(Inseparable { frame, endpoints, why });
    }

    /// Adds those of another table.
    pub fn merge(&mut self, other: &Self) {
        self.apart += other.apart;
        self.inseparable += other.inseparable;
        let both = self.first.into_iter().chain(other.first);
        self.first = both.min_by_key(|connection| connection.frame);
    }
}

/// Saves the pairs in order, so that the same analysis is always saved as the same bytes.
fn in_order<S: Serializer>(pairs: &HashMap<Pair, Points, RandomState>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().collect::<BTreeMap<_, _>>())
}

/// Knowledge about the marks between two ends.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Points {
    /// Not enough. Packets are held back.
    Held(Box<Hold>),
    /// All belong to one capture point.
    Same(Box<Variants>),
    /// They belong to several.
    Apart(Box<Lineup>),
    /// They belong to two, in the order of the copies.
    Ordered(Box<Order>),
    /// They belong to several that cannot be told apart. They are counted, but not analyzed.
    Inseparable,
}

/// Packets held back.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Hold {
    packets: Vec<TimedPacket>,
    evidence: Sightings,
    /// The last decision, if there were several points.
    known: Option<Box<Lineup>>,
    /// Decisions before that there is one point.
    decisions: u32,
}

/// Marks of one capture point.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Variants {
    marks: [Vec<Mark>; 2],
    decisions: u32,
}

/// How long `count` packets are held back.
fn patience(count: usize) -> Duration {
    match count {
        0..FEW => FEW_HELD_FOR,
        _ => HELD_FOR,
    }
}

impl Points {
    /// Gives the frames held back other numbers.
    pub fn renumber(&mut self, by: Renumbering) {
        if let Self::Held(hold) = self {
            let packets = hold.packets.iter_mut();
            packets.for_each(|timed| timed.packet.renumber(by));
        }
    }
}

impl CapturePoints {
    /// Whether as many packets are held back as were counted, and each lineup has a point.
    pub fn is_consistent(&self) -> bool {
        let mut held = 0;
        let lineups = self.pairs.values().all(|points| match points {
            Points::Held(hold) => {
                held += hold.packets.len();
                hold.evidence.is_consistent() && hold.known.as_ref().is_none_or(|known| known.is_consistent())
            }
            Points::Apart(lineup) => lineup.is_consistent(),
            Points::Same(_) | Points::Ordered(_) | Points::Inseparable => true,
        });
        lineups && held == self.held
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// The capture point of a connection; the default if there is only one.
    #[cold]
    pub fn of(&self, connection: &ConnectionState) -> CapturePoint {
        let ends = &connection.shared.endpoints;
        let pair = Pair::of_connection(connection);
        let Some(point) = connection.point else {
            return CapturePoint::default();
        };
        let (count, apart, mut marks) = match self.pairs.get(&pair) {
            Some(Points::Apart(lineup)) => {
                let marks = lineup.marks(usize::from(point));
                (lineup.count() as u32, lineup.apart, marks)
            }
            Some(Points::Ordered(order)) => (2, Some(order.apart()), Default::default()),
            _ => return CapturePoint::default(),
        };
        let number = u32::from(point).min(count - 1);
        let is_reversed = pair.side(ends) == 1;
        if is_reversed {
            marks.reverse();
        }
        CapturePoint { number: if is_reversed { count - 1 - number } else { number }, count, apart, marks }
    }
}

impl ConnectionTable {
    /// The connection of a packet whose mark is not that of the connection in `slot`; `None` if the
    /// packet is held back.
    #[cold]
    pub fn place(
        &mut self,
        hash: u64,
        found: Option<(u32, usize)>,
        timed: &TimedPacket,
        findings: &mut impl Findings,
    ) -> Option<(u32, usize)> {
        let ends = &timed.packet.endpoints;
        let (pair, mark) = (Pair::in_network(timed), Mark::of(&timed.packet));
        match self.points.pairs.get_mut(&pair) {
            Some(Points::Held(_)) => {
                self.hold(hash, pair, timed, findings);
                return None;
            }
            Some(Points::Apart(lineup)) => {
                let Some(point) = lineup.point(pair.side(ends), mark) else {
                    self.begin_hold(hash, pair, timed, findings);
                    return None;
                };
                return Some(self.at_point(hash, point, timed, findings));
            }
            Some(Points::Inseparable) => {
                let (slot, _) = found.unwrap_or_else(|| self.begin(hash, timed, findings));
                if let Some(connection) = &mut self.slots[slot as usize] {
                    connection.leave_out(timed);
                    connection.in_pair = true;
                    connection.has_doubtful_packets = true;
                }
                return None;
            }
            Some(Points::Ordered(order)) => {
                let point = order.point(pair.side(ends), timed);
                let (slot, side) = self.at_point(hash, point, timed, findings);
                if let Some(connection) = &mut self.slots[slot as usize] {
                    connection.has_doubtful_packets = true;
                }
                return Some((slot, side));
            }
            Some(Points::Same(variants)) => {
                let side = pair.side(ends);
                if found.is_some() && variants.decisions < MOST_DECISIONS && !variants.marks[side].contains(&mark) {
                    self.begin_hold(hash, pair, timed, findings);
                    return None;
                }
            }
            None => {
                let connection = found.and_then(|(slot, side)| Some((self.get(slot)?, side)));
                if connection.is_some_and(|(open, side)| open.marks[side].is_some()) {
                    self.begin_hold(hash, pair, timed, findings);
                    return None;
                }
            }
        }
        let (slot, side) = found.unwrap_or_else(|| self.begin(hash, timed, findings));
        let in_pair = self.points.pairs.contains_key(&pair);
        if let Some(connection) = &mut self.slots[slot as usize] {
            connection.marks[side] = Some(mark);
            connection.in_pair = in_pair || connection.shares_ends();
        }
        Some((slot, side))
    }

    /// The connection at this capture point, which begins here if there is none.
    fn at_point(&mut self, hash: u64, point: usize, timed: &TimedPacket, findings: &mut impl Findings) -> (u32, usize) {
        let ends = &timed.packet.endpoints;
        let point = u8::try_from(point).ok();
        let tag = TableEntry::tag(hash);
        let entries = self.entries.iter_hash(hash);
        let slots = entries.filter(|entry| entry.tag == tag).map(|entry| entry.slot);
        let found = slots.filter_map(|slot| {
            let is_there = |open: &&ConnectionState| open.point == point && open.network() == timed.network;
            let connection = self.get(slot).filter(is_there)?;
            Some((slot, connection.side(ends)?))
        });
        let found = found.min();
        let (slot, side) = found.unwrap_or_else(|| self.begin(hash, timed, findings));
        if let Some(connection) = &mut self.slots[slot as usize] {
            connection.marks[side] = Some(Mark::of(&timed.packet));
            connection.point = point;
            connection.in_pair = true;
        }
        (slot, side)
    }

    /// Closes the connection in `slot`, and begins the next one at the same capture point.
    #[cold]
    pub fn replace(
        &mut self,
        hash: u64,
        slot: u32,
        closing: Closing,
        first: &TimedPacket,
        findings: &mut impl Findings,
    ) -> (u32, usize) {
        let point = self.get(slot).and_then(|old| old.point);
        self.close(slot, closing, findings);
        let (slot, side) = self.begin(hash, first, findings);
        let pair = Pair::in_network(first);
        if let Some(points) = self.points.pairs.get(&pair)
            && let Some(connection) = &mut self.slots[slot as usize]
        {
            connection.point = point;
            connection.in_pair = true;
            let doubtful = matches!(points, Points::Ordered(_) | Points::Inseparable);
            connection.has_doubtful_packets = doubtful;
        }
        (slot, side)
    }

    /// The slots of all connections between these ends in one network, in order.
    fn slots_of(&self, hash: u64, pair: &Pair) -> Vec<u32> {
        let tag = TableEntry::tag(hash);
        let entries = self.entries.iter_hash(hash).filter(|entry| entry.tag == tag);
        let ends = pair.ends();
        let is_theirs = |slot: &u32| {
            self.get(*slot).is_some_and(|open| open.side(&ends).is_some() && open.network() == pair.network())
        };
        let mut slots: Vec<u32> = entries.map(|entry| entry.slot).filter(is_theirs).collect();
        // The lookup table has no order that a resumed analysis would share.
        slots.sort_unstable();
        slots
    }

    /// From this packet on, holds back those between its ends.
    pub fn begin_hold(&mut self, hash: u64, pair: Pair, timed: &TimedPacket, findings: &mut impl Findings) {
        let mut hold = Hold { packets: Vec::new(), evidence: Sightings::default(), known: None, decisions: 0 };
        match self.points.pairs.remove(&pair) {
            Some(Points::Apart(lineup)) => {
                hold.evidence = lineup.evidence();
                hold.known = Some(lineup);
            }
            Some(Points::Same(variants)) => hold.decisions = variants.decisions,
            _ => {}
        }
        for slot in self.slots_of(hash, &pair) {
            let Some(connection) = &mut self.slots[slot as usize] else {
                continue;
            };
            connection.has_doubtful_packets = true;
            connection.in_pair = true;
            connection.recent_packets(timed.time, |ends, sighting| {
                hold.evidence.add(pair.side(ends), &sighting);
            });
        }
        let CapturePoints { pairs, waiting, .. } = &mut self.points;
        if waiting.len() >= 2 * MOST_HELD_IN_ALL {
            waiting.retain(|(_, pair)| matches!(pairs.get(pair), Some(Points::Held(_))));
        }
        waiting.push_back((timed.time, pair));
        self.points.pairs.insert(pair, Points::Held(Box::new(hold)));
        self.hold(hash, pair, timed, findings);
    }

    /// Holds back a packet between these ends, unless the copies now decide.
    fn hold(&mut self, hash: u64, pair: Pair, timed: &TimedPacket, findings: &mut impl Findings) {
        let Some(Points::Held(hold)) = self.points.pairs.get_mut(&pair) else {
            return;
        };
        let packet = &timed.packet;
        let segment = &packet.segment;
        let len = segment.sequence_len();
        let sighting = Sighting {
            fingerprint: fingerprint(packet),
            mark: Mark::of(packet),
            at: timed.time,
            syn: segment.flags.contains(Flags::SYN),
            identified: packet.ip_id.is_some_and(|id| id != 0) || segment.options.timestamps.is_some(),
            end: (len > 0).then(|| segment.seq + len),
            ack: segment.flags.contains(Flags::ACK).then_some(segment.ack),
        };
        let matters = hold.evidence.add(pair.side(&packet.endpoints), &sighting);
        hold.packets.push(*timed);
        self.points.held += 1;
        let begun = hold.packets.first().map_or(timed.time, |first| first.time);
        let last = hold.packets.len() >= MOST_HELD
            || self.points.held >= MOST_HELD_IN_ALL
            || timed.time.since(begun) > patience(hold.packets.len());
        if !matters && !last {
            return;
        }
        match decide(&hold.evidence, hold.known.as_deref(), last) {
            Decision::Wait => {}
            decision => self.release(hash, pair, decision, findings),
        }
    }

    /// Passes on the packets that have been held back for long, or all (`last`).
    pub fn release_held(&mut self, last: bool, findings: &mut impl Findings) {
        let mut again = Vec::new();
        while let Some(&(since, pair)) = self.points.waiting.front()
            && (last || self.now.since(since) > HELD_FOR)
        {
            self.points.waiting.pop_front();
            if let Some(Points::Held(hold)) = self.points.pairs.get(&pair) {
                let begun = hold.packets.first().map_or(since, |first| first.time);
                if !last && self.now.since(begun) <= patience(hold.packets.len()) {
                    again.push((self.now, pair));
                } else {
                    let decision = decide(&hold.evidence, hold.known.as_deref(), true);
                    let hash = super::hash(&self.hasher, &pair.ends());
                    self.release(hash, pair, decision, findings);
                }
            }
        }
        self.points.waiting.extend(again);
    }

    fn release(&mut self, hash: u64, pair: Pair, decision: Decision, findings: &mut impl Findings) {
        let Some(Points::Held(hold)) = self.points.pairs.remove(&pair) else {
            return;
        };
        self.points.held -= hold.packets.len();
        if let (&Decision::Inseparable(why), Some(first)) = (&decision, hold.packets.first()) {
            let packet = &first.packet;
            (self.points.separation).fail(packet.frame, packet.endpoints, why);
        }
        let slots = self.slots_of(hash, &pair);
        let open = |slot: &u32| self.get(*slot);
        let points = match decision {
            Decision::Points(lineup) => Points::Apart(lineup),
            Decision::Ordered(delays) => {
                let mut order = Order::new(delays);
                let now = hold.packets.first().map(|first| first.time).unwrap_or_default();
                for connection in slots.iter().filter_map(open) {
                    connection.recent_packets(now, |ends, sighting| {
                        order.remember(pair.side(ends), &sighting);
                    });
                }
                Points::Ordered(Box::new(order))
            }
            Decision::Inseparable(_) => Points::Inseparable,
            Decision::OnePoint | Decision::Wait => Points::Same(Box::new(Variants {
                marks: [0, 1].map(|side| hold.evidence.marks(side).collect()),
                decisions: hold.decisions + 1,
            })),
        };
        for slot in slots {
            if let Some(connection) = &mut self.slots[slot as usize] {
                connection.has_doubtful_packets = false;
                match &points {
                    Points::Apart(lineup) => connection.settle_at_point(&pair, lineup),
                    // Packets before the first copy were captured near the end that opened.
                    Points::Ordered(_) => {
                        connection.has_doubtful_packets = true;
                        let side = pair.side(&connection.shared.endpoints);
                        connection.point = u8::try_from(side).ok();
                    }
                    Points::Inseparable => connection.has_doubtful_packets = true,
                    Points::Held(_) | Points::Same(_) => {}
                }
            }
        }
        if hold.known.is_none() && matches!(points, Points::Apart(_) | Points::Ordered(_)) {
            self.points.separation.apart += 1;
        }
        self.points.pairs.insert(pair, points);
        for timed in &hold.packets {
            self.on_packet(timed, hash, None, findings);
        }
        self.forget_pair(hash, &pair);
    }

    /// A connection ended. Many copies that came late show that its packets came from several points
    /// all the same: the capture does not hold its handshake.
    pub fn check_separation(&mut self, found: &finding::Connection, late_copies: [u32; 2]) {
        let many = found
            .directions
            .iter()
            .zip(late_copies.map(u64::from))
            .any(|(direction, copies)| copies >= MANY_COPIES && copies * 5 >= direction.segments * 2);
        if many {
            let why = WhyInseparable::NoHandshake;
            (self.points.separation).fail(*found.frames.start(), found.endpoints, why);
        }
    }

    /// Forgets what is known of the marks between these ends, unless a connection is open.
    pub fn forget_pair(&mut self, hash: u64, pair: &Pair) {
        if !matches!(self.points.pairs.get(pair), Some(Points::Held(_))) && self.slots_of(hash, pair).is_empty() {
            self.points.pairs.remove(pair);
        }
    }
}
