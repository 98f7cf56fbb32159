//! A sender cannot distinguish a receiver that delays its ACKs from one that acknowledges every segment
//! behind a hop that thins its ACKs.

use std::time::Duration;

use recoup_path::HopSpec;
use recoup_path::PathSpec;
use recoup_recovery::Profile;
use recoup_sim::{FlowSpec, NoObserver, Simulation, TimerModel};
use recoup_tcp::flow::{FlowRecord, Workload};
use recoup_tcp::{self as tcp, AckPolicy};
use recoup_units::{BitRate, FlowId};

/// Payload of a full segment.
const MSS: u64 = 1448;

/// How long a single ACK is delayed.
const HOLD: Duration = Duration::from_millis(200);

const PROFILES: [&str; 7] =
    ["linux-3.17", "linux-3.17+tlp", "linux-3.17+tlpr", "linux-6", "linux-6+notlp", "rfc6675", "reno"];

/// A response of `segments` segments, with losses down.
#[derive(Clone, Debug)]
struct Case {
    profile: &'static str,
    rtt: u64,
    rate: Option<u64>,
    lost: String,
    segments: u64,
    close: bool,
}

impl Case {
    fn run(&self, acks: AckPolicy, thinned: bool) -> FlowRecord {
        let profile: Profile = self.profile.parse().unwrap();
        let host = tcp::Config::new(*profile.mechanisms());
        let spec = FlowSpec {
            client: tcp::Config { acks, ..host },
            server: host,
            timers: TimerModel::LinuxWheel { hz: 250 },
            workload: Workload::exchange(0, self.segments * MSS).closing(self.close),
        };
        let mut simulation = Simulation::new(&self.path(thinned)).unwrap();
        simulation.run(&spec, 1, FlowId(0), &mut NoObserver)
    }

    fn path(&self, thinned: bool) -> PathSpec {
        let way = HopSpec::Delay(Duration::from_micros(500 * self.rtt));
        let rate = self.rate.and_then(BitRate::from_bits_per_second);
        let link = rate.map(|rate| HopSpec::Rate { rate, queue: "none".parse().unwrap() });
        let rules: Vec<_> = self.lost.split(',').map(|rule| rule.parse().unwrap()).collect();
        let thin = thinned.then_some(HopSpec::ThinAcks { hold: HOLD });
        PathSpec {
            up: thin.into_iter().chain(link.clone()).chain([way.clone()]).collect(),
            down: rules.into_iter().map(HopSpec::Loss).chain(link).chain([way]).collect(),
        }
    }

    /// The records with a receiver that delays its ACKs, and with thinned ACKs.
    fn both(&self) -> [FlowRecord; 2] {
        [self.run(AckPolicy::Delayed(HOLD), false), self.run(AckPolicy::Quick, true)]
    }
}

/// Every profile on paths with these RTTs (ms), without and with a rate.
fn cases(rtts: [u64; 3], lost: &[&str], segments: u64, close: bool) -> Vec<Case> {
    let mut cases = vec![];
    for profile in PROFILES {
        for rtt in rtts {
            for rate in [None, Some(100_000_000)] {
                cases.extend(lost.iter().map(|&lost| Case { profile, rtt, rate, lost: lost.into(), segments, close }));
            }
        }
    }
    cases
}

/// The FCT, and the numbers of segments, retransmissions and spurious retransmissions.
fn cost(record: &FlowRecord) -> (Option<Duration>, u64, u64, u64) {
    let again = record.counters.retransmissions.total();
    (record.fct, record.segments_sent, again, record.spurious)
}

#[test]
fn a_lost_tail_costs_the_same_with_delayed_and_thinned_acks() {
    let tails = ["none", "data:10", "data:9-10", "data:8-10", "data:7-10", "data:10,data:10@2"];
    for close in [false, true] {
        for case in cases([20, 80, 320], &tails, 10, close) {
            let [delayed, thinned] = case.both();
            assert!(thinned.completed());
            assert_eq!(cost(&thinned), cost(&delayed), "{case:?}");
        }
    }
}

#[test]
fn an_earlier_loss_costs_the_same_with_delayed_and_thinned_acks() {
    // RTTs are no longer than the hold. With longer ones, data that a delayed ACK releases arrives at
    // the instant when the next hold ends. A receiver then handles the segment first, a path the ACK.
    let rtts = [20, 80, 160];
    let lost = ["data:3", "data:12-14", "data:30,data:36,data:37"];
    for case in cases(rtts, &lost, 60, false) {
        let [delayed, thinned] = case.both();
        assert!(thinned.completed());
        assert_eq!(cost(&thinned), cost(&delayed), "{case:?}");
    }
}

#[test]
fn acks_without_thinning_cost_something_else() {
    for case in cases([20, 80, 320], &["data:10"], 10, false) {
        let quick = case.run(AckPolicy::Quick, false);
        let [delayed, _] = case.both();
        assert_ne!(quick.fct, delayed.fct, "{case:?}");
    }
}
