//! The links of a world, and the packets on them.

use super::queueing::QueueingDelays;
use crate::packet::Way;
use crate::{Entrance, Packet};
use recoup_path::{self as path, Chain, ChainError, DropCause, Exit, HopSpec, TcpFacts};
use recoup_tcp::flow::Host;
use recoup_units::{Direction, FlowId, Instant};
use siphasher::sip::SipHasher13;
use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::hash::Hasher;
use std::mem;
use thiserror::Error;

/// The number of a link in its [`Topology`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

/// The number of a route in its [`Topology`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RouteId(pub u32);

/// A link. It carries packets one way.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSpec {
    /// The name in reports.
    pub name: String,
    /// Its hops, in the order in which packets pass them.
    pub hops: Vec<HopSpec>,
    /// Whether its hops take the packets of all flows for those of one. The hops' random choices then follow from a
    /// packet's place among all packets of the link, so that a Gilbert–Elliott channel steps once for each of them.
    pub one_channel: bool,
}

/// The links between the hosts of a flow, in the order in which packets pass them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// From the client to the server.
    pub up: Vec<LinkId>,
    /// From the server to the client.
    pub down: Vec<LinkId>,
}

/// The links of a world, and the routes over them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topology {
    /// The links.
    pub links: Vec<LinkSpec>,
    /// The routes.
    pub routes: Vec<Route>,
}

/// Why a topology is none.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TopologyError {
    /// A link cannot be built.
    #[error("link '{link}': {error}")]
    Link {
        /// Its name.
        link: String,
        /// Why.
        error: ChainError,
    },
    /// A route names a link that does not exist.
    #[error("route {route} passes link {link}, but there are {links} links")]
    UnknownLink {
        /// The route's number, from 0.
        route: usize,
        /// The link's number, from 0.
        link: u32,
        /// The number of links.
        links: usize,
    },
}

impl Topology {
    /// Adds a link.
    pub fn add_link(&mut self, name: impl Into<String>, hops: Vec<HopSpec>) -> LinkId {
        self.add(name.into(), hops, false)
    }

    /// Adds a link whose hops take the packets of all flows for those of one (see [`LinkSpec::one_channel`]).
    pub fn add_link_of_one_channel(&mut self, name: impl Into<String>, hops: Vec<HopSpec>) -> LinkId {
        self.add(name.into(), hops, true)
    }

    fn add(&mut self, name: String, hops: Vec<HopSpec>, one_channel: bool) -> LinkId {
        self.links.push(LinkSpec { name, hops, one_channel });
        LinkId(self.links.len() as u32 - 1)
    }

    /// Adds a route.
    pub fn add_route(&mut self, up: &[LinkId], down: &[LinkId]) -> RouteId {
        let (up, down) = (up.to_vec(), down.to_vec());
        self.routes.push(Route { up, down });
        RouteId(self.routes.len() as u32 - 1)
    }
}

/// The packets that a link carried.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkRecord {
    /// Packets that reached the link.
    pub packets: u64,
    /// IP bytes of the packets that left it.
    pub bytes_delivered: u64,
    /// Packets dropped because the queue was full, or by its management.
    pub dropped_by_queue: u64,
    /// Packets dropped by a loss rule.
    pub lost: u64,
    /// Packets that the management of the queue marked: congestion experienced (RFC 3168 §5).
    pub marked: u64,
    /// How long the packets that left the link had waited in its queues.
    pub queueing: QueueingDelays,
    /// Packets of each flow that the link dropped, by its queue or by a loss rule. Flows without drops are not in
    /// it. After a [`merge`](Self::merge) it has the flows of one run only, because other runs give the same numbers to
    /// other flows.
    pub drops_by_flow: BTreeMap<FlowId, u64>,
}

impl LinkRecord {
    /// Adds what a link carried in another run, except the drops of its flows.
    pub fn merge(&mut self, other: &Self) {
        self.packets += other.packets;
        self.bytes_delivered += other.bytes_delivered;
        self.dropped_by_queue += other.dropped_by_queue;
        self.lost += other.lost;
        self.marked += other.marked;
        self.queueing.merge(&other.queueing);
    }
}

/// A packet on its route.
#[derive(Clone, Debug)]
pub(super) struct Carried(Box<Packet>);

impl path::Packet for Carried {
    fn flow(&self) -> FlowId {
        match self.0.way.place {
            Some(_) => FlowId(0),
            None => self.0.flow,
        }
    }

    fn ip_len(&self) -> u32 {
        self.0.ip_len()
    }

    fn tcp(&self) -> Option<TcpFacts> {
        self.0.tcp()
    }

    fn ordinal(&self) -> Option<u64> {
        // A link may be part of both ways of a flow.
        let of_flow = self.0.ordinal * 2 + self.0.way.direction as u64;
        Some(self.0.way.place.unwrap_or(of_flow))
    }

    fn is_ecn_capable(&self) -> bool {
        self.0.is_ecn_capable()
    }

    fn mark(&mut self) {
        self.0.mark();
        self.0.way.marked = true;
    }

    fn waited(&mut self, nanos: u64) {
        self.0.way.waited += nanos;
    }

    fn corrupt(&mut self, draw: u64) {
        self.0.corrupt(draw);
    }
}

/// A packet that left the network.
#[derive(Debug)]
pub(super) enum Moved {
    Arrived(Carried),
    Dropped(Carried, DropCause),
}

impl Moved {
    pub fn into_packet(self) -> Box<Packet> {
        let (Self::Arrived(Carried(packet)) | Self::Dropped(Carried(packet), _)) = self;
        packet
    }

    pub fn packet(&self) -> &Packet {
        let (Self::Arrived(Carried(packet)) | Self::Dropped(Carried(packet), _)) = self;
        packet
    }
}

/// All links, with the packets on them.
#[derive(Debug)]
pub(super) struct Links {
    links: Vec<Link>,
    routes: Vec<Route>,
    /// When links move a packet. An entry that is not its link's `scheduled` is out of date.
    schedule: BinaryHeap<Reverse<(Instant, u32)>>,
    /// Packets that left the network and were not taken yet, by the host they were for.
    moved: [VecDeque<Moved>; 2],
    /// Whether a link duplicates packets.
    duplicate: bool,
}

#[derive(Debug)]
struct Link {
    chain: Chain<Carried>,
    one_channel: bool,
    /// The time of the entry in [`Links::schedule`] that counts.
    scheduled: Option<Instant>,
    record: LinkRecord,
}

impl Links {
    pub fn new(topology: &Topology, seed: u64) -> Result<Self, TopologyError> {
        let count = topology.links.len();
        for (route, Route { up, down }) in topology.routes.iter().enumerate() {
            let unknown = up.iter().chain(down).find(|link| link.0 as usize >= count);
            if let Some(&LinkId(link)) = unknown {
                let links = count;
                return Err(TopologyError::UnknownLink { route, link, links });
            }
        }
        let links = (0..).zip(&topology.links).map(|(number, spec)| {
            let chain = Chain::new(&spec.hops, Direction::Up, seed_of_link(seed, number));
            let link = chain.map(|chain| Link::new(chain, spec.one_channel));
            link.map_err(|error| TopologyError::Link { link: spec.name.clone(), error })
        });
        let mut hops = topology.links.iter().flat_map(|link| &link.hops);
        Ok(Self {
            links: links.collect::<Result<_, _>>()?,
            routes: topology.routes.clone(),
            schedule: BinaryHeap::new(),
            moved: [VecDeque::new(), VecDeque::new()],
            duplicate: hops.any(|hop| matches!(hop, HopSpec::Duplicate { .. })),
        })
    }

    pub fn record(&self, link: LinkId) -> &LinkRecord {
        &self.links[link.0 as usize].record
    }

    /// When a packet moves next. `None`: no packet is on its way.
    pub fn next_event(&self) -> Option<Instant> {
        if self.moved.iter().any(|moved| !moved.is_empty()) {
            return Some(Instant::ZERO); // a route without links takes no time
        }
        self.schedule.peek().map(|Reverse((at, _))| *at)
    }

    /// Moves all packets that move by `now`, from link to link or out of the network.
    pub fn advance(&mut self, now: Instant) {
        while let Some(&Reverse((at, number))) = self.schedule.peek()
            && at <= now
        {
            let link = &mut self.links[number as usize];
            if link.scheduled != Some(at) {
                self.schedule.pop();
                continue;
            }
            link.scheduled = None;
            while let Some(exit) = self.links[number as usize].take(at) {
                match exit {
                    Moved::Arrived(mut carried) => {
                        carried.0.way.passed += 1;
                        self.pass(at, carried);
                    }
                    Moved::Dropped(..) => self.leave(exit),
                }
            }
            self.reschedule_first(at, number);
        }
    }

    /// Notes when a link moves a packet next that has moved all that were due at `at`. Its entry of that time is out
    /// of date, and mostly still the first: to replace it costs less than to remove it and to add another.
    fn reschedule_first(&mut self, at: Instant, number: u32) {
        let link = &mut self.links[number as usize];
        let next = link.chain.next_event();
        let next = next.filter(|next| link.scheduled.is_none_or(|scheduled| *next < scheduled));
        link.scheduled = next.or(link.scheduled);
        if let Some(mut first) = self.schedule.peek_mut()
            && *first == Reverse((at, number))
        {
            match next {
                Some(next) => *first = Reverse((next, number)),
                None => {
                    PeekMut::pop(first);
                }
            }
        } else if let Some(next) = next {
            self.schedule.push(Reverse((next, number)));
        }
    }

    /// Takes out the next packet that was for `host`.
    pub fn take(&mut self, host: Host) -> Option<Moved> {
        self.moved[host as usize].pop_front()
    }

    /// Whether copies of packets of this flow, which takes this route, may be on their way.
    pub fn hold_copies_of(&self, flow: FlowId, route: RouteId) -> bool {
        let of_flow = |packet: &Packet| packet.flow == flow;
        let Route { up, down } = &self.routes[route.0 as usize];
        let mut links = up.iter().chain(down).map(|link| &self.links[link.0 as usize]);
        let mut moved = self.moved.iter().flatten();
        self.duplicate
            && (links.any(|link| link.chain.packets().any(|Carried(packet)| of_flow(packet)))
                || moved.any(|moved| of_flow(moved.packet())))
    }

    /// Passes a packet to the next link of its route, or out of the network after the last one.
    fn pass(&mut self, now: Instant, mut carried: Carried) {
        let Carried(packet) = &mut carried;
        let route = &self.routes[packet.way.route as usize];
        let links = match packet.way.direction {
            Direction::Up => &route.up,
            Direction::Down => &route.down,
        };
        let Some(&LinkId(next)) = links.get(packet.way.passed as usize) else {
            return self.leave(Moved::Arrived(carried));
        };
        let link = &mut self.links[next as usize];
        packet.way.place = link.one_channel.then_some(link.record.packets);
        link.record.packets += 1;
        link.chain.enter(now, carried);
        self.reschedule(next);
    }

    fn leave(&mut self, moved: Moved) {
        let towards = match moved.packet().way.direction {
            Direction::Up => Host::Server,
            Direction::Down => Host::Client,
        };
        self.moved[towards as usize].push_back(moved);
    }

    /// Notes when a link moves a packet next.
    fn reschedule(&mut self, number: u32) {
        let link = &mut self.links[number as usize];
        if let Some(at) = link.chain.next_event()
            && link.scheduled.is_none_or(|scheduled| at < scheduled)
        {
            link.scheduled = Some(at);
            self.schedule.push(Reverse((at, number)));
        }
    }
}

impl Link {
    fn new(chain: Chain<Carried>, one_channel: bool) -> Self {
        Self { chain, one_channel, scheduled: None, record: LinkRecord::default() }
    }

    /// Takes out the next packet that leaves by `now`.
    fn take(&mut self, now: Instant) -> Option<Moved> {
        let record = &mut self.record;
        Some(match self.chain.next_exit(now)? {
            Exit::Delivered(mut carried) => {
                let packet = &mut carried.0;
                record.queueing.add_nanos(mem::take(&mut packet.way.waited));
                record.marked += u64::from(mem::take(&mut packet.way.marked));
                record.bytes_delivered += u64::from(packet.ip_len);
                Moved::Arrived(carried)
            }
            Exit::Dropped { packet, cause, .. } => {
                match cause {
                    DropCause::Loss => record.lost += 1,
                    DropCause::QueueFull | DropCause::Managed => record.dropped_by_queue += 1,
                    DropCause::Thinned => {}
                }
                if cause != DropCause::Thinned {
                    *record.drops_by_flow.entry(packet.0.flow).or_default() += 1;
                }
                Moved::Dropped(packet, cause)
            }
        })
    }
}

/// Where the hosts of a slot put their packets in.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    pub links: &'a mut Links,
    pub slot: u32,
    pub route: RouteId,
    /// How many packets entered.
    pub entered: u32,
}

impl Entrance for Entry<'_> {
    fn enter(&mut self, now: Instant, direction: Direction, mut packet: Box<Packet>) {
        self.entered += 1;
        packet.way = Way::begin(self.slot, self.route.0, direction);
        self.links.pass(now, Carried(packet));
    }
}

/// The seed of a link's random choices.
fn seed_of_link(seed: u64, link: u64) -> u64 {
    // The second key ("links" in ASCII) makes these choices independent of the hosts'.
    let mut hasher = SipHasher13::new_with_keys(seed, 0x6c_696e_6b73);
    hasher.write_u64(link);
    hasher.finish()
}
