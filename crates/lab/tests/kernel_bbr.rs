//! Compares BBR with a real kernel's.
//!
//! Linux 6.18 (HZ = 250, its module `bbr`, no fq queue, IW10, MSS 1448, timestamps) ran at both ends of a user-space path
//! emulator, and sent one flow after another from a server to a client. Values are means of three flows. Flow n of the
//! simulator meets the same random losses, packet by packet, until the senders send something different.
//! `docs/stages.md` has the commands.

use recoup_lab::run::run;
use recoup_lab::scenario::Scenario;
use std::path::Path;

/// How far a mean FCT may be from the kernel's, and the goodput with it: a flow is one transfer.
const TOLERANCE: f64 = 0.05;

/// Flows of each path.
const FLOWS: u64 = 3;

/// A path, and what the kernel's flows over it cost.
struct Reference {
    rate: &'static str,
    rtt: &'static str,
    queue: &'static str,
    drop: &'static str,
    segments: u64,
    fct_ms: f64,
    /// Of all flows.
    retransmissions: u64,
}

#[rustfmt::skip]
const PATHS: [Reference; 13] = [
    Reference { rate: "10Mbit", rtt: "80ms", queue: "100", drop: "none", segments: 2000, fct_ms: 2736.0, retransmissions: 200 },
    Reference { rate: "10Mbit", rtt: "80ms", queue: "10", drop: "none", segments: 2000, fct_ms: 2807.6, retransmissions: 845 },
    Reference { rate: "10Mbit", rtt: "40ms", queue: "1000", drop: "none", segments: 2000, fct_ms: 2528.0, retransmissions: 0 },
    Reference { rate: "10Mbit", rtt: "80ms", queue: "100", drop: "bernoulli:1%", segments: 2000, fct_ms: 2863.3, retransmissions: 258 },
    Reference { rate: "10Mbit", rtt: "40ms", queue: "100", drop: "bernoulli:5%", segments: 2000, fct_ms: 2686.3, retransmissions: 321 },
    Reference { rate: "10Mbit", rtt: "40ms", queue: "100", drop: "bernoulli:15%", segments: 1000, fct_ms: 2081.3, retransmissions: 560 },
    Reference { rate: "1Mbit", rtt: "120ms", queue: "20", drop: "none", segments: 300, fct_ms: 3856.2, retransmissions: 30 },
    Reference { rate: "50Mbit", rtt: "20ms", queue: "50", drop: "none", segments: 5000, fct_ms: 1291.9, retransmissions: 1183 },
    Reference { rate: "5Mbit", rtt: "300ms", queue: "200", drop: "none", segments: 1500, fct_ms: 5145.7, retransmissions: 252 },
    Reference { rate: "20Mbit", rtt: "60ms", queue: "100", drop: "gilbert-elliott:0.002,0.2", segments: 3000, fct_ms: 2090.5, retransmissions: 777 },
    Reference { rate: "8Mbit", rtt: "50ms", queue: "300", drop: "none", segments: 10_000, fct_ms: 15_392.6, retransmissions: 0 },
    Reference { rate: "20Mbit", rtt: "30ms", queue: "8", drop: "bernoulli:2%", segments: 3000, fct_ms: 2092.7, retransmissions: 837 },
    Reference { rate: "10Mbit", rtt: "80ms", queue: "100", drop: "bernoulli:2%", segments: 60, fct_ms: 493.0, retransmissions: 6 },
];

impl Reference {
    fn scenario(&self, congestion_control: &str) -> Scenario {
        let mut scenario = Scenario::load("tail-loss").unwrap();
        for (key, value) in [
            ("rate", self.rate),
            ("rtt", self.rtt),
            ("queue", self.queue),
            ("drop", self.drop),
            ("segments", &self.segments.to_string()),
            ("cc", congestion_control),
            ("ack", "linux"),
            ("timers", "linux-wheel:250"),
        ] {
            scenario.settings.set(key, value, Path::new("")).unwrap();
        }
        scenario.flows = FLOWS;
        scenario.profiles = vec!["linux-6".parse().unwrap()];
        scenario
    }

    /// The mean FCT in ms and the retransmissions of the simulator's flows.
    fn simulate(&self, congestion_control: &str) -> (f64, u64) {
        let scenario = self.scenario(congestion_control);
        let results = run(&scenario, 1, |_| ()).unwrap();
        let cost = &results[0].cost;
        let fct = cost.fct.summary().unwrap().mean;
        (fct, cost.counters.retransmissions.total())
    }

    fn is_near(&self, fct_ms: f64) -> bool {
        (fct_ms / self.fct_ms - 1.0).abs() <= TOLERANCE
    }
}

#[test]
fn bbr_takes_as_long_as_the_kernels_and_retransmits_as_much() {
    let mut off = Vec::new();
    println!("FCT (ms) and retransmissions: kernel 6.18, cc=bbr1");
    for path in &PATHS {
        let (fct, retransmissions) = path.simulate("bbr1");
        let name = format!(
            "{:7} {:6} {:5} {:26} {:6}: {:8.1} {:8.1}, {:5} {retransmissions:5}",
            path.rate, path.rtt, path.queue, path.drop, path.segments, path.fct_ms, fct, path.retransmissions
        );
        println!("{name}");
        let apart = retransmissions.abs_diff(path.retransmissions);
        if !path.is_near(fct) || apart * 10 > path.retransmissions {
            off.push(name);
        }
    }
    assert!(off.is_empty(), "{off:#?}");
}

/// Another congestion control does not pass the comparison, so it distinguishes them.
#[test]
fn cubic_differs_from_the_kernels_bbr_on_most_lossy_paths() {
    let lossy = PATHS.iter().filter(|path| path.drop != "none");
    let (near, far): (Vec<_>, Vec<_>) = lossy.partition(|path| path.is_near(path.simulate("cubic").0));
    assert!(far.len() > 2 * near.len(), "{} of {}", far.len(), far.len() + near.len());
}
