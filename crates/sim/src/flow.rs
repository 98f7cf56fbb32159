//! Runs one flow.

use crate::host_random::{Purpose, random_bits};
use crate::observe::{Observer, Point};
use crate::timers::HostTimers;
use crate::{Packet, TimerModel};
use recoup_path::{Chain, ChainError, DropCause, Exit, Packet as _, PathSpec};
use recoup_recovery::{Send, Trigger};
use recoup_tcp::flow::{FlowRecord, Host, LaterWrites, SpuriousRetransmissions, Workload};
use recoup_tcp::{self as tcp, Endpoint, Transmit};
use recoup_units::{Direction, FlowId, Instant, Offset, Span};
use recoup_wire::{Flags, Segment, SeqNumber};

/// One flow: the configuration of its hosts, and its workload.
#[derive(Clone, Debug)]
pub struct FlowSpec {
    /// The host that connects. Its ISN is derived from the seed.
    pub client: tcp::Config,
    /// The host that accepts. Its ISN is derived from the seed.
    pub server: tcp::Config,
    /// How both hosts round their senders' timers.
    pub timers: TimerModel,
    /// What the applications write.
    pub workload: Workload,
}

/// A host: its endpoint, and what the simulator keeps about it.
#[derive(Debug)]
struct End {
    endpoint: Endpoint,
    timers: HostTimers,
    wake: Option<(Instant, tcp::Timer)>,
    isn: SeqNumber,
    packets: u64,
    last_ack_at: Option<Instant>,
    written: bool,
    spurious: SpuriousRetransmissions,
}

/// Two hosts and a path. Run flows one after another in the same simulation: only the first ones
/// allocate memory.
#[derive(Debug)]
pub struct Simulation {
    client: End,
    server: End,
    up: Chain<Packet>,
    down: Chain<Packet>,
    now: Instant,
    flow: FlowId,
    workload: Workload,
    later: LaterWrites,
    record: FlowRecord,
}

impl Simulation {
    /// Two hosts joined by this path.
    ///
    /// # Errors
    /// When a hop cannot be built.
    pub fn new(path: &PathSpec) -> Result<Self, ChainError> {
        let idle = tcp::Config::new(recoup_recovery::Mechanisms::LINUX_3_17);
        Ok(Self {
            client: End::new(Endpoint::connect(&idle)),
            server: End::new(Endpoint::listen(&idle)),
            up: Chain::new(&path.up, Direction::Up, 0)?,
            down: Chain::new(&path.down, Direction::Down, 0)?,
            now: Instant::ZERO,
            flow: FlowId(0),
            workload: Workload::default(),
            later: LaterWrites::default(),
            record: FlowRecord::default(),
        })
    }

    /// Runs flow number `flow` of `seed` until no event is left.
    pub fn run<O: Observer>(
        &mut self,
        spec: &FlowSpec,
        seed: u64,
        flow: FlowId,
        observer: &mut O,
    ) -> FlowRecord {
        self.begin::<O>(spec, seed, flow);
        self.transmit(Host::Client, observer);
        self.client.update_wake(self.now);
        while let Some(next) = self.next_event() {
            self.now = next;
            self.record.events += 1;
            // Packets first: an ACK that arrives exactly at a deadline is in time.
            if !self.move_packets(observer) && !self.write_later(observer) {
                self.fire_timer(observer);
            }
        }
        self.finish()
    }

    fn begin<O: Observer>(&mut self, spec: &FlowSpec, seed: u64, flow: FlowId) {
        self.now = Instant::ZERO;
        self.flow = flow;
        self.workload.clone_from(&spec.workload);
        self.later = LaterWrites::default();
        self.record = FlowRecord::default();
        self.up.reset(seed);
        self.down.reset(seed);
        let timers = HostTimers::new(spec.timers, spec.timers.phase(seed, flow));
        for (end, config, connects, isn) in [
            (&mut self.client, &spec.client, true, Purpose::ClientIsn),
            (&mut self.server, &spec.server, false, Purpose::ServerIsn),
        ] {
            let isn = SeqNumber(random_bits(seed, flow, isn) as u32);
            let config = tcp::Config {
                isn,
                log: O::WANTS_EVENTS,
                ..*config
            };
            end.begin(&config, connects, timers);
        }
    }

    fn finish(&mut self) -> FlowRecord {
        let mut record = self.record;
        record.duration = self.now.since(Instant::ZERO);
        for end in [&mut self.client, &mut self.server] {
            record.spurious += end.spurious.spurious();
            record.unnecessary_bytes += end.endpoint.receiver().duplicate_bytes();
            record.counters.merge(&end.endpoint.sender().counters());
        }
        record
    }

    /// The endpoint of a host, in its current state.
    pub fn endpoint(&self, host: Host) -> &Endpoint {
        &self.end(host).endpoint
    }

    fn end(&self, host: Host) -> &End {
        match host {
            Host::Client => &self.client,
            Host::Server => &self.server,
        }
    }

    fn end_mut(&mut self, host: Host) -> &mut End {
        match host {
            Host::Client => &mut self.client,
            Host::Server => &mut self.server,
        }
    }

    fn chain(&mut self, direction: Direction) -> &mut Chain<Packet> {
        match direction {
            Direction::Up => &mut self.up,
            Direction::Down => &mut self.down,
        }
    }

    fn next_event(&self) -> Option<Instant> {
        let wakes = [&self.client, &self.server].map(|end| end.wake.map(|(at, _)| at));
        let events = [
            self.up.next_event(),
            self.down.next_event(),
            wakes[0],
            wakes[1],
            self.later.due(&self.workload),
        ];
        events.into_iter().flatten().min()
    }

    /// Handles all packets due now, and returns whether there were any.
    fn move_packets<O: Observer>(&mut self, observer: &mut O) -> bool {
        let (now, mut moved) = (self.now, false);
        for host in [Host::Client, Host::Server] {
            let towards = host.sends().reverse();
            let mut delivered = false;
            while let Some(exit) = self.chain(towards).next_exit(now) {
                moved = true;
                match exit {
                    Exit::Delivered(packet) => {
                        observer.on_packet(self.now, Point::Arrived, towards, &packet);
                        if packet.damage.is_none() {
                            delivered = true;
                            self.deliver(host, &packet);
                            self.transmit(host, observer);
                            if !self.end_mut(host).timers.exact() {
                                // Rounding depends on when the timer was armed.
                                self.end_mut(host).update_wake(now);
                            }
                        }
                    }
                    Exit::Dropped { packet, cause, .. } => {
                        // Thinned ACKs do not count as drops.
                        self.record.packets_dropped += u64::from(cause != DropCause::Thinned);
                        observer.on_packet(self.now, Point::Dropped(cause), towards, &packet);
                    }
                }
            }
            if delivered {
                self.end_mut(host).update_wake(now);
            }
        }
        moved
    }

    fn deliver(&mut self, host: Host, packet: &Packet) {
        let (now, workload) = (self.now, &self.workload);
        let (end, far) = match host {
            Host::Client => (&mut self.client, &mut self.server),
            Host::Server => (&mut self.server, &mut self.client),
        };
        if packet.segment.flags.contains(Flags::ACK) {
            end.last_ack_at = Some(now);
        }
        let near = end.endpoint.receiver().next();
        end.endpoint.on_segment(now, &packet.segment);
        if far.spurious.is_waiting() {
            let len = u64::from(packet.segment.sequence_len());
            let start = packet.segment.seq.unwrap(far.isn, near);
            let span = start.map_or(Span::default(), |start| Span::at(start, len));
            // Segments that the endpoint rejected, for an old timestamp, are not delivered.
            if !span.is_empty() && end.endpoint.receiver().holds(span) {
                far.spurious.on_arrival(packet.ordinal, span);
            }
        }
        if end.run_application(now, host, workload) && host == Host::Server {
            self.later.begin(now);
        }
        let (last, bytes) = match workload.response_len() {
            0 => (Host::Server, workload.request),
            bytes => (Host::Client, bytes),
        };
        // An empty flow is complete when the server, which opens last, is open.
        let delivered = end.written && end.endpoint.receiver().next() >= Offset::DATA + bytes;
        if host == last && self.record.fct.is_none() && delivered {
            self.record.fct = Some(now.since(Instant::ZERO));
        }
    }

    /// Makes the server's later write that is due now, and returns whether there was one.
    fn write_later<O: Observer>(&mut self, observer: &mut O) -> bool {
        let now = self.now;
        let Some((bytes, last)) = self.later.take(now, &self.workload) else {
            return false;
        };
        self.server.endpoint.write(now, bytes);
        if last && self.workload.close {
            self.server.endpoint.close(now);
        }
        self.transmit(Host::Server, observer);
        self.server.update_wake(now);
        true
    }

    fn fire_timer<O: Observer>(&mut self, observer: &mut O) {
        for host in [Host::Client, Host::Server] {
            let now = self.now;
            let end = self.end_mut(host);
            if let Some((at, timer)) = end.wake
                && at <= now
            {
                end.endpoint.on_timer(now, timer);
                self.transmit(host, observer);
                self.end_mut(host).update_wake(now);
                return;
            }
        }
    }

    /// Sends all segments that `host` wants to send. To be called after every change of `host`.
    fn transmit<O: Observer>(&mut self, host: Host, observer: &mut O) {
        let now = self.now;
        let mut packet = Packet::new(self.flow, 0, Segment::default());
        loop {
            let end = self.end_mut(host);
            let Some(transmit) = end.endpoint.poll_transmit(now, &mut packet.segment) else {
                break;
            };
            packet.ordinal = end.packets;
            packet.measure();
            end.packets += 1;
            self.count(host, &packet, transmit);
            observer.on_packet(now, Point::Sent, host.sends(), &packet);
            self.chain(host.sends()).enter(now, packet);
        }
        let flow = self.flow;
        let end = self.end_mut(host);
        if O::WANTS_EVENTS {
            for (at, event) in end.endpoint.drain_events() {
                observer.on_event(at, flow, host, &event);
            }
        }
        observer.on_settled(now, host, &end.endpoint);
    }

    fn count(&mut self, host: Host, packet: &Packet, transmit: Transmit) {
        let (now, record) = (self.now, &mut self.record);
        record.bytes_sent += u64::from(packet.ip_len());
        record.segments_sent += u64::from(packet.segment.payload_len > 0);
        let (span, trigger) = match transmit {
            Transmit::Stream(Send::Again(span, trigger)) => (span, trigger),
            _ => return,
        };
        let (end, far) = match host {
            Host::Client => (&mut self.client, &self.server),
            Host::Server => (&mut self.server, &self.client),
        };
        let receiver = far.endpoint.receiver();
        end.spurious
            .on_retransmission(packet.ordinal, |missing| receiver.missing(span, missing));
        if !matches!(trigger, Trigger::Syn | Trigger::SynAck) {
            let waited = end.last_ack_at.map(|at| now.since(at));
            record.last_ack_to_retransmission = record.last_ack_to_retransmission.or(waited);
        }
    }
}

impl End {
    fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            timers: HostTimers::new(TimerModel::Exact, std::time::Duration::ZERO),
            wake: None,
            isn: SeqNumber(0),
            packets: 0,
            last_ack_at: None,
            written: false,
            spurious: SpuriousRetransmissions::default(),
        }
    }

    fn begin(&mut self, config: &tcp::Config, connects: bool, timers: HostTimers) {
        self.endpoint.reset(config, connects);
        self.timers = timers;
        self.wake = None;
        self.isn = config.isn;
        self.packets = 0;
        self.last_ack_at = None;
        self.written = false;
        self.spurious.clear();
    }

    /// The application reads all data, and writes once it has what it waits for. Returns whether it
    /// wrote now.
    fn run_application(&mut self, now: Instant, host: Host, workload: &Workload) -> bool {
        let readable = self.endpoint.readable();
        if readable > 0 {
            self.endpoint.read(now, readable);
        }
        if self.written || !self.endpoint.is_open() {
            return false;
        }
        let (awaited, bytes, more) = match host {
            Host::Client => (0, workload.request, false),
            Host::Server => (
                workload.request,
                workload.response,
                !workload.later.is_empty(),
            ),
        };
        if self.endpoint.receiver().next() < Offset::DATA + awaited {
            return false;
        }
        self.written = true;
        self.endpoint.write(now, bytes);
        if workload.close && !more {
            self.endpoint.close(now);
        }
        true
    }

    fn update_wake(&mut self, now: Instant) {
        let sender = self.timers.next(now, self.endpoint.sender());
        let sender = sender.map(|(at, timer)| (at, tcp::Timer::Recovery(timer)));
        let own = self.endpoint.next_own_timer();
        self.wake = match self.endpoint.state() {
            tcp::State::Closed(_) => None,
            _ => [sender, own]
                .into_iter()
                .flatten()
                .min_by_key(|(at, _)| *at),
        };
    }
}

#[cfg(test)]
mod tests;
