//! Runs one flow.

use crate::host_random::{Purpose, random_bits};
use crate::network::earlier;
use crate::observe::{Observer, Point};
use crate::timers::HostTimers;
use crate::{Application, Chains, Network, Packet, TimerModel};
use recoup_path::{ChainError, DropCause, Exit, Packet as _, PathSpec};
use recoup_recovery::{Transmission, Trigger};
use recoup_tcp::flow::{
    Action, FlowRecord, Host, ScriptProgress, SpuriousRetransmissions, Workload,
};
use recoup_tcp::{self as tcp, Endpoint, Transmit};
use recoup_units::{FlowId, Instant, Offset, Span};
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
    spurious: SpuriousRetransmissions,
    /// The end of the data that the peer's application writes.
    expected: Offset,
    /// When the connection was established here.
    established: Option<Instant>,
    /// When the application last did nothing although it wanted to be woken.
    idle_wake: Option<Instant>,
}

/// Two hosts and the network between them. Run flows one after another in the same simulation: only the
/// first ones allocate memory.
#[derive(Debug)]
pub struct Simulation<N = Chains> {
    client: End,
    server: End,
    network: N,
    now: Instant,
    flow: FlowId,
    record: FlowRecord,
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
        let idle = tcp::Config::new(recoup_recovery::Mechanisms::LINUX_3_17);
        Self {
            client: End::new(Endpoint::connect(&idle)),
            server: End::new(Endpoint::listen(&idle)),
            network,
            now: Instant::ZERO,
            flow: FlowId(0),
            record: FlowRecord::default(),
        }
    }

    /// Runs flow number `flow` of `seed` until no event is left. The applications follow the scripts of
    /// `spec`.
    pub fn run<O: Observer>(
        &mut self,
        spec: &FlowSpec,
        seed: u64,
        flow: FlowId,
        observer: &mut O,
    ) -> FlowRecord {
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
        self.begin::<O>(spec, seed, flow);
        self.client.expect(applications[1].total());
        self.server.expect(applications[0].total());
        self.transmit(Host::Client, observer);
        self.client.update_wake(self.now);
        while let Some(next) = self.next_event(applications) {
            self.now = next.max(self.now);
            self.record.events += 1;
            // Packets first: an ACK that arrives exactly at a deadline is in time.
            if !self.move_packets(applications, observer)
                && !self.wake_application(applications, observer)
            {
                self.fire_timer(applications, observer);
            }
        }
        self.finish()
    }

    fn begin<O: Observer>(&mut self, spec: &FlowSpec, seed: u64, flow: FlowId) {
        self.now = Instant::ZERO;
        self.flow = flow;
        self.record = FlowRecord::default();
        self.network.begin(seed, flow);
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
            let spurious = end.spurious.spurious();
            record.spurious += spurious.all;
            record.spurious_data += spurious.data;
            record.unnecessary_bytes += end.endpoint.receiver().duplicate_bytes();
            record.counters.merge(&end.endpoint.sender().counters());
        }
        record
    }

    /// The network.
    pub const fn network(&self) -> &N {
        &self.network
    }

    /// The network, to be changed between two flows.
    pub const fn network_mut(&mut self) -> &mut N {
        &mut self.network
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

    fn next_event<A: Application>(&self, [client, server]: &[A; 2]) -> Option<Instant> {
        let [timers, wakes] = [
            [&self.client, &self.server].map(|end| end.wake.map(|(at, _)| at)),
            [self.client.wake_of(client), self.server.wake_of(server)],
        ];
        let own = earlier(earlier(timers[0], timers[1]), earlier(wakes[0], wakes[1]));
        earlier(self.network.next_event(), own)
    }

    /// Handles all packets due now, and returns whether there were any.
    fn move_packets<A: Application, O: Observer>(
        &mut self,
        applications: &mut [A; 2],
        observer: &mut O,
    ) -> bool {
        let (now, mut moved) = (self.now, false);
        for host in [Host::Client, Host::Server] {
            let towards = host.sends().reverse();
            let mut delivered = false;
            while let Some(exit) = self.network.next_exit(now, towards) {
                moved = true;
                match exit {
                    Exit::Delivered(packet) => {
                        observer.on_packet(self.now, Point::Arrived, towards, &packet);
                        if packet.damage.is_none() {
                            delivered = true;
                            self.deliver(host, &packet);
                            self.settle(host, applications, observer);
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
        let now = self.now;
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
            if far.spurious.awaits(span) && end.endpoint.receiver().holds(span) {
                far.spurious.on_arrival(packet.ordinal, span);
            }
        }
        // The application reads all data at once.
        let readable = end.endpoint.readable();
        if readable > 0 {
            end.endpoint.read(now, readable);
        }
        if end.established.is_none() && end.endpoint.is_open() {
            end.established = Some(now);
        }
        if self.record.fct.is_none() && end.has_all() && far.has_all() {
            self.complete();
        }
    }

    /// The flow is complete now.
    fn complete(&mut self) {
        let now = self.now;
        self.record.fct = Some(now.since(Instant::ZERO));
        // The server expects what the client sends.
        let client_sends = self.server.expected > Offset::DATA;
        let sender = if client_sends {
            &self.client
        } else {
            &self.server
        };
        self.record.fct_established = sender.established.map(|then| now.since(then));
    }

    /// Lets the application of `host` act after an event, and sends what results.
    fn settle<A: Application, O: Observer>(
        &mut self,
        host: Host,
        applications: &mut [A; 2],
        observer: &mut O,
    ) {
        let application = &mut applications[host as usize];
        let acted = self.act(host, application);
        self.transmit(host, observer);
        if acted {
            self.act_on(host, application, observer);
        }
    }

    /// Lets the application of `host` do everything that it does now, and sends what results.
    fn act_on<A: Application, O: Observer>(
        &mut self,
        host: Host,
        application: &mut A,
        observer: &mut O,
    ) {
        while self.act(host, application) {
            self.transmit(host, observer);
        }
    }

    /// Lets the application of `host` do the next thing, and returns whether there was one. If it wants to be
    /// woken now, it waits until all packets of this instant have arrived.
    fn act<A: Application>(&mut self, host: Host, application: &mut A) -> bool {
        let now = self.now;
        let end = self.end_mut(host);
        if end.wake_of(application).is_some_and(|at| at <= now) {
            return false;
        }
        application
            .poll(now, &end.endpoint)
            .map(|action| end.perform(now, action))
            .is_some()
    }

    /// Lets an application act that wanted to be woken by now, and returns whether it did.
    fn wake_application<A: Application, O: Observer>(
        &mut self,
        applications: &mut [A; 2],
        observer: &mut O,
    ) -> bool {
        let now = self.now;
        for host in [Host::Client, Host::Server] {
            let application = &mut applications[host as usize];
            let end = self.end_mut(host);
            if end.wake_of(application).is_none_or(|at| at > now) {
                continue;
            }
            let Some(action) = application.poll(now, &end.endpoint) else {
                end.idle_wake = Some(now);
                continue;
            };
            end.perform(now, action);
            self.transmit(host, observer);
            self.act_on(host, application, observer);
            self.end_mut(host).update_wake(now);
            return true;
        }
        false
    }

    fn fire_timer<A: Application, O: Observer>(
        &mut self,
        applications: &mut [A; 2],
        observer: &mut O,
    ) {
        for host in [Host::Client, Host::Server] {
            let now = self.now;
            let end = self.end_mut(host);
            if let Some((at, timer)) = end.wake
                && at <= now
            {
                end.endpoint.on_timer(now, timer);
                self.settle(host, applications, observer);
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
            self.network.enter(now, host.sends(), packet);
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
        let record = &mut self.record;
        record.bytes_sent += u64::from(packet.ip_len());
        record.segments_sent += u64::from(packet.segment.payload_len > 0);
        if let Transmit::Stream(Transmission::Again(span, trigger)) = transmit {
            self.count_retransmission(host, packet, span, trigger);
        }
    }

    #[inline(never)]
    fn count_retransmission(&mut self, host: Host, packet: &Packet, span: Span, trigger: Trigger) {
        let (now, record) = (self.now, &mut self.record);
        let (end, far) = match host {
            Host::Client => (&mut self.client, &self.server),
            Host::Server => (&mut self.server, &self.client),
        };
        let receiver = far.endpoint.receiver();
        let is_data = packet.segment.payload_len > 0;
        end.spurious
            .on_retransmission(packet.ordinal, is_data, |missing| {
                receiver.missing(span, missing);
            });
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
            spurious: SpuriousRetransmissions::default(),
            expected: Offset::DATA,
            established: None,
            idle_wake: None,
        }
    }

    fn begin(&mut self, config: &tcp::Config, connects: bool, timers: HostTimers) {
        self.endpoint.reset(config, connects);
        self.timers = timers;
        self.wake = None;
        self.isn = config.isn;
        self.packets = 0;
        self.last_ack_at = None;
        self.spurious.clear();
        self.established = None;
        self.idle_wake = None;
    }

    /// The peer's application writes so many bytes.
    fn expect(&mut self, bytes: u64) {
        self.expected = Offset::DATA + bytes;
    }

    /// Whether the host is established and has received everything that the peer's application writes. The
    /// server is established last, so a flow without data is complete then.
    fn has_all(&self) -> bool {
        self.established.is_some() && self.endpoint.receiver().next() >= self.expected
    }

    /// When `application`, which runs here, wants to be woken.
    fn wake_of<A: Application>(&self, application: &A) -> Option<Instant> {
        let is_new = |at: &Instant| self.idle_wake.is_none_or(|idle| *at > idle);
        application.wake().filter(is_new)
    }

    fn perform(&mut self, now: Instant, action: Action) {
        if let Action::Write(bytes) | Action::WriteAndClose(bytes) = action {
            self.endpoint.write(now, bytes);
        }
        if let Action::Close | Action::WriteAndClose(_) = action {
            self.endpoint.close(now);
        }
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
