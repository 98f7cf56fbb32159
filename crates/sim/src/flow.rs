//! Runs one flow over a network of its own.

use crate::network::earlier;
use crate::observe::{Observer, Point};
use crate::packet::PacketPool;
use crate::pair::Pair;
use crate::turn::Turn;
use crate::{Application, Chains, Network, TimerModel};
use recoup_path::{ChainError, Exit, PathSpec};
use recoup_tcp::flow::{FlowRecord, Host, Response, ScriptProgress, Workload};
use recoup_tcp::{self as tcp, Endpoint};
use recoup_units::{FlowId, Instant};

/// One flow: the configuration of its hosts, and its workload.
#[derive(Clone, Debug)]
pub struct FlowSpec {
    /// The host that connects. Its ISN is derived from the seed.
    pub client: tcp::Config,
    /// The host that accepts. Its ISN is derived from the seed.
    pub server: tcp::Config,
    /// How both hosts round their senders' timers.
    pub timers: TimerModel,
    /// The writes of the applications.
    pub workload: Workload,
}

/// Two hosts and the network between them. Run flows one after another in the same simulation: only the
/// first ones allocate memory.
#[derive(Debug)]
pub struct Simulation<N = Chains> {
    pair: Pair,
    network: N,
    packets: PacketPool,
    now: Instant,
}

impl Simulation {
    /// Two hosts joined by this path.
    ///
    /// # Errors
    /// When a hop cannot be built.
    pub fn new(path: &PathSpec) -> Result<Self, ChainError> {
        Chains::new(path).map(Self::over)
    }
}

impl<N: Network> Simulation<N> {
    /// Two hosts joined by this network.
    pub fn over(network: N) -> Self {
        Self { pair: Pair::new(), network, packets: PacketPool::default(), now: Instant::ZERO }
    }

    /// Runs flow number `flow` of `seed` until no event is left. The applications follow the scripts of
    /// `spec`.
    pub fn run<O: Observer>(&mut self, spec: &FlowSpec, seed: u64, flow: FlowId, observer: &mut O) -> FlowRecord {
        let Workload { client, server } = &spec.workload;
        let mut applications = [client, server].map(ScriptProgress::new);
        self.run_applications(spec, seed, flow, &mut applications, observer)
    }

    /// Runs flow number `flow` of `seed` until no event is left, with these applications (the client's, the
    /// server's) in place of the scripts of `spec`.
    pub fn run_applications<A: Application, O: Observer>(
        &mut self,
        spec: &FlowSpec,
        seed: u64,
        flow: FlowId,
        applications: &mut [A; 2],
        observer: &mut O,
    ) -> FlowRecord {
        self.now = Instant::ZERO;
        self.network.begin(seed, flow);
        self.pair.begin::<A, O>(self.now, spec, seed, flow, applications);
        self.turn(applications, observer).connect();
        while let Some(next) = self.next_event(applications) {
            self.now = next.max(self.now);
            self.pair.tally.events += 1;
            // Packets first: an ACK that arrives exactly at a deadline is in time.
            let mut turn = self.turn(applications, observer);
            if !turn.move_packets() && !turn.wake_application() {
                turn.fire_timer();
            }
        }
        self.pair.finish(self.now)
    }

    fn turn<'a, A, O>(&'a mut self, applications: &'a mut [A; 2], observer: &'a mut O) -> Turn<'a, N, A, O> {
        Turn {
            now: self.now,
            pair: &mut self.pair,
            network: &mut self.network,
            packets: &mut self.packets,
            applications,
            observer,
        }
    }

    fn next_event<A: Application>(&self, applications: &[A; 2]) -> Option<Instant> {
        earlier(self.network.next_event(), self.pair.next_event(applications))
    }

    /// The network.
    pub const fn network(&self) -> &N {
        &self.network
    }

    /// The network, to be changed between two flows.
    pub const fn network_mut(&mut self) -> &mut N {
        &mut self.network
    }

    /// The responses of the flow that ran last.
    pub fn responses(&self) -> &[Response] {
        self.pair.responses.all()
    }

    /// The endpoint of a host, in its current state.
    pub fn endpoint(&self, host: Host) -> &Endpoint {
        &self.pair.end(host).endpoint
    }
}

impl<N: Network, A: Application, O: Observer> Turn<'_, N, A, O> {
    /// Handles all packets due now, and returns whether there were any.
    fn move_packets(&mut self) -> bool {
        let mut moved = false;
        for host in [Host::Client, Host::Server] {
            let next = self.network.next_event_of(host.sends().reverse());
            if next.is_some_and(|at| at <= self.now) {
                moved |= self.move_packets_to(host);
            }
        }
        moved
    }

    // Not inlined: the compiler would compute the address of every field for both hosts first.
    #[inline(never)]
    fn move_packets_to(&mut self, host: Host) -> bool {
        let (now, towards) = (self.now, host.sends().reverse());
        let (mut moved, mut delivered) = (false, false);
        while let Some(exit) = self.network.next_exit(now, towards) {
            moved = true;
            match exit {
                Exit::Delivered(packet) => {
                    self.observer.on_packet(now, Point::Arrived, towards, &packet);
                    if packet.damage.is_none() {
                        delivered = true;
                        self.deliver(host, &packet);
                    } else {
                        self.pair.on_loss(host.peer(), &packet);
                    }
                    self.packets.put(packet);
                }
                Exit::Dropped { packet, cause, .. } => {
                    self.pair.on_drop(host.peer(), &packet, cause);
                    self.observer.on_packet(now, Point::Dropped(cause), towards, &packet);
                    self.packets.put(packet);
                }
            }
        }
        if delivered {
            self.after_arrivals(host);
        }
        moved
    }
}

#[cfg(test)]
mod tests;
