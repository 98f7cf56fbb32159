//! The repairs in a flow of a few segments: each retransmission and probe, with the sender's state.
//!
//! The experiments on §2 and §4 state what a mechanism does. We read that off single flows: which segment was
//! retransmitted, why, and how long after its transmission and after the last ACK.

use super::tampered::{Tamper, Tampered};
use crate::prelude::*;
use recoup_tcp::flow::When;

/// A retransmission of data, or new data sent as a probe, with the sender's state at that moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repair {
    /// When it was sent.
    pub at: Instant,
    /// The data sent.
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

/// The sender as [`Log::repairs`] follows it.
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

impl Log {
    /// The retransmissions and probes of the server's data, in order.
    pub fn repairs(&self) -> Vec<Repair> {
        let (mut sender, mut repairs) = (Sender::default(), vec![]);
        for (at, event) in self.events(Host::Server) {
            match *event {
                Event::Acked { una, newly_acked, newly_sacked, .. } => {
                    sender.una = una;
                    sender.sent.retain(|(span, _)| span.end > una);
                    sender.last_ack = at;
                    let duplicate = newly_acked.0 == 0 && newly_sacked.0 > 0;
                    sender.duplicate_acks += usize::from(duplicate);
                }
                Event::RttSample { srtt, rto, .. } => {
                    sender.srtt_ms = srtt.as_secs_f64() * 1e3;
                    sender.rto_ms[0] = rto.as_secs_f64() * 1e3;
                }
                Event::TimerFired { timer: Timer::Rto } => sender.expired = Some(at),
                Event::TimerSet { timer: Timer::Rto, at: Some(_) } if sender.expired != Some(at) => {
                    sender.rto_ms[1] = sender.rto_ms[0]
                }
                Event::Sent { what, .. } => {
                    let Some(span) = what.span().filter(|span| span.start >= Offset::DATA) else {
                        continue;
                    };
                    match what {
                        Transmission::Again(_, trigger) => {
                            repairs.push(sender.repair(at, span, Some(trigger)));
                            let same = sender.sent.iter_mut().find(|one| one.0.start == span.start);
                            if let Some(same) = same {
                                same.1 = at;
                            }
                        }
                        Transmission::NewProbe(_) => {
                            repairs.push(sender.repair(at, span, None));
                            sender.sent.push((span, at));
                            sender.newest = at;
                        }
                        _ => {
                            sender.sent.push((span, at));
                            sender.newest = at;
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

    /// When the first data of the server arrives that it sent at this moment or later.
    pub fn arrival_after(&self, sent: Instant) -> Option<Instant> {
        let mut arrivals = self.packets_at(Direction::Down, Point::Arrived);
        arrivals.find(|seen| seen.segment.payload_len > 0 && seen.at >= sent).map(|seen| seen.at)
    }

    /// Packets of the server with a FIN that were sent, in order.
    pub fn fins(&self) -> impl Iterator<Item = &Seen> {
        self.packets_at(Direction::Down, Point::Sent).filter(|seen| seen.segment.flags.contains(Flags::FIN))
    }
}

/// Runs a flow whose server closes after the client has acknowledged all data, and whose first FIN is lost.
///
/// # Errors
/// Settings that contradict each other.
pub fn run_losing_fin(setup: &Setup, profile: &str, own: &str) -> Result<Log> {
    let mut bench =
        Bench::over(setup, profile, &setup.settings(own)?, |chains| Tampered::new(chains, Tamper::LoseFin))?;
    let server = &mut bench.spec.workload.server;
    server.close = Some(When { acknowledged: server.total(), ..When::default() });
    Ok(bench.run(0))
}
