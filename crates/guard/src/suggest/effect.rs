//! What timers change: needless retransmissions, handshakes that waited, and what reruns predict.

use super::networks::{NetworkAdvice, advise};
use super::samples::{Sample, Side};
use crate::plan::{Plan, smallest};
use crate::schedule::{SYN_LINEAR, repeats};
use recoup_captures::whatif::{Answer, Changes, PeerTimers, SenderTimers};
use recoup_kernel::{Network, SocketTimers};
use std::collections::BTreeMap;
use std::time::Duration;

/// Timers of a plan, as reruns try them. They run the sender alone, so they show nothing of a longest delay of its ACKs.
pub fn peer_timers(plan: &Plan) -> PeerTimers {
    let networks = plan.iter().map(|(network, timers)| {
        let timers = SenderTimers { syn: timers.syn, syn_ack: timers.syn_ack, least_rto: timers.least_rto };
        (network.address(), network.bits(), timers)
    });
    PeerTimers::new("the suggested timers", networks)
}

/// The networks of the advice with their timers.
pub fn plan_of(advice: &[NetworkAdvice]) -> Plan {
    advice.iter().map(|one| (one.network, one.timers)).collect()
}

/// What timers change in the connections that they apply to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// Connections.
    pub connections: u64,
    /// The time that they lost.
    pub lost: Duration,
    /// Handshakes whose round-trip time is known.
    pub handshakes: u64,
    /// SYNs and SYN-ACKs that would have been sent needlessly in them.
    pub needless: u64,
    /// Handshakes that waited for a retransmission of this host's SYN or SYN-ACK.
    pub waiters: u64,
    /// How long they waited.
    pub waited: Duration,
    /// How long they would have waited, if each retransmission had met the fate that it had.
    pub would_wait: Duration,
    /// The time that peers lost because this host delayed its ACKs.
    pub nagle: Duration,
}

impl Effect {
    fn add(&mut self, sample: &Sample, timers: &SocketTimers) {
        self.connections += 1;
        self.lost += sample.lost;
        self.nagle += sample.nagle;
        let timer = timer(sample, timers);
        if let Some(rtt) = sample.handshake {
            self.handshakes += 1;
            self.needless += timer.map_or(0, |timer| needless(sample.side, timer, rtt));
        }
        if sample.repeats > 0 {
            self.waiters += 1;
            self.waited += sample.waited;
            let would_wait = timer.and_then(|timer| times(sample.side, timer).nth(sample.repeats as usize - 1));
            self.would_wait += would_wait.unwrap_or(sample.waited).min(sample.waited);
        }
    }
}

/// The effect in each network of a plan. The smallest network of a peer counts.
pub fn effects(samples: &[Sample], plan: &Plan) -> BTreeMap<Network, Effect> {
    let mut effects: BTreeMap<Network, Effect> = plan.keys().map(|network| (*network, Effect::default())).collect();
    for sample in samples {
        if let Some((network, timers)) = smallest(plan, sample.peer) {
            effects.entry(network).or_default().add(sample, timers);
        }
    }
    effects
}

/// What the later half of the connections shows of timers that the earlier half suggests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Foresight {
    /// Handshakes in the later half whose round-trip time is known, and that would have had a timer.
    pub handshakes: u64,
    /// SYNs and SYN-ACKs that would have been sent needlessly.
    pub needless: u64,
}

/// Judges suggestions by connections that they do not rest on. `samples` are in the order of time.
pub fn foresight(samples: &[Sample]) -> Foresight {
    let (earlier, later) = samples.split_at(samples.len() / 2);
    let plan = plan_of(&advise(earlier));
    let mut foresight = Foresight::default();
    for sample in later {
        let timer = smallest(&plan, sample.peer).and_then(|(_, timers)| timer(sample, timers));
        if let Some((timer, rtt)) = timer.zip(sample.handshake) {
            foresight.handshakes += 1;
            foresight.needless += needless(sample.side, timer, rtt);
        }
    }
    foresight
}

/// The timer of this host's first packet.
fn timer(sample: &Sample, timers: &SocketTimers) -> Option<Duration> {
    match sample.side {
        Side::Client => timers.syn,
        Side::Server => timers.syn_ack,
    }
}

/// When a first packet would be sent again, from the first time on.
fn times(side: Side, timer: Duration) -> impl Iterator<Item = Duration> {
    let linear = match side {
        Side::Client => SYN_LINEAR,
        Side::Server => 0,
    };
    repeats(timer, linear)
}

/// How often a first packet would be sent again within the round trip that answers it.
fn needless(side: Side, timer: Duration, rtt: Duration) -> u64 {
    times(side, timer).take_while(|at| *at < rtt).count() as u64
}

/// What reruns predict in each network of a plan: in all connections that were run again, and in those with a loss.
pub fn predictions(answer: &Answer, plan: &Plan) -> BTreeMap<Network, [Changes; 2]> {
    let towards = |network: &Network| {
        let is_meant = |peer| smallest(plan, peer).is_some_and(|(found, _)| found == *network);
        (*network, answer.changes_towards(0, is_meant))
    };
    plan.keys().map(towards).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use recoup_units::Instant;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn sample(at: u64, side: Side) -> Sample {
        Sample {
            at: Instant::from_millis(at),
            peer: "192.0.2.1".parse().unwrap(),
            side,
            handshake: Some(ms(60)),
            repeats: 0,
            waited: Duration::ZERO,
            answered: None,
            least_rtt: None,
            data: None,
            was_too_early: false,
            lost: ms(5),
            nagle: Duration::ZERO,
        }
    }

    fn plan(timers: SocketTimers) -> Plan {
        Plan::from([("192.0.2.0/24".parse().unwrap(), timers)])
    }

    #[test]
    fn needless_syns_are_those_before_the_answer() {
        let timers = SocketTimers { syn: Some(ms(20)), syn_ack: Some(ms(20)), ..SocketTimers::default() };
        let of = |side| effects(&[sample(0, side)], &plan(timers)).into_values().next().unwrap();
        // SYNs leave after 20, 40 and 60 ms, SYN-ACKs after 20 and 60 ms; the answer comes at 60 ms.
        assert_eq!(of(Side::Client).needless, 2);
        assert_eq!(of(Side::Server).needless, 1);
        let none = effects(&[sample(0, Side::Client)], &plan(SocketTimers::default()));
        assert_eq!(none.into_values().next().unwrap().needless, 0);
    }

    #[test]
    fn a_handshake_waits_for_as_many_retransmissions_as_it_did() {
        let timers = SocketTimers { syn: Some(ms(100)), syn_ack: Some(ms(100)), ..SocketTimers::default() };
        let waited = |side, repeats, waited| {
            let sample = Sample { handshake: None, repeats, waited: ms(waited), ..sample(0, side) };
            let effect = effects(&[sample], &plan(timers)).into_values().next().unwrap();
            assert_eq!((effect.waiters, effect.waited, effect.handshakes), (1, ms(waited), 0));
            effect.would_wait
        };
        assert_eq!(waited(Side::Client, 1, 1_000), ms(100));
        assert_eq!(waited(Side::Client, 3, 3_000), ms(300));
        assert_eq!(waited(Side::Server, 3, 7_000), ms(700));
        // Its timer was no longer than the suggested one.
        assert_eq!(waited(Side::Server, 1, 50), ms(50));
    }

    #[test]
    fn suggestions_are_judged_by_later_connections() {
        let mut samples: Vec<Sample> = (0..40).map(|at| sample(at, Side::Client)).collect();
        // The first 20 suggest 92 ms, so SYNs leave after 92 and 184 ms.
        samples[30].handshake = Some(ms(200));
        assert_eq!(foresight(&samples), Foresight { handshakes: 20, needless: 2 });
        assert_eq!(foresight(&samples[..30]), Foresight::default());
    }
}
