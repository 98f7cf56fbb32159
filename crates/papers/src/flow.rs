//! Single flows in the simulator, and logs of what happened in them.
//!
//! ```text
//! Setup, profile, settings ──► Bench ──► run: a Log of packets, events and sender states, with the record
//!                                   └──► record: the record alone
//! ```
//! A flow starts from the scenario of the setup, so that the user's settings and mutations reach it. Each paper reads
//! what it needs off the log, in `impl Log` blocks of its own.

use crate::experiment::Setup;
use crate::prelude::Result;
use recoup_lab::settings::{Settings, SettingsError};
use recoup_recovery::{Event, State, Timer, Transmission};
use recoup_sim::{Chains, FlowSpec, Network, NoObserver, Observer, Packet, Point, Simulation};
use recoup_support::threads::{cores, in_parallel};
use recoup_tcp::Endpoint;
use recoup_tcp::flow::{FlowRecord, Host};
use recoup_units::{Direction, FlowId, Instant, Offset};
use recoup_wire::Segment;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

impl Setup {
    /// The scenario with other values for these settings, such as `rtt=10ms drop=tail:1`.
    ///
    /// # Errors
    /// A value that its setting does not take.
    pub fn settings(&self, own: &str) -> Result<Settings> {
        let mut settings = self.base.settings.clone();
        let mutated = if self.is_mutated("nothing-lost") { "drop=none" } else { "" };
        let own = own.split_whitespace().chain([mutated]);
        for (key, value) in own.filter_map(|setting| setting.split_once('=')) {
            settings.set(key, value, Path::new(""))?;
        }
        Ok(settings)
    }
}

/// Runs flows of one sender over one network.
#[derive(Debug)]
pub struct Bench<N = Chains> {
    /// The hosts, and what they write.
    pub spec: FlowSpec,
    /// The hosts and the network between them.
    pub simulation: Simulation<N>,
    /// The seed of everything random.
    pub seed: u64,
}

impl Bench {
    /// Flows of this profile with these settings in place of the scenario's.
    ///
    /// # Errors
    /// Settings that contradict each other.
    pub fn new(setup: &Setup, profile: &str, own: &str) -> Result<Self> {
        Self::over(setup, profile, &setup.settings(own)?, |chains| chains)
    }
}

impl<N: Network> Bench<N> {
    /// Flows of this profile with these settings, on `network` of their path.
    ///
    /// # Errors
    /// Settings that contradict each other.
    pub fn over(setup: &Setup, profile: &str, settings: &Settings, network: impl FnOnce(Chains) -> N) -> Result<Self> {
        let chains = Chains::new(&settings.path()?).map_err(|e| SettingsError::Path(e.to_string()))?;
        let simulation = Simulation::over(network(chains));
        Ok(Self { spec: settings.flow(&setup.profile(profile)), simulation, seed: setup.seed() })
    }

    /// Flows of these hosts over a network of one's own.
    pub fn of(spec: FlowSpec, network: N, seed: u64) -> Self {
        Self { spec, simulation: Simulation::over(network), seed }
    }

    /// Runs the flow of this number, which decides its random choices.
    pub fn run(&mut self, number: u64) -> Log {
        let mut log = Log::new(&self.spec);
        log.record = self.observe(number, &mut log);
        log
    }

    /// Runs the flow of this number and keeps its record alone.
    pub fn record(&mut self, number: u64) -> FlowRecord {
        self.observe(number, &mut NoObserver)
    }

    /// Runs the flow of this number under an observer.
    pub fn observe(&mut self, number: u64, observer: &mut impl Observer) -> FlowRecord {
        self.simulation.run(&self.spec, self.seed, FlowId(number), observer)
    }
}

/// Runs a flow of this profile with these settings in place of the scenario's.
///
/// # Errors
/// Settings that contradict each other.
pub fn run(setup: &Setup, profile: &str, own: &str) -> Result<Log> {
    Ok(Bench::new(setup, profile, own)?.run(0))
}

/// Runs this many flows, each with its own random choices.
///
/// # Errors
/// As [`run`].
pub fn run_many(setup: &Setup, profile: &str, own: &str, flows: u64) -> Result<Vec<Log>> {
    let mut bench = Bench::new(setup, profile, own)?;
    Ok((0..flows).map(|number| bench.run(number)).collect())
}

/// Runs `flows` flows on all cores, `together` at a time, and joins what `run` makes of their numbers, in order.
///
/// # Errors
/// As `run`.
pub fn in_batches<T: Clone + Send, E: Send>(
    flows: u64,
    together: u64,
    run: impl Fn(Range<u64>) -> Result<Vec<T>, E> + Sync,
) -> Result<Vec<T>, E> {
    let parts = in_parallel(flows.div_ceil(together) as usize, cores(), |part| {
        let first = part as u64 * together;
        run(first..(first + together).min(flows))
    })?;
    Ok(parts.concat())
}

/// A packet at a point of its way.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// When.
    pub at: Instant,
    /// Where.
    pub point: Point,
    /// Its direction.
    pub direction: Direction,
    /// Its number among the packets of its direction, from 0.
    pub ordinal: u64,
    /// The segment.
    pub segment: Segment,
}

/// A host's sender when it had nothing more to do at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderState {
    /// When.
    pub at: Instant,
    /// Its state.
    pub state: State,
    /// The lowest unacknowledged offset.
    pub una: Offset,
    /// The next offset to be sent for the first time.
    pub nxt: Offset,
    /// The end of the data written.
    pub limit: Offset,
    /// Segments delivered so far.
    pub delivered: u64,
    /// Segments SACKed above `una`.
    pub sacked: u32,
    /// Segments in flight.
    pub pipe: u32,
    /// The congestion window in segments.
    pub cwnd: u32,
    /// The slow-start threshold in segments.
    pub ssthresh: u32,
    /// The window that the peer offers, in bytes.
    pub offered: u64,
    /// The largest payload of a segment in bytes.
    pub mss: u64,
}

/// One thing that happened.
#[derive(Clone, Copy, Debug)]
pub enum Entry {
    /// A packet was sent, arrived or was dropped.
    Packet(Seen),
    /// A host's sender reported an event.
    Event(Instant, Host, Event),
    /// A host has nothing more to do at this instant.
    Settled(Host, SenderState),
}

/// A flow's packets, events and sender states, in order.
#[derive(Clone, Debug)]
pub struct Log {
    /// The flow's record.
    pub record: FlowRecord,
    /// The largest payload of a segment in bytes.
    pub mss: u64,
    /// All that happened, in order.
    pub entries: Vec<Entry>,
}

impl Log {
    /// An empty log of a flow.
    pub fn new(spec: &FlowSpec) -> Self {
        Self { record: FlowRecord::default(), mss: spec.server.mss.into(), entries: vec![] }
    }

    /// All packets.
    pub fn packets(&self) -> impl DoubleEndedIterator<Item = &Seen> + Clone {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Packet(seen) => Some(seen),
            _ => None,
        })
    }

    /// The packets of one direction at one point.
    pub fn packets_at(&self, direction: Direction, point: Point) -> impl Iterator<Item = &Seen> + Clone {
        self.packets().filter(move |seen| (seen.direction, seen.point) == (direction, point))
    }

    /// The events of a host's sender, with their times.
    pub fn events(&self, host: Host) -> impl DoubleEndedIterator<Item = (Instant, &Event)> + Clone {
        self.entries.iter().filter_map(move |entry| match entry {
            Entry::Event(at, of, event) if *of == host => Some((*at, event)),
            _ => None,
        })
    }

    /// The transmissions of a host, with their times.
    pub fn sent(&self, host: Host) -> impl Iterator<Item = (Instant, Transmission)> + Clone {
        self.events(host).filter_map(|(at, event)| match event {
            Event::Sent { what, .. } => Some((at, *what)),
            _ => None,
        })
    }

    /// The states of a host's sender.
    pub fn states(&self, host: Host) -> impl Iterator<Item = &SenderState> + Clone {
        self.entries.iter().filter_map(move |entry| match entry {
            Entry::Settled(of, state) if *of == host => Some(state),
            _ => None,
        })
    }

    /// Pure ACKs that the client sent, in order.
    pub fn acks(&self) -> impl Iterator<Item = &Seen> {
        self.packets_at(Direction::Up, Point::Sent).filter(|seen| seen.segment.is_pure_ack())
    }

    /// RTT samples of the server: sample, SRTT and RTO, in ms.
    pub fn rtt_samples(&self) -> Vec<[f64; 3]> {
        self.events(Host::Server)
            .filter_map(|(_, event)| match event {
                Event::RttSample { rtt, srtt, rto } => Some([rtt, srtt, rto].map(|time| time.as_secs_f64() * 1e3)),
                _ => None,
            })
            .collect()
    }

    /// How often a timer of the server fired.
    pub fn fired(&self, timer: Timer) -> usize {
        self.events(Host::Server).filter(|(_, event)| **event == Event::TimerFired { timer }).count()
    }

    /// The number in the stream of the segment that begins here, from 1.
    pub fn number(&self, start: Offset) -> u64 {
        1 + start.since(Offset::DATA) / self.mss
    }

    /// The flow completion time from establishment, in ms.
    pub fn fct_ms(&self) -> Option<f64> {
        self.record.fct_established.map(|fct| fct.as_secs_f64() * 1e3)
    }
}

impl Observer for Log {
    const WANTS_EVENTS: bool = true;

    fn on_packet(&mut self, at: Instant, point: Point, direction: Direction, packet: &Packet) {
        let Packet { ordinal, segment, .. } = *packet;
        self.entries.push(Entry::Packet(Seen { at, point, direction, ordinal, segment }));
    }

    fn on_event(&mut self, at: Instant, _: FlowId, host: Host, event: &Event) {
        self.entries.push(Entry::Event(at, host, *event));
    }

    fn on_settled(&mut self, at: Instant, host: Host, endpoint: &Endpoint) {
        let sender = endpoint.sender();
        let state = SenderState {
            at,
            state: sender.state(),
            una: sender.una(),
            nxt: sender.nxt(),
            limit: sender.limit(),
            delivered: sender.counters().delivered,
            sacked: sender.board().sacked().0,
            pipe: sender.pipe().0,
            cwnd: sender.cwnd().0,
            ssthresh: sender.ssthresh().0,
            offered: sender.peer_window().bytes(sender.una()),
            mss: sender.mss().into(),
        };
        self.entries.push(Entry::Settled(host, state));
    }
}

/// A duration in ms.
pub fn ms(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}

#[cfg(test)]
mod tests;
