//! What happens to the hosts of a flow at one instant: packets arrive, applications act, timers fire, and segments go.

use crate::observe::{Observer, Point};
use crate::packet::PacketPool;
use crate::pair::Pair;
use crate::{Application, EcnField, Entrance, Packet};
use recoup_tcp::Transmit;
use recoup_tcp::flow::Host;
use recoup_units::Instant;
use recoup_wire::Segment;

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
        let now = self.now;
        loop {
            let end = self.pair.end_mut(host);
            let segment = &mut self.packets.next().segment;
            let Some(transmit) = end.endpoint.poll_transmit(now, segment) else {
                break;
            };
            if !transmit.is_new() {
                let is_last = transmit.is_last(segment);
                self.send(host, transmit);
                if is_last {
                    break;
                }
                continue;
            }
            let more = end.endpoint.transmit_more(now, segment, u32::MAX);
            let first = (more.segments > 0).then_some(*segment);
            self.send(host, transmit);
            if let Some(first) = first {
                self.send_alike(host, transmit, first, more.segments);
            }
            if more.all {
                break;
            }
        }
        let flow = self.pair.flow;
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

    /// Sends more segments that follow `first` and are like it.
    #[inline(never)]
    fn send_alike(&mut self, host: Host, transmit: Transmit, first: Segment, more: u32) {
        for n in 1..=more {
            let seq = first.seq + first.payload_len.wrapping_mul(n);
            self.packets.next().segment = Segment { seq, ..first };
            self.send(host, transmit);
        }
    }

    /// Sends the next packet of the pool, whose segment was transmitted as this.
    #[inline]
    fn send(&mut self, host: Host, transmit: Transmit) {
        let Some(mut packet) = self.packets.take() else {
            return;
        };
        let flow = self.pair.flow;
        let end = self.pair.end_mut(host);
        packet.flow = flow;
        packet.damage = None;
        // Only first transmissions of data may be marked (RFC 3168 §6.1.4, §6.1.5).
        packet.is_first = transmit.is_new();
        let capable = packet.is_first && packet.segment.payload_len > 0 && end.endpoint.is_ecn_capable();
        packet.ecn = match capable {
            true => EcnField::Ect0,
            false => EcnField::NotEct,
        };
        packet.ordinal = end.packets;
        packet.measure();
        end.packets += 1;
        self.pair.count(self.now, host, &packet, transmit);
        self.observer.on_packet(self.now, Point::Sent, host.sends(), &packet);
        self.network.enter(self.now, host.sends(), packet);
    }
}
