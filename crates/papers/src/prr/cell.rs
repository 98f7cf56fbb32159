//! One flow of a figure, and its sender's actions step by step.

use crate::experiment::{ExperimentError, Setup};
use recoup_draw::sequence::Panel;
use recoup_lab::diagram::Watch;
use recoup_lab::run::simulation;
use recoup_recovery::{Event, State, Transmission, Trigger};
use recoup_sim::{Observer, Packet, Point};
use recoup_table::millis;
use recoup_tcp::Endpoint;
use recoup_tcp::flow::Host;
use recoup_units::{Direction, FlowId, Instant, Offset, Span};
use std::path::Path;

/// The rate controls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Proportional rate reduction with the slow-start reduction bound (algorithm 2).
    Prr,
    /// Linux's rate halving.
    Linux,
    /// RFC 3517's (algorithm 1).
    Rfc3517,
}

impl Scheme {
    /// In the order of the panels.
    pub const ALL: [Self; 3] = [Self::Prr, Self::Linux, Self::Rfc3517];

    /// The paper's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Prr => "PRR",
            Self::Linux => "Linux",
            Self::Rfc3517 => "RFC 3517",
        }
    }

    /// The name of the profile.
    pub const fn profile(self) -> &'static str {
        match self {
            Self::Prr => "linux-2.6+reno+fack+prr",
            Self::Linux => "linux-2.6+reno+fack+halving",
            Self::Rfc3517 => "linux-2.6+reno+fack+std",
        }
    }
}

/// The receivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acks {
    /// Acknowledges every second segment, or after 200 ms.
    Delayed,
    /// Acknowledges every segment.
    Quick,
}

impl Acks {
    /// The receiver that is drawn comes first.
    pub const ALL: [Self; 2] = [Self::Delayed, Self::Quick];

    /// The value of the `ack` setting.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Delayed => "delayed",
            Self::Quick => "quick",
        }
    }
}

/// A segment sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sent {
    /// The time in ms after the first write.
    pub at_ms: f64,
    /// Its number in the stream, in full segments, from 1.
    pub segment: u64,
    /// The trigger of a retransmission; `None` for new data.
    pub trigger: Option<&'static str>,
    /// Segments in flight, this one included.
    pub pipe: u32,
    /// The congestion window in segments.
    pub cwnd: u32,
}

/// The end of recovery.
#[derive(Clone, Debug, PartialEq)]
pub struct Exit {
    /// The time in ms after the first write.
    pub at_ms: f64,
    /// The slow-start threshold in segments.
    pub ssthresh: u32,
    /// Segments in flight before the ACK that ended recovery.
    pub pipe_before: u32,
    /// The congestion window after recovery, in segments.
    pub cwnd: u32,
}

/// The sender's response to an ACK, a write or a timer at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Step {
    /// The time in ms after the first write.
    pub at_ms: f64,
    /// Whether the sender responded to an ACK.
    pub ack: bool,
    /// Whether the sender was in recovery afterwards.
    pub recovery: bool,
    /// Segments sent.
    pub sent: u32,
    /// Segments in flight afterwards.
    pub pipe: u32,
    /// The congestion window afterwards, in segments.
    pub cwnd: u32,
    /// The slow-start threshold in segments; `u32::MAX` before the first reduction.
    pub ssthresh: u32,
}

/// The settings of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The sender's rate control.
    pub scheme: Scheme,
    /// The receiver.
    pub acks: Acks,
}

/// One flow.
#[derive(Clone, Debug)]
pub struct SchemeCell {
    /// Its settings.
    pub flow: Flow,
    /// When recovery began, in ms after the first write.
    pub entered_ms: Option<f64>,
    /// The end of recovery.
    pub exit: Option<Exit>,
    /// Segments of the second write by the round trip in which they were sent. A round trip ends when
    /// its first segment is acknowledged.
    pub second_write_rounds: Vec<u64>,
    /// When the second write was acknowledged, in ms after it.
    pub second_write_ms: Option<f64>,
    /// All segments sent.
    pub sent: Vec<Sent>,
    /// All steps.
    pub steps: Vec<Step>,
}

impl SchemeCell {
    /// The retransmissions.
    pub fn retransmissions(&self) -> impl Iterator<Item = &Sent> {
        self.sent.iter().filter(|sent| sent.trigger.is_some())
    }

    /// The steps of recovery, from the one that begins it: responses to ACKs, or (`false`) the others.
    pub fn recovery(&self, ack: bool) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(move |step| step.recovery && step.ack == ack)
    }

    /// The times of retransmissions in ms after the first write, separated by spaces.
    pub fn retransmission_times(&self) -> String {
        let times = self.retransmissions().map(|sent| millis(Some(sent.at_ms)));
        times.collect::<Vec<_>>().join(" ")
    }

    /// The second write's segments by round trip, as in `2 + 4 + 4`.
    pub fn rounds(&self) -> String {
        let rounds: Vec<String> = self.second_write_rounds.iter().map(u64::to_string).collect();
        rounds.join(" + ")
    }

    /// The most segments sent at one instant after the first write's.
    pub fn largest_burst(&self) -> u32 {
        let later = self.steps.iter().filter(|step| step.at_ms > 0.0);
        later.map(|step| step.sent).max().unwrap_or(0)
    }
}

/// Runs a flow and draws it. `own` are the settings of its figure.
pub fn run_cell(
    setup: &Setup,
    scheme: Scheme,
    acks: Acks,
    own: &[(&str, &str)],
) -> Result<(SchemeCell, Panel), ExperimentError> {
    let mut settings = setup.base.settings.clone();
    for (key, value) in own.iter().chain(&[("ack", acks.name())]) {
        settings.set(key, value, Path::new(""))?;
    }
    let profile = setup.profile(scheme.profile());
    let mut simulation = simulation(&settings.path()?)?;
    let mut watch = (Watch::new(Host::Server), Log::new(settings.mss));
    simulation.run(&settings.flow(&profile), setup.seed(), FlowId(0), &mut watch);
    let (drawn, log) = watch;
    let panel = drawn.into_panel(scheme.name());
    let origin = log.origin.unwrap_or_default();
    let mut writes = settings.writes.iter().skip(1);
    let second = writes.next().map(|write| write.after.as_secs_f64() * 1e3);
    Ok((log.into_cell(scheme, acks, second), panel.since(origin)))
}

/// Records the server's actions.
struct Log {
    mss: u64,
    /// The time of the first data segment.
    origin: Option<Instant>,
    /// Whether an ACK has arrived since the last step.
    ack: bool,
    /// Segments sent since the last step.
    sending: u32,
    /// Time, span, trigger of a retransmission, pipe and cwnd of each segment sent.
    sent: Vec<(Instant, Span, Option<Trigger>, u32, u32)>,
    steps: Vec<(Instant, Step)>,
    una: Vec<(Instant, Offset)>,
}

impl Log {
    fn new(mss: u16) -> Self {
        Self {
            mss: mss.into(),
            origin: None,
            ack: false,
            sending: 0,
            sent: Vec::new(),
            steps: Vec::new(),
            una: Vec::new(),
        }
    }

    fn ms(&self, at: Instant) -> f64 {
        at.since(self.origin.unwrap_or_default()).as_nanos() as f64 / 1e6
    }

    fn into_cell(self, scheme: Scheme, acks: Acks, second: Option<f64>) -> SchemeCell {
        let origin = self.origin.unwrap_or_default();
        let steps: Vec<Step> = self
            .steps
            .iter()
            .filter(|(at, _)| *at >= origin)
            .map(|(at, step)| Step { at_ms: self.ms(*at), ..*step })
            .collect();
        let entered = steps.iter().position(|step| step.recovery);
        let left = entered.and_then(|entered| {
            let after = steps[entered..].iter().position(|step| !step.recovery)?;
            Some(entered + after)
        });
        let (second_write_rounds, second_write_ms) = self.second_write(second);
        SchemeCell {
            flow: Flow { scheme, acks },
            entered_ms: entered.map(|entered| steps[entered].at_ms),
            exit: left.map(|left| Exit {
                at_ms: steps[left].at_ms,
                ssthresh: steps[left].ssthresh,
                pipe_before: steps[left - 1].pipe,
                cwnd: steps[left].cwnd,
            }),
            second_write_rounds,
            second_write_ms,
            sent: self
                .sent
                .iter()
                .map(|&(at, span, trigger, pipe, cwnd)| Sent {
                    at_ms: self.ms(at),
                    segment: 1 + span.start.since(Offset::DATA) / self.mss,
                    trigger: trigger.map(Trigger::name),
                    pipe,
                    cwnd,
                })
                .collect(),
            steps,
        }
    }

    /// The segments written at `second` (ms) by round trip, and the time until all were acknowledged, in
    /// ms.
    fn second_write(&self, second: Option<f64>) -> (Vec<u64>, Option<f64>) {
        let Some(second) = second else {
            return (vec![], None);
        };
        let new = self.sent.iter().filter(|(_, _, trigger, ..)| trigger.is_none());
        let new = new.filter(|(at, ..)| self.ms(*at) >= second);
        let (mut rounds, mut first, mut end) = (vec![], None, Offset::DATA);
        for &(at, span, ..) in new {
            end = end.max(span.end);
            let reached = self.una.iter().filter(|(acked_at, _)| *acked_at <= at);
            let una = reached.map(|(_, una)| *una).max().unwrap_or_default();
            if first.is_none_or(|first| una > first) {
                rounds.push(0);
                first = Some(span.start);
            }
            if let Some(sent) = rounds.last_mut() {
                *sent += 1;
            }
        }
        let done = self.una.iter().find(|(_, una)| *una >= end);
        let done = done.filter(|_| !rounds.is_empty());
        (rounds, done.map(|(at, _)| self.ms(*at) - second))
    }
}

impl Observer for Log {
    const WANTS_EVENTS: bool = true;

    fn on_packet(&mut self, _: Instant, point: Point, direction: Direction, _: &Packet) {
        self.ack |= (point, direction) == (Point::Arrived, Direction::Up);
    }

    fn on_event(&mut self, now: Instant, _: FlowId, host: Host, event: &Event) {
        if host != Host::Server {
            return;
        }
        match *event {
            Event::Acked { una, .. } => self.una.push((now, una)),
            Event::Sent { what, pipe, cwnd } => {
                let (span, trigger) = match what {
                    Transmission::New(span) | Transmission::NewProbe(span) => (span, None),
                    Transmission::Again(span, trigger) => (span, Some(trigger)),
                    Transmission::Copy(_) | Transmission::WindowProbe => return,
                };
                if span.end > Offset::DATA {
                    self.origin.get_or_insert(now);
                    self.sending += 1;
                    self.sent.push((now, span, trigger, pipe.0, cwnd.0));
                }
            }
            _ => {}
        }
    }

    fn on_settled(&mut self, now: Instant, host: Host, endpoint: &Endpoint) {
        if host != Host::Server {
            return;
        }
        let sender = endpoint.sender();
        let step = Step {
            at_ms: 0.0,
            ack: std::mem::take(&mut self.ack),
            recovery: sender.state() == State::Recovery,
            sent: std::mem::take(&mut self.sending),
            pipe: sender.pipe().0,
            cwnd: sender.cwnd().0,
            ssthresh: sender.ssthresh().0,
        };
        self.steps.push((now, step));
    }
}
