//! The truth about a simulated flow: which retransmissions its server sent, why, whether they were needed, and how
//! long it took to detect the losses. No capture and no analysis stands between.
//!
//! A retransmission is spurious if an earlier transmission of its first byte arrives, sooner or later.

use crate::prelude::*;

/// A retransmission of data by the server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repeated {
    /// When it was sent.
    pub at: Instant,
    /// Its sequence number on the wire.
    pub seq: u32,
    /// Why.
    pub trigger: Trigger,
    /// An earlier transmission arrives.
    pub spurious: bool,
    /// The number of retransmissions of its first byte, with this one.
    pub copy: u32,
    /// Since the first transmission, in moving averages of the RTT (weight 1/4); `None` before an RTT sample.
    pub detection_rtts: Option<f64>,
}

/// Watches the server of one flow.
#[derive(Debug, Default)]
pub struct Watch {
    /// Packets with a sequence number, in the order of sending: ordinal, sequence number, time, payload.
    sent: Vec<(u64, u32, Instant, u32)>,
    /// The transmissions that the sender reported, in the same order.
    reasons: Vec<(Option<Trigger>, Option<f64>)>,
    arrived: HashMap<u64, ()>,
    /// The moving average of the RTT in ms.
    rtt_ms: Option<f64>,
    /// RTT samples: their number, and their sum in ms.
    pub samples: (u64, f64),
    recovers: Option<(Instant, bool)>,
    /// Recoveries: detected by timeout, and how long until the sender was in Open again, in RTTs.
    pub recoveries: Vec<(bool, f64)>,
    /// Data packets of the server that the path lost, and those that it sent.
    pub lost: (u64, u64),
}

impl Observer for Watch {
    const WANTS_EVENTS: bool = true;

    fn on_packet(&mut self, now: Instant, point: Point, direction: Direction, packet: &Packet) {
        if direction != Direction::Down {
            return;
        }
        let segment = &packet.segment;
        let flags = segment.flags;
        let counts = segment.payload_len > 0 || flags.contains(Flags::SYN) || flags.contains(Flags::FIN);
        match point {
            _ if !counts => {}
            Point::Sent => {
                let one = (packet.ordinal, segment.seq.0, now, segment.payload_len);
                self.sent.push(one);
                self.lost.1 += 1;
            }
            Point::Arrived => {
                self.arrived.insert(packet.ordinal, ());
            }
            Point::Dropped(_) => self.lost.0 += 1,
        }
    }

    fn on_event(&mut self, now: Instant, _: FlowId, host: Host, event: &Event) {
        if host != Host::Server {
            return;
        }
        match event {
            Event::Sent { what, .. } => match what {
                Transmission::Again(_, trigger) => {
                    self.reasons.push((Some(*trigger), self.rtt_ms));
                }
                Transmission::WindowProbe => {}
                _ => self.reasons.push((None, self.rtt_ms)),
            },
            Event::RttSample { rtt, .. } => {
                let ms = rtt.as_secs_f64() * 1e3;
                self.samples.0 += 1;
                self.samples.1 += ms;
                self.rtt_ms = Some(self.rtt_ms.map_or(ms, |mean| mean + (ms - mean) / 4.0));
            }
            Event::StateChanged { from, to, .. } => self.change(now, *from, *to),
            _ => {}
        }
    }
}

impl Watch {
    fn change(&mut self, now: Instant, from: State, to: State) {
        match to {
            State::Recovery | State::Loss if !matches!(from, State::Recovery | State::Loss) => {
                self.recovers = Some((now, to == State::Loss));
            }
            State::Open => {
                if let (Some((since, by_timeout)), Some(rtt)) = (self.recovers.take(), self.rtt_ms) {
                    let ms = now.since(since).as_secs_f64() * 1e3;
                    self.recoveries.push((by_timeout, ms / rtt));
                }
            }
            _ => {}
        }
    }

    /// The retransmissions with data, in the order of sending; empty if packets and reports do not agree.
    pub fn repeated(&self) -> Vec<Repeated> {
        if self.sent.len() != self.reasons.len() {
            return vec![];
        }
        let mut first: HashMap<u32, (Instant, bool, u32)> = HashMap::new();
        let mut all = vec![];
        for ((ordinal, seq, at, payload), (trigger, rtt)) in self.sent.iter().zip(&self.reasons) {
            let arrives = self.arrived.contains_key(ordinal);
            let Some(trigger) = trigger else {
                first.entry(*seq).or_insert((*at, arrives, 0));
                continue;
            };
            let (sent, arrived, copies) = first.entry(*seq).or_insert((*at, false, 0));
            *copies += 1;
            if *payload > 0 {
                let waited: Duration = at.since(*sent);
                all.push(Repeated {
                    at: *at,
                    seq: *seq,
                    trigger: *trigger,
                    spurious: *arrived,
                    copy: *copies,
                    detection_rtts: rtt.map(|rtt| waited.as_secs_f64() * 1e3 / rtt),
                });
            }
            *arrived |= arrives;
        }
        all
    }
}
