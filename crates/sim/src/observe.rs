//! Observers of a simulation, from which captures, event files and diagrams are made.

use crate::Packet;
use recoup_path::DropCause;
use recoup_recovery::Event;
use recoup_tcp::Endpoint;
use recoup_tcp::flow::{FlowRecord, Host};
use recoup_units::{Direction, FlowId, Instant};

/// The point of a packet's way at which an observer sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Point {
    /// The sender sends it.
    Sent,
    /// It arrives at its receiver.
    Arrived,
    /// The path drops it, for this reason.
    Dropped(DropCause),
}

/// Receives what happens in a simulation, in order of time within a flow.
pub trait Observer {
    /// Whether the endpoints should record events for [`on_event`](Self::on_event).
    const WANTS_EVENTS: bool;

    /// A packet was sent, arrived or was dropped.
    fn on_packet(&mut self, _now: Instant, _point: Point, _direction: Direction, _packet: &Packet) {}

    /// The sender of `host` reported an event.
    fn on_event(&mut self, _now: Instant, _flow: FlowId, _host: Host, _event: &Event) {}

    /// A host has nothing more to do at this instant; `endpoint` is its state.
    fn on_settled(&mut self, _now: Instant, _host: Host, _endpoint: &Endpoint) {}

    /// Nothing more will happen to a flow of a [`World`](crate::world::World). Flows that are cut off do not end.
    fn on_flow_end(&mut self, _now: Instant, _flow: FlowId, _record: &FlowRecord) {}
}

/// Ignores everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    const WANTS_EVENTS: bool = false;
}

impl<O: Observer> Observer for &mut O {
    const WANTS_EVENTS: bool = O::WANTS_EVENTS;

    fn on_packet(&mut self, now: Instant, point: Point, direction: Direction, packet: &Packet) {
        O::on_packet(self, now, point, direction, packet);
    }

    fn on_event(&mut self, now: Instant, flow: FlowId, host: Host, event: &Event) {
        O::on_event(self, now, flow, host, event);
    }

    fn on_settled(&mut self, now: Instant, host: Host, endpoint: &Endpoint) {
        O::on_settled(self, now, host, endpoint);
    }

    fn on_flow_end(&mut self, now: Instant, flow: FlowId, record: &FlowRecord) {
        O::on_flow_end(self, now, flow, record);
    }
}

/// An observer that may be absent at run time. Events are recorded in either case.
impl<O: Observer> Observer for Option<O> {
    const WANTS_EVENTS: bool = O::WANTS_EVENTS;

    fn on_packet(&mut self, now: Instant, point: Point, direction: Direction, packet: &Packet) {
        if let Some(observer) = self {
            observer.on_packet(now, point, direction, packet);
        }
    }

    fn on_event(&mut self, now: Instant, flow: FlowId, host: Host, event: &Event) {
        if let Some(observer) = self {
            observer.on_event(now, flow, host, event);
        }
    }

    fn on_settled(&mut self, now: Instant, host: Host, endpoint: &Endpoint) {
        if let Some(observer) = self {
            observer.on_settled(now, host, endpoint);
        }
    }

    fn on_flow_end(&mut self, now: Instant, flow: FlowId, record: &FlowRecord) {
        if let Some(observer) = self {
            observer.on_flow_end(now, flow, record);
        }
    }
}

/// Two observers of the same flows, called in order. Each gets events only if it wants them.
impl<A: Observer, B: Observer> Observer for (A, B) {
    const WANTS_EVENTS: bool = A::WANTS_EVENTS || B::WANTS_EVENTS;

    fn on_packet(&mut self, now: Instant, point: Point, direction: Direction, packet: &Packet) {
        self.0.on_packet(now, point, direction, packet);
        self.1.on_packet(now, point, direction, packet);
    }

    fn on_event(&mut self, now: Instant, flow: FlowId, host: Host, event: &Event) {
        if A::WANTS_EVENTS {
            self.0.on_event(now, flow, host, event);
        }
        if B::WANTS_EVENTS {
            self.1.on_event(now, flow, host, event);
        }
    }

    fn on_settled(&mut self, now: Instant, host: Host, endpoint: &Endpoint) {
        self.0.on_settled(now, host, endpoint);
        self.1.on_settled(now, host, endpoint);
    }

    fn on_flow_end(&mut self, now: Instant, flow: FlowId, record: &FlowRecord) {
        self.0.on_flow_end(now, flow, record);
        self.1.on_flow_end(now, flow, record);
    }
}

#[cfg(test)]
mod tests;
