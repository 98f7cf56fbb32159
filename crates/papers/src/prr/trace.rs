//! Single flows, and what their server did in response to each ACK, write and timer.

use crate::flow::Entry;
use crate::prelude::*;
use recoup_recovery::LossDetector;

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

    /// Whether the server was in recovery afterwards.
    pub fn is_recovery(&self) -> bool {
        self.state == State::Recovery
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
    /// The flow's record.
    pub record: FlowRecord,
    /// Segments to the client that the path dropped.
    pub lost: u64,
}

impl Trace {
    /// The first recovery: its steps from the one that begins it, and the step that ends it, if any does.
    pub fn recovery(&self) -> Option<(&[Step], Option<&Step>)> {
        let begin = self.steps.iter().position(Step::is_recovery)?;
        let rest = &self.steps[begin..];
        let len = rest.iter().position(|step| !step.is_recovery()).unwrap_or(rest.len());
        Some((&rest[..len], rest.get(len)))
    }

    /// The state of the server just before its first recovery.
    pub fn before_recovery(&self) -> Option<&Step> {
        let begin = self.steps.iter().position(Step::is_recovery)?;
        self.steps.get(begin.checked_sub(1)?)
    }

    /// The ACKs of the first recovery, from the one that begins it.
    pub fn recovery_acks(&self) -> impl Iterator<Item = &Step> {
        self.recovery().map_or(&[][..], |(steps, _)| steps).iter().filter(|step| step.on_ack)
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
        self.steps.iter().flat_map(|step| step.again.iter().map(|(segment, trigger)| (step.at_ms, *segment, *trigger)))
    }

    /// When this many segments were acknowledged, in ms.
    pub fn acked_ms(&self, segments: u64) -> Option<f64> {
        let step = self.steps.iter().find(|step| step.acked >= segments)?;
        Some(step.at_ms)
    }
}

impl Bench {
    /// Runs the flow of this number.
    pub fn trace(&mut self, number: u64) -> Trace {
        Trace::of(&self.run(number))
    }
}

/// Runs one flow.
pub fn flow(setup: &Setup, profile: &str, own: &str) -> Result<Trace> {
    Ok(Bench::new(setup, profile, own)?.trace(0))
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

impl Trace {
    /// The steps of the server.
    pub fn of(log: &Log) -> Self {
        let (mut origin, mut delivered, mut lost) = (None, 0, 0);
        // The step under way: the events since the last one.
        let (mut step, mut steps) = (NOTHING, Vec::new());
        for entry in &log.entries {
            match entry {
                Entry::Packet(seen) => match (seen.point, seen.direction) {
                    (Point::Arrived, Direction::Up) => step.on_ack = true,
                    (Point::Dropped(_), Direction::Down) => lost += u64::from(seen.segment.payload_len > 0),
                    _ => {}
                },
                Entry::Event(at, Host::Server, event) => {
                    if let Event::Sent { what, .. } = event
                        && what.span().is_some_and(|span| span.end > Offset::DATA)
                    {
                        origin.get_or_insert(*at);
                    }
                    step.add(log, event);
                }
                Entry::Settled(Host::Server, sender) => {
                    let step = std::mem::replace(&mut step, NOTHING);
                    let before = std::mem::replace(&mut delivered, sender.delivered);
                    let Some(origin) = origin else { continue };
                    steps.push(Step {
                        at_ms: sender.at.since(origin).as_secs_f64() * 1e3,
                        state: sender.state,
                        delivered: (sender.delivered - before) as u32,
                        acked: sender.una.since(Offset::DATA) / log.mss,
                        sacked: sender.sacked,
                        pipe: sender.pipe,
                        cwnd: sender.cwnd,
                        ssthresh: sender.ssthresh,
                        has_more: sender.limit > sender.nxt,
                        ..step
                    });
                }
                Entry::Event(..) | Entry::Settled(..) => {}
            }
        }
        Self { steps, record: log.record, lost }
    }
}

impl Step {
    /// Adds an event to what happened since the last step.
    fn add(&mut self, log: &Log, event: &Event) {
        match *event {
            Event::Sent { what, .. } => match what {
                Transmission::Again(span, trigger) if span.end > Offset::DATA => {
                    self.again.push((log.number(span.start), trigger));
                }
                Transmission::New(span) | Transmission::NewProbe(span) => {
                    self.new += u32::from(span.end > Offset::DATA);
                }
                _ => {}
            },
            Event::MarkedLost { span, by } => self.marked.push((log.number(span.start), by)),
            Event::TimerFired { timer: Timer::Rto } => self.timeout = true,
            Event::Undone { .. } => self.undone = true,
            Event::Reordering { distance, .. } => self.reordering = self.reordering.max(distance.0),
            _ => {}
        }
    }
}
