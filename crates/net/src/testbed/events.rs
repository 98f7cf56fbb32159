//! A flow's events: what senders of Recoup's did, and what became of the packets at the path.
//!
//! Senders and the path read the same clock, CLOCK_MONOTONIC. Instant 0 of a flow is its first event:
//! the client sends its SYN, or, where the client is the kernel's, its SYN reaches the path.
//!
//! A packet counts as sent when it reaches the path, some microseconds after its sender sent it.
//! Resets are left out, with which the testbed ends its connections.

use recoup_path::DropCause;
use recoup_recovery::Event;
use recoup_tcp::flow::Host;
use recoup_units::{Direction, FlowId, Instant};
use recoup_wire::Flags;

use crate::{PacketOutcome, PacketRecord, Tcp};

/// Something that happened in a flow.
#[derive(Clone, Copy, Debug)]
pub struct FlowEvent {
    /// When, counted from the start of the flow.
    pub at: Instant,
    /// Kind of the event.
    pub kind: FlowEventKind,
}

/// Kind of an event in a flow.
#[derive(Clone, Copy, Debug)]
pub enum FlowEventKind {
    /// A sender of Recoup's did something. Instants in the event count from the start of the flow, too.
    Sender {
        /// Host of the sender.
        host: Host,
        /// Event of the sender.
        event: Event,
    },
    /// A packet entered the path, left it or was dropped.
    Packet(PathPacket),
}

/// A packet at the path.
#[derive(Clone, Copy, Debug)]
pub struct PathPacket {
    /// Point of the path that it reached.
    pub point: PathPoint,
    /// Where it travels.
    pub direction: Direction,
    /// Its number among the packets of its flow and direction, from 0. A copy that the path made has
    /// its original's.
    pub ordinal: u64,
    /// Its TCP header.
    pub tcp: Tcp,
    /// It arrived damaged: its receiver discards it.
    pub damaged: bool,
}

/// Where a packet was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathPoint {
    /// It reached the path.
    Sent,
    /// It left the path at the far end.
    Arrived,
    /// The path dropped it.
    Dropped(DropCause),
}

/// Log of a sender.
#[derive(Clone, Debug, Default)]
pub(super) struct SenderEvents {
    /// CLOCK_MONOTONIC in nanoseconds at the instant 0 of these events.
    pub started_at: u64,
    pub events: Vec<(Instant, Event)>,
}

/// The events of flow number `flow`: of its packets, whose times count from `path_started_at`
/// (CLOCK_MONOTONIC in nanoseconds), and of its senders.
pub(super) fn collect(
    records: &[PacketRecord],
    flow: FlowId,
    path_started_at: u64,
    senders: &[(Host, SenderEvents)],
) -> Vec<FlowEvent> {
    let mut packets = path_packets(records, flow);
    packets.sort_by_key(|(at, _)| *at);
    let first_packet = packets.first().map(|(at, _)| (path_started_at, *at));
    let first_events = senders.iter().filter_map(|(_, log)| log.events.first().map(|(at, _)| (log.started_at, *at)));
    let started_at = first_events.chain(first_packet);
    let started_at = started_at.map(|(zero, at)| zero.saturating_add(at.as_nanos()));
    let Some(started_at) = started_at.min() else {
        return Vec::new();
    };
    let since_start =
        |zero: u64, at: Instant| Instant::from_nanos(zero.saturating_add(at.as_nanos()).saturating_sub(started_at));
    let mut events = Vec::new();
    for (host, log) in senders {
        events.extend(log.events.iter().map(|&(at, event)| FlowEvent {
            at: since_start(log.started_at, at),
            kind: FlowEventKind::Sender {
                host: *host,
                event: match event {
                    Event::TimerSet { timer, at } => {
                        Event::TimerSet { timer, at: at.map(|at| since_start(log.started_at, at)) }
                    }
                    event => event,
                },
            },
        }));
    }
    events.extend(
        packets.into_iter().map(|(at, packet)| FlowEvent {
            at: since_start(path_started_at, at),
            kind: FlowEventKind::Packet(packet),
        }),
    );
    events.sort_by_key(|event| event.at);
    events
}

/// Packets of a flow at each point of the path, with the time on the path's clock.
fn path_packets(records: &[PacketRecord], flow: FlowId) -> Vec<(Instant, PathPacket)> {
    let is_reset = |tcp: &Tcp| tcp.flags.contains(Flags::RST);
    let mut by_number: Vec<_> = records
        .iter()
        .filter(|record| record.flow == flow)
        .filter_map(|record| Some((record, record.tcp.filter(|tcp| !is_reset(tcp))?)))
        .collect();
    by_number.sort_by_key(|(record, _)| (record.direction == Direction::Down, record.number));
    let mut packets = Vec::new();
    let mut previous: Option<(&PacketRecord, u64)> = None;
    for (record, tcp) in by_number {
        let ordinal = match previous {
            Some((before, ordinal)) if before.direction == record.direction => {
                ordinal + u64::from(before.number != record.number)
            }
            _ => 0,
        };
        let is_copy =
            previous.is_some_and(|(before, _)| (before.direction, before.number) == (record.direction, record.number));
        previous = Some((record, ordinal));
        let packet = |point, damaged| PathPacket { point, direction: record.direction, ordinal, tcp, damaged };
        if !is_copy {
            packets.push((record.arrival, packet(PathPoint::Sent, false)));
        }
        match record.outcome {
            PacketOutcome::Delivered { departure, .. } => {
                packets.push((departure, packet(PathPoint::Arrived, record.damaged)));
            }
            PacketOutcome::Dropped { due, cause } => {
                packets.push((due, packet(PathPoint::Dropped(cause), record.damaged)));
            }
            PacketOutcome::Refused { .. } | PacketOutcome::Unfinished => {}
        }
    }
    packets
}

#[cfg(test)]
mod tests;
