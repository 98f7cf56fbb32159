//! Flows that are simulated and captured at the server. No two are alike.
//!
//! | what        | how it is drawn                                                              |
//! |-------------|------------------------------------------------------------------------------|
//! | size        | lognormal, median 10 segments, mean 40: heavy-tailed like web transfers (Barford and Crovella, SIGMETRICS 1998) |
//! | shape       | three of five download everything at once, three of ten in parts with pauses of 0.3 s to 10 s; the rest upload |
//! | round trip  | 10 ms to 300 ms, uniform logarithm                                            |
//! | bottleneck  | 5 to 500 Mbit/s; the queue holds at least half a bandwidth-delay product       |
//! | path        | three of five lose only what their queue drops; the others lose at random, in bursts, or reorder |
//! | hosts       | Linux, with the server's kernel of today or of the papers; one in eight flows over IPv6 |

use super::draw::{Draws, Purpose};
use recoup_path::{GilbertElliott, HopSpec, LossKind, LossSpec, PathSpec, Probability, Queue};
use recoup_recovery::{Event, Mechanisms};
use recoup_sim::{FlowSpec, Observer, Packet, Point, Simulation, TimerModel};
use recoup_tcp::{
    AckPolicy, Config,
    flow::{Host, TimedWrite, Workload},
};
use recoup_units::{BitRate, Direction, FlowId, Instant};
use recoup_wire::{IpVersion, Segment};
use std::time::Duration;

/// Payload bytes of a full segment over IPv4 in Ethernet. IPv6's header is 20 bytes longer.
const MSS: u16 = 1448;
/// The standard deviation of the logarithm of the size: the mean is 4 times the median (exp(σ²/2)).
const SIZE_SIGMA: f64 = 1.665;
const MEDIAN_SEGMENTS: f64 = 10.0;
const MOST_SEGMENTS: f64 = 20_000.0;
const REQUEST: u64 = 400;

/// A packet as the server's network card saw it.
#[derive(Clone, Copy, Debug)]
pub struct CapturedAtServer {
    /// Since the flow's first packet.
    pub at: Duration,
    /// `Up`: from the client.
    pub direction: Direction,
    /// Its number among the packets of its sender.
    pub ordinal: u64,
    pub segment: Segment,
}

/// A flow captured at its server.
#[derive(Clone, Debug)]
pub struct Flow {
    pub version: IpVersion,
    /// Its packets, ordered by time.
    pub packets: Vec<CapturedAtServer>,
    /// Segments with payload from the server.
    pub data: u64,
    /// Retransmissions by the server.
    pub retransmissions: u64,
}

impl Flow {
    /// Simulates flow number `n` of a seed.
    pub fn run(draws: Draws, n: u64) -> Self {
        let mut simulation = Simulation::new(&path(draws, n)).expect("hops that can be built");
        let version = match draws.unit(Purpose::Version, n) {
            u if u < 0.125 => IpVersion::V6,
            _ => IpVersion::V4,
        };
        let spec = spec(draws, n, version);
        let mut seen = AtServer::default();
        simulation.run(&spec, draws.0, FlowId(n), &mut seen);
        let sender = simulation.endpoint(Host::Server).sender();
        Self {
            version,
            packets: seen.packets,
            data: seen.data,
            retransmissions: sender.counters().retransmissions.total(),
        }
    }

    /// From the first packet to the last.
    pub fn duration(&self) -> Duration {
        self.packets.last().map_or(Duration::ZERO, |last| last.at)
    }
}

fn spec(draws: Draws, n: u64, version: IpVersion) -> FlowSpec {
    let profile = match draws.unit(Purpose::Profile, n) {
        u if u < 0.75 => Mechanisms::LINUX_6,
        _ => Mechanisms::LINUX_3_17,
    };
    let mss = match version {
        IpVersion::V4 => MSS,
        IpVersion::V6 => MSS - 20,
    };
    let host = Config {
        acks: AckPolicy::Linux { quick: AckPolicy::LINUX_QUICK },
        mss,
        ip_version: version,
        ..Config::new(profile)
    };
    FlowSpec { client: host, server: host, timers: TimerModel::LinuxWheel { hz: 250 }, workload: workload(draws, n) }
}

fn workload(draws: Draws, n: u64) -> Workload {
    let normal = draws.normal(Purpose::Size, Purpose::SizeAngle, n);
    let segments = MEDIAN_SEGMENTS * (SIZE_SIGMA * normal).exp();
    let bytes = (segments.min(MOST_SEGMENTS) * f64::from(MSS)).ceil() as u64;
    let shaped = match draws.unit(Purpose::Shape, n) {
        u if u < 0.60 => Workload::exchange(REQUEST, bytes),
        // Four parts, three of them after a pause.
        u if u < 0.90 => {
            let part = bytes.div_ceil(4);
            let later = [1, 2, 3].map(|number| TimedWrite { after: number * pause(draws, n), bytes: part });
            Workload::exchange(REQUEST, part).with_later_writes(&later)
        }
        _ => Workload::exchange(bytes, REQUEST),
    };
    shaped.closing(true)
}

fn pause(draws: Draws, n: u64) -> Duration {
    Duration::from_secs_f64(draws.between(Purpose::Pause, n, 0.3, 10.0))
}

fn path(draws: Draws, n: u64) -> PathSpec {
    let rtt = draws.between(Purpose::Rtt, n, 0.010, 0.300);
    let rate = draws.between(Purpose::Rate, n, 5e6, 500e6);
    let queue = 20.0 + rtt * rate / 8.0 / f64::from(MSS) / 2.0;
    let delay = HopSpec::Delay(Duration::from_secs_f64(rtt / 2.0));
    let bottleneck = HopSpec::Rate {
        rate: BitRate::from_bits_per_second(rate as u64).expect("a rate"),
        queue: Queue::Packets(queue as u32),
    };
    let trouble = trouble(draws, n, rtt);
    PathSpec {
        up: [trouble.clone(), vec![bottleneck.clone(), delay.clone()]].concat(),
        down: [trouble, vec![bottleneck, delay]].concat(),
    }
}

/// The losses and reordering of a path; two of five paths have some.
fn trouble(draws: Draws, n: u64, rtt: f64) -> Vec<HopSpec> {
    let severity = |least, most| {
        let p = draws.between(Purpose::Severity, n, least, most);
        Probability::new(p).expect("a probability")
    };
    let loss = |kind| HopSpec::Loss(LossSpec { kind, transmission: None });
    match draws.unit(Purpose::Trouble, n) {
        u if u < 0.20 => vec![loss(LossKind::Bernoulli(severity(0.005, 0.05)))],
        u if u < 0.35 => {
            let to_good = Probability::new(0.4).expect("a probability");
            let channel = GilbertElliott::new(severity(0.005, 0.04), to_good);
            vec![loss(LossKind::GilbertElliott(channel))]
        }
        u if u < 0.40 => {
            vec![HopSpec::Reorder { probability: severity(0.001, 0.03), extra: Duration::from_secs_f64(rtt / 5.0) }]
        }
        _ => Vec::new(),
    }
}

/// Records what passes the server's network card.
#[derive(Debug, Default)]
struct AtServer {
    packets: Vec<CapturedAtServer>,
    data: u64,
    first: Option<Instant>,
}

impl Observer for AtServer {
    const WANTS_EVENTS: bool = false;

    fn on_packet(&mut self, now: Instant, point: Point, direction: Direction, packet: &Packet) {
        match (point, direction) {
            (Point::Sent, Direction::Down) => {
                self.data += u64::from(packet.segment.payload_len > 0);
            }
            (Point::Arrived, Direction::Up) => {}
            _ => return,
        }
        self.packets.push(CapturedAtServer {
            at: now.since(*self.first.get_or_insert(now)),
            direction,
            ordinal: packet.ordinal,
            segment: packet.segment,
        });
    }

    fn on_event(&mut self, _: Instant, _: FlowId, _: Host, _: &Event) {}
}
