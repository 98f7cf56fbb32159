//! One user's connection with one arm, and what is counted of it.

use super::users::{Hosts, User};
use recoup_recovery::{Counters, Recovery};
use recoup_sim::world::{FlowEnd, RouteId, Start, Traffic, World};
use recoup_sim::{FlowSpec, Observer, Packet, Point};
use recoup_tcp::flow::{Host, ScriptProgress};
use recoup_units::{Direction, FlowId, Instant};
use recoup_wire::SeqNumber;
use std::time::Duration;

/// A connection that takes longer is cut off.
const LONGEST: Duration = Duration::from_secs(6 * 3600);

/// What a connection cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Connection {
    /// What the server's sender counted.
    pub counters: Counters,
    /// Its recoveries.
    pub recoveries: Vec<Recovery>,
    pub responses_retransmitted: u64,
    pub srtt_ms: f64,
    pub queue_drops: u64,
    pub channel_drops: u64,
    /// Whether the network lost or reordered a packet to the client, or the server retransmitted. Otherwise the server
    /// received no duplicate ACK, and the connection is the same in all arms.
    pub disturbed: bool,
}

impl Connection {
    /// Runs the connection of a user.
    ///
    /// # Errors
    /// A network that cannot be built.
    pub fn run(user: &User, hosts: &Hosts, seed: u64, number: u64) -> Result<Self, String> {
        // The seed of the world decides the losses, which differ between users.
        let seed = seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut world = World::new(&user.topology, seed).map_err(|e| e.to_string())?;
        let mut traffic = OneConnection {
            spec: hosts.spec(user),
            begun: false,
            found: Self::default(),
        };
        let mut watch = Watch::default();
        world.run(&mut traffic, Instant::ZERO + LONGEST, &mut watch);
        let down = world.link(recoup_sim::world::LinkId(1)).clone();
        if traffic.found.counters == Counters::default() {
            world.cut_off(&mut traffic);
        }
        let mut begin = 0;
        let mut hit = 0;
        for bytes in &user.responses {
            let end = begin + bytes;
            hit += u64::from(watch.again.iter().any(|(a, b)| *a < end && begin < *b));
            begin = end;
        }
        Ok(Self {
            disturbed: watch.disturbed || traffic.found.counters.retransmissions.total() > 0,
            responses_retransmitted: hit,
            queue_drops: down.dropped_by_queue,
            channel_drops: down.lost,
            ..traffic.found
        })
    }
}

/// The traffic of a user.
struct OneConnection {
    spec: FlowSpec,
    begun: bool,
    found: Connection,
}

impl Traffic for OneConnection {
    type Application = ScriptProgress;

    fn next_start(&self) -> Option<Instant> {
        (!self.begun).then_some(Instant::ZERO)
    }

    fn start(&mut self, _: Instant) -> Start<'_, ScriptProgress> {
        self.begun = true;
        let workload = &self.spec.workload;
        Start {
            flow: FlowId(0),
            route: RouteId(0),
            applications: [&workload.client, &workload.server].map(ScriptProgress::new),
            spec: &self.spec,
        }
    }

    fn on_end(&mut self, _: Instant, ended: &FlowEnd<'_>) {
        let sender = ended.endpoints[Host::Server as usize].sender();
        self.found.counters = sender.counters();
        self.found.recoveries = sender.recoveries().copied().collect();
        self.found.srtt_ms = sender.rtt().srtt().map_or(0.0, |s| s.as_secs_f64() * 1e3);
    }
}

/// Notices what disturbs a connection.
#[derive(Debug, Default)]
struct Watch {
    /// The ordinal after that of the last packet that arrived at the client.
    next: u64,
    disturbed: bool,
    first: Option<SeqNumber>,
    end: u64,
    again: Vec<(u64, u64)>,
}

impl Observer for Watch {
    const WANTS_EVENTS: bool = false;

    fn on_packet(&mut self, _: Instant, point: Point, direction: Direction, packet: &Packet) {
        if direction == Direction::Down {
            match point {
                Point::Sent => {
                    let s = &packet.segment;
                    if s.payload_len > 0 {
                        let first = *self.first.get_or_insert(s.seq);
                        let begin = u64::from(s.seq.since(first));
                        let end = begin + u64::from(s.payload_len);
                        if begin < self.end {
                            self.again.push((begin, end));
                        } else {
                            self.end = end;
                        }
                    }
                }
                Point::Arrived => {
                    self.disturbed |= packet.ordinal < self.next;
                    self.next = packet.ordinal + 1;
                }
                Point::Dropped(_) => self.disturbed = true,
            }
        }
    }

    fn on_event(&mut self, _: Instant, _: FlowId, _: Host, _: &recoup_recovery::Event) {}
}
