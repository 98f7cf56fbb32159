//! Simulated flows, captured and analyzed at their server.

use recoup_path::{DataSegments, HopSpec, PathSpec};
use recoup_recovery::{Mechanisms, Profile};
use recoup_sim::{FlowSpec, Observer, Packet, Point, Simulation, TimerModel};
use recoup_tcp::{
    Config,
    flow::{FlowRecord, Host, Workload},
};
use recoup_trace::{
    analyze::{Kept, Settings, follow},
    finding::Retransmission,
    read::{CapturedPacket, Tunnel},
};
use recoup_units::{Direction, FlowId, Instant};
use recoup_whatif::ConnectionPackets;
use recoup_wire::Endpoints;
use std::time::Duration;

/// A flow as its server's capture shows it.
pub struct Captured {
    /// The flow, which is complete.
    pub record: FlowRecord,
    pub packets: ConnectionPackets,
    /// The retransmissions of the server.
    pub rows: Vec<Retransmission>,
}

#[derive(Default)]
struct AtServer(Vec<(Direction, CapturedPacket)>);

impl Observer for AtServer {
    const WANTS_EVENTS: bool = false;

    fn on_packet(&mut self, now: Instant, point: Point, direction: Direction, packet: &Packet) {
        let at_server = match direction {
            Direction::Down => Point::Sent,
            Direction::Up => Point::Arrived,
        };
        if point == at_server {
            let frame = self.0.len() as u64 + 1;
            self.0.push((direction, captured(frame, now, direction, packet)));
        }
    }

    fn on_event(&mut self, _: Instant, _: FlowId, _: Host, _: &recoup_recovery::Event) {}
}

fn captured(frame: u64, at: Instant, direction: Direction, packet: &Packet) -> CapturedPacket {
    let ends = Endpoints { src: "192.0.2.1:1024".parse().unwrap(), dst: "192.0.2.2:80".parse().unwrap() };
    CapturedPacket {
        frame,
        // Captures have microseconds.
        at: Instant::from_nanos(at.as_nanos() / 1000 * 1000),
        endpoints: match direction {
            Direction::Up => ends,
            Direction::Down => ends.reverse(),
        },
        segment: packet.segment,
        ip_id: None,
        hop_limit: 64,
        ecn: Default::default(),
        options_complete: true,
        overlong: false,
        outgoing: None,
        interface: 0,
        link: 0,
        message: None,
        tunnel: Tunnel::NONE,
    }
}

/// A path with this one-way delay; `drops` in the grammar of loss rules.
pub fn path(owd_ms: u64, drops: &str, segments: u64) -> PathSpec {
    let delay = HopSpec::Delay(Duration::from_millis(owd_ms));
    let rules: recoup_path::DropRules = drops.parse().unwrap();
    let known = DataSegments { up: Some(0), down: Some(segments) };
    let rules = rules.resolve(known).unwrap();
    let of = |direction| rules.hops(direction).chain([delay.clone()]).collect();
    PathSpec { up: of(Direction::Up), down: of(Direction::Down) }
}

/// A flow of `segments` segments, sent by `mechanisms` to a client of `profile`.
pub fn flow_spec(profile: &Profile, mechanisms: &Mechanisms, segments: u64) -> FlowSpec {
    FlowSpec {
        client: Config::new(*profile.mechanisms()),
        server: Config::new(*mechanisms),
        timers: TimerModel::Exact,
        workload: Workload::exchange(0, segments * 1448).closing(true),
    }
}

/// A flow over a path, whose sender is analyzed as `profile`.
pub fn capture(path: &PathSpec, profile: &Profile, spec: &FlowSpec, flow: u64) -> Captured {
    let mut at_server = AtServer::default();
    let mut simulation = Simulation::new(path).unwrap();
    let record = simulation.run(spec, 1, FlowId(flow), &mut at_server);
    let settings = Settings { profile: Some(profile.clone()), threads: 0, ..Settings::default() };
    let packets = at_server.0.iter().map(|(_, packet)| *packet);
    let packets: Vec<_> = packets.collect();
    let found = follow(packets.into_iter(), &settings, Kept::default);
    let rows = found.into_iter().flat_map(|shard| shard.retransmissions);
    let server = "192.0.2.2:80".parse().unwrap();
    let mut rows: Vec<_> = rows.filter(|row| row.endpoints.src == server).collect();
    rows.sort_by_key(|row| row.frame);
    let mut packets = ConnectionPackets::new();
    for (direction, packet) in &at_server.0 {
        packets.push(packet, *direction);
    }
    assert!(record.fct.is_some(), "a complete flow");
    Captured { record, packets, rows }
}
