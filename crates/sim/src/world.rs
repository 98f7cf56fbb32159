//! Many flows over links that they share.
//!
//! A link carries packets one way, through a chain of hops. A route names the links that the packets of a flow
//! pass, each way, so flows whose routes have a link in common share its queue. [`Traffic`] says which
//! flows begin when. A [`Simulation`](crate::Simulation) is the smallest world: one flow, whose links nothing
//! else uses.
//!
//! At equal times, packets are handled first (those for clients before those for servers), then flows begin,
//! then applications are woken and timers fire, in the order of the flows' slots.

mod links;
mod queueing;
mod wakes;

pub use links::{LinkId, LinkRecord, LinkSpec, Route, RouteId, Topology, TopologyError};
pub use queueing::QueueingDelays;

use crate::network::earlier;
use crate::observe::{Observer, Point};
use crate::packet::PacketPool;
use crate::pair::Pair;
use crate::turn::Turn;
use crate::{Application, FlowSpec};
use links::{Entry, Links, Moved};
use recoup_tcp::Endpoint;
use recoup_tcp::flow::{FlowRecord, Host, Response};
use recoup_units::{FlowId, Instant};
use wakes::Wakes;

/// The flows of a world: when they begin, and what follows when they end.
pub trait Traffic {
    /// The application at each host of a flow.
    type Application: Application;

    /// When the next flow begins. It is asked after every event, because what applications receive may decide it.
    fn next_start(&self) -> Option<Instant>;

    /// The flow that begins now. It is asked when [`next_start`](Self::next_start) is due.
    fn start(&mut self, now: Instant) -> Start<'_, Self::Application>;

    /// Both hosts of this flow have received all bytes of the other.
    fn on_complete(&mut self, _now: Instant, _flow: FlowId) {}

    /// Nothing more will happen to this flow.
    fn on_end(&mut self, now: Instant, ended: &FlowEnd<'_>);
}

/// A flow that has ended.
#[derive(Clone, Copy, Debug)]
pub struct FlowEnd<'a> {
    /// Its number.
    pub flow: FlowId,
    /// Its cost.
    pub record: &'a FlowRecord,
    /// The server's responses, and when they were acknowledged.
    pub responses: &'a [Response],
    /// The endpoints of client and server.
    pub endpoints: [&'a Endpoint; 2],
}

/// A flow that begins.
#[derive(Debug)]
pub struct Start<'a, A> {
    /// Its number, unlike that of every other flow of the world. Its random choices follow from it.
    pub flow: FlowId,
    /// The links between its hosts.
    pub route: RouteId,
    /// The configuration of its hosts. The workload is not used.
    pub spec: &'a FlowSpec,
    /// The client's application, the server's.
    pub applications: [A; 2],
}

/// The most flows that are open at once in a world. Each takes about 6 kB.
pub const MOST_OPEN: usize = 100_000;

/// The most packets that are on their way at once in a world. Each takes about 250 bytes.
pub const MOST_PACKETS: u64 = 4_000_000;

/// What a world has too much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overload {
    /// More than [`MOST_OPEN`] flows are open.
    Flows,
    /// More than [`MOST_PACKETS`] packets are on their way.
    Packets,
}

/// How a run of a world ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The time of the last event.
    pub at: Instant,
    /// Flows that had not ended. They are cut off by the limit of time.
    pub open: usize,
    /// Packets, wake-ups and timers processed.
    pub events: u64,
    /// Why it ended before its time: the traffic offers more than the links carry, and memory would run out.
    pub overload: Option<Overload>,
}

/// Hosts and the links between them.
#[derive(Debug)]
pub struct World<A> {
    links: Links,
    packets: PacketPool,
    /// Elsewhere in memory, because they are large and their number grows.
    slots: Vec<Box<Slot<A>>>,
    free: Vec<u32>,
    /// When slots want to be woken, or earlier: a timer that moves to a later time is noticed when this time comes.
    wakes: Wakes,
    seed: u64,
    now: Instant,
    events: u64,
    /// Packets in the network. Copies that links make are not counted.
    in_flight: u64,
    /// [`MOST_OPEN`] and [`MOST_PACKETS`].
    most: (usize, u64),
}

/// A place for a flow.
#[derive(Debug)]
struct Slot<A> {
    pair: Pair,
    /// The applications of the flow that runs here, if one does.
    applications: Option<[A; 2]>,
    route: RouteId,
    /// Packets in the network. Copies that links make are not counted.
    in_flight: u32,
    completed: bool,
}

impl<A: Application> World<A> {
    /// A world of these links and routes, at [`Instant::ZERO`]. All random choices come from `seed`.
    ///
    /// # Errors
    /// When a link cannot be built, or a route names a link that does not exist.
    pub fn new(topology: &Topology, seed: u64) -> Result<Self, TopologyError> {
        Ok(Self {
            links: Links::new(topology, seed)?,
            packets: PacketPool::default(),
            slots: Vec::new(),
            free: Vec::new(),
            wakes: Wakes::new(),
            seed,
            now: Instant::ZERO,
            events: 0,
            in_flight: 0,
            most: (MOST_OPEN, MOST_PACKETS),
        })
    }

    /// Runs `traffic` until nothing is left to happen, until the first event after `until`, or until there is too much of
    /// it.
    pub fn run<T, O>(&mut self, traffic: &mut T, until: Instant, observer: &mut O) -> Ended
    where
        T: Traffic<Application = A>,
        O: Observer,
    {
        while self.overload().is_none()
            && let Some(next) = self.next_event(traffic).filter(|next| *next <= until)
        {
            self.now = next.max(self.now);
            self.events += 1;
            if self.links.next_event().is_some_and(|at| at <= self.now) {
                self.move_packets(traffic, observer);
            } else if traffic.next_start().is_some_and(|at| at <= self.now) {
                self.begin(traffic, observer);
            } else {
                self.wake(traffic, observer);
            }
        }
        Ended { at: self.now, open: self.slots.len() - self.free.len(), events: self.events, overload: self.overload() }
    }

    const fn overload(&self) -> Option<Overload> {
        let (flows, packets) = self.most;
        match (self.slots.len() > flows, self.in_flight > packets) {
            (true, _) => Some(Overload::Flows),
            (_, true) => Some(Overload::Packets),
            _ => None,
        }
    }

    /// Ends the flows that are open, as they are now. Nothing follows from it: the world does not go on.
    pub fn cut_off<T: Traffic<Application = A>>(mut self, traffic: &mut T) {
        for slot in self.slots.iter_mut().filter(|slot| slot.applications.is_some()) {
            slot.pair.end_at(self.now, |ended| traffic.on_end(self.now, &ended));
        }
    }

    /// The packets that a link carried.
    pub fn link(&self, link: LinkId) -> &LinkRecord {
        self.links.record(link)
    }

    fn next_event<T: Traffic<Application = A>>(&self, traffic: &T) -> Option<Instant> {
        let of_packets_and_hosts = earlier(self.links.next_event(), self.wakes.first());
        earlier(of_packets_and_hosts, traffic.next_start())
    }

    fn begin<T, O>(&mut self, traffic: &mut T, observer: &mut O)
    where
        T: Traffic<Application = A>,
        O: Observer,
    {
        let Start { flow, route, spec, applications } = traffic.start(self.now);
        let number = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Box::new(Slot::new()));
            self.slots.len() as u32 - 1
        });
        let slot = &mut self.slots[number as usize];
        slot.pair.begin::<A, O>(self.now, spec, self.seed, flow, &applications);
        slot.applications = Some(applications);
        slot.route = route;
        slot.in_flight = 0;
        slot.completed = false;
        self.turn(number, observer, |turn| turn.connect());
        self.after_turn(number, traffic, observer);
    }

    /// Moves all packets that are due, and delivers those that arrive at hosts.
    fn move_packets<T, O>(&mut self, traffic: &mut T, observer: &mut O)
    where
        T: Traffic<Application = A>,
        O: Observer,
    {
        self.links.advance(self.now);
        for host in [Host::Client, Host::Server] {
            while let Some(moved) = self.links.take(host) {
                self.settle(host, &moved, observer);
                self.after_turn(moved.packet().way.slot, traffic, observer);
                self.packets.put(moved.into_packet());
            }
        }
    }

    /// A packet left the network.
    fn settle<O: Observer>(&mut self, host: Host, moved: &Moved, observer: &mut O) {
        let (now, towards) = (self.now, host.sends().reverse());
        let packet = moved.packet();
        let slot = packet.way.slot;
        let place = &mut self.slots[slot as usize];
        if place.applications.is_none() || place.pair.flow != packet.flow {
            return; // a copy that arrives after its flow has ended
        }
        place.in_flight = place.in_flight.saturating_sub(1);
        self.in_flight = self.in_flight.saturating_sub(1);
        place.pair.tally.events += 1;
        match moved {
            Moved::Arrived(_) => {
                observer.on_packet(now, Point::Arrived, towards, packet);
                if packet.damage.is_none() {
                    self.turn(slot, observer, |turn| {
                        turn.deliver(host, packet);
                        turn.after_arrivals(host);
                    });
                } else {
                    place.pair.on_loss(host.peer(), packet);
                }
            }
            &Moved::Dropped(_, cause) => {
                place.pair.on_drop(host.peer(), packet, cause);
                observer.on_packet(now, Point::Dropped(cause), towards, packet);
            }
        }
    }

    /// Wakes the slot that is due next.
    fn wake<T, O>(&mut self, traffic: &mut T, observer: &mut O)
    where
        T: Traffic<Application = A>,
        O: Observer,
    {
        if self.wakes.first().is_none_or(|at| at > self.now) {
            return;
        }
        let number = self.wakes.first_slot();
        let slot = &mut self.slots[number as usize];
        let due = slot.applications.as_ref();
        let due = due.and_then(|applications| slot.pair.next_event(applications));
        if due.is_some_and(|due| due <= self.now) {
            slot.pair.tally.events += 1;
            self.turn(number, observer, |turn| {
                if !turn.wake_application() {
                    turn.fire_timer();
                }
            });
        }
        self.after_turn(number, traffic, observer);
    }

    /// Lets something happen to the hosts of a slot.
    fn turn<O: Observer>(&mut self, number: u32, observer: &mut O, act: impl FnOnce(&mut Turn<'_, Entry<'_>, A, O>)) {
        let slot = &mut self.slots[number as usize];
        let Some(applications) = &mut slot.applications else {
            return;
        };
        let mut entry = Entry { links: &mut self.links, slot: number, route: slot.route, entered: 0 };
        act(&mut Turn {
            now: self.now,
            pair: &mut slot.pair,
            network: &mut entry,
            packets: &mut self.packets,
            applications,
            observer,
        });
        slot.in_flight += entry.entered;
        self.in_flight += u64::from(entry.entered);
    }

    /// Notes when a slot wants to be woken, and whether its flow has ended.
    fn after_turn<T, O>(&mut self, number: u32, traffic: &mut T, observer: &mut O)
    where
        T: Traffic<Application = A>,
        O: Observer,
    {
        let slot = &mut self.slots[number as usize];
        let Some(applications) = &slot.applications else {
            return;
        };
        let flow = slot.pair.flow;
        if !slot.completed && slot.pair.tally.fct.is_some() {
            slot.completed = true;
            traffic.on_complete(self.now, flow);
        }
        if slot.in_flight == 0
            && let Some(over) = slot.pair.over(applications)
            && !self.links.hold_copies_of(flow, slot.route)
        {
            // TIME-WAIT would hold the slot for a minute in which nothing happens.
            slot.applications = None;
            self.wakes.set(number, None);
            self.free.push(number);
            let now = self.now;
            return slot.pair.end_at(over.max(now), |ended| {
                observer.on_flow_end(now, flow, ended.record);
                traffic.on_end(now, &ended);
            });
        }
        let at = slot.pair.next_event(applications);
        let is_sooner = |set: Instant| set <= self.now || at.is_some_and(|at| at < set);
        if self.wakes.get(number).map_or(at.is_some(), is_sooner) {
            self.wakes.set(number, at);
        }
    }
}

impl<A> Slot<A> {
    fn new() -> Self {
        Self { pair: Pair::new(), applications: None, route: RouteId(0), in_flight: 0, completed: false }
    }
}

#[cfg(test)]
mod tests;
