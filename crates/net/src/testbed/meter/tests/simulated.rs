//! The meter measures the simulator's flows: both must report the same costs.
//!
//! The simulator knows what the meter infers from packets. Many things happen at one instant of virtual
//! time, so the instants here have a finer resolution that keeps their order.

use super::*;
use recoup_path::{HopSpec, LossKind, LossSpec, PathSpec, Probability, Queue};
use recoup_recovery::{Event, Profile, Trigger};
use recoup_sim::{FlowSpec, Observer, Packet, Point, Simulation, TimerModel};
use recoup_tcp::{
    AckPolicy, Config,
    flow::{Host, Script, TimedWrite, When, Write},
};
use recoup_units::{BitRate, SplitMix};
use recoup_wire::Segment;
use std::collections::HashMap;

/// Distinct moments within a nanosecond.
const FINER: u64 = 1 << 12;

/// Makes records of a flow's packets.
#[derive(Default)]
struct Recorder {
    records: Vec<PacketRecord>,
    sent: HashMap<(bool, u64), Instant>,
    latest: (Instant, u64),
    /// Resets, which the simulator counts and the meter does not: bytes, and packets dropped.
    resets: (u64, u64),
    syn_acks: u64,
}

impl Recorder {
    /// A moment of its own for whatever happens now.
    fn moment(&mut self, now: Instant) -> Instant {
        let (then, count) = self.latest;
        let count = if then == now { count + 1 } else { 0 };
        assert!(count < FINER / 2);
        self.latest = (now, count);
        Instant::from_nanos(now.as_nanos() * FINER + count)
    }
}

/// A time between moments, to the nanosecond.
fn coarse(time: Duration) -> Duration {
    let moments = u64::try_from(time.as_nanos()).unwrap();
    Duration::from_nanos((moments + FINER / 2) / FINER)
}

fn facts(segment: &Segment) -> Tcp {
    Tcp {
        seq: segment.seq.0,
        ack: segment.ack.0,
        payload_len: segment.payload_len,
        flags: segment.flags,
        sack: segment.options.sack,
    }
}

impl Observer for Recorder {
    const WANTS_EVENTS: bool = false;

    fn on_packet(&mut self, now: Instant, point: Point, direction: Direction, packet: &Packet) {
        let at = self.moment(now);
        let which = (direction == DOWN, packet.ordinal);
        if packet.segment.flags.contains(Flags::RST) {
            match point {
                Point::Sent => self.resets.0 += u64::from(packet.ip_len),
                Point::Arrived => {}
                Point::Dropped(_) => self.resets.1 += 1,
            }
        }
        let outcome = match point {
            Point::Sent => {
                let syn_ack = Flags::SYN | Flags::ACK;
                self.syn_acks += u64::from(packet.segment.flags.contains(syn_ack));
                self.sent.insert(which, at);
                return;
            }
            Point::Arrived => PacketOutcome::Delivered { due: at, departure: at },
            Point::Dropped(cause) => PacketOutcome::Dropped { due: at, cause },
        };
        self.records.push(PacketRecord {
            direction,
            number: packet.ordinal + 1,
            arrival: self.sent[&which],
            outcome,
            len: packet.ip_len as usize,
            flow: packet.flow,
            tcp: Some(facts(&packet.segment)),
            damaged: packet.damage.is_some(),
        });
    }

    fn on_event(&mut self, _: Instant, _: FlowId, _: Host, _: &Event) {}
}

/// Draws from one seed.
struct Draws(SplitMix);

impl Draws {
    fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    fn chance(&mut self, percent: u64) -> Probability {
        Probability::new(self.below(percent + 1) as f64 / 100.0).unwrap()
    }

    /// A direction that may lose, reorder, double and damage.
    fn hops(&mut self) -> Vec<HopSpec> {
        let loss = LossSpec { kind: LossKind::Bernoulli(self.chance(15)), transmission: None };
        let mut hops = vec![HopSpec::Loss(loss)];
        if self.below(2) == 0 {
            let rate = BitRate::from_bits_per_second(1_000_000 + self.below(20_000_000)).unwrap();
            let queue = self.one_of(&[Queue::Unlimited, Queue::Packets(5), Queue::Bytes(20_000)]);
            hops.push(HopSpec::Rate { rate, queue });
        }
        if self.below(2) == 0 {
            hops.push(HopSpec::Reorder {
                probability: self.chance(20),
                extra: Duration::from_micros(self.below(300_000)),
            });
        }
        if self.below(2) == 0 {
            hops.push(HopSpec::Duplicate { probability: self.chance(20) });
        }
        if self.below(4) == 0 {
            hops.push(HopSpec::Corrupt { probability: self.chance(5) });
        }
        hops.push(HopSpec::Delay(Duration::from_micros(self.below(60_000))));
        hops
    }

    fn workload(&mut self, reorders: bool) -> Workload {
        let bytes = [0, 1, 1448, 1449, 14_480, 100_000];
        let later = (0..self.below(3)).map(|n| TimedWrite {
            after: Duration::from_millis(n * 100 + self.below(100)),
            bytes: 1 + self.below(5000),
        });
        let later: Vec<_> = later.collect();
        let [request, response] = [(); 2].map(|()| self.one_of(&bytes));
        Workload::exchange(request, response)
            .with_later_writes(&later)
            // Neither reports a packet that comes late to a connection that has ended.
            .closing(!reorders && self.below(2) == 0)
    }

    /// Scripts that wait for the peer's data, for acknowledgments and for time. No host closes.
    fn scripts(&mut self, _: bool) -> Workload {
        let bytes = [1, 1448, 1449, 14_480, 50_000];
        let sizes = [(); 2].map(|()| [(); 3].map(|()| self.one_of(&bytes)));
        let script = |draws: &mut Self, own: [u64; 3], peer: [u64; 3]| {
            let mut writes = Vec::new();
            let [mut written, mut received] = [0; 2];
            for (bytes, reply) in own.into_iter().zip(peer) {
                let when = When {
                    received: draws.one_of(&[0, received]),
                    acknowledged: draws.one_of(&[0, written]),
                    after: Duration::from_millis(draws.below(100)),
                };
                writes.push(Write { when, bytes });
                written += bytes;
                received += reply;
            }
            Script::of(&writes)
        };
        let [up, down] = sizes;
        Workload { client: script(self, up, down), server: script(self, down, up) }
    }

    fn config(&mut self, profile: &Profile, reorders: bool) -> Config {
        let hold = Duration::from_millis(40 + self.below(160));
        let acks = [AckPolicy::Quick, AckPolicy::Delayed(hold), AckPolicy::Linux { quick: 16 }];
        Config {
            acks: self.one_of(&acks),
            // PAWS refuses old timestamps, which only the receiver knows of.
            timestamps: !reorders && self.below(2) == 0,
            ..Config::new(*profile.mechanisms())
        }
    }
}

/// The quantities that both measure, times to the nanosecond.
fn told(record: &FlowRecord, time: impl Fn(Duration) -> Duration) -> FlowRecord {
    FlowRecord {
        fct: record.fct.map(&time),
        fct_established: record.fct_established.map(&time),
        segments_sent: record.segments_sent,
        bytes_sent: record.bytes_sent,
        packets_dropped: record.packets_dropped,
        spurious: record.spurious,
        spurious_data: record.spurious_data,
        unnecessary_bytes: record.unnecessary_bytes,
        last_ack_to_retransmission: record.last_ack_to_retransmission.map(time),
        // The senders' to tell, and the simulator's.
        ..FlowRecord::default()
    }
}

#[test]
fn the_simulator_and_the_meter_agree() {
    assert_agreement(2000, Draws::workload);
}

#[test]
fn the_simulator_and_the_meter_agree_where_both_hosts_send_at_once() {
    assert_agreement(1000, Draws::scripts);
}

fn assert_agreement(cases: u64, workload: fn(&mut Draws, bool) -> Workload) {
    let names = ["linux-3.17", "linux-3.17+tlp", "linux-3.17+rtor", "linux-2.6", "rfc6675", "reno", "linux-6"];
    let (mut compared, mut spurious, mut incomplete) = (0, 0, 0);
    for case in 0..cases {
        let mut draws = Draws(SplitMix(case));
        let profile: Profile = draws.one_of(&names).parse().unwrap();
        let path = PathSpec { up: draws.hops(), down: draws.hops() };
        let mut hops = path.up.iter().chain(&path.down);
        let reorders = hops.any(|hop| matches!(hop, HopSpec::Reorder { .. }));
        let spec = FlowSpec {
            client: draws.config(&profile, reorders),
            server: draws.config(&profile, reorders),
            timers: TimerModel::Exact,
            workload: workload(&mut draws, reorders),
        };
        let mut recorder = Recorder::default();
        let mut simulation = Simulation::new(&path).unwrap();
        let mut simulated = simulation.run(&spec, case, FlowId(0), &mut recorder);
        let again = simulated.counters.retransmissions.of(Trigger::SynAck);
        if recorder.syn_acks > 1 + again {
            // A SYN that came twice was answered twice, which to the simulator is no retransmission.
            continue;
        }
        simulated.bytes_sent -= recorder.resets.0;
        simulated.packets_dropped -= recorder.resets.1;
        let seen = measure(&recorder.records, FlowId(0), &spec.workload);
        assert_eq!(
            told(&seen, coarse),
            told(&simulated, |time| time),
            "case {case}: {} over {path:?}\n{:?}",
            profile.name(),
            spec.workload,
        );
        compared += 1;
        spurious += simulated.spurious;
        incomplete += u64::from(!simulated.completed());
    }
    // The cases contain losses and spurious retransmissions, so the two could disagree.
    assert!(compared > cases * 3 / 4 && spurious > cases / 2, "{compared}, {spurious}");
    assert!(incomplete < compared / 10, "{incomplete}");
}
