//! Captures of some flows: at their servers, and at their clients.

use super::Population;
use crate::prelude::*;
use Direction::{Down, Up};
use recoup_trace::read::{CapturedPacket, Tunnel};
use recoup_wire::Endpoints;
use std::net::{Ipv4Addr, SocketAddr};

const SERVER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);

/// The time from the beginning of a flow to that of the next.
const NEXT_FLOW: Duration = Duration::from_millis(100);

/// When the first flow of a population begins: 2000-01-01 00:00:00 UTC, as in `recoup run --pcap`.
const EPOCH: Duration = Duration::from_secs(946_684_800);

/// Simulates these flows, and returns the packets that pass their servers, and their clients.
pub fn capture_both_ends(
    population: &Population,
    sender: &Profile,
    flows: impl IntoIterator<Item = u64>,
) -> Result<EndCaptures> {
    let mut captures = EndCaptures::default();
    for number in flows {
        let mut bench = population.bench(number, |flow| flow.spec(sender))?;
        match population.users {
            None => {
                let record = population.observe(&mut bench, number, &mut captures);
                captures.retransmissions += record.counters.retransmissions.total();
            }
            Some(users) => {
                let end = Instant::ZERO + users.captured(population, number);
                population.observe(&mut bench, number, &mut UntilTheEnd { captures: &mut captures, end });
            }
        }
    }
    for packets in [&mut captures.at_servers, &mut captures.at_clients] {
        packets.sort_by_key(|packet| packet.at);
        for (frame, packet) in (1..).zip(packets) {
            packet.frame = frame;
        }
    }
    Ok(captures)
}

/// Two captures of the same flows, each in the order of time.
#[derive(Clone, Debug, Default)]
pub struct EndCaptures {
    /// The packets that pass the servers.
    pub at_servers: Vec<CapturedPacket>,
    /// The packets that pass the clients.
    pub at_clients: Vec<CapturedPacket>,
    /// The retransmissions of all hosts, SYNs and FINs included.
    pub retransmissions: u64,
}

impl Observer for EndCaptures {
    const WANTS_EVENTS: bool = false;

    fn on_packet(&mut self, now: Instant, point: Point, direction: Direction, packet: &Packet) {
        let (host, packets) = match (direction, point) {
            (Up, Point::Arrived) | (Down, Point::Sent) => (Host::Server, &mut self.at_servers),
            (Up, Point::Sent) | (Down, Point::Arrived) => (Host::Client, &mut self.at_clients),
            _ => return,
        };
        packets.push(captured(now, direction, host, packet));
    }
}

/// Captures that end while a flow lasts.
struct UntilTheEnd<'a> {
    captures: &'a mut EndCaptures,
    end: Instant,
}

impl Observer for UntilTheEnd<'_> {
    const WANTS_EVENTS: bool = true;

    fn on_packet(&mut self, now: Instant, point: Point, direction: Direction, packet: &Packet) {
        if now < self.end {
            self.captures.on_packet(now, point, direction, packet);
        }
    }

    fn on_event(&mut self, now: Instant, _: FlowId, _: Host, event: &Event) {
        let again = matches!(event, Event::Sent { what: Transmission::Again(..), .. });
        self.captures.retransmissions += u64::from(again && now < self.end);
    }
}

fn captured(now: Instant, direction: Direction, host: Host, packet: &Packet) -> CapturedPacket {
    let begun = NEXT_FLOW.as_nanos() as u64 * packet.flow.0;
    // Captures have microseconds.
    let at = Instant::from_nanos((now.as_nanos() + begun) / 1000 * 1000);
    CapturedPacket {
        frame: 0,
        at: at + EPOCH,
        endpoints: endpoints(packet.flow, direction),
        segment: packet.segment,
        // Truncation is intended: identifications repeat after 2^16 packets (RFC 6864 §4.1).
        ip_id: Some(packet.ordinal as u16),
        hop_limit: 64,
        ecn: Default::default(),
        options_complete: true,
        overlong: false,
        outgoing: Some(host.sends() == direction),
        interface: 0,
        link: 0,
        message: None,
        tunnel: Tunnel::NONE,
    }
}

/// The address of a flow's client: its own in 10.0.0.0/8. Addresses repeat after 2^24 flows.
pub fn client(flow: u64) -> Ipv4Addr {
    Ipv4Addr::from(10 << 24 | flow as u32 & 0xff_ffff)
}

fn endpoints(flow: FlowId, direction: Direction) -> Endpoints {
    let up = Endpoints { src: SocketAddr::from((client(flow.0), 40_000)), dst: SocketAddr::from((SERVER, 80)) };
    match direction {
        Up => up,
        Down => up.reverse(),
    }
}
