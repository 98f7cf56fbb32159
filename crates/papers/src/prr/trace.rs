//! Single flows, and what their server did in response to each ACK, write and timer.

use crate::experiment::{ExperimentError, Setup};
use recoup_lab::run::simulation;
use recoup_lab::settings::Settings;
use recoup_recovery::LossDetector;
use recoup_recovery::{Event, Profile, State, Transmission, Trigger};
use recoup_sim::{FlowSpec, Observer, Packet, Point, Simulation};
use recoup_tcp::Endpoint;
use recoup_tcp::flow::{FlowRecord, Host};
use recoup_units::{Direction, FlowId, Instant, Offset, Span};
use std::path::Path;

/// The server's response to an ACK, a write or a timer at one instant.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The time in ms after the first data segment.
    pub at_ms: f64,
    /// Whether the server responded to an ACK.
    pub on_ack: bool,
    /// Whether the retransmission timer expired.
    pub timeout: bool,
    /// Whether a reduction was undone.
    pub undone: bool,
    /// The largest number of segments by which a segment was found to be late.
    pub reordering: u32,
    /// The state afterwards.
    pub state: State,
    /// Segments delivered.
    pub delivered: u32,
    /// Segments of new data sent.
    pub new: u32,
    /// Segments retransmitted: their numbers from 1, and the triggers.
    pub again: Vec<(u64, Trigger)>,
    /// Segments marked lost: their numbers from 1, and what marked them.
    pub marked: Vec<(u64, LossDetector)>,
    /// Segments acknowledged in sequence since the flow began, rounded down.
    pub acked: u64,
    /// Segments SACKed and not acknowledged in sequence afterwards.
    pub sacked: u32,
    /// Segments in flight afterwards.
    pub pipe: u32,
    /// The congestion window afterwards, in segments.
    pub cwnd: u32,
    /// The slow-start threshold afterwards, in segments.
    pub ssthresh: u32,
    /// Whether data to send is left.
    pub has_more: bool,
}

impl Step {
    /// Segments sent.
    pub fn sent(&self) -> u32 {
        self.new + self.again.len() as u32
    }

    /// Segments in flight before the server sent.
    pub fn pipe_before_sending(&self) -> u32 {
        self.pipe.saturating_sub(self.sent())
    }
}

/// One flow.
#[derive(Clone, Debug)]
pub struct Trace {
    /// All steps from the first data segment on.
    pub steps: Vec<Step>,
    /// What the flow cost.
    pub record: FlowRecord,
    /// Segments to the client that the path dropped.
    pub lost: u64,
}

impl Trace {
    /// The first recovery: its steps from the one that begins it, and the step that ends it, if any does.
    pub fn recovery(&self) -> Option<(&[Step], Option<&Step>)> {
        let is_in = |step: &Step| step.state == State::Recovery;
        let begin = self.steps.iter().position(is_in)?;
        let rest = &self.steps[begin..];
        let len = rest.iter().position(|step| !is_in(step));
        let len = len.unwrap_or(rest.len());
        Some((&rest[..len], rest.get(len)))
    }

    /// The state of the server just before its first recovery.
    pub fn before_recovery(&self) -> Option<&Step> {
        let begin = self.steps.iter().position(|step| step.state == State::Recovery)?;
        self.steps.get(begin.checked_sub(1)?)
    }

    /// The ACKs of the first recovery, from the one that begins it.
    pub fn recovery_acks(&self) -> impl Iterator<Item = &Step> {
        let steps = self.recovery().map_or(&[][..], |(steps, _)| steps);
        steps.iter().filter(|step| step.on_ack)
    }

    /// How long the first recovery lasted, in ms; `None` if there was none, or no end.
    pub fn recovery_ms(&self) -> Option<f64> {
        let (steps, end) = self.recovery()?;
        Some(end?.at_ms - steps.first()?.at_ms)
    }

    /// Segments sent on each ACK of the first recovery.
    pub fn sent_per_ack(&self) -> Vec<u32> {
        self.recovery_acks().map(Step::sent).collect()
    }

    /// The most segments sent on an ACK of the first recovery.
    pub fn largest_burst(&self) -> u32 {
        self.recovery_acks().map(Step::sent).max().unwrap_or(0)
    }

    /// Retransmission timeouts.
    pub fn timeouts(&self) -> usize {
        self.steps.iter().filter(|step| step.timeout).count()
    }

    /// All retransmissions: time in ms, segment and trigger.
    pub fn retransmissions(&self) -> impl Iterator<Item = (f64, u64, Trigger)> {
        let steps = self.steps.iter();
        steps.flat_map(|step| {
            let again = step.again.iter();
            again.map(|(segment, trigger)| (step.at_ms, *segment, *trigger))
        })
    }

    /// When this many segments were acknowledged, in ms.
    pub fn acked_ms(&self, segments: u64) -> Option<f64> {
        let step = self.steps.iter().find(|step| step.acked >= segments)?;
        Some(step.at_ms)
    }
}

/// Runs flows with the same settings.
pub struct Flows {
    simulation: Simulation,
    spec: FlowSpec,
    seed: u64,
    mss: u64,
}

impl Flows {
    /// Flows of this profile with these settings in place of the scenario's.
    pub fn new(setup: &Setup, profile: &str, own: &[(&str, &str)]) -> Result<Self, ExperimentError> {
        let settings = with(&setup.base.settings, own)?;
        Self::of(&settings, &setup.profile(profile), setup.seed())
    }

    fn of(settings: &Settings, profile: &Profile, seed: u64) -> Result<Self, ExperimentError> {
        Ok(Self {
            simulation: simulation(&settings.path()?)?,
            spec: settings.flow(profile),
            seed,
            mss: settings.mss.into(),
        })
    }

    /// Runs flow number `number`.
    pub fn run(&mut self, number: u64) -> Trace {
        let mut log = Log::new(self.mss);
        let record = self.simulation.run(&self.spec, self.seed, FlowId(number), &mut log);
        Trace { steps: log.steps, record, lost: log.lost }
    }
}

/// The settings with some of their own.
fn with(settings: &Settings, own: &[(&str, &str)]) -> Result<Settings, ExperimentError> {
    let mut settings = settings.clone();
    for (key, value) in own {
        settings.set(key, value, Path::new(""))?;
    }
    Ok(settings)
}

/// Runs one flow.
pub fn flow(setup: &Setup, profile: &str, own: &[(&str, &str)]) -> Result<Trace, ExperimentError> {
    Ok(Flows::new(setup, profile, own)?.run(0))
}

/// Records the server's actions.
struct Log {
    mss: u64,
    origin: Option<Instant>,
    delivered: u64,
    lost: u64,
    /// What happened since the last step.
    step: Step,
    steps: Vec<Step>,
}

/// A step in which nothing happened.
const NOTHING: Step = Step {
    at_ms: 0.0,
    on_ack: false,
    timeout: false,
    undone: false,
    reordering: 0,
    state: State::Open,
    delivered: 0,
    new: 0,
    again: Vec::new(),
    marked: Vec::new(),
    acked: 0,
    sacked: 0,
    pipe: 0,
    cwnd: 0,
    ssthresh: 0,
    has_more: false,
};

impl Log {
    fn new(mss: u64) -> Self {
        Self { mss, origin: None, delivered: 0, lost: 0, step: NOTHING, steps: Vec::new() }
    }

    /// The number of a segment in the stream, from 1.
    fn number(&self, span: Span) -> u64 {
        1 + span.start.since(Offset::DATA) / self.mss
    }

    fn sent(&mut self, now: Instant, what: Transmission) {
        let Some(span) = what.span().filter(|span| span.end > Offset::DATA) else {
            return;
        };
        self.origin.get_or_insert(now);
        match what {
            Transmission::New(_) | Transmission::NewProbe(_) => self.step.new += 1,
            Transmission::Again(_, trigger) => {
                let number = self.number(span);
                self.step.again.push((number, trigger));
            }
            Transmission::Copy(_) | Transmission::WindowProbe => {}
        }
    }
}

impl Observer for Log {
    const WANTS_EVENTS: bool = true;

    fn on_packet(&mut self, _: Instant, point: Point, direction: Direction, packet: &Packet) {
        match (point, direction) {
            (Point::Arrived, Direction::Up) => self.step.on_ack = true,
            (Point::Dropped(_), Direction::Down) if packet.segment.payload_len > 0 => self.lost += 1,
            _ => {}
        }
    }

    fn on_event(&mut self, now: Instant, _: FlowId, host: Host, event: &Event) {
        if host != Host::Server {
            return;
        }
        match *event {
            Event::Sent { what, .. } => self.sent(now, what),
            Event::MarkedLost { span, by } => {
                let number = self.number(span);
                self.step.marked.push((number, by));
            }
            Event::TimerFired { timer } => {
                self.step.timeout |= timer == recoup_recovery::Timer::Rto;
            }
            Event::Undone { .. } => self.step.undone = true,
            Event::Reordering { distance, .. } => {
                self.step.reordering = self.step.reordering.max(distance.0);
            }
            _ => {}
        }
    }

    fn on_settled(&mut self, now: Instant, host: Host, endpoint: &Endpoint) {
        if host != Host::Server {
            return;
        }
        let sender = endpoint.sender();
        let step = std::mem::replace(&mut self.step, NOTHING);
        let delivered = sender.counters().delivered;
        let before = std::mem::replace(&mut self.delivered, delivered);
        let Some(origin) = self.origin else {
            return;
        };
        self.steps.push(Step {
            at_ms: now.since(origin).as_secs_f64() * 1e3,
            state: sender.state(),
            delivered: (delivered - before) as u32,
            acked: sender.una().since(Offset::DATA) / self.mss,
            sacked: sender.board().sacked().0,
            pipe: sender.pipe().0,
            cwnd: sender.cwnd().0,
            ssthresh: sender.ssthresh().0,
            has_more: sender.limit() > sender.nxt(),
            ..step
        });
    }
}
