//! One flow of a few segments, and everything its sender and its receiver did.
//!
//! The experiments on §2 and §4 state what a mechanism does. We read that off single flows: which segment was
//! retransmitted, why, and how long after its transmission and after the last ACK.

use super::tampered::{Tamper, Tampered};
use crate::experiment::Setup;
use recoup_lab::run::simulation;
use recoup_lab::settings::{Settings, SettingsError};
use recoup_recovery::{Event, Timer, Transmission, Trigger};
use recoup_sim::{Chains, FlowSpec, Network, Observer, Packet, Point, Simulation};
use recoup_tcp::flow::{FlowRecord, Host};
use recoup_units::{Direction, FlowId, Instant, Offset, Span};
use recoup_wire::{Flags, Segment};
use std::path::Path;

/// A packet at a point of its way.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// When.
    pub at: Instant,
    /// Where.
    pub point: Point,
    /// Its direction.
    pub direction: Direction,
    /// The segment.
    pub segment: Segment,
}

/// What happened in one flow. The server sends the data.
#[derive(Debug, Default)]
pub struct Trace {
    /// What the server's sender reported.
    pub events: Vec<(Instant, Event)>,
    /// All packets.
    pub packets: Vec<Seen>,
    /// The record of the flow.
    pub record: FlowRecord,
}

impl Observer for Trace {
    const WANTS_EVENTS: bool = true;

    fn on_packet(&mut self, at: Instant, point: Point, direction: Direction, packet: &Packet) {
        self.packets.push(Seen { at, point, direction, segment: packet.segment });
    }

    fn on_event(&mut self, now: Instant, _: FlowId, host: Host, event: &Event) {
        if host == Host::Server {
            self.events.push((now, *event));
        }
    }
}

/// A retransmission of data, or new data sent as a probe, with the sender's state at that moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repair {
    /// When it was sent.
    pub at: Instant,
    /// What was sent.
    pub span: Span,
    /// Its trigger; `None` for new data as a probe.
    pub trigger: Option<Trigger>,
    /// Segments outstanding.
    pub outstanding: usize,
    /// Time since the last ACK, in ms.
    pub since_last_ack_ms: f64,
    /// Time since the last transmission of the earliest outstanding segment, in ms.
    pub since_earliest_ms: f64,
    /// Time since the last segment was first sent, in ms.
    pub since_newest_ms: f64,
    /// The smoothed RTT, in ms.
    pub srtt_ms: f64,
    /// The RTO when the retransmission timer was last set, in ms.
    pub rto_ms: f64,
    /// ACKs since the connection was established that advanced nothing and carried a SACK.
    pub duplicate_acks: usize,
}

impl Repair {
    /// The probe timeout for this many outstanding segments (§2.2, equations 1 and 2), capped by the RTO, in ms.
    pub fn pto_ms(&self) -> f64 {
        let twice = 2.0 * self.srtt_ms;
        let pto = match self.outstanding {
            1 => twice.max(1.5 * self.srtt_ms + 200.0),
            _ => twice.max(10.0),
        };
        pto.min(self.rto_ms)
    }
}

/// What [`Trace::repairs`] has seen of the flow so far.
#[derive(Default)]
struct Sender {
    una: Offset,
    /// Each outstanding segment, and when it was last sent.
    sent: Vec<(Span, Instant)>,
    newest: Instant,
    last_ack: Instant,
    srtt_ms: f64,
    /// The RTO by the last sample, and when the timer was set.
    rto_ms: [f64; 2],
    /// When the timer expired. It is set anew before the retransmission.
    expired: Option<Instant>,
    duplicate_acks: usize,
}

impl Sender {
    fn repair(&self, at: Instant, span: Span, trigger: Option<Trigger>) -> Repair {
        let ms = |then: Instant| at.since(then).as_secs_f64() * 1e3;
        let earliest = self.sent.first().map_or(at, |(_, sent)| *sent);
        Repair {
            at,
            span,
            trigger,
            outstanding: self.sent.len(),
            since_last_ack_ms: ms(self.last_ack),
            since_earliest_ms: ms(earliest),
            since_newest_ms: ms(self.newest),
            srtt_ms: self.srtt_ms,
            rto_ms: self.rto_ms[1],
            duplicate_acks: self.duplicate_acks,
        }
    }
}

impl Trace {
    /// The retransmissions and probes of the server's data, in order.
    pub fn repairs(&self) -> Vec<Repair> {
        let (mut sender, mut repairs) = (Sender::default(), Vec::new());
        for (at, event) in &self.events {
            match *event {
                Event::Acked { una, newly_acked, newly_sacked, .. } => {
                    sender.una = una;
                    sender.sent.retain(|(span, _)| span.end > una);
                    sender.last_ack = *at;
                    let duplicate = newly_acked.0 == 0 && newly_sacked.0 > 0;
                    sender.duplicate_acks += usize::from(duplicate);
                }
                Event::RttSample { srtt, rto, .. } => {
                    sender.srtt_ms = srtt.as_secs_f64() * 1e3;
                    sender.rto_ms[0] = rto.as_secs_f64() * 1e3;
                }
                Event::TimerFired { timer: Timer::Rto } => sender.expired = Some(*at),
                Event::TimerSet { timer: Timer::Rto, at: Some(_) } if sender.expired != Some(*at) => {
                    sender.rto_ms[1] = sender.rto_ms[0]
                }
                Event::Sent { what, .. } => {
                    let Some(span) = what.span().filter(|span| span.start >= Offset::DATA) else {
                        continue;
                    };
                    match what {
                        Transmission::Again(_, trigger) => {
                            repairs.push(sender.repair(*at, span, Some(trigger)));
                            let same = sender.sent.iter_mut().find(|one| one.0.start == span.start);
                            if let Some(same) = same {
                                same.1 = *at;
                            }
                        }
                        Transmission::NewProbe(_) => {
                            repairs.push(sender.repair(*at, span, None));
                            sender.sent.push((span, *at));
                            sender.newest = *at;
                        }
                        _ => {
                            sender.sent.push((span, *at));
                            sender.newest = *at;
                        }
                    }
                }
                _ => {}
            }
        }
        repairs
    }

    /// The first of [`repairs`](Self::repairs).
    pub fn first_repair(&self) -> Option<Repair> {
        self.repairs().first().copied()
    }

    /// Pure ACKs that the client sent, in order.
    pub fn acks(&self) -> impl Iterator<Item = &Seen> {
        let is_ack =
            |seen: &&Seen| (seen.point, seen.direction) == (Point::Sent, Direction::Up) && seen.segment.is_pure_ack();
        self.packets.iter().filter(is_ack)
    }

    /// When the first data of the server arrives that it sent at this moment or later.
    pub fn arrival_after(&self, sent: Instant) -> Option<Instant> {
        let is_data =
            |seen: &&Seen| seen.direction == Direction::Down && seen.segment.payload_len > 0 && seen.at >= sent;
        let mut arrivals = self.packets.iter().filter(is_data);
        let arrived = arrivals.find(|seen| seen.point == Point::Arrived);
        arrived.map(|seen| seen.at)
    }

    /// Packets of the server with a FIN that were sent, in order.
    pub fn fins(&self) -> impl Iterator<Item = &Seen> {
        let is_fin = |seen: &&Seen| {
            (seen.point, seen.direction) == (Point::Sent, Direction::Down) && seen.segment.flags.contains(Flags::FIN)
        };
        self.packets.iter().filter(is_fin)
    }

    /// How often a timer of the server fired.
    pub fn fired(&self, timer: Timer) -> usize {
        let fired = |(_, event): &&(Instant, Event)| *event == Event::TimerFired { timer };
        self.events.iter().filter(fired).count()
    }

    /// The flow completion time from establishment, in ms.
    pub fn fct_ms(&self) -> Option<f64> {
        let fct = self.record.fct_established;
        fct.map(|fct| fct.as_secs_f64() * 1e3)
    }
}

/// The settings of the scenario as the user changed it, and these.
pub fn settings(setup: &Setup, own: &[(&str, &str)]) -> Result<Settings, SettingsError> {
    let mut settings = setup.base.settings.clone();
    for (key, value) in own {
        settings.set(key, value, Path::new(""))?;
    }
    if setup.is_mutated("nothing-lost") {
        settings.set("drop", "none", Path::new(""))?;
    }
    Ok(settings)
}

/// Runs a flow of a sender with this profile and these settings.
///
/// # Errors
/// When settings contradict each other.
pub fn run(setup: &Setup, profile: &str, own: &[(&str, &str)]) -> Result<Trace, SettingsError> {
    Ok(run_many(setup, profile, own, 1)?.remove(0))
}

/// Runs this many flows, each with its own random choices.
///
/// # Errors
/// As [`run`].
pub fn run_many(setup: &Setup, profile: &str, own: &[(&str, &str)], flows: u64) -> Result<Vec<Trace>, SettingsError> {
    let settings = settings(setup, own)?;
    let mut simulation = simulation(&settings.path()?)?;
    let spec = settings.flow(&setup.profile(profile));
    let traces = (0..flows).map(|flow| one_flow(setup, &spec, &mut simulation, flow));
    Ok(traces.collect())
}

/// Runs a flow whose server closes after the client has acknowledged all data, and whose first FIN is lost.
///
/// # Errors
/// As [`run`].
pub fn run_losing_fin(setup: &Setup, profile: &str, own: &[(&str, &str)]) -> Result<Trace, SettingsError> {
    let settings = settings(setup, own)?;
    let path = settings.path()?;
    let chains = Chains::new(&path).map_err(|e| SettingsError::Path(e.to_string()))?;
    let mut spec = settings.flow(&setup.profile(profile));
    let data = spec.workload.server.total();
    spec.workload.server.close = Some(recoup_tcp::flow::When { acknowledged: data, ..Default::default() });
    let mut simulation = Simulation::over(Tampered::new(chains, Tamper::LoseFin));
    Ok(one_flow(setup, &spec, &mut simulation, 0))
}

fn one_flow<N: Network>(setup: &Setup, spec: &FlowSpec, simulation: &mut Simulation<N>, flow: u64) -> Trace {
    let mut trace = Trace::default();
    trace.record = simulation.run(spec, setup.seed(), FlowId(flow), &mut trace);
    trace
}
