//! Flows between guests over one simulated path, in virtual time.
//!
//! All flows share the two directions of the path, each a chain of hops as in `recoup run`, with the same random draws for the
//! same seed and flow. Applications follow the same scripts. At equal times packets are handled first, then applications,
//! then timers.
//!
//! ```text
//! Bench::run ──► chains ──► Guest::step (packet, application, timer) ──► packets ──► chains
//!                                                                          └──► Log: every packet, what became of it, and why it left
//! ```

mod host;
mod log;
mod packet;

pub use log::{Cause, Log, Sent};
pub use packet::Packet;

use host::{BenchHost, Turn};
use recoup_guest::{Counters, Failed, Guest, Input};
use recoup_path::{Chain, ChainError, Exit, PathSpec};
use recoup_tcp::flow::{Host, Workload};
use recoup_units::{Direction, FlowId, Instant};
use std::{sync::Arc, time::Duration};

/// How long the bench goes on after all flows are complete: a spurious timeout may follow.
const LINGER: Duration = Duration::from_secs(5);

/// The most packets of a run. A stack that answers every packet with two would never end.
const MOST_PACKETS: usize = 1_000_000;

/// The most things that happen at one instant before a run is given up: a guest that wants to be woken now, for ever.
const MOST_AT_ONCE: u32 = 100_000;

/// One flow.
pub struct BenchFlow {
    /// Its number. Random choices of the path follow from it.
    pub id: FlowId,
    /// When the client connects.
    pub start: Instant,
    /// The host that connects, the host that accepts.
    pub guests: [Box<dyn Guest>; 2],
    /// What the applications write.
    pub workload: Workload,
}

/// What became of a flow.
#[derive(Clone, Copy, Debug)]
pub struct Completion {
    pub start: Instant,
    /// When both applications had all data.
    pub complete: Option<Instant>,
    /// What the server's stack counted.
    pub counters: Counters,
}

/// A path with the hosts of some flows at its ends.
pub struct Bench {
    /// Up and down.
    chains: [Chain<Packet>; 2],
    flows: Vec<Flow>,
    log: Log,
    now: Instant,
    at_once: u32,
}

struct Flow {
    id: FlowId,
    start: Instant,
    /// Client, server.
    hosts: [BenchHost; 2],
    began: bool,
    complete: Option<Instant>,
}

impl Bench {
    /// A path between the hosts of `flows`. Its random choices come from `seed`.
    ///
    /// # Errors
    /// When a hop cannot be built.
    pub fn new(path: &PathSpec, seed: u64, flows: Vec<BenchFlow>) -> Result<Self, ChainError> {
        let chains = [Chain::new(&path.up, Direction::Up, seed)?, Chain::new(&path.down, Direction::Down, seed)?];
        let flows = flows.into_iter().map(|BenchFlow { id, start, guests, workload }| {
            let [client, server] = guests;
            let Workload { client: asks, server: answers } = &workload;
            let hosts = [BenchHost::new(client, asks, answers.total()), BenchHost::new(server, answers, asks.total())];
            Flow { id, start, hosts, began: false, complete: None }
        });
        Ok(Self { chains, flows: flows.collect(), log: Log::default(), now: Instant::ZERO, at_once: 0 })
    }

    /// Runs until nothing is left to happen, until `limit`, or until all flows have been complete for a while.
    ///
    /// # Errors
    /// When a guest fails, or never comes to rest.
    pub fn run(&mut self, limit: Duration) -> Result<Vec<Completion>, Failed> {
        let limit = Instant::ZERO + limit;
        while let Some(next) = self.next_event().filter(|next| *next <= limit) {
            if self.flows.iter().all(|flow| flow.complete.is_some_and(|at| next > at + LINGER)) {
                break;
            }
            self.at_once = if next > self.now { 0 } else { self.at_once + 1 };
            if self.at_once > MOST_AT_ONCE || self.log.packets.len() > MOST_PACKETS {
                return Err(Failed::new(format_args!("no rest after {} packets", self.log.packets.len())));
            }
            self.now = next.max(self.now);
            if !self.move_packets()? && !self.begin_flow()? && !self.act()? {
                self.fire_timer()?;
            }
        }
        Ok(self.flows.iter().map(Flow::completion).collect())
    }

    /// Everything that was sent.
    pub fn into_log(self) -> Log {
        self.log
    }

    fn next_event(&self) -> Option<Instant> {
        let chains = self.chains.iter().filter_map(Chain::next_event);
        let flows = self.flows.iter().filter_map(|flow| match flow.began {
            false => Some(flow.start),
            true => flow.hosts.iter().filter_map(BenchHost::next_event).min(),
        });
        chains.chain(flows).min()
    }

    /// Handles the packets due now, and returns whether there were any.
    fn move_packets(&mut self) -> Result<bool, Failed> {
        let mut moved = false;
        for direction in [Direction::Up, Direction::Down] {
            while let Some(exit) = self.chains[direction as usize].next_exit(self.now) {
                moved = true;
                let Exit::Delivered(packet) = exit else { continue };
                let Packet { flow, number, .. } = packet;
                let bytes = self.log.arrive(number, self.now, packet.damage);
                let to = if direction == Direction::Up { Host::Server } else { Host::Client };
                self.input(flow, to, Input::Packet(&bytes), Cause::Packet)?;
            }
        }
        Ok(moved)
    }

    fn begin_flow(&mut self) -> Result<bool, Failed> {
        let now = self.now;
        let Some(index) = self.flows.iter().position(|flow| !flow.began && flow.start <= now) else {
            return Ok(false);
        };
        self.flows[index].began = true;
        self.input(index, Host::Server, Input::Listen, Cause::Application)?;
        self.input(index, Host::Client, Input::Connect, Cause::Application)?;
        Ok(true)
    }

    /// Lets an application act that is due.
    fn act(&mut self) -> Result<bool, Failed> {
        let due = self.due(|host, now| host.application_due().is_some_and(|at| at <= now));
        let Some((index, host)) = due else { return Ok(false) };
        self.turn(index, host, None, Cause::Application)?;
        Ok(true)
    }

    fn fire_timer(&mut self) -> Result<(), Failed> {
        let due = self.due(|host, now| host.status.wake.is_some_and(|at| at <= now));
        let Some((index, host)) = due else { return Ok(()) };
        self.input(index, host, Input::Wake, Cause::Timer)
    }

    fn due(&self, is_due: impl Fn(&BenchHost, Instant) -> bool) -> Option<(usize, Host)> {
        let began = self.flows.iter().enumerate().filter(|(_, flow)| flow.began);
        let mut hosts = began.flat_map(|(index, _)| [(index, Host::Client), (index, Host::Server)]);
        hosts.find(|(index, host)| is_due(&self.flows[*index].hosts[*host as usize], self.now))
    }

    fn input(&mut self, index: usize, host: Host, input: Input<'_>, cause: Cause) -> Result<(), Failed> {
        self.turn(index, host, Some(input), cause)
    }

    /// An input, everything that the application does because of it, and the packets that leave.
    fn turn(&mut self, index: usize, host: Host, input: Option<Input<'_>>, cause: Cause) -> Result<(), Failed> {
        let now = self.now;
        let Some(flow) = self.flows.get_mut(index) else { return Ok(()) };
        let mut turn = Turn { now, host: &mut flow.hosts[host as usize], packets: Vec::new() };
        turn.run(input)?;
        let (packets, direction) = (turn.packets, host.sends());
        let [client, server] = &flow.hosts;
        if flow.complete.is_none() && client.has_all() && server.has_all() {
            flow.complete = Some(now);
        }
        let id = flow.id;
        for bytes in packets {
            let ordinal = self.flows[index].hosts[host as usize].next_ordinal();
            let bytes: Arc<[u8]> = bytes.into();
            let number = self.log.send(Sent::new(now, index, direction, ordinal, cause, Arc::clone(&bytes)));
            self.chains[direction as usize].enter(now, Packet::new(id, index, number, ordinal, &bytes));
        }
        Ok(())
    }
}

impl Flow {
    fn completion(&self) -> Completion {
        let Self { start, complete, hosts: [_, server], .. } = self;
        Completion { start: *start, complete: *complete, counters: server.counters() }
    }
}

#[cfg(test)]
mod tests;
