//! One flow of a figure, and its sender's actions step by step.

use super::trace::{Step, Trace};
use crate::prelude::*;
use recoup_draw::sequence::Panel;
use recoup_lab::diagram::Watch;

choices! {
    /// The rate controls.
    pub enum Scheme {
        /// Proportional rate reduction with the slow-start reduction bound (algorithm 2).
        Prr = "PRR",
        /// Linux's rate halving.
        Linux = "Linux",
        /// RFC 3517's (algorithm 1).
        Rfc3517 = "RFC 3517",
    }
}

impl Scheme {
    /// The name of the profile.
    pub const fn profile(self) -> &'static str {
        match self {
            Self::Prr => "linux-2.6+reno+fack+prr",
            Self::Linux => "linux-2.6+reno+fack+halving",
            Self::Rfc3517 => "linux-2.6+reno+fack+std",
        }
    }
}

choices! {
    /// The receivers.
    pub enum Acks {
        /// Acknowledges every second segment, or after 200 ms.
        Delayed = "delayed",
        /// Acknowledges every segment.
        Quick = "quick",
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

/// The settings of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

impl Keyed for SchemeCell {
    type Key = Flow;

    fn key(&self) -> Self::Key {
        self.flow
    }
}

impl SchemeCell {
    /// The retransmissions.
    pub fn retransmissions(&self) -> impl Iterator<Item = &Sent> {
        self.sent.iter().filter(|sent| sent.trigger.is_some())
    }

    /// The steps of recovery, from the one that begins it: responses to ACKs, or (`false`) the others.
    pub fn recovery(&self, ack: bool) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(move |step| step.is_recovery() && step.on_ack == ack)
    }

    /// The times of retransmissions in ms after the first write, separated by spaces.
    pub fn retransmission_times(&self) -> String {
        self.retransmissions().map(|sent| millis(Some(sent.at_ms))).joined(" ")
    }

    /// The second write's segments by round trip, as in `2 + 4 + 4`.
    pub fn rounds(&self) -> String {
        let rounds: Vec<String> = self.second_write_rounds.iter().map(u64::to_string).collect();
        rounds.join(" + ")
    }

    /// The most segments sent at one instant after the first write's.
    pub fn largest_burst(&self) -> u32 {
        self.steps.iter().filter(|step| step.at_ms > 0.0).map(Step::sent).max().unwrap_or(0)
    }
}

/// Runs a flow and draws it. `own` are the settings of its figure.
pub fn run_cell(setup: &Setup, scheme: Scheme, acks: Acks, own: &str) -> Result<(SchemeCell, Panel)> {
    let own = format!("{own} ack={}", acks.name());
    let mut bench = Bench::new(setup, scheme.profile(), &own)?;
    let mut observers = (Watch::new(Host::Server), Log::new(&bench.spec));
    bench.observe(0, &mut observers);
    let (drawn, log) = observers;
    let sending = Sending::of(&log);
    let second = setup.settings(&own)?.writes.get(1).map(|write| ms(write.after));
    let trace = Trace::of(&log);
    let (second_write_rounds, second_write_ms) = sending.second_write(second);
    let recovery = trace.recovery();
    let cell = SchemeCell {
        flow: Flow { scheme, acks },
        entered_ms: recovery.map(|(steps, _)| steps[0].at_ms),
        exit: recovery.and_then(|(steps, end)| {
            let (last, end) = (steps.last()?, end?);
            Some(Exit { at_ms: end.at_ms, ssthresh: end.ssthresh, pipe_before: last.pipe, cwnd: end.cwnd })
        }),
        second_write_rounds,
        second_write_ms,
        sent: sending.sent.iter().map(|(_, sent)| *sent).collect(),
        steps: trace.steps,
    };
    Ok((cell, drawn.into_panel(scheme.name()).since(sending.origin)))
}

/// The segments that the server sends, and the ACKs that it receives.
struct Sending {
    /// The time of the first data segment.
    origin: Instant,
    sent: Vec<(Span, Sent)>,
    /// When each ACK arrived, in ms after `origin`, and what it acknowledged.
    una: Vec<(f64, Offset)>,
}

impl Sending {
    fn of(log: &Log) -> Self {
        let mut origin = None;
        let (mut sent, mut una) = (vec![], vec![]);
        for (at, event) in log.events(Host::Server) {
            match *event {
                Event::Acked { una: acked, .. } => una.push((at, acked)),
                Event::Sent { what, pipe, cwnd } => {
                    let (span, trigger) = match what {
                        Transmission::New(span) | Transmission::NewProbe(span) => (span, None),
                        Transmission::Again(span, trigger) => (span, Some(trigger)),
                        Transmission::Copy(_) | Transmission::WindowProbe => continue,
                    };
                    if span.end > Offset::DATA {
                        let at_ms = ms(at.since(*origin.get_or_insert(at)));
                        let (segment, trigger) = (log.number(span.start), trigger.map(Trigger::name));
                        sent.push((span, Sent { at_ms, segment, trigger, pipe: pipe.0, cwnd: cwnd.0 }));
                    }
                }
                _ => {}
            }
        }
        let origin = origin.unwrap_or_default();
        let una = una.into_iter().map(|(at, una)| (ms(at.since(origin)), una)).collect();
        Self { origin, sent, una }
    }

    /// The segments written at `second` (ms) by round trip, and the time until all were acknowledged, in ms.
    fn second_write(&self, second: Option<f64>) -> (Vec<u64>, Option<f64>) {
        let Some(second) = second else {
            return (vec![], None);
        };
        let new = self.sent.iter().filter(|(_, sent)| sent.trigger.is_none() && sent.at_ms >= second);
        let (mut rounds, mut first, mut end) = (vec![], None, Offset::DATA);
        for (span, sent) in new {
            end = end.max(span.end);
            let una = self
                .una
                .iter()
                .filter(|(acked_ms, _)| *acked_ms <= sent.at_ms)
                .map(|(_, una)| *una)
                .max()
                .unwrap_or_default();
            if first.is_none_or(|first| una > first) {
                rounds.push(0);
                first = Some(span.start);
            }
            if let Some(sent) = rounds.last_mut() {
                *sent += 1;
            }
        }
        let done = self.una.iter().find(|(_, una)| *una >= end).filter(|_| !rounds.is_empty());
        (rounds, done.map(|(at_ms, _)| at_ms - second))
    }
}
