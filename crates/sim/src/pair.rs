//! The two hosts of a flow, and what happens to them.

use crate::end::End;
use crate::host_random::{Purpose, random_bits};
use crate::network::earlier;
use crate::observe::{Observer, Point};
use crate::packet::PacketPool;
use crate::timers::HostTimers;
use crate::world::FlowEnd;
use crate::{Application, EcnField, Entrance, FlowSpec, Packet};
use recoup_path::{DropCause, Packet as _};
use recoup_recovery::{Transmission, Trigger};
use recoup_tcp::flow::{Action, FlowRecord, Host, Responses};
use recoup_tcp::{self as tcp, Endpoint, Transmit};
use recoup_units::{FlowId, Instant, Offset, Span};
use recoup_wire::SeqNumber;

/// The two hosts of a flow.
#[derive(Debug)]
pub(crate) struct Pair {
    /// The client, the server.
    ends: [End; 2],
    pub flow: FlowId,
    /// When the client connected.
    began: Instant,
    pub record: FlowRecord,
    /// The server's responses.
    pub responses: Responses,
}

impl Pair {
    pub fn new() -> Self {
        let idle = tcp::Config::new(recoup_recovery::Mechanisms::LINUX_3_17);
        Self {
            ends: [Endpoint::connect(&idle), Endpoint::listen(&idle)].map(End::new),
            flow: FlowId(0),
            began: Instant::ZERO,
            record: FlowRecord::default(),
            responses: Responses::default(),
        }
    }

    /// Begins flow number `flow` of `seed` at `now`.
    pub fn begin<A: Application, O: Observer>(
        &mut self,
        now: Instant,
        spec: &FlowSpec,
        seed: u64,
        flow: FlowId,
        applications: &[A; 2],
    ) {
        self.flow = flow;
        self.began = now;
        self.record = FlowRecord::default();
        self.responses.clear();
        let timers = HostTimers::new(spec.timers, spec.timers.phase(seed, flow));
        let [client, server] = &mut self.ends;
        for (end, config, connects, isn) in [
            (&mut *client, &spec.client, true, Purpose::ClientIsn),
            (&mut *server, &spec.server, false, Purpose::ServerIsn),
        ] {
            let isn = SeqNumber(random_bits(seed, flow, isn) as u32);
            let config = tcp::Config { isn, log: O::WANTS_EVENTS, ..*config };
            end.begin(&config, connects, timers);
        }
        client.expect(applications[1].total());
        server.expect(applications[0].total());
    }

    /// The record of the flow, which has ended at `now`.
    pub fn finish(&mut self, now: Instant) -> FlowRecord {
        let mut record = self.record;
        record.duration = now.since(self.began);
        for end in &mut self.ends {
            let spurious = end.spurious.spurious();
            record.spurious += spurious.all;
            record.spurious_data += spurious.data;
            record.unnecessary_bytes += end.endpoint.receiver().duplicate_bytes();
            record.counters.merge(&end.endpoint.sender().counters());
        }
        record
    }

    /// Tells `of` what the flow came to, which ends at `at`.
    pub fn end_at(&mut self, at: Instant, of: impl FnOnce(FlowEnd<'_>)) {
        let record = self.finish(at);
        of(FlowEnd {
            flow: self.flow,
            record: &record,
            responses: self.responses.all(),
            endpoints: [Host::Client, Host::Server].map(|host| &self.end(host).endpoint),
        });
    }

    /// When an application wants to be woken or a timer fires.
    pub fn next_event<A: Application>(&self, [client, server]: &[A; 2]) -> Option<Instant> {
        let [one, two] = &self.ends;
        let timers = [one, two].map(|end| end.wake.map(|(at, _)| at));
        let wakes = [one.wake_of(client), two.wake_of(server)];
        earlier(earlier(timers[0], timers[1]), earlier(wakes[0], wakes[1]))
    }

    /// Whether nothing can happen to the hosts any more, if no packet is on its way: when the last of them
    /// leaves TIME-WAIT.
    pub fn over<A: Application>(&self, [client, server]: &[A; 2]) -> Option<Instant> {
        let ends = self.ends.iter().zip([client, server]);
        ends.into_iter().try_fold(Instant::ZERO, |over, (end, application)| {
            match (end.wake, end.wake_of(application)) {
                (None, None) => Some(over),
                (Some((at, tcp::Timer::TimeWait)), None) => Some(over.max(at)),
                _ => None,
            }
        })
    }

    #[inline]
    pub const fn end(&self, host: Host) -> &End {
        &self.ends[host as usize]
    }

    #[inline]
    const fn end_mut(&mut self, host: Host) -> &mut End {
        &mut self.ends[host as usize]
    }

    /// A host, and the other one.
    #[inline]
    const fn near_and_far(&mut self, host: Host) -> (&mut End, &mut End) {
        let [client, server] = &mut self.ends;
        match host {
            Host::Client => (client, server),
            Host::Server => (server, client),
        }
    }

    fn receive(&mut self, now: Instant, host: Host, packet: &Packet) {
        let (near, far) = self.near_and_far(host);
        let complete = near.receive(now, packet, far);
        if complete && self.record.fct.is_none() {
            self.complete(now);
        }
    }

    /// The flow is complete at `now`.
    fn complete(&mut self, now: Instant) {
        self.record.fct = Some(now.since(self.began));
        // The server expects what the client sends.
        let [client, server] = &self.ends;
        let client_sends = server.expected > Offset::DATA;
        let sender = if client_sends { client } else { server };
        self.record.fct_established = sender.established.map(|then| now.since(then));
    }

    /// The application of `host` acts.
    fn perform(&mut self, now: Instant, host: Host, action: Action) {
        let end = self.end_mut(host);
        // The end of what was written, but for the FIN.
        let written = |end: &End| end.endpoint.sender().limit();
        let start = written(end);
        end.perform(now, action);
        if host == Host::Server
            && let Action::Write(bytes) | Action::WriteAndClose(bytes) = action
            && written(end) >= start + bytes
        {
            let mss = end.endpoint.sender().mss();
            self.responses.on_write(Span::at(start, bytes), mss);
        }
    }

    /// The server has nothing more to send at `now`.
    #[inline]
    fn on_server_settled(&mut self, now: Instant) {
        let [_, server] = &self.ends;
        self.responses.on_settled(now, server.endpoint.sender());
    }

    /// The network dropped a packet of `host`.
    pub fn on_drop(&mut self, host: Host, packet: &Packet, cause: DropCause) {
        // Thinned ACKs do not count as drops.
        self.record.packets_dropped += u64::from(cause != DropCause::Thinned);
        self.on_loss(host, packet);
    }

    /// A packet of `host` does not arrive, or arrives damaged.
    #[inline(never)]
    pub fn on_loss(&mut self, host: Host, packet: &Packet) {
        if host != Host::Server || !packet.is_first {
            return;
        }
        let end = self.end(host);
        let near = end.endpoint.sender().una();
        let start = packet.segment.seq.unwrap(end.isn, near);
        if let Some(start) = start {
            let span = Span::at(start, u64::from(packet.segment.payload_len));
            self.responses.on_loss(span);
        }
    }

    fn count(&mut self, now: Instant, host: Host, packet: &Packet, transmit: Transmit) {
        let record = &mut self.record;
        record.bytes_sent += u64::from(packet.ip_len());
        record.segments_sent += u64::from(packet.segment.payload_len > 0);
        if let Transmit::Stream(Transmission::Again(span, trigger)) = transmit {
            self.count_retransmission(now, host, packet, span, trigger);
        }
    }

    #[inline(never)]
    fn count_retransmission(&mut self, now: Instant, host: Host, packet: &Packet, span: Span, trigger: Trigger) {
        let (end, far) = self.near_and_far(host);
        let receiver = far.endpoint.receiver();
        let is_data = packet.segment.payload_len > 0;
        end.spurious.on_retransmission(packet.ordinal, is_data, |missing| {
            receiver.missing(span, missing);
        });
        if host == Host::Server {
            self.responses.on_retransmission(span);
        }
        if !matches!(trigger, Trigger::Syn | Trigger::SynAck) {
            let end = self.end(host);
            let waited = end.last_ack_at.map(|at| now.since(at));
            let record = &mut self.record;
            record.last_ack_to_retransmission = record.last_ack_to_retransmission.or(waited);
        }
    }
}

/// One instant of a flow: its hosts, and everything that they act on.
pub(crate) struct Turn<'a, N, A, O> {
    pub now: Instant,
    pub pair: &'a mut Pair,
    pub network: &'a mut N,
    pub packets: &'a mut PacketPool,
    /// The client's, the server's.
    pub applications: &'a mut [A; 2],
    pub observer: &'a mut O,
}

impl<N: Entrance, A: Application, O: Observer> Turn<'_, N, A, O> {
    /// The client connects.
    pub fn connect(&mut self) {
        self.transmit(Host::Client);
        self.pair.end_mut(Host::Client).update_wake(self.now);
    }

    /// A packet arrives at `host`, undamaged.
    pub fn deliver(&mut self, host: Host, packet: &Packet) {
        self.pair.receive(self.now, host, packet);
        self.settle(host);
        let end = self.pair.end_mut(host);
        if !end.timers.exact() {
            // Rounding depends on when the timer was armed.
            end.update_wake(self.now);
        }
    }

    /// All packets of this instant have arrived at `host`.
    pub fn after_arrivals(&mut self, host: Host) {
        self.pair.end_mut(host).update_wake(self.now);
    }

    /// Lets an application act that wanted to be woken by now, and returns whether it did.
    pub fn wake_application(&mut self) -> bool {
        let now = self.now;
        for host in [Host::Client, Host::Server] {
            let application = &mut self.applications[host as usize];
            let end = self.pair.end_mut(host);
            if end.wake_of(application).is_none_or(|at| at > now) {
                continue;
            }
            let Some(action) = application.poll(now, &end.endpoint) else {
                end.idle_wake = Some(now);
                continue;
            };
            self.pair.perform(now, host, action);
            self.transmit(host);
            self.act_until_idle(host);
            self.pair.end_mut(host).update_wake(now);
            return true;
        }
        false
    }

    /// Lets a timer fire that is due.
    pub fn fire_timer(&mut self) {
        let now = self.now;
        for host in [Host::Client, Host::Server] {
            let end = self.pair.end_mut(host);
            if let Some((at, timer)) = end.wake
                && at <= now
            {
                end.endpoint.on_timer(now, timer);
                self.settle(host);
                self.pair.end_mut(host).update_wake(now);
                return;
            }
        }
    }

    /// Lets the application of `host` act after an event, and sends what results.
    fn settle(&mut self, host: Host) {
        let acted = self.act(host);
        self.transmit(host);
        if acted {
            self.act_until_idle(host);
        }
    }

    /// Lets the application of `host` do everything that it does now, and sends what results.
    fn act_until_idle(&mut self, host: Host) {
        while self.act(host) {
            self.transmit(host);
        }
    }

    /// Lets the application of `host` do the next thing, and returns whether there was one. If it wants to be
    /// woken now, it waits until all packets of this instant have arrived.
    fn act(&mut self, host: Host) -> bool {
        let now = self.now;
        let application = &mut self.applications[host as usize];
        let end = self.pair.end_mut(host);
        if end.wake_of(application).is_some_and(|at| at <= now) {
            return false;
        }
        application.poll(now, &end.endpoint).map(|action| self.pair.perform(now, host, action)).is_some()
    }

    /// Sends all segments that `host` wants to send. To be called after every change of `host`.
    #[inline(never)]
    fn transmit(&mut self, host: Host) {
        let (now, flow) = (self.now, self.pair.flow);
        loop {
            let end = self.pair.end_mut(host);
            let mut packet = self.packets.take();
            let Some(transmit) = end.endpoint.poll_transmit(now, &mut packet.segment) else {
                self.packets.put(packet);
                break;
            };
            packet.flow = flow;
            packet.damage = None;
            // Only first transmissions of data may be marked (RFC 3168 §6.1.4, §6.1.5).
            let is_new = matches!(transmit, Transmit::Stream(what) if what.is_new());
            let capable = is_new && packet.segment.payload_len > 0 && end.endpoint.is_ecn_capable();
            packet.ecn = match capable {
                true => EcnField::Ect0,
                false => EcnField::NotEct,
            };
            packet.ordinal = end.packets;
            packet.is_first = is_new;
            packet.measure();
            end.packets += 1;
            self.pair.count(now, host, &packet, transmit);
            self.observer.on_packet(now, Point::Sent, host.sends(), &packet);
            self.network.enter(now, host.sends(), packet);
        }
        let end = self.pair.end_mut(host);
        if O::WANTS_EVENTS {
            for (at, event) in end.endpoint.drain_events() {
                self.observer.on_event(at, flow, host, &event);
            }
        }
        self.observer.on_settled(now, host, &end.endpoint);
        if host == Host::Server {
            self.pair.on_server_settled(now);
        }
    }
}
