//! One direction of a path, as a running chain of hops.

use std::collections::VecDeque;

use recoup_units::{Direction, Instant};
use thiserror::Error;

use crate::aqm::Managed;
use crate::flows::Flows;
use crate::hop::{Carried, Hop, HopVerdict};
use crate::loss::{RuleMatch, Rules};
use crate::packet_rng::PacketId;
use crate::packet_store::{PacketKey, PacketStore};
use crate::{HopSpec, LossKind, Packet, Queue};

/// The hops of one direction, in the order packets pass them.
///
/// The owner of the clock puts packets in with [`enter`](Self::enter), asks
/// [`next_event`](Self::next_event) when the next one is due, and takes packets out with
/// [`next_exit`](Self::next_exit).
///
/// Most hops keep the order of packets. If all of a chain do, everything that happens to a packet is computed
/// when it enters, and the packet waits for its exit. Otherwise packets move from hop to hop.
///
/// Time never runs backwards: an instant before the latest one given counts as the latest. Everything
/// between two calls happens at its own instant and in the order of time, however late the call. At one
/// instant, hops nearer the exit come first, departures come before arrivals, and packets keep their
/// order.
#[derive(Debug)]
pub struct Chain<P> {
    hops: Vec<Hop>,
    inside: PacketStore<P>,
    rules: Rules,
    flows: Flows,
    /// Packets that have left or will leave, in the order of their exits.
    exits: VecDeque<Departed<P>>,
    /// Whether all hops keep the order of packets.
    in_order: bool,
    /// Whether a hop keeps something for each flow.
    knows_flows: bool,
    /// The hop that releases a packet next, and when, so that [`Chain::next_event`] need not search.
    next_release: Option<(usize, Instant)>,
    now: Instant,
    direction: Direction,
}

/// How a packet leaves a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit<P> {
    /// It arrived at the far end. A copy made on the way is delivered separately.
    Delivered(P),
    /// A hop dropped it.
    Dropped {
        /// The packet, damaged if an earlier hop damaged it.
        packet: P,
        /// The index of the hop.
        hop: usize,
        /// Why.
        cause: DropCause,
    },
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DropCause {
    /// A loss rule chose it.
    Loss,
    /// The queue was full when it arrived.
    QueueFull,
    /// The management of the queue dropped it before the queue was full.
    Managed,
    /// A later ACK replaced it while [`HopSpec::ThinAcks`] held it. This is no loss.
    Thinned,
}

impl DropCause {
    /// The name used in events.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Loss => "loss",
            Self::QueueFull => "queue full",
            Self::Managed => "queue management",
            Self::Thinned => "thinned",
        }
    }
}

/// A packet that leaves, and the hop that drops it, if one does.
#[derive(Debug)]
struct Departed<P> {
    at: Instant,
    /// The hops up to and including the last one that held it. At one instant, packets released by hops nearer
    /// the exit leave first.
    released_by: u32,
    dropped: Option<(u32, DropCause)>,
    packet: P,
}

/// Why a chain cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChainError {
    /// A `tail` rule, which no chain can resolve.
    #[error(
        "hop {hop}, `{rule}`: a chain does not know the length of a flow: expected data:K-L, which DropRules::resolve gives"
    )]
    UnresolvedTail {
        /// The index of the hop.
        hop: usize,
        /// Its rule.
        rule: String,
    },
    /// A queue that decides before it is full, in front of a recorded link.
    #[error("hop {hop}: a recorded link takes a drop-tail queue: expected packets, bytes or none")]
    ManagedLink {
        /// The index of the hop.
        hop: usize,
    },
    /// Too many hops.
    #[error("{0} hops are more than a chain can have: expected at most 65536")]
    TooManyHops(usize),
    /// Too many duplicating hops: each takes a bit of a copy's number.
    #[error("{0} duplicating hops are more than a chain can have: expected at most 64")]
    TooManyDuplicating(usize),
}

/// How many hops a chain can have.
const MOST_HOPS: usize = 1 << 16;

/// How many of them can duplicate: each has a bit of the copy's number.
const MOST_DUPLICATING: usize = 64;

impl<P: Packet> Chain<P> {
    /// A chain of `hops` for packets that travel in `direction`, at [`Instant::ZERO`]. All random
    /// choices come from `seed`; both directions of a path may share it.
    ///
    /// # Errors
    /// A [`LossKind::Tail`], which must be resolved first; more than 65536 hops, or more than 64
    /// that duplicate.
    pub fn new(hops: &[HopSpec], direction: Direction, seed: u64) -> Result<Self, ChainError> {
        let mut chain = Self {
            hops: Vec::with_capacity(hops.len()),
            inside: PacketStore::default(),
            rules: Rules::default(),
            flows: Flows::default(),
            exits: VecDeque::new(),
            in_order: true,
            knows_flows: false,
            next_release: None,
            now: Instant::ZERO,
            direction,
        };
        chain.respecify(hops, seed)?;
        Ok(chain)
    }

    /// Starts again at [`Instant::ZERO`] with another seed, as if new. Packets inside are discarded;
    /// allocations are kept.
    pub fn reset(&mut self, seed: u64) {
        for hop in &mut self.hops {
            hop.reset(seed, self.direction);
        }
        self.inside.clear();
        self.flows.reset();
        self.exits.clear();
        self.next_release = None;
        self.now = Instant::ZERO;
    }

    /// Like [`reset`](Self::reset), with other hops.
    ///
    /// # Errors
    /// As [`new`](Self::new); the chain is unchanged then.
    pub fn respecify(&mut self, hops: &[HopSpec], seed: u64) -> Result<(), ChainError> {
        check(hops)?;
        self.rules.clear();
        self.hops.truncate(hops.len());
        let mut duplicating = 0;
        for (index, spec) in (0..).zip(hops) {
            match self.hops.get_mut(index as usize) {
                Some(hop) => hop.respecify(spec, duplicating),
                None => self.hops.push(Hop::new(spec, index, duplicating, seed, self.direction)),
            }
            match *spec {
                HopSpec::Loss(spec) if spec.kind != LossKind::None => self.rules.add(index, spec),
                HopSpec::Duplicate { .. } => duplicating += 1,
                _ => {}
            }
        }
        self.in_order = self.hops.iter().all(Hop::keeps_order);
        self.knows_flows = self.hops.iter().any(Hop::knows_flows);
        self.reset(seed);
        Ok(())
    }

    /// The packets inside, in no particular order.
    pub fn packets(&self) -> impl Iterator<Item = &P> {
        let leaving = self.exits.iter().map(|departed| &departed.packet);
        leaving.chain(self.inside.iter().map(|carried| &carried.packet))
    }

    /// The direction packets travel in.
    pub const fn direction(&self) -> Direction {
        self.direction
    }

    /// Puts a packet in at the near end. Everything due by `now` happens first.
    #[inline]
    pub fn enter(&mut self, now: Instant, packet: P) {
        self.now = self.now.max(now);
        if self.in_order {
            let carried = self.stamp(packet);
            return self.traverse(0, self.now, 0, carried);
        }
        while let Some((hop, at)) = self.due() {
            self.release(hop, at);
        }
        let carried = self.stamp(packet);
        let place = self.inside.put(carried);
        self.pass(0, self.now, place);
    }

    /// Gives a packet its identity, its flow's slot, and the rules that match it.
    #[inline(always)] // for each packet
    fn stamp(&mut self, packet: P) -> Carried<P> {
        let flow = packet.flow();
        if let Some(ordinal) = packet.ordinal().filter(|_| !self.knows_flows) {
            let id = PacketId { flow, ordinal, copy: 0 };
            return Carried { packet, id, slot: 0, matched: RuleMatch::NONE };
        }
        let (id, slot, matched) = self.flows.stamp(flow, &self.rules, || packet.tcp());
        Carried { packet, id, slot, matched }
    }

    /// The earliest instant at which a packet moves or leaves; `None` if the chain is empty. It is never
    /// before the latest instant given, and equal to it if a packet waits to be taken out.
    pub fn next_event(&self) -> Option<Instant> {
        let exit = self.exits.front().map(|departed| departed.at);
        let release = self.next_release.map(|(_, at)| at);
        Some(exit.or(release)?.max(self.now))
    }

    /// Takes out the next packet that leaves by `now`, inclusive. Call it until it returns `None`.
    pub fn next_exit(&mut self, now: Instant) -> Option<Exit<P>> {
        self.now = self.now.max(now);
        loop {
            if let Some(departed) = self.exits.front() {
                if departed.at > self.now {
                    return None;
                }
                let Departed { packet, dropped, .. } = self.exits.pop_front()?;
                return Some(match dropped {
                    None => Exit::Delivered(packet),
                    Some((hop, cause)) => Exit::Dropped { packet, hop: hop as usize, cause },
                });
            }
            let (hop, at) = self.due()?;
            self.release(hop, at);
        }
    }

    /// The next release, if it is due.
    fn due(&self) -> Option<(usize, Instant)> {
        self.next_release.filter(|&(_, at)| at <= self.now)
    }

    /// Lets `hop` release the packet that leaves it at `at`, and passes it to the hops behind.
    fn release(&mut self, hop: usize, at: Instant) {
        let place = self.hops[hop].release();
        while let Some((judged, verdict)) = self.hops[hop].take_judged() {
            match verdict {
                Managed::Drop => self.take_out(at, judged, Some((hop, DropCause::Managed))),
                Managed::Mark | Managed::Keep => {
                    if let Some(carried) = self.inside.get_mut(judged) {
                        carried.packet.mark();
                    }
                }
            }
        }
        if let Some((served, waited)) = self.hops[hop].take_served()
            && let Some(carried) = self.inside.get_mut(served)
        {
            carried.packet.waited(waited);
        }
        self.update_next_release();
        if let Some(place) = place {
            self.pass(hop + 1, at, place);
        }
    }

    /// Finds the hop that releases a packet next.
    fn update_next_release(&mut self) {
        self.next_release = None;
        for (index, hop) in self.hops.iter().enumerate() {
            note(&mut self.next_release, index, hop.next_release());
        }
    }

    /// Passes a packet from hop to hop until one holds or drops it, or it leaves the last one.
    fn pass(&mut self, from: usize, at: Instant, mut place: PacketKey) {
        let mut index = from;
        let mut dropped = None;
        while let Some(hop) = self.hops.get_mut(index) {
            let Some(carried) = self.inside.get_mut(place) else {
                return;
            };
            match hop.decide(at, carried) {
                HopVerdict::Pass => {}
                HopVerdict::Hold(transit) => {
                    hop.hold(transit, place, carried.packet.ip_len());
                    return note(&mut self.next_release, index, hop.next_release());
                }
                HopVerdict::Wait => {
                    hop.wait(at, place, &carried.packet);
                    return note(&mut self.next_release, index, hop.next_release());
                }
                HopVerdict::Drop(cause) => {
                    dropped = Some((index, cause));
                    break;
                }
                HopVerdict::Copy(bit) => {
                    let mut copy = carried.clone();
                    copy.id.copy |= bit;
                    let copy = self.inside.put(copy);
                    self.pass(index + 1, at, place);
                    place = copy;
                }
                HopVerdict::Replace(needless) => {
                    self.take_out(at, needless, Some((index, DropCause::Thinned)));
                    self.update_next_release();
                }
            }
            index += 1;
        }
        self.take_out(at, place, dropped);
    }

    /// A packet leaves now.
    fn take_out(&mut self, at: Instant, place: PacketKey, dropped: Option<(usize, DropCause)>) {
        let Some(Carried { packet, .. }) = self.inside.take(place) else {
            return;
        };
        self.exits.push_back(Departed {
            at,
            released_by: 0,
            packet,
            dropped: dropped.map(|(hop, cause)| (hop as u32, cause)),
        });
    }

    /// Computes the whole way of a packet that reaches hop `from` at `at`, released by one of the first
    /// `released_by` hops, and puts it among those that leave.
    #[inline(always)] // its other caller is rare
    fn traverse(&mut self, from: u32, mut at: Instant, mut released_by: u32, mut carried: Carried<P>) {
        let mut dropped = None;
        let mut index = from;
        while let Some(hop) = self.hops.get_mut(index as usize) {
            match hop.decide_in_order(at, &mut carried) {
                HopVerdict::Pass | HopVerdict::Replace(_) | HopVerdict::Wait => {}
                HopVerdict::Hold(transit) => {
                    at = transit.leaves;
                    released_by = index + 1;
                }
                HopVerdict::Drop(cause) => {
                    dropped = Some((index, cause));
                    break;
                }
                HopVerdict::Copy(bit) => {
                    let mut copy = carried.clone();
                    copy.id.copy |= bit;
                    self.traverse_copied(index + 1, at, released_by, carried);
                    carried = copy;
                }
            }
            index += 1;
        }
        let departed = Departed { at, released_by, packet: carried.packet, dropped };
        let is_later = |other: &Departed<P>| other.at > at || (other.at == at && other.released_by < released_by);
        match self.exits.back() {
            Some(last) if is_later(last) => match self.exits.front() {
                // It is dropped where it entered.
                Some(first) if is_later(first) => self.exits.push_front(departed),
                _ => {
                    let place = self.exits.partition_point(|other| !is_later(other));
                    self.exits.insert(place, departed);
                }
            },
            _ => self.exits.push_back(departed),
        }
    }

    /// As [`traverse`](Self::traverse), for an original of which a hop has made a copy.
    #[cold]
    fn traverse_copied(&mut self, from: u32, at: Instant, released_by: u32, original: Carried<P>) {
        self.traverse(from, at, released_by, original);
    }
}

/// Sets `next` to `hop` if it releases a packet earlier, at `at`. At one instant the hop nearer the exit
/// comes first: a packet that leaves a hop makes room before another arrives there, and stays ahead of
/// it.
fn note(next: &mut Option<(usize, Instant)>, hop: usize, at: Option<Instant>) {
    if let Some(at) = at
        && next.is_none_or(|(index, earliest)| at < earliest || (at == earliest && index < hop))
    {
        *next = Some((hop, at));
    }
}

fn check(hops: &[HopSpec]) -> Result<(), ChainError> {
    if hops.len() > MOST_HOPS {
        return Err(ChainError::TooManyHops(hops.len()));
    }
    let mut duplicating = 0;
    for (hop, spec) in hops.iter().enumerate() {
        match spec {
            HopSpec::Loss(spec) if matches!(spec.kind, LossKind::Tail(_)) => {
                let rule = spec.to_string();
                return Err(ChainError::UnresolvedTail { hop, rule });
            }
            HopSpec::Duplicate { .. } => duplicating += 1,
            HopSpec::Link { queue: Queue::Red(_) | Queue::CoDel(_), .. } => {
                return Err(ChainError::ManagedLink { hop });
            }
            _ => {}
        }
    }
    if duplicating > MOST_DUPLICATING {
        return Err(ChainError::TooManyDuplicating(duplicating));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
