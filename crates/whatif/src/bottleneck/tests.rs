//! The inference against simulated paths whose rate and queue are known.

use super::*;
use crate::transmission::Arrival;
use recoup_path::{HopSpec, PathSpec};
use recoup_recovery::Mechanisms;
use recoup_sim::{FlowSpec, Observer, Packet, Point, Simulation, TimerModel};
use recoup_tcp::{
    AckPolicy, Config,
    flow::{Host, Workload},
};
use recoup_units::{Direction, FlowId, Offset, Span};
use std::collections::BTreeMap;

/// A path and the flows over it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    /// Mbit/s.
    pub rate: f64,
    /// Milliseconds.
    pub rtt: u64,
    pub queue: &'static str,
    pub acks: AckPolicy,
    pub segments: u64,
    pub flows: u64,
    pub loss: &'static str,
    /// Probability, and milliseconds.
    pub reorder: Option<(f64, u64)>,
    /// Each packet takes up to this many microseconds longer, in order.
    pub jitter: u64,
}

pub(crate) const CASE: Case = Case {
    rate: 10.0,
    rtt: 40,
    queue: "none",
    acks: AckPolicy::Quick,
    segments: 100,
    flows: 1,
    loss: "none",
    reorder: None,
    jitter: 0,
};

impl Case {
    fn path(&self) -> PathSpec {
        let way = HopSpec::Delay(Duration::from_micros(500 * self.rtt));
        let rate = BitRate::from_bits_per_second((self.rate * 1e6) as u64).unwrap();
        let mut down = vec![
            HopSpec::Loss(self.loss.parse().unwrap()),
            HopSpec::Rate { rate, queue: self.queue.parse().unwrap() },
            way.clone(),
        ];
        if let Some((probability, millis)) = self.reorder {
            down.push(HopSpec::Reorder {
                probability: recoup_path::Probability::new(probability).unwrap(),
                extra: Duration::from_millis(millis),
            });
        }
        PathSpec { up: vec![way], down }
    }

    /// The transmissions of each flow's server.
    pub fn run(&self) -> Vec<Vec<Transmission>> {
        let config = Config::new(Mechanisms::LINUX_3_17);
        let spec = FlowSpec {
            client: Config { acks: self.acks, ..config },
            server: config,
            timers: TimerModel::Exact,
            workload: Workload::exchange(300, self.segments * 1448),
        };
        let mut simulation = Simulation::new(&self.path()).unwrap();
        let flow = |flow| {
            let mut watch = Watch::default();
            simulation.run(&spec, 1, FlowId(flow), &mut watch);
            watch.transmissions(self, flow)
        };
        (0..self.flows).map(flow).collect()
    }

    fn infer(&self) -> Option<Bottleneck> {
        let flows = self.run();
        let flows: Vec<_> = flows.iter().map(Vec::as_slice).collect();
        Bottleneck::infer(&flows)
    }
}

/// Records the server's packets and when the client acknowledges.
#[derive(Default)]
struct Watch {
    sent: Vec<(Packet, Instant)>,
    arrived: BTreeMap<u64, Instant>,
    dropped: Vec<u64>,
    acks: Vec<Instant>,
}

impl Observer for Watch {
    const WANTS_EVENTS: bool = false;

    fn on_packet(&mut self, now: Instant, point: Point, direction: Direction, packet: &Packet) {
        match (direction, point) {
            (Direction::Down, Point::Sent) => self.sent.push((*packet, now)),
            (Direction::Down, Point::Arrived) => {
                self.arrived.insert(packet.ordinal, now);
            }
            (Direction::Down, Point::Dropped(_)) => self.dropped.push(packet.ordinal),
            (Direction::Up, Point::Sent) => self.acks.push(now),
            _ => {}
        }
    }

    fn on_event(&mut self, _: Instant, _: FlowId, _: Host, _: &recoup_recovery::Event) {}
}

impl Watch {
    fn transmissions(&self, case: &Case, flow: u64) -> Vec<Transmission> {
        let mut copies: BTreeMap<u32, u16> = BTreeMap::new();
        let back = Duration::from_micros(500 * case.rtt);
        let mut latest = Instant::ZERO;
        let mut highest = Instant::ZERO;
        let mut random = flow.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let data = self.sent.iter().filter(|(packet, _)| packet.segment.sequence_len() > 0);
        data.map(|(packet, sent)| {
            let copy = copies.entry(packet.segment.seq.0).or_default();
            *copy += 1;
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let jitter = (random >> 33) % (case.jitter * 1000 + 1);
            let fate = match self.arrived.get(&packet.ordinal) {
                Some(&arrived) => {
                    let is_acknowledged = self.acks.contains(&arrived);
                    let echo = (arrived + back).plus_nanos(jitter).max(latest);
                    // A packet that is overtaken does not delay the others.
                    let is_held = case.reorder.is_some_and(|(_, millis)| {
                        arrived.since(highest) > Duration::from_millis(millis.saturating_sub(1))
                    }) && highest > Instant::ZERO
                        && self.overtaken(packet.ordinal, arrived);
                    if !is_held {
                        latest = echo;
                        highest = arrived;
                    }
                    Fate::Arrived(Arrival {
                        echo,
                        ack: is_acknowledged.then_some(Duration::ZERO),
                        ack_lost: false,
                        in_order: true,
                        held: Duration::from_millis(u64::from(is_held)),
                        duplicates: 0,
                    })
                }
                None => Fate::Lost,
            };
            Transmission {
                span: Span::at(Offset(packet.segment.seq.0.into()), packet.segment.sequence_len().into()),
                copy: *copy,
                sent: *sent,
                ip_len: packet.ip_len,
                fate,
            }
        })
        .collect()
    }

    /// Whether a packet sent later arrived before.
    fn overtaken(&self, ordinal: u64, arrived: Instant) -> bool {
        self.arrived.range(ordinal + 1..).any(|(_, later)| *later < arrived)
    }
}

const DELAYED: AckPolicy = AckPolicy::Delayed(Duration::from_millis(40));

const ACKS: [AckPolicy; 2] = [AckPolicy::Quick, DELAYED];

/// Asserts the rate within a share, and returns what was found.
fn expect_rate(case: Case, within: f64) -> Bottleneck {
    let found = case.infer().unwrap_or_else(|| panic!("no bottleneck: {case:?}"));
    let ratio = found.rate.bits_per_second() as f64 / (case.rate * 1e6);
    assert!((ratio - 1.0).abs() <= within, "{case:?}: {found:?}");
    found
}

#[test]
fn the_rate_is_found_without_any_queue_limit() {
    for rate in [1.0, 5.0, 100.0] {
        for rtt in [10, 40, 200] {
            for acks in ACKS {
                for (segments, flows) in [(500, 1), (60, 10)] {
                    let case = Case { rate, rtt, acks, segments, flows, ..CASE };
                    let found = expect_rate(case, 0.001);
                    assert_eq!(found.queue, Queue::Unlimited, "{case:?}");
                }
            }
        }
    }
}

#[test]
fn a_queue_that_overflows_shows_its_limit() {
    // (rate in Mbit/s, queue, RTT in ms, segments, flows, limit found)
    let cases = [
        (10.0, "10", 10, 60, 20, 10),
        (1.0, "10", 200, 1000, 1, 10),
        (100.0, "30", 80, 1000, 1, 30),
        (5.0, "200", 200, 1500, 1, 200),
        // Packets of 1500 bytes.
        (10.0, "20kB", 80, 1000, 1, 13),
    ];
    for (rate, queue, rtt, segments, flows, limit) in cases {
        for acks in ACKS {
            let case = Case { rate, rtt, queue, acks, segments, flows, ..CASE };
            let found = expect_rate(case, 0.001);
            assert_eq!(found.queue, Queue::Packets(limit), "{case:?}");
        }
    }
}

#[test]
fn other_losses_disturb_neither_the_rate_nor_the_limit() {
    for loss in ["bernoulli:2%", "gilbert-elliott:1%,50%", "data:40", "data:30-31"] {
        for acks in ACKS {
            for (segments, flows) in [(500, 1), (60, 20)] {
                let case = Case { loss, acks, segments, flows, ..CASE };
                let found = expect_rate(case, 0.001);
                assert_eq!(found.queue, Queue::Unlimited, "{case:?}");
                let found = expect_rate(Case { queue: "12", ..case }, 0.001);
                assert!(matches!(found.queue, Queue::Packets(12) | Queue::Unlimited), "{case:?}: {found:?}");
            }
        }
    }
}

#[test]
fn jitter_and_reordering_change_the_rate_by_two_percent_at_most() {
    // (rate in Mbit/s, jitter in µs): up to a few transmission times.
    for (rate, jitter) in [(1.0, 1000), (1.0, 10_000), (10.0, 1000), (100.0, 100)] {
        for rtt in [20, 200] {
            for acks in ACKS {
                let case = Case { rate, rtt, acks, jitter, queue: "30", segments: 1000, ..CASE };
                let found = expect_rate(case, 0.02);
                let limit = match found.queue {
                    Queue::Packets(limit) => limit,
                    _ => 30,
                };
                assert!((29..=31).contains(&limit), "{case:?}: {found:?}");
                let reorder = Some((0.02, 10));
                expect_rate(Case { reorder, jitter: 0, ..case }, 0.02);
            }
        }
    }
}

#[test]
fn without_a_bottleneck_nothing_looks_like_one() {
    for jitter in [0, 100, 1000, 10_000] {
        for rtt in [20, 200] {
            for acks in ACKS {
                for (segments, flows) in [(1000, 1), (60, 20), (40, 1)] {
                    for loss in ["none", "bernoulli:3%"] {
                        let mut flows = Case { rate: 1e6, rtt, acks, jitter, segments, flows, loss, ..CASE }.run();
                        flows.iter_mut().for_each(|flow| drop_nanoseconds(flow));
                        let flows: Vec<_> = flows.iter().map(Vec::as_slice).collect();
                        assert_eq!(Bottleneck::infer(&flows), None, "{jitter} {rtt} {loss}");
                    }
                }
            }
        }
    }
}

/// Captures have microseconds: a rate of Tbit/s does not show.
fn drop_nanoseconds(transmissions: &mut [Transmission]) {
    let round = |at: Instant| Instant::from_nanos(at.as_nanos() / 1000 * 1000);
    for transmission in transmissions {
        transmission.sent = round(transmission.sent);
        if let Fate::Arrived(arrival) = &mut transmission.fate {
            arrival.echo = round(arrival.echo);
        }
    }
}

#[test]
fn a_link_that_stands_still_is_no_rate() {
    // Every 300 ms, the network holds everything for 150 ms and then delivers it at once.
    for acks in ACKS {
        for (segments, flows) in [(1000, 1), (100, 20)] {
            let case = Case { rate: 1e6, rtt: 50, acks, segments, flows, ..CASE };
            let mut flows = case.run();
            for transmission in flows.iter_mut().flatten() {
                let phase = transmission.sent.as_nanos() % 300_000_000;
                if let Fate::Arrived(arrival) = &mut transmission.fate {
                    arrival.echo = arrival.echo.plus_nanos(150_000_000_u64.saturating_sub(phase));
                }
            }
            let flows: Vec<_> = flows.iter().map(Vec::as_slice).collect();
            assert_eq!(Bottleneck::infer(&flows), None, "{case:?}");
        }
    }
}

#[test]
fn passages_reproduce_the_arrivals() {
    let case = Case { queue: "12", loss: "data:100", segments: 300, ..CASE };
    let flows = case.run();
    let bottleneck = expect_rate(case, 0.001);
    let Passages { delay, passages } = bottleneck.passages(&flows[0]);
    assert_eq!(delay, Duration::from_millis(case.rtt));
    assert_eq!(passages.len(), flows[0].len());
    let mut fifo = bottleneck.fifo();
    for (transmission, passage) in flows[0].iter().zip(&passages) {
        assert!(passage.residual < Duration::from_micros(5), "{passage:?}");
        let by_position = transmission.fate == Fate::Lost && !passage.is_overflow;
        if !by_position {
            let left = fifo.arrive(transmission.sent, transmission.ip_len);
            assert_eq!(left.is_none(), passage.is_overflow, "{transmission:?} {passage:?}");
        }
    }
    let lost = |overflow: bool| {
        let lost =
            |(sent, passage): &(&Transmission, &Passage)| sent.fate == Fate::Lost && passage.is_overflow == overflow;
        flows[0].iter().zip(&passages).filter(lost).count()
    };
    assert_eq!(lost(false), 1);
    assert!(lost(true) > 5);
}

#[test]
fn no_packets_have_no_bottleneck() {
    assert_eq!(Bottleneck::infer(&[]), None);
    assert_eq!(Bottleneck::infer(&[&[]]), None);
    let mut flows = CASE.run();
    for transmission in flows.iter_mut().flatten() {
        transmission.fate = Fate::Unknown;
    }
    assert_eq!(Bottleneck::infer(&[&flows[0]]), None);
}

#[test]
fn a_path_is_as_fast_as_packets_arrived_at_least() {
    // One flight, sent at once.
    let case = Case { segments: 9, ..CASE };
    let all = case.run();
    let slices: Vec<&[Transmission]> = all.iter().map(Vec::as_slice).collect();
    let slowest = Bottleneck::slowest(&slices).expect("a rate");
    let ratio = slowest.rate.bits_per_second() as f64 / (case.rate * 1e6);
    assert!((0.95..=1.05).contains(&ratio), "{ratio}");
    assert_eq!(slowest.queue, Queue::Unlimited);
    // Fewer show none.
    let few = Case { segments: 5, ..CASE }.run();
    assert_eq!(Bottleneck::slowest(&[&few[0]]), None);
}
