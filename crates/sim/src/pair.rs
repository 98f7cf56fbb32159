//! The two hosts of a flow, and what is counted about them.

use crate::end::End;
use crate::host_random::{Purpose, random_bits};
use crate::network::earlier;
use crate::observe::Observer;
use crate::world::FlowEnd;
use crate::{Application, FlowSpec, Packet};
use recoup_path::{DropCause, Packet as _};
use recoup_recovery::{Transmission, Trigger};
use recoup_tcp::flow::{Action, FlowRecord, Host, Responses};
use recoup_tcp::{self as tcp, Endpoint, Transmit};
use recoup_units::{FlowId, Instant, Offset, Span};
use recoup_wire::SeqNumber;
use std::time::Duration;

/// The two hosts of a flow.
#[derive(Debug)]
pub(crate) struct Pair {
    /// The client, the server.
    ends: [End; 2],
    pub flow: FlowId,
    /// When the client connected.
    began: Instant,
    pub tally: Tally,
    /// The server's responses.
    pub responses: Responses,
}

/// The part of a [`FlowRecord`] that is counted while the flow runs.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub fct: Option<Duration>,
    fct_established: Option<Duration>,
    segments_sent: u64,
    bytes_sent: u64,
    packets_dropped: u64,
    last_ack_to_retransmission: Option<Duration>,
    pub events: u64,
}

impl Pair {
    pub fn new() -> Self {
        let idle = tcp::Config::new(recoup_recovery::Mechanisms::LINUX_3_17);
        Self {
            ends: [Endpoint::connect(&idle), Endpoint::listen(&idle)].map(End::new),
            flow: FlowId(0),
            began: Instant::ZERO,
            tally: Tally::default(),
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
        self.tally = Tally::default();
        self.responses.clear();
        let phases = spec.timers.phases(seed, flow);
        let [client, server] = &mut self.ends;
        for (end, config, connects, isn, phase) in [
            (&mut *client, &spec.client, true, Purpose::ClientIsn, phases[0]),
            (&mut *server, &spec.server, false, Purpose::ServerIsn, phases[1]),
        ] {
            let isn = SeqNumber(random_bits(seed, flow, isn) as u32);
            let config = tcp::Config { isn, log: O::WANTS_EVENTS, ..*config };
            end.begin(&config, connects, spec.timers, phase);
        }
        client.expect(applications[1].total());
        server.expect(applications[0].total());
    }

    /// The record of the flow, which has ended at `now`.
    pub fn finish(&mut self, now: Instant) -> FlowRecord {
        let Tally { fct, fct_established, segments_sent, bytes_sent, .. } = self.tally;
        let Tally { packets_dropped, last_ack_to_retransmission, events, .. } = self.tally;
        let duration = now.since(self.began);
        let mut record = FlowRecord {
            fct,
            fct_established,
            segments_sent,
            bytes_sent,
            packets_dropped,
            last_ack_to_retransmission,
            duration,
            events,
            ..FlowRecord::default()
        };
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
    pub const fn end_mut(&mut self, host: Host) -> &mut End {
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

    pub fn receive(&mut self, now: Instant, host: Host, packet: &Packet) {
        let (near, far) = self.near_and_far(host);
        let complete = near.receive(now, packet, far);
        if complete && self.tally.fct.is_none() {
            self.complete(now);
        }
    }

    /// The flow is complete at `now`.
    fn complete(&mut self, now: Instant) {
        self.tally.fct = Some(now.since(self.began));
        // The server expects what the client sends.
        let [client, server] = &self.ends;
        let client_sends = server.expected > Offset::DATA;
        let sender = if client_sends { client } else { server };
        self.tally.fct_established = sender.established.map(|then| now.since(then));
    }

    /// The application of `host` acts.
    pub fn perform(&mut self, now: Instant, host: Host, action: Action) {
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
    pub fn on_server_settled(&mut self, now: Instant) {
        let [_, server] = &self.ends;
        self.responses.on_settled(now, server.endpoint.sender());
    }

    /// The network dropped a packet of `host`.
    pub fn on_drop(&mut self, host: Host, packet: &Packet, cause: DropCause) {
        // Thinned ACKs do not count as drops.
        self.tally.packets_dropped += u64::from(cause != DropCause::Thinned);
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

    pub fn count(&mut self, now: Instant, host: Host, packet: &Packet, transmit: Transmit) {
        let tally = &mut self.tally;
        tally.bytes_sent += u64::from(packet.ip_len());
        tally.segments_sent += u64::from(packet.segment.payload_len > 0);
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
            let tally = &mut self.tally;
            tally.last_ack_to_retransmission = tally.last_ack_to_retransmission.or(waited);
        }
    }
}
